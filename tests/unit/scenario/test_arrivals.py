"""Bursty and closed arrivals, and logs with columns missing."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasksim.engines import simulate
from tasksim.eventlog.schema import NEVER
from tasksim.protocol.occurrences import Reason
from tasksim.scenario.loading import ScenarioError, parse
from tasksim.scenario.workload import Workload, mean_rate
from tests.public_logs import AZURE, needs

S = 1_000_000_000

BURSTY = """
tasks = {tasks}
[arrivals]
kind = "bursty"
rates = [0.5, 10]
mean_s = [20, 5]
[[work]]
duration = {{ kind = "constant", value_s = 1 }}
"""


def instants(text: str) -> np.ndarray[Any, Any]:
    return np.array([plan.arrival_at for plan in Workload(parse(text, "f")).tasks()])


def test_bursts_have_their_mean_rate_and_come_in_bursts() -> None:
    """Mean rate (0.5 * 20 + 10 * 5) / 25 = 2.4; the index of dispersion far above Poisson's 1."""
    scenario = parse(BURSTY.format(tasks=40_000), "f")
    assert mean_rate(scenario) == pytest.approx(2.4)
    at = instants(BURSTY.format(tasks=40_000))
    span_s = at[-1] / S
    counts = np.bincount((at // (25 * S)).astype(int))
    # 600-odd cycles; the standard error of the rate by the counts' own spread, 5 of them.
    error = 5 * counts.std() / math.sqrt(len(counts)) / 25
    assert len(at) / span_s == pytest.approx(2.4, abs=error)
    assert counts.var() / counts.mean() > 5


def test_a_silent_state_lets_nothing_come() -> None:
    text = BURSTY.format(tasks=3000).replace("[0.5, 10]", "[0, 100]").replace("[20, 5]", "[50, 1]")
    gaps = np.diff(instants(text)) / S
    assert (gaps > 5).sum() == pytest.approx(3000 / 100, rel=0.6)


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    short, long = instants(BURSTY.format(tasks=50)), instants(BURSTY.format(tasks=100))
    assert (long[:50] == short).all()


CLOSED = """
tasks = {tasks}
[arrivals]
kind = "closed"
users = {users}
think = {{ kind = "constant", value_s = 4 }}
[[requesters]]
name = "few"
share = 0.25
polling = {{ kind = "fixed", interval_s = 1 }}
[[requesters]]
name = "many"
share = 0.75
polling = {{ kind = "fixed", interval_s = {interval} }}
[[work]]
duration = {{ kind = "constant", value_s = {work} }}
"""


def test_users_wait_for_their_task_and_think() -> None:
    """One user: 4 s of thought, 2 s of work seen after 2 s: a task every 6 s."""
    text = CLOSED.format(tasks=5, users=1, interval=1, work=2)
    arrivals = simulate(parse(text, "f")).tasks.arrival_at / S
    assert arrivals == pytest.approx([4, 10, 16, 22, 28], abs=1e-6)


def test_users_are_dealt_out_by_share() -> None:
    text = CLOSED.format(tasks=40, users=8, interval=1, work=2)
    table = simulate(parse(text, "f")).tasks
    assert np.unique(table.requester).tolist() == list(range(8))
    load = Workload(parse(text, "f"))
    populations = [load.task_of_user(user, 0, 0).population for user in range(8)]
    assert populations == [0, 0, 1, 1, 1, 1, 1, 1]


def test_a_users_task_is_the_same_whatever_the_policy() -> None:
    """User 3's second task has the same duration, however often it is polled."""
    law = "{ kind = 'exponential', mean_s = 3 }"
    found = []
    for interval in (1, 5):
        text = CLOSED.format(tasks=60, users=8, interval=interval, work=2)
        scenario = parse(text, "f", [f"work.0.duration={law}"])
        table = simulate(scenario).tasks
        found.append(dict(zip(table.task.tolist(), table.dictated_ns.tolist(), strict=True)))
    common = found[0].keys() & found[1].keys()
    assert len(common) > 20
    assert all(found[0][task] == found[1][task] for task in common)


def test_a_closed_model_ends_at_its_horizon() -> None:
    text = CLOSED.format(tasks=10_000, users=3, interval=1, work=2).replace(
        "tasks = 10000", "horizon_s = 100"
    )
    table = simulate(parse(text, "f")).tasks
    assert table.arrival_at.max() < 100 * S
    assert not (table.outcome == NEVER).any()


def test_a_count_of_requesters_contradicts_users() -> None:
    text = CLOSED.format(tasks=5, users=4, interval=1, work=2)
    with pytest.raises(ScenarioError, match=r"requesters\.many\.count: arrivals\.users says"):
        parse(text, "f", ["requesters.many.count=3"])


# Traces.


def write(path: Path, rows: list[list[object]]) -> None:
    with path.open("w", newline="") as lines:
        csv.writer(lines).writerows(rows)


def trace(folder: Path, extra: str, work: str = "") -> list[Any]:
    text = f'[arrivals]\nkind = "trace"\nfile = "t.csv"\n{extra}\n{work}'
    return list(Workload(parse(text, "f", folder=folder)).tasks())


def test_time_stamps_are_read_to_the_nanosecond(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", [["TIMESTAMP", "GeneratedTokens"],
                               ["2023-11-16 18:17:03.9799600", 10],
                               ["2023-11-16 18:17:04.0319601", 8],
                               ["2023-11-16T18:17:05+00:00", 8]])  # fmt: skip
    columns = (
        'columns = { arrival = "TIMESTAMP", duration = "GeneratedTokens", requester = false }\n'
        "duration_scale = 0.02"
    )
    plans = trace(tmp_path, columns)
    assert [plan.arrival_at for plan in plans] == [0, 52_000_100, 1_020_040_000]
    assert [plan.duration_ns for plan in plans] == [200_000_000, 160_000_000, 160_000_000]


def test_a_trace_without_arrivals_comes_at_a_rate(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", [["duration_s"], *([n + 1] for n in range(500))])
    columns = "columns = { arrival = false, requester = false }\nrate = 2"
    plans = trace(tmp_path, columns)
    assert [plan.duration_ns // S for plan in plans] == list(range(1, 501))
    assert plans[-1].arrival_at / S == pytest.approx(250, abs=5 * math.sqrt(500) / 2)
    with pytest.raises(ScenarioError, match=r"arrivals\.rate: is missing"):
        trace(tmp_path, "columns = { arrival = false, requester = false }")


def test_a_trace_may_name_classes(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", [["arrival_s", "tool"], [0, "b"], [1, "a"], [2, "b"]])
    columns = 'columns = { requester = false, duration = false, work = "tool" }'
    work = "".join(
        f"[[work]]\nname = '{name}'\nshare = 0.5\n"
        f"duration = {{ kind = 'constant', value_s = {value} }}\n"
        for name, value in (("a", 1), ("b", 2))
    )
    plans = trace(tmp_path, columns, work)
    assert [plan.duration_ns // S for plan in plans] == [2, 1, 2]
    write(tmp_path / "t.csv", [["arrival_s", "tool"], [0, "b"], [1, "c"]])
    with pytest.raises(ScenarioError, match=r"line 3: no \[\[work\]\] table is named 'c'"):
        trace(tmp_path, columns, work)


def test_a_trace_can_be_thinned_by_its_own_draws(tmp_path: Path) -> None:
    write(tmp_path / "t.csv", [["arrival_s", "duration_s"], *([n, n] for n in range(2000))])
    columns = "columns = { requester = false }\nkeep_share = 0.25"
    plans = trace(tmp_path, columns)
    assert len(plans) == pytest.approx(500, abs=5 * math.sqrt(2000 * 0.25 * 0.75))
    assert [plan.index for plan in plans] == list(range(len(plans)))


@needs(AZURE)
def test_the_azure_trace_runs_as_it_stands() -> None:
    text = f"""
    [arrivals]
    kind = "trace"
    file = "{AZURE}"
    columns = {{ arrival = "TIMESTAMP", duration = "GeneratedTokens", requester = false }}
    duration_scale = 0.02
    tasks = 500
    [receiver]
    workers = 20
    """
    table = simulate(parse(text, "f")).tasks
    assert (table.outcome == Reason.RETRIEVED).all()
