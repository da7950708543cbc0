"""A scenario as a SimPy model: source, requesters, network, receiver, workers.

Rule 1: the actors here wait and carry messages; what to say is the machines' business.
Rule 2: a network leg takes at least 1 ns, so nothing cascades at one instant.

A deadline that the answer on its way will beat is not armed: it could only be cancelled.
"""

from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from simpy.events import Event

from tasksim.engines.reference.ranked import At, RankedEnvironment, Wakeup
from tasksim.eventlog.recorder import EventRecorder, TaskRecorder
from tasksim.eventlog.run import Level, Run, finish_run
from tasksim.protocol.messages import (
    OPERATION_OF,
    PLAIN_CALL,
    Cancel,
    Create,
    Created,
    Delete,
    Deleted,
    Failure,
    Get,
    GetResult,
    Reply,
    Request,
    Result,
)
from tasksim.protocol.occurrences import Kind, Observer, Operation
from tasksim.protocol.receiver import Key, Receiver, StartWork, StopWork
from tasksim.protocol.requester import Requester
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.model import Scenario
from tasksim.scenario.rules import receiver_rules, requester_rules
from tasksim.scenario.workload import TaskPlan, Workload
from tasksim.units import ns_from_s

TIE_OF: Final[dict[type[Request], Tie]] = {
    Create: Tie.CREATE_TO_RECEIVER,
    Get: Tie.GET_TO_RECEIVER,
    GetResult: Tie.RESULT_TO_RECEIVER,
    Cancel: Tie.CANCEL_TO_RECEIVER,
    Delete: Tie.DELETE_TO_RECEIVER,
}
REPLY_TIE_OF: Final = {
    Operation.CREATE: Tie.REFUSAL_TO_REQUESTER,
    Operation.GET: Tie.VIEW_TO_REQUESTER,
    Operation.RESULT: Tie.RESULT_TO_REQUESTER,
    Operation.DELETE: Tie.DELETED_TO_REQUESTER,
}
PAYLOAD: Final[Mapping[str, Any]] = {"content": [], "isError": False}
FAILURE_TEXT: Final = "Tool execution failed"
PROGRESS_EVERY: Final = 500  # arrivals


class Model:
    """One replication of a scenario, ready to run."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        replication: int,
        level: Level,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.env = RankedEnvironment()
        self.workload = Workload(scenario, replication)
        self.replication = replication
        self.level: Level = level
        self.recorder = EventRecorder() if level == "events" else TaskRecorder()
        self.rules = [requester_rules(population) for population in scenario.requesters]
        self.receiver = ReceiverSide(self, scenario)
        self._progress = progress

    @property
    def observe(self) -> Observer:
        """Where occurrences go."""
        return self.recorder

    def run(self) -> Run:
        """Run to the end: every task closed and, where retention ends, forgotten."""
        self.env.process(self._source())
        self.env.run()
        return finish_run(self.recorder, replication=self.replication, notes=self.workload.notes)

    def _source(self) -> Generator[Event, None, None]:
        """Let the tasks arrive at their drawn instants, whatever the receiver does."""
        for plan in self.workload.tasks():
            yield At(self.env, plan.arrival_at, rank(Tie.ARRIVAL, plan.index))
            self.recorder.meets(plan.index, plan.requester)
            self.recorder(
                plan.arrival_at, Kind.ARRIVED, plan.index, -1, 0, -1, -1, plan.duration_ns
            )
            RequesterSide(self, plan).start()
            if self._progress is not None and plan.index % PROGRESS_EVERY == 0:
                self._progress(plan.index)


class RequesterSide:
    """One task's requester, its wake-up and its end of the network."""

    __slots__ = ("_env", "_machine", "_model", "_wakeup", "plan", "session")

    def __init__(self, model: Model, plan: TaskPlan) -> None:
        self.plan: Final = plan
        self.session: Final = f"requester-{plan.requester}"
        self._model = model
        self._env = model.env
        self._wakeup = Wakeup(model.env, self._on_time)
        self._machine = Requester(
            task_id=f"task-{plan.index}",
            number=plan.index,
            rules=model.rules[plan.population],
            observe=model.observe,
            call=PLAIN_CALL,
            fate=model.workload.fate_of(plan),
            deletes=model.workload.deletes(plan),
        )

    def start(self) -> None:
        """The task is due: ask for it."""
        self._act(self._machine.start(self._env.now))

    def on_created(self, _: Event) -> None:
        """The created notification arrives."""
        self._act(self._machine.on_created(self._env.now))

    def on_reply(self, reply: Reply) -> None:
        """An answer arrives."""
        self._act(self._machine.on_reply(reply, self._env.now))

    def expect(self, answer_at: int | None) -> None:
        """An answer will arrive at that instant, or never: arm the deadline that it will miss."""
        deadline = self._machine.next_deadline
        if deadline is not None and (answer_at is None or answer_at >= deadline[0]):
            self._arm()

    def _on_time(self) -> None:
        self._act(self._machine.on_time(self._env.now))

    def _act(self, requests: list[Request]) -> None:
        if not requests:
            self._arm()
            return
        self._wakeup.arm(None)
        for request in requests:
            self._send(request)
            if isinstance(request, Cancel):
                self._arm()  # nothing answers it

    def _send(self, request: Request) -> None:
        operation = OPERATION_OF[type(request)]
        plan, model = self.plan, self._model
        arrives_at = self._env.now + model.workload.request_leg_ns(
            plan.key, operation, request.attempt
        )
        At(
            self._env,
            arrives_at,
            rank(TIE_OF[type(request)], plan.index, request.attempt),
            lambda _: model.receiver.take(self, request),
        )
        self.expect(arrives_at)

    def _arm(self) -> None:
        deadline = self._machine.next_deadline
        if deadline is None:
            self._wakeup.arm(None)
        else:
            self._wakeup.arm((deadline[0], rank(deadline[1], self.plan.index)))


class ReceiverSide:
    """The receiver, its wake-up, its workers and its end of the network."""

    def __init__(self, model: Model, scenario: Scenario) -> None:
        self._env = model.env
        self._workload = model.workload
        self._observe = model.observe
        self._machine = Receiver(receiver_rules(scenario), model.observe)
        self._wakeup = Wakeup(model.env, self._on_time)
        self._workers = Workers(self, scenario.receiver.workers)
        self._peers: dict[Key, tuple[RequesterSide, int]] = {}  # whose original request is open
        raced = any(p.original_response == "raced" for p in scenario.requesters)
        self._answers_originals = raced
        lifetime_s = scenario.network.stream_lifetime_s
        self._stream_lifetime_ns = None if lifetime_s is None else ns_from_s(lifetime_s)

    @property
    def env(self) -> RankedEnvironment:
        """The clock that it lives by."""
        return self._env

    def take(self, peer: RequesterSide, request: Request) -> None:
        """A request arrives."""
        now = self._env.now
        for output in self._machine.receive(peer.session, request, now):
            if isinstance(output, StartWork):
                self._peers[output.key] = (peer, now)
                self._workers.order(output.key, peer.plan)
            elif isinstance(output, StopWork):
                self._stop(output.key)
            elif isinstance(output.message, Created):
                self._send_created(peer)
            else:
                self._send_reply(peer, output.message)
        self._wakeup.arm(self._machine.next_deadline)

    def started(self, key: Key) -> None:
        """A worker begins."""
        self._machine.work_started(key, self._env.now)

    def ended(self, key: Key, *, fails: bool) -> None:
        """A worker is through with a task; the original request is answered."""
        now = self._env.now
        answer = (
            self._machine.work_failed(key, FAILURE_TEXT, now)
            if fails
            else self._machine.work_succeeded(key, PAYLOAD, now)
        )
        self._wakeup.arm(self._machine.next_deadline)
        self._answer_original(key, answer)

    def _stop(self, key: Key) -> None:
        """A task was cancelled or deleted: its worker is free, its original stays unanswered."""
        del self._peers[key]
        self._workers.stop(key)

    def _on_time(self) -> None:
        self._machine.on_time(self._env.now)
        self._wakeup.arm(self._machine.next_deadline)

    def _send_created(self, peer: RequesterSide) -> None:
        plan = peer.plan
        if self._workload.is_created_lost(plan.key):
            self._observe(self._env.now, Kind.LOST, plan.index, Operation.CREATED)
            peer.expect(None)
            return
        arrives_at = self._env.now + self._workload.created_leg_ns(plan.key)
        At(self._env, arrives_at, rank(Tie.CREATED_TO_REQUESTER, plan.index), peer.on_created)
        peer.expect(arrives_at)

    def _send_reply(self, peer: RequesterSide, reply: Reply) -> None:
        plan = peer.plan
        operation = _operation_of(reply)
        leg_ns = self._workload.reply_leg_ns(plan.key, operation, reply.attempt)
        arrives_at = self._env.now + leg_ns
        At(
            self._env,
            arrives_at,
            rank(REPLY_TIE_OF[operation], plan.index, reply.attempt),
            lambda _: peer.on_reply(reply),
        )
        peer.expect(arrives_at)

    def _answer_original(self, key: Key, answer: Result | Failure) -> None:
        """Carry the original response, while the stream that would carry it is open (N09)."""
        peer, opened_at = self._peers.pop(key)
        if not self._answers_originals:
            return  # nobody listens: it is polling that is studied
        now, plan = self._env.now, peer.plan
        lifetime_ns = self._stream_lifetime_ns
        if lifetime_ns is not None and now - opened_at > lifetime_ns:
            self._observe(now, Kind.LOST, plan.index, Operation.ORIGINAL)
            return
        leg_ns = self._workload.reply_leg_ns(plan.key, Operation.ORIGINAL, 0)
        At(
            self._env,
            now + leg_ns,
            rank(Tie.ORIGINAL_TO_REQUESTER, plan.index),
            lambda _: peer.on_reply(answer),
        )


class Workers:
    """Execution capacity: *count* workers, or as many as needed, behind one FIFO queue."""

    def __init__(self, receiver: ReceiverSide, count: int | None) -> None:
        self._receiver = receiver
        self._count = count
        self._queue: dict[Key, TaskPlan] = {}  # in order of coming
        self._ends: dict[Key, At] = {}  # by the task at work

    def order(self, key: Key, plan: TaskPlan) -> None:
        """Start the work now, or when its turn comes."""
        if self._count is None or len(self._ends) < self._count:
            self._start(key, plan)
        else:
            self._queue[key] = plan

    def stop(self, key: Key) -> None:
        """Give up a task that waits or is at work; a worker that it had is free at once."""
        if self._queue.pop(key, None) is None:
            self._receiver.env.cancel(self._ends.pop(key))
            self._start_next()

    def _start(self, key: Key, plan: TaskPlan) -> None:
        self._receiver.started(key)
        env = self._receiver.env
        self._ends[key] = At(
            env,
            env.now + plan.duration_ns,
            rank(Tie.COMPLETION, plan.index),
            lambda _: self._end(key, plan),
        )

    def _end(self, key: Key, plan: TaskPlan) -> None:
        del self._ends[key]
        self._receiver.ended(key, fails=plan.fails)
        self._start_next()

    def _start_next(self) -> None:
        if self._queue:
            key = next(iter(self._queue))
            self._start(key, self._queue.pop(key))


def _operation_of(reply: Reply) -> Operation:
    """The exchange that a reply ends."""
    if isinstance(reply, Result | Failure):
        return reply.operation
    return Operation.DELETE if isinstance(reply, Deleted) else Operation.GET
