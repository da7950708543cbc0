"""Verdicts: the interval decides."""

import pytest

from tasksim.engines import simulate
from tasksim.metrics.estimators import Estimate
from tasksim.metrics.summary import summarise
from tasksim.metrics.verdicts import judge, verdicts
from tasksim.report.results import estimates
from tasksim.scenario.loading import load
from tasksim.scenario.objectives import METRICS, Objective


@pytest.mark.parametrize(
    ("value", "half_width", "judgement"),
    [(4, None, "met"), (5, None, "met"), (6, None, "missed"), (4, 0.5, "met"), (4, 1.5, "open"),
     (6, 0.5, "missed"), (6, 1.5, "open")],
)  # fmt: skip
def test_an_interval_is_met_missed_or_open(
    value: float, half_width: float | None, judgement: str
) -> None:
    estimate = Estimate(value=value, half_width=half_width)
    assert judge(estimate, Objective(max=5)) == judgement
    mirrored = Estimate(value=-value, half_width=half_width)
    assert judge(mirrored, Objective(min=-5)) == judgement


def test_what_was_not_measured_is_said_so() -> None:
    assert judge(None, Objective(max=5)) == "not measured"


def test_objectives_are_judged_in_their_order() -> None:
    scenario = load("minimal", ["tasks=200"])
    summary = summarise([simulate(scenario)], scenario)
    objectives = {"polls_per_task.mean": Objective(min=1e6), "failed_share": Objective(max=0)}
    assert [v.judgement for v in verdicts(summary, objectives)] == ["missed", "met"]
    assert verdicts(summary, objectives)[1].as_dict() == {
        "metric": "failed_share",
        "max": 0,
        "value": 0.0,
        "judgement": "met",
    }


def test_the_names_of_objectives_are_those_of_the_answer() -> None:
    scenario = load("demo", ["horizon_s=400"])
    metrics = summarise([simulate(scenario)], scenario).as_dict()["metrics"]
    assert {name for name, _ in estimates(metrics)} | {"milestone_delay_s.mean"} == METRICS


@pytest.mark.parametrize("limits", [{}, {"max": 1, "min": 2}])
def test_an_objective_needs_a_limit_that_can_be_met(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"needs max or min|must be <="):
        Objective(**limits)
