"""One row a task, one count a request: what most questions need of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tasksim.eventlog.schema import CODES, TASK_TYPES, Column, typed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskTable:
    """One row a task, by task number; columns as in ``schema``, -1 for never."""

    task: Column
    requester: Column
    arrival_at: Column
    sent_at: Column
    created_at: Column
    started_at: Column
    input_at: Column
    paused_at: Column
    continued_at: Column
    terminal_at: Column
    status: Column
    expired_at: Column
    deleted_at: Column
    wiped_at: Column
    evicted_at: Column
    freed_at: Column
    heard_at: Column
    detected_at: Column
    detected_by: Column
    retrieved_at: Column
    closed_at: Column
    outcome: Column
    polls_sent: Column
    polls_received: Column
    polls_answered: Column
    polls_wasted: Column
    polls_doubled: Column
    limited: Column
    worked_ns: Column
    dictated_ns: Column
    keep_alive_ns: Column
    created_lost: Column
    creations: Column
    held_ns: Column
    milestones: Column
    milestones_seen: Column
    milestone_delay_ns: Column

    def __len__(self) -> int:
        return len(self.task)

    def columns(self) -> dict[str, Column]:
        """Columns by name, in the format's order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def where(self, chosen: Column) -> "TaskTable":
        """The rows that a boolean array chooses."""
        return TaskTable(**{name: column[chosen] for name, column in self.columns().items()})

    def to_frame(self) -> Any:
        """A pandas data frame; codes as lower-case names, None for never."""
        import pandas as pd  # noqa: PLC0415 - loads on use

        frame = pd.DataFrame(self.columns())
        for name in CODES.keys() & self.columns().keys():
            names = {code.value: code.name.lower() for code in CODES[name]}
            frame[name] = frame[name].map(names)
        return frame


def table_of(columns: Mapping[str, Sequence[int] | Column]) -> TaskTable:
    """Task table of rows in any order."""
    arrays = typed(columns, TASK_TYPES)
    order = np.argsort(arrays["task"], kind="stable")
    return TaskTable(**{name: column[order] for name, column in arrays.items()})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestCounts:
    """Requests that reached the receiver."""

    by_operation: tuple[int, ...]  # indexed by Operation
    limited: tuple[int, ...]  # of them refused by a rate limit
    peak: int  # most in one whole second of the run's clock
    peak_polls: int  # most gets in one whole second
    held_peak: int  # most requests that the receiver held open at once
    bin_ns: int  # width of a bin
    bins: Column  # shape (operations, bins)

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.by_operation)
