"""The requesters' side: one machine a task, its wake-up, and the network before it.

Rule: a machine is told what happens and sends what it says; when to wait for a place is the
requester's own affair (``max_open``).

A deadline that the answer on its way will beat is not armed: it could only be cancelled.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tasksim.engines.reference.ranked import At, Wakeup
from tasksim.protocol.guards import Guard
from tasksim.protocol.messages import (
    OPERATION_OF,
    Call,
    Cancel,
    CancelTask,
    Create,
    Delete,
    Failure,
    Get,
    GetResult,
    InputAnswer,
    InputRequest,
    Pushed,
    Reply,
    Request,
    Update,
)
from tasksim.protocol.occurrences import NONE, Kind, Reason
from tasksim.protocol.requester import Requester
from tasksim.protocol.rules import RequesterRules
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.plans import TaskPlan

if TYPE_CHECKING:
    from tasksim.engines.reference.model import Model

NOTICES: Final = (Cancel, InputAnswer, CancelTask, Update)  # nothing waits for their answer
OVER_LIMIT: Final = frozenset({Reason.CONCURRENCY, Reason.RATE_LIMITED, Reason.STORE_FULL})
TIE_OF: Final[dict[type[Request], Tie]] = {
    Create: Tie.CREATE_TO_RECEIVER,
    Get: Tie.GET_TO_RECEIVER,
    GetResult: Tie.RESULT_TO_RECEIVER,
    Cancel: Tie.CANCEL_TO_RECEIVER,
    Delete: Tie.DELETE_TO_RECEIVER,
    InputAnswer: Tie.ANSWER_TO_RECEIVER,
    CancelTask: Tie.CANCEL_TO_RECEIVER,
    Update: Tie.ANSWER_TO_RECEIVER,
}
Closed = Callable[[], None]


class RequesterSide:
    """One task's requester, its wake-up and its end of the network."""

    __slots__ = (
        "_calls",
        "_env",
        "_guard",
        "_has_turn",
        "_machine",
        "_model",
        "_on_closed",
        "_parent_id",
        "_renewals",
        "_wakeup",
        "opened_at",
        "plan",
        "principal",
        "pushes",
        "rules",
        "runs",
    )

    def __init__(
        self,
        model: "Model",
        plan: TaskPlan,
        *,
        rules: RequesterRules,
        call: Call,
        on_closed: Closed,
        renewals: int = 0,
        parent_id: str | None = None,
        task_id: str | None = None,
    ) -> None:
        self.plan: Final = plan
        self.rules: Final = rules
        self.principal: Final = f"requester-{plan.requester}"
        self._model = model
        self._env = model.env
        self._on_closed = on_closed
        self._renewals = renewals
        self._calls = call
        self._parent_id = parent_id
        self._has_turn = False  # its next poll has waited for the requester's pace
        self.runs = 0  # how often the receiver took its work on
        self.opened_at: int | None = None  # since when the stream of its creation is open
        self.pushes = 0  # how often the receiver told it something unasked
        self._guard = model.guard_of(plan)
        self._wakeup = Wakeup(model.env, self._on_time)
        self._machine = Requester(
            task_id=f"task-{plan.index}" if task_id is None else task_id,
            number=plan.index,
            rules=rules,
            observe=model.observe,
            call=call,
            fate=model.workload.fate_of(plan),
            deletes=model.workload.deletes(plan),
            lore=model.lore_of(plan) if rules.polling.learns else None,
            parent_id=parent_id,
        )

    @property
    def session(self) -> str:
        """The session that it speaks in now."""
        session_ns = self._model.session_ns[self.plan.population]
        if session_ns is None:
            return self.principal
        return f"{self.principal}/{self._env.now // session_ns}"

    @property
    def is_satisfied(self) -> bool:
        """Whether it is done and has the result."""
        return self._machine.done and self._machine.outcome is Reason.RETRIEVED

    @property
    def is_done(self) -> bool:
        """Whether it is done, whatever came of it, and will not ask anew."""
        return self._machine.done and not self._machine.renews

    def start(self, *, asked_at: int | None = None) -> None:
        """Its turn has come: ask for the task, or ask again for what was asked for before."""
        now = self._env.now
        delay_ns = 0 if self._guard is None else self._guard.delay_ns(now)
        if delay_ns:
            tie = rank(Tie.RETRY, self.plan.index)
            At(self._env, now + delay_ns, tie, lambda _: self._start(asked_at))
        else:
            self._start(asked_at)

    def _start(self, asked_at: int | None) -> None:
        if self._machine.done:
            return  # it was not needed any more
        self._act(self._machine.start(self._env.now, asked_at=asked_at))

    def on_created(self) -> None:
        """The created notification arrives."""
        self._act(self._machine.on_created(self._env.now))

    def on_prompt(self, prompt: InputRequest) -> None:
        """The receiver asks for input."""
        self._act(self._machine.on_prompt(prompt, self._env.now))

    def on_push(self, pushed: Pushed) -> None:
        """The receiver says something unasked."""
        self._act(self._machine.on_push(pushed, self._env.now))

    def on_reply(self, reply: Reply) -> None:
        """An answer arrives."""
        now = self._env.now
        if self._guard is not None:
            is_refused = isinstance(reply, Failure) and reply.reason in OVER_LIMIT
            self._guard.hears(now, ok=not is_refused)
        self._act(self._machine.on_reply(reply, now))

    def on_refused(self, request: Request) -> None:
        """The connection was refused: the receiver is down."""
        operation, now = OPERATION_OF[type(request)], self._env.now
        if self._guard is not None:
            self._guard.hears(now, ok=False)
        self._act(self._machine.on_no_answer(operation, request.attempt, now))

    def drop(self) -> None:
        """Another task of its batch was enough, before this one was asked for."""
        self._on_closed = _nothing
        self.let_be()

    def let_be(self) -> None:
        """Another task of its batch was enough."""
        cancels = self._model.cancels_rest(self.plan)
        self._act(self._machine.on_not_needed(self._env.now, cancels=cancels))

    def expect(self, answer_at: int | None) -> None:
        """An answer will arrive at that instant, or never: arm the deadline that it will miss."""
        deadline = self._machine.next_deadline
        if deadline is not None and (answer_at is None or answer_at >= deadline[0]):
            self._arm()

    def _on_time(self) -> None:
        now, deadline = self._env.now, self._machine.next_deadline
        if self._guard is not None and deadline is not None and deadline[0] <= now:
            if deadline[1] is Tie.REQUEST_TIMEOUT:
                self._guard.hears(now, ok=False)
            elif deadline[1] is Tie.POLL_DUE and not self._has_turn:
                delay_ns = self._guard.delay_ns(now)
                if delay_ns:
                    self._has_turn = True
                    self._machine.postpone_poll(now + delay_ns)
                    self._arm()
                    return
            self._has_turn = False
        self._act(self._machine.on_time(now))

    def _act(self, requests: list[Request]) -> None:
        if self._machine.children_wanted:
            self._ask_for_children()
        if not requests:
            self._arm()
            if self._machine.done:
                self._close()
            return
        self._wakeup.arm(None)
        refused = [] if self._guard is None else self._kept_back(requests, self._guard)
        for request in requests:
            self._send(request)
        if not requests or isinstance(requests[-1], NOTICES):
            self._arm()  # nothing answers it
        if self._machine.done:
            self._close()
        for request, (reason, wait_ns) in refused:
            operation = OPERATION_OF[type(request)]
            self._act(
                self._machine.on_no_answer(
                    operation, request.attempt, self._env.now, reason=reason,
                    retry_after_ns=wait_ns,
                )
            )  # fmt: skip

    def _kept_back(
        self, requests: list[Request], guard: Guard
    ) -> list[tuple[Request, tuple[Reason, int]]]:
        """Take out of *requests* what the requester's own guard does not let out, and why."""
        kept = []
        for request in list(requests):
            is_retry = self._machine.is_retrying or (
                isinstance(request, Create) and request.attempt > 0
            )
            why = guard.refuses(self._env.now, is_retry=is_retry)
            if why is not None:
                requests.remove(request)
                kept.append((request, why))
                operation = OPERATION_OF[type(request)]
                self._model.observe(
                    self._env.now, Kind.LOST, self.plan.index, operation, request.attempt, NONE,
                    why[0],
                )  # fmt: skip
        return kept

    def _ask_for_children(self) -> None:
        wanted, self._machine.children_wanted = self._machine.children_wanted, []
        for child in wanted:
            self._model.spawn(self.plan, self._machine.task_id, child)

    def _close(self) -> None:
        on_closed, self._on_closed = self._on_closed, _nothing
        if on_closed is _nothing:
            return
        if not self._machine.renews:
            on_closed()
        elif self._machine.back_at > self._env.now:
            tie = rank(Tie.RETRY, self.plan.index)
            At(self._env, self._machine.back_at, tie, lambda _: self._renew(on_closed))
        else:
            self._renew(on_closed)

    def _renew(self, on_closed: Closed) -> None:
        """Ask for the same work under another id; for the user it is the same task."""
        model, renewal = self._model, self._renewals + 1
        plan = model.workload.renewal_of(self.plan, renewal)
        side = RequesterSide(
            model,
            plan,
            rules=replace(self.rules, create_attempts=max(self.rules.create_attempts - 1, 1)),
            call=self._calls,
            on_closed=on_closed,
            renewals=renewal,
            parent_id=self._parent_id,
        )
        model.announce(plan)
        model.renew(self, side)
        side.start(asked_at=self._machine.asked_at)

    def _send(self, request: Request) -> None:
        operation, session, model = OPERATION_OF[type(request)], self.session, self._model
        self.expect(
            model.network.to_receiver(
                self.plan, operation, request.attempt, TIE_OF[type(request)],
                lambda: model.receiver.arrive(self, session, request, operation),
            )
        )  # fmt: skip

    def _arm(self) -> None:
        deadline = self._machine.next_deadline
        if deadline is None:
            self._wakeup.arm(None)
        else:
            self._wakeup.arm((deadline[0], rank(deadline[1], self.plan.index)))


class Doors:
    """Each requester's own limit of open tasks: who is over it waits on its side, in order."""

    def __init__(self, limits: list[int | None]) -> None:
        self._limits = limits  # by population
        self._open: dict[int, int] = {}
        self._waiting: dict[int, deque[RequesterSide]] = {}

    @property
    def waiting(self) -> int:
        """Tasks that have not been asked for yet."""
        return sum(map(len, self._waiting.values()))

    def enter(self, side: RequesterSide) -> None:
        """Let the task be asked for: now, or when its requester has room."""
        limit = self._limits[side.plan.population]
        requester = side.plan.requester
        if limit is None:
            side.start()
        elif self._open.get(requester, 0) < limit:
            self._open[requester] = self._open.get(requester, 0) + 1
            side.start()
        else:
            self._waiting.setdefault(requester, deque()).append(side)

    def withdraw(self, side: RequesterSide) -> bool:
        """Take a task back that has not been asked for yet; whether it was there."""
        requester = side.plan.requester
        waiting = self._waiting.get(requester)
        if waiting is None or side not in waiting:
            return False
        waiting.remove(side)
        if not waiting:
            del self._waiting[requester]
        return True

    def leave(self, plan: TaskPlan) -> None:
        """The requester is through with a task: the next that waits is asked for at once."""
        requester = plan.requester
        if self._limits[plan.population] is None:
            return
        waiting = self._waiting.get(requester)
        if waiting:
            side = waiting.popleft()
            if not waiting:
                del self._waiting[requester]
            side.start()
            return
        self._open[requester] -= 1
        if not self._open[requester]:
            del self._open[requester]


def _nothing() -> None:
    """Closed before."""
