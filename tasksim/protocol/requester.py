"""The requester: the party that creates one task and sees it through.

Rule 1: no clock, no I/O, no randomness: uniforms are handed in.
Rule 2: one machine per task, one deadline at a time, one request on its way at a time.
Rule 3: what it cannot know it does not decide: a refusal before the created notification is not
fatal (N04), a silent receiver is given up only after a stated number of failures.

Flow: create; wait for the created notification (N02); poll by policy; fetch the result. With
``raced`` the original response may win at any moment (N01).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from tasksim.policies import ABSENT
from tasksim.policies.polling import First, Polling
from tasksim.protocol.messages import (
    Call,
    Cancel,
    Create,
    Delete,
    Deleted,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    Reply,
    Request,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.states import TERMINAL, Status
from tasksim.protocol.ties import Tie

OUTCOME_OF: Final[dict[Status, Reason]] = {
    Status.FAILED: Reason.FAILED,
    Status.CANCELLED: Reason.CANCELLED,
    Status.UNKNOWN: Reason.UNKNOWN,
}
FORGOTTEN: Final = frozenset({Reason.NOT_FOUND, Reason.EXPIRED})
IDS_PER_TASK: Final = 1 << 20  # request ids of one session's tasks never meet


@dataclass(frozen=True, slots=True, kw_only=True)
class RequesterRules:
    """How a requester behaves."""

    polling: Polling
    keep_alive_ns: int | None = None  # None: it asks for none
    created_timeout_ns: int = 10_000_000_000
    request_timeout_ns: int = 60_000_000_000
    raced: bool = False  # whether the original response counts (N01)
    failures_max: int = 5  # unanswered or refused requests in a row before it gives up
    cancel_patience_ns: int = 60_000_000_000  # from the cancel on it polls to see it confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What chance holds for a requester: its uniforms, and when its user will have had enough."""

    draw: DrawAddress | None = None  # told to the receiver, in experiments
    poll_unit: Callable[[int], float] = lambda attempt: 0.0  # noqa: ARG005
    phase_unit: float = 0.0
    cancel_after_ns: int | None = None  # from asking for the task


class Phase(IntEnum):
    """Where a requester stands with its task."""

    IDLE = 0
    CREATING = 1  # waits for the created notification
    WAITING = 2  # waits for its next poll
    POLLING = 3  # a get is on its way
    FETCHING = 4  # a result request is on its way, or will be retried
    CLOSED = 5
    DELETING = 6  # all is known; a delete is on its way


class Requester:
    """One task seen from its requester (SEP-1686 3, 4 and the N rules)."""

    __slots__ = (
        "_attempt",
        "_call",
        "_cancel_at",
        "_cancel_from",
        "_cancelled_at",
        "_confirmed",
        "_deletes",
        "_draw",
        "_due",
        "_failures",
        "_fetches",
        "_hint_ns",
        "_observe",
        "_outcome",
        "_phase",
        "_phase_unit",
        "_poll_unit",
        "_rules",
        "_sent",
        "_sent_at",
        "number",
        "task_id",
    )

    def __init__(
        self,
        *,
        task_id: str,
        number: int,
        rules: RequesterRules,
        observe: Observer,
        call: Call,
        fate: Fate = Fate(),
        deletes: bool = False,
    ) -> None:
        self.task_id: Final = task_id
        self.number: Final = number
        self._due: tuple[int, Tie] | None = None
        self._cancel_from = fate.cancel_after_ns
        self._cancel_at: int | None = None  # when the user will have had enough
        self._cancelled_at: int | None = None  # when the receiver was told
        self._rules = rules
        self._observe = observe
        self._call = call
        self._draw = fate.draw
        self._poll_unit = fate.poll_unit
        self._phase_unit = fate.phase_unit
        self._deletes = deletes  # as soon as all is known (R44)
        self._outcome = Reason.GAVE_UP  # while the delete is on its way: the outcome to come
        self._phase = Phase.IDLE
        self._confirmed = False  # the receiver has shown that the task exists
        self._attempt = 0  # of the next get, from 0
        self._fetches = 0  # attempt of the next result request
        self._failures = 0  # in a row
        self._hint_ns = ABSENT
        self._sent = 0  # request ids used
        self._sent_at = 0  # when the task was asked for

    @property
    def done(self) -> bool:
        """Whether the requester has finished with the task."""
        return self._phase is Phase.CLOSED

    @property
    def next_deadline(self) -> tuple[int, Tie] | None:
        """(instant, tie) of the next thing to do without being told; None for nothing."""
        if self._cancel_at is None:
            return self._due
        cancel = (self._cancel_at, Tie.CANCEL_DUE)
        return cancel if self._due is None else min(self._due, cancel)

    @property
    def phase(self) -> Phase:
        """Where the requester stands."""
        return self._phase

    # What happens to it.

    def start(self, now: int) -> list[Request]:
        """Ask for the task. Call once, first."""
        assert self._phase is Phase.IDLE, "a requester starts once"
        self._phase = Phase.CREATING
        self._sent_at = now
        self._wake(now + self._rules.created_timeout_ns, Tie.CREATED_TIMEOUT)
        if self._cancel_from is not None:
            self._cancel_at = now + self._cancel_from
        self._observe(now, Kind.SENT, self.number, Operation.CREATE, 0)
        create = Create(
            request_id=self._next_request_id(),
            task_id=self.task_id,
            keep_alive_ns=self._rules.keep_alive_ns,
            call=self._call,
            draw=self._draw,
        )
        return [create]

    def on_created(self, now: int) -> list[Request]:
        """The created notification arrived: the task can be polled (3.4)."""
        if self.done:
            return []
        self._observe(now, Kind.CREATED_HEARD, self.number, Operation.CREATED)
        self._confirmed = True
        if self._phase is not Phase.CREATING:
            return []  # late: polling goes on as it is
        return self._await_first_poll(now)

    def on_reply(self, reply: Reply, now: int) -> list[Request]:
        """An answer arrived."""
        assert not isinstance(reply, TaskPage), "a requester of one task asks for no list"
        if isinstance(reply, TaskView):
            return self._on_view(reply, now)
        if isinstance(reply, Deleted):
            return self._on_deleted(reply, now)
        if reply.operation is Operation.ORIGINAL:
            return self._on_original(reply, now)
        if isinstance(reply, Result):
            return self._on_result(reply, now)
        return self._on_failure(reply, now)

    def on_no_answer(self, operation: Operation, attempt: int, now: int) -> list[Request]:
        """The transport lost a request or its answer, and says so."""
        if self.done:
            return []
        self._observe(
            now, Kind.REQUEST_TIMED_OUT, self.number, operation, attempt, NONE, Reason.NO_ANSWER
        )
        if operation is Operation.CREATE:
            return []  # the created time-out decides
        return self._on_setback(now, ABSENT) if self._awaits(operation, attempt) else []

    def on_time(self, now: int) -> list[Request]:
        """Act on the deadline, if it is due; ``next_deadline`` then holds the next one."""
        deadline = self.next_deadline
        if deadline is None or deadline[0] > now:
            return []
        tie = deadline[1]
        if tie is Tie.CANCEL_DUE:
            return self._cancel(now)
        self._due = None
        if tie is Tie.POLL_DUE:
            return self._poll(now)
        if tie is Tie.CREATED_TIMEOUT:
            self._observe(now, Kind.CREATED_TIMED_OUT, self.number)
            return self._poll(now)  # N04
        if tie is Tie.RETRY:
            return self._fetch(now)
        return self.on_no_answer(*self._awaited(), now)

    # Answers.

    def _on_view(self, view: TaskView, now: int) -> list[Request]:
        hint_ns = ABSENT if view.poll_interval_ns is None else view.poll_interval_ns
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.GET, view.attempt, view.status, NONE, hint_ns
        )  # fmt: skip
        if self._phase in {Phase.FETCHING, Phase.DELETING, Phase.CLOSED}:
            return []
        self._confirmed = True
        self._failures = 0
        self._hint_ns = hint_ns
        if view.status in TERMINAL:
            return self._detect(view.status, now)
        if not self._awaits(Operation.GET, view.attempt):
            return []
        if self._is_cancel_ignored(now):
            return self._close(Reason.GAVE_UP, now)  # R36
        self._await_next_poll(now, ABSENT)
        return []

    def _detect(self, status: Status, now: int) -> list[Request]:
        self._cancel_at = None
        self._observe(now, Kind.DETECTED, self.number, Operation.GET, 0, status, Reason.POLL)
        if status is Status.COMPLETED:
            return self._fetch(now)
        return self._settle(OUTCOME_OF[status], now)

    def _on_deleted(self, deleted: Deleted, now: int) -> list[Request]:
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.DELETE, deleted.attempt, NONE, NONE, ABSENT
        )
        return self._close(self._outcome, now) if self._phase is Phase.DELETING else []

    def _on_result(self, result: Result, now: int) -> list[Request]:
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.RESULT, result.attempt, Status.COMPLETED,
            NONE, ABSENT,
        )  # fmt: skip
        if self._phase is not Phase.FETCHING:
            return []
        self._observe(
            now, Kind.RETRIEVED, self.number, Operation.RESULT, 0, NONE, Reason.POLL
        )  # fmt: skip
        return self._settle(Reason.RETRIEVED, now)

    def _on_original(self, reply: Result | Failure, now: int) -> list[Request]:
        """The original request was answered: a success wins, a failure waits for polls (N01)."""
        if not self._rules.raced or self._phase in {Phase.DELETING, Phase.CLOSED}:
            return []
        if isinstance(reply, Failure):
            self._observe(
                now, Kind.ANSWERED, self.number, Operation.ORIGINAL, 0, NONE, reply.reason, ABSENT
            )  # fmt: skip
            return []
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.ORIGINAL, 0, Status.COMPLETED, NONE, ABSENT
        )
        if self._phase is not Phase.FETCHING:
            self._observe(
                now, Kind.DETECTED, self.number, Operation.ORIGINAL, 0, Status.COMPLETED,
                Reason.RESPONSE,
            )  # fmt: skip
        self._observe(
            now, Kind.RETRIEVED, self.number, Operation.ORIGINAL, 0, NONE, Reason.RESPONSE
        )
        return self._settle(Reason.RETRIEVED, now)

    def _on_failure(self, failure: Failure, now: int) -> list[Request]:
        operation = failure.operation
        self._observe(
            now, Kind.ANSWERED, self.number, operation, failure.attempt, NONE, failure.reason,
            ABSENT,
        )  # fmt: skip
        if self.done:
            return []
        if operation is Operation.CREATE:
            return [] if self._confirmed else self._close(Reason.REJECTED, now)
        if not self._awaits(operation, failure.attempt):
            return []
        retry_after_ns = ABSENT if failure.retry_after_ns is None else failure.retry_after_ns
        if self._phase is Phase.DELETING or failure.reason not in FORGOTTEN:
            return self._on_setback(now, retry_after_ns)
        if self._confirmed or failure.reason is Reason.EXPIRED:
            return self._close(Reason.RESULT_LOST, now)
        return self._on_not_yet(now)

    def _on_not_yet(self, now: int) -> list[Request]:
        """A get came before the task, which is not fatal; but not for ever (N04, N16)."""
        patience_ns = self._rules.created_timeout_ns + self._rules.request_timeout_ns
        if now - self._sent_at >= patience_ns:
            return self._close(Reason.GAVE_UP, now)
        self._await_next_poll(now, ABSENT)
        return []

    def _on_setback(self, now: int, retry_after_ns: int) -> list[Request]:
        """The awaited exchange failed: later again, but a delete is left to retention."""
        if self._phase is Phase.DELETING:
            return self._close(self._outcome, now)
        self._failures += 1
        if self._failures >= self._rules.failures_max:
            return self._close(Reason.GAVE_UP, now)
        if self._phase is Phase.FETCHING:
            gap_ns = self._gap_ns(self._attempt, now, retry_after_ns)
            self._wake(now + gap_ns, Tie.RETRY)
        else:
            self._await_next_poll(now, retry_after_ns)
        return []

    # Steps.

    def _await_first_poll(self, now: int) -> list[Request]:
        first = self._rules.polling.first
        if first is First.AT_ONCE:
            return self._poll(now)
        gap_ns = self._gap_ns(0, now, ABSENT)
        if first is First.RANDOM_PHASE:
            gap_ns = int(gap_ns * self._phase_unit + 0.5)
        self._phase = Phase.WAITING
        self._wake(now + gap_ns, Tie.POLL_DUE)
        return []

    def _await_next_poll(self, now: int, retry_after_ns: int) -> None:
        self._phase = Phase.WAITING
        self._wake(now + self._gap_ns(self._attempt, now, retry_after_ns), Tie.POLL_DUE)

    def _is_cancel_ignored(self, now: int) -> bool:
        """Whether a cancel has not been confirmed for longer than is reasonable (R36)."""
        cancelled_at = self._cancelled_at
        return cancelled_at is not None and now - cancelled_at >= self._rules.cancel_patience_ns

    def _gap_ns(self, attempt: int, now: int, retry_after_ns: int) -> int:
        polling = self._rules.polling
        u = self._poll_unit(attempt) if polling.jittered else 0.0
        return polling.gap_ns(
            polling.params, (), attempt, now - self._sent_at, self._hint_ns, retry_after_ns, u
        )

    def _poll(self, now: int) -> list[Request]:
        self._phase = Phase.POLLING
        attempt = self._attempt
        self._attempt += 1
        self._wake(now + self._rules.request_timeout_ns, Tie.REQUEST_TIMEOUT)
        self._observe(now, Kind.SENT, self.number, Operation.GET, attempt)
        get = Get(
            request_id=self._next_request_id(),
            task_id=self.task_id,
            draw=self._draw,
            attempt=attempt,
        )
        return [get]

    def _cancel(self, now: int) -> list[Request]:
        """Tell the receiver to stop, and poll on to see it confirmed (R33, R35)."""
        self._cancel_at = None
        self._cancelled_at = now
        self._observe(now, Kind.SENT, self.number, Operation.CANCEL, 0)
        cancel = Cancel(
            request_id=self.number * IDS_PER_TASK, task_id=self.task_id, draw=self._draw
        )
        return [cancel]

    def _fetch(self, now: int) -> list[Request]:
        self._phase = Phase.FETCHING
        attempt = self._fetches
        self._fetches += 1
        self._wake(now + self._rules.request_timeout_ns, Tie.REQUEST_TIMEOUT)
        self._observe(now, Kind.SENT, self.number, Operation.RESULT, attempt)
        fetch = GetResult(
            request_id=self._next_request_id(),
            task_id=self.task_id,
            draw=self._draw,
            attempt=attempt,
        )
        return [fetch]

    def _close(self, outcome: Reason, now: int) -> list[Request]:
        self._phase = Phase.CLOSED
        self._due = self._cancel_at = None
        self._observe(now, Kind.CLOSED, self.number, NONE, 0, NONE, outcome)
        return []

    def _settle(self, outcome: Reason, now: int) -> list[Request]:
        """All is known: delete the task where that is wanted, and close."""
        if not self._deletes:
            return self._close(outcome, now)
        self._outcome = outcome
        self._phase = Phase.DELETING
        self._cancel_at = None
        self._wake(now + self._rules.request_timeout_ns, Tie.REQUEST_TIMEOUT)
        self._observe(now, Kind.SENT, self.number, Operation.DELETE, 0)
        delete = Delete(request_id=self._next_request_id(), task_id=self.task_id, draw=self._draw)
        return [delete]

    def _awaited(self) -> tuple[Operation, int]:
        """The exchange whose answer is due."""
        if self._phase is Phase.POLLING:
            return Operation.GET, self._attempt - 1
        if self._phase is Phase.DELETING:
            return Operation.DELETE, 0
        return Operation.RESULT, self._fetches - 1

    def _awaits(self, operation: Operation, attempt: int) -> bool:
        """Whether the machine still waits for the answer to this very request."""
        is_on_its_way = self._phase in {Phase.POLLING, Phase.FETCHING, Phase.DELETING}
        return is_on_its_way and self._awaited() == (operation, attempt)

    def _wake(self, at: int, tie: Tie) -> None:
        self._due = (at, tie)

    def _next_request_id(self) -> int:
        request_id = self.number * IDS_PER_TASK + self._sent
        self._sent += 1
        return request_id
