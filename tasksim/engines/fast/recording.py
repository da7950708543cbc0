"""Rows and what is folded from them: ``eventlog.recorder``, compiled.

Rule: every occurrence goes through ``emit``; a kind does to a task's row what the recorder's fold
of that kind does.
"""

from typing import Final

from tasksim.engines.fast.jit import inlined, outlined
from tasksim.engines.fast.layout import (
    BIN,
    BIN_END,
    BIN_NS,
    BINS_USED,
    END_AT,
    IN_SECOND,
    KEEP_ROWS,
    PEAK,
    PEAK_POLLS,
    POLLS_IN_SECOND,
    ROWS,
    SECOND_END,
)
from tasksim.eventlog.recorder import BINS_MAX
from tasksim.eventlog.schema import TASK_TYPES
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.units import NS_PER_S

NONE: Final = -1
COLUMN: Final = {name: index for index, name in enumerate(TASK_TYPES)}
BUSY_SINCE: Final = len(TASK_TYPES)
TABLE_COLUMNS: Final = len(TASK_TYPES) + 1

_ARRIVED, _SENT, _RECEIVED, _CREATED = (
    int(Kind.ARRIVED), int(Kind.SENT), int(Kind.RECEIVED), int(Kind.CREATED),
)  # fmt: skip
_STARTED, _FINISHED, _EXPIRED, _HEARD = (
    int(Kind.STARTED), int(Kind.FINISHED), int(Kind.EXPIRED), int(Kind.CREATED_HEARD),
)  # fmt: skip
_ANSWERED, _DETECTED, _RETRIEVED, _CLOSED, _LOST = (
    int(Kind.ANSWERED), int(Kind.DETECTED), int(Kind.RETRIEVED), int(Kind.CLOSED), int(Kind.LOST),
)  # fmt: skip
_CREATE, _GET, _NOTICE = int(Operation.CREATE), int(Operation.GET), int(Operation.CREATED)
_RATE_LIMITED = int(Reason.RATE_LIMITED)
_COMPLETED = 3  # statuses from here on are terminal
_C = COLUMN
_ARRIVAL_AT, _SENT_AT, _CREATED_AT, _STARTED_AT = (
    _C["arrival_at"], _C["sent_at"], _C["created_at"], _C["started_at"],
)  # fmt: skip
_TERMINAL_AT, _STATUS, _EXPIRED_AT, _HEARD_AT = (
    _C["terminal_at"], _C["status"], _C["expired_at"], _C["heard_at"],
)  # fmt: skip
_DETECTED_AT, _DETECTED_BY, _RETRIEVED_AT, _CLOSED_AT, _OUTCOME = (
    _C["detected_at"], _C["detected_by"], _C["retrieved_at"], _C["closed_at"], _C["outcome"],
)  # fmt: skip
_POLLS_SENT, _POLLS_RECEIVED, _POLLS_ANSWERED, _POLLS_WASTED = (
    _C["polls_sent"], _C["polls_received"], _C["polls_answered"], _C["polls_wasted"],
)  # fmt: skip
_LIMITED, _WORKED, _DICTATED, _KEEP, _NOTICE_LOST, _CREATIONS = (
    _C["limited"], _C["worked_ns"], _C["dictated_ns"], _C["keep_alive_ns"], _C["created_lost"],
    _C["creations"],
)  # fmt: skip


@inlined
def emit(w, at, kind, task, operation, ordinal, status, reason, value):
    """Put an occurrence on record."""
    counters = w.counters
    counters[END_AT] = max(counters[END_AT], at)
    if w.settings[KEEP_ROWS]:
        row = counters[ROWS]
        w.rows[row, 0] = at
        w.rows[row, 1] = kind
        w.rows[row, 2] = task
        w.rows[row, 3] = operation
        w.rows[row, 4] = ordinal
        w.rows[row, 5] = status
        w.rows[row, 6] = reason
        w.rows[row, 7] = value
        counters[ROWS] = row + 1
    if kind == _RECEIVED:
        _count(w, at, operation, reason)
    _fold(w.table[task], at, kind, operation, status, reason, value)


@inlined
def _fold(row, at, kind, operation, status, reason, value):
    """What an occurrence does to its task's row."""
    if kind == _SENT:
        if operation == _GET:
            row[_POLLS_SENT] += 1
        elif operation == _CREATE:
            row[_CREATIONS] += 1
            if row[_SENT_AT] == NONE:
                row[_SENT_AT] = at
    elif kind == _RECEIVED:
        if operation == _GET:
            row[_POLLS_RECEIVED] += 1
        if reason == _RATE_LIMITED:
            row[_LIMITED] += 1
    elif kind == _ANSWERED:
        if operation == _GET:
            row[_POLLS_ANSWERED] += 1
            if status < _COMPLETED:
                row[_POLLS_WASTED] += 1
    elif kind == _ARRIVED:
        row[_ARRIVAL_AT] = at
        row[_DICTATED] = value
    elif kind == _CREATED:
        row[_CREATED_AT] = at
        row[_KEEP] = value
    elif kind == _STARTED:
        row[_STARTED_AT] = at
        row[BUSY_SINCE] = at
    else:
        _fold_end(row, at, kind, operation, status, reason)


@inlined
def _fold_end(row, at, kind, operation, status, reason):
    """The kinds that a task has once."""
    if kind == _FINISHED:
        row[_TERMINAL_AT] = at
        row[_STATUS] = status
        if row[BUSY_SINCE] != NONE:
            row[_WORKED] += at - row[BUSY_SINCE]
            row[BUSY_SINCE] = NONE
    elif kind == _EXPIRED:
        row[_EXPIRED_AT] = at
    elif kind == _HEARD:
        if row[_HEARD_AT] == NONE:
            row[_HEARD_AT] = at
    elif kind == _DETECTED:
        row[_DETECTED_AT] = at
        row[_DETECTED_BY] = reason
    elif kind == _RETRIEVED:
        row[_RETRIEVED_AT] = at
    elif kind == _CLOSED:
        row[_CLOSED_AT] = at
        row[_OUTCOME] = reason
    elif kind == _LOST and operation == _NOTICE:
        row[_NOTICE_LOST] = 1


@inlined
def _count(w, at, operation, reason):
    """Count a request that reached the receiver."""
    counters = w.counters
    w.requests[0, operation] += 1
    if reason == _RATE_LIMITED:
        w.requests[1, operation] += 1
    if at >= counters[SECOND_END]:
        counters[SECOND_END] = (at // NS_PER_S + 1) * NS_PER_S
        settle_second(counters)
    counters[IN_SECOND] += 1
    if operation == _GET:
        counters[POLLS_IN_SECOND] += 1
    if at >= counters[BIN_END]:
        _next_bin(w, at)
    w.bins[operation, counters[BIN]] += 1


@outlined
def _next_bin(w, at):
    """The bin of that instant, in bins that are wide enough to have one; the first that is used."""
    counters = w.counters
    while at // counters[BIN_NS] >= BINS_MAX:
        _widen(w)
    counters[BIN] = at // counters[BIN_NS]
    counters[BIN_END] = (counters[BIN] + 1) * counters[BIN_NS]
    counters[BINS_USED] = max(counters[BINS_USED], counters[BIN] + 1)


@outlined
def settle_second(counters):
    """A second is over: its numbers may be the peak."""
    counters[PEAK] = max(counters[PEAK], counters[IN_SECOND])
    counters[PEAK_POLLS] = max(counters[PEAK_POLLS], counters[POLLS_IN_SECOND])
    counters[IN_SECOND] = 0
    counters[POLLS_IN_SECOND] = 0


@outlined
def _widen(w):
    """Make bins twice as wide."""
    w.counters[BIN_NS] *= 2
    w.counters[BINS_USED] = (w.counters[BINS_USED] + 1) // 2
    for operation in range(w.bins.shape[0]):
        for index in range(BINS_MAX // 2):
            pair = w.bins[operation, 2 * index] + w.bins[operation, 2 * index + 1]
            w.bins[operation, index] = pair
        for index in range(BINS_MAX // 2, BINS_MAX):
            w.bins[operation, index] = 0
