"""The command line as a user meets it: answers on stdout, complaints on stderr, exit codes."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tasksim.cli import main
from tasksim.eventlog.store import read_tasks
from tasksim.planning.provenance import combined_digest
from tasksim.scenario.loading import catalogue_names


def run(capsys: Any, *argv: str) -> tuple[int, str, str]:
    status = main(argv)
    out = capsys.readouterr()
    return status, out.out, out.err


def test_an_answer_leads_with_three_sentences_and_leaves_stderr_alone(capsys: Any) -> None:
    status, out, err = run(capsys, "run", "minimal", "--set", "tasks=200")
    assert (status, err) == (0, "")
    assert "Of 200 tasks" in out
    assert "detection delay, s" in out


def test_json_has_the_agreed_names(capsys: Any) -> None:
    status, out, _ = run(
        capsys, "run", "demo", "--set", "horizon_s=300", "--replications", "2", "--format", "json"
    )
    answer = json.loads(out)
    assert status == 0
    metrics = answer["metrics"]
    for name in ("detection_delay_s", "waiting_s", "service_s", "sojourn_s", "turnaround_s"):
        assert set(metrics[name]) == {"mean", "p50", "p95", "p99", "max"}
        assert set(metrics[name]["mean"]) == {"value", "half_width"}
    assert set(metrics["requests_per_s"]) == {"total", "by_operation", "peak"}
    assert set(metrics["resident_tasks"]) == {"mean", "max"}
    for name in ("lost_result_share", "rejected_share", "rate_limited_share", "utilization"):
        assert set(metrics[name]) == {"value", "half_width"}
    assert "value" in metrics["polls_per_task"]["mean"]
    assert set(answer["provenance"]) >= {
        "scenario_digest", "log_digest", "seed", "engine", "versions",
    }  # fmt: skip
    assert answer["tasks"]["arrived"] > 0


def test_the_same_command_gives_the_same_answer(capsys: Any) -> None:
    command = ("run", "demo", "--set", "tasks=100", "--format", "json")
    assert run(capsys, *command) == run(capsys, *command)


def test_results_are_written_whole(capsys: Any, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "results"
    status, _, err = run(
        capsys, "run", "minimal", "--set", "tasks=100", "--level", "events", "--out", str(out)
    )
    assert status == 0
    names = {path.name for path in out.iterdir()}
    assert names == {
        "scenario.toml", "summary.csv", "tasks.parquet", "events.parquet", "figure.png",
        "figure.svg", "provenance.json",
    }  # fmt: skip
    assert err.count("wrote ") == len(names)
    assert len(read_tasks(out / "tasks.parquet")) == 100
    with (out / "summary.csv").open() as lines:
        rows = {row["metric"]: row for row in csv.DictReader(lines)}
    assert rows["tasks.arrived"]["value"] == "100"
    again, text, _ = run(capsys, "run", str(out / "scenario.toml"), "--format", "json")
    assert again == 0
    provenance = json.loads((out / "provenance.json").read_text())
    assert json.loads(text)["provenance"]["scenario_digest"] == provenance["scenario_digest"]


def test_a_written_scenario_finds_its_trace_wherever_the_folder_is_moved_with_it(
    capsys: Any, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "t.csv").write_text("arrival_s,requester,duration_s\n0,a,3\n1,b,4\n")
    (home / "s.toml").write_text("[arrivals]\nkind = 'trace'\nfile = 't.csv'\n")
    assert run(capsys, "run", str(home / "s.toml"), "--out", str(home / "out"))[0] == 0
    home.rename(tmp_path / "moved")
    status, out, _ = run(capsys, "run", str(tmp_path / "moved" / "out" / "scenario.toml"))
    assert status == 0
    assert "Of 2 tasks" in out


def test_bad_input_is_told_once_with_exit_code_2(capsys: Any) -> None:
    status, out, err = run(capsys, "run", "demo", "--set", "arrivals.rate=-1", "--set", "sed=2")
    assert (status, out) == (2, "")
    assert err.splitlines() == [
        "--set sed: is not a key here; did you mean seed?",
        "--set arrivals.rate: must be > 0, not -1",
    ]


def test_a_missing_scenario_is_told(capsys: Any) -> None:
    status, _, err = run(capsys, "run", "nowhere.toml")
    assert status == 2
    assert err.startswith("nowhere.toml: no such file")


def test_a_place_that_cannot_be_written_is_told_before_anything_runs(
    capsys: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    status, out, err = run(capsys, "run", "demo", "--out", str(tmp_path / "file" / "x"))
    assert (status, out) == (2, "")
    assert "cannot write there" in err


@pytest.mark.parametrize("count", ["0", "-1", "x", "1.5"])
def test_a_number_of_replications_is_a_whole_number(capsys: Any, count: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "demo", "--replications", count])
    assert caught.value.code == 2
    assert "must be a whole number >= 1" in capsys.readouterr().err


def test_the_catalogue_is_listed(capsys: Any) -> None:
    _, names, _ = run(capsys, "scenarios", "--format", "names")
    assert names.split() == catalogue_names()
    _, text, _ = run(capsys, "scenarios")
    assert len(text.splitlines()) == len(catalogue_names())
    _, plain, _ = run(capsys, "scenarios", "--format", "json")
    assert set(json.loads(plain)) == set(catalogue_names())


def test_the_schema_is_printed(capsys: Any) -> None:
    status, out, _ = run(capsys, "schema")
    assert status == 0
    assert json.loads(out)["title"] == "Scenario"


def test_load_goes_to_this_machine_only(capsys: Any) -> None:
    status, _, err = run(capsys, "drive", "minimal", "--target", "http://192.0.2.1/mcp")
    assert status == 2
    assert "load goes to this machine only" in err


def test_a_port_that_is_taken_is_told(capsys: Any) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, _, err = run(capsys, "serve", "minimal", "--port", port)
    assert status == 2
    assert f"--port {port}: cannot listen there" in err


def test_ctrl_c_keeps_finished_replications_and_says_so() -> None:
    """1,000 replications of a scenario that takes a fraction of a second each."""
    command = [
        *(sys.executable, "-m", "tasksim", "run", "minimal", "--set", "tasks=2000"),
        *("--replications", "1000", "--format", "json"),
    ]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    time.sleep(4)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "interrupted: the answer is from" in err
    kept = json.loads(out)["replications"]
    assert 1 <= kept < 1000
    assert f"{kept} of 1000 replications" in err


def test_digests_of_replications_combine_in_order() -> None:
    assert combined_digest(["a"]) == "a"
    assert combined_digest(["a", "b"]) != combined_digest(["b", "a"])


def test_heavy_packages_load_on_use() -> None:
    script = "import sys, tasksim.cli; print([m for m in %r if m in sys.modules])"
    heavy = ["simpy", "scipy", "pandas", "matplotlib", "pyarrow", "locust", "gevent", "starlette"]
    done = subprocess.run(
        [sys.executable, "-c", script % heavy], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


OBJECTIVES = '--set=objectives={{"detection_delay_s.mean" = {{ max = {} }}}}'


@pytest.mark.parametrize(("limit", "status", "word"), [(3, 0, "MET"), (1, 1, "MISSED")])
def test_objectives_decide_the_exit_code(capsys: Any, limit: int, status: int, word: str) -> None:
    found, out, _ = run(capsys, "run", "minimal", "--replications", "3", OBJECTIVES.format(limit))
    assert found == status
    assert f"objective detection_delay_s.mean <= {limit}: " in out
    assert f" {word}\n" in out


def test_an_objective_that_is_no_metric_is_refused(capsys: Any) -> None:
    status, _, err = run(capsys, "run", "minimal", "--set", 'objectives={"polls.mean" = {max = 1}}')
    assert status == 2
    assert "objectives.polls.mean: is no metric; did you mean" in err


def test_a_sound_log_is_verified_and_a_broken_one_is_told(capsys: Any, tmp_path: Path) -> None:
    import dataclasses

    from tasksim.eventlog.store import read_log, write_log

    run(capsys, "run", "minimal", "--set", "tasks=50", "--level", "events", "--out", str(tmp_path))
    for name, what in (("events", "events"), ("tasks", "tasks")):
        status, out, _ = run(capsys, "verify", str(tmp_path / f"{name}.parquet"))
        assert status == 0
        assert f"{what}: every law holds" in out
    log = read_log(tmp_path / "events.parquet")
    spoiled = dataclasses.replace(log, at=log.at[::-1].copy())
    write_log(tmp_path / "bad.parquet", spoiled, provenance={})
    status, out, _ = run(capsys, "verify", str(tmp_path / "bad.parquet"), "--format", "json")
    assert status == 1
    assert json.loads(out)["broken"]


def test_verifying_what_is_no_log_is_bad_input(capsys: Any, tmp_path: Path) -> None:
    status, _, err = run(capsys, "verify", str(tmp_path / "nowhere.parquet"))
    assert status == 2
    assert "cannot be read" in err


def test_one_tasks_messages_are_drawn(capsys: Any) -> None:
    status, out, _ = run(capsys, "trace", "minimal", "--set", "tasks=3", "--task", "2")
    assert status == 0
    assert out.startswith("sequenceDiagram")
    assert "closed (retrieved)" in out
    status, out, err = run(capsys, "trace", "minimal", "--set", "tasks=3", "--task", "3")
    assert (status, out) == (2, "")
    assert err == "--task 3: there are tasks 0 to 2\n"


def test_a_log_that_could_not_be_kept_is_told_before_the_load(capsys: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "nowhere" / "log.parquet")
    status, _, err = run(
        capsys, "drive", "minimal", "--target", "http://127.0.0.1:9/mcp", "--log", place
    )
    assert status == 2
    assert f"--log {place}: cannot write there" in err
