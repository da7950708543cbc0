"""What can happen in a run, and how the machines report it.

Rule 1: numbers are final and dense from 0; they are columns of event logs.
Rule 2: a machine reports what it knows at the instant it knows it, through one ``Observer``;
it computes no statistics. So both parties keep a log of every task's life (R54, R55).

The order of ``Kind`` is the order of rows at one instant in a sorted log. Up to ``DELETED`` it
is: what ends, timers, what reaches the requester, what reaches the receiver, what is new.
"""

from enum import IntEnum
from typing import Final, Protocol

NONE: Final = -1  # no operation, no status, no reason, no task, no limit


class Side(IntEnum):
    """Who saw an occurrence."""

    REQUESTER = 0
    RECEIVER = 1
    NETWORK = 2


class Operation(IntEnum):
    """The exchange that an occurrence belongs to."""

    CREATE = 0
    GET = 1
    RESULT = 2
    LIST = 3
    DELETE = 4
    CANCEL = 5
    CREATED = 6  # the notification
    ORIGINAL = 7  # the late answer to the request that created the task
    INPUT = 8  # the receiver asks the requester for input
    PUSH = 9  # the receiver tells what became of the task, unasked


class Kind(IntEnum):
    """One kind of row. In brackets: the meaning of the column ``value``."""

    EXPIRED = 0  # the receiver forgot the task
    FINISHED = 1  # the task became terminal (status)
    CREATED_TIMED_OUT = 2  # no created notification in time: the requester polls without it
    REQUEST_TIMED_OUT = 3  # no answer to a request in time (operation, ordinal)
    CREATED_HEARD = 4  # the created notification reached the requester
    ANSWERED = 5  # an answer reached the requester [advertised interval, ns; -1 none]
    DETECTED = 6  # first terminal evidence at the requester (status; reason: the channel)
    RETRIEVED = 7  # the result is in the requester's hands (reason: the channel)
    CLOSED = 8  # the requester has done with the task (reason: the outcome)
    RECEIVED = 9  # a request reached the receiver, which answered (status, or reason: refusal)
    CREATED = 10  # the receiver admitted the task [granted retention, ns; -1 unlimited]
    STARTED = 11  # work began
    LOST = 12  # the network dropped a message (operation, ordinal)
    ARRIVED = 13  # the task was due to be created [dictated duration of the work, ns]
    SENT = 14  # a request left the requester
    DELETED = 15  # the receiver forgot the task because it was asked to (status it had)
    INTERRUPTED = 16  # a restart stopped the worker
    WIPED = 17  # a restart made the receiver forget the task (status it had)
    RESTARTED = 18  # the receiver is up again [how long it was down, ns]
    RESUMED = 19  # every request for input is answered: the task is working again
    CONTINUED = 20  # a worker goes on with work that had begun before
    INPUT_ASKED = 21  # the work needs input [number of requests to the requester]
    PAUSED = 22  # the work waits for input and holds no worker
    FREED = 23  # a worker that was told to stop has stopped
    PROMPTED = 24  # a request for input reached the requester (ordinal: which)
    DUPLICATED = 25  # the network delivers a message twice (operation, ordinal)
    SUSPECTED = 26  # a requester looks abusive to the receiver (operation, reason)
    HELD = 27  # the receiver holds a request open, to answer it later (operation, ordinal)
    RELEASED = 28  # a held request is answered, or its connection is gone (operation, ordinal)
    QUEUED = 29  # a creation waits for room (operation, ordinal)
    EVICTED = 30  # a full store forgot an ended task before its retention had passed (status)
    PUSHED = 31  # what the receiver told unasked reached the requester (status) [milestone]
    MILESTONE = 32  # the work has an intermediate result [which, from 1]
    SEEN = 33  # the requester knows of intermediate results [how many]
    CRASHED = 34  # the requester is gone for a while [how long, ns]
    CHILDREN_ASKED = 35  # the work needs child tasks [how many]
    DIED = 36  # the worker died; nobody knows yet
    STALLED = 37  # the receiver stands still [how long, ns]


class Reason(IntEnum):
    """Why: a refusal's cause, a detection's channel, or the outcome of a task."""

    # Refusals by the receiver.
    NOT_FOUND = 0
    EXPIRED = 1
    DUPLICATE = 2
    NOT_COMPLETED = 3
    INVALID = 4
    UNSUPPORTED = 5
    INTERNAL = 6
    EXECUTION = 7  # the work itself failed: the original request's error answer
    # Channels of evidence.
    POLL = 8
    RESPONSE = 9
    PUSH = 10
    # Outcomes for the requester.
    RETRIEVED = 11
    FAILED = 12
    CANCELLED = 13
    UNKNOWN = 14
    RESULT_LOST = 15  # the receiver forgot it before the requester had it
    REJECTED = 16
    GAVE_UP = 17
    # Transport.
    NO_ANSWER = 18  # the connection broke or the request timed out
    # Refusals by the receiver, continued.
    CONCURRENCY = 19  # too many tasks are open
    RATE_LIMITED = 20
    DISREGARDED = 21  # input that came when nobody waited for it any more
    # Outcomes, continued.
    SUPERSEDED = 22  # the requester asked anew under another id
    # Where a message was lost.
    REQUEST_LOST = 23  # before the receiver acted
    REPLY_LOST = 24  # after the receiver acted
    RECEIVER_DOWN = 25
    # What makes a requester suspect.
    FAILED_LOOKUPS = 26
    EARLY_POLLS = 27
    # Refusals by the receiver, continued.
    ENDED = 28  # a cancel of what had ended (D2)
    STORE_FULL = 29
    # Outcomes, continued.
    NOT_NEEDED = 30  # another task of the batch was enough
    # Where a message was lost, continued.
    NETWORK_DOWN = 31
    STREAM_CUT = 32
    BREAKER_OPEN = 33  # the requester's own circuit breaker let it not out
    BUDGET_SPENT = 34  # nor did its budget of retries


SIDE_OF: Final[dict[Kind, Side]] = {
    Kind.EXPIRED: Side.RECEIVER,
    Kind.FINISHED: Side.RECEIVER,
    Kind.CREATED_TIMED_OUT: Side.REQUESTER,
    Kind.REQUEST_TIMED_OUT: Side.REQUESTER,
    Kind.CREATED_HEARD: Side.REQUESTER,
    Kind.ANSWERED: Side.REQUESTER,
    Kind.DETECTED: Side.REQUESTER,
    Kind.RETRIEVED: Side.REQUESTER,
    Kind.CLOSED: Side.REQUESTER,
    Kind.RECEIVED: Side.RECEIVER,
    Kind.CREATED: Side.RECEIVER,
    Kind.STARTED: Side.RECEIVER,
    Kind.LOST: Side.NETWORK,
    Kind.ARRIVED: Side.REQUESTER,
    Kind.SENT: Side.REQUESTER,
    Kind.DELETED: Side.RECEIVER,
    Kind.INPUT_ASKED: Side.RECEIVER,
    Kind.RESUMED: Side.RECEIVER,
    Kind.PAUSED: Side.RECEIVER,
    Kind.CONTINUED: Side.RECEIVER,
    Kind.PROMPTED: Side.REQUESTER,
    Kind.WIPED: Side.RECEIVER,
    Kind.RESTARTED: Side.RECEIVER,
    Kind.DUPLICATED: Side.NETWORK,
    Kind.SUSPECTED: Side.RECEIVER,
    Kind.FREED: Side.RECEIVER,
    Kind.INTERRUPTED: Side.RECEIVER,
    Kind.HELD: Side.RECEIVER,
    Kind.RELEASED: Side.RECEIVER,
    Kind.QUEUED: Side.RECEIVER,
    Kind.EVICTED: Side.RECEIVER,
    Kind.PUSHED: Side.REQUESTER,
    Kind.MILESTONE: Side.RECEIVER,
    Kind.SEEN: Side.REQUESTER,
    Kind.CRASHED: Side.REQUESTER,
    Kind.CHILDREN_ASKED: Side.RECEIVER,
    Kind.DIED: Side.RECEIVER,
    Kind.STALLED: Side.RECEIVER,
}


class Observer(Protocol):
    """Takes one occurrence; called by the machines and by what drives them."""

    def __call__(  # noqa: D102 - a row of the log has as many columns
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
    ) -> None: ...
