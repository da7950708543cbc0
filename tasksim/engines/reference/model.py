"""A scenario as a SimPy model: source or users, requesters, network, receiver, workers.

Rule 1: the actors of the model wait and carry messages; what to say is the machines' business.
Rule 2: a network leg takes at least 1 ns, so nothing cascades at one instant.
Rule 3: when all is over nothing is held any more; what is, is a fault of ours.
"""

from collections.abc import Callable, Generator
from typing import Final

from simpy.events import Event

from tasksim.engines.reference.ranked import At, RankedEnvironment
from tasksim.engines.reference.receivers import ReceiverSide
from tasksim.engines.reference.requesters import Doors, RequesterSide
from tasksim.eventlog.digest import SummaryRecorder
from tasksim.eventlog.recorder import EventRecorder, TaskRecorder
from tasksim.eventlog.run import Level, Run, finish_run
from tasksim.protocol.messages import Call
from tasksim.protocol.occurrences import Kind, Observer
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.model import Scenario
from tasksim.scenario.rules import requester_rules
from tasksim.scenario.workload import TaskPlan, Workload
from tasksim.units import ns_from_s

PROGRESS_EVERY: Final = 500  # arrivals


def recorder_of(level: Level, scenario: Scenario) -> EventRecorder | TaskRecorder:
    """What keeps a run at that level."""
    if level == "events":
        return EventRecorder()
    if level == "tasks":
        return TaskRecorder()
    return SummaryRecorder(ns_from_s(scenario.warmup_s), stops_slowly=scenario.receiver.stop_s > 0)


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
        self._calls = [Call(method=work.method) for work in scenario.work]
        self._doors = Doors([population.max_open for population in scenario.requesters])
        self._scenario = scenario
        self._progress = progress
        self._arrived = 0
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

    def _source(self) -> Generator[Event, None, None]:
        """Let the tasks arrive at their drawn instants, whatever the receiver does."""
        for plan in self.workload.tasks():
            yield At(self.env, plan.arrival_at, rank(Tie.ARRIVAL, plan.index))
            self._arrive(plan, lambda plan=plan: self._doors.leave(plan))  # type: ignore[misc]

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
        self._doors.enter(side)
        if self._progress is not None and self._arrived % PROGRESS_EVERY == 0:
            self._progress(self._arrived)
        self._arrived += 1

    def _require_empty(self) -> None:
        left = {**self.receiver.leftovers(), "tasks held back": self._doors.waiting}
        held = {what: count for what, count in left.items() if count}
        if held:
            raise LeakError(f"still held at the end: {held}")
