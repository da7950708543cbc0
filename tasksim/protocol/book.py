"""A receiver's books: what it admits, what it says of a task, whom it lets wait.

Rule 1: who asks is a ``Caller``; what is sent later than at once goes out with its ``via``.
Rule 2: whatever makes a task end or go makes room, and who waits for room gets it then.
"""

from dataclasses import replace
from typing import Any, Final, NamedTuple

from tasksim.policies import ABSENT, UNLIMITED
from tasksim.policies.retention import granted_ns
from tasksim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ProtocolError,
    StoreFullError,
    TaskExpiredError,
    TaskNotFoundError,
    TooManyTasksError,
)
from tasksim.protocol.gate import Gate
from tasksim.protocol.holds import Held, Holds, Queued
from tasksim.protocol.manners import Anchor, Asking, Early
from tasksim.protocol.messages import (
    Child,
    Create,
    Created,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    Pushed,
    RequestId,
    Result,
    TaskView,
)
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.outputs import Hold, Output, Send, StartWork
from tasksim.protocol.records import Key, Records, TaskRecord
from tasksim.protocol.rules import Push, ReceiverRules, rerun
from tasksim.protocol.states import TERMINAL, Status, require_move
from tasksim.protocol.ties import Tie

CANCELLED: Final = "Request was cancelled"


class Caller(NamedTuple):
    """Who sends a message: whose tasks it sees, in which session, whom limits act on."""

    owner: str
    session: str
    requester: str
    via: Any = None


class Book:
    """Tasks, held requests and limits of one receiver."""

    def __init__(self, rules: ReceiverRules, observe: Observer) -> None:
        self._rules = rules
        self._observe = observe
        self._records = Records(rules.tombstones)
        self._gate = Gate(rules)
        self._holds = Holds(rules.holds_max)
        self._up_at = 0  # since when it has been there

    @property
    def rules(self) -> ReceiverRules:
        """What it grants, advertises, limits and refuses."""
        return self._rules

    # Admission.

    def _enter(self, key: Key, caller: Caller, message: Create, now: int) -> list[Output]:
        """Admit a task, or let it wait for room, or raise."""
        rules, queue = self._rules, self._holds.queue
        if self._gate.has_room(caller.requester) and self._makes_room(now):
            return self._admit(key, caller, message, now)
        entry = Queued(caller.owner, caller.session, caller.requester, message, caller.via)
        for place, waiting in enumerate(queue):
            if self._is_same(waiting, caller, message):
                again = replace(message, draw=waiting.message.draw)  # the same request once more
                queue[place] = replace(entry, message=again)
                return [Hold()]
        if len(queue) >= rules.queue_max:
            is_store = self._gate.has_room(caller.requester)
            raise (StoreFullError if is_store else TooManyTasksError)(rules.retry_after_ns)
        queue.append(entry)
        self._observe(now, Kind.QUEUED, number_of(message.draw), Operation.CREATE, message.attempt)
        return [Hold(takes_on=True)]

    def _is_same(self, waiting: Queued, caller: Caller, message: Create) -> bool:
        """Whether a creation is the one that waits, once more: by its id, where it has one."""
        if self._rules.manners.mints_ids:
            ids = (waiting.message.request_id, message.request_id)
            return waiting.session == caller.session and ids[0] == ids[1]
        return (waiting.owner, waiting.message.task_id) == (caller.owner, message.task_id)

    def _makes_room(self, now: int) -> bool:
        """Whether one more task can be remembered; a full store may forget one for it."""
        rules = self._rules
        if not len(self._records) >= rules.store_max != UNLIMITED:
            return True
        oldest = self._records.first_ended() if rules.evicts else None
        if oldest is None:
            return False
        self._records.forget(oldest, TaskExpiredError)
        self._observe(now, Kind.EVICTED, oldest.number, NONE, 0, oldest.status)
        return True

    def _admit_waiting(self, now: int) -> list[Output]:
        """Admit whoever waits and has room now, in order."""
        outputs: list[Output] = []
        queue = self._holds.queue
        for _ in range(len(queue)):
            entry = queue.popleft()
            if self._gate.has_room(entry.requester) and self._makes_room(now):
                caller = Caller(entry.owner, entry.session, entry.requester, entry.via)
                key = (entry.owner, entry.message.task_id)
                outputs += self._admit(key, caller, entry.message, now)
            else:
                queue.append(entry)
        return outputs

    def _mint(self, message: Create) -> str:
        """The id of a task, where the receiver makes it; a live receiver makes a secret one."""
        return f"{message.task_id}.{self._records.sequence}"

    def _admit(self, key: Key, caller: Caller, message: Create, now: int) -> list[Output]:
        asked_ns = ABSENT if message.keep_alive_ns is None else message.keep_alive_ns
        rules, manners = self._rules, self._rules.manners
        if manners.mints_ids:
            key = (caller.owner, self._mint(message))
        parent = None if message.parent_id is None else (caller.owner, message.parent_id)
        record = TaskRecord(
            key=key,
            session=caller.session,
            requester=caller.requester,
            number=self._records.sequence if message.draw is None else number_of(message.draw),
            sequence=self._records.sequence,
            request_id=message.request_id,
            keep_alive_ns=granted_ns(
                asked_ns, rules.keep_alive_default_ns, rules.keep_alive_max_ns
            ),
            call=message.call,
            created_at=now,
            status=Status.WORKING if manners.starts_working else Status.SUBMITTED,
            via=caller.via,
            parent=parent,
        )
        self._records.add(record)
        self._gate.opened(caller.requester)
        number, attempt, status = record.number, message.attempt, record.status
        self._observe(now, Kind.RECEIVED, number, Operation.CREATE, attempt, status)
        self._observe(
            now, Kind.CREATED, number, Operation.CREATE, attempt, status, NONE,
            record.keep_alive_ns,
        )  # fmt: skip
        if rules.anchor is not Anchor.END and record.keep_alive_ns != UNLIMITED:
            record.expires_at = now + record.keep_alive_ns
            self._rearm(record)
        self._advise(record, now)
        answer: Created | TaskView = Created(task_id=message.task_id, attempt=attempt)  # R03
        if manners.mints_ids:
            answer = self._view(record, message.request_id, attempt, Operation.CREATE)
        return [
            Send(caller.session, answer, caller.via),
            StartWork(key, message.call, number, caller.via),
        ]

    # What it says.

    def _advise(self, record: TaskRecord, now: int) -> None:
        """Work out what the task's requester is told to wait (R21)."""
        rules = self._rules
        advice = rules.tool_advice.get(record.call.tool, rules.advice)
        if advice is not None:
            age_ns = now - record.created_at
            record.advised_ns = advice.told_ns(age_ns, self._gate.open_total, record.sequence)

    def _view(
        self,
        record: TaskRecord,
        request_id: RequestId,
        attempt: int,
        operation: Operation = Operation.GET,
    ) -> TaskView:
        manners = self._rules.manners
        is_inlined = manners.early is Early.INLINED and record.status is Status.COMPLETED
        return TaskView(
            request_id=request_id,
            task_id=record.key[1],
            status=record.status,
            keep_alive_ns=None if record.keep_alive_ns == UNLIMITED else record.keep_alive_ns,
            poll_interval_ns=record.advised_ns,
            error=record.error,
            attempt=attempt,
            operation=operation,
            payload=record.payload if is_inlined else None,
            prompts=tuple(record.prompts) if manners.asking is Asking.PULLED else (),
            milestone=record.milestone,
            parent_id=None if record.parent is None else record.parent[1],
            children=tuple(c for c in record.children if c.task_id in record.children_left),
        )

    def _result_of(self, record: TaskRecord, message: GetResult) -> Result | Failure:
        """What the wrapped request would have been answered with (R23, and D2)."""
        if record.status is Status.COMPLETED:
            assert record.payload is not None, "a completed task has a result"
            return Result(
                request_id=message.request_id,
                task_id=record.key[1],
                payload=record.payload,
                operation=Operation.RESULT,
                attempt=message.attempt,
            )
        is_cancelled = record.status is Status.CANCELLED
        return Failure(
            request_id=message.request_id,
            code=INTERNAL_ERROR,
            message=record.error or (CANCELLED if is_cancelled else "Work was lost"),
            operation=Operation.RESULT,
            reason=Reason.CANCELLED if is_cancelled else Reason.EXECUTION,
            task_id=record.key[1],
            attempt=message.attempt,
        )

    def _push(self, record: TaskRecord, what: Push) -> list[Output]:
        """Tell the requester unasked, where that is done."""
        if what not in self._rules.pushes:
            return []
        view = self._view(record, 0, 0, Operation.PUSH)
        return [Send(record.session, Pushed(task_id=record.key[1], view=view), record.via)]

    # Requests that wait.

    def _can_hold(self, caller: Caller, record: TaskRecord, message: Get | GetResult) -> bool:
        """Whether one more request can be held, or one in place of another."""
        own = self._holds.of(record.key, type(message))
        return not self._holds.is_full or any(held.session == caller.session for held in own)

    def _hold(
        self, caller: Caller, record: TaskRecord, message: Get | GetResult, ordinal: int, now: int
    ) -> list[Output]:
        """Hold a request until there is something to say."""
        until = None
        if isinstance(message, Get):
            until = now + min(message.hold_ns, self._rules.hold_max_ns)
        held = Held(
            record.key, caller.owner, caller.session, caller.requester, message, record.number,
            ordinal, until, caller.via,
        )  # fmt: skip
        before = self._holds.add(held)
        if before is not None:
            self._released(before, now, NONE, Reason.NO_ANSWER)
        operation = Operation.GET if isinstance(message, Get) else Operation.RESULT
        self._observe(now, Kind.HELD, record.number, operation, ordinal, record.status)
        return [Hold()]

    def _released(self, held: Held, now: int, status: int = NONE, reason: int = NONE) -> None:
        operation = Operation.GET if isinstance(held.message, Get) else Operation.RESULT
        self._observe(now, Kind.RELEASED, held.number, operation, held.ordinal, status, reason)

    def _answer_held(self, record: TaskRecord, now: int) -> list[Output]:
        """Something has changed: answer who waits for that."""
        if record.is_over(now):
            return self._refuse_held(record, TaskExpiredError(), now)
        outputs: list[Output] = []
        kind = None if record.status in TERMINAL else Get
        for held in self._holds.release(record.key, kind):
            self._released(held, now, record.status)
            outputs.append(Send(held.session, self._answer_to(held, record, now), held.via))
        return outputs

    def _answer_to(self, held: Held, record: TaskRecord, now: int) -> TaskView | Result | Failure:
        message = held.message
        if isinstance(message, GetResult):
            return self._result_of(record, message)
        self._advise(record, now)
        return self._view(record, message.request_id, message.attempt)

    def _refuse_held(self, record: TaskRecord, fault: ProtocolError, now: int) -> list[Output]:
        """The task is gone: who waits for it is told so."""
        outputs: list[Output] = []
        for held in self._holds.release(record.key):
            self._released(held, now, NONE, fault.reason)
            failure = Failure(
                request_id=held.message.request_id,
                code=INVALID_PARAMS,
                message=str(fault),
                operation=Operation.GET if isinstance(held.message, Get) else Operation.RESULT,
                reason=fault.reason,
                task_id=record.key[1],
                attempt=held.message.attempt,
            )
            outputs.append(Send(held.session, failure, held.via))
        return outputs

    # The table.

    def _found(self, key: Key) -> TaskRecord:
        record = self._records.get(key)
        assert record is not None, "work is reported of tasks that are there"
        return record

    def _move(self, record: TaskRecord, status: Status) -> None:
        require_move(record.status, status)
        record.status = status

    def _rearm(self, record: TaskRecord) -> None:
        """Give a task the deadline that is next for it."""
        sweep_ns = self._rules.sweep_ns
        due: list[tuple[int, Tie]] = []
        if record.expires_at is not None:
            swept_at = -(-record.expires_at // sweep_ns) * sweep_ns if sweep_ns else 0
            due.append((swept_at, Tie.SWEEP) if sweep_ns else (record.expires_at, Tie.EXPIRY))
        if record.input_until is not None:
            due.append((record.input_until, Tie.INPUT_TIMEOUT))
        if due:
            self._records.arm(record, *min(due))
        else:
            self._records.disarm(record)

    def _wait_for_requester(self, record: TaskRecord, now: int) -> None:
        """From now on the task waits for its requester, but not for ever."""
        if self._rules.input_timeout_ns != UNLIMITED:
            record.input_until = now + self._rules.input_timeout_ns
            self._rearm(record)

    def _forget(self, record: TaskRecord, epitaph: type[TaskExpiredError | TaskNotFoundError],
                now: int) -> list[Output]:  # fmt: skip
        """Drop a task; who waits for it or for its place is told."""
        self._records.forget(record, epitaph)
        if record.status not in TERMINAL:
            self._gate.closed(record.requester)
        return self._refuse_held(record, epitaph(), now)


def number_of(draw: DrawAddress | None) -> int:
    """Number of a task that is taken on, another one each time; NONE where nobody tells."""
    if draw is None:
        return NONE
    return rerun(draw.entity, draw.run) if draw.run else draw.entity


def children_of(task_id: str, calls: tuple[Any, ...]) -> tuple[Child, ...]:
    """The child tasks that a task asks for: their ids are made from its own."""
    return tuple(Child(task_id=f"{task_id}/{k}", call=call) for k, call in enumerate(calls))
