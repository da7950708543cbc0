"""Numbers over time: how many tasks are in a state at each instant."""

from dataclasses import dataclass

import numpy as np

from tasksim.eventlog.schema import NEVER, Column


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """A step function: from ``instants[i]`` on the number is ``numbers[i]``; before, 0."""

    instants: Column
    numbers: Column


def number_over_time(entered_at: Column, left_at: Column) -> Path:
    """How many have entered and not left; who never left (-1) stays."""
    entered, left = entered_at[entered_at != NEVER], left_at[left_at != NEVER]
    instants = np.concatenate([entered, left])
    steps = np.concatenate([np.ones(len(entered), np.int64), -np.ones(len(left), np.int64)])
    order = np.argsort(instants, kind="stable")
    ordered, number = instants[order], np.cumsum(steps[order])
    is_last_of_instant = np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)]
    return Path(ordered[is_last_of_instant], number[is_last_of_instant])


def time_mean_and_max(path: Path, start: int, end: int) -> dict[str, float]:
    """Time-weighted mean, and maximum, of a path over [start, end)."""
    assert start < end, f"the window from {start} to {end} is empty"
    inside = (path.instants > start) & (path.instants < end)
    before = np.flatnonzero(path.instants <= start)
    first = int(path.numbers[before[-1]]) if len(before) else 0
    edges = np.concatenate([[start], path.instants[inside], [end]])
    numbers = np.concatenate([[first], path.numbers[inside]])
    mean = float(np.sum(np.diff(edges) * numbers.astype(np.float64)) / (end - start))
    return {"mean": mean, "max": float(numbers.max())}
