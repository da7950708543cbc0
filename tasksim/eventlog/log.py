"""Every occurrence of a run, in order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from tasksim.eventlog.schema import EVENT_TYPES, NEVER, Column, typed

SORT_KEY = ("at", "kind", "task", "ordinal", "operation")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventLog:
    """Rows ordered by (at, kind, task, ordinal, operation); columns as in ``schema``."""

    at: Column
    side: Column
    kind: Column
    task: Column
    requester: Column
    operation: Column
    ordinal: Column
    status: Column
    reason: Column
    value: Column

    def __len__(self) -> int:
        return len(self.at)

    def columns(self) -> dict[str, Column]:
        """Columns by name, in the format's order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def log_of(columns: Mapping[str, Sequence[int] | Column]) -> EventLog:
    """Log of rows in any order."""
    arrays = typed(columns, EVENT_TYPES)
    order = np.lexsort([arrays[name] for name in reversed(SORT_KEY)])
    return EventLog(**{name: column[order] for name, column in arrays.items()})


def merged(logs: Sequence[EventLog], *, epoch_ns: int = 0) -> EventLog:
    """One log of several that were kept on one clock, whose instant *epoch_ns* becomes 0.

    A row that does not know its requester learns it from another row of its task.
    """
    parts = [log.columns() for log in logs]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in EVENT_TYPES}
    columns["at"] = columns["at"] - epoch_ns
    task, requester = columns["task"], columns["requester"]
    is_known = (requester != NEVER) & (task != NEVER)
    if is_known.any():
        known_tasks, first = np.unique(task[is_known], return_index=True)
        known = requester[is_known][first]
        place = np.minimum(np.searchsorted(known_tasks, task), len(known_tasks) - 1)
        is_found = (known_tasks[place] == task) & (requester == NEVER)
        columns["requester"] = np.where(is_found, known[place], requester)
    return log_of(columns)
