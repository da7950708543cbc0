"""A run in numbers: what level ``summary`` keeps, with memory for the tasks in flight only.

Rule 1: whole numbers only, added up as occurrences come; a task's row is dropped when no more is
to be expected of it.
Rule 2: means, counts, maxima and integrals are exact; quantiles come from buckets that are less
than 1 % wide, and are never more than the largest value.
"""

import hashlib
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tasksim.eventlog.recorder import Row, TaskRecorder
from tasksim.eventlog.schema import NEVER, SPANS, TASK_TYPES, Column
from tasksim.eventlog.tasks import RequestCounts
from tasksim.protocol.occurrences import NONE, Kind, Reason
from tasksim.protocol.states import Status
from tasksim.units import NS_PER_S

SUB_BITS: Final = 7  # buckets an octave: 128
LOST_AFTER_NS: Final = 3_600 * NS_PER_S  # a creation that long under way will not come any more
BINS_MAX: Final = 400
COLUMN: Final = {name: index for index, name in enumerate(TASK_TYPES)}
BEGINNINGS: Final = frozenset({Kind.ARRIVED, Kind.CREATED})


class Histogram:
    """Durations in buckets of less than 1 %; number, sum and maximum are exact."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.number = 0
        self.total = 0
        self.largest = 0

    def add(self, value: int) -> None:
        """Count a duration in ns."""
        bucket = bucket_of(value)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.number += 1
        self.total += value
        self.largest = max(self.largest, value)

    def mean(self) -> float:
        """Exact mean in ns; nan without values."""
        return self.total / self.number if self.number else float("nan")

    def quantile(self, level: float) -> float:
        """Upper end, in ns, of the bucket that holds the quantile; nan without values."""
        if not self.number:
            return float("nan")
        rank = max(math.ceil(level * self.number), 1)
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= rank:
                return float(min(end_of(bucket), self.largest))
        return float(self.largest)


def bucket_of(value: int) -> int:
    """Bucket of a whole number: itself below 256, then 128 buckets an octave."""
    shift = max(value.bit_length() - SUB_BITS - 1, 0)
    return shift << (SUB_BITS + 1) | value >> shift


def end_of(bucket: int) -> int:
    """Largest whole number of a bucket."""
    shift = bucket >> (SUB_BITS + 1)
    return ((bucket & (1 << (SUB_BITS + 1)) - 1) + 1 << shift) - 1


class Level:
    """A number over time: its integral and maximum from *start* on, until any later instant."""

    def __init__(self, start: int) -> None:
        self._start = start
        self._at = 0
        self._integral = 0
        self._largest = 0
        self.number = 0
        self.seen = (0, 0)  # (integral, maximum) until the last ``mark``

    def step(self, at: int, by: int) -> None:
        """The number changes by *by* at *at*; instants that run backwards count as the last."""
        self._advance(at)
        self.number += by

    def mark(self, at: int) -> None:
        """Remember integral and maximum of [start, at)."""
        self._advance(at)
        self.seen = (self._integral, self._largest)

    def _advance(self, at: int) -> None:
        if at <= self._at:
            return
        since = max(self._at, self._start)
        if at > since:
            self._integral += self.number * (at - since)
            self._largest = max(self._largest, self.number)
        self._at = at


@dataclass(kw_only=True, eq=False)
class Digest:
    """What is known of a run at level ``summary``."""

    warm_at: int
    counts: dict[str, int]
    spans: dict[str, Histogram]
    totals: dict[str, int]
    levels: dict[str, tuple[int, int]]  # integral (task ns) and maximum
    window_ns: int
    requests: RequestCounts
    end_at: int  # the last occurrence
    series: Column = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    series_bin_ns: int = NS_PER_S

    def digest(self) -> str:
        """SHA-256 over all of its integers."""
        found = hashlib.sha256()
        for name, histogram in self.spans.items():
            found.update(f"{name}:{sorted(histogram.counts.items())}:{histogram.total}\n".encode())
        for part in (self.counts, self.totals, self.levels):
            found.update(f"{sorted(part.items())}\n".encode())
        requests = self.requests
        counted = (requests.by_operation, requests.limited, requests.peak, requests.peak_polls,
                   requests.held_peak, self.window_ns)  # fmt: skip
        found.update(f"{counted}".encode())
        found.update(np.ascontiguousarray(requests.bins, dtype="<i8").tobytes())
        return found.hexdigest()


class SummaryRecorder(TaskRecorder):
    """Adds up occurrences; keeps rows of tasks of which more is to come."""

    def __init__(
        self, warm_at: int, *, stops_slowly: bool = False, forgets_any: bool = False
    ) -> None:
        super().__init__()
        self._forgets_any = forgets_any  # whether what is kept for ever may go all the same
        self._stops_slowly = stops_slowly  # whether a worker may be freed after its task is over
        self._warm_at = warm_at
        self._last_arrival = -1
        self._counts = dict.fromkeys(COUNTED, 0)
        self._spans = {name: Histogram() for name in (*SPANS, "turnaround_s")}
        self._totals = dict.fromkeys((*ADDED, "worked_ns", "wasted_ns"), 0)
        self._levels = {name: Level(warm_at) for name in ("in_system", "resident", "busy")}
        self._parked: deque[tuple[int, int]] = deque()  # closed and never created: (when, task)
        self._series = [0] * BINS_MAX
        self._bin_ns = NS_PER_S
        self._bins_used = 0

    def __call__(
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
    ) -> None:
        """Add one occurrence up."""
        row = self._tasks.get(task)
        if task >= 0 and row is None and kind not in BEGINNINGS:
            task = NONE  # nothing of interest happens to a task that is over
        before = _places(row)
        super().__call__(at, kind, task, operation, ordinal, status, reason, value)
        if task < 0 or kind not in _MOVES:
            return
        row = self._tasks[task]
        for name, was, is_ in zip(self._levels, before, _places(row), strict=True):
            if was != is_:
                self._levels[name].step(at, is_ - was)
        if kind in (Kind.CREATED, Kind.FINISHED):
            self._note(at)
        if kind == Kind.ARRIVED:
            self._arrived(at)
        elif kind in _ENDINGS:
            self._drop_if_over(task, row, at)

    def digest(self) -> Digest:
        """What is known so far; rows that are left count as they stand."""
        for row in self._tasks.values():
            self._fold(row)
        self._tasks.clear()
        window_ns = max(self._last_arrival, self._warm_at + 1) - self._warm_at
        return Digest(
            warm_at=self._warm_at,
            counts=self._counts,
            spans=self._spans,
            totals=self._totals,
            levels={name: level.seen for name, level in self._levels.items()},
            window_ns=window_ns,
            requests=self._requests.finish(),
            end_at=self.end_at,
            series=np.array(self._series[: self._bins_used], dtype=np.int64),
            series_bin_ns=self._bin_ns,
        )

    def _arrived(self, at: int) -> None:
        if at > self._last_arrival:
            self._last_arrival = at
            for level in self._levels.values():
                level.mark(at)
        while self._parked and self._parked[0][0] < at - LOST_AFTER_NS:
            _, task = self._parked.popleft()
            row = self._tasks.get(task)
            if row is not None and row[COLUMN["created_at"]] == NEVER:
                self._fold(self._tasks.pop(task))

    def _drop_if_over(self, task: int, row: Row, at: int) -> None:
        if row[COLUMN["closed_at"]] == NEVER and row[COLUMN["arrival_at"]] != NEVER:
            return
        if row[COLUMN["created_at"]] == NEVER:
            self._parked.append((at, task))
            return
        if self._stops_slowly and _may_have_been_stopped(row):
            return
        is_kept_for_ever = row[COLUMN["keep_alive_ns"]] == NEVER
        is_forgotten = any(row[COLUMN[name]] != NEVER for name in FORGOTTEN)
        is_left_alone = is_kept_for_ever and not self._forgets_any
        if is_forgotten or (is_left_alone and row[COLUMN["terminal_at"]] != NEVER):
            self._fold(self._tasks.pop(task))

    def _fold(self, row: Row) -> None:
        """Add a row up that is complete, or as complete as it gets."""
        totals = self._totals
        self._milestones.pop(row[COLUMN["task"]], None)
        worked_ns = row[COLUMN["worked_ns"]]
        totals["worked_ns"] += worked_ns
        if row[COLUMN["retrieved_at"]] == NEVER:
            totals["wasted_ns"] += worked_ns
        arrival_at, outcome = row[COLUMN["arrival_at"]], row[COLUMN["outcome"]]
        if arrival_at == NEVER or arrival_at < self._warm_at or outcome == Reason.SUPERSEDED:
            return
        for name in ADDED:
            totals[name] += row[COLUMN[name]]
        for name, (later, earlier) in SPANS.items():
            end, start = row[COLUMN[later]], row[COLUMN[earlier]]
            if NEVER not in (end, start) and end >= start:
                self._spans[name].add(end - start)
        self._add_turnaround(row)
        self._count(row, outcome)

    def _add_turnaround(self, row: Row) -> None:
        retrieved_at, detected_at = row[COLUMN["retrieved_at"]], row[COLUMN["detected_at"]]
        is_knowledge = detected_at != NEVER and row[COLUMN["status"]] != Status.COMPLETED
        if retrieved_at != NEVER or is_knowledge:
            end = detected_at if retrieved_at == NEVER else retrieved_at
            self._spans["turnaround_s"].add(end - row[COLUMN["arrival_at"]])

    def _count(self, row: Row, outcome: int) -> None:
        counts = self._counts
        counts["arrived"] += 1
        for name, column in INSTANTS.items():
            counts[name] += row[COLUMN[column]] != NEVER
        counts[OUTCOMES.get(outcome, "censored")] += 1

    def _note(self, at: int) -> None:
        """Keep the number in system for the figure: the largest of each bin."""
        index = at // self._bin_ns
        while index >= BINS_MAX:
            pairs = [max(self._series[i], self._series[i + 1]) for i in range(0, BINS_MAX, 2)]
            self._series[:] = pairs + [0] * (BINS_MAX - len(pairs))
            self._bin_ns *= 2
            self._bins_used = (self._bins_used + 1) // 2
            index = at // self._bin_ns
        self._series[index] = max(self._series[index], self._levels["in_system"].number)
        self._bins_used = max(self._bins_used, index + 1)


FORGOTTEN: Final = ("expired_at", "deleted_at", "wiped_at", "evicted_at")
ADDED: Final = ("polls_sent", "polls_wasted", "created_lost", "held_ns", "milestones_seen",
                "milestone_delay_ns")  # fmt: skip
INSTANTS: Final = {"created": "created_at", "terminal": "terminal_at", "detected": "detected_at"}
OUTCOMES: Final = {
    int(Reason.RETRIEVED): "retrieved",
    int(Reason.FAILED): "failed",
    int(Reason.CANCELLED): "cancelled",
    int(Reason.UNKNOWN): "unknown",
    int(Reason.RESULT_LOST): "lost",
    int(Reason.REJECTED): "rejected",
    int(Reason.GAVE_UP): "gave_up",
    int(Reason.NOT_NEEDED): "not_needed",
}
COUNTED: Final = ("arrived", *INSTANTS, *OUTCOMES.values(), "censored")
_ENDINGS: Final = frozenset(
    {Kind.CLOSED, Kind.EXPIRED, Kind.DELETED, Kind.WIPED, Kind.EVICTED, Kind.FREED, Kind.FINISHED}
)
_MOVES: Final = (
    frozenset(
        {Kind.ARRIVED, Kind.CREATED, Kind.STARTED, Kind.CONTINUED, Kind.PAUSED, Kind.INTERRUPTED}
    )
    | _ENDINGS
)


def _may_have_been_stopped(row: Row) -> bool:
    """Whether a worker that was told to stop may still be at the task, which is over."""
    if row[COLUMN["started_at"]] == NEVER or row[COLUMN["freed_at"]] != NEVER:
        return False
    status = row[COLUMN["status"]]
    timed_out = status == Status.FAILED and row[COLUMN["input_at"]] != NEVER
    return timed_out or status in {NEVER, Status.CANCELLED}


def _places(row: Row | None) -> tuple[int, int, int]:
    """Whether a task is in the system, is remembered, and has a worker: 0 or 1 each."""
    if row is None or row[COLUMN["created_at"]] == NEVER:
        return 0, 0, 0
    is_gone = any(row[COLUMN[name]] != NEVER for name in FORGOTTEN)
    in_system = not is_gone and row[COLUMN["terminal_at"]] == NEVER
    is_kept = not is_gone
    return int(in_system), int(is_kept), int(row[len(TASK_TYPES)] != NEVER)
