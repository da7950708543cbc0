"""The life of a receiver's tasks: what its work does to them, what time does, what a restart does.

Rule 1: the driver reports what happened to the work; what follows for the task stands here.
Rule 2: a status changes through ``_move`` only, and a task ends through ``_finish`` only.
"""

from collections.abc import Mapping
from typing import Any

from tasksim.policies import UNLIMITED
from tasksim.protocol.book import Book, children_of
from tasksim.protocol.errors import INTERNAL_ERROR, TaskExpiredError
from tasksim.protocol.holds import Held
from tasksim.protocol.manners import Anchor, Asking
from tasksim.protocol.messages import (
    Call,
    Failure,
    GetResult,
    InputRequest,
    Result,
)
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.outputs import Answer, Output, ResumeWork, Send, StartWork, StopWork
from tasksim.protocol.records import Key, TaskRecord
from tasksim.protocol.rules import Push
from tasksim.protocol.states import TERMINAL, Status
from tasksim.protocol.ties import Tie

NO_INPUT = "Input was not received in time"
NO_CHILD = "Child task did not complete"
RESTARTED = "Receiver was restarted"
DIED = "Worker died"


class Lifecycle(Book):
    """The tasks of one receiver and what becomes of them (SEP-1686 4.3 to 4.5)."""

    # What the work did.

    def work_started(self, key: Key, now: int) -> None:
        """Take note that a worker began with the task, or goes on with it."""
        record = self._found(key)
        if record.status is Status.SUBMITTED:
            self._move(record, Status.WORKING)
        kind = Kind.CONTINUED if record.started else Kind.STARTED
        record.started = True
        self._observe(now, kind, record.number)

    def work_paused(self, key: Key, now: int) -> None:
        """Take note that the work waits for input without a worker."""
        self._observe(now, Kind.PAUSED, self._found(key).number)

    def work_reached(self, key: Key, now: int) -> list[Output]:
        """Take note of an intermediate result; who is told of that is told."""
        record = self._found(key)
        record.milestone += 1
        self._observe(
            now, Kind.MILESTONE, record.number, NONE, 0, record.status, NONE, record.milestone
        )
        return [*self._answer_held(record, now), *self._push(record, Push.MILESTONE)]

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
        for ordinal, each in enumerate(params, record.asked):
            request_id = f"{key[1]}#{ordinal}"
            record.pending.add(request_id)
            record.prompts.append(
                InputRequest(request_id=request_id, task_id=key[1], ordinal=ordinal, params=each)
            )
        record.asked += count
        self._wait_for_requester(record, now)
        outputs = [*self._answer_held(record, now), *self._push(record, Push.INPUT)]
        asking = self._rules.manners.asking
        if asking is Asking.SENT:
            outputs += self._ask(record, record.session, record.via)
        elif asking is Asking.ON_RESULT:
            for held in self._holds.of(key, GetResult):
                outputs += self._ask(record, held.session, held.via)
        return outputs

    def _ask(self, record: TaskRecord, session: str, via: Any) -> list[Output]:
        """Send what is asked and not answered yet."""
        return [Send(session, prompt, via) for prompt in record.prompts]

    def work_needs_children(self, key: Key, now: int, calls: tuple[Call, ...]) -> list[Output]:
        """Wait for child tasks, which the requester is to create; those that are there count."""
        record = self._found(key)
        record.children = children_of(key[1], calls)
        done = record.children_done
        left = {each.task_id for each in record.children if each.task_id not in done}
        record.children_left = left
        self._observe(
            now, Kind.CHILDREN_ASKED, record.number, NONE, 0, record.status, NONE, len(left)
        )
        if not all(done.values()):
            return [*self.work_failed(key, NO_CHILD, now), StopWork(key)]
        if not left:
            return [ResumeWork(key)]
        self._wait_for_requester(record, now)
        return self._answer_held(record, now)

    def work_succeeded(self, key: Key, payload: Mapping[str, Any], now: int) -> list[Output]:
        """Complete the task, also at once (R12); the original request is answered (N09)."""
        record = self._found(key)
        record.payload = payload
        outputs = self._finish(record, Status.COMPLETED, now)
        if self._rules.manners.mints_ids:
            return outputs
        original = Result(
            request_id=record.request_id,
            task_id=key[1],
            payload=payload,
            operation=Operation.ORIGINAL,
        )
        return [Answer(key, original), *outputs]

    def work_failed(self, key: Key, error: str, now: int) -> list[Output]:
        """Fail the task; ``error`` is what a get says of it (R48) and the original answer (C4)."""
        record = self._found(key)
        record.error = error
        outputs = self._finish(record, Status.FAILED, now)
        if self._rules.manners.mints_ids:
            return outputs
        return [Answer(key, self._original_failure(record, error)), *outputs]

    def work_lost(self, key: Key, now: int) -> list[Output]:
        """The work is gone and nobody knows why: the one cause of ``unknown`` (R13).

        A dialect that has no such status fails the task.
        """
        if self._rules.manners.starts_working:
            return self.work_failed(key, "Work was lost", now)
        return self._finish(self._found(key), Status.UNKNOWN, now)

    def stall(self, until: int) -> None:
        """Stand still: what is due before *until* happens then."""
        self._up_at = max(self._up_at, until)

    def drop_held(self, now: int) -> list[Held]:
        """All connections are gone: hold nothing any more; what was held."""
        held = list(self._holds.all())
        for each in held:
            self._released(each, now, NONE, Reason.RECEIVER_DOWN)
        self._holds.wipe()
        return held

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
            if record.status in TERMINAL or self._records.get(record.key) is not record:
                continue
            if not redoes:
                outputs += self.work_failed(record.key, RESTARTED, now)
                continue
            if record.status is Status.INPUT_REQUIRED:
                self._resume(record, now)
            elif record.children_left:
                record.input_until = None
                self._rearm(record)
            record.children_left.clear()
            record.milestone = 0
            outputs.append(StartWork(record.key, record.call, record.number, record.via))
        return outputs

    # Time.

    @property
    def next_deadline(self) -> tuple[int, int] | None:
        """(instant, rank) of what time does next; call ``on_time`` then."""
        records, holds = self._records.next_deadline, self._holds.next_deadline
        if holds is None:
            return records
        return holds if records is None else min(records, holds)

    def on_time(self, now: int) -> list[Output]:
        """Act on the one deadline that is next, if it is due (R20, R32: forget the task).

        It happened when it was due, however late the driver is, unless the receiver was down or
        stood still then.
        """
        holds = self._holds.next_deadline
        if holds is not None and holds == self.next_deadline:
            return self._end_hold(now)
        due = self._records.due(now)
        if due is None:
            return []
        record, at, tie = due
        at = max(at, self._up_at)
        if tie is Tie.INPUT_TIMEOUT:
            error = NO_INPUT if record.status is Status.INPUT_REQUIRED else NO_CHILD
            return [*self.work_failed(record.key, error, at), StopWork(record.key)]
        return self._expire(record, at)

    def _end_hold(self, now: int) -> list[Output]:
        """A get has been held for long enough: say how things stand."""
        held = self._holds.due(now)
        if held is None:
            return []
        record = self._found(held.key)
        at = now if held.until is None else max(held.until, self._up_at)
        self._released(held, at, record.status)
        return [Send(held.session, self._answer_to(held, record, at), held.via)]

    def _expire(self, record: TaskRecord, at: int) -> list[Output]:
        """Forget a task whose retention is over, and give up its work if it has not ended."""
        is_open = record.status not in TERMINAL
        is_anchored = self._rules.anchor is not Anchor.END and record.expires_at == (
            record.created_at + record.keep_alive_ns
        )
        runs_from_creation = is_open or is_anchored
        refusals = self._forget(record, TaskExpiredError, at)
        self._observe(at, Kind.EXPIRED, record.number, NONE, 0, NONE, NONE, int(runs_from_creation))
        outputs: list[Output] = [StopWork(record.key)] if is_open else []
        outputs += refusals
        if is_open:
            outputs += self._tell_parent(record, Status.FAILED, at)
        return [*outputs, *self._admit_waiting(at)]

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
        return {**self._records.sizes(), **self._gate.sizes(now), **self._holds.sizes()}

    # The table.

    def _resume(self, record: TaskRecord, now: int) -> None:
        """Go on after the last answer (R16); not before it (R17)."""
        record.pending.clear()
        record.prompts.clear()
        record.input_until = None
        self._rearm(record)
        self._move(record, Status.WORKING)
        self._observe(now, Kind.RESUMED, record.number, NONE, 0, record.status)

    def _finish(self, record: TaskRecord, status: Status, now: int) -> list[Output]:
        """Make the task terminal; from now on its retention runs (R20: from the terminal state)."""
        assert status in TERMINAL, f"{status.name} is not terminal"
        self._move(record, status)
        record.pending.clear()
        record.prompts.clear()
        record.children_left.clear()
        record.input_until = None
        self._gate.closed(record.requester)
        self._records.ended(record)
        self._observe(now, Kind.FINISHED, record.number, NONE, 0, status)
        rules = self._rules
        if record.keep_alive_ns == UNLIMITED or (status is Status.UNKNOWN and rules.keeps_unknown):
            record.expires_at = None
        elif rules.anchor is not Anchor.CREATION and not record.is_over(now):
            record.expires_at = now + record.keep_alive_ns
        self._rearm(record)
        return [
            *self._answer_held(record, now),
            *self._push(record, Push.ENDED),
            *self._tell_parent(record, status, now),
            *self._admit_waiting(now),
        ]

    def _tell_parent(self, record: TaskRecord, status: Status, now: int) -> list[Output]:
        """A child has ended: its parent goes on after the last, and fails with the first."""
        parent = None if record.parent is None else self._records.get(record.parent)
        if parent is None or parent.status in TERMINAL:
            return []
        parent.children_done[record.key[1]] = status is Status.COMPLETED
        if record.key[1] not in parent.children_left:
            return []
        parent.children_left.discard(record.key[1])
        if status is not Status.COMPLETED:
            return [*self.work_failed(parent.key, NO_CHILD, now), StopWork(parent.key)]
        if parent.children_left:
            return []
        parent.input_until = None
        self._rearm(parent)
        self._observe(now, Kind.RESUMED, parent.number, NONE, 0, parent.status)
        return [ResumeWork(parent.key)]

    def _original_failure(self, record: TaskRecord, error: str) -> Failure:
        return Failure(
            request_id=record.request_id,
            code=INTERNAL_ERROR,
            message=error,
            operation=Operation.ORIGINAL,
            reason=Reason.EXECUTION,
            task_id=record.key[1],
        )
