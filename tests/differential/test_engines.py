"""The fast engine gives the reference's run, every column of it, without tolerance."""

import os
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings

from tasksim.engines.fast import engine
from tasksim.engines.fast.supports import supports
from tasksim.engines.reference.model import Model
from tasksim.eventlog.run import Run
from tasksim.scenario.loading import catalogue_names, load, parse
from tests.differential.strategies import fast_documents

EXAMPLES = int(os.environ.get("N", "400"))


def both(scenario: Any, level: Any, replication: int = 0) -> tuple[Run, Run]:
    fast = engine.simulate(scenario, replication=replication, level=level)
    return fast, Model(scenario, replication=replication, level=level).run()


def require_same(fast: Run, reference: Run) -> None:
    for name, column in reference.tasks.columns().items():
        assert np.array_equal(column, fast.tasks.columns()[name]), name
    if reference.events is not None:
        assert fast.events is not None
        for name, column in reference.events.columns().items():
            assert np.array_equal(column, fast.events.columns()[name]), name
    for name in ("by_operation", "limited", "peak", "peak_polls", "held_peak", "bin_ns"):
        assert getattr(reference.counts, name) == getattr(fast.counts, name), name
    assert np.array_equal(reference.counts.bins, fast.counts.bins)
    assert (reference.end_at, reference.notes) == (fast.end_at, fast.notes)


@pytest.mark.parametrize("name", catalogue_names())
def test_the_catalogue_runs_alike(name: str) -> None:
    scenario = load(name)
    if supports(scenario):
        pytest.skip(f"the reference engine runs it: {', '.join(supports(scenario))}")
    scenario = load(name, ["tasks=1500"])
    require_same(*both(scenario, "events", replication=1))
    require_same(*both(scenario, "tasks"))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(fast_documents())
def test_every_scenario_runs_alike(document: dict[str, Any]) -> None:
    scenario = parse(tomli_w.dumps(document), "random.toml")
    assert supports(scenario) == ()
    require_same(*both(scenario, "events"))
    require_same(*both(scenario, "tasks"))
