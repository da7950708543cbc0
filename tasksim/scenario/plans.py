"""A task as it was drawn, and what compiled engines draw it from."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tasksim.scenario.traces import TraceRows


class Stop(IntEnum):
    """Why work stops on its way, in the order in which stops of one instant come."""

    MILESTONE = 0  # it has an intermediate result, and goes on
    CHILDREN = 1
    INPUT = 2
    DEATH = 3  # of its worker


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """A task as it was drawn."""

    index: int  # its number
    key: int  # of its draws
    arrival_at: int
    population: int
    requester: int  # global number
    work_class: int
    duration_ns: int
    fails: bool
    cancel_after_ns: int | None = None  # from asking for the task; None: it is not cancelled
    vanishes: bool = False  # its work is lost without a known cause
    asks: int = 0  # requests for input, all at once
    stops: tuple[tuple[int, Stop], ...] = ()  # (ns of work before it, why), in order


class FlatParts(NamedTuple):
    """Laws by their place in the tables, and thresholds, of one replication."""

    values: Sequence[int]
    durations: Sequence[int]  # law of each class of work
    failed: Sequence[int]  # threshold of each class
    ended_badly: Sequence[int]
    cancels: Sequence[tuple[int, int]]  # (threshold, law) of each population
    network_laws: Sequence[tuple[int, int]]  # of its requests, of what it is sent
    counts: Sequence[int]  # requesters of each population
    offsets: Sequence[int]
    populations: Sequence[int]  # thresholds
    classes: Sequence[int]
    gap_law: int
    trace: TraceRows | None
