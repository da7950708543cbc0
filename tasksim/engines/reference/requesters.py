"""The requesters' side: one machine a task, its wake-up, and the network before it.

Rule: a machine is told what happens and sends what it says; when to wait for a place is the
requester's own affair (``max_open``).

A deadline that the answer on its way will beat is not armed: it could only be cancelled.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from simpy.events import Event

from tasksim.engines.reference.ranked import At, Wakeup
from tasksim.protocol.messages import (
    OPERATION_OF,
    Call,
    Cancel,
    Create,
    Delete,
    Get,
    GetResult,
    InputAnswer,
    InputRequest,
    Reply,
    Request,
)
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.requester import Requester
from tasksim.protocol.rules import RequesterRules
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.workload import TaskPlan

if TYPE_CHECKING:
    from tasksim.engines.reference.model import Model

TIE_OF: Final[dict[type[Request], Tie]] = {
    Create: Tie.CREATE_TO_RECEIVER,
    Get: Tie.GET_TO_RECEIVER,
    GetResult: Tie.RESULT_TO_RECEIVER,
    Cancel: Tie.CANCEL_TO_RECEIVER,
    Delete: Tie.DELETE_TO_RECEIVER,
    InputAnswer: Tie.ANSWER_TO_RECEIVER,
}
Closed = Callable[[], None]


class RequesterSide:
    """One task's requester, its wake-up and its end of the network."""

    __slots__ = (
        "_calls",
        "_env",
        "_machine",
        "_model",
        "_on_closed",
        "_renewals",
        "_wakeup",
        "plan",
        "principal",
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
    ) -> None:
        self.plan: Final = plan
        self.rules: Final = rules
        self.principal: Final = f"requester-{plan.requester}"
        self._model = model
        self._env = model.env
        self._calls = call
        self._on_closed = on_closed
        self._renewals = renewals
        self.runs = 0  # times that the receiver took the task on
        self._wakeup = Wakeup(model.env, self._on_time)
        self._machine = Requester(
            task_id=f"task-{plan.index}",
            number=plan.index,
            rules=rules,
            observe=model.observe,
            call=call,
            fate=model.workload.fate_of(plan),
            deletes=model.workload.deletes(plan),
        )

    @property
    def session(self) -> str:
        """The session that it speaks in now."""
        session_ns = self._model.session_ns[self.plan.population]
        if session_ns is None:
            return self.principal
        return f"{self.principal}/{self._env.now // session_ns}"

    def next_run(self) -> TaskPlan:
        """What the receiver works on if it takes the creation: known by a number of its own.

        A creation that is repeated may be taken more than once, by a receiver that has forgotten
        the first or runs it as a plain call.
        """
        return self.plan if not self.runs else self._model.workload.rerun_of(self.plan, self.runs)

    def start(self, *, asked_at: int | None = None) -> None:
        """Its turn has come: ask for the task, or ask again for what was asked for before."""
        self._act(self._machine.start(self._env.now, asked_at=asked_at))

    def on_created(self, _: Event) -> None:
        """The created notification arrives."""
        self._act(self._machine.on_created(self._env.now))

    def on_prompt(self, prompt: InputRequest) -> None:
        """The receiver asks for input."""
        self._act(self._machine.on_prompt(prompt, self._env.now))

    def on_reply(self, reply: Reply) -> None:
        """An answer arrives."""
        self._act(self._machine.on_reply(reply, self._env.now))

    def on_refused(self, request: Request) -> None:
        """The connection was refused: the receiver is down."""
        operation = OPERATION_OF[type(request)]
        self._act(self._machine.on_no_answer(operation, request.attempt, self._env.now))

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
            if self._machine.done:
                self._close()
            return
        self._wakeup.arm(None)
        for request in requests:
            self._send(request)
        if isinstance(requests[-1], Cancel | InputAnswer):
            self._arm()  # nothing answers it
        if self._machine.done:
            self._close()

    def _close(self) -> None:
        on_closed, self._on_closed = self._on_closed, _nothing
        if on_closed is _nothing:
            return
        if self._machine.renews:
            self._renew(on_closed)
        else:
            on_closed()

    def _renew(self, on_closed: Closed) -> None:
        """Ask for the same work under another id; for the user it is the same task."""
        model, renewal = self._model, self._renewals + 1
        plan = model.workload.renewal_of(self.plan, renewal)
        side = RequesterSide(
            model,
            plan,
            rules=replace(self.rules, create_attempts=self.rules.create_attempts - 1),
            call=self._calls,
            on_closed=on_closed,
            renewals=renewal,
        )
        model.announce(plan)
        side.start(asked_at=self._machine.asked_at)

    def _send(self, request: Request) -> None:
        operation = OPERATION_OF[type(request)]
        plan, model, attempt = self.plan, self._model, request.attempt
        fates = model.workload.messages
        if fates.loses_requests and fates.is_request_lost(plan.key, operation, attempt):
            model.observe(
                self._env.now, Kind.LOST, plan.index, operation, attempt, NONE, Reason.REQUEST_LOST
            )
            self.expect(None)
            return
        arrives_at = self._env.now + fates.request_leg_ns(
            plan.key, plan.population, operation, attempt
        )
        session = self.session
        tie = rank(TIE_OF[type(request)], plan.index, attempt)
        At(
            self._env, arrives_at, tie,
            lambda _: model.receiver.arrive(self, session, request, operation),
        )  # fmt: skip
        if fates.doubles_requests and fates.is_request_doubled(plan.key, operation, attempt):
            self._send_again(request, operation, session)
        self.expect(arrives_at)

    def _send_again(self, request: Request, operation: Operation, session: str) -> None:
        plan, model, attempt = self.plan, self._model, request.attempt
        leg_ns = model.workload.messages.request_leg_ns(
            plan.key, plan.population, operation, attempt, copy=True
        )
        model.observe(self._env.now, Kind.DUPLICATED, plan.index, operation, attempt)
        At(
            self._env,
            self._env.now + leg_ns,
            rank(TIE_OF[type(request)], plan.index, attempt),
            lambda _: model.receiver.arrive(self, session, request, operation),
        )

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
