"""Columns of the event log and of the task table, and their digests.

Rule: names, order and types of columns are the format; changing one changes every digest, so
``VERSION`` changes with it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tasksim.protocol.occurrences import Kind, Operation, Reason, Side
from tasksim.protocol.states import Status

Column = npt.NDArray[Any]
VERSION: Final = 3
NEVER: Final = -1

EVENT_TYPES: Final[dict[str, str]] = {
    "at": "<i8",  # ns on the run's clock
    "side": "i1",
    "kind": "i1",
    "task": "<i8",
    "requester": "<i4",
    "operation": "i1",
    "ordinal": "<i4",
    "status": "i1",
    "reason": "i1",
    "value": "<i8",  # its meaning stands at each kind in ``protocol.occurrences``
}

TASK_TYPES: Final[dict[str, str]] = {
    "task": "<i8",
    "requester": "<i4",
    "arrival_at": "<i8",  # intended start
    "sent_at": "<i8",  # actual start
    "created_at": "<i8",
    "started_at": "<i8",
    "input_at": "<i8",  # input, or child tasks, were asked for
    "paused_at": "<i8",  # the work lost its worker, to input or to a restart, first
    "continued_at": "<i8",  # the work got a worker again, last
    "terminal_at": "<i8",
    "status": "i1",  # the terminal one
    "expired_at": "<i8",
    "deleted_at": "<i8",
    "wiped_at": "<i8",  # a restart forgot it
    "evicted_at": "<i8",  # a full store forgot it
    "freed_at": "<i8",  # the worker of a stopped task, where stopping takes time
    "heard_at": "<i8",  # the created notification, at the requester
    "detected_at": "<i8",
    "detected_by": "i1",
    "retrieved_at": "<i8",
    "closed_at": "<i8",
    "outcome": "i1",
    "polls_sent": "<i4",
    "polls_received": "<i4",
    "polls_answered": "<i4",
    "polls_wasted": "<i4",  # answered, and not terminal
    "polls_doubled": "<i4",  # gets and answers to them that the network delivered twice
    "limited": "<i4",  # requests that a rate limit or a cap refused
    "worked_ns": "<i8",  # time of workers that it took
    "dictated_ns": "<i8",  # duration of the work as it was drawn
    "keep_alive_ns": "<i8",  # granted; -1 unlimited
    "created_lost": "i1",
    "creations": "<i4",  # times that it was asked for
    "held_ns": "<i8",  # time for which the receiver held requests about it open
    "milestones": "<i4",  # intermediate results that the work had
    "milestones_seen": "<i4",  # of them known to the requester
    "milestone_delay_ns": "<i8",  # from having those to knowing of them, in all
}

# What is measured of each task: the time between two of its instants, later and earlier.
SPANS: Final[dict[str, tuple[str, str]]] = {
    "detection_delay_s": ("detected_at", "terminal_at"),
    "held_s": ("sent_at", "arrival_at"),
    "waiting_s": ("started_at", "created_at"),
    "service_s": ("terminal_at", "started_at"),
    "sojourn_s": ("terminal_at", "created_at"),
    "time_to_created_s": ("heard_at", "sent_at"),
    "retrieval_delay_s": ("retrieved_at", "detected_at"),
}

# Columns that hold codes, stored as their names.
CODES: Final[dict[str, type[IntEnum]]] = {
    "side": Side,
    "kind": Kind,
    "operation": Operation,
    "status": Status,
    "reason": Reason,
    "detected_by": Reason,
    "outcome": Reason,
}


def typed(
    columns: Mapping[str, Sequence[int] | Column], types: Mapping[str, str]
) -> dict[str, Column]:
    """Columns as arrays of the format's types, in the format's order."""
    return {name: np.asarray(columns[name], dtype=dtype) for name, dtype in types.items()}


def log_digest(columns: Mapping[str, Column]) -> str:
    """SHA-256 over names and little-endian bytes of the columns, in order, and nothing else."""
    digest = hashlib.sha256()
    for name, column in columns.items():
        digest.update(f"{name}:{column.dtype.str}:{len(column)}\n".encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()
