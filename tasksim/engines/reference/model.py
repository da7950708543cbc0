"""A scenario as a SimPy model: source or users, requesters, network, receiver, workers.

Rule 1: the actors of the model wait and carry messages; what to say is the machines' business.
Rule 2: a network leg takes at least 1 ns, so nothing cascades at one instant.
Rule 3: when all is over nothing is held any more; what is, is a fault of ours.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Final

from simpy.events import Event

from tasksim.engines.reference.network import Network
from tasksim.engines.reference.ranked import At, RankedEnvironment
from tasksim.engines.reference.receivers import ReceiverSide
from tasksim.engines.reference.requesters import Doors, RequesterSide
from tasksim.eventlog.digest import SummaryRecorder
from tasksim.eventlog.recorder import EventRecorder, TaskRecorder
from tasksim.eventlog.run import Level, Run, finish_run
from tasksim.protocol.exchanges import Lore
from tasksim.protocol.guards import Guard
from tasksim.protocol.messages import Call, Child
from tasksim.protocol.occurrences import Kind, Observer
from tasksim.protocol.rules import RENEWALS_FROM
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.model import Scenario
from tasksim.scenario.plans import TaskPlan
from tasksim.scenario.rules import guard_rules, requester_rules
from tasksim.scenario.workload import Workload
from tasksim.units import ns_from_s

PROGRESS_EVERY: Final = 500  # arrivals


def recorder_of(level: Level, scenario: Scenario) -> EventRecorder | TaskRecorder:
    """What keeps a run at that level."""
    if level == "events":
        return EventRecorder()
    if level == "tasks":
        return TaskRecorder()
    store = scenario.receiver.store
    evicts = store is not None and store.when_full == "evicts"
    return SummaryRecorder(
        ns_from_s(scenario.warmup_s),
        stops_slowly=scenario.receiver.stop_s > 0,
        forgets_any=evicts or any(not r.durable for r in scenario.faults.restarts),
    )


class LeakError(AssertionError):
    """Something is still held when all is over: our own fault, never caught."""


class Model:
    """One replication of a scenario, ready to run."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        replication: int,
        level: Level,
        progress: Callable[[int], None] | None = None,
        env: RankedEnvironment | None = None,
    ) -> None:
        self.env = RankedEnvironment() if env is None else env
        self.workload = Workload(scenario, replication)
        self.replication = replication
        self.level: Level = level
        self.recorder = recorder_of(level, scenario)
        self.session_ns = [
            None if p.session_s is None else max(ns_from_s(p.session_s), 1)
            for p in scenario.requesters
        ]
        self._rules = [requester_rules(p, scenario) for p in scenario.requesters]
        self._guard_rules = [guard_rules(p) for p in scenario.requesters]
        self._guards: dict[int, Guard] = {}  # by requester
        self._lores: dict[int, Lore] = {}
        self._batches: dict[int, list[RequesterSide]] = {}  # by the first task of each
        self._calls = [Call(method=work.method, tool=work.name) for work in scenario.work]
        self._doors = Doors([population.max_open for population in scenario.requesters])
        self._scenario = scenario
        self._progress = progress
        self._arrived = 0
        self.network = Network(self.env, self.recorder, self.workload.messages)
        self.receiver = ReceiverSide(self, scenario)

    @property
    def observe(self) -> Observer:
        """Where occurrences go."""
        return self.recorder

    def run(self) -> Run:
        """Run to the end: every task closed and, where retention ends, forgotten."""
        if self.workload.is_closed:
            for user in range(self.workload.requesters):
                self.env.process(self._user(user))
        else:
            self.env.process(self._source())
        if self._scenario.drain:
            self.env.run()
            self._require_empty()
        else:
            self.env.run(until=self.workload.end_at)
        return finish_run(self.recorder, replication=self.replication, notes=self.workload.notes)

    def announce(self, plan: TaskPlan) -> None:
        """Put a task's arrival on record."""
        self.recorder.meets(plan.index, plan.requester)
        self.recorder(plan.arrival_at, Kind.ARRIVED, plan.index, -1, 0, -1, -1, plan.duration_ns)

    # What requesters share.

    def guard_of(self, plan: TaskPlan) -> Guard | None:
        """What a task's requester keeps for all of its tasks; None where it keeps nothing."""
        rules = self._guard_rules[plan.population]
        if not rules.guards:
            return None
        return self._guards.setdefault(plan.requester, Guard(rules))

    def lore_of(self, plan: TaskPlan) -> Lore:
        """What a task's requester has learned from its tasks so far."""
        return self._lores.setdefault(plan.requester, Lore())

    def cancels_rest(self, plan: TaskPlan) -> bool:
        """Whether a requester cancels what it needs no longer."""
        return self._scenario.requesters[plan.population].rest == "cancelled"

    # Child tasks.

    def calls_of_children(self, plan: TaskPlan) -> tuple[Call, ...]:
        """What the children of a task wrap."""
        children = self._scenario.work[plan.work_class].children
        assert children is not None, "only work with children asks for them"
        names = [work.name for work in self._scenario.work]
        return (self._calls[names.index(children.work)],) * children.count

    def spawn(self, plan: TaskPlan, task_id: str, child: Child) -> None:
        """Let a task's requester ask for one of the tasks that the task needs."""
        place = int(child.task_id.rsplit("/", 1)[1])
        own = self.workload.child_of(plan, place, self.env.now)
        self.announce(own)
        RequesterSide(
            self,
            own,
            rules=replace(self._rules[own.population], renews_id=False),
            call=child.call,
            on_closed=lambda: None,
            task_id=child.task_id,
            parent_id=task_id,
        ).start()

    def _source(self) -> Generator[Event, None, None]:
        """Let the tasks arrive at their drawn instants, whatever the receiver does."""
        for plan in self.workload.tasks():
            yield At(self.env, plan.arrival_at, rank(Tie.ARRIVAL, plan.index))
            self._arrive(plan, lambda plan=plan: self._leave(plan))  # type: ignore[misc]

    def _user(self, user: int) -> Generator[Event, None, None]:
        """Think, ask, see the task through, and so on."""
        limit, end_at = self._scenario.tasks, self.workload.end_at
        ordinal = 0
        while True:
            at = self.env.now + self.workload.thought_ns(user, ordinal)
            if end_at is not None and at >= end_at:
                return
            plan = self.workload.task_of_user(user, ordinal, at)
            yield At(self.env, at, rank(Tie.ARRIVAL, plan.index))
            if limit is not None and self._arrived >= limit:
                return
            closed = Event(self.env)

            def leave(plan: TaskPlan = plan, closed: Event = closed) -> None:
                self._doors.leave(plan)
                closed.succeed()

            self._arrive(plan, leave)
            yield closed
            ordinal += 1

    def _arrive(self, plan: TaskPlan, on_closed: Callable[[], None]) -> None:
        self.announce(plan)
        side = RequesterSide(
            self,
            plan,
            rules=self._rules[plan.population],
            call=self._calls[plan.work_class],
            on_closed=on_closed,
        )
        if self._scenario.requesters[plan.population].waits_for == "any":
            self._batches.setdefault(self._leader(plan), []).append(side)
        self._doors.enter(side)
        if self._progress is not None and self._arrived % PROGRESS_EVERY == 0:
            self._progress(self._arrived)
        self._arrived += 1

    def _leader(self, plan: TaskPlan) -> int:
        """Number of the first task of a batch, whatever renewal of its id a task is."""
        place = plan.index & (1 << RENEWALS_FROM) - 1
        return place - place % self._scenario.batch

    def _leave(self, plan: TaskPlan) -> None:
        """The requester is through with a task; the rest of its batch may be needed no longer."""
        batch = self._batches.get(self._leader(plan), [])
        if any(side.is_satisfied for side in batch):
            del self._batches[self._leader(plan)]
            waiting = [side for side in batch if self._doors.withdraw(side)]
            for side in waiting:
                side.drop()
            for side in batch:
                side.let_be()
        elif batch and all(side.is_done for side in batch):
            del self._batches[self._leader(plan)]
        self._doors.leave(plan)

    def renew(self, old: RequesterSide, new: RequesterSide) -> None:
        """The same task of a batch under another id."""
        batch = self._batches.get(self._leader(old.plan), [])
        batch[:] = [new if side is old else side for side in batch]

    def _require_empty(self) -> None:
        left = {**self.receiver.leftovers(), "tasks held back": self._doors.waiting}
        held = {what: count for what, count in left.items() if count}
        if held:
            raise LeakError(f"still held at the end: {held}")
