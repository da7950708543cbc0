"""Every task's fate, drawn: what arrives when, from whom, for how long, and what gets lost.

Rule 1: the one place where a scenario is sampled. Both engines, the live receiver and the load
generator read the same fates here.
Rule 2: nothing depends on the order of the questions; an answer is a function of its address.

Closed and nested models will pack two numbers into the entity; for now it is the task's index.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tasksim.protocol.messages import DrawAddress
from tasksim.protocol.occurrences import Operation
from tasksim.protocol.requester import Fate
from tasksim.scenario import draws
from tasksim.scenario.distributions import Exponential, Law
from tasksim.scenario.draws import Stream
from tasksim.scenario.model import ConstantRate, Poisson, Scenario, Trace
from tasksim.scenario.quantiles import LawTables
from tasksim.scenario.traces import TraceRows, read_trace
from tasksim.scenario.variates import variate_ns
from tasksim.units import NS_PER_S, ns_from_s

DAY_NS: Final = 86_400 * NS_PER_S
ABSENT: Final = -1

REQUEST_LEG: Final = {
    Operation.CREATE: Stream.CREATE_REQUEST_LEG,
    Operation.GET: Stream.GET_REQUEST_LEG,
    Operation.RESULT: Stream.RESULT_REQUEST_LEG,
    Operation.CANCEL: Stream.CANCEL_LEG,
    Operation.DELETE: Stream.DELETE_REQUEST_LEG,
}
REPLY_LEG: Final = {
    Operation.CREATE: Stream.CREATE_REPLY_LEG,
    Operation.GET: Stream.GET_REPLY_LEG,
    Operation.RESULT: Stream.RESULT_REPLY_LEG,
    Operation.ORIGINAL: Stream.ORIGINAL_LEG,
    Operation.DELETE: Stream.DELETE_REPLY_LEG,
}


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """A task as it was drawn."""

    index: int
    key: int  # of its draws
    arrival_at: int
    population: int
    requester: int  # global number
    work_class: int
    duration_ns: int
    fails: bool
    cancel_after_ns: int | None = None  # from asking for the task; None: it is not cancelled


class Workload:
    """One replication's tasks and the fates of their messages."""

    def __init__(self, scenario: Scenario, replication: int = 0) -> None:
        self.scenario: Final = scenario
        self.replication: Final = replication
        self._run = draws.run_key(scenario.seed, replication)
        tables = LawTables()
        self._request_law = _add(tables, scenario.network.request)
        self._reply_law = _add(tables, scenario.network.reply)
        self._durations = [_add(tables, work.duration) for work in scenario.work]
        self._gap_law = _gap_law(tables, scenario)
        self._cancels = [
            (draws.threshold_from_share(p.cancel_share), _add(tables, p.cancel_after))
            for p in scenario.requesters
        ]
        self._values = tables.values
        self._trace = _trace_of(scenario)
        self._classes = draws.thresholds_from_shares([work.share for work in scenario.work])
        self._populations = draws.thresholds_from_shares([p.share for p in scenario.requesters])
        counts = [population.count for population in scenario.requesters]
        self._offsets = [sum(counts[:index]) for index in range(len(counts))]
        self._counts = counts
        self._failed = [draws.threshold_from_share(work.failed_share) for work in scenario.work]
        self._created_lost = draws.threshold_from_share(scenario.faults.created_lost_share)

    # Tasks.

    def tasks(self) -> Iterator[TaskPlan]:
        """Tasks in order of arrival: until the horizon, their number, or the trace's end."""
        scenario = self.scenario
        limit = scenario.tasks
        end_at = None if scenario.horizon_s is None else ns_from_s(scenario.horizon_s)
        for index, (at, row) in enumerate(self._arrivals()):
            if (limit is not None and index >= limit) or (end_at is not None and at >= end_at):
                return
            yield self._plan(index, at, row)

    def key_of(self, index: int) -> int:
        """Key of a task's draws."""
        return draws.entity_key(self._run, index)

    def duration_ns(self, index: int) -> int:
        """Duration of a task's work where nobody dictates it; 0 where the scenario has no law."""
        key = self.key_of(index)
        work_class = draws.band_of(self._classes, draws.draw_u64(key, Stream.WORK_CLASS))
        law = self._durations[work_class]
        if law == ABSENT:
            return 0
        return variate_ns(self._values, law, draws.draw_u64(key, Stream.DURATION))

    def expected_tasks(self) -> float:
        """Number of tasks, for a Poisson process with a horizon its mean."""
        scenario = self.scenario
        limits = [] if scenario.tasks is None else [float(scenario.tasks)]
        if self._trace is not None:
            limits.append(float(len(self._trace)))
        elif scenario.horizon_s is not None:
            assert not isinstance(scenario.arrivals, Trace), "a trace has rows"
            limits.append(scenario.horizon_s * scenario.arrivals.rate)
        return min(limits)

    @property
    def requesters(self) -> int:
        """How many distinct requesters there can be."""
        if self._trace is not None and self._trace.requester is not None:
            return self._trace.requesters
        return sum(self._counts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the answer should know of how tasks came about."""
        found = []
        trace = self._trace
        if trace is not None and trace.skipped:
            found.append(f"{trace.skipped} rows of the trace have no run time and were left out")
        if trace is not None and self.replication > 0:
            days = self._days()
            found.append(
                f"replications after the first resample the trace's {days} days"
                if days > 1
                else "the trace is shorter than two days: replications vary only the network"
            )
        return tuple(found)

    # Messages.

    def request_leg_ns(self, key: int, operation: Operation, ordinal: int) -> int:
        """Delay of a request on its way to the receiver, at least 1 ns."""
        return self._leg_ns(self._request_law, key, REQUEST_LEG[operation], ordinal)

    def reply_leg_ns(self, key: int, operation: Operation, ordinal: int) -> int:
        """Delay of an answer on its way to the requester, at least 1 ns."""
        return self._leg_ns(self._reply_law, key, REPLY_LEG[operation], ordinal)

    def created_leg_ns(self, key: int) -> int:
        """Delay of the created notification, at least 1 ns."""
        return self._leg_ns(self._reply_law, key, Stream.CREATED_LEG, 0)

    def is_created_lost(self, key: int) -> bool:
        """Whether the network drops the task's created notification."""
        return draws.draw_u64(key, Stream.CREATED_LOST) < self._created_lost

    def deletes(self, plan: TaskPlan) -> bool:
        """Whether the requester deletes the task as soon as all is known (R44)."""
        return self.scenario.work[plan.work_class].sensitive

    def fate_of(self, plan: TaskPlan) -> Fate:
        """What chance holds for the task's requester."""
        return Fate(
            draw=DrawAddress(entity=plan.index, replication=self.replication),
            poll_unit=lambda attempt: self.poll_unit(plan.key, attempt),
            phase_unit=self.phase_unit(plan.key),
            cancel_after_ns=plan.cancel_after_ns,
        )

    def poll_unit(self, key: int, attempt: int) -> float:
        """Uniform that a poll's jitter uses."""
        return draws.unit_from_u64(draws.draw_u64(key, Stream.POLL_JITTER, attempt))

    def phase_unit(self, key: int) -> float:
        """Uniform that a random first phase uses."""
        return draws.unit_from_u64(draws.draw_u64(key, Stream.FIRST_PHASE))

    def _leg_ns(self, law: int, key: int, stream: Stream, ordinal: int) -> int:
        if law == ABSENT:
            return 1
        delay_ns = variate_ns(self._values, law, draws.draw_u64(key, stream, ordinal))
        return max(delay_ns, 1)

    # Arrivals.

    def _arrivals(self) -> Iterator[tuple[int, int]]:
        """(instant, row of the trace or -1) of each task, without end unless it is a trace."""
        arrivals = self.scenario.arrivals
        if self._trace is not None:
            yield from self._trace_arrivals(self._trace)
        elif isinstance(arrivals, Poisson):
            at, index = 0, 0
            while True:
                word = draws.draw_u64(self.key_of(index), Stream.ARRIVAL_GAP)
                at += variate_ns(self._values, self._gap_law, word)
                yield at, ABSENT
                index += 1
        else:
            assert isinstance(arrivals, ConstantRate), "no other kind of arrivals"
            index = 0
            while True:
                yield ns_from_s(index / arrivals.rate), ABSENT
                index += 1

    def _trace_arrivals(self, trace: TraceRows) -> Iterator[tuple[int, int]]:
        instants = trace.arrival_ns.tolist()
        days = self._days()
        if self.replication == 0 or days < 2:
            yield from zip(instants, range(len(instants)), strict=True)
            return
        rows_of: list[list[int]] = [[] for _ in range(days)]
        for row, at in enumerate(instants):
            rows_of[min(at // DAY_NS, days - 1)].append(row)
        for day in range(days):
            word = draws.draw_u64(self.key_of(day), Stream.TRACE_DAY)
            source = draws.below(days, word)
            for row in rows_of[source]:
                yield instants[row] + (day - source) * DAY_NS, row

    def _days(self) -> int:
        """Days that a trace spans, the last one whole or not."""
        assert self._trace is not None, "asked of traces only"
        return int(self._trace.arrival_ns[-1]) // DAY_NS + 1

    # Fates.

    def _plan(self, index: int, at: int, row: int) -> TaskPlan:
        key = self.key_of(index)
        population, requester = self._who(key, row)
        work_class = draws.band_of(self._classes, draws.draw_u64(key, Stream.WORK_CLASS))
        return TaskPlan(
            index,
            key,
            at,
            population,
            requester,
            work_class,
            self._duration_ns(key, row, work_class),
            draws.draw_u64(key, Stream.FAILED) < self._failed[work_class],
            self._cancel_after_ns(key, population),
        )

    def _cancel_after_ns(self, key: int, population: int) -> int | None:
        threshold, law = self._cancels[population]
        if law == ABSENT or draws.draw_u64(key, Stream.CANCELLED) >= threshold:
            return None
        return variate_ns(self._values, law, draws.draw_u64(key, Stream.CANCEL_AFTER))

    def _who(self, key: int, row: int) -> tuple[int, int]:
        """Population and global number of the requester."""
        trace = self._trace
        if trace is not None and trace.requester is not None:
            requester = int(trace.requester[row])
            word = draws.draw_u64(self.key_of(requester), Stream.POPULATION)
            return draws.band_of(self._populations, word), requester
        population = draws.band_of(self._populations, draws.draw_u64(key, Stream.POPULATION))
        word = draws.draw_u64(key, Stream.REQUESTER)
        offset = self._offsets[population]
        return population, offset + draws.below(self._counts[population], word)

    def _duration_ns(self, key: int, row: int, work_class: int) -> int:
        trace = self._trace
        if trace is not None and trace.duration_ns is not None:
            return int(trace.duration_ns[row])
        word = draws.draw_u64(key, Stream.DURATION)
        return variate_ns(self._values, self._durations[work_class], word)


def _add(tables: LawTables, law: Law | None) -> int:
    return ABSENT if law is None else tables.add(law)


def _gap_law(tables: LawTables, scenario: Scenario) -> int:
    arrivals = scenario.arrivals
    if not isinstance(arrivals, Poisson):
        return ABSENT
    return tables.add(Exponential(mean_s=1.0 / arrivals.rate))


def _trace_of(scenario: Scenario) -> TraceRows | None:
    arrivals = scenario.arrivals
    return read_trace(arrivals) if isinstance(arrivals, Trace) else None
