"""The summary: numbers worked out by hand."""

import dataclasses
import json

import numpy as np
import pytest

from tasksim.eventlog.run import Run, run_of_log
from tasksim.metrics.path import number_over_time, time_mean_and_max
from tasksim.metrics.summary import summarise
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.states import Status
from tasksim.scenario.loading import load
from tasksim.scenario.model import Scenario
from tests.unit.eventlog.helpers import GOOD, log_from


def scenario(**changes: object) -> Scenario:
    return dataclasses.replace(load("minimal"), **changes)  # type: ignore[arg-type]


def one_run() -> Run:
    return run_of_log(log_from(GOOD))


def value(run: Run, name: str) -> float:
    estimate = summarise([run], scenario()).get(name)
    assert estimate is not None
    return estimate.value


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("detection_delay_s.mean", 3),
        ("detection_delay_s.p99", 3),
        ("waiting_s.mean", 0),
        ("service_s.mean", 7),
        ("sojourn_s.max", 7),
        ("time_to_created_s.mean", 2),
        ("retrieval_delay_s.mean", 2),
        ("turnaround_s.mean", 13),
        ("polls_per_task.mean", 2),
        ("wasted_polls_per_task.mean", 1),
        ("lost_result_share", 0),
        ("rejected_share", 0),
        ("requests_per_s.total", 4 / 13),
        ("requests_per_s.by_operation.get", 2 / 13),
        ("requests_per_s.peak", 1),
    ],
)
def test_a_metric_of_one_task_is_what_its_row_says(name: str, expected: float) -> None:
    assert value(one_run(), name) == pytest.approx(expected)


def test_counts_tell_what_became_of_tasks() -> None:
    lost = (20, Kind.CLOSED, 1, NONE, 0, NONE, Reason.RESULT_LOST)
    rows = [*GOOD, (0, Kind.ARRIVED, 1), lost, (0, Kind.ARRIVED, 2)]
    summary = summarise([run_of_log(log_from(rows))], scenario())
    assert summary.tasks == {
        "arrived": 3, "created": 1, "terminal": 1, "detected": 1, "retrieved": 1, "failed": 0,
        "cancelled": 0, "unknown": 0,
        "lost": 1, "rejected": 0, "gave_up": 0, "not_needed": 0, "censored": 1,
    }  # fmt: skip
    estimate = summary.get("lost_result_share")
    assert estimate is not None
    assert estimate.value == pytest.approx(1 / 3)
    assert any("1 tasks were still open" in warning for warning in summary.warnings)


def test_tasks_of_the_warm_up_are_left_out() -> None:
    summary = summarise([one_run()], scenario(warmup_s=1.0))
    assert summary.tasks["arrived"] == 0
    assert summary.get("detection_delay_s.mean") is None
    assert any("no task arrived after the warm-up" in w for w in summary.warnings)


def test_two_replications_have_half_widths_and_one_has_none() -> None:
    one, two = (summarise([one_run()] * n, scenario()) for n in (1, 2))
    first, second = one.get("sojourn_s.mean"), two.get("sojourn_s.mean")
    assert first is not None
    assert second is not None
    assert first.half_width is None
    assert second.half_width == 0
    assert any("one replication" in warning for warning in one.warnings)


def test_json_has_values_and_half_widths_under_their_names() -> None:
    plain = json.loads(json.dumps(summarise([one_run()] * 2, scenario()).as_dict()))
    assert plain["metrics"]["detection_delay_s"]["mean"] == {"value": 3.0, "half_width": 0.0}
    assert plain["tasks"]["retrieved"] == 2
    assert "utilization" not in plain["metrics"]  # as many workers as needed have none


def test_utilization_is_busy_time_over_workers_and_window() -> None:
    rows = [*GOOD, (10, Kind.ARRIVED, 1)]  # the window is 0..10; the worker is busy 1..8
    receiver = dataclasses.replace(load("minimal").receiver, workers=2)
    summary = summarise([run_of_log(log_from(rows))], scenario(receiver=receiver))
    estimate = summary.get("utilization")
    assert estimate is not None
    assert estimate.value == pytest.approx(7 / 10 / 2)


def test_few_tasks_beyond_a_quantile_are_warned_of() -> None:
    warnings = summarise([one_run()], scenario()).warnings
    assert any(w.startswith("p99 rests on fewer than 10 of 1 tasks") for w in warnings)


def test_a_number_over_time_is_weighted_by_time() -> None:
    path = number_over_time(np.array([0, 4, 4, -1]), np.array([8, 6, -1, -1]))
    assert path.instants.tolist() == [0, 4, 6, 8]
    assert path.numbers.tolist() == [1, 3, 2, 1]
    assert time_mean_and_max(path, 2, 8) == {"mean": (2 * 1 + 2 * 3 + 2 * 2) / 6, "max": 3.0}
    assert time_mean_and_max(path, 10, 20) == {"mean": 1.0, "max": 1.0}


def test_requests_a_second_are_counted_while_tasks_arrive() -> None:
    """Twenty tasks, one a second, one get each 5 s later: the tail after the last is left out."""
    rows = []
    for task in range(20):
        rows += [
            (task, Kind.ARRIVED, task, NONE, 0, NONE, NONE, 0),
            (task, Kind.RECEIVED, task, Operation.CREATE, 0, Status.SUBMITTED),
            (task + 5, Kind.RECEIVED, task, Operation.GET, 0, Status.WORKING),
        ]
    run = run_of_log(log_from(rows))
    # Whole bins from 0 to 19 s: 19 creations, 14 gets.
    assert value(run, "requests_per_s.by_operation.create") == pytest.approx(19 / 19)
    assert value(run, "requests_per_s.by_operation.get") == pytest.approx(14 / 19)
    warm = summarise([run], scenario(warmup_s=5.0)).get("requests_per_s.total")
    assert warm is not None
    assert warm.value == pytest.approx(2)
