"""Comparisons: on common random numbers, with intervals of differences."""

import json
from typing import Any

import numpy as np
import pytest

from tasksim.cli import main
from tasksim.engines import simulate
from tasksim.planning.compare import Contender, compare, contenders_of
from tasksim.scenario.loading import load
from tasksim.scenario.problems import InputError

QUICK = ["horizon_s=200", "warmup_s=20"]


def test_a_difference_is_that_of_pairs() -> None:
    """By hand: each replication's mean delay, its differences, their t-interval."""
    contenders = contenders_of(["demo"], ["mcp-1.30"], QUICK)
    comparison = compare(contenders, 4)
    means = []
    for each in contenders:
        row = []
        for replication in range(4):
            table = simulate(each.scenario, replication=replication).tasks
            kept = table.where(table.arrival_at >= 20_000_000_000)
            row.append(np.mean(kept.detected_at - kept.terminal_at) / 1e9)
        means.append(row)
    apart = np.array(means[1]) - np.array(means[0])
    contest = comparison.get("detection_delay_s.mean")
    assert contest is not None
    difference = contest.differences[1]
    assert difference is not None
    assert difference.value == pytest.approx(apart.mean())
    assert difference.half_width == pytest.approx(3.1824463 * apart.std(ddof=1) / 2)
    own = contest.values[1]
    assert own is not None
    assert own.half_width is not None
    assert difference.half_width < own.half_width, "pairs tell more than two means"


def test_polling_changes_no_service_and_that_is_seen_exactly() -> None:
    comparison = compare(contenders_of(["demo"], ["aws-waiter"], QUICK), 2)
    contest = comparison.get("service_s.mean")
    assert contest is not None
    assert contest.verdict(1) == "the same"


def test_less_is_better_and_more_is_worse() -> None:
    comparison = compare(contenders_of(["demo"], ["aws-waiter"], QUICK), 3)
    polls, delay = comparison.get("polls_per_task.mean"), comparison.get("detection_delay_s.mean")
    assert polls is not None
    assert delay is not None
    assert (polls.verdict(1), delay.verdict(1)) == ("better", "worse")


def test_worlds_that_differ_are_told() -> None:
    one = Contender(name="one", scenario=load("demo", QUICK))
    two = Contender(name="two", scenario=load("demo", [*QUICK, "seed=2"]))
    comparison = compare([one, two], 1)
    assert any("differ in seed" in warning for warning in comparison.warnings)
    assert any("no intervals" in warning for warning in comparison.warnings)


def test_there_must_be_something_to_compare() -> None:
    with pytest.raises(InputError, match="two scenarios"):
        contenders_of(["demo"], [], [])
    with pytest.raises(InputError, match="one scenario"):
        contenders_of(["demo", "minimal"], ["fastmcp"], [])
    with pytest.raises(InputError, match="is no preset"):
        contenders_of(["demo"], ["nobody"], [])


def test_the_command_says_who_is_better(capsys: Any) -> None:
    command = ["compare", "demo", "--policy", "aws-waiter", "--set", "horizon_s=200",
               "--set", "warmup_s=20", "--replications", "3"]  # fmt: skip
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "fewer polls a task" in text
    assert "worse" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert main([*command, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = answer["metrics"]["polls_per_task.mean"]["aws-waiter"]
    assert found["verdict"] == "better"
    assert found["difference"]["value"] < 0


def test_scenarios_are_compared_too(capsys: Any) -> None:
    command = ["compare", "minimal", "test-execution", "--set", "tasks=50", "--replications", "2"]
    assert main(command) == 0
    assert "they do not see the same tasks" in capsys.readouterr().out


def test_the_answer_does_not_depend_on_the_number_of_processes() -> None:
    contenders = contenders_of(["demo"], ["aws-waiter"], QUICK)
    assert compare(contenders, 3, jobs=2) == compare(contenders, 3)
