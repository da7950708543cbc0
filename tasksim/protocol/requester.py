"""The requester: the party that creates one task and sees it through.

Rule 1: no clock, no I/O, no randomness: uniforms are handed in.
Rule 2: one machine per task; several messages that leave at once are in order, and only the last
of them is answered.
Rule 3: what it cannot know it does not decide: a refusal before the created notification is not
fatal (N04), a silent receiver is given up only after a stated number of failures.

Flow: create; wait for the created notification (N02); poll by policy; answer what the receiver
asks; fetch the result. With ``raced`` the original response may win at any moment (N01).
"""

from typing import Final

from tasksim.policies import ABSENT
from tasksim.protocol.exchanges import Phase
from tasksim.protocol.manners import Asking, Early
from tasksim.protocol.messages import (
    Acknowledged,
    Deleted,
    Failure,
    InputRequest,
    Pushed,
    Reply,
    Request,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.pursuit import OUTCOME_OF, Pursuit
from tasksim.protocol.rules import Fallback, PushUse
from tasksim.protocol.states import TERMINAL, Status
from tasksim.protocol.ties import Tie

FORGOTTEN: Final = frozenset({Reason.NOT_FOUND, Reason.EXPIRED})
OVER_LIMIT: Final = frozenset({Reason.CONCURRENCY, Reason.RATE_LIMITED, Reason.STORE_FULL})
NOT_STARTED: Final = frozenset({Phase.CREATING, Phase.AWAITING})
SETTLED: Final = frozenset({Phase.FETCHING, Phase.DELETING, Phase.CLOSED})
HELD_NS: Final = 500_000_000  # an answer that takes so much longer than the quickest was held
NEWS: Final = TERMINAL | {Status.INPUT_REQUIRED}


class Requester(Pursuit):
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
    def back_at(self) -> int:
        """When a requester that crashed is back; an instant of the past for others."""
        return self._down_until

    @property
    def is_retrying(self) -> bool:
        """Whether what it sends next is sent because something failed."""
        return self._failures > 0 or self._limited > 0

    @property
    def outcome(self) -> Reason:
        """What it came to, once it is done."""
        return self._outcome

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
        if self._is_deaf(now):
            return []
        self._observe(now, Kind.CREATED_HEARD, self.number, Operation.CREATED)
        requests = self._confirm(now)
        if self._phase in NOT_STARTED:
            return requests + self._await_first_poll(now)
        return requests  # late: polling goes on as it is

    def on_prompt(self, prompt: InputRequest, now: int) -> list[Request]:
        """The receiver asks for input (4.4)."""
        if self._is_deaf(now) or self._prompted >> prompt.ordinal & 1:
            return []
        self._prompt(prompt, now)
        requests = self._confirm(now)
        if self._phase in NOT_STARTED and self._rules.augmented:
            return requests + self._await_first_poll(now)
        return requests

    def on_push(self, pushed: Pushed, now: int) -> list[Request]:
        """The receiver says what became of the task, unasked."""
        rules, view = self._rules, pushed.view
        if self._is_deaf(now) or rules.push is PushUse.IGNORED:
            return []
        self._observe(
            now, Kind.PUSHED, self.number, Operation.PUSH, 0, view.status, NONE, view.milestone
        )
        requests = self._confirm(now)
        self._notice(view, now)
        if self._detected or self._phase is Phase.DELETING:
            return requests
        if rules.push is PushUse.TRUSTED and view.status in TERMINAL:
            return requests + self._detect(view, now, Reason.PUSH)
        is_free = self._phase is Phase.WAITING or self._phase in NOT_STARTED
        if is_free and view.status in NEWS and not self._cancel_is_out:
            return requests + self._poll(now)
        return requests

    def on_not_needed(self, now: int, *, cancels: bool) -> list[Request]:
        """Another task of the batch was enough: let this one be, or cancel it."""
        if self.done:
            return []
        is_to_be_cancelled = cancels and bool(self._creation_ids) and not self._detected
        has_name = self._confirmed or not self._rules.manners.mints_ids
        requests = self._cancel(now) if is_to_be_cancelled and has_name else []
        requests += self._close(Reason.NOT_NEEDED, now)
        self._cancel_waits = is_to_be_cancelled and not has_name  # for the id
        return requests

    def on_reply(self, reply: Reply, now: int) -> list[Request]:
        """An answer arrived."""
        assert not isinstance(reply, TaskPage), "a requester of one task asks for no list"
        if now < self._down_until:
            return []
        match reply:
            case TaskView(operation=Operation.CREATE):
                return self._on_accepted(reply, now)
            case TaskView(operation=Operation.CANCEL):
                return self._on_cancelled(reply, now)
            case TaskView():
                return self._on_view(reply, now)
            case Deleted():
                return self._on_deleted(reply, now)
            case Acknowledged():
                self._observe(
                    now, Kind.ANSWERED, self.number, reply.operation, reply.attempt, NONE, NONE,
                    ABSENT,
                )  # fmt: skip
                return []
            case Result():
                is_original = reply.operation is Operation.ORIGINAL
                return self._on_original(reply, now) if is_original else self._on_result(reply, now)
            case _:
                is_original = reply.operation is Operation.ORIGINAL
                return (
                    self._on_original(reply, now) if is_original else self._on_failure(reply, now)
                )

    def _is_deaf(self, now: int) -> bool:
        """Whether it hears nothing: it is through, or gone for a while."""
        return self.done or now < self._down_until

    @property
    def _cancel_is_out(self) -> bool:
        return self._cancelled_at is not None

    def on_no_answer(
        self,
        operation: Operation,
        attempt: int,
        now: int,
        *,
        reason: Reason = Reason.NO_ANSWER,
        retry_after_ns: int = ABSENT,
    ) -> list[Request]:
        """The transport lost a request or its answer, and says so; or never let it out."""
        if self._is_deaf(now):
            return []
        self._observe(now, Kind.REQUEST_TIMED_OUT, self.number, operation, attempt, NONE, reason)
        if operation is Operation.CREATE:
            return self._on_creation_unheard(now)
        if not self._awaits(operation, attempt):
            return []
        if self._waits_on_result:
            return self._watch_on(now)
        return self._on_setback(now, retry_after_ns)

    @property
    def _waits_on_result(self) -> bool:
        """Whether a result is on its way of a task that is not known to have ended (D2)."""
        return self._phase is Phase.FETCHING and not self._detected

    def on_time(self, now: int) -> list[Request]:
        """Act on the deadline, if it is due; ``next_deadline`` then holds the next one."""
        deadline = self.next_deadline
        if deadline is None or deadline[0] > now:
            return []
        tie = deadline[1]
        if tie is Tie.POLL_DUE:
            self._due = None
            return self._poll(now)
        if tie in {Tie.CANCEL_DUE, Tie.ANSWER_DUE, Tie.GIVE_UP, Tie.CRASH}:
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

    def _on_created_timeout(self, now: int) -> list[Request]:
        """No notification: ask once more (N05), or go on without it (N03, N04)."""
        self._observe(now, Kind.CREATED_TIMED_OUT, self.number)
        if self._confirmed:
            return self._poll(now)  # it has shown itself in another way
        self._tries += 1
        if self._tries < self._rules.create_attempts:
            return self._close(Reason.SUPERSEDED, now) if self._rules.renews_id else self._ask(now)
        if self._rules.manners.mints_ids:
            return self._close(Reason.GAVE_UP, now)  # nobody knows an id to poll
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

    def _on_accepted(self, view: TaskView, now: int) -> list[Request]:
        """The creation was answered with the task: its id, its first hint (D2, D3)."""
        if self.done and not self._cancel_waits:
            return []
        hint_ns = ABSENT if view.poll_interval_ns is None else view.poll_interval_ns
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.CREATE, view.attempt, view.status, NONE,
            hint_ns,
        )  # fmt: skip
        if self.done:
            self.task_id = view.task_id
            return self._cancel(now)
        if self._confirmed:
            return []  # another task of the same call, which nobody needs
        self._observe(now, Kind.CREATED_HEARD, self.number, Operation.CREATE)
        self.task_id = view.task_id
        self._hint_ns = hint_ns
        if self._phase not in NOT_STARTED:
            return self._confirm(now)
        requests = self._confirm(now)
        if view.status is Status.COMPLETED and self._rules.manners.early is Early.INLINED:
            return requests + self._poll(now)  # the result comes with a get (D3)
        if view.status in TERMINAL:
            return requests + self._detect(view, now)
        if self._rules.blocks:
            return requests + self._fetch(now)
        return requests + self._await_first_poll(now)

    def _on_cancelled(self, view: TaskView, now: int) -> list[Request]:
        """The cancel was answered with the task (D2)."""
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.CANCEL, view.attempt, view.status, NONE,
            ABSENT,
        )  # fmt: skip
        if self.done or self._detected or view.status not in TERMINAL:
            return []
        return self._detect(view, now, Reason.RESPONSE)

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
        self._notice(view, now)
        if view.status in TERMINAL:
            return self._detect(view, now)
        self._clear_at = max(self._clear_at, self._polled_at)
        requests = self._confirm(now)
        for prompt in view.prompts:
            self._prompt(prompt, now)
        if view.status is Status.INPUT_REQUIRED:
            requests += self._repeat_answers(now)
        if not self._awaits(Operation.GET, view.attempt):
            return requests
        if self._is_cancel_ignored(now):
            return requests + self._close(Reason.GAVE_UP, now)  # R36
        if self._wants_result(view.status):
            return requests + self._fetch(now)
        self._await_view(now)
        return requests

    def _wants_result(self, status: Status) -> bool:
        """Whether it asks for the result before it is there (D2)."""
        rules = self._rules
        if rules.manners.early is not Early.BLOCKS:
            return False
        needs_stream = rules.manners.asking is Asking.ON_RESULT and rules.answers_on_result
        return rules.blocks or (needs_stream and status is Status.INPUT_REQUIRED)

    def _await_view(self, now: int) -> None:
        """Ask again: at once after a get that was held, else by the polling rule."""
        hold_ns, took_ns = self._rules.polling.hold_ns, now - self._polled_at
        was_held = took_ns - self._quickest_ns >= min(hold_ns // 2, HELD_NS)
        self._quickest_ns = min(self._quickest_ns, took_ns)
        if hold_ns and was_held:
            self._phase = Phase.WAITING
            self._wake(now + 1, Tie.POLL_DUE)
        else:
            self._await_next_poll(now, ABSENT)

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
        waited = not self._detected
        channel = Reason.RESPONSE if waited else Reason.POLL
        self._show(now)
        self._end_known(Status.COMPLETED, Operation.RESULT, channel, now)
        self._observe(
            now, Kind.RETRIEVED, self.number, Operation.RESULT, 0, NONE, channel
        )  # fmt: skip
        return self._settle(Reason.RETRIEVED, now)

    def _on_original(self, reply: Result | Failure, now: int) -> list[Request]:
        """The original request was answered: a success wins (N01).

        A failure waits for polls, unless nothing but this answer is waited for. A receiver that
        makes the ids answers a creation with a task or, where it takes it for none, with this.
        """
        rules = self._rules
        answers = rules.fallback is Fallback.ORIGINAL or rules.manners.mints_ids
        is_awaited = (answers and self._phase is Phase.CREATING) or self._phase is Phase.AWAITING
        if not (rules.raced or is_awaited) or self._phase in {Phase.DELETING, Phase.CLOSED}:
            return []
        if isinstance(reply, Failure):
            self._observe(
                now, Kind.ANSWERED, self.number, Operation.ORIGINAL, 0, NONE, reply.reason, ABSENT
            )  # fmt: skip
            if not is_awaited:
                return []
            self._end_known(Status.FAILED, Operation.ORIGINAL, Reason.RESPONSE, now)
            return self._settle(Reason.FAILED, now)
        self._observe(
            now, Kind.ANSWERED, self.number, Operation.ORIGINAL, 0, Status.COMPLETED, NONE, ABSENT
        )
        self._end_known(Status.COMPLETED, Operation.ORIGINAL, Reason.RESPONSE, now)
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
            return self._on_creation_refused(failure, now)
        if not self._awaits(operation, failure.attempt):
            return []
        if failure.reason in {Reason.EXECUTION, Reason.CANCELLED}:  # what the task ended with (D2)
            is_failed = failure.reason is Reason.EXECUTION
            status = Status.FAILED if is_failed else Status.CANCELLED
            self._end_known(status, Operation.RESULT, Reason.RESPONSE, now)
            return self._settle(OUTCOME_OF[status], now)
        if self._seen in OUTCOME_OF and failure.reason is Reason.NOT_COMPLETED:
            return self._settle(OUTCOME_OF[self._seen], now)  # a result of what gave none (N12)
        if failure.reason in OVER_LIMIT:
            return self._on_limit(now, _wait_of(failure))
        if self._phase is Phase.DELETING or failure.reason not in FORGOTTEN:
            return self._on_setback(now, _wait_of(failure))
        if self._confirmed or failure.reason is Reason.EXPIRED:
            return self._close(Reason.RESULT_LOST, now)
        return self._on_not_yet(now)


def _wait_of(failure: Failure) -> int:
    return ABSENT if failure.retry_after_ns is None else failure.retry_after_ns
