"""What comes first when several things happen at one instant.

Rule 1: the order is (instant, rank of the kind, task number, ordinal within the task); nothing
else may decide a tie, least of all the order in which events were scheduled.
Rule 2: what an event causes at its own instant happens at once, inside it.
Rule 3: numbers are packed into int64 keys shared with compiled engines: below 64 kinds.
"""

from enum import IntEnum
from typing import Final


class Tie(IntEnum):
    """Rank of a scheduled event among others of the same instant; lower comes first."""

    RESTART = 0
    STALL = 1
    EXPIRY = 2
    WORKER_DEATH = 3
    COMPLETION = 4
    MILESTONE = 5
    CREATED_TIMEOUT = 6
    REQUEST_TIMEOUT = 7
    INPUT_TIMEOUT = 8
    RETRY = 9
    SWEEP = 10
    PICKUP = 11  # a free worker looks for work
    HOLD_END = 12  # a held request has been held for long enough
    POLL_DUE = 13
    CRASH = 14
    CANCEL_DUE = 15
    ANSWER_DUE = 16  # the user has what the receiver asked for
    GIVE_UP = 17
    CREATED_TO_REQUESTER = 18
    ORIGINAL_TO_REQUESTER = 19
    # Answers to different requests of one task may meet, each with ordinal 0.
    REFUSAL_TO_REQUESTER = 20  # of a creation
    VIEW_TO_REQUESTER = 21
    RESULT_TO_REQUESTER = 22
    PAGE_TO_REQUESTER = 23
    DELETED_TO_REQUESTER = 24
    CANCELLED_TO_REQUESTER = 25
    UPDATED_TO_REQUESTER = 26
    PROMPT_TO_REQUESTER = 27
    PUSH_TO_REQUESTER = 28
    CANCEL_TO_RECEIVER = 29
    DELETE_TO_RECEIVER = 30
    ANSWER_TO_RECEIVER = 31
    GET_TO_RECEIVER = 32
    RESULT_TO_RECEIVER = 33
    LIST_TO_RECEIVER = 34
    CREATE_TO_RECEIVER = 35
    ARRIVAL = 36


TASK_BITS: Final = 47
ORDINAL_BITS: Final = 10
_ORDINAL_MASK: Final = (1 << ORDINAL_BITS) - 1
LAST_RANK: Final = 62 << (TASK_BITS + ORDINAL_BITS)


def rank(kind: int, task: int = 0, ordinal: int = 0) -> int:
    """Pack a tie's key into one non-negative int64.

    Ordinals wrap at 2**10: two messages of one kind and one task that far apart never meet.
    """
    assert 0 <= task < 1 << TASK_BITS, f"task number {task} does not fit a rank"
    return kind << (TASK_BITS + ORDINAL_BITS) | task << ORDINAL_BITS | ordinal & _ORDINAL_MASK
