"""Scenarios side by side on common random numbers: who is better, by how much, on what.

Rule 1: contender i's replication r uses the same draws as every other's; what is compared is the
difference of each pair of runs, whose interval is that of differences, not of two means.
Rule 2: a difference is told only where its interval excludes zero.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tasksim.engines import simulate
from tasksim.metrics.estimators import Estimate, over_replications
from tasksim.metrics.summary import summarise
from tasksim.scenario.loading import load
from tasksim.scenario.model import Scenario
from tasksim.scenario.objectives import METRICS
from tasksim.scenario.problems import InputError

Progress = Callable[[int], None]  # told how many runs are finished

# Metrics of which less is better; the rest is told without a winner.
LESS_IS_BETTER: Final = (
    "detection_delay_s.",
    "held_s.",
    "waiting_s.",
    "time_to_created_s.",
    "retrieval_delay_s.",
    "turnaround_s.",
    "polls_per_task",
    "wasted_polls_per_task",
    "requests_per_s.",
    "lost_result_share",
    "rejected_share",
    "rate_limited_share",
    "gave_up_share",
    "unknown_share",
    "worker_s.wasted",
    "phase_synchronisation",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A scenario with the name that it goes by."""

    name: str
    scenario: Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """One metric: each contender's estimate, and its difference from the first's."""

    metric: str
    values: tuple[Estimate | None, ...]
    differences: tuple[Estimate | None, ...]  # of the first: None

    def verdict(self, place: int) -> str:
        """How a contender stands to the first: a word, or nothing where there is no better."""
        difference = self.differences[place]
        if difference is None:
            return ""
        if difference.value == 0 and not difference.half_width:
            return "the same"
        if not is_certain(difference):
            return "no difference seen"
        if not self.metric.startswith(LESS_IS_BETTER):
            return "less" if difference.value < 0 else "more"
        return "better" if difference.value < 0 else "worse"

    def as_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """As answers in JSON give it."""
        parts = zip(names, self.values, self.differences, strict=True)
        return {
            name: {
                **({} if value is None else value.as_dict()),
                **(
                    {}
                    if apart is None
                    else {"difference": apart.as_dict(), "verdict": self.verdict(place)}
                ),
            }
            for place, (name, value, apart) in enumerate(parts)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Every metric of every contender."""

    names: tuple[str, ...]
    replications: int
    contests: tuple[Contest, ...]
    warnings: tuple[str, ...]
    interrupted: bool = False

    def get(self, metric: str) -> Contest | None:
        """The contest on a metric; None where nobody has it."""
        return next((each for each in self.contests if each.metric == metric), None)

    def as_dict(self) -> dict[str, Any]:
        """As answers in JSON give it."""
        return {
            "contenders": list(self.names),
            "replications": self.replications,
            "metrics": {each.metric: each.as_dict(self.names) for each in self.contests},
            "warnings": list(self.warnings),
        }


def is_certain(difference: Estimate) -> bool:
    """Whether the interval of a difference excludes zero."""
    return difference.half_width is not None and abs(difference.value) > difference.half_width


def contenders_of(
    sources: Sequence[str], policies: Sequence[str], overrides: Sequence[str]
) -> list[Contender]:
    """One contender a scenario, or a policy on the one scenario.

    A policy is the name of a preset, or a polling rule as a TOML table; it is everybody's. The
    scenario as it stands competes first. InputError when there is nothing to compare.
    """
    if policies:
        if len(sources) != 1:
            raise InputError("--policy: give one scenario, on which policies are compared")
        base = load(sources[0], overrides)
        found = [Contender(name="as it is", scenario=base)]
        for policy in policies:
            rule = policy if policy.lstrip().startswith("{") else _preset(policy)
            changes = [f"requesters.{i}.polling={rule}" for i in range(len(base.requesters))]
            scenario = load(sources[0], [*overrides, *changes])
            found.append(Contender(name=policy, scenario=scenario))
        return found
    if len(sources) < 2:
        raise InputError("give two scenarios to compare, or one with --policy")
    return [Contender(name=source, scenario=load(source, overrides)) for source in sources]


def _preset(name: str) -> str:
    return f"{{ kind = 'preset', name = '{name}' }}"


def compare(
    contenders: Sequence[Contender],
    replications: int,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Comparison:
    """Run every contender's replications 0 to n - 1; Ctrl-C keeps those that all have.

    *jobs* are processes, -1 as many as there are cores; the answer does not depend on them.
    """
    trees: list[list[dict[str, float]]] = []
    interrupted = False
    scenarios = [each.scenario for each in contenders]
    try:
        for row in _rows(scenarios, replications, jobs):
            trees.append(row)
            if progress is not None:
                progress(len(trees) * len(contenders))
    except KeyboardInterrupt:
        interrupted = True
    metrics = sorted(set().union(*(values for row in trees for values in row)))
    return Comparison(
        names=tuple(each.name for each in contenders),
        replications=len(trees),
        contests=tuple(_contest(metric, trees, len(contenders)) for metric in metrics),
        warnings=tuple(_warnings(contenders, len(trees))),
        interrupted=interrupted,
    )


def _rows(
    scenarios: Sequence[Scenario], replications: int, jobs: int
) -> Iterator[list[dict[str, float]]]:
    """Metrics of all scenarios, replication by replication, in order."""
    if jobs == 1:
        for replication in range(replications):
            yield _row(scenarios, replication)
        return
    from joblib import Parallel, delayed  # noqa: PLC0415 - loads on use

    yield from Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_row)(scenarios, replication) for replication in range(replications)
    )


def _row(scenarios: Sequence[Scenario], replication: int) -> list[dict[str, float]]:
    return [_values(scenario, replication) for scenario in scenarios]


def _values(scenario: Scenario, replication: int) -> dict[str, float]:
    """Every metric of one run, by its dotted name."""
    summary = summarise([simulate(scenario, replication=replication, level="tasks")], scenario)
    names = METRICS | {f"own.{name}" for name in scenario.metrics}
    found = {metric: summary.get(metric) for metric in names}
    return {metric: estimate.value for metric, estimate in found.items() if estimate is not None}


def _contest(metric: str, trees: list[list[dict[str, float]]], count: int) -> Contest:
    columns = [[row[place].get(metric, math.nan) for row in trees] for place in range(count)]
    differences: list[Estimate | None] = [None]
    for column in columns[1:]:
        pairs = zip(column, columns[0], strict=True)
        differences.append(over_replications([one - first for one, first in pairs]))
    return Contest(
        metric=metric,
        values=tuple(over_replications(column) for column in columns),
        differences=tuple(differences),
    )


def _warnings(contenders: Sequence[Contender], replications: int) -> list[str]:
    found = []
    first = contenders[0].scenario
    for each in contenders[1:]:
        apart = [
            name
            for name in ("seed", "arrivals", "tasks", "horizon_s")
            if getattr(each.scenario, name) != getattr(first, name)
        ]
        if apart:
            found.append(
                f"{each.name} and {contenders[0].name} differ in {', '.join(apart)}: "
                "they do not see the same tasks"
            )
    if replications == 1:
        found.append("one replication has no intervals: give --replications 10")
    return found
