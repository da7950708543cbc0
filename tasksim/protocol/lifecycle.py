"""The life of a receiver's tasks: what its work does to them, what time does, what a restart does.

Rule 1: the driver reports what happened to the work; what follows for the task stands here.
Rule 2: a status changes through ``_move`` only, and a task ends through ``_finish`` only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasksim.policies import UNLIMITED
from tasksim.protocol.errors import INTERNAL_ERROR, TaskExpiredError
from tasksim.protocol.gate import Gate
from tasksim.protocol.messages import (
    Call,
    Created,
    Failure,
    InputRequest,
    Reply,
    RequestId,
    Result,
)
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.records import Key, Records, TaskRecord
from tasksim.protocol.rules import ReceiverRules
from tasksim.protocol.states import TERMINAL, Status, require_move
from tasksim.protocol.ties import Tie

NO_INPUT = "Input was not received in time"
RESTARTED = "Receiver was restarted"


@dataclass(frozen=True, slots=True)
class Send:
    """Deliver *message* to *session*."""

    session: str
    message: Created | InputRequest | Reply


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the request that created the task of *key*."""

    key: Key
    message: Result | Failure


@dataclass(frozen=True, slots=True)
class StartWork:
    """Run *call*; report back with *key*. *number* is the task's number in the log."""

    key: Key
    call: Call
    number: int


@dataclass(frozen=True, slots=True)
class ResumeWork:
    """All input is there: go on with the work of *key*."""

    key: Key


@dataclass(frozen=True, slots=True)
class StopWork:
    """Stop the work of *key*, running or queued; nothing is to be reported of it any more."""

    key: Key


@dataclass(frozen=True, slots=True)
class RunPlain:
    """Run a call that is no task and answer its request; the receiver keeps nothing (R04)."""

    session: str
    request_id: RequestId
    call: Call


Output = Send | Answer | StartWork | ResumeWork | StopWork | RunPlain


class Lifecycle:
    """The tasks of one receiver and what becomes of them (SEP-1686 4.3 to 4.5)."""

    def __init__(self, rules: ReceiverRules, observe: Observer) -> None:
        self._rules = rules
        self._observe = observe
        self._records = Records(rules.tombstones)
        self._gate = Gate(rules)
        self._up_at = 0  # since when it has been there

    # What the work did.

    def work_started(self, key: Key, now: int) -> None:
        """Take note that a worker began with the task, or goes on with it."""
        record = self._found(key)
        if record.status is Status.SUBMITTED:
            self._move(record, Status.WORKING)
            self._observe(now, Kind.STARTED, record.number)
        else:
            self._observe(now, Kind.CONTINUED, record.number)

    def work_paused(self, key: Key, now: int) -> None:
        """Take note that the work waits for input without a worker."""
        self._observe(now, Kind.PAUSED, self._found(key).number)

    def work_needs_input(
        self, key: Key, now: int, params: tuple[Mapping[str, Any], ...] = ({},)
    ) -> list[Output]:
        """Ask the task's requester, one request for each of *params* (R14, R15, R27)."""
        record = self._found(key)
        self._move(record, Status.INPUT_REQUIRED)
        count = len(params)
        self._observe(
            now, Kind.INPUT_ASKED, record.number, Operation.INPUT, record.asked, record.status,
            NONE, count,
        )  # fmt: skip
        outputs: list[Output] = []
        for ordinal, each in enumerate(params, record.asked):
            request_id = f"{key[1]}#{ordinal}"
            record.pending.add(request_id)
            ask = InputRequest(request_id=request_id, task_id=key[1], ordinal=ordinal, params=each)
            outputs.append(Send(record.session, ask))
        record.asked += count
        if self._rules.input_timeout_ns != UNLIMITED:
            self._records.arm(record, now + self._rules.input_timeout_ns, Tie.INPUT_TIMEOUT)
        return outputs

    def work_succeeded(self, key: Key, payload: Mapping[str, Any], now: int) -> Result:
        """Complete the task, also at once (R12); the answer to the original request (N09)."""
        record = self._found(key)
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
        record = self._found(key)
        record.error = error
        self._finish(record, Status.FAILED, now)
        return self._original_failure(record, error)

    def work_lost(self, key: Key, now: int) -> None:
        """The work is gone and nobody knows why: the one cause of ``unknown`` (R13)."""
        self._finish(self._found(key), Status.UNKNOWN, now)

    def restart(self, now: int, *, durable: bool, redoes: bool, down_ns: int) -> list[Output]:
        """Come up again after having been down, with what was written or with nothing.

        Durable, work that was under way is failed, for a restart is a known cause (R13), or is
        begun anew when it *redoes*. The driver has stopped all work before.
        """
        self._up_at = now
        self._observe(now, Kind.RESTARTED, NONE, NONE, 0, NONE, NONE, down_ns)
        records = self._records.all()
        if not durable:
            for record in records:
                self._observe(now, Kind.WIPED, record.number, NONE, 0, record.status)
            self._records.wipe()
            self._gate.wipe()
            return []
        outputs: list[Output] = []
        for record in records:
            if record.status in TERMINAL:
                continue
            if not redoes:
                outputs.append(Answer(record.key, self.work_failed(record.key, RESTARTED, now)))
                continue
            if record.status is Status.INPUT_REQUIRED:
                self._resume(record, now)
            outputs.append(StartWork(record.key, record.call, record.number))
        return outputs

    # Time.

    @property
    def next_deadline(self) -> tuple[int, int] | None:
        """(instant, rank) of the next expiry or input time-out; call ``on_time`` then."""
        return self._records.next_deadline

    def on_time(self, now: int) -> list[Output]:
        """Act on the one deadline that is next, if it is due (R20, R32: forget the task).

        It happened when it was due, however late the driver is, unless the receiver was down then.
        """
        due = self._records.due(now)
        if due is None:
            return []
        record, at = due
        at = max(at, self._up_at)
        if record.status is Status.INPUT_REQUIRED:
            answer = Answer(record.key, self.work_failed(record.key, NO_INPUT, at))
            return [answer, StopWork(record.key)]
        self._records.forget(record, TaskExpiredError)
        self._observe(at, Kind.EXPIRED, record.number)
        return []

    # What can be seen of it.

    @property
    def resident_tasks(self) -> int:
        """How many tasks it remembers, without tombstones."""
        return len(self._records)

    @property
    def tombstones(self) -> int:
        """How many expired ids it remembers."""
        return self._records.tombstones

    def status_of(self, key: Key) -> Status | None:
        """Status of a task, None when there is no such task."""
        record = self._records.get(key)
        return None if record is None else record.status

    def sizes(self, now: int) -> dict[str, int]:
        """Size of every table that must be empty once every task is forgotten."""
        return {**self._records.sizes(), **self._gate.sizes(now)}

    # The table.

    def _found(self, key: Key) -> TaskRecord:
        record = self._records.get(key)
        assert record is not None, "work is reported of tasks that are there"
        return record

    def _move(self, record: TaskRecord, status: Status) -> None:
        require_move(record.status, status)
        record.status = status

    def _resume(self, record: TaskRecord, now: int) -> None:
        """Go on after the last answer (R16); not before it (R17)."""
        record.pending.clear()
        self._records.disarm(record)
        self._move(record, Status.WORKING)
        self._observe(now, Kind.RESUMED, record.number, NONE, 0, record.status)

    def _finish(self, record: TaskRecord, status: Status, now: int) -> None:
        """Make the task terminal; from now on its retention runs (R20: from the terminal state)."""
        assert status in TERMINAL, f"{status.name} is not terminal"
        self._move(record, status)
        record.pending.clear()
        self._gate.closed(record.requester)
        self._observe(now, Kind.FINISHED, record.number, NONE, 0, status)
        rules = self._rules
        if record.keep_alive_ns == UNLIMITED or (status is Status.UNKNOWN and rules.keeps_unknown):
            self._records.disarm(record)
            return
        record.expires_at = now + record.keep_alive_ns
        if rules.sweep_ns:
            swept_at = -(-record.expires_at // rules.sweep_ns) * rules.sweep_ns
            self._records.arm(record, swept_at, Tie.SWEEP)
        else:
            self._records.arm(record, record.expires_at, Tie.EXPIRY)

    def _original_failure(self, record: TaskRecord, error: str) -> Failure:
        return Failure(
            request_id=record.request_id,
            code=INTERNAL_ERROR,
            message=error,
            operation=Operation.ORIGINAL,
            reason=Reason.EXECUTION,
            task_id=record.key[1],
        )
