"""Whatever a scenario says, its run keeps the laws, ends, holds nothing, and is reproducible."""

import math
import os
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings

from tasksim.engines import simulate
from tasksim.engines.reference.model import Model
from tasksim.eventlog.laws import check_log, told
from tasksim.eventlog.schema import NEVER, log_digest
from tasksim.metrics.summary import summarise
from tasksim.scenario.loading import dump_toml, parse
from tests.strategies import documents

EXAMPLES = int(os.environ.get("EXAMPLES", "150"))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents())
def test_every_scenario_runs_by_the_laws(document: dict[str, Any]) -> None:
    hold_to_the_laws(document)


@pytest.mark.nightly
@settings(max_examples=20 * EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(documents())
def test_many_scenarios_run_by_the_laws(document: dict[str, Any]) -> None:
    hold_to_the_laws(document)


def hold_to_the_laws(document: dict[str, Any]) -> None:
    """Run a scenario at every level: the laws hold, the levels agree, nothing is left."""
    scenario = parse(tomli_w.dumps(document), "random.toml")
    model = Model(scenario, replication=0, level="events")
    run = model.run()  # raises when anything is still held
    assert run.events is not None
    assert told(check_log(run.events)) == ()
    arrived = run.tasks.where(run.tasks.arrival_at != NEVER)
    assert not (arrived.outcome == NEVER).any(), "every task is closed in the end"
    by_task = simulate(scenario, level="tasks")
    assert log_digest(by_task.tasks.columns()) == log_digest(run.tasks.columns())
    assert by_task.counts.by_operation == run.counts.by_operation
    assert by_task.counts.limited == run.counts.limited
    assert by_task.end_at == run.end_at
    added = summarise([simulate(scenario, level="summary")], scenario)
    by_tasks = summarise([run], scenario)
    assert added.tasks == by_tasks.tasks
    for metric in ("polls_per_task.mean", "detection_delay_s.mean", "worker_s.total",
                   "worker_s.wasted", "turnaround_s.max", "resident_tasks.max"):  # fmt: skip
        exact, found = by_tasks.get(metric), added.get(metric)
        assert (exact is None) == (found is None), metric
        assert exact is None or found is None or math.isclose(exact.value, found.value), metric
    assert parse(dump_toml(scenario), "again.toml") == scenario
