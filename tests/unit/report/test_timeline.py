"""Sequence diagrams: every arrow is a row."""

from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.report.timeline import sequence_diagram
from tests.unit.eventlog.helpers import GET, GOOD, log_from


def test_a_task_that_goes_well_is_drawn_arrow_by_arrow() -> None:
    assert sequence_diagram(log_from(GOOD), 0).splitlines() == [
        "sequenceDiagram",
        "    participant Q as requester",
        "    participant R as receiver",
        "    Note over Q: 0.000 s arrived",
        "    Q->>R: 0.000 s create",
        "    Note over R: 1.000 s created submitted",
        "    Note over R: 1.000 s started",
        "    R-)Q: 2.000 s created",
        "    Q->>R: 4.000 s get 0",
        "    R-->>Q: 6.000 s get 0 working",
        "    Note over R: 8.000 s finished completed",
        "    Q->>R: 9.000 s get 1",
        "    R-->>Q: 11.000 s get 1 completed",
        "    Note over Q: 11.000 s detected completed (poll)",
        "    Q->>R: 11.000 s result",
        "    R-->>Q: 13.000 s result completed",
        "    Note over Q: 13.000 s retrieved (poll)",
        "    Note over Q: 13.000 s closed (retrieved)",
        "    Note over R: 68.000 s expired",
    ]


def test_losses_and_refusals_are_drawn() -> None:
    rows = [
        (1, Kind.LOST, 0, Operation.CREATED),
        (3, Kind.ANSWERED, 0, GET, 0, NONE, Reason.NOT_FOUND, -1),
    ]
    text = sequence_diagram(log_from(rows), 0)
    assert "R-xQ: 1.000 s created lost" in text
    assert "R-->>Q: 3.000 s get 0 refused, not found" in text


def test_a_task_that_is_not_there_has_no_diagram() -> None:
    assert sequence_diagram(log_from(GOOD), 7) == ""
