"""Whether a summary meets the scenario's objectives.

Rule: an interval decides. *Met* when all of it lies within the limits, *missed* when none of it
does, *open* in between; a single replication has no interval, and its value alone decides.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tasksim.metrics.estimators import Estimate
from tasksim.metrics.summary import Summary
from tasksim.scenario.objectives import Objective

Judgement = Literal["met", "missed", "open", "not measured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One objective and how the run stands to it."""

    metric: str
    objective: Objective
    estimate: Estimate | None
    judgement: Judgement

    def as_dict(self) -> dict[str, Any]:
        """As answers in JSON give it."""
        limits = {"max": self.objective.max, "min": self.objective.min}
        known = {} if self.estimate is None else self.estimate.as_dict()
        return {
            "metric": self.metric,
            **{name: limit for name, limit in limits.items() if limit is not None},
            **known,
            "judgement": self.judgement,
        }


def verdicts(summary: Summary, objectives: Mapping[str, Objective]) -> tuple[Verdict, ...]:
    """A verdict an objective, in the scenario's order."""
    found = []
    for metric, objective in objectives.items():
        estimate = summary.get(metric)
        found.append(
            Verdict(
                metric=metric,
                objective=objective,
                estimate=estimate,
                judgement=judge(estimate, objective),
            )
        )
    return tuple(found)


def judge(estimate: Estimate | None, objective: Objective) -> Judgement:
    """How an estimate stands to its limits."""
    if estimate is None:
        return "not measured"
    reach = estimate.half_width or 0.0
    low, high = estimate.value - reach, estimate.value + reach
    least = -float("inf") if objective.min is None else objective.min
    most = float("inf") if objective.max is None else objective.max
    if least <= low and high <= most:
        return "met"
    return "missed" if low > most or high < least else "open"
