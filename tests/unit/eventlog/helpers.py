"""Small logs, written by hand."""

from typing import Any

from tasksim.eventlog.log import EventLog
from tasksim.eventlog.recorder import EventRecorder
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.states import Status

S = 1_000_000_000
GET, RESULT, CREATE = int(Operation.GET), int(Operation.RESULT), int(Operation.CREATE)

# One task that goes well: created at 1, works 1..8, polled at 5 and 10, expires at 68 s.
GOOD: list[tuple[Any, ...]] = [
    (0, Kind.ARRIVED, 0, NONE, 0, NONE, NONE, 7 * S),
    (0, Kind.SENT, 0, CREATE, 0),
    (1, Kind.RECEIVED, 0, CREATE, 0, Status.SUBMITTED),
    (1, Kind.CREATED, 0, CREATE, 0, Status.SUBMITTED, NONE, 60 * S),
    (1, Kind.STARTED, 0),
    (2, Kind.CREATED_HEARD, 0, Operation.CREATED),
    (4, Kind.SENT, 0, GET, 0),
    (5, Kind.RECEIVED, 0, GET, 0, Status.WORKING),
    (6, Kind.ANSWERED, 0, GET, 0, Status.WORKING, NONE, 5 * S),
    (8, Kind.FINISHED, 0, NONE, 0, Status.COMPLETED),
    (9, Kind.SENT, 0, GET, 1),
    (10, Kind.RECEIVED, 0, GET, 1, Status.COMPLETED),
    (11, Kind.ANSWERED, 0, GET, 1, Status.COMPLETED, NONE, 5 * S),
    (11, Kind.DETECTED, 0, GET, 0, Status.COMPLETED, Reason.POLL),
    (11, Kind.SENT, 0, RESULT, 0),
    (12, Kind.RECEIVED, 0, RESULT, 0, Status.COMPLETED),
    (13, Kind.ANSWERED, 0, RESULT, 0, Status.COMPLETED, NONE, -1),
    (13, Kind.RETRIEVED, 0, RESULT, 0, NONE, Reason.POLL),
    (13, Kind.CLOSED, 0, NONE, 0, NONE, Reason.RETRIEVED),
    (68, Kind.EXPIRED, 0),
]


def log_from(rows: list[tuple[Any, ...]], requester: int = 3) -> EventLog:
    """Log of rows whose instants are whole seconds."""
    recorder = EventRecorder()
    for task in sorted({row[2] for row in rows}):
        recorder.meets(task, requester)
    for at, *rest in rows:
        recorder(at * S, *(int(x) for x in rest))
    return recorder.finish()


def changed(*edits: tuple[int, tuple[Any, ...] | None]) -> list[tuple[Any, ...]]:
    """The good rows with some replaced, or taken out (None)."""
    rows: list[tuple[Any, ...] | None] = list(GOOD)
    for index, row in edits:
        rows[index] = row
    return [row for row in rows if row is not None]
