"""A live run held against its simulation, task by task.

Rule 1: both see the same draws: arrivals, durations, fates, lost notifications. What is left is
the network, the machine, and what the model leaves out.
Rule 2: the simulation gets one number from the live run, the median round trip of pings under
load; it is told in the answer. Everything else it predicts.
"""

import dataclasses
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tasksim.engines import simulate
from tasksim.eventlog.laws import check_log, told
from tasksim.eventlog.run import Run, run_of_log
from tasksim.eventlog.schema import NEVER, Column
from tasksim.eventlog.tasks import TaskTable
from tasksim.live.launch import Drive, both_sides, run_load, running_receiver, save_scenario
from tasksim.metrics.estimators import Estimate, batch_mean, quantile
from tasksim.policies import ABSENT
from tasksim.policies.learning import NOTHING
from tasksim.scenario.distributions import Constant
from tasksim.scenario.model import Network, Population, Scenario
from tasksim.scenario.poll_rules import polling_rule
from tasksim.scenario.polls import (
    AgentPolling,
    BackoffPolling,
    FixedPolling,
    HazardPolling,
    HintPolling,
    LearningPolling,
    LongPolling,
    PythonPolling,
    QuadraticPolling,
    RampPolling,
    ReferenceLoop,
    ScheduledPolling,
    WaitThenFixed,
)
from tasksim.scenario.presets import resolved
from tasksim.scenario.receiving import shortest_advice_s
from tasksim.scenario.workload import Workload
from tasksim.units import NS_PER_MS, NS_PER_S, ns_from_s, s_from_ns

MEDIAN_ERROR_MAX_MS: Final = 20.0
LAG_P99_MAX_MS: Final = 50.0  # beyond it the generator was the limit
PATIENCE_S: Final = 120.0  # over the last arrival and the longest task
WORST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A quantity as measured and as simulated, and the mean of the differences task by task."""

    name: str
    measured: Estimate
    simulated: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How far the simulation was off. Errors are measured minus simulated."""

    tasks: int
    compared: int  # detected in both
    rtt_ms: float  # the simulation's only calibration
    error_ms: dict[str, float]  # of the detection instant: p50, p95, max of |e|; bias: median of e
    off_half_interval_share: float
    same_polls_share: float
    same_outcome_share: float
    polls: dict[str, int]  # how many tasks have so many more polls than simulated
    pairs: tuple[Pair, ...]
    lag_ms: dict[str, float]  # actual minus intended start: p50, p99, max
    connects: int
    cpu_s: float
    worst: tuple[dict[str, float], ...]
    broken_laws: tuple[str, ...]

    @property
    def is_generator_limited(self) -> bool:
        """Whether the load generator, not the receiver, set the pace."""
        return self.lag_ms["p99"] > LAG_P99_MAX_MS

    @property
    def is_close(self) -> bool:
        """Whether the simulation is as near as this comparison asks for."""
        return self.error_ms["p50"] <= MEDIAN_ERROR_MAX_MS and not self.broken_laws

    def as_dict(self) -> dict[str, Any]:
        """As answers in JSON give it."""
        plain = dataclasses.asdict(self)
        plain["pairs"] = {
            pair.name: {
                side: getattr(pair, side).as_dict()
                for side in ("measured", "simulated", "difference")
            }
            for pair in self.pairs
        }
        return {
            **plain,
            "is_close": self.is_close,
            "is_generator_limited": self.is_generator_limited,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """A live run and what its load generator said of itself."""

    run: Run
    drive: Drive


def compare_live(scenario: Scenario, *, replication: int = 0) -> tuple[Comparison, LiveRun, Run]:
    """Serve the scenario's receiver, drive it, simulate the same draws, compare."""
    live = drive_live(scenario, replication=replication)
    rtt_ns = int(np.median(live.drive.rtt_ns)) if live.drive.rtt_ns else 2
    simulated = simulate(with_network(scenario, rtt_ns), replication=replication)
    return compare(live, simulated, scenario, rtt_ns), live, simulated


def drive_live(scenario: Scenario, *, replication: int = 0) -> LiveRun:
    """One live run of the scenario on this machine."""
    with tempfile.TemporaryDirectory(prefix="tasksim-") as name:
        folder = Path(name)
        path = save_scenario(folder, scenario)
        receiver_log = folder / "receiver.parquet"
        with running_receiver(path, receiver_log, replication=replication) as url:
            drive = run_load(
                path,
                url,
                folder / "requesters.parquet",
                replication=replication,
                limit_s=limit_s(scenario, replication),
            )
        if drive.interrupted:
            raise KeyboardInterrupt
        log = both_sides(drive, receiver_log)
    return LiveRun(run=run_of_log(log, replication=replication), drive=drive)


def with_network(scenario: Scenario, rtt_ns: int) -> Scenario:
    """The scenario with a network of constant delay, half of a round trip each way."""
    leg = Constant(value_s=s_from_ns(rtt_ns // 2))
    network = Network(request=leg, reply=leg, stream_lifetime_s=scenario.network.stream_lifetime_s)
    return dataclasses.replace(scenario, network=network)


def compare(live: LiveRun, simulated: Run, scenario: Scenario, rtt_ns: int) -> Comparison:
    """Task-by-task comparison of a live run and a simulation of the same draws."""
    measured = live.run.tasks
    assert np.array_equal(measured.task, simulated.tasks.task), "both have the same tasks"
    is_both = (measured.detected_at != NEVER) & (simulated.tasks.detected_at != NEVER)
    ours, theirs = measured.where(is_both), simulated.tasks.where(is_both)
    error_ns = (ours.detected_at - theirs.detected_at).astype(np.float64)
    more_polls = (ours.polls_answered - theirs.polls_answered).astype(np.int64)
    half_ns = shortest_interval_ns(scenario) / 2
    log = live.run.events
    assert log is not None, "a live run keeps every event"
    return Comparison(
        tasks=len(measured),
        compared=len(ours),
        rtt_ms=rtt_ns / NS_PER_MS,
        error_ms=_error_ms(error_ns),
        off_half_interval_share=_share(np.abs(error_ns) > half_ns),
        same_polls_share=_share(more_polls == 0),
        same_outcome_share=_share(measured.outcome == simulated.tasks.outcome),
        polls={f"{n:+d}": int(c) for n, c in zip(*np.unique(more_polls, return_counts=True))},  # noqa: B905
        pairs=_pairs(ours, theirs),
        lag_ms=_lag_ms(measured),
        connects=live.drive.connects,
        cpu_s=live.drive.cpu_s,
        worst=_worst(ours, theirs, error_ns),
        broken_laws=told(check_log(log)),
    )


def shortest_interval_ns(scenario: Scenario) -> int:
    """The shortest steady interval between polls of any population."""
    return min(ns_from_s(_interval_s(scenario, p)) for p in scenario.requesters)


def _interval_s(scenario: Scenario, population: Population) -> float:
    match resolved(population.polling):
        case FixedPolling() | WaitThenFixed() as settings:
            return settings.interval_s
        case HintPolling() | ReferenceLoop() as settings:
            return shortest_advice_s(scenario.receiver) or settings.default_s
        case BackoffPolling() | RampPolling() as settings:
            return settings.base_s
        case LearningPolling() as settings:
            return settings.min_s
        case LongPolling() as settings:
            return settings.default_s
        case AgentPolling() | PythonPolling() as settings:
            rule = polling_rule(settings, scenario)
            state = (0.0, 0.5, *NOTHING)
            return rule.gap_ns(rule.params, state, 1, 0, ABSENT, ABSENT, 0.5) / NS_PER_S
        case ScheduledPolling() as settings:
            return min(settings.gaps_s)
        case HazardPolling() as settings:
            return settings.min_s
        case QuadraticPolling() as settings:
            return settings.poll_cost / settings.delay_cost_per_s


def _error_ms(error_ns: Column) -> dict[str, float]:
    if not len(error_ns):
        return dict.fromkeys(("p50", "p95", "max", "bias"), math.nan)
    size_ms = np.abs(error_ns) / NS_PER_MS
    return {
        "p50": quantile(size_ms, 0.5),
        "p95": quantile(size_ms, 0.95),
        "max": float(size_ms.max()),
        "bias": float(np.median(error_ns)) / NS_PER_MS,
    }


def _pairs(ours: TaskTable, theirs: TaskTable) -> tuple[Pair, ...]:
    """Means of both sides, by task in order of arrival."""
    quantities: dict[str, Callable[[TaskTable], Column]] = {
        "detection delay, s": lambda t: (t.detected_at - t.terminal_at) / NS_PER_S,
        "turnaround, s": lambda t: (t.closed_at - t.arrival_at) / NS_PER_S,
        "sojourn, s": lambda t: (t.terminal_at - t.created_at) / NS_PER_S,
        "polls per task": lambda t: t.polls_answered.astype(np.float64),
    }
    pairs = []
    for name, of in quantities.items():
        measured, simulated = of(ours), of(theirs)
        estimates = [batch_mean(v) for v in (measured, simulated, measured - simulated)]
        if all(estimate is not None for estimate in estimates):
            a, b, difference = (e for e in estimates if e is not None)
            pairs.append(Pair(name=name, measured=a, simulated=b, difference=difference))
    return tuple(pairs)


def _lag_ms(table: TaskTable) -> dict[str, float]:
    lag = ((table.sent_at - table.arrival_at)[table.sent_at != NEVER]) / NS_PER_MS
    if not len(lag):
        return dict.fromkeys(("p50", "p99", "max"), math.nan)
    return {"p50": quantile(lag, 0.5), "p99": quantile(lag, 0.99), "max": float(lag.max())}


def _worst(ours: TaskTable, theirs: TaskTable, error_ns: Column) -> tuple[dict[str, float], ...]:
    order = np.argsort(-np.abs(error_ns), kind="stable")[:WORST]
    return tuple(
        {
            "task": int(ours.task[i]),
            "error_ms": float(error_ns[i]) / NS_PER_MS,
            "polls_measured": int(ours.polls_answered[i]),
            "polls_simulated": int(theirs.polls_answered[i]),
            "terminal_error_ms": float(ours.terminal_at[i] - theirs.terminal_at[i]) / NS_PER_MS,
        }
        for i in order
    )


def _share(chosen: Column) -> float:
    return float(np.mean(chosen)) if len(chosen) else math.nan


def live_run_s(scenario: Scenario, replication: int) -> float:
    """About how long a live run takes: to the last arrival, and the longest work after it."""
    plans = list(Workload(scenario, replication).tasks())
    if not plans:
        return 0.0
    longest_ns = max(plan.duration_ns for plan in plans)
    return s_from_ns(plans[-1].arrival_at + longest_ns)


def limit_s(scenario: Scenario, replication: int) -> float:
    """How long a live run may take: all its work in turn on its workers, and patience."""
    total_ns = sum(plan.duration_ns for plan in Workload(scenario, replication).tasks())
    workers = scenario.receiver.workers
    in_turn_s = 0.0 if workers is None else s_from_ns(total_ns) / workers
    return live_run_s(scenario, replication) + in_turn_s + PATIENCE_S
