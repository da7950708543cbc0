"""The first circle: one scenario served, driven, simulated, compared task by task.

Assertions are about order, counts and status; timing is reported, and bounded one-sidedly by what
cannot go wrong on a slow machine.
"""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasksim.eventlog.laws import check_log
from tasksim.eventlog.schema import NEVER
from tasksim.eventlog.store import read_log
from tasksim.live import launch
from tasksim.planning.compare_live import Comparison, LiveRun, compare_live, with_network
from tasksim.protocol.occurrences import Operation
from tasksim.protocol.states import Status
from tasksim.report.live_text import comparison_text
from tasksim.scenario.loading import load
from tasksim.scenario.workload import Workload

OVERRIDES = [
    "tasks=60",
    "arrivals.rate=30",
    "work.0.duration={kind='uniform', low_s=0.2, high_s=1.2}",
    "work.0.failed_share=0.1",
    "requesters.sdk.polling.default_s=0.25",
    "requesters.sdk.created_timeout_s=1",
    "receiver.poll_frequency.interval_s=0.25",
    "requesters.sdk.cancel_share=0.2",
    "requesters.sdk.cancel_after={kind='uniform', low_s=0.05, high_s=1}",
    "faults.created_lost_share=0.1",
]


@pytest.fixture(scope="module")
def outcome() -> tuple[Comparison, LiveRun, Any]:
    return compare_live(load("live-smoke", OVERRIDES))


def test_every_task_went_through_and_no_law_is_broken(outcome: Any) -> None:
    comparison, live, _ = outcome
    assert comparison.tasks == comparison.compared == 60
    assert check_log(live.run.events) == []
    assert comparison.broken_laws == ()


def test_both_sides_saw_the_same_world(outcome: Any) -> None:
    """Arrivals, durations, requesters, fates: the same numbers, to the nanosecond."""
    _, live, simulated = outcome
    measured, expected = live.run.tasks, simulated.tasks
    for name in ("task", "requester", "arrival_at", "dictated_ns", "created_lost"):
        assert np.array_equal(getattr(measured, name), getattr(expected, name)), name
    worked = measured.terminal_at - measured.started_at
    is_whole = measured.status != Status.CANCELLED
    assert np.array_equal(worked[is_whole], measured.dictated_ns[is_whole])
    # A cancel may race a completion by less than a round trip; few of sixty can.
    assert np.mean(measured.outcome == expected.outcome) > 0.9
    assert 0 < (~is_whole).sum() < 30


def test_lost_notifications_were_made_up_for(outcome: Any) -> None:
    _, live, _ = outcome
    tasks = live.run.tasks
    is_lost = tasks.created_lost == 1
    assert 0 < is_lost.sum() < 60
    assert (tasks.heard_at[is_lost] == NEVER).all()
    assert (tasks.heard_at[~is_lost] != NEVER).all()


def test_nobody_polls_early(outcome: Any) -> None:
    """Gaps keep the advertised interval but for the lateness that is made up for."""
    _, live, _ = outcome
    log = live.run.events
    for task in range(60):
        rows = log.task == task
        sent = log.at[rows & (log.kind == 14) & (log.operation == 1)]
        assert (np.diff(sent) >= 0.25e9 - 5.1e6).all()


def test_the_comparison_is_told(outcome: Any) -> None:
    comparison, _, _ = outcome
    text = comparison_text(comparison, load("live-smoke", OVERRIDES))
    assert "The simulation told the instant" in text
    plain = comparison.as_dict()
    assert set(plain["pairs"]["polls per task"]) == {"measured", "simulated", "difference"}
    assert plain["rtt_ms"] > 0


def test_a_network_of_half_a_round_trip_each_way_is_simulated() -> None:
    workload = Workload(with_network(load("live-smoke"), 1_000_000))
    assert workload.messages.reply_leg_ns(workload.key_of(0), 0, Operation.CREATED, 0) == 500_000


def test_nothing_listens_is_told_and_ends(tmp_path: Path) -> None:
    path = launch.save_scenario(tmp_path, load("live-smoke", ["tasks=2"]))
    with pytest.raises(launch.TargetFailedError, match="no connection"):
        launch.run_load(path, "http://127.0.0.1:9/mcp", tmp_path / "c.parquet", limit_s=30)


def test_a_receiver_that_does_not_come_up_is_told(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("x = 1\n")
    with (
        pytest.raises(launch.TargetFailedError, match="x: is not a key here"),
        launch.running_receiver(bad, tmp_path / "r.parquet"),
    ):
        pass


def test_drive_tells_what_the_requesters_saw(tmp_path: Path) -> None:
    scenario = load("live-smoke", [*OVERRIDES, "tasks=10"])
    path = launch.save_scenario(tmp_path, scenario)
    with launch.running_receiver(path, tmp_path / "r.parquet") as url:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "tasksim", "drive", str(path), "--target", url),
                *("--log", str(tmp_path / "kept.parquet")),
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "Of 10 tasks" in done.stdout
    assert (tmp_path / "kept.parquet").exists()


def test_ctrl_c_keeps_the_log_of_a_drive_and_stops_the_load(tmp_path: Path) -> None:
    """A hundred tasks of ten seconds each, cut after three seconds."""
    changes = ["tasks=100", "arrivals.rate=20", "work.0.duration={kind='constant', value_s=10}"]
    path = launch.save_scenario(tmp_path, load("live-smoke", changes))
    kept = tmp_path / "kept.parquet"
    with launch.running_receiver(path, tmp_path / "r.parquet") as url:
        child = subprocess.Popen(
            [
                *(sys.executable, "-m", "tasksim", "drive", str(path), "--target", url),
                *("--log", str(kept)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(6)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=40)
    assert child.returncode == 130, err
    assert "interrupted: the answer is from what was seen until then" in err
    assert "tasks were still open at the end" in " ".join(out.split())
    log = read_log(kept)
    assert len(log) > 0
    assert check_log(log) == []
