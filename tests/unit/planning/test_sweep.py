"""Sweeps: every point checked first, kept when finished, the same for any number of workers."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tasksim.cli import main
from tasksim.engines import simulate
from tasksim.metrics.summary import summarise
from tasksim.planning import sweep as sweeping
from tasksim.planning.sweep import axis_of, estimates_of, points_of, sweep
from tasksim.report.sweep_results import sweep_figure
from tasksim.scenario.loading import load
from tasksim.scenario.problems import InputError

INTERVAL = "receiver.poll_frequency.interval_s"
QUICK = ["tasks=80", "warmup_s=5"]


def test_ranges_are_even_on_their_scale() -> None:
    assert axis_of("a.b=1:100:log3").values == ("1", "10", "100")
    assert axis_of("a.b=0:10:lin3").values == ("0", "5", "10")
    assert axis_of("a.b=1,2,x").values == ("1", "2", "x")
    tables = axis_of("p={ kind = 'fixed', interval_s = 1 },{ kind = 'hint' }").values
    assert tables == ("{ kind = 'fixed', interval_s = 1 }", "{ kind = 'hint' }")


@pytest.mark.parametrize(
    "text", ["a", "a=", "a=1:2:3", "a=2:1:lin3", "a=0:1:log3", "a=1:x:lin3", "a=1:2:log1"]
)
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--over"):
        axis_of(text)


def test_every_point_is_checked_before_the_first_one_runs() -> None:
    axes = [axis_of(f"{INTERVAL}=1,-1,-2"), axis_of("receiver.workers=5,0")]
    with pytest.raises(InputError) as caught:
        points_of("demo", axes, [])
    told = str(caught.value)
    assert "not -1" in told
    assert "not -2" in told
    assert "receiver.workers" in told


def test_a_key_is_swept_once() -> None:
    axes = [axis_of("receiver.workers=1,2"), axis_of("receiver.workers=3,4")]
    with pytest.raises(InputError, match=r"receiver.workers: is given more than once"):
        points_of("demo", axes, [])


def points(*over: str) -> Any:
    axes = [axis_of(text) for text in over]
    return axes, points_of("demo", axes, QUICK)


def test_a_point_is_what_a_run_says(tmp_path: Path) -> None:
    axes, found = points(f"{INTERVAL}=1,5")
    done = sweep(axes, found, replications=2, folder=tmp_path, jobs=1)
    scenario = load("demo", [*QUICK, f"{INTERVAL}=5"])
    runs = [simulate(scenario, replication=replication) for replication in range(2)]
    summary = summarise(runs, scenario)
    estimates = estimates_of(done.values[1])
    for metric in ("detection_delay_s.p95", "polls_per_task.mean", "requests_per_s.total"):
        assert estimates[metric] == summary.get(metric)


def test_the_number_of_workers_changes_nothing(tmp_path: Path) -> None:
    axes, found = points(f"{INTERVAL}=1:20:log4")
    one = sweep(axes, found, replications=2, folder=tmp_path / "one", jobs=1)
    two = sweep(axes, found, replications=2, folder=tmp_path / "two", jobs=2)
    assert one.values == two.values


def test_a_sweep_goes_on_where_it_was_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes, found = points(f"{INTERVAL}=1,2,3,4")
    whole = sweep(axes, found, replications=1, folder=tmp_path / "whole", jobs=1)
    real, calls = sweeping._run, []

    def cut(index: int, *rest: Any) -> Any:
        calls.append(index)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(index, *rest)

    monkeypatch.setattr(sweeping, "_run", cut)
    first = sweep(axes, found, replications=1, folder=tmp_path / "cut", jobs=1)
    assert first.interrupted
    assert sum(values is not None for values in first.values) == 2
    second = sweep(axes, found, replications=1, folder=tmp_path / "cut", jobs=1)
    assert not second.interrupted
    assert len(calls) == 3 + 2, "what was finished is not run again"
    assert second.values == whole.values


def test_what_is_kept_but_broken_is_run_again(tmp_path: Path) -> None:
    axes, found = points(f"{INTERVAL}=1,2")
    first = sweep(axes, found, replications=1, folder=tmp_path, jobs=1)
    for path in (tmp_path / "points").iterdir():
        path.write_text("{")
    assert sweep(axes, found, replications=1, folder=tmp_path, jobs=1).values == first.values


@pytest.mark.parametrize("over", [[f"{INTERVAL}=1,5"], [f"{INTERVAL}=1,5", "receiver.workers=5,9"]])
def test_the_command_leaves_a_tidy_table_and_a_figure(
    capsys: Any, tmp_path: Path, over: list[str]
) -> None:
    command = ["sweep", "demo", "--replications", "2", "--jobs", "1", "--out", str(tmp_path)]
    for text in over:
        command += ["--over", text]
    for text in QUICK:
        command += ["--set", text]
    assert main(command) == 0
    assert "detection_delay_s.mean" in capsys.readouterr().out
    table, frame = pd.read_csv(tmp_path / "sweep.csv"), pd.read_parquet(tmp_path / "sweep.parquet")
    assert list(table.columns) == [*(text.split("=")[0] for text in over), "metric", "value",
                                   "half_width_95"]  # fmt: skip
    pd.testing.assert_frame_equal(table, frame)
    polls = table[table["metric"] == "polls_per_task.mean"].groupby(INTERVAL)["value"].mean()
    assert polls.loc[1] > polls.loc[5]
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    origin = json.loads((tmp_path / "provenance.json").read_text())
    assert origin["over"] == over


def test_bad_input_writes_nothing(capsys: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["sweep", "demo", "--over", f"{INTERVAL}=0,1", "--out", str(out)]) == 2
    assert "must be > 0" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("over", [["receiver.workers=1,2"], ["receiver.workers=1,2", "seed=1,2"]])
def test_a_figure_of_metrics_that_nothing_was_measured_of(tmp_path: Path, over: list[str]) -> None:
    axes = [axis_of(text) for text in over]
    found = points_of("demo", axes, ["tasks=60"])  # all within the warm-up: no detection counts
    done = sweep(axes, found, replications=1, folder=tmp_path, jobs=1)
    assert all("detection_delay_s.mean" not in estimates_of(values) for values in done.values)
    assert sweep_figure(done) is not None  # without a warning, which would be an error here
