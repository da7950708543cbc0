"""What a requester sends, and when it wants to be woken: the mechanics below its decisions.

Rule 1: one request on its way at a time, and one deadline for it; notifications, input that the
user will have, and patience that will end stand aside from it.
Rule 2: every message that leaves is counted by its kind within the task; that number is the
ordinal of its draws and of its rows in the log.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from tasksim.policies import ABSENT, UNLIMITED
from tasksim.policies.learning import NOTHING
from tasksim.policies.polling import Params
from tasksim.protocol.manners import Asking, Cancelling
from tasksim.protocol.messages import (
    Call,
    Cancel,
    CancelTask,
    Child,
    Create,
    Delete,
    DrawAddress,
    Get,
    GetResult,
    InputAnswer,
    Request,
    RequestId,
    Update,
)
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.rules import RequesterRules
from tasksim.protocol.states import Status
from tasksim.protocol.ties import Tie

IDS_PER_TASK: Final = 1 << 20  # request ids of one session's tasks never meet


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What chance holds for a requester: its uniforms, and when its user will have had enough."""

    draw: DrawAddress | None = None  # told to the receiver, in experiments
    poll_unit: Callable[[int], float] = lambda attempt: 0.0  # noqa: ARG005
    phase_unit: float = 0.0
    cancel_after_ns: int | None = None  # from asking for the task
    think_ns: Callable[[int], int] = lambda ordinal: 0  # noqa: ARG005 - from a prompt to its answer
    crash_after_ns: int | None = None  # from asking for the task; None: the requester stays


class Lore:
    """What a requester remembers of its tasks that have ended, for rules that learn."""

    __slots__ = ("row",)

    def __init__(self) -> None:
        self.row: Params = NOTHING


class Phase(IntEnum):
    """Where a requester stands with its task."""

    IDLE = 0
    CREATING = 1  # waits for the created notification, or to ask once more
    WAITING = 2  # waits for its next poll
    POLLING = 3  # a get is on its way
    FETCHING = 4  # a result request is on its way, or will be retried
    CLOSED = 5
    DELETING = 6  # all is known; a delete is on its way
    AWAITING = 7  # waits for the original response and for nothing else


class Exchanges:
    """Messages and deadlines of one task's requester."""

    __slots__ = (
        "_answered_at",
        "_answers",
        "_aside",
        "_attempt",
        "_call",
        "_cancel_at",
        "_cancel_waits",
        "_cancelled_at",
        "_children",
        "_clear_at",
        "_confirmed",
        "_crash_at",
        "_creation_ids",
        "_deletes",
        "_detected",
        "_down_until",
        "_draw",
        "_due",
        "_failures",
        "_fate",
        "_fetches",
        "_given",
        "_gives_up_at",
        "_heard_at",
        "_hint_ns",
        "_is_on_way",
        "_last_gap_ns",
        "_limited",
        "_lore",
        "_milestone",
        "_observe",
        "_outcome",
        "_parent_id",
        "_phase",
        "_polled_at",
        "_prompted",
        "_quickest_ns",
        "_refused",
        "_rules",
        "_seen",
        "_sent",
        "_sent_at",
        "_tries",
        "_viewed",
        "children_wanted",
        "number",
        "task_id",
    )

    def __init__(  # noqa: PLR0913 - who it is, how it behaves, what chance holds for it
        self,
        *,
        task_id: str,
        number: int,
        rules: RequesterRules,
        observe: Observer,
        call: Call,
        fate: Fate = Fate(),
        deletes: bool = False,
        lore: Lore | None = None,
        parent_id: str | None = None,
    ) -> None:
        self.task_id = task_id  # where the receiver makes ids, its draft until that is known
        self.number: Final = number
        self._rules = rules
        self._observe = observe
        self._call = call
        self._fate = fate
        self._draw = fate.draw
        self._deletes = deletes  # as soon as all is known (R44)
        self._lore = Lore() if lore is None else lore
        self._parent_id = parent_id  # the task that waits for this one
        self.children_wanted: list[Child] = []  # tasks that the driver is to ask for, and drop
        self._phase = Phase.IDLE
        self._outcome = Reason.GAVE_UP  # while the delete is on its way: the outcome to come
        # Deadlines.
        self._due: tuple[int, Tie] | None = None  # of the exchange
        self._aside: tuple[int, Tie] | None = None  # the first of the four below
        self._crash_at: int | None = None  # when it will be gone for a while
        self._cancel_at: int | None = None  # when the user will have had enough
        self._gives_up_at: int | None = None  # when it will have waited long enough
        self._answers: list[tuple[int, int, RequestId]] = []  # what the user will have said when
        # What it knows.
        self._confirmed = False  # the receiver has shown that the task exists
        self._detected = False  # its end is known
        self._down_until = 0  # until when it hears nothing
        self._heard_at = 0  # when the task showed itself first
        self._clear_at = 0  # when it was last known not to have ended
        self._quickest_ns = 0  # the shortest round trip of its requests
        self._milestone = 0  # intermediate results that are known of
        self._children: set[str] = set()  # tasks that the task has asked for
        self._hint_ns = ABSENT
        self._last_gap_ns = 0
        self._seen: Status | None = None  # a terminal status that is not acted on yet (N12)
        self._prompted = 0  # requests for input that arrived, a bit each
        self._given: list[RequestId] = []  # those of them that were answered
        self._answered_at = 0  # the last of them
        self._cancel_waits = False  # for the task to show itself
        self._cancelled_at: int | None = None  # when the receiver was told
        # Counts.
        self._sent = 0  # request ids used
        self._sent_at = 0  # when the task was asked for first
        self._creation_ids: list[RequestId] = []
        self._refused = -1  # attempt of the last creation that a limit refused
        self._tries = 0  # creations that were not asked for by a limit
        self._attempt = 0  # of the next get, from 0
        self._viewed = -1  # attempt of the last get that was answered
        self._is_on_way = False  # whether the answer to the last request is still to come
        self._polled_at = 0  # when the last get was sent
        self._fetches = 0  # attempt of the next result request
        self._failures = 0  # in a row
        self._limited = 0  # in a row

    @property
    def next_deadline(self) -> tuple[int, Tie] | None:
        """(instant, tie) of the next thing to do without being told; None for nothing."""
        aside, due = self._aside, self._due
        if aside is None:
            return due
        return aside if due is None else min(due, aside)

    def postpone_poll(self, until: int) -> None:
        """Let the poll that is due wait: the requester paces itself."""
        assert self._due is not None, "a poll is due"
        self._due = (until, Tie.POLL_DUE)

    # Messages.

    def _create(self, now: int) -> list[Request]:
        self._phase = Phase.CREATING
        self._is_on_way = True
        self._wake(now + self._rules.created_timeout_ns, Tie.CREATED_TIMEOUT)
        attempt = len(self._creation_ids)
        self._creation_ids.append(self._next_request_id())
        self._observe(now, Kind.SENT, self.number, Operation.CREATE, attempt)
        create = Create(
            request_id=self._creation_ids[-1],
            task_id=self.task_id,
            augmented=self._rules.augmented,
            keep_alive_ns=self._rules.keep_alive_ns,
            call=self._call,
            draw=self._draw,
            attempt=attempt,
            parent_id=self._parent_id,
        )
        return [create]

    def _poll(self, now: int) -> list[Request]:
        attempt = self._attempt
        if attempt >= self._rules.polls_max != UNLIMITED:
            return self._close(Reason.GAVE_UP, now)
        self._phase = Phase.POLLING
        self._is_on_way = True
        hold_ns = self._rules.polling.hold_ns
        self._attempt += 1
        self._polled_at = now
        self._wake(now + self._rules.request_timeout_ns + hold_ns, Tie.REQUEST_TIMEOUT)
        self._observe(now, Kind.SENT, self.number, Operation.GET, attempt)
        get = Get(
            request_id=self._next_request_id(),
            task_id=self.task_id,
            draw=self._draw,
            attempt=attempt,
            hold_ns=hold_ns,
        )
        return [get]

    def _fetch(self, now: int) -> list[Request]:
        self._phase = Phase.FETCHING
        self._is_on_way = True
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

    def _delete(self, now: int) -> list[Request]:
        self._phase = Phase.DELETING
        self._is_on_way = True
        self._wake(now + self._rules.request_timeout_ns, Tie.REQUEST_TIMEOUT)
        self._observe(now, Kind.SENT, self.number, Operation.DELETE, 0)
        return [Delete(request_id=self._next_request_id(), task_id=self.task_id, draw=self._draw)]

    def _cancel(self, now: int) -> list[Request]:
        """Tell the receiver to stop, and poll on to see it confirmed (R33, R35).

        A cancel names the request that created the task. Where the task was asked for several
        times nobody knows which one that was, so all are named; the others mean nothing.
        """
        self._cancel_waits = False
        self._cancelled_at = now
        self._answers.clear()
        self._set_aside()
        if self._rules.augmented and self._rules.manners.cancelling is not Cancelling.NOTIFIED:
            self._observe(now, Kind.SENT, self.number, Operation.CANCEL, 0)
            own_id = self._next_request_id()
            return [CancelTask(request_id=own_id, task_id=self.task_id, draw=self._draw)]
        cancels: list[Request] = []
        for attempt, request_id in enumerate(self._creation_ids):
            self._observe(now, Kind.SENT, self.number, Operation.CANCEL, attempt)
            cancels.append(
                Cancel(
                    request_id=request_id, task_id=self.task_id, draw=self._draw, attempt=attempt
                )
            )
        return cancels

    def _answer(self, request_id: RequestId, now: int) -> list[Request]:
        """Send what the user said."""
        attempt = len(self._given)
        self._given.append(request_id)
        self._answered_at = now
        self._observe(now, Kind.SENT, self.number, Operation.INPUT, attempt)
        if self._rules.manners.asking is Asking.PULLED:
            update = Update(
                request_id=self._next_request_id(),
                task_id=self.task_id,
                answers={request_id: {}},
                draw=self._draw,
                attempt=attempt,
            )
            return [update]
        answer = InputAnswer(
            request_id=request_id, task_id=self.task_id, draw=self._draw, attempt=attempt
        )
        return [answer]

    # Deadlines.

    def _wake(self, at: int, tie: Tie) -> None:
        self._due = (at, tie)

    def _set_aside(self) -> None:
        """Work out the first deadline that has nothing to do with the exchange."""
        found = []
        if self._crash_at is not None:
            found.append((self._crash_at, Tie.CRASH))
        if self._cancel_at is not None:
            found.append((self._cancel_at, Tie.CANCEL_DUE))
        if self._answers:
            found.append((self._answers[0][0], Tie.ANSWER_DUE))
        if self._gives_up_at is not None:
            found.append((self._gives_up_at, Tie.GIVE_UP))
        self._aside = min(found, default=None)

    def _drop_asides(self) -> None:
        """Nothing is left to be done but what is on its way."""
        self._cancel_at = self._gives_up_at = self._crash_at = self._aside = None
        self._cancel_waits = False
        self._answers.clear()

    def _start_patience(self, now: int, asked_at: int) -> None:
        self._sent_at = asked_at
        if self._fate.cancel_after_ns is not None:
            self._cancel_at = max(asked_at + self._fate.cancel_after_ns, now)
        if self._fate.crash_after_ns is not None:
            self._crash_at = max(asked_at + self._fate.crash_after_ns, now)
        if self._rules.patience_ns != UNLIMITED:
            self._gives_up_at = max(asked_at + self._rules.patience_ns, now)
        self._set_aside()

    def _gap_ns(self, attempt: int, now: int, retry_after_ns: int) -> int:
        polling = self._rules.polling
        if self._rules.backoff is not None and not self._confirmed:
            polling = self._rules.backoff  # N03
        u = self._fate.poll_unit(attempt) if polling.jittered else 0.0
        state: Params = (self._last_gap_ns, self._fate.phase_unit)
        if polling.learns:
            state += self._lore.row
        gap_ns = polling.gap_ns(
            polling.params, state, attempt, now - self._sent_at, self._hint_ns, retry_after_ns, u
        )
        self._last_gap_ns = gap_ns
        return gap_ns

    # The exchange.

    def _close(self, outcome: Reason, now: int) -> list[Request]:
        self._phase = Phase.CLOSED
        self._outcome = outcome
        self._due = None
        self._drop_asides()
        self._observe(now, Kind.CLOSED, self.number, NONE, 0, NONE, outcome)
        return []

    def _awaited(self) -> tuple[Operation, int]:
        """The exchange whose answer is due."""
        if self._phase is Phase.POLLING:
            return Operation.GET, self._attempt - 1
        if self._phase is Phase.DELETING:
            return Operation.DELETE, 0
        return Operation.RESULT, self._fetches - 1

    def _awaits(self, operation: Operation, attempt: int) -> bool:
        """Whether the machine still waits for the answer to this very request."""
        is_asking = self._phase in {Phase.POLLING, Phase.FETCHING, Phase.DELETING}
        return is_asking and self._is_on_way and self._awaited() == (operation, attempt)

    def _next_request_id(self) -> int:
        request_id = self.number * IDS_PER_TASK + self._sent
        self._sent += 1
        return request_id
