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

from typing import Final, NamedTuple

from tasksim.policies import ABSENT, UNLIMITED
from tasksim.policies.retention import granted_ns
from tasksim.protocol.cursors import Cursors
from tasksim.protocol.errors import (
    DeleteRefusedError,
    DuplicateTaskError,
    OverLimitError,
    ProtocolError,
    ResultNotReadyError,
    TaskExpiredError,
    TaskNotFoundError,
    UnknownMethodError,
)
from tasksim.protocol.gate import Sentry
from tasksim.protocol.lifecycle import (
    Answer,
    Lifecycle,
    Output,
    ResumeWork,
    RunPlain,
    Send,
    StartWork,
    StopWork,
)
from tasksim.protocol.messages import (
    OPERATION_OF,
    Cancel,
    Create,
    Created,
    Delete,
    Deleted,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    InputAnswer,
    List,
    Notice,
    Question,
    Request,
    RequestId,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.records import Key, TaskRecord
from tasksim.protocol.rules import Binding, ReceiverRules, rerun
from tasksim.protocol.states import TERMINAL, Status

LOOKUPS: Final = frozenset({Reason.NOT_FOUND, Reason.EXPIRED})
CANCELLED: Final = "Request was cancelled"


class Caller(NamedTuple):
    """Who sends a message: whose tasks it sees, in which session, and whom limits act on."""

    owner: str
    session: str
    requester: str


class Receiver(Lifecycle):
    """Task table, lifecycle, retention and limits of one receiver (SEP-1686 4 and 8)."""

    def __init__(self, rules: ReceiverRules, observe: Observer) -> None:
        super().__init__(rules, observe)
        self._cursors = Cursors(rules.cursor_key)
        self._sentry = None if rules.watch is None else Sentry(rules.watch)

    # What happens to it.

    def receive(
        self, session: str, message: Request, now: int, principal: str = ""
    ) -> list[Output]:
        """Take a message that arrived in *session* from *principal*.

        A request that is at fault is answered with a ``Failure`` and changes nothing.
        """
        caller = self._caller(session, principal)
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
        if isinstance(message, Get):
            return [Send(caller.session, self._get(caller, message, now))]
        if isinstance(message, List):
            return [Send(caller.session, self._list(caller.owner, message, now))]
        if isinstance(message, Delete):
            return self._delete(caller, message, now)
        return [Send(caller.session, self._result(caller.owner, message, now))]

    def _create(self, caller: Caller, message: Create, now: int) -> list[Output]:
        rules, attempt = self._rules, message.attempt
        methods = rules.task_methods
        is_task = message.augmented and rules.supports_tasks
        if not is_task or (methods is not None and message.call.method not in methods):
            number = NONE if message.draw is None else _number_of(message.draw)
            self._observe(now, Kind.RECEIVED, number, Operation.CREATE, attempt)
            return [RunPlain(caller.session, message.request_id, message.call)]
        key = (caller.owner, message.task_id)
        record = self._records.get(key)
        if record is not None and rules.reuses_live and not record.is_over(now):
            self._observe(
                now, Kind.RECEIVED, record.number, Operation.CREATE, attempt, record.status
            )
            return [Send(caller.session, Created(task_id=message.task_id))]
        if record is not None and rules.reuses_forgotten and record.is_over(now):
            self._records.forget(record, TaskExpiredError)  # what is to be swept is not there
            self._observe(now, Kind.EXPIRED, record.number)
            record = None
        is_buried = self._records.is_buried(key) and not rules.reuses_forgotten
        if record is not None or is_buried:
            raise DuplicateTaskError(message.task_id)
        self._gate.require_room(caller.requester)
        return self._admit(key, caller, message, now)

    def _admit(self, key: Key, caller: Caller, message: Create, now: int) -> list[Output]:
        asked_ns = ABSENT if message.keep_alive_ns is None else message.keep_alive_ns
        record = TaskRecord(
            key=key,
            session=caller.session,
            requester=caller.requester,
            number=self._records.sequence if message.draw is None else _number_of(message.draw),
            sequence=self._records.sequence,
            request_id=message.request_id,
            keep_alive_ns=granted_ns(
                asked_ns, self._rules.keep_alive_default_ns, self._rules.keep_alive_max_ns
            ),
            call=message.call,
            created_at=now,
        )
        self._records.add(record)
        self._gate.opened(caller.requester)
        number, attempt = record.number, message.attempt
        self._observe(now, Kind.RECEIVED, number, Operation.CREATE, attempt, Status.SUBMITTED)
        self._observe(
            now, Kind.CREATED, number, Operation.CREATE, attempt, Status.SUBMITTED, NONE,
            record.keep_alive_ns,
        )  # fmt: skip
        created = Created(task_id=message.task_id)  # R03
        return [Send(caller.session, created), StartWork(key, message.call, number)]

    def _get(self, caller: Caller, message: Get, now: int) -> TaskView:
        record = self._records.find((caller.owner, message.task_id), now)
        ordinal = record.gets if message.draw is None else message.attempt
        record.gets += 1
        self._observe(now, Kind.RECEIVED, record.number, Operation.GET, ordinal, record.status)
        if self._sentry is not None:
            self._watch_poll(record, caller.requester, now)
        self._advise(record, now)
        return self._view(record, message.request_id, message.attempt)

    def _advise(self, record: TaskRecord, now: int) -> None:
        """Work out what the task's requester is told to wait (R21)."""
        advice = self._rules.advice
        if advice is not None:
            age_ns = now - record.created_at
            record.advised_ns = advice.interval_ns(advice.params, age_ns, self._gate.open_total)

    def _view(self, record: TaskRecord, request_id: RequestId, attempt: int) -> TaskView:
        return TaskView(
            request_id=request_id,
            task_id=record.key[1],
            status=record.status,
            keep_alive_ns=None if record.keep_alive_ns == UNLIMITED else record.keep_alive_ns,
            poll_interval_ns=record.advised_ns,
            error=record.error,
            attempt=attempt,
        )

    def _list(self, owner: str, message: List, now: int) -> TaskPage:
        """What a get would find, in order of admission (R37, R38, R40)."""
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
        if deletable is None:
            raise UnknownMethodError("Tasks cannot be deleted here")
        record = self._records.find((caller.owner, message.task_id), now)
        if record.status not in deletable:
            raise DeleteRefusedError(record.status)
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.DELETE, message.attempt, record.status
        )
        self._records.forget(record, TaskNotFoundError)
        self._observe(now, Kind.DELETED, record.number, NONE, 0, record.status)
        answer = Deleted(
            request_id=message.request_id, task_id=message.task_id, attempt=message.attempt
        )
        outputs: list[Output] = [Send(caller.session, answer)]
        if record.status in TERMINAL:
            return outputs
        self._gate.closed(record.requester)
        return [*outputs, StopWork(record.key)]

    def _cancel(self, session: str, message: Cancel, now: int) -> list[Output]:
        """Cancel at once (R28), unless the task has ended (R31) or no such request is known.

        The original request is not answered, by MCP's rule for cancelled requests, unless the
        rules want an error (C13).
        """
        record = self._records.created_by(session, message.request_id)
        if record is None:
            self._observe_notice(message, Reason.NOT_FOUND, now)
            return []
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.CANCEL, message.attempt, record.status
        )
        if record.status in TERMINAL:
            return []
        self._finish(record, Status.CANCELLED, now)
        if not self._rules.answers_cancelled:
            return [StopWork(record.key)]
        failure = self._original_failure(record, CANCELLED)
        return [Answer(record.key, failure), StopWork(record.key)]

    def _input(self, owner: str, message: InputAnswer, now: int) -> list[Output]:
        """Take the answer to one request for input; the task goes on after the last (R16, R17).

        An answer that nobody waits for is disregarded, so after a cancel (R34).
        """
        record = self._records.get((owner, message.task_id))
        if record is None or message.request_id not in record.pending:
            number = None if record is None else record.number
            self._observe_notice(message, Reason.DISREGARDED, now, number)
            return []
        record.pending.discard(message.request_id)
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.INPUT, message.attempt, record.status
        )
        if record.pending:
            return []
        self._resume(record, now)
        return [ResumeWork(record.key)]

    def _result(self, owner: str, message: GetResult, now: int) -> Result:
        """The result of a completed task (R23, R24), as often as it is asked for (R25)."""
        record = self._records.find((owner, message.task_id), now)
        if record.status is not Status.COMPLETED:
            raise ResultNotReadyError(record.status)
        assert record.payload is not None, "a completed task has a result"
        ordinal = record.fetches if message.draw is None else message.attempt
        record.fetches += 1
        self._observe(now, Kind.RECEIVED, record.number, Operation.RESULT, ordinal, record.status)
        return Result(
            request_id=message.request_id,
            task_id=message.task_id,
            payload=record.payload,
            operation=Operation.RESULT,
            attempt=message.attempt,
        )

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


def _number_of(draw: DrawAddress) -> int:
    """Number of a task that is taken on: another one each time."""
    return rerun(draw.entity, draw.run) if draw.run else draw.entity
