"""Where numbers stand: columns of the arrays that the kernel works on.

Rule: a name is a column; the arrays are int64 but for keys of draws and parameters of rules.
"""

from typing import Any, Final, NamedTuple

import numpy as np

# Of a task, as it was drawn.
ARRIVAL, POPULATION, REQUESTER, CLASS, DURATION, FATE, CANCEL_AFTER = range(7)
PLAN_COLUMNS: Final = 7
GOES_WELL, FAILS, VANISHES = range(3)

# Of a task, at its requester.
(
    PHASE,
    DUE_AT,
    DUE_TIE,
    CONFIRMED,
    HINT,
    LAST_GAP,
    ATTEMPT,
    VIEWED,
    ON_WAY,
    POLLED_AT,
    FETCHES,
    FAILURES,
    LIMITED,
    SENT_AT,
    CANCEL_AT,
    CANCEL_WAITS,
    CANCELLED_AT,
    OUTCOME,
    DETECTED,
    WAKE_AT,
    WAKE_TIE,
    LEFT,
    STARTED,
    # At its receiver.
    STATUS,
    CREATED_AT,
    EXPIRES_AT,
    FORGOTTEN,
    AT_WORK,
    QUEUED,
    SEQUENCE,
    KEEP,
    NEXT,
) = range(32)
STATE_COLUMNS: Final = 32

# Of a population.
(
    RULE,
    PARAMS_AT,
    PARAMS_COUNT,
    FIRST,
    JITTERED,
    CREATED_TIMEOUT,
    REQUEST_TIMEOUT,
    FAILURES_MAX,
    LIMITED_GAP,
    LIMITED_MAX,
    CANCEL_PATIENCE,
    KEEP_GRANTED,
    CANCEL_SHARE,
    CANCEL_LAW,
    REQUEST_LAW,
    REPLY_LAW,
    COUNT,
    OFFSET,
    MAX_OPEN,
    POLLS_MAX,
) = range(20)
POPULATION_COLUMNS: Final = 20
(FIXED, HINTED, BACKOFF, SPREAD_BACKOFF, DECORRELATED, RAMP, SCHEDULED, QUADRATIC, AGED, TABLED) = (
    range(10)
)

# Of a class of work.
LAW, FAILED_SHARE, BAD_SHARE = range(3)

# Of the receiver and of the run.
(
    WORKERS,
    SWEEP,
    KEEPS_UNKNOWN,
    TOMBSTONES,
    ADVICE,
    LIMIT,
    LIMIT_A,
    LIMIT_B,
    LIMIT_SCOPE,
    TASKS,
    KEEP_ROWS,
    UNTIL,
    LOSES_REQUESTS,
    LOSES_REPLIES,
    POPULATIONS,
    CLASSES,
) = range(16)
SETTINGS: Final = 16
NO_ADVICE, FIXED_ADVICE, LOAD_ADVICE, AGE_ADVICE = range(4)
NO_LIMIT, TOKEN_BUCKET, CELL_RATE = range(3)

# Counters of the run.
(
    EVENTS,
    SLOTS_FREE,
    SLOTS_USED,
    NEXT_ARRIVAL,
    BUSY,
    QUEUE_HEAD,
    QUEUE_TAIL,
    OPEN_TASKS,
    ADMITTED,
    FORGOTTEN_COUNT,
    ROWS,
    END_AT,
    SECOND_END,
    IN_SECOND,
    POLLS_IN_SECOND,
    PEAK,
    PEAK_POLLS,
    BIN_NS,
    BINS_USED,
    BIN,
    BIN_END,
    PENDING,
) = range(22)
COUNTERS: Final = 22

LANES: Final = 4  # of what comes nearly in order

# Of a message on its way.
MESSAGE_ATTEMPT, MESSAGE_STATUS, MESSAGE_REASON, MESSAGE_VALUE = range(4)


class World(NamedTuple):
    """Everything that the kernel reads and writes."""

    plans: np.ndarray[Any, Any]  # (tasks, PLAN_COLUMNS)
    keys: np.ndarray[Any, Any]  # (tasks,) uint64: of their draws
    state: np.ndarray[Any, Any]  # (tasks, STATE_COLUMNS)
    table: np.ndarray[Any, Any]  # (tasks, columns of the task table and one more)
    populations: np.ndarray[Any, Any]
    classes: np.ndarray[Any, Any]
    settings: np.ndarray[Any, Any]
    advice: np.ndarray[Any, Any]
    spread: np.ndarray[Any, Any]  # (1,) float
    lost: np.ndarray[Any, Any]  # (2, operations): thresholds of requests and replies, shifted
    params: np.ndarray[Any, Any]  # float: of polling rules, one after the other
    laws: np.ndarray[Any, Any]  # tables of quantiles
    counters: np.ndarray[Any, Any]
    heap: np.ndarray[Any, Any]  # (capacity, 3): instant, rank, slot
    lanes: np.ndarray[Any, Any]  # (LANES, capacity, 3): sorted rings, the capacity a power of two
    ends: np.ndarray[Any, Any]  # (LANES, 4): head, tail, and the key of the head
    slots: np.ndarray[Any, Any]  # (capacity, 4): messages; the first column of a free one links
    queue: np.ndarray[Any, Any]  # (tasks,): tasks that wait for a worker, in order
    limits: np.ndarray[Any, Any]  # (requesters or 1,): states of the limiter
    open: np.ndarray[Any, Any]  # (requesters, 3): tasks open, first and last that wait
    rows: np.ndarray[Any, Any]  # (capacity, 8): the log
    requests: np.ndarray[Any, Any]  # (2, operations): by operation, and limited
    bins: np.ndarray[Any, Any]  # (operations, 400)
