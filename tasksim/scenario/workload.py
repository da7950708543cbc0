"""Every task's fate, drawn: what arrives when, from whom, for how long, and how it ends.

Rule 1: with ``arrivals`` and ``fates`` the one place where a scenario is sampled. Both engines,
the live receiver and the load generator read the same fates here.
Rule 2: nothing depends on the order of the questions; an answer is a function of its address.
Rule 3: the entity of a task's draws is its number: its place in the order of arrival, or in a
closed model the user's number and the place among the user's own, packed.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final

from tasksim.protocol.exchanges import Fate
from tasksim.protocol.messages import DrawAddress
from tasksim.protocol.rules import RENEWALS_FROM, child, renewed, rerun
from tasksim.scenario import draws
from tasksim.scenario.arrivals import ABSENT, USER_BITS, Arrivals
from tasksim.scenario.distributions import Law
from tasksim.scenario.draws import Stream
from tasksim.scenario.fates import MessageFates
from tasksim.scenario.model import Bursty, Closed, Scenario, Trace, WorkClass
from tasksim.scenario.plans import FlatParts, Stop, TaskPlan
from tasksim.scenario.quantiles import LawTables
from tasksim.scenario.traces import TraceRows, read_trace
from tasksim.scenario.variates import LONGEST_NS, variate_ns
from tasksim.units import NS_PER_S, ns_from_s


class Workload:
    """One replication's tasks and the fates of their messages."""

    def __init__(self, scenario: Scenario, replication: int = 0) -> None:
        self.scenario: Final = scenario
        self.replication: Final = replication
        self._run = draws.run_key(scenario.seed, replication)
        tables = LawTables()
        self._durations = [_add(tables, work.duration) for work in scenario.work]
        self._cancels = [
            (draws.threshold_from_share(p.cancel_share), _add(tables, p.cancel_after))
            for p in scenario.requesters
        ]
        self._inputs = [_input_of(tables, work) for work in scenario.work]
        self._may_stop = [
            work.milestones > 0 or work.children is not None
            or scenario.faults.worker_deaths is not None
            for work in scenario.work
        ]  # fmt: skip
        self._crashes = [
            (0, ABSENT) if p.crash is None
            else (draws.threshold_from_share(p.crash.share), tables.add(p.crash.after))
            for p in scenario.requesters
        ]  # fmt: skip
        faults = scenario.faults
        slow, deaths = faults.slow_work, faults.worker_deaths
        self._slow = draws.threshold_from_share(0.0 if slow is None else slow.share)
        self._slow_factor = 1.0 if slow is None else slow.factor
        self._deaths = draws.threshold_from_share(0.0 if deaths is None else deaths.share)
        arrivals = scenario.arrivals
        self._think_law = tables.add(arrivals.think) if isinstance(arrivals, Closed) else ABSENT
        self._trace = _trace_of(scenario)
        self._arrivals = Arrivals(scenario, self._trace, tables, self.key_of, replication)
        self.messages: Final = MessageFates(scenario, tables)
        self._tables = tables
        self._values = tables.values
        self._classes = draws.thresholds_from_shares([work.share for work in scenario.work])
        shares = [population.share for population in scenario.requesters]
        self._populations = draws.thresholds_from_shares(shares)
        self._counts = _counts(scenario)
        self._ends = list(accumulate(self._counts))
        self._offsets = [0, *self._ends[:-1]]
        self._failed = [draws.threshold_from_share(work.failed_share) for work in scenario.work]
        self._ended_badly = [
            draws.threshold_from_share(min(work.failed_share + work.unknown_share, 1.0))
            for work in scenario.work
        ]

    # Tasks.

    def tasks(self) -> Iterator[TaskPlan]:
        """Tasks in order of arrival: until the horizon, their number, or the trace's end."""
        batch = self.scenario.batch
        for index, (at, row) in enumerate(self.arrivals()):
            yield self._plan(index, at, row, leader=index - index % batch)

    def arrivals(self) -> Iterator[tuple[int, int]]:
        """When tasks arrive, and the trace's row of each, -1 without one."""
        limit, end_at = self.scenario.tasks, self.end_at
        keep_share = self._keep_share()
        count = 0
        for at, row in self._arrivals:
            if (limit is not None and count >= limit) or (end_at is not None and at >= end_at):
                return
            if keep_share is not None and not self._is_kept(row, keep_share):
                continue
            for _ in range(self.scenario.batch):
                if limit is not None and count >= limit:
                    return
                yield at, row
                count += 1

    @property
    def flat(self) -> FlatParts:
        """What a compiled engine draws from."""
        return FlatParts(
            values=self._values,
            durations=self._durations,
            failed=self._failed,
            ended_badly=self._ended_badly,
            cancels=self._cancels,
            network_laws=self.messages.laws,
            counts=self._counts,
            offsets=self._offsets,
            populations=self._populations,
            classes=self._classes,
            gap_law=self._arrivals.gap_law,
            trace=self._trace,
        )

    @property
    def end_at(self) -> int | None:
        """From when on no task arrives; None where there is no horizon."""
        horizon_s = self.scenario.horizon_s
        return None if horizon_s is None else ns_from_s(horizon_s)

    @property
    def is_closed(self) -> bool:
        """Whether users decide when their tasks arrive."""
        return isinstance(self.scenario.arrivals, Closed)

    def thought_ns(self, user: int, ordinal: int) -> int:
        """How long a user thinks before asking for its task number *ordinal*."""
        word = draws.draw_u64(self.key_of(_number(user, ordinal)), Stream.USER_THINK)
        return variate_ns(self._values, self._think_law, word)

    def task_of_user(self, user: int, ordinal: int, at: int) -> TaskPlan:
        """The user's task number *ordinal*, which arrives at *at*."""
        return self._plan(_number(user, ordinal), at, ABSENT, user=user)

    def renewal_of(self, plan: TaskPlan, renewal: int) -> TaskPlan:
        """The same work asked for once more under another id; its messages have other fates."""
        index = renewed(plan.index, renewal)
        return replace(plan, index=index, key=self.key_of(index))

    def child_of(self, plan: TaskPlan, place: int, at: int) -> TaskPlan:
        """The child *place* of a task, which arrives at *at*."""
        children = self.scenario.work[plan.work_class].children
        assert children is not None, "only work with children asks for them"
        names = [work.name for work in self.scenario.work]
        index = child(plan.index, place)
        key = self.key_of(index)
        who = (plan.population, plan.requester)
        return self._task(index, key, at, who, names.index(children.work), ABSENT)

    def rerun_of(self, plan: TaskPlan, run: int) -> TaskPlan:
        """The same work done anew by a receiver that does not know that it did it before."""
        return replace(plan, index=rerun(plan.index, run))

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

    def expected_tasks(self) -> float | None:
        """Number of tasks, for a Poisson process with a horizon its mean; None where it is open."""
        scenario = self.scenario
        limits = [] if scenario.tasks is None else [float(scenario.tasks)]
        if self._trace is not None:
            limits.append(len(self._trace) * (self._keep_share() or 1.0))
        elif scenario.horizon_s is not None and (rate := mean_rate(scenario)) is not None:
            limits.append(scenario.horizon_s * rate)
        return min(limits, default=None)

    def mean_work_ns(self) -> float:
        """Mean time that a task's work takes, with the time its questions wait for users."""
        trace, total = self._trace, 0.0
        for work, law, (_, think, _, _) in zip(
            self.scenario.work, self._durations, self._inputs, strict=True
        ):
            asks = work.input_required
            total += work.share * (self._mean_ns(law) + (asks.share if asks else 0.0)
                                   * self._mean_ns(think))  # fmt: skip
        if trace is not None and trace.duration_ns is not None:
            total += float(trace.duration_ns.mean())
        return total

    @property
    def trace_span_s(self) -> float:
        """Seconds from the first to the last arrival of a trace; 0 without one."""
        return 0.0 if self._trace is None else float(self._trace.arrival_ns[-1]) / NS_PER_S

    def mean_thought_ns(self) -> float:
        """Mean time that a closed model's user thinks."""
        return self._mean_ns(self._think_law)

    def _mean_ns(self, law: int) -> float:
        return 0.0 if law == ABSENT else self._tables.mean_ns(law)

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
        has_times = (
            isinstance(self.scenario.arrivals, Trace) and self.scenario.arrivals.rate is None
        )
        if trace is not None and self.replication > 0 and has_times:
            days = self._arrivals.days
            found.append(
                f"replications after the first resample the trace's {days} days"
                if days > 1
                else "the trace is shorter than two days: replications vary only the network"
            )
        if self.scenario.receiver.isolation == "none":
            found.append("isolation is none: every session can see every task (SEP-1686 8.1.2)")
        return tuple(found)

    # Fates.

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
            think_ns=lambda ordinal: self._input_thought_ns(plan, ordinal),
            crash_after_ns=self._crash_after_ns(plan),
        )

    def poll_unit(self, key: int, attempt: int) -> float:
        """Uniform that a poll's jitter uses."""
        return draws.unit_from_u64(draws.draw_u64(key, Stream.POLL_JITTER, attempt))

    def phase_unit(self, key: int) -> float:
        """Uniform that a random first phase uses."""
        return draws.unit_from_u64(draws.draw_u64(key, Stream.FIRST_PHASE))

    def _plan(
        self, index: int, at: int, row: int, *, user: int | None = None, leader: int | None = None
    ) -> TaskPlan:
        key = self.key_of(index)
        is_led = leader is not None and leader != index
        who = self._who(self.key_of(leader or 0) if is_led else key, row, user)
        return self._task(index, key, at, who, self._class_of(key, row), row)

    def _task(
        self, index: int, key: int, at: int, who: tuple[int, int], work_class: int, row: int
    ) -> TaskPlan:
        population, requester = who
        duration_ns = self._duration_ns(key, row, work_class)
        threshold, _, _, requests = self._inputs[work_class]
        fate, failed = draws.draw_u64(key, Stream.FAILED), self._failed[work_class]
        asks = bool(requests) and draws.draw_u64(key, Stream.INPUT) < threshold
        return TaskPlan(
            index=index,
            key=key,
            arrival_at=at,
            population=population,
            requester=requester,
            work_class=work_class,
            duration_ns=duration_ns,
            fails=fate < failed,
            cancel_after_ns=self._cancel_after_ns(key, population),
            vanishes=failed <= fate < self._ended_badly[work_class],
            asks=requests if asks else 0,
            stops=self._stops(key, work_class, duration_ns, asks=asks),
        )

    def _stops(
        self, key: int, work_class: int, duration_ns: int, *, asks: bool
    ) -> tuple[tuple[int, Stop], ...]:
        """Where the work stops on its way; nothing comes after the death of its worker."""
        if not asks and not self._may_stop[work_class]:
            return ()
        work = self.scenario.work[work_class]
        parts = work.milestones + 1
        found = [(duration_ns * k // parts, Stop.MILESTONE) for k in range(1, parts)]
        if asks:
            found.append((int(duration_ns * self._inputs[work_class][2]), Stop.INPUT))
        if work.children is not None:
            found.append((int(duration_ns * work.children.at_fraction), Stop.CHILDREN))
        if self._deaths and draws.draw_u64(key, Stream.WORKER_DEATH) < self._deaths:
            death = (duration_ns // 2, Stop.DEATH)
            found = [*(stop for stop in found if stop < death), death]
        return tuple(sorted(found))

    def _crash_after_ns(self, plan: TaskPlan) -> int | None:
        """When the task's requester is gone for a while; one that asks anew is not, again."""
        threshold, law = self._crashes[plan.population]
        if law == ABSENT or plan.index >= 1 << RENEWALS_FROM:
            return None
        if draws.draw_u64(plan.key, Stream.CRASHED) >= threshold:
            return None
        return variate_ns(self._values, law, draws.draw_u64(plan.key, Stream.CRASH_AFTER))

    def _class_of(self, key: int, row: int) -> int:
        if self._trace is not None and self._trace.work is not None:
            return int(self._trace.work[row])
        return draws.band_of(self._classes, draws.draw_u64(key, Stream.WORK_CLASS))

    def _cancel_after_ns(self, key: int, population: int) -> int | None:
        threshold, law = self._cancels[population]
        if law == ABSENT or draws.draw_u64(key, Stream.CANCELLED) >= threshold:
            return None
        return variate_ns(self._values, law, draws.draw_u64(key, Stream.CANCEL_AFTER))

    def _input_thought_ns(self, plan: TaskPlan, ordinal: int) -> int:
        law = self._inputs[plan.work_class][1]
        return variate_ns(self._values, law, draws.draw_u64(plan.key, Stream.INPUT_THINK, ordinal))

    def _who(self, key: int, row: int, user: int | None) -> tuple[int, int]:
        """Population and global number of the requester."""
        if user is not None:
            return bisect_right(self._ends, user), user
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
        if trace is not None and trace.duration_ns is not None and row != ABSENT:
            duration_ns = int(trace.duration_ns[row])
        else:
            word = draws.draw_u64(key, Stream.DURATION)
            duration_ns = variate_ns(self._values, self._durations[work_class], word)
        if self._slow and draws.draw_u64(key, Stream.SLOW_WORK) < self._slow:
            return min(int(duration_ns * self._slow_factor), LONGEST_NS)
        return duration_ns

    def _keep_share(self) -> float | None:
        """Share of the trace's rows that is kept; None where that is all."""
        arrivals = self.scenario.arrivals
        if not isinstance(arrivals, Trace) or arrivals.keep_share == 1.0:
            return None
        return arrivals.keep_share

    def _is_kept(self, row: int, share: float) -> bool:
        word = draws.draw_u64(self.key_of(row), Stream.TRACE_KEPT)
        return word < draws.threshold_from_share(share)


def mean_rate(scenario: Scenario) -> float | None:
    """Tasks a second in the long run, where the arrivals alone decide that."""
    arrivals, batch = scenario.arrivals, scenario.batch
    if isinstance(arrivals, Closed) or (isinstance(arrivals, Trace) and arrivals.rate is None):
        return None
    if isinstance(arrivals, Bursty):
        weighted = zip(arrivals.rates, arrivals.mean_s, strict=True)
        return batch * sum(rate * mean for rate, mean in weighted) / sum(arrivals.mean_s)
    return None if arrivals.rate is None else arrivals.rate * batch


def _number(user: int, ordinal: int) -> int:
    assert ordinal < 1 << USER_BITS, f"user {user} asks for more than {1 << USER_BITS} tasks"
    return user << USER_BITS | ordinal


def _add(tables: LawTables, law: Law | None) -> int:
    return ABSENT if law is None else tables.add(law)


def _input_of(tables: LawTables, work: WorkClass) -> tuple[int, int, float, int]:
    """(threshold of tasks that ask, law of thinking, fraction of the work before, requests)."""
    asks = work.input_required
    if asks is None:
        return 0, ABSENT, 0.0, 0
    threshold = draws.threshold_from_share(asks.share)
    return threshold, tables.add(asks.think), asks.at_fraction, asks.requests


def _counts(scenario: Scenario) -> list[int]:
    """Requesters of each population; a closed model's users are dealt out by share."""
    arrivals = scenario.arrivals
    if not isinstance(arrivals, Closed):
        return [population.count for population in scenario.requesters]
    ends, total = [0], 0.0
    for population in scenario.requesters[:-1]:
        total += population.share
        ends.append(int(total * arrivals.users + 0.5))
    ends.append(arrivals.users)
    return [end - start for start, end in pairwise(ends)]


def _trace_of(scenario: Scenario) -> TraceRows | None:
    arrivals = scenario.arrivals
    if not isinstance(arrivals, Trace):
        return None
    return read_trace(arrivals, tuple(work.name for work in scenario.work))
