"""The receiver's side: its machine, its wake-up, its workers, and the network before it.

Rule 1: what to do with a message is the machine's business; who does it, and when its answer
arrives, is decided here.
Rule 2: whatever belongs to a task is kept under its key and dropped when its work is over.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tasksim.engines.reference.entry import AT_ONCE, LATER, Entry, Standing
from tasksim.engines.reference.network import REPLY_TIE_OF
from tasksim.engines.reference.opened import (
    FAILURE_TEXT,
    PAYLOAD,
    Open,
    operation_of,
    plain_answer,
    stops_held,
)
from tasksim.engines.reference.ranked import At, RankedEnvironment, Wakeup
from tasksim.engines.reference.requesters import TIE_OF, RequesterSide
from tasksim.engines.reference.workers import Pool, Workers
from tasksim.protocol.errors import RateLimitedError
from tasksim.protocol.lifecycle import DIED
from tasksim.protocol.messages import (
    OPERATION_OF,
    Cancel,
    Create,
    Created,
    Failure,
    InputAnswer,
    InputRequest,
    Pushed,
    Request,
    Result,
)
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.outputs import (
    Answer,
    Hold,
    Output,
    ResumeWork,
    RunPlain,
    Send,
    StartWork,
    StopWork,
)
from tasksim.protocol.receiver import Receiver
from tasksim.protocol.records import Key
from tasksim.protocol.rules import RUNS_FROM
from tasksim.protocol.states import TERMINAL, Status
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.faults import Restart
from tasksim.scenario.model import Scenario
from tasksim.scenario.plans import Stop, TaskPlan
from tasksim.scenario.rules import receiver_rules
from tasksim.units import ns_from_s

if TYPE_CHECKING:
    from tasksim.engines.reference.model import Model

ALL_STOPS: Final = frozenset(Stop)
UPDATE_BIT: Final = 1 << 20  # of the ordinal of an answer to an update: questions share its draws
END_OF_TIME: Final = 1 << 62  # when every bucket is full again


class ReceiverSide:
    """The receiver, its wake-up, its workers and its end of the network."""

    def __init__(self, model: "Model", scenario: Scenario) -> None:
        receiver = scenario.receiver
        self._model = model
        self._env = model.env
        self._observe = model.observe
        self._network = model.network
        self._machine = Receiver(receiver_rules(scenario), model.observe)
        self._mints_ids = self._machine.rules.manners.mints_ids
        self._wakeup = Wakeup(model.env, self._on_time)
        self._pool = Pool(receiver.workers)
        deaths = scenario.faults.worker_deaths
        self._knows_deaths = deaths is None or deaths.known
        unseen_ns = 0 if deaths is None else ns_from_s(deaths.noticed_s)
        self._workers = Workers(
            model.env,
            self._pool,
            self,
            stop_ns=ns_from_s(receiver.stop_s),
            unseen_ns=unseen_ns,
            pickup_ns=ns_from_s(receiver.pickup_s),
        )
        self._holds = [stops_held(work) for work in scenario.work]
        self._open: dict[Key, Open] = {}
        lifetime_s = scenario.network.stream_lifetime_s
        self._stream_lifetime_ns = None if lifetime_s is None else ns_from_s(lifetime_s)
        self._entry = Entry(model.env, self._pool, scenario)
        self._down_since: int | None = None
        self._stalled_until = 0
        self._standing = Standing(model.env)
        for place, restart in enumerate(scenario.faults.restarts):
            self._plan_restart(place, restart)
        for place, stall in enumerate(scenario.faults.stalls):
            until = ns_from_s(stall.at_s + stall.for_s)
            tie = rank(Tie.STALL, place)
            At(model.env, ns_from_s(stall.at_s), tie, lambda _, until=until: self._stall(until))  # type: ignore[misc]

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
            **self._entry.leftovers(),
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
            self._turn_away(peer, request, operation)
            return
        if self._stalled_until > self._env.now:
            self._standing.add(
                self._stalled_until,
                rank(TIE_OF[type(request)], peer.plan.index, request.attempt),
                lambda: self.arrive(peer, session, request, operation),
                lambda: self._turn_away(peer, request, operation),
            )
            peer.expect(None)
            return
        if self._entry.is_open:
            self._take(peer, session, request)
            return
        tie = rank(TIE_OF[type(request)], peer.plan.index, request.attempt)
        wait_ns = self._entry.enter(
            operation, peer.principal, tie,
            act=lambda: self._take(peer, session, request),
            drop=lambda: self._turn_away(peer, request, operation),
        )  # fmt: skip
        if wait_ns == AT_ONCE:
            self._take(peer, session, request)
        elif wait_ns == LATER:
            peer.expect(None)  # when it will be answered is not known yet
        else:
            fault = RateLimitedError(wait_ns)
            outputs = self._machine.refuse(session, request, fault, self._env.now, peer.principal)
            self._obey_all(outputs, peer)

    def _take(self, peer: RequesterSide, session: str, request: Request) -> None:
        if peer.runs and isinstance(request, Create) and request.draw is not None:
            request = replace(request, draw=replace(request.draw, run=peer.runs))
        if isinstance(request, Cancel) and self._cancel_plain(session, request):
            return
        outputs = self._machine.receive(session, request, self._env.now, peer.principal, peer)
        self._obey_all(outputs, peer)
        self._arm()

    def _turn_away(self, peer: RequesterSide, request: Request, operation: Operation) -> None:
        """The receiver is down; who waits for an answer hears that there will be none."""
        plan, attempt = peer.plan, request.attempt
        self._observe(
            self._env.now, Kind.LOST, plan.index, operation, attempt, NONE, Reason.RECEIVER_DOWN
        )
        if not isinstance(request, Cancel | InputAnswer):
            self._hang_up(peer, request, operation)

    def _hang_up(self, peer: RequesterSide, request: Request, operation: Operation) -> None:
        plan, attempt = peer.plan, request.attempt
        leg_ns = self._model.workload.messages.reply_leg_ns(
            plan.key, plan.population, operation, attempt
        )
        at = self._env.now + leg_ns
        tie = rank(REPLY_TIE_OF[operation], plan.index, attempt)
        At(self._env, at, tie, lambda _: peer.on_refused(request))
        peer.expect(at)

    def _opened(self, peer: RequesterSide, number: int, *, plain: bool = False) -> Open:
        """Take note of whose work it is, and which time it is that it is taken on."""
        run = number >> RUNS_FROM
        plan = self._model.workload.rerun_of(peer.plan, run) if run else peer.plan
        if run:
            self._model.recorder.meets(plan.index, plan.requester)
        peer.runs = max(peer.runs, run + 1)
        peer.opened_at = None if self._mints_ids else self._env.now
        return Open(peer, plan, self._env.now, plain)

    def _obey_all(self, outputs: list[Output], peer: RequesterSide | None = None) -> None:
        for output in outputs:
            self._obey(output, peer)

    def _obey(self, output: Output, peer: RequesterSide | None = None) -> None:
        """Carry out what the machine orders."""
        match output:
            case Send():
                to = peer if output.via is None else output.via
                assert to is not None, "whoever sends knows whom to"
                self._send(to, output)
            case Hold():
                assert peer is not None, "somebody's request is held"
                peer.runs += output.takes_on
                peer.expect(None)
            case StartWork():
                if output.key not in self._open:
                    self._open[output.key] = self._opened(output.via, output.number)
                plan = self._open[output.key].plan
                self._workers.order(output.key, plan, holds=self._holds[plan.work_class])
            case RunPlain():
                assert peer is not None, "a call has a caller"
                key = (output.session, f"call {output.request_id}")
                if key not in self._open:  # a duplicate of the network is the same call
                    opened = self._open[key] = self._opened(
                        peer, peer.runs << RUNS_FROM, plain=True
                    )
                    self._workers.order(key, opened.plan, holds=ALL_STOPS)
                peer.expect(None)
            case ResumeWork():
                self._workers.resume(output.key)
            case StopWork():
                self._workers.stop(output.key)
                self._open.pop(output.key, None)
            case Answer():
                self._answer_original(self._open.pop(output.key), output.message)

    # What the work reports.

    def started(self, key: Key, plan: TaskPlan) -> None:
        """A worker begins, or goes on."""
        if self._open[key].plain:
            self._observe(self._env.now, Kind.STARTED, plan.index)
        else:
            self._machine.work_started(key, self._env.now)

    def reached(self, key: Key) -> None:
        """The work has an intermediate result."""
        if not self._open[key].plain:
            self._obey_all(self._machine.work_reached(key, self._env.now))
            self._arm()

    def needs_input(self, key: Key, plan: TaskPlan) -> None:
        """Work cannot go on without input: the requester is asked."""
        if self._open[key].plain:
            self._workers.resume(key)  # a plain call has no way to ask
            return
        self._obey_all(self._machine.work_needs_input(key, self._env.now, ({},) * plan.asks))
        self._arm()

    def needs_children(self, key: Key, plan: TaskPlan) -> None:
        """Work cannot go on before its child tasks are done: the requester is told of them."""
        if self._open[key].plain:
            self._workers.resume(key)
            return
        calls = self._model.calls_of_children(plan)
        self._obey_all(self._machine.work_needs_children(key, self._env.now, calls))
        self._arm()

    def died(self, plan: TaskPlan) -> None:
        """The worker died, and nobody has seen it yet."""
        self._observe(self._env.now, Kind.DIED, plan.index)

    def found_dead(self, key: Key, plan: TaskPlan) -> None:
        """It is seen that the worker died: the task has failed, or nobody can tell."""
        now = self._env.now
        if self._open[key].plain:
            status = Status.FAILED if self._knows_deaths else Status.UNKNOWN
            self._observe(now, Kind.FINISHED, plan.index, NONE, 0, status)
            del self._open[key]
        elif self._knows_deaths:
            self._end(key, self._machine.work_failed(key, DIED, now))
        else:
            self._end(key, self._machine.work_lost(key, now))

    def paused(self, key: Key) -> None:
        """The worker is free while the work waits."""
        self._machine.work_paused(key, self._env.now)

    def ended(self, key: Key, plan: TaskPlan) -> None:
        """A worker is through with a task; the original request is answered."""
        now = self._env.now
        if self._open[key].plain:
            self._end_plain(self._open.pop(key), plan)
        elif plan.vanishes:
            self._end(key, self._machine.work_lost(key, now))
        elif plan.fails:
            self._end(key, self._machine.work_failed(key, FAILURE_TEXT, now))
        else:
            self._end(key, self._machine.work_succeeded(key, PAYLOAD, now))

    def _end(self, key: Key, outputs: list[Output]) -> None:
        """Carry out what follows from a task's end; nothing is open of it any more."""
        self._obey_all(outputs)
        self._open.pop(key, None)
        self._arm()

    def _end_plain(self, opened: Open, plan: TaskPlan) -> None:
        if plan.vanishes:
            self._observe(self._env.now, Kind.FINISHED, plan.index, NONE, 0, Status.UNKNOWN)
        else:
            status = Status.FAILED if plan.fails else Status.COMPLETED
            self._observe(self._env.now, Kind.FINISHED, plan.index, NONE, 0, status)
            self._answer_original(opened, plain_answer(plan))

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

    # Time.

    def _on_time(self) -> None:
        self._obey_all(self._machine.on_time(self._env.now))
        self._arm()

    def _arm(self) -> None:
        """Wake for the machine's next deadline; for what it slept through, at once."""
        deadline = self._machine.next_deadline
        awake_at = max(self._env.now, self._stalled_until)
        if deadline is not None and deadline[0] < awake_at:
            deadline = (awake_at, deadline[1])
        self._wakeup.arm(deadline)

    def _stall(self, until: int) -> None:
        """Stand still: what arrives waits, what is due waits, and what ends is not seen."""
        now = self._env.now
        if self._down_since is not None:
            return
        self._observe(now, Kind.STALLED, NONE, NONE, 0, NONE, NONE, until - now)
        self._stalled_until = max(self._stalled_until, until)
        self._machine.stall(self._stalled_until)
        self._workers.stall(self._stalled_until)
        self._entry.stall(self._stalled_until)
        self._arm()

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
        self._stalled_until = 0
        self._workers.stop_all()
        self._standing.drop_all()
        self._entry.stop_all()
        self._wakeup.arm(None)
        for held in self._machine.drop_held(now):
            self._hang_up(held.via, held.message, OPERATION_OF[type(held.message)])
        for key, opened in list(self._open.items()):
            opened.opened_at = opened.peer.opened_at = None
            if opened.peer.rules.listens and (opened.plain or not self._mints_ids):
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
        self._obey_all(outputs)
        for key in list(self._open):
            status = self._machine.status_of(key)
            if status is None or status in TERMINAL:
                del self._open[key]
        self._arm()

    # What it sends.

    def _send(self, peer: RequesterSide, output: Send) -> None:
        message, plan, network = output.message, peer.plan, self._network
        match message:
            case Created():
                arrives_at = network.to_requester(
                    plan, Operation.CREATED, message.attempt, peer.on_created,
                    stream_from=self._env.now,
                )  # fmt: skip
                peer.expect(arrives_at)
            case InputRequest():
                network.to_requester(
                    plan, Operation.INPUT, message.ordinal, lambda: peer.on_prompt(message),
                    stream_from=peer.opened_at,
                )  # fmt: skip
            case Pushed():
                peer.pushes += 1
                network.to_requester(
                    plan, Operation.PUSH, peer.pushes, lambda: peer.on_push(message),
                    stream_from=peer.opened_at,
                )  # fmt: skip
            case _:
                operation = operation_of(message)
                ordinal = message.attempt
                is_update = operation is Operation.INPUT
                peer.expect(
                    network.to_requester(
                        plan, operation, ordinal | UPDATE_BIT if is_update else ordinal,
                        lambda: peer.on_reply(message),
                        tie=Tie.UPDATED_TO_REQUESTER if is_update else None,
                    )
                )  # fmt: skip

    def _answer_original(self, opened: Open, answer: Result | Failure) -> None:
        """Carry the original response, while the stream that would carry it is open (N09)."""
        peer, opened_at, now = opened.peer, opened.opened_at, self._env.now
        if not peer.rules.listens or opened_at is None:
            return  # nobody listens: it is polling that is studied
        lifetime_ns = self._stream_lifetime_ns
        if lifetime_ns is not None and now - opened_at > lifetime_ns:
            self._observe(now, Kind.LOST, peer.plan.index, Operation.ORIGINAL)
            return
        self._network.to_requester(
            peer.plan, Operation.ORIGINAL, 0, lambda: peer.on_reply(answer), stream_from=opened_at
        )
