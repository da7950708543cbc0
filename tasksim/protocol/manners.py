"""In what the three dialects of the tasks protocol differ, as rules around the one core.

D1 is SEP-1686, D2 the specification of 2025-11-25, D3 the extension of SEP-2663.

Rule: a dialect is a row of ``Manners``; the machines ask for a manner, never for a dialect.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final


class Early(IntEnum):
    """What becomes of a request for a result that is not there yet."""

    REFUSED = 0  # D1: an error
    BLOCKS = 1  # D2: it is answered when the task has ended, however it ended
    INLINED = 2  # D3: there is no such request; a get carries result or error


class Cancelling(IntEnum):
    """How a task is cancelled."""

    NOTIFIED = 0  # D1: a notification that names the original request
    CONFIRMED = 1  # D2: a request, answered with the task; refused when it has ended
    ACKNOWLEDGED = 2  # D3: a request, acknowledged whatever becomes of it


class Asking(IntEnum):
    """How a receiver gets input from the task's requester."""

    SENT = 0  # D1: it sends a request of its own
    ON_RESULT = 1  # D2: it does so on the stream of a result request that waits
    PULLED = 2  # D3: a get carries what is asked, an update the answer


class Anchor(IntEnum):
    """From when on retention runs."""

    END = 0  # D1: the terminal status
    CREATION = 1  # D2, D3: the creation, whatever the task does
    BOTH = 2  # the creation, and anew from the terminal status: what the SDKs of D2 do


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How a receiver and its requesters deal with each other."""

    mints_ids: bool = False  # the receiver makes the id, and answers the creation with it
    starts_working: bool = False  # there is no submitted
    early: Early = Early.REFUSED
    cancelling: Cancelling = Cancelling.NOTIFIED
    asking: Asking = Asking.SENT
    anchor: Anchor = Anchor.END  # unless the receiver is set to another
    deletes: bool = True
    lists: bool = True


SEP_1686: Final = Manners()
CORE_2025: Final = Manners(
    mints_ids=True,
    starts_working=True,
    early=Early.BLOCKS,
    cancelling=Cancelling.CONFIRMED,
    asking=Asking.ON_RESULT,
    anchor=Anchor.CREATION,
    deletes=False,
)
SEP_2663: Final = Manners(
    mints_ids=True,
    starts_working=True,
    early=Early.INLINED,
    cancelling=Cancelling.ACKNOWLEDGED,
    asking=Asking.PULLED,
    anchor=Anchor.CREATION,
    deletes=False,
    lists=False,
)
