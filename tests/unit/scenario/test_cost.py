"""What a run will cost is known before it starts, within a factor of two."""

import pytest

from tasksim.engines import simulate
from tasksim.scenario.cost import CostError, cost_of, require_affordable
from tasksim.scenario.loading import catalogue_names, load
from tasksim.scenario.workload import Workload


@pytest.mark.parametrize("name", catalogue_names())
def test_requests_are_foreseen_within_a_factor_of_two(name: str) -> None:
    scenario = load(name, ["tasks=400"])
    run = simulate(scenario)
    cost = cost_of(Workload(scenario), "tasks")
    assert cost.tasks == pytest.approx(len(run.tasks), rel=0.2)
    assert run.counts.total / 2 < cost.requests < run.counts.total * 2


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("arrivals.rate=1e6", "requests"),
        ("requesters.sdk.polling={kind='fixed', interval_s=1e-5}", "requests"),
        ("horizon_s=1e7", "GB of memory"),
        # Ten times as much as workers can do: each task waits for hours, and is polled.
        ("receiver.workers=1", "requests"),
    ],
)
def test_what_is_beyond_the_bounds_is_refused_with_its_numbers(override: str, what: str) -> None:
    scenario = load("demo", ["horizon_s=200000", override])
    with pytest.raises(CostError, match=what):
        require_affordable(scenario, "tasks")
    require_affordable(scenario, "tasks", force=True)


def test_the_catalogue_is_affordable() -> None:
    for name in catalogue_names():
        require_affordable(load(name), "events")
