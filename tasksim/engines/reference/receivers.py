"""The receiver's side: its machine, its wake-up, its workers, and the network before it.

Rule 1: what to do with a message is the machine's business; who does it, and when its answer
arrives, is decided here.
Rule 2: whatever belongs to a task is kept under its key and dropped when its work is over.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from tasksim.engines.reference.ranked import At, RankedEnvironment, Wakeup
from tasksim.engines.reference.requesters import TIE_OF, RequesterSide
from tasksim.engines.reference.workers import Desk, Pool, Workers
from tasksim.protocol.errors import INTERNAL_ERROR, RateLimitedError
from tasksim.protocol.lifecycle import (
    Answer,
    Output,
    ResumeWork,
    RunPlain,
    Send,
    StartWork,
    StopWork,
)
from tasksim.protocol.messages import (
    Cancel,
    Create,
    Created,
    Deleted,
    Failure,
    InputAnswer,
    InputRequest,
    Reply,
    Request,
    Result,
)
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.receiver import Receiver
from tasksim.protocol.records import Key
from tasksim.protocol.states import Status
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.model import Restart, Scenario
from tasksim.scenario.rules import limits_in_hand, receiver_rules
from tasksim.scenario.workload import TaskPlan
from tasksim.units import ns_from_s

if TYPE_CHECKING:
    from tasksim.engines.reference.model import Model

REPLY_TIE_OF: Final = {
    Operation.CREATE: Tie.REFUSAL_TO_REQUESTER,
    Operation.GET: Tie.VIEW_TO_REQUESTER,
    Operation.RESULT: Tie.RESULT_TO_REQUESTER,
    Operation.DELETE: Tie.DELETED_TO_REQUESTER,
    Operation.ORIGINAL: Tie.ORIGINAL_TO_REQUESTER,
    Operation.INPUT: Tie.PROMPT_TO_REQUESTER,
}
PAYLOAD: Final[Mapping[str, Any]] = {"content": [], "isError": False}
FAILURE_TEXT: Final = "Tool execution failed"
END_OF_TIME: Final = 1 << 62  # when every bucket is full again


@dataclass(slots=True)
class Open:
    """Work whose requester waits for it; *opened_at* None when its connection is gone."""

    peer: RequesterSide
    plan: TaskPlan
    opened_at: int | None
    plain: bool = False


class ReceiverSide:
    """The receiver, its wake-up, its workers and its end of the network."""

    def __init__(self, model: "Model", scenario: Scenario) -> None:
        receiver = scenario.receiver
        self._model = model
        self._env = model.env
        self._observe = model.observe
        self._fates = model.workload.messages
        self._machine = Receiver(receiver_rules(scenario), model.observe)
        self._wakeup = Wakeup(model.env, self._on_time)
        self._pool = Pool(receiver.workers)
        self._workers = Workers(model.env, self._pool, self, ns_from_s(receiver.stop_s))
        self._holds = [w.input_required is None or w.input_required.holds_worker
                       for w in scenario.work]  # fmt: skip
        self._open: dict[Key, Open] = {}
        lifetime_s = scenario.network.stream_lifetime_s
        self._stream_lifetime_ns = None if lifetime_s is None else ns_from_s(lifetime_s)
        self._desk: Desk | None = None
        self._costs_ns: dict[Operation, int] = {}
        if receiver.handling is not None:
            handling = receiver.handling
            pool = self._pool if handling.shares_workers else Pool(handling.servers)
            self._desk = Desk(model.env, pool)
            self._costs_ns = {
                Operation.CREATE: ns_from_s(handling.create_s),
                Operation.GET: ns_from_s(handling.get_s),
                Operation.RESULT: ns_from_s(handling.result_s),
                Operation.DELETE: ns_from_s(handling.delete_s),
                Operation.CANCEL: ns_from_s(handling.cancel_s),
                Operation.INPUT: ns_from_s(handling.input_s),
            }
        self._in_hand_limits = limits_in_hand(receiver.rate_limits)
        self._in_hand: Counter[tuple[Operation, str]] = Counter()
        self._down_since: int | None = None
        for place, restart in enumerate(scenario.faults.restarts):
            self._plan_restart(place, restart)

    @property
    def env(self) -> RankedEnvironment:
        """The clock that it lives by."""
        return self._env

    def leftovers(self) -> dict[str, int]:
        """What is still held; all 0 when every task is over and forgotten."""
        held = {
            "workers": self._pool.busy,
            "waiting for a worker": self._pool.waiting,
            "jobs": self._workers.jobs,
            "open requests": len(self._open),
            "requests being answered": 0 if self._desk is None else self._desk.busy,
            "requests in hand": len(self._in_hand),
        }
        if self._machine.resident_tasks == 0:
            held |= self._machine.sizes(END_OF_TIME)
        return held

    # Requests.

    def arrive(
        self, peer: RequesterSide, session: str, request: Request, operation: Operation
    ) -> None:
        """A request arrives: it is answered, when its turn comes, unless nobody is there."""
        if self._down_since is not None:
            self._refuse(peer, request, operation)
        elif self._desk is None:
            self._take(peer, session, request)
        else:
            self._queue(self._desk, peer, session, request, operation)

    def _queue(
        self,
        desk: Desk,
        peer: RequesterSide,
        session: str,
        request: Request,
        operation: Operation,
    ) -> None:
        """Let a request wait for its turn, if there is room for one more of its kind."""
        limit = self._in_hand_limits.get(operation)
        who = "" if limit is None or limit.scope == "total" else peer.principal
        hand = (operation, who)
        if limit is not None and self._in_hand[hand] >= limit.limit:
            fault = RateLimitedError(ns_from_s(limit.retry_after_s))
            outputs = self._machine.refuse(session, request, fault, self._env.now, peer.principal)
            for output in outputs:
                assert isinstance(output, Send), "a refusal is sent"
                self._send(peer, output, request.attempt)
            return
        self._in_hand[hand] += 1
        peer.expect(None)  # when it will be answered is not known yet

        def let_go() -> None:
            self._in_hand[hand] -= 1
            if not self._in_hand[hand]:
                del self._in_hand[hand]

        def act() -> None:
            let_go()
            self._take(peer, session, request)

        def drop() -> None:
            let_go()
            self._refuse(peer, request, operation)

        tie = rank(TIE_OF[type(request)], peer.plan.index, request.attempt)
        desk.take(self._costs_ns[operation], tie, act, drop)

    def _take(self, peer: RequesterSide, session: str, request: Request) -> None:
        if peer.runs and isinstance(request, Create) and request.draw is not None:
            request = replace(request, draw=replace(request.draw, run=peer.runs))
        if isinstance(request, Cancel) and self._cancel_plain(session, request):
            return
        outputs = self._machine.receive(session, request, self._env.now, peer.principal)
        for output in outputs:
            if isinstance(output, Send):
                self._send(peer, output, request.attempt)
            else:
                self._obey(output, peer)
        self._arm()

    def _refuse(self, peer: RequesterSide, request: Request, operation: Operation) -> None:
        """The receiver is down; who waits for an answer hears that there will be none."""
        plan, attempt = peer.plan, request.attempt
        self._observe(
            self._env.now, Kind.LOST, plan.index, operation, attempt, NONE, Reason.RECEIVER_DOWN
        )
        if isinstance(request, Cancel | InputAnswer):
            return
        leg_ns = self._fates.reply_leg_ns(plan.key, plan.population, operation, attempt)
        at = self._env.now + leg_ns
        tie = rank(REPLY_TIE_OF[operation], plan.index, attempt)
        At(self._env, at, tie, lambda _: peer.on_refused(request))
        peer.expect(at)

    def _opened(self, peer: RequesterSide, *, plain: bool = False) -> Open:
        plan = peer.next_run()
        if peer.runs:
            self._model.recorder.meets(plan.index, plan.requester)
        peer.runs += 1
        return Open(peer, plan, self._env.now, plain)

    def _obey(self, output: Output, peer: RequesterSide | None = None) -> None:
        """Carry out what the machine orders of work and of original requests."""
        if isinstance(output, StartWork):
            if peer is not None:
                self._open[output.key] = self._opened(peer)
            plan = self._open[output.key].plan
            self._workers.order(output.key, plan, holds=self._holds[plan.work_class])
        elif isinstance(output, RunPlain):
            assert peer is not None, "a call has a caller"
            key = (output.session, f"call {output.request_id}")
            if key not in self._open:  # a duplicate of the network is the same call
                opened = self._open[key] = self._opened(peer, plain=True)
                self._workers.order(key, opened.plan, holds=True)
            peer.expect(None)
        elif isinstance(output, ResumeWork):
            self._workers.resume(output.key)
        elif isinstance(output, StopWork):
            self._workers.stop(output.key)
            self._open.pop(output.key, None)
        elif isinstance(output, Answer):
            self._answer_original(self._open.pop(output.key), output.message)

    # What the work reports.

    def started(self, key: Key, plan: TaskPlan) -> None:
        """A worker begins, or goes on."""
        if self._open[key].plain:
            self._observe(self._env.now, Kind.STARTED, plan.index)
        else:
            self._machine.work_started(key, self._env.now)

    def needs_input(self, key: Key, plan: TaskPlan) -> None:
        """Work cannot go on without input: the requester is asked."""
        opened = self._open[key]
        if opened.plain:
            self._workers.resume(key)  # a plain call has no way to ask
            return
        outputs = self._machine.work_needs_input(key, self._env.now, ({},) * plan.asks)
        for output in outputs:
            assert isinstance(output, Send), "requests for input are sent"
            self._send(opened.peer, output, 0)
        self._arm()

    def paused(self, key: Key) -> None:
        """The worker is free while the input is waited for."""
        self._machine.work_paused(key, self._env.now)

    def ended(self, key: Key, plan: TaskPlan) -> None:
        """A worker is through with a task; the original request is answered."""
        now = self._env.now
        opened = self._open.pop(key)
        if opened.plain and plan.vanishes:
            self._observe(now, Kind.FINISHED, plan.index, NONE, 0, Status.UNKNOWN)
            return
        if opened.plain:
            self._answer_original(opened, self._plain_answer(plan))
            return
        if plan.vanishes:
            self._machine.work_lost(key, now)
        elif plan.fails:
            self._answer_original(opened, self._machine.work_failed(key, FAILURE_TEXT, now))
        else:
            self._answer_original(opened, self._machine.work_succeeded(key, PAYLOAD, now))
        self._arm()

    def interrupted(self, plan: TaskPlan) -> None:
        """A restart took the worker away."""
        self._observe(self._env.now, Kind.INTERRUPTED, plan.index)

    def freed(self, key: Key, plan: TaskPlan) -> None:  # noqa: ARG002
        """A worker that was told to stop has stopped."""
        self._observe(self._env.now, Kind.FREED, plan.index)

    def _cancel_plain(self, session: str, cancel: Cancel) -> bool:
        """Stop a plain call that is under way, if that is what the cancel names."""
        key = (session, f"call {cancel.request_id}")
        opened = self._open.pop(key, None)
        if opened is None:
            return False
        now, number = self._env.now, opened.plan.index
        self._observe(now, Kind.RECEIVED, number, Operation.CANCEL, cancel.attempt, NONE)
        self._observe(now, Kind.FINISHED, number, NONE, 0, Status.CANCELLED)
        self._workers.stop(key)
        return True

    def _plain_answer(self, plan: TaskPlan) -> Result | Failure:
        status = Status.FAILED if plan.fails else Status.COMPLETED
        self._observe(self._env.now, Kind.FINISHED, plan.index, NONE, 0, status)
        if plan.fails:
            return Failure(
                request_id=0,
                code=INTERNAL_ERROR,
                message=FAILURE_TEXT,
                operation=Operation.ORIGINAL,
                reason=Reason.EXECUTION,
            )
        return Result(request_id=0, task_id="", payload=PAYLOAD, operation=Operation.ORIGINAL)

    # Time.

    def _on_time(self) -> None:
        for output in self._machine.on_time(self._env.now):
            self._obey(output)
        self._arm()

    def _arm(self) -> None:
        """Wake for the machine's next deadline; for what it slept through, at once."""
        deadline = self._machine.next_deadline
        if deadline is not None and deadline[0] < self._env.now:
            deadline = (self._env.now, deadline[1])
        self._wakeup.arm(deadline)

    def _plan_restart(self, place: int, restart: Restart) -> None:
        down_at = ns_from_s(restart.at_s)
        up_at = down_at + ns_from_s(restart.down_s)
        tie = rank(Tie.RESTART, 2 * place)
        At(self._env, down_at, tie, lambda _: self._go_down())
        At(self._env, up_at, tie + 1, lambda _: self._come_up(restart))

    def _go_down(self) -> None:
        """Everything that was under way in memory is gone, and so are all connections."""
        now = self._env.now
        self._down_since = now
        self._workers.stop_all()
        if self._desk is not None:
            self._desk.stop_all()
        self._wakeup.arm(None)
        for key, opened in list(self._open.items()):
            opened.opened_at = None
            if opened.peer.rules.listens:
                plan = opened.peer.plan
                self._observe(
                    now, Kind.LOST, plan.index, Operation.ORIGINAL, 0, NONE, Reason.RECEIVER_DOWN
                )
            if opened.plain:
                del self._open[key]

    def _come_up(self, restart: Restart) -> None:
        now = self._env.now
        assert self._down_since is not None, "it went down before"
        down_ns = now - self._down_since
        self._down_since = None
        outputs = self._machine.restart(
            now, durable=restart.durable, redoes=restart.interrupted == "redone", down_ns=down_ns
        )
        if not restart.durable:
            self._open.clear()
        for output in outputs:
            self._obey(output)
        self._arm()

    # What it sends.

    def _send(self, peer: RequesterSide, output: Send, attempt: int) -> None:
        message = output.message
        if isinstance(message, Created):
            self._send_created(peer, attempt)
        elif isinstance(message, InputRequest):
            self._carry(peer, Operation.INPUT, message.ordinal, message)
        else:
            operation = _operation_of(message)
            peer.expect(self._carry(peer, operation, message.attempt, message))

    def _send_created(self, peer: RequesterSide, ordinal: int) -> None:
        plan, fates = peer.plan, self._fates
        if fates.is_created_lost(plan.key, ordinal):
            self._observe(
                self._env.now, Kind.LOST, plan.index, Operation.CREATED, ordinal, NONE,
                Reason.REPLY_LOST,
            )  # fmt: skip
            peer.expect(None)
            return
        arrives_at = self._env.now + fates.reply_leg_ns(
            plan.key, plan.population, Operation.CREATED, ordinal
        )
        tie = rank(Tie.CREATED_TO_REQUESTER, plan.index, ordinal)
        At(self._env, arrives_at, tie, peer.on_created)
        if fates.doubles_replies and fates.is_reply_doubled(plan.key, Operation.CREATED, ordinal):
            leg_ns = fates.reply_leg_ns(
                plan.key, plan.population, Operation.CREATED, ordinal, copy=True
            )
            self._observe(self._env.now, Kind.DUPLICATED, plan.index, Operation.CREATED, ordinal)
            At(self._env, self._env.now + leg_ns, tie, peer.on_created)
        peer.expect(arrives_at)

    def _carry(
        self, peer: RequesterSide, operation: Operation, ordinal: int, message: Reply | InputRequest
    ) -> int | None:
        """Let a message travel to the requester; when it will arrive, None when it is lost."""
        plan, fates, now = peer.plan, self._fates, self._env.now
        may_be_lost = fates.loses_replies or operation in {Operation.INPUT, Operation.ORIGINAL}
        if may_be_lost and fates.is_reply_lost(plan.key, operation, ordinal):
            self._observe(now, Kind.LOST, plan.index, operation, ordinal, NONE, Reason.REPLY_LOST)
            return None
        arrives_at = now + fates.reply_leg_ns(plan.key, plan.population, operation, ordinal)
        tie = rank(REPLY_TIE_OF[operation], plan.index, ordinal)
        if isinstance(message, InputRequest):
            At(self._env, arrives_at, tie, lambda _: peer.on_prompt(message))
        else:
            At(self._env, arrives_at, tie, lambda _: peer.on_reply(message))
        if fates.doubles_replies and fates.is_reply_doubled(plan.key, operation, ordinal):
            leg_ns = fates.reply_leg_ns(plan.key, plan.population, operation, ordinal, copy=True)
            self._observe(now, Kind.DUPLICATED, plan.index, operation, ordinal)
            if isinstance(message, InputRequest):
                At(self._env, now + leg_ns, tie, lambda _: peer.on_prompt(message))
            else:
                At(self._env, now + leg_ns, tie, lambda _: peer.on_reply(message))
        return arrives_at

    def _answer_original(self, opened: Open, answer: Result | Failure) -> None:
        """Carry the original response, while the stream that would carry it is open (N09)."""
        peer, opened_at, now = opened.peer, opened.opened_at, self._env.now
        if not peer.rules.listens or opened_at is None:
            return  # nobody listens: it is polling that is studied
        lifetime_ns = self._stream_lifetime_ns
        if lifetime_ns is not None and now - opened_at > lifetime_ns:
            self._observe(now, Kind.LOST, peer.plan.index, Operation.ORIGINAL)
            return
        self._carry(peer, Operation.ORIGINAL, 0, answer)


def _operation_of(reply: Reply) -> Operation:
    """The exchange that a reply ends."""
    if isinstance(reply, Result | Failure):
        return reply.operation
    return Operation.DELETE if isinstance(reply, Deleted) else Operation.GET
