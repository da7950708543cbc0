"""The lifecycle of a task, as a table.

Rule 1: what a task may become stands here and nowhere else.
Rule 2: numbers are final. They are columns of event logs and indices of compiled tables.

Source: SEP-1686 sections 4.3 and 6. The state diagram of the SEP leaves out
``submitted -> input_required``; its text has it, and the text wins (C15).
"""

from enum import IntEnum
from typing import Final


class Status(IntEnum):
    """State of a task at its receiver (SEP-1686 section 6)."""

    SUBMITTED = 0
    WORKING = 1
    INPUT_REQUIRED = 2
    COMPLETED = 3
    FAILED = 4
    CANCELLED = 5
    UNKNOWN = 6


TERMINAL: Final = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.UNKNOWN})

# R10: sixteen legal moves of the 49 ordered pairs.
TRANSITIONS: Final[dict[Status, frozenset[Status]]] = {
    Status.SUBMITTED: TERMINAL | {Status.WORKING, Status.INPUT_REQUIRED},
    Status.WORKING: TERMINAL | {Status.INPUT_REQUIRED},
    Status.INPUT_REQUIRED: TERMINAL | {Status.WORKING},
    **dict.fromkeys(TERMINAL, frozenset[Status]()),
}


class IllegalTransitionError(AssertionError):
    """Our own code asked for a move that the lifecycle forbids; never caught."""


def require_move(current: Status, new: Status) -> None:
    """Raise IllegalTransitionError unless a task may go from *current* to *new* (R10, R11)."""
    if new not in TRANSITIONS[current]:
        raise IllegalTransitionError(f"{current.name} -> {new.name} is not a move of SEP-1686 4.3")
