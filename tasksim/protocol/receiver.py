"""The receiver: the party that runs tasks and answers for them.

Rule 1: no clock and no I/O. It is told the time and what happened, and answers with what to send,
which work to start, and when it wants to be woken.
Rule 2: it owns the task table, the lifecycle, retention and limits; workers and queues belong to
whoever drives it.
Rule 3: a task is known by (owner, task id); the owner is the session, or as ``Binding`` says.
Another owner's task is indistinguishable from one that does not exist (R49).
Rule 4: an occurrence carries the attempt that the requester tells with its draw address, else the
receiver's own count; it cannot see more.

Times are nanoseconds on the driver's clock, and never run backwards.
"""

from typing import Any, Final

from tasksim.protocol.book import CANCELLED, Caller, number_of
from tasksim.protocol.cursors import Cursors
from tasksim.protocol.errors import (
    CancelRefusedError,
    DeleteRefusedError,
    DuplicateTaskError,
    OverLimitError,
    ProtocolError,
    ResultNotReadyError,
    TaskNotFoundError,
    TooManyConnectionsError,
    UnknownMethodError,
)
from tasksim.protocol.gate import Sentry
from tasksim.protocol.lifecycle import Lifecycle
from tasksim.protocol.manners import Cancelling, Early
from tasksim.protocol.messages import (
    OPERATION_OF,
    Acknowledged,
    Cancel,
    CancelTask,
    Create,
    Created,
    Delete,
    Deleted,
    Failure,
    Get,
    GetResult,
    InputAnswer,
    List,
    Notice,
    Question,
    Request,
    RequestId,
    TaskPage,
    Update,
)
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.outputs import Answer, Output, ResumeWork, RunPlain, Send, StopWork
from tasksim.protocol.records import TaskRecord
from tasksim.protocol.rules import Binding, ReceiverRules
from tasksim.protocol.states import TERMINAL, Status

LOOKUPS: Final = frozenset({Reason.NOT_FOUND, Reason.EXPIRED})
HELD_UNTIL: Final = TERMINAL | {Status.INPUT_REQUIRED}  # a get of these is answered at once


class Receiver(Lifecycle):
    """Task table, lifecycle, retention and limits of one receiver (SEP-1686 4 and 8)."""

    def __init__(self, rules: ReceiverRules, observe: Observer) -> None:
        super().__init__(rules, observe)
        self._cursors = Cursors(rules.cursor_key)
        self._sentry = None if rules.watch is None else Sentry(rules.watch)

    # What happens to it.

    def receive(
        self, session: str, message: Request, now: int, principal: str = "", via: Any = None
    ) -> list[Output]:
        """Take a message that arrived in *session* from *principal*.

        A request that is at fault is answered with a ``Failure`` and changes nothing. What is
        answered later goes out with *via*.
        """
        caller = self._caller(session, principal)._replace(via=via)
        try:
            if self._gate.limits:
                self._gate.require_rate(OPERATION_OF[type(message)], caller.requester, now)
            if isinstance(message, Cancel):
                return self._cancel(session, message, now)
            if isinstance(message, InputAnswer):
                return self._input(caller.owner, message, now)
            return self._answer(caller, message, now)
        except ProtocolError as fault:
            return self.refuse(session, message, fault, now, principal)

    def refuse(
        self, session: str, message: Request, fault: ProtocolError, now: int, principal: str = ""
    ) -> list[Output]:
        """Refuse a message that is at fault, or that its driver cannot take in hand.

        It changes nothing; a notification is not answered, but is on record.
        """
        if isinstance(message, Cancel | InputAnswer):
            self._observe_notice(message, fault.reason, now)
            return []
        return [Send(session, self._refusal(self._caller(session, principal), message, fault, now))]

    def _caller(self, session: str, principal: str) -> Caller:
        binding = self._rules.binding
        requester = principal or session  # who names no principal is known by its session
        owner = session
        if binding is not Binding.SESSION:
            owner = requester if binding is Binding.PRINCIPAL else ""
        return Caller(owner, session, requester)

    # Requests.

    def _answer(self, caller: Caller, message: Question, now: int) -> list[Output]:
        if isinstance(message, Create):
            return self._create(caller, message, now)
        if not self._rules.supports_tasks:
            raise UnknownMethodError("Tasks are not supported here")
        match message:
            case Get():
                return self._get(caller, message, now)
            case List():
                return [Send(caller.session, self._list(caller.owner, message, now))]
            case Delete():
                return self._delete(caller, message, now)
            case CancelTask():
                return self._cancel_task(caller, message, now)
            case Update():
                return self._update(caller, message, now)
            case _:
                return self._result(caller, message, now)

    def _create(self, caller: Caller, message: Create, now: int) -> list[Output]:
        rules, attempt = self._rules, message.attempt
        methods = rules.task_methods
        is_task = message.augmented and rules.supports_tasks
        if not is_task or (methods is not None and message.call.method not in methods):
            number = number_of(message.draw)
            self._observe(now, Kind.RECEIVED, number, Operation.CREATE, attempt)
            return [RunPlain(caller.session, message.request_id, message.call)]
        key = (caller.owner, message.task_id)
        record = None if rules.manners.mints_ids else self._records.get(key)
        if record is not None and rules.reuses_live and not record.is_over(now):
            self._observe(
                now, Kind.RECEIVED, record.number, Operation.CREATE, attempt, record.status
            )
            return [Send(caller.session, Created(task_id=message.task_id, attempt=attempt))]
        if record is not None and rules.reuses_forgotten and record.is_over(now):
            gone = self._expire(record, now)  # what is to be swept is not there
            return [*gone, *self._enter(key, caller, message, now)]
        is_buried = self._records.is_buried(key) and not rules.reuses_forgotten
        if record is not None or is_buried:
            raise DuplicateTaskError(message.task_id)
        return self._enter(key, caller, message, now)

    def _get(self, caller: Caller, message: Get, now: int) -> list[Output]:
        record = self._records.find((caller.owner, message.task_id), now)
        ordinal = record.gets if message.draw is None else message.attempt
        record.gets += 1
        self._observe(now, Kind.RECEIVED, record.number, Operation.GET, ordinal, record.status)
        if self._sentry is not None:
            self._watch_poll(record, caller.requester, now)
        is_to_be_held = message.hold_ns > 0 and self._rules.hold_max_ns > 0
        has_news = record.status in HELD_UNTIL or bool(record.children_left)
        if is_to_be_held and not has_news and self._can_hold(caller, record, message):
            return self._hold(caller, record, message, ordinal, now)
        self._advise(record, now)
        return [Send(caller.session, self._view(record, message.request_id, message.attempt))]

    def _list(self, owner: str, message: List, now: int) -> TaskPage:
        """What a get would find, in order of admission (R37, R38, R40)."""
        if not self._rules.manners.lists:
            raise UnknownMethodError("Tasks cannot be listed here")
        after = -1 if message.cursor is None else self._cursors.sequence_of(owner, message.cursor)
        found = [
            record
            for record in self._records.of(owner)
            if record.sequence > after and not record.is_over(now)
        ]
        page = found[: self._rules.page_size]
        for record in page:
            self._advise(record, now)
        self._observe(
            now, Kind.RECEIVED, NONE, Operation.LIST, message.attempt, NONE, NONE, len(page)
        )  # fmt: skip
        has_more = len(found) > len(page)
        return TaskPage(
            request_id=message.request_id,
            tasks=tuple(self._view(record, message.request_id, 0) for record in page),
            next_cursor=self._cursors.issue(owner, page[-1].sequence) if has_more else None,
            attempt=message.attempt,
        )

    def _delete(self, caller: Caller, message: Delete, now: int) -> list[Output]:
        """Forget all of a task (R42), where its status allows (R41, R43); its work is stopped."""
        deletable = self._rules.deletable
        if deletable is None or not self._rules.manners.deletes:
            raise UnknownMethodError("Tasks cannot be deleted here")
        record = self._records.find((caller.owner, message.task_id), now)
        if record.status not in deletable:
            raise DeleteRefusedError(record.status)
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.DELETE, message.attempt, record.status
        )
        refusals = self._forget(record, TaskNotFoundError, now)
        self._observe(now, Kind.DELETED, record.number, NONE, 0, record.status)
        answer = Deleted(
            request_id=message.request_id, task_id=message.task_id, attempt=message.attempt
        )
        outputs: list[Output] = [Send(caller.session, answer), *refusals]
        if record.status not in TERMINAL:
            outputs.append(StopWork(record.key))
            outputs += self._tell_parent(record, Status.CANCELLED, now)
        return [*outputs, *self._admit_waiting(now)]

    def _cancel(self, session: str, message: Cancel, now: int) -> list[Output]:
        """Cancel at once (R28), unless the task has ended (R31) or no such request is known.

        The original request is not answered, by MCP's rule for cancelled requests, unless the
        rules want an error (C13).
        """
        if self._rules.manners.cancelling is not Cancelling.NOTIFIED:
            self._observe_notice(message, Reason.DISREGARDED, now)
            return []
        record = self._records.created_by(session, message.request_id)
        if record is None:
            is_known = self._cancel_queued(session, message)
            self._observe_notice(message, NONE if is_known else Reason.NOT_FOUND, now)
            return []
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.CANCEL, message.attempt, record.status
        )
        if record.status in TERMINAL:
            return []
        outputs = [StopWork(record.key), *self._finish(record, Status.CANCELLED, now)]
        if not self._rules.answers_cancelled:
            return outputs
        return [Answer(record.key, self._original_failure(record, CANCELLED)), *outputs]

    def _cancel_queued(self, session: str, message: Cancel) -> bool:
        """Withdraw a creation that waits for room; whether there was one."""
        queue = self._holds.queue
        for entry in queue:
            if (entry.session, entry.message.request_id) == (session, message.request_id):
                queue.remove(entry)
                return True
        return False

    def _cancel_task(self, caller: Caller, message: CancelTask, now: int) -> list[Output]:
        """Cancel by the task's own id: D2 answers with the task, D3 says that the request came."""
        cancelling = self._rules.manners.cancelling
        if cancelling is Cancelling.NOTIFIED:
            raise UnknownMethodError("Tasks are cancelled by a notification here")
        record = self._records.find((caller.owner, message.task_id), now)
        is_over = record.status in TERMINAL
        if is_over and cancelling is Cancelling.CONFIRMED:
            raise CancelRefusedError(record.status)
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.CANCEL, message.attempt, record.status
        )
        outputs: list[Output] = []
        if not is_over:
            outputs = [StopWork(record.key), *self._finish(record, Status.CANCELLED, now)]
        if cancelling is Cancelling.ACKNOWLEDGED:
            return [Send(caller.session, _acknowledged(message)), *outputs]
        answer = self._view(record, message.request_id, message.attempt, Operation.CANCEL)
        return [Send(caller.session, answer), *outputs]

    def _input(self, owner: str, message: InputAnswer, now: int) -> list[Output]:
        """Take the answer to one request for input; the task goes on after the last (R16, R17).

        An answer that nobody waits for is disregarded, so after a cancel (R34).
        """
        record = self._records.get((owner, message.task_id))
        if record is None or message.request_id not in record.pending:
            number = None if record is None else record.number
            self._observe_notice(message, Reason.DISREGARDED, now, number)
            return []
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.INPUT, message.attempt, record.status
        )
        return self._take_answers(record, {message.request_id}, now)

    def _update(self, caller: Caller, message: Update, now: int) -> list[Output]:
        """Take answers under the keys of their questions; keys that nobody knows are ignored."""
        record = self._records.find((caller.owner, message.task_id), now)
        is_known = bool(record.pending & message.answers.keys())
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.INPUT, message.attempt, record.status,
            NONE if is_known else Reason.DISREGARDED,
        )  # fmt: skip
        outputs: list[Output] = [Send(caller.session, _acknowledged(message))]
        if is_known:
            outputs += self._take_answers(record, set(message.answers), now)
        return outputs

    def _take_answers(self, record: TaskRecord, answered: set[RequestId], now: int) -> list[Output]:
        record.pending -= answered
        record.prompts = [ask for ask in record.prompts if ask.request_id not in answered]
        if record.pending:
            return []
        self._resume(record, now)
        return [ResumeWork(record.key)]

    def _result(self, caller: Caller, message: GetResult, now: int) -> list[Output]:
        """The result of a completed task (R23, R24), as often as it is asked for (R25).

        D2 lets the request wait for the end of the task, and asks for input on its stream.
        """
        early = self._rules.manners.early
        if early is Early.INLINED:
            raise UnknownMethodError("Results come with a get here")
        record = self._records.find((caller.owner, message.task_id), now)
        waits = early is Early.BLOCKS and record.status not in TERMINAL
        if waits and not self._can_hold(caller, record, message):
            raise TooManyConnectionsError(self._rules.retry_after_ns)
        if early is Early.REFUSED and record.status is not Status.COMPLETED:
            raise ResultNotReadyError(record.status)
        ordinal = record.fetches if message.draw is None else message.attempt
        record.fetches += 1
        self._observe(now, Kind.RECEIVED, record.number, Operation.RESULT, ordinal, record.status)
        if not waits:
            return [Send(caller.session, self._result_of(record, message))]
        outputs = self._hold(caller, record, message, ordinal, now)
        if record.status is Status.INPUT_REQUIRED:
            outputs += self._ask(record, caller.session, caller.via)
        return outputs

    def _refusal(
        self, caller: Caller, message: Question, fault: ProtocolError, now: int
    ) -> Failure:
        """Answer to a request at fault; the only place where a fault becomes a message."""
        operation = OPERATION_OF[type(message)]
        task_id = None if isinstance(message, List) else message.task_id
        record = None if task_id is None else self._records.get((caller.owner, task_id))
        number = NONE if record is None else record.number
        if record is None and not isinstance(message, List) and message.draw is not None:
            number = message.draw.entity
        self._observe(
            now, Kind.RECEIVED, number, operation, message.attempt, NONE, fault.reason
        )  # fmt: skip
        if fault.reason in LOOKUPS and self._sentry is not None:
            self._suspect(caller.requester, Reason.FAILED_LOOKUPS, operation, number, now)
        return Failure(
            request_id=message.request_id,
            code=fault.code,
            message=str(fault),
            operation=operation,
            reason=fault.reason,
            task_id=task_id,
            retry_after_ns=fault.retry_after_ns if isinstance(fault, OverLimitError) else None,
            attempt=message.attempt,
        )

    def _observe_notice(
        self,
        message: Notice,
        reason: int,
        now: int,
        known: int | None = None,
    ) -> None:
        """Take note of a notification that changes nothing."""
        number = NONE if message.draw is None else message.draw.entity
        self._observe(
            now, Kind.RECEIVED, number if known is None else known, OPERATION_OF[type(message)],
            message.attempt, NONE, reason,
        )  # fmt: skip

    # Abuse.

    def _watch_poll(self, record: TaskRecord, requester: str, now: int) -> None:
        """Take note of a get that comes sooner than was advertised (R54c)."""
        interval_ns, polled_at = record.advised_ns, record.polled_at
        record.polled_at = now
        if interval_ns is not None and polled_at is not None and now - polled_at < interval_ns:
            self._suspect(requester, Reason.EARLY_POLLS, Operation.GET, record.number, now)

    def _suspect(
        self, requester: str, what: Reason, operation: Operation, number: int, now: int
    ) -> None:
        if self._sentry is not None and self._sentry.notes(requester, what, now):
            self._observe(now, Kind.SUSPECTED, number, operation, 0, NONE, what)


def _acknowledged(message: CancelTask | Update) -> Acknowledged:
    return Acknowledged(
        request_id=message.request_id,
        task_id=message.task_id,
        operation=OPERATION_OF[type(message)],
        attempt=message.attempt,
    )
