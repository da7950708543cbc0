"""One task's messages as a sequence diagram in Mermaid's text form.

Rule: every arrow is a row of the log; what the log does not hold is not drawn.
Source: Mermaid, sequence diagrams.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tasksim.eventlog.log import EventLog
from tasksim.eventlog.schema import NEVER
from tasksim.protocol.occurrences import SIDE_OF, Kind, Operation, Reason, Side
from tasksim.protocol.states import Status
from tasksim.units import NS_PER_S

REQUEST: Final = {
    Operation.CREATE: "create",
    Operation.GET: "get",
    Operation.RESULT: "result",
    Operation.LIST: "list",
    Operation.DELETE: "delete",
    Operation.CANCEL: "cancel",
    Operation.INPUT: "answer",
}
BEFORE_IT_ACTED: Final = frozenset({Reason.REQUEST_LOST, Reason.RECEIVER_DOWN})


class Row(NamedTuple):
    """What a diagram needs of a row."""

    at: int
    kind: Kind
    operation: int
    ordinal: int
    status: int
    reason: int


def sequence_diagram(log: EventLog, task: int) -> str:
    """Mermaid text of everything that the log tells of a task; empty where it tells nothing."""
    rows = list(_rows(log, task))
    if not rows:
        return ""
    head = ["sequenceDiagram", "    participant Q as requester", "    participant R as receiver"]
    return "\n".join([*head, *(f"    {line}" for row in rows for line in _lines(row))])


def _rows(log: EventLog, task: int) -> Iterator[Row]:
    for i in (log.task == task).nonzero()[0].tolist():
        yield Row(
            int(log.at[i]),
            Kind(int(log.kind[i])),
            int(log.operation[i]),
            int(log.ordinal[i]),
            int(log.status[i]),
            int(log.reason[i]),
        )


def _lines(row: Row) -> list[str]:
    when = f"{row.at / NS_PER_S:.3f} s"
    match row.kind:
        case Kind.SENT:
            return [f"Q->>R: {when} {_exchange(row)}"]
        case Kind.ANSWERED:
            return [f"R-->>Q: {when} {_exchange(row)} {_outcome(row)}".rstrip()]
        case Kind.CREATED_HEARD if row.operation == Operation.CREATE:
            return [f"Note over Q: {when} knows the task's id"]
        case Kind.CREATED_HEARD:
            return [f"R-)Q: {when} created"]
        case Kind.PUSHED:
            return [f"R-)Q: {when} {_fact(row)}"]
        case Kind.PROMPTED:
            return [f"R->>Q: {when} input {row.ordinal}"]
        case Kind.LOST:
            arrow = "Q-xR" if row.reason in BEFORE_IT_ACTED else "R-xQ"
            return [f"{arrow}: {when} {Operation(row.operation).name.lower()} lost"]
        case Kind.RECEIVED:
            return []  # the arrows tell of it
        case Kind.DUPLICATED:
            return [f"Note over Q,R: {when} {Operation(row.operation).name.lower()} doubled"]
        case _:
            party = "R" if SIDE_OF[row.kind] is Side.RECEIVER else "Q"
            return [f"Note over {party}: {when} {_fact(row)}"]


def _exchange(row: Row) -> str:
    name = REQUEST.get(Operation(row.operation), Operation(row.operation).name.lower())
    return f"{name} {row.ordinal}" if row.operation == Operation.GET else name


def _outcome(row: Row) -> str:
    if row.reason != NEVER:
        return f"refused, {Reason(row.reason).name.lower().replace('_', ' ')}"
    return "" if row.status == NEVER else Status(row.status).name.lower()


def _fact(row: Row) -> str:
    words = [row.kind.name.lower().replace("_", " ")]
    if row.status != NEVER:
        words.append(Status(row.status).name.lower())
    if row.reason != NEVER:
        words.append(f"({Reason(row.reason).name.lower().replace('_', ' ')})")
    return " ".join(words)
