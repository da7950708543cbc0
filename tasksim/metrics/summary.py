"""The summary of a scenario's replications, under the names that answers use.

Rule 1: a metric of one replication is one number; its estimate over replications is the mean of
those numbers, quantiles included.
Rule 2: tasks that arrived in the warm-up are in no metric of tasks; they are in counts of
requests and in the state over time from the end of the warm-up on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tasksim.eventlog.digest import Digest, Histogram
from tasksim.eventlog.run import Run
from tasksim.eventlog.schema import NEVER, SPANS, Column
from tasksim.eventlog.tasks import RequestCounts, TaskTable
from tasksim.metrics.estimators import Estimate, as_dict, over_replications, quantile
from tasksim.metrics.path import number_over_time, time_mean_and_max
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status
from tasksim.scenario.model import Scenario
from tasksim.scenario.own_files import answered, function_of
from tasksim.units import NS_PER_S, ns_from_s

LEVELS: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
TAIL_TASKS: Final = 10  # tasks beyond a quantile below which its estimate is not to be trusted
WHOLE_BINS_MIN: Final = 10
ALWAYS_SHOWN: Final = frozenset({Operation.CREATE, Operation.GET, Operation.RESULT})
Tree = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Metrics (a tree of estimates by name), counts of tasks, and warnings."""

    metrics: Tree
    tasks: dict[str, int]
    warnings: tuple[str, ...]
    replications: int

    def as_dict(self) -> Tree:
        """As answers in JSON give it."""
        return {
            "metrics": as_dict(self.metrics),
            "tasks": dict(self.tasks),
            "warnings": list(self.warnings),
            "replications": self.replications,
        }

    def get(self, name: str) -> Estimate | None:
        """Estimate of a metric by its dotted name; None where there is none."""
        branch: Any = self.metrics
        for key in name.split("."):
            branch = branch.get(key) if isinstance(branch, dict) else None
        return branch if isinstance(branch, Estimate) else None


def summarise(runs: Sequence[Run], scenario: Scenario) -> Summary:
    """Summary of one or more replications."""
    warm_at = ns_from_s(scenario.warmup_s)
    trees = [
        _metrics(run, scenario, warm_at) if run.digest is None else of_digest(run.digest, scenario)
        for run in runs
    ]
    each = [
        counts_of(measured(run.tasks, warm_at)) if run.digest is None else run.digest.counts
        for run in runs
    ]
    counts = _sum_of(each)
    return Summary(
        metrics=_over(trees),
        tasks=counts,
        warnings=_warnings(runs, scenario, counts, [count["detected"] for count in each]),
        replications=len(runs),
    )


def measured(table: TaskTable, warm_at: int) -> TaskTable:
    """Tasks that count: not of the warm-up, nor asked for anew under another id."""
    is_live = (table.arrival_at != NEVER) & (table.outcome != Reason.SUPERSEDED)
    return table.where(is_live & (table.arrival_at >= warm_at))


def span_s(table: TaskTable, later: str, earlier: str) -> Column:
    """Seconds between two instants of the tasks that have both."""
    end, start = getattr(table, later), getattr(table, earlier)
    is_there = (end != NEVER) & (start != NEVER) & (end >= start)  # else those of two runs of it
    return np.asarray((end[is_there] - start[is_there]) / NS_PER_S)


def turnaround_s(table: TaskTable) -> Column:
    """Seconds from arrival until the requester has what there is to have.

    That is the result, or the knowledge that there will be none.
    """
    is_retrieved = table.retrieved_at != NEVER
    end = np.where(is_retrieved, table.retrieved_at, table.detected_at)
    is_there = is_retrieved | ((end != NEVER) & (table.status != Status.COMPLETED))
    return np.asarray((end - table.arrival_at)[is_there] / NS_PER_S)


def counts_of(table: TaskTable) -> dict[str, int]:
    """Tasks by what became of them."""
    outcome = table.outcome
    return {
        "arrived": len(table),
        "created": int(np.sum(table.created_at != NEVER)),
        "terminal": int(np.sum(table.terminal_at != NEVER)),
        "detected": int(np.sum(table.detected_at != NEVER)),
        "retrieved": int(np.sum(outcome == Reason.RETRIEVED)),
        "failed": int(np.sum(outcome == Reason.FAILED)),
        "cancelled": int(np.sum(outcome == Reason.CANCELLED)),
        "unknown": int(np.sum(outcome == Reason.UNKNOWN)),
        "lost": int(np.sum(outcome == Reason.RESULT_LOST)),
        "rejected": int(np.sum(outcome == Reason.REJECTED)),
        "gave_up": int(np.sum(outcome == Reason.GAVE_UP)),
        "not_needed": int(np.sum(outcome == Reason.NOT_NEEDED)),
        "censored": int(np.sum(outcome == NEVER)),
    }


def _metrics(run: Run, scenario: Scenario, warm_at: int) -> Tree:
    """Metrics of one replication, as floats; nan where there is nothing to measure."""
    table = measured(run.tasks, warm_at)
    tree: Tree = {
        name: _five_numbers(span_s(table, later, earlier))
        for name, (later, earlier) in SPANS.items()
    }
    tree["turnaround_s"] = _five_numbers(turnaround_s(table))
    tree["polls_per_task"] = {"mean": _mean(table.polls_sent)}
    tree["wasted_polls_per_task"] = {"mean": _mean(table.polls_wasted)}
    tree |= shares_of(counts_of(table), int(np.sum(table.created_lost)))
    tree |= extras_of(
        run.counts,
        len(table),
        int(np.sum(table.held_ns)),
        int(np.sum(table.milestones_seen)),
        int(np.sum(table.milestone_delay_ns)),
    )
    if len(run.tasks):
        arrivals = run.tasks.arrival_at
        ends = (run.tasks.closed_at, run.tasks.terminal_at)
        first_at = int(arrivals[arrivals != NEVER].min(initial=int(arrivals.max())))
        last_at = max(int(end.max()) for end in ends)
        tree |= of_requests(run.counts, warm_at, (first_at, int(arrivals.max()), last_at))
    tree |= _state(run.tasks, scenario, warm_at)
    if scenario.metrics:
        tree["own"] = {
            name: float(
                answered(
                    f"metrics.{name}",
                    (table.columns(),),
                    function_of(own.file, own.function, ("tasks",)),
                )
            )
            for name, own in scenario.metrics.items()
        }
    return with_answering(tree, scenario)


def with_answering(tree: Tree, scenario: Scenario) -> Tree:
    """Add to the utilization what workers spend on answering, where it is they who answer."""
    handling, workers = scenario.receiver.handling, scenario.receiver.workers
    if handling is None or not handling.shares_workers or workers is None:
        return tree
    spent = sum(
        rate * getattr(handling, f"{operation}_s", 0.0)
        for operation, rate in tree.get("requests_per_s", {}).get("by_operation", {}).items()
    )
    if "utilization" in tree:
        tree["utilization"] += spent / workers
    return tree


def _five_numbers(values: Column) -> dict[str, float]:
    if not len(values):
        return dict.fromkeys(("mean", *LEVELS, "max"), float("nan"))
    quantiles = {name: quantile(values, level) for name, level in LEVELS.items()}
    return {"mean": float(values.mean()), **quantiles, "max": float(values.max())}


def _mean(values: Column) -> float:
    return float(values.mean()) if len(values) else float("nan")


def shares_of(counts: dict[str, int], created_lost: int) -> dict[str, float]:
    """Shares of the tasks that arrived; of the created for lost notifications."""
    arrived, created = counts["arrived"], counts["created"]
    nan = float("nan")
    shares = {
        f"{name}_share": counts[key] / arrived if arrived else nan
        for name, key in (
            ("lost_result", "lost"),
            ("rejected", "rejected"),
            ("gave_up", "gave_up"),
            ("failed", "failed"),
            ("cancelled", "cancelled"),
            ("unknown", "unknown"),
        )
    }
    return {**shares, "created_lost_share": created_lost / created if created else nan}


def extras_of(counts: RequestCounts, arrived: int, held_ns: int, seen: int, delay_ns: int) -> Tree:
    """Requests that the receiver held open; how late its intermediate results were known."""
    held_s = held_ns / NS_PER_S / arrived if arrived else float("nan")
    tree: Tree = {"held_requests": {"max": float(counts.held_peak), "s_per_task": held_s}}
    if seen:
        tree["milestone_delay_s"] = {"mean": delay_ns / NS_PER_S / seen}
    return tree


def of_requests(counts: RequestCounts, warm_at: int, instants: tuple[int, int, int]) -> Tree:
    """Requests a second at the receiver while tasks arrive and the run is warm; the peak of all.

    *instants* are those of the first arrival, the last arrival and the last end. The window is
    cut to whole bins of the counted series; a run with fewer than ten is taken as a whole, from
    its first arrival to its last end.
    """
    first_at, last_arrival_at, last_at = instants
    first = -(-warm_at // counts.bin_ns)
    last = last_arrival_at // counts.bin_ns
    if last - first >= WHOLE_BINS_MIN:
        requests = counts.bins[:, first:last].sum(axis=1)
        span_s = (last - first) * counts.bin_ns / NS_PER_S
    else:
        requests = np.array(counts.by_operation)
        span_s = max(last_at - first_at, 1) / NS_PER_S
    by_operation = {
        operation.name.lower(): float(requests[operation]) / span_s
        for operation in Operation
        if operation in ALWAYS_SHOWN or counts.by_operation[operation]
    }
    nan = float("nan")
    polls_per_s, total = by_operation["get"], counts.total
    return {
        "rate_limited_share": sum(counts.limited) / total if total else nan,
        "requests_per_s": {
            "total": float(requests.sum()) / span_s,
            "by_operation": by_operation,
            "peak": float(counts.peak),
        },
        "phase_synchronisation": counts.peak_polls / polls_per_s if polls_per_s else nan,
    }


def _state(table: TaskTable, scenario: Scenario, warm_at: int) -> Tree:
    """State over time between the end of the warm-up and the last arrival."""
    if not len(table):
        return {}
    window = (warm_at, max(int(table.arrival_at.max()), warm_at + 1))
    # A task that was forgotten before it ended left the system then.
    gone_at = gone_at_of(table)
    left_at = _first_of(table.terminal_at, gone_at)
    in_system = number_over_time(
        table.created_at, np.where(table.created_at == NEVER, NEVER, left_at)
    )
    resident = number_over_time(table.created_at, gone_at)
    tree: Tree = {
        "in_system": time_mean_and_max(in_system, *window),
        "resident_tasks": time_mean_and_max(resident, *window),
    }
    if scenario.receiver.workers is not None:
        begins, ends, _ = busy_intervals(table)
        busy = time_mean_and_max(number_over_time(begins, ends), *window)
        tree["utilization"] = busy["mean"] / scenario.receiver.workers
    is_wasted = table.retrieved_at == NEVER
    tree["worker_s"] = {
        "total": float(table.worked_ns.sum() / NS_PER_S),
        "wasted": float(table.worked_ns[is_wasted].sum() / NS_PER_S),
    }
    return tree


def _first_of(one: Column, other: Column) -> Column:
    """The earlier of two instants, of those that there are."""
    both = np.minimum(one, other)
    return np.where(one == NEVER, other, np.where(other == NEVER, one, both))


def gone_at_of(table: TaskTable) -> Column:
    """When the receiver forgot each task, in whatever way; -1 never."""
    gone_at = _first_of(table.deleted_at, table.wiped_at)
    return _first_of(_first_of(table.expired_at, table.evicted_at), gone_at)


def busy_intervals(table: TaskTable) -> tuple[Column, Column, Column]:
    """When workers began with tasks, when they left them (-1 not yet), and which they were.

    Exact for one pause a task; a task that a restart interrupts after a pause counts as paused
    until it is continued for the last time.
    """
    left_at = _first_of(table.terminal_at, gone_at_of(table))
    end_at = np.where(table.freed_at == NEVER, left_at, table.freed_at)
    is_paused = table.paused_at != NEVER
    is_continued = table.continued_at != NEVER
    begins = [table.started_at, table.continued_at[is_paused & is_continued]]
    ends = [
        np.where(is_paused, table.paused_at, end_at),
        end_at[is_paused & is_continued],
    ]
    tasks = [table.task, table.task[is_paused & is_continued]]
    found = np.concatenate(begins), np.concatenate(ends), np.concatenate(tasks)
    is_there = found[0] != NEVER
    return found[0][is_there], found[1][is_there], found[2][is_there]


def _over(trees: Sequence[Tree]) -> Tree:
    """The trees of several replications as one tree of estimates."""
    merged: Tree = {}
    for key, branch in trees[0].items():
        others = [tree[key] for tree in trees if key in tree]
        if isinstance(branch, dict):
            merged[key] = _over(others)
        elif (estimate := over_replications(others)) is not None:
            merged[key] = estimate
    return merged


def _sum_of(counts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {key: sum(count[key] for count in counts) for key in counts[0]}


def of_digest(digest: Digest, scenario: Scenario) -> Tree:
    """Metrics of one replication at level ``summary``; quantiles to within 1 %."""
    counts, totals = digest.counts, digest.totals
    tree: Tree = {name: _five_of(histogram) for name, histogram in digest.spans.items()}
    arrived, nan = counts["arrived"], float("nan")
    for name, total in (
        ("polls_per_task", "polls_sent"),
        ("wasted_polls_per_task", "polls_wasted"),
    ):
        tree[name] = {"mean": totals[total] / arrived if arrived else nan}
    tree |= shares_of(counts, totals["created_lost"])
    extras = (totals[name] for name in ("held_ns", "milestones_seen", "milestone_delay_ns"))
    tree |= extras_of(digest.requests, arrived, *extras)
    last_at = digest.warm_at + digest.window_ns
    tree |= of_requests(digest.requests, digest.warm_at, (0, last_at, max(digest.end_at, 1)))
    for name, level in (("in_system", "in_system"), ("resident_tasks", "resident")):
        integral, largest = digest.levels[level]
        tree[name] = {"mean": integral / digest.window_ns, "max": float(largest)}
    if scenario.receiver.workers is not None:
        busy = digest.levels["busy"][0] / digest.window_ns
        tree["utilization"] = busy / scenario.receiver.workers
    tree["worker_s"] = {
        "total": totals["worked_ns"] / NS_PER_S,
        "wasted": totals["wasted_ns"] / NS_PER_S,
    }
    return with_answering(tree, scenario)


def _five_of(histogram: Histogram) -> dict[str, float]:
    quantiles = {name: histogram.quantile(level) / NS_PER_S for name, level in LEVELS.items()}
    largest = histogram.largest / NS_PER_S if histogram.number else float("nan")
    return {"mean": histogram.mean() / NS_PER_S, **quantiles, "max": largest}


def _warnings(
    runs: Sequence[Run], scenario: Scenario, counts: dict[str, int], detected: Sequence[int]
) -> tuple[str, ...]:
    """What a reader must know before trusting the numbers."""
    found = list(dict.fromkeys(note for run in runs for note in run.notes))
    if not counts["arrived"]:
        found.append("no task arrived after the warm-up: there is nothing to measure")
    fewest = min(detected)
    for name, level in LEVELS.items():
        if counts["arrived"] and fewest * (1 - level) < TAIL_TASKS:
            found.append(
                f"{name} rests on fewer than {TAIL_TASKS} of {fewest} tasks beyond it: "
                "let more tasks arrive"
            )
    own = [run for run in runs if run.digest is not None]
    if own and scenario.metrics:
        found.append("metrics of one's own need the table of tasks: there are none at this level")
    if counts["censored"]:
        found.append(f"{counts['censored']} tasks were still open at the end: delays are too short")
    if counts["arrived"] and len(runs) == 1:
        found.append("one replication says nothing of its own error: give --replications 10")
    return tuple(found)
