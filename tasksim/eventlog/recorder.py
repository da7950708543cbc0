"""Recorders: observers that keep what a run reports.

Rule 1: a recorder is called for every occurrence, so a call allocates nothing it need not.
Rule 2: the task table is one fold over occurrences, the same whether they come from a running
model or from a finished log.
"""

from array import array
from collections.abc import Callable
from typing import Final

import numpy as np

from tasksim.eventlog.log import EventLog, log_of
from tasksim.eventlog.schema import EVENT_TYPES, NEVER, TASK_TYPES
from tasksim.eventlog.tasks import RequestCounts, TaskTable, table_of
from tasksim.protocol.occurrences import NONE, SIDE_OF, Kind, Operation, Reason
from tasksim.protocol.states import TERMINAL
from tasksim.units import NS_PER_S

BINS_MAX: Final = 400
_COLUMN: Final = {name: index for index, name in enumerate(TASK_TYPES)}
_COUNTS: Final = {
    "created_lost", "creations", "dictated_ns", "held_ns", "limited", "milestone_delay_ns",
    "milestones", "milestones_seen", "worked_ns",
}  # fmt: skip
BLANK: Final = [
    *(0 if name.startswith("polls_") or name in _COUNTS else NEVER for name in TASK_TYPES),
    NEVER,  # since when a worker is at it; no column
]
_BUSY_SINCE: Final = len(TASK_TYPES)
_IS_TERMINAL: Final = {int(status) for status in TERMINAL}
Row = list[int]
Fold = Callable[[Row, int, int, int, int, int], None]


class EventRecorder:
    """Keeps every occurrence."""

    def __init__(self) -> None:
        self._rows = {name: array("q") for name in EVENT_TYPES if name not in {"side", "requester"}}
        self._appends = tuple(
            self._rows[name].append
            for name in ("at", "kind", "task", "operation", "ordinal", "status", "reason", "value")
        )
        self._requester_of: dict[int, int] = {}

    def __call__(
        self,
        at: int,
        kind: int,
        task: int,
        operation: int = NONE,
        ordinal: int = 0,
        status: int = NONE,
        reason: int = NONE,
        value: int = 0,
        /,
    ) -> None:
        """Keep one occurrence."""
        appends = self._appends
        appends[0](at)
        appends[1](kind)
        appends[2](task)
        appends[3](operation)
        appends[4](ordinal)
        appends[5](status)
        appends[6](reason)
        appends[7](value)

    def meets(self, task: int, requester: int) -> None:
        """Learn whose task it is."""
        self._requester_of[task] = requester

    def finish(self) -> EventLog:
        """The log so far."""
        rows = {name: np.frombuffer(column, dtype="<i8") for name, column in self._rows.items()}
        sides = np.array([SIDE_OF[kind] for kind in Kind], dtype="i1")
        whose = self._requester_of
        requester = [whose.get(task, NEVER) for task in self._rows["task"]]
        return log_of({**rows, "side": sides[rows["kind"]], "requester": requester})


class TaskRecorder:
    """Folds occurrences into one row a task, and counts requests, as they come."""

    def __init__(self) -> None:
        self._tasks: dict[int, Row] = {}
        self._folds = _folds()
        self._requests = RequestCounter()
        self._milestones: dict[int, list[int]] = {}  # instants by task
        self.end_at = 0

    def __call__(
        self,
        at: int,
        kind: int,
        task: int,
        operation: int = NONE,
        ordinal: int = 0,  # noqa: ARG002 - the signature of observers
        status: int = NONE,
        reason: int = NONE,
        value: int = 0,
        /,
    ) -> None:
        """Fold one occurrence in. Occurrences come in order of time."""
        self.end_at = max(self.end_at, at)
        if kind == _RECEIVED:
            self._requests.count(at, operation, reason)
        elif kind == _HELD:
            self._requests.hold(1)
        elif kind == _RELEASED:
            self._requests.hold(-1)
        if task < 0:
            return
        row = self._tasks.get(task)
        if row is None:
            row = self._row(task)
        fold = self._folds[kind]
        if fold is not None:
            fold(row, at, operation, status, reason, value)
        elif kind == _MILESTONE:
            row[_COLUMN["milestones"]] += 1
            self._milestones.setdefault(task, []).append(at)
        elif kind == _SEEN:
            self._see(task, row, at, value)

    def _see(self, task: int, row: Row, at: int, known: int) -> None:
        """The requester knows of so many intermediate results."""
        instants = self._milestones.get(task, [])[row[_SEEN_COUNT] : known]
        row[_SEEN_COUNT] += len(instants)
        row[_COLUMN["milestone_delay_ns"]] += sum(at - instant for instant in instants)

    def meets(self, task: int, requester: int) -> None:
        """Learn whose task it is."""
        self._row(task)[_REQUESTER] = requester

    def finish(self) -> tuple[TaskTable, RequestCounts]:
        """The table and the counts so far."""
        rows = np.array(list(self._tasks.values()), dtype=np.int64).reshape(-1, len(BLANK))
        table = table_of({name: rows[:, index] for name, index in _COLUMN.items()})
        return table, self._requests.finish()

    def _row(self, task: int) -> Row:
        row = self._tasks.get(task)
        if row is None:
            row = BLANK.copy()
            row[_TASK] = task
            self._tasks[task] = row
        return row


class RequestCounter:
    """Totals, the peak of one second, and a series of at most 400 bins."""

    def __init__(self) -> None:
        self._totals = [0] * len(Operation)
        self._limited = [0] * len(Operation)
        self._second = -1
        self._in_second = self._polls_in_second = 0
        self._peak = self._peak_polls = 0
        self._held = self._held_peak = 0
        self._bin_ns = NS_PER_S
        self._bins = [[0] * BINS_MAX for _ in Operation]
        self._bins_used = 0

    def count(self, at: int, operation: int, reason: int = NONE) -> None:
        """Count a request that reached the receiver at that instant."""
        self._totals[operation] += 1
        if reason == _RATE_LIMITED:
            self._limited[operation] += 1
        second = at // NS_PER_S
        if second != self._second:
            self._second = second
            self._settle_second()
        self._in_second += 1
        if operation == _GET:
            self._polls_in_second += 1
        index = at // self._bin_ns
        while index >= BINS_MAX:
            self._widen()
            index = at // self._bin_ns
        self._bins[operation][index] += 1
        if index >= self._bins_used:
            self._bins_used = index + 1

    def hold(self, by: int) -> None:
        """The receiver holds one request more, or one less."""
        self._held += by
        self._held_peak = max(self._held_peak, self._held)

    def _settle_second(self) -> None:
        """A second is over: its numbers may be the peak."""
        self._peak = max(self._peak, self._in_second)
        self._peak_polls = max(self._peak_polls, self._polls_in_second)
        self._in_second = self._polls_in_second = 0

    def finish(self) -> RequestCounts:
        """The counts so far."""
        self._settle_second()
        return RequestCounts(
            by_operation=tuple(self._totals),
            limited=tuple(self._limited),
            peak=self._peak,
            peak_polls=self._peak_polls,
            held_peak=self._held_peak,
            bin_ns=self._bin_ns,
            bins=np.array(self._bins, dtype=np.int64)[:, : self._bins_used],
        )

    def _widen(self) -> None:
        """Make bins twice as wide."""
        self._bin_ns *= 2
        self._bins_used = (self._bins_used + 1) // 2
        for bins in self._bins:
            pairs = [bins[index] + bins[index + 1] for index in range(0, BINS_MAX, 2)]
            bins[:] = pairs + [0] * (BINS_MAX - len(pairs))


def fold(log: EventLog) -> tuple[TaskTable, RequestCounts]:
    """Task table and request counts of a finished log."""
    recorder = TaskRecorder()
    columns = log.columns()
    tasks, first = np.unique(log.task, return_index=True)
    del first
    whose = _requesters(log)
    for task in tasks.tolist():
        if task >= 0:
            recorder.meets(task, whose.get(task, NEVER))
    names = ("at", "kind", "task", "operation", "ordinal", "status", "reason", "value")
    for row in zip(*(columns[name].tolist() for name in names), strict=True):
        recorder(*row)
    return recorder.finish()


def _requesters(log: EventLog) -> dict[int, int]:
    is_known = log.requester != NEVER
    return dict(zip(log.task[is_known].tolist(), log.requester[is_known].tolist(), strict=True))


# What each kind does to a task's row.

_RECEIVED: Final = int(Kind.RECEIVED)
_HELD: Final = int(Kind.HELD)
_RELEASED: Final = int(Kind.RELEASED)
_MILESTONE: Final = int(Kind.MILESTONE)
_SEEN: Final = int(Kind.SEEN)
_SEEN_COUNT: Final = _COLUMN["milestones_seen"]
_GET: Final = int(Operation.GET)
_CREATE: Final = int(Operation.CREATE)
_CREATED: Final = int(Operation.CREATED)
_RATE_LIMITED: Final = int(Reason.RATE_LIMITED)
_OVER_LIMIT: Final = {int(Reason.RATE_LIMITED), int(Reason.CONCURRENCY), int(Reason.STORE_FULL)}
_TASK: Final = _COLUMN["task"]
_REQUESTER: Final = _COLUMN["requester"]
_CREATIONS: Final = _COLUMN["creations"]
_SENT_AT: Final = _COLUMN["sent_at"]
_POLLS_SENT: Final = _COLUMN["polls_sent"]
_POLLS_RECEIVED: Final = _COLUMN["polls_received"]
_POLLS_ANSWERED: Final = _COLUMN["polls_answered"]
_POLLS_WASTED: Final = _COLUMN["polls_wasted"]
_POLLS_DOUBLED: Final = _COLUMN["polls_doubled"]
_LIMITED: Final = _COLUMN["limited"]
_WORKED_NS: Final = _COLUMN["worked_ns"]
_TERMINAL_AT: Final = _COLUMN["terminal_at"]
_PAUSED_AT: Final = _COLUMN["paused_at"]


def _instant(column: str) -> Fold:
    """A fold that keeps the instant of the first occurrence."""
    index = _COLUMN[column]

    def keep(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
        if row[index] == NEVER:
            row[index] = at

    return keep


def _sent(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    if operation == _GET:
        row[_POLLS_SENT] += 1
    elif operation == _CREATE:
        row[_CREATIONS] += 1
        if row[_SENT_AT] == NEVER:
            row[_SENT_AT] = at


def _received(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    if operation == _GET:
        row[_POLLS_RECEIVED] += 1
    if reason in _OVER_LIMIT:
        row[_LIMITED] += 1


def _answered(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    if operation == _GET:
        row[_POLLS_ANSWERED] += 1
        if status not in _IS_TERMINAL:
            row[_POLLS_WASTED] += 1


def _arrived(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["arrival_at"]] = at
    row[_COLUMN["dictated_ns"]] = value


def _created(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["created_at"]] = at
    row[_COLUMN["keep_alive_ns"]] = value


def _finished(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["terminal_at"]] = at
    row[_COLUMN["status"]] = status
    _worked(row, at)


def _worked(row: Row, at: int) -> None:
    """A worker, if there was one, is at the task no more."""
    if row[_BUSY_SINCE] != NEVER:
        row[_WORKED_NS] += at - row[_BUSY_SINCE]
        row[_BUSY_SINCE] = NEVER


def _started(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    if row[_COLUMN["started_at"]] == NEVER:
        row[_COLUMN["started_at"]] = at
    if row[_TERMINAL_AT] == NEVER:  # what ends at once stands before its start in a sorted log
        row[_BUSY_SINCE] = at


def _continued(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["continued_at"]] = at
    if row[_TERMINAL_AT] == NEVER:
        row[_BUSY_SINCE] = at


def _paused(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    if row[_PAUSED_AT] == NEVER:
        row[_PAUSED_AT] = at
    _worked(row, at)


def _freed(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["freed_at"]] = at
    instants = (row[_TERMINAL_AT], row[_COLUMN["deleted_at"]], row[_COLUMN["expired_at"]])
    stopped_at = next(instant for instant in instants if instant != NEVER)
    row[_WORKED_NS] += at - stopped_at


def _forgotten(column: str) -> Fold:
    """A fold for a task that the receiver forgets while it may be at work."""
    index = _COLUMN[column]

    def keep(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
        row[index] = at
        _worked(row, at)

    return keep


def _duplicated(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    if operation == _GET:
        row[_POLLS_DOUBLED] += 1


def _held(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["held_ns"]] -= at


def _released(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["held_ns"]] += at


def _detected(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["detected_at"]] = at
    row[_COLUMN["detected_by"]] = reason


def _closed(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    row[_COLUMN["closed_at"]] = at
    row[_COLUMN["outcome"]] = reason


def _lost(row: Row, at: int, operation: int, status: int, reason: int, value: int) -> None:  # noqa: ARG001
    if operation == _CREATED:
        row[_COLUMN["created_lost"]] = 1


def _folds() -> tuple[Fold | None, ...]:
    """Folds by kind; None where a kind changes no row."""
    by_kind: dict[Kind, Fold] = {
        Kind.EXPIRED: _forgotten("expired_at"),
        Kind.EVICTED: _forgotten("evicted_at"),
        Kind.DELETED: _forgotten("deleted_at"),
        Kind.WIPED: _forgotten("wiped_at"),
        Kind.INTERRUPTED: _paused,
        Kind.PAUSED: _paused,
        Kind.CONTINUED: _continued,
        Kind.FREED: _freed,
        Kind.INPUT_ASKED: _instant("input_at"),
        Kind.CHILDREN_ASKED: _instant("input_at"),
        Kind.DUPLICATED: _duplicated,
        Kind.HELD: _held,
        Kind.RELEASED: _released,
        Kind.FINISHED: _finished,
        Kind.CREATED_HEARD: _instant("heard_at"),
        Kind.ANSWERED: _answered,
        Kind.DETECTED: _detected,
        Kind.RETRIEVED: _instant("retrieved_at"),
        Kind.CLOSED: _closed,
        Kind.RECEIVED: _received,
        Kind.CREATED: _created,
        Kind.STARTED: _started,
        Kind.LOST: _lost,
        Kind.ARRIVED: _arrived,
        Kind.SENT: _sent,
    }
    return tuple(by_kind.get(kind) for kind in Kind)
