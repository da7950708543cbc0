"""When tasks arrive, as the scenario draws it.

Rule 1: an arrival is (instant, row of the trace or -1); instants never run backwards.
Rule 2: the draws of the k-th arrival stand at entity k, so that a run of more tasks begins with
the same ones.
"""

from collections.abc import Callable, Iterator
from typing import Final

from tasksim.scenario import draws
from tasksim.scenario.distributions import Exponential
from tasksim.scenario.draws import Stream
from tasksim.scenario.model import Bursty, Closed, ConstantRate, Poisson, Scenario, Trace
from tasksim.scenario.quantiles import LawTables
from tasksim.scenario.traces import TraceRows
from tasksim.scenario.variates import variate_ns
from tasksim.units import NS_PER_S, ns_from_s

DAY_NS: Final = 86_400 * NS_PER_S
ABSENT: Final = -1
USER_BITS: Final = 20  # of a closed model's task number: its task below, the user above
Arrival = tuple[int, int]


class Arrivals:
    """Instants of one replication's arrivals."""

    def __init__(
        self,
        scenario: Scenario,
        trace: TraceRows | None,
        tables: LawTables,
        key_of: Callable[[int], int],
        replication: int,
    ) -> None:
        self._scenario = scenario
        self._trace = trace
        self._key_of = key_of
        self._replication = replication
        self._gap_law = ABSENT
        self._state_laws: list[int] = []
        arrivals = scenario.arrivals
        rate = arrivals.rate if isinstance(arrivals, Poisson | Trace) else None
        if rate is not None:
            self._gap_law = tables.add(Exponential(mean_s=1.0 / rate))
        elif isinstance(arrivals, Bursty):
            self._gap_law = tables.add(Exponential(mean_s=1.0))
            self._state_laws = [tables.add(Exponential(mean_s=mean)) for mean in arrivals.mean_s]
        self._values = tables.values

    def __iter__(self) -> Iterator[Arrival]:
        """Without end, unless they come from a trace."""
        arrivals = self._scenario.arrivals
        assert not isinstance(arrivals, Closed), "users decide when their tasks arrive"
        if isinstance(arrivals, Poisson):
            return ((at, ABSENT) for at in self._poisson())
        if isinstance(arrivals, Bursty):
            return ((at, ABSENT) for at in self._bursty(arrivals))
        if isinstance(arrivals, ConstantRate):
            return self._constant(arrivals.rate)
        assert self._trace is not None, "the kind that is left"
        if arrivals.rate is not None:
            return zip(self._poisson(), range(len(self._trace)), strict=False)
        return self._of_trace(self._trace)

    @property
    def gap_law(self) -> int:
        """Law of the gaps of a Poisson process; ABSENT where there is none."""
        return self._gap_law

    @property
    def days(self) -> int:
        """Days that the trace spans, the last one whole or not; 1 where it has no times."""
        assert self._trace is not None, "asked of traces only"
        return int(self._trace.arrival_ns[-1]) // DAY_NS + 1

    def _poisson(self) -> Iterator[int]:
        at, index = 0, 0
        while True:
            at += self._gap(index)
            yield at
            index += 1

    def _gap(self, index: int) -> int:
        word = draws.draw_u64(self._key_of(index), Stream.ARRIVAL_GAP)
        return variate_ns(self._values, self._gap_law, word)

    def _constant(self, rate: float) -> Iterator[Arrival]:
        index = 0
        while True:
            yield ns_from_s(index / rate), ABSENT
            index += 1

    def _bursty(self, arrivals: Bursty) -> Iterator[int]:
        """Each arrival uses up its unit of rate, through as many states as that takes."""
        horizon_s = self._scenario.horizon_s
        end_at = None if horizon_s is None else ns_from_s(horizon_s)
        at, visit = 0, 0
        ends_at = self._state_ns(0, arrivals)
        index = 0
        while True:
            left = float(self._gap(index))  # ns at one task a second
            index += 1
            while left > (ends_at - at) * arrivals.rates[visit % len(arrivals.rates)]:
                left -= (ends_at - at) * arrivals.rates[visit % len(arrivals.rates)]
                visit += 1
                at, ends_at = ends_at, ends_at + self._state_ns(visit, arrivals)
                if end_at is not None and at >= end_at:
                    yield at  # beyond the horizon: whoever asks is through
                    return
            at += int(left / arrivals.rates[visit % len(arrivals.rates)] + 0.5)
            yield at

    def _state_ns(self, visit: int, arrivals: Bursty) -> int:
        word = draws.draw_u64(self._key_of(visit), Stream.BURST_STATE)
        return max(variate_ns(self._values, self._state_laws[visit % len(arrivals.rates)], word), 1)

    def _of_trace(self, trace: TraceRows) -> Iterator[Arrival]:
        """The trace's own instants; replications after the first resample its days."""
        instants = trace.arrival_ns.tolist()
        days = self.days
        if self._replication == 0 or days < 2:
            yield from zip(instants, range(len(instants)), strict=True)
            return
        rows_of: list[list[int]] = [[] for _ in range(days)]
        for row, at in enumerate(instants):
            rows_of[min(at // DAY_NS, days - 1)].append(row)
        for day in range(days):
            word = draws.draw_u64(self._key_of(day), Stream.TRACE_DAY)
            source = draws.below(days, word)
            for row in rows_of[source]:
                yield instants[row] + (day - source) * DAY_NS, row
