"""The requester: the party that creates one task and sees it through.

Rule 1: no clock, no I/O, no randomness: uniforms are handed in.
Rule 2: one machine per task; several messages that leave at once are in order, and only the last
of them is answered.
Rule 3: what it cannot know it does not decide: a refusal before the created notification is not
fatal (N04), a silent receiver is given up only after a stated number of failures.

Flow: create; wait for the created notification (N02); poll by policy; answer what the receiver
asks; fetch the result. With ``raced`` the original response may win at any moment (N01).
"""

from bisect import insort
from typing import Final

from tasksim.policies import ABSENT
from tasksim.policies.polling import First
from tasksim.protocol.exchanges import Exchanges, Phase
from tasksim.protocol.messages import (
    Deleted,
    Failure,
    InputRequest,
    Reply,
    Request,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.rules import Fallback
from tasksim.protocol.states import TERMINAL, Status
from tasksim.protocol.ties import Tie

OUTCOME_OF: Final[dict[Status, Reason]] = {
    Status.FAILED: Reason.FAILED,
    Status.CANCELLED: Reason.CANCELLED,
    Status.UNKNOWN: Reason.UNKNOWN,
}
FORGOTTEN: Final = frozenset({Reason.NOT_FOUND, Reason.EXPIRED})
OVER_LIMIT: Final = frozenset({Reason.CONCURRENCY, Reason.RATE_LIMITED})
NOT_STARTED: Final = frozenset({Phase.CREATING, Phase.AWAITING})
SETTLED: Final = frozenset({Phase.FETCHING, Phase.DELETING, Phase.CLOSED})


class Requester(Exchanges):
    """One task seen from its requester (SEP-1686 3, 4 and the N rules)."""

    __slots__ = ()

    @property
    def done(self) -> bool:
        """Whether the requester has finished with the task."""
        return self._phase is Phase.CLOSED

    @property
    def renews(self) -> bool:
        """Whether it is done only because the task is to be asked for under another id."""
        return self.done and self._outcome is Reason.SUPERSEDED

    @property
    def phase(self) -> Phase:
        """Where the requester stands."""
        return self._phase

    # What happens to it.

    @property
    def asked_at(self) -> int:
        """When the user asked for it first, whatever its id was then."""
        return self._sent_at

    def start(self, now: int, *, asked_at: int | None = None) -> list[Request]:
        """Ask for the task. Call once, first.

        *asked_at* is when it was asked for under another id, where it was.
        """
        assert self._phase is Phase.IDLE, "a requester starts once"
        self._start_patience(now, now if asked_at is None else asked_at)
        return self._ask(now)

    def on_created(self, now: int) -> list[Request]:
        """The created notification arrived: the task can be polled (3.4)."""
        if self.done:
            return []
        self._observe(now, Kind.CREATED_HEARD, self.number, Operation.CREATED)
        requests = self._confirm(now)
        if self._phase in NOT_STARTED:
            return requests + self._await_first_poll(now)
        return requests  # late: polling goes on as it is

    def on_prompt(self, prompt: InputRequest, now: int) -> list[Request]:
        """The receiver asks for input: the user will think, and answer (4.4)."""
        if self.done or self._prompted >> prompt.ordinal & 1:
            return []
        self._observe(now, Kind.PROMPTED, self.number, Operation.INPUT, prompt.ordinal)
        self._prompted |= 1 << prompt.ordinal
        requests = self._confirm(now)
        if self._cancelled_at is None and self._phase is not Phase.DELETING:
            at = now + self._fate.think_ns(prompt.ordinal)
            insort(self._answers, (at, prompt.ordinal, prompt.request_id))
            self._set_aside()
        if self._phase in NOT_STARTED and self._rules.augmented:
            return requests + self._await_first_poll(now)
        return requests

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
            return self._on_creation_unheard(now)
        return self._on_setback(now, ABSENT) if self._awaits(operation, attempt) else []

    def on_time(self, now: int) -> list[Request]:
        """Act on the deadline, if it is due; ``next_deadline`` then holds the next one."""
        deadline = self.next_deadline
        if deadline is None or deadline[0] > now:
            return []
        tie = deadline[1]
        if tie is Tie.POLL_DUE:
            self._due = None
            return self._poll(now)
        if tie in {Tie.CANCEL_DUE, Tie.ANSWER_DUE, Tie.GIVE_UP}:
            return self._on_aside(tie, now)
        self._due = None
        if tie is Tie.CREATED_TIMEOUT:
            return self._on_created_timeout(now)
        if tie is Tie.RETRY:
            return self._ask(now) if self._phase is Phase.CREATING else self._fetch(now)
        if self._phase is Phase.AWAITING:
            self._observe(
                now, Kind.REQUEST_TIMED_OUT, self.number, Operation.CREATE, 0, NONE,
                Reason.NO_ANSWER,
            )  # fmt: skip
            return self._close(Reason.GAVE_UP, now)
        return self.on_no_answer(*self._awaited(), now)

    # Creation.

    def _ask(self, now: int) -> list[Request]:
        requests = self._create(now)
        if not self._rules.augmented:
            self._await_original(now)
        return requests

    def _await_original(self, now: int) -> None:
        self._phase = Phase.AWAITING
        self._wake(now + self._rules.request_timeout_ns, Tie.REQUEST_TIMEOUT)

    def _on_created_timeout(self, now: int) -> list[Request]:
        """No notification: ask once more (N05), or go on without it (N03, N04)."""
        self._observe(now, Kind.CREATED_TIMED_OUT, self.number)
        if self._confirmed:
            return self._poll(now)  # it has shown itself in another way
        self._tries += 1
        if self._tries < self._rules.create_attempts:
            return self._close(Reason.SUPERSEDED, now) if self._rules.renews_id else self._ask(now)
        if self._rules.fallback is Fallback.ORIGINAL:
            self._await_original(now)
            return self._cancel_unseen(now) if self._cancel_waits else []
        return self._poll(now)

    def _on_creation_unheard(self, now: int) -> list[Request]:
        """The connection broke. The created time-out decides, unless nothing else is awaited."""
        if self._phase is Phase.AWAITING and not self._rules.augmented:
            return self._close(Reason.GAVE_UP, now)
        return []

    def _on_creation_refused(self, failure: Failure, now: int) -> list[Request]:
        if failure.reason is Reason.DUPLICATE:
            requests = self._confirm(now)  # N05: it exists
            is_new = self._phase in NOT_STARTED
            return requests + self._await_first_poll(now) if is_new else requests
        is_stale = (
            failure.attempt != len(self._creation_ids) - 1 or failure.attempt == self._refused
        )
        if self._confirmed or is_stale or self._phase in SETTLED:
            return []
        if failure.reason not in OVER_LIMIT:
            return self._close(Reason.REJECTED, now)
        self._limited += 1
        if self._limited >= self._rules.limited_max:
            return self._close(Reason.REJECTED, now)
        self._phase = Phase.CREATING
        self._refused = failure.attempt
        self._wake(now + self._limited_gap_ns(0, now, _wait_of(failure)), Tie.RETRY)
        return []

    def _confirm(self, now: int) -> list[Request]:
        """The task has shown itself; a cancel that waited for that goes out."""
        self._confirmed = True
        self._limited = 0
        return self._cancel(now) if self._cancel_waits else []

    # Answers.

    def _on_view(self, view: TaskView, now: int) -> list[Request]:
        if view.attempt == self._viewed:
            return []  # a copy
        self._viewed = view.attempt
        hint_ns = ABSENT if view.poll_interval_ns is None else view.poll_interval_ns
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.GET, view.attempt, view.status, NONE, hint_ns
        )  # fmt: skip
        if self._phase in SETTLED:
            return []
        self._failures = self._limited = 0
        self._hint_ns = hint_ns
        if view.status in TERMINAL:
            self._confirmed = True
            return self._detect(view.status, now)
        requests = self._confirm(now)
        if view.status is Status.INPUT_REQUIRED:
            requests += self._repeat_answers(now)
        if not self._awaits(Operation.GET, view.attempt):
            return requests
        if self._is_cancel_ignored(now):
            return requests + self._close(Reason.GAVE_UP, now)  # R36
        self._await_next_poll(now, ABSENT)
        return requests

    def _detect(self, status: Status, now: int) -> list[Request]:
        self._drop_asides()
        self._observe(now, Kind.DETECTED, self.number, Operation.GET, 0, status, Reason.POLL)
        if self._rules.polling.tests_late:
            self._seen = status
            self._phase = Phase.FETCHING
            self._is_on_way = False
            self._wake(now + self._gap_ns(self._attempt, now, ABSENT), Tie.RETRY)
            return []
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
        """The original request was answered: a success wins (N01).

        A failure waits for polls, unless nothing but this answer is waited for.
        """
        is_fallback = self._rules.fallback is Fallback.ORIGINAL and self._phase is Phase.CREATING
        is_awaited = is_fallback or self._phase is Phase.AWAITING
        if not (self._rules.raced or is_awaited) or self._phase in {Phase.DELETING, Phase.CLOSED}:
            return []
        if isinstance(reply, Failure):
            self._observe(
                now, Kind.ANSWERED, self.number, Operation.ORIGINAL, 0, NONE, reply.reason, ABSENT
            )  # fmt: skip
            if not is_awaited:
                return []
            self._detected_by_response(Status.FAILED, now)
            return self._settle(Reason.FAILED, now)
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.ORIGINAL, 0, Status.COMPLETED, NONE, ABSENT
        )
        if self._phase is not Phase.FETCHING:
            self._detected_by_response(Status.COMPLETED, now)
        self._observe(
            now, Kind.RETRIEVED, self.number, Operation.ORIGINAL, 0, NONE, Reason.RESPONSE
        )
        return self._settle(Reason.RETRIEVED, now)

    def _detected_by_response(self, status: Status, now: int) -> None:
        self._observe(
            now, Kind.DETECTED, self.number, Operation.ORIGINAL, 0, status, Reason.RESPONSE
        )

    def _on_failure(self, failure: Failure, now: int) -> list[Request]:
        operation = failure.operation
        self._observe(
            now, Kind.ANSWERED, self.number, operation, failure.attempt, NONE, failure.reason,
            ABSENT,
        )  # fmt: skip
        if self.done:
            return []
        if operation is Operation.CREATE:
            return self._on_creation_refused(failure, now)
        if not self._awaits(operation, failure.attempt):
            return []
        if self._seen in OUTCOME_OF and failure.reason is Reason.NOT_COMPLETED:
            return self._settle(OUTCOME_OF[self._seen], now)  # a result of what gave none (N12)
        if failure.reason in OVER_LIMIT:
            return self._on_limit(now, _wait_of(failure))
        if self._phase is Phase.DELETING or failure.reason not in FORGOTTEN:
            return self._on_setback(now, _wait_of(failure))
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

    def _on_limit(self, now: int, retry_after_ns: int) -> list[Request]:
        """Refused for coming too often: not a failure, but not for ever either."""
        self._limited += 1
        gap_ns = self._limited_gap_ns(self._attempt, now, retry_after_ns)
        return self._again(now, gap_ns, gives_up=self._limited >= self._rules.limited_max)

    def _limited_gap_ns(self, attempt: int, now: int, retry_after_ns: int) -> int:
        own_ns = self._rules.limited_gap_ns
        if own_ns == ABSENT:
            return self._gap_ns(attempt, now, retry_after_ns)
        return max(own_ns, retry_after_ns)

    def _on_setback(self, now: int, retry_after_ns: int) -> list[Request]:
        """The awaited exchange failed: later again."""
        self._failures += 1
        gap_ns = self._gap_ns(self._attempt, now, retry_after_ns)
        return self._again(now, gap_ns, gives_up=self._failures >= self._rules.failures_max)

    def _again(self, now: int, gap_ns: int, *, gives_up: bool) -> list[Request]:
        """Repeat the exchange, unless it has failed too often; a delete is left to retention."""
        if self._phase is Phase.DELETING:
            return self._close(self._outcome, now)
        if gives_up:
            return self._close(Reason.GAVE_UP, now)
        self._is_on_way = False
        if self._phase is Phase.FETCHING:
            self._wake(now + gap_ns, Tie.RETRY)
        else:
            self._phase = Phase.WAITING
            self._wake(now + gap_ns, Tie.POLL_DUE)
        return []

    # Steps.

    def _await_first_poll(self, now: int) -> list[Request]:
        first = self._rules.polling.first
        if first is First.AT_ONCE:
            return self._poll(now)
        gap_ns = self._gap_ns(0, now, ABSENT)
        if first is First.RANDOM_PHASE:
            gap_ns = int(gap_ns * self._fate.phase_unit + 0.5)
        self._phase = Phase.WAITING
        self._wake(now + gap_ns, Tie.POLL_DUE)
        return []

    def _await_next_poll(self, now: int, retry_after_ns: int) -> None:
        self._phase = Phase.WAITING
        self._wake(now + self._gap_ns(self._attempt, now, retry_after_ns), Tie.POLL_DUE)

    def _on_aside(self, tie: Tie, now: int) -> list[Request]:
        """The user has had enough, or has an answer; or patience has ended."""
        if tie is Tie.GIVE_UP:
            return self._close(Reason.GAVE_UP, now)
        if tie is Tie.ANSWER_DUE:
            _, _, request_id = self._answers.pop(0)
            self._set_aside()
            return self._answer(request_id, now)
        self._cancel_at = None
        if self._confirmed:
            return self._cancel(now)
        if self._phase is Phase.AWAITING:
            return self._cancel_unseen(now)
        self._cancel_waits = True  # a cancel must not overtake the creation
        self._set_aside()
        return []

    def _cancel_unseen(self, now: int) -> list[Request]:
        """Cancel what has not shown itself and only answers the original request.

        A task is polled from now on, to see it confirmed (R35); a plain call is over.
        """
        requests = self._cancel(now)
        if self._rules.augmented:
            return requests + self._await_first_poll(now)
        return requests + self._close(Reason.CANCELLED, now)

    def _repeat_answers(self, now: int) -> list[Request]:
        """Say again what was said, when the receiver still waits long after: it got lost."""
        is_all_said = self._given and not self._answers and self._cancelled_at is None
        if not is_all_said or self._answered_at >= self._polled_at:
            return []
        requests: list[Request] = []
        for request_id in dict.fromkeys(self._given):
            requests += self._answer(request_id, now)
        return requests

    def _is_cancel_ignored(self, now: int) -> bool:
        """Whether a cancel has not been confirmed for longer than is reasonable (R36)."""
        cancelled_at = self._cancelled_at
        return cancelled_at is not None and now - cancelled_at >= self._rules.cancel_patience_ns

    def _settle(self, outcome: Reason, now: int) -> list[Request]:
        """All is known: delete the task where that is wanted, and close."""
        if not self._deletes or not self._rules.augmented:
            return self._close(outcome, now)
        self._drop_asides()
        self._outcome = outcome
        return self._delete(now)


def _wait_of(failure: Failure) -> int:
    return ABSENT if failure.retry_after_ns is None else failure.retry_after_ns
