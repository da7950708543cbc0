"""The receiver: the party that runs tasks and answers for them.

Rule 1: no clock and no I/O. It is told the time and what happened, and answers with what to send,
which work to start, and when it wants to be woken.
Rule 2: it owns the task table, the lifecycle and retention; workers and queues belong to whoever
drives it.
Rule 3: a task is known by (session, task id). Another session's task is indistinguishable from
one that does not exist (R49).
Rule 4: an occurrence carries the attempt that the requester tells with its draw address, else the
receiver's own count; it cannot see more.

Times are nanoseconds on the driver's clock, and never run backwards.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Final

from tasksim.policies import ABSENT, UNLIMITED
from tasksim.policies.retention import granted_ns
from tasksim.protocol.cursors import Cursors
from tasksim.protocol.errors import (
    INTERNAL_ERROR,
    DeleteRefusedError,
    DuplicateTaskError,
    ProtocolError,
    ResultNotReadyError,
    TaskExpiredError,
    TaskNotFoundError,
    UnknownMethodError,
)
from tasksim.protocol.messages import (
    OPERATION_OF,
    Call,
    Cancel,
    Create,
    Created,
    Delete,
    Deleted,
    Failure,
    Get,
    GetResult,
    List,
    Question,
    Reply,
    Request,
    RequestId,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.states import TERMINAL, Status, require_move
from tasksim.protocol.ties import Tie, rank

Key = tuple[str, str]  # (session, task id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverRules:
    """What a receiver grants and advertises."""

    keep_alive_default_ns: int = 300_000_000_000  # UNLIMITED or a duration
    keep_alive_max_ns: int = UNLIMITED
    poll_interval_ns: int | None = None  # None: no pollFrequency is advertised (R21)
    tombstones: int = 10_000  # forgotten ids remembered, the oldest dropped first
    deletable: frozenset[Status] | None = TERMINAL  # None: deletion is not supported (R43)
    page_size: int = 50  # tasks in one answer to a list (R37)
    cursor_key: bytes = b"tasksim"  # a live receiver takes a secret one


@dataclass(frozen=True, slots=True)
class Send:
    """Deliver *message* to *session*."""

    session: str
    message: Created | Reply


@dataclass(frozen=True, slots=True)
class StartWork:
    """Run *call*; report back with *key*. *number* is the task's number in the log."""

    key: Key
    call: Call
    number: int


@dataclass(frozen=True, slots=True)
class StopWork:
    """Stop the work of *key*, running or queued; nothing is to be reported of it any more."""

    key: Key


Output = Send | StartWork | StopWork


class TaskRecord:
    """What a receiver remembers of a task."""

    __slots__ = (
        "error",
        "expires_at",
        "fetches",
        "gets",
        "keep_alive_ns",
        "key",
        "number",
        "payload",
        "request_id",
        "sequence",
        "status",
    )

    def __init__(
        self, key: Key, number: int, sequence: int, request_id: RequestId, keep_alive_ns: int
    ) -> None:
        self.key: Final = key
        self.number: Final = number  # in the log
        self.sequence: Final = sequence  # of its admission
        self.request_id: Final = request_id
        self.keep_alive_ns: Final = keep_alive_ns  # UNLIMITED or a duration
        self.status = Status.SUBMITTED  # R09
        self.expires_at: int | None = None
        self.payload: Mapping[str, Any] | None = None
        self.error: str | None = None
        self.gets = 0  # answered with a status
        self.fetches = 0  # answered with the result

    def is_over(self, now: int) -> bool:
        """Whether its retention has passed, swept or not."""
        return self.expires_at is not None and self.expires_at <= now


class Receiver:
    """Task table, lifecycle and retention of one receiver (SEP-1686 4)."""

    def __init__(self, rules: ReceiverRules, observe: Observer) -> None:
        self._rules = rules
        self._observe = observe
        self._tasks: dict[Key, TaskRecord] = {}
        self._sessions: dict[str, dict[str, TaskRecord]] = {}  # in order of admission
        self._tombstones: dict[Key, type[ProtocolError]] = {}  # and what to say of them
        self._expiries: list[tuple[int, int, Key]] = []
        self._cursors = Cursors(rules.cursor_key)
        self._originals: dict[tuple[str, RequestId], Key] = {}  # by the request that created them
        self._admitted = 0

    # What happens to it.

    def receive(self, session: str, message: Request, now: int) -> list[Output]:
        """Take a message that arrived from *session*.

        A request that is at fault is answered with a ``Failure`` and changes nothing.
        """
        try:
            if isinstance(message, Get):
                return [Send(session, self._get(session, message, now))]
            if isinstance(message, Create):
                return self._create(session, message, now)
            if isinstance(message, Cancel):
                return self._cancel(session, message, now)
            if isinstance(message, List):
                return [Send(session, self._list(session, message, now))]
            if isinstance(message, Delete):
                return self._delete(session, message, now)
            return [Send(session, self._result(session, message, now))]
        except ProtocolError as fault:
            assert not isinstance(message, Cancel), "a notification is not answered"
            return [Send(session, self._refusal(session, message, fault, now))]

    def work_started(self, key: Key, now: int) -> None:
        """Take note that a worker began with the task (2.3: executing is ``working``)."""
        record = self._tasks[key]
        self._move(record, Status.WORKING)
        self._observe(now, Kind.STARTED, record.number)

    def work_succeeded(self, key: Key, payload: Mapping[str, Any], now: int) -> Result:
        """Complete the task; the answer to its session's original request (N09)."""
        record = self._tasks[key]
        record.payload = payload
        self._finish(record, Status.COMPLETED, now)
        return Result(
            request_id=record.request_id,
            task_id=key[1],
            payload=payload,
            operation=Operation.ORIGINAL,
        )

    def work_failed(self, key: Key, error: str, now: int) -> Failure:
        """Fail the task; ``error`` is what a get says of it (R48) and the original answer (C4)."""
        record = self._tasks[key]
        record.error = error
        self._finish(record, Status.FAILED, now)
        return Failure(
            request_id=record.request_id,
            code=INTERNAL_ERROR,
            message=error,
            operation=Operation.ORIGINAL,
            reason=Reason.EXECUTION,
            task_id=key[1],
        )

    # Time.

    @property
    def next_deadline(self) -> tuple[int, int] | None:
        """(instant, rank) of the next expiry; call ``on_time`` then."""
        if not self._expiries:
            return None
        at, number, _ = self._expiries[0]
        return at, rank(Tie.EXPIRY, number)

    def on_time(self, now: int) -> None:
        """Forget the one task that is next to expire, if it is due (R20)."""
        if not self._expiries or self._expiries[0][0] > now:
            return
        at, number, key = heappop(self._expiries)
        self._forget(self._tasks[key], TaskExpiredError)
        self._drop_forgotten()
        self._observe(at, Kind.EXPIRED, number)

    # What can be seen of it.

    @property
    def resident_tasks(self) -> int:
        """How many tasks it remembers, without tombstones."""
        return len(self._tasks)

    @property
    def tombstones(self) -> int:
        """How many expired ids it remembers."""
        return len(self._tombstones)

    def status_of(self, key: Key) -> Status | None:
        """Status of a task, None when there is no such task."""
        record = self._tasks.get(key)
        return None if record is None else record.status

    # Requests.

    def _create(self, session: str, message: Create, now: int) -> list[Output]:
        key = (session, message.task_id)
        if key in self._tasks or key in self._tombstones:
            raise DuplicateTaskError(message.task_id)
        asked_ns = ABSENT if message.keep_alive_ns is None else message.keep_alive_ns
        keep_alive_ns = granted_ns(
            asked_ns, self._rules.keep_alive_default_ns, self._rules.keep_alive_max_ns
        )
        number = self._admitted if message.draw is None else message.draw.entity
        record = TaskRecord(key, number, self._admitted, message.request_id, keep_alive_ns)
        self._admitted += 1
        self._tasks[key] = record
        self._sessions.setdefault(session, {})[message.task_id] = record
        self._originals[session, message.request_id] = key
        attempt = message.attempt
        self._observe(now, Kind.RECEIVED, number, Operation.CREATE, attempt, Status.SUBMITTED)
        self._observe(
            now, Kind.CREATED, number, Operation.CREATE, attempt, Status.SUBMITTED, NONE,
            keep_alive_ns,
        )  # fmt: skip
        created = Created(task_id=message.task_id)  # R03
        return [Send(session, created), StartWork(key, message.call, number)]

    def _get(self, session: str, message: Get, now: int) -> TaskView:
        record = self._find((session, message.task_id), now)
        ordinal = record.gets if message.draw is None else message.attempt
        record.gets += 1
        self._observe(now, Kind.RECEIVED, record.number, Operation.GET, ordinal, record.status)
        return self._view(record, message.request_id, message.attempt)

    def _view(self, record: TaskRecord, request_id: RequestId, attempt: int) -> TaskView:
        return TaskView(
            request_id=request_id,
            task_id=record.key[1],
            status=record.status,
            keep_alive_ns=None if record.keep_alive_ns == UNLIMITED else record.keep_alive_ns,
            poll_interval_ns=self._rules.poll_interval_ns,
            error=record.error,
            attempt=attempt,
        )

    def _list(self, session: str, message: List, now: int) -> TaskPage:
        """What a get would find, in order of admission (R37, R38, R40)."""
        after = -1 if message.cursor is None else self._cursors.sequence_of(session, message.cursor)
        found = [
            record
            for record in self._sessions.get(session, {}).values()
            if record.sequence > after and not record.is_over(now)
        ]
        page = found[: self._rules.page_size]
        self._observe(
            now, Kind.RECEIVED, NONE, Operation.LIST, message.attempt, NONE, NONE, len(page)
        )  # fmt: skip
        has_more = len(found) > len(page)
        return TaskPage(
            request_id=message.request_id,
            tasks=tuple(self._view(record, message.request_id, 0) for record in page),
            next_cursor=self._cursors.issue(session, page[-1].sequence) if has_more else None,
            attempt=message.attempt,
        )

    def _delete(self, session: str, message: Delete, now: int) -> list[Output]:
        """Forget a task at once, where its status allows (R41-R43); its work is stopped."""
        deletable = self._rules.deletable
        if deletable is None:
            raise UnknownMethodError("Tasks cannot be deleted here")
        record = self._find((session, message.task_id), now)
        if record.status not in deletable:
            raise DeleteRefusedError(record.status)
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.DELETE, message.attempt, record.status
        )
        self._forget(record, TaskNotFoundError)
        self._drop_forgotten()
        self._observe(now, Kind.DELETED, record.number, NONE, 0, record.status)
        answer = Deleted(
            request_id=message.request_id, task_id=message.task_id, attempt=message.attempt
        )
        outputs: list[Output] = [Send(session, answer)]
        return outputs if record.status in TERMINAL else [*outputs, StopWork(record.key)]

    def _cancel(self, session: str, message: Cancel, now: int) -> list[Output]:
        """Cancel at once (R28), unless the task has ended (R31) or no such request is known.

        The original request is not answered (C13: MCP's rule for cancelled requests).
        """
        key = self._originals.get((session, message.request_id))
        record = None if key is None else self._tasks.get(key)
        if key is None or record is None:
            number = NONE if message.draw is None else message.draw.entity
            self._observe(
                now, Kind.RECEIVED, number, Operation.CANCEL, message.attempt, NONE,
                Reason.NOT_FOUND,
            )  # fmt: skip
            return []
        self._observe(
            now, Kind.RECEIVED, record.number, Operation.CANCEL, message.attempt, record.status
        )
        if record.status in TERMINAL:
            return []
        self._finish(record, Status.CANCELLED, now)
        return [StopWork(key)]

    def _result(self, session: str, message: GetResult, now: int) -> Result:
        record = self._find((session, message.task_id), now)
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

    def _refusal(self, session: str, message: Question, fault: ProtocolError, now: int) -> Failure:
        """Answer to a request at fault; the only place where a fault becomes a message."""
        operation = OPERATION_OF[type(message)]
        task_id = None if isinstance(message, List) else message.task_id
        record = None if task_id is None else self._tasks.get((session, task_id))
        number = NONE if record is None else record.number
        if not isinstance(message, List) and message.draw is not None:
            number = message.draw.entity
        self._observe(
            now, Kind.RECEIVED, number, operation, message.attempt, NONE, fault.reason
        )  # fmt: skip
        return Failure(
            request_id=message.request_id,
            code=fault.code,
            message=str(fault),
            operation=operation,
            reason=fault.reason,
            task_id=task_id,
            attempt=message.attempt,
        )

    # The table.

    def _find(self, key: Key, now: int) -> TaskRecord:
        record = self._tasks.get(key)
        if record is None:
            raise self._tombstones.get(key, TaskNotFoundError)
        if record.is_over(now):
            raise TaskExpiredError  # late timers are never visible
        return record

    def _move(self, record: TaskRecord, status: Status) -> None:
        require_move(record.status, status)
        record.status = status

    def _finish(self, record: TaskRecord, status: Status, now: int) -> None:
        """Make the task terminal; from now on its retention runs (R20: from the terminal state)."""
        assert status in TERMINAL, f"{status.name} is not terminal"
        self._move(record, status)
        self._observe(now, Kind.FINISHED, record.number, NONE, 0, status)
        if record.keep_alive_ns != UNLIMITED:
            record.expires_at = now + record.keep_alive_ns
            heappush(self._expiries, (record.expires_at, record.number, record.key))

    def _forget(self, record: TaskRecord, epitaph: type[ProtocolError]) -> None:
        """Drop a task from every table; for a while its id is answered with *epitaph*."""
        session, task_id = record.key
        del self._tasks[record.key]
        own = self._sessions[session]
        del own[task_id]
        if not own:
            del self._sessions[session]
        self._originals.pop((session, record.request_id), None)
        self._tombstones[record.key] = epitaph
        while len(self._tombstones) > self._rules.tombstones:
            del self._tombstones[next(iter(self._tombstones))]

    def _drop_forgotten(self) -> None:
        """Keep the head of the expiries a task that is still there: deleted ones leave theirs."""
        while self._expiries:
            at, _, key = self._expiries[0]
            record = self._tasks.get(key)
            if record is not None and record.expires_at == at:
                return
            heappop(self._expiries)
