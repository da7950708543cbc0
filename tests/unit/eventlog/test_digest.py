"""Level ``summary``: the same answer, from whole numbers added up as they come."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.engines import simulate
from tasksim.engines.reference.model import Model
from tasksim.eventlog.digest import Histogram, bucket_of, end_of
from tasksim.metrics.estimators import Estimate, quantile
from tasksim.metrics.summary import summarise
from tasksim.scenario.loading import catalogue_names, load, parse


@given(st.integers(0, 1 << 60))
def test_a_bucket_holds_its_values_and_is_less_than_one_percent_wide(value: int) -> None:
    end = end_of(bucket_of(value))
    assert value <= end < value * 1.008 + 1
    assert bucket_of(end) == bucket_of(value)
    assert bucket_of(end + 1) > bucket_of(end)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=300))
def test_a_histogram_keeps_number_sum_and_maximum_and_quantiles_to_one_percent(
    values: list[int],
) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    assert histogram.mean() == sum(values) / len(values)
    assert histogram.largest == max(values)
    for level in (0.01, 0.5, 0.95, 1.0):
        exact = quantile(np.array(values, dtype=np.float64), level)
        assert exact <= histogram.quantile(level) <= min(exact * 1.008 + 1, max(values))


def leaves(tree: Any, prefix: str = "") -> dict[str, float]:
    found = {}
    for key, branch in tree.items():
        if isinstance(branch, Estimate):
            found[f"{prefix}{key}"] = branch.value
        else:
            found |= leaves(branch, f"{prefix}{key}.")
    return found


ROUGH = ("p50", "p95", "p99")


@pytest.mark.parametrize("name", catalogue_names())
def test_the_summary_of_a_summary_is_that_of_the_tasks(name: str) -> None:
    scenario = load(name, ["tasks=300", "warmup_s=5"])
    by_task, added = (
        summarise([simulate(scenario, level=level)], scenario)  # type: ignore[arg-type]
        for level in ("tasks", "summary")
    )
    assert added.tasks == by_task.tasks
    exact, found = leaves(by_task.metrics), leaves(added.metrics)
    assert exact.keys() == found.keys()
    for metric, value in exact.items():
        loose = metric.endswith(ROUGH)
        # Requests a second of a run this short are those of the whole run, whose first arrival a
        # digest does not keep.
        if metric.startswith(("requests_per_s", "phase")):
            continue
        assert found[metric] == pytest.approx(value, rel=0.008 if loose else 1e-9, abs=1e-9), metric


def test_long_runs_have_the_same_requests_a_second() -> None:
    scenario = load("demo")
    by_task, added = (
        leaves(summarise([simulate(scenario, level=level)], scenario).metrics)  # type: ignore[arg-type]
        for level in ("tasks", "summary")
    )
    for metric, value in by_task.items():
        if not metric.endswith(ROUGH):
            assert added[metric] == pytest.approx(value, rel=1e-9), metric


def test_rows_are_kept_for_tasks_in_flight_only() -> None:
    scenario = load("demo", ["receiver.keep_alive={ default_s = 5 }"])
    model = Model(scenario, replication=0, level="summary")
    most = 0

    def watch(_: int) -> None:
        nonlocal most
        most = max(most, len(model.recorder._tasks))  # type: ignore[union-attr]

    model._progress = watch
    run = model.run()
    assert run.digest is not None
    assert run.digest.counts["arrived"] > 3000
    assert most < 300
    assert len(model.recorder._tasks) == 0  # type: ignore[union-attr]


def test_the_digest_is_the_same_in_another_run_and_another_for_another_seed() -> None:
    found = set()
    for seed in (1, 1, 2):
        run = simulate(load("demo", ["tasks=200", f"seed={seed}"]), level="summary")
        assert run.digest is not None
        found.add(run.digest.digest())
    assert len(found) == 2
    assert math.isnan(Histogram().quantile(0.5))


def test_what_is_kept_for_ever_may_be_evicted_all_the_same() -> None:
    scenario = parse(
        """
        tasks = 10
        [arrivals]
        kind = "constant"
        rate = 1
        [[work]]
        duration = { kind = "constant", value_s = 0.25 }
        [receiver]
        keep_alive = { unlimited = true }
        store = { limit = 2, when_full = "evicts" }
        """,
        "evicting.toml",
    )
    found = summarise([simulate(scenario, level="summary")], scenario).get("resident_tasks.max")
    assert found is not None
    assert found.value == 2
