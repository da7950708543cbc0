"""The workload: fates that depend on their address alone."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tasksim.protocol.occurrences import Operation
from tasksim.scenario.loading import load, parse
from tasksim.scenario.workload import Workload

S = 1_000_000_000
BASE = """
{end}
[arrivals]
{arrivals}
[[requesters]]
name = "a"
share = 0.25
count = 2
[[requesters]]
name = "b"
share = 0.75
count = 3
[[work]]
failed_share = 0.1
duration = {{ kind = "exponential", mean_s = 30 }}
[network]
request = {{ kind = "constant", value_s = 0.5 }}
[faults]
created_lost_share = 0.2
"""


def workload(
    arrivals: str = 'kind = "poisson"\nrate = 2', end: str = "tasks = 4000", replication: int = 0
) -> Workload:
    return Workload(parse(BASE.format(end=end, arrivals=arrivals), "f.toml"), replication)


def test_the_same_address_has_the_same_fate() -> None:
    first, second = list(workload().tasks()), list(workload().tasks())
    assert first == second


def test_replications_differ_and_seeds_differ() -> None:
    one, other = workload(), workload(replication=1)
    assert next(one.tasks()) != next(other.tasks())
    seeded = workload(end="tasks = 4000\nseed = 2")
    assert next(one.tasks()) != next(seeded.tasks())


def test_a_limit_on_tasks_does_not_change_those_that_come() -> None:
    assert list(workload(end="tasks = 10").tasks()) == list(islice(workload().tasks(), 10))


def test_poisson_arrivals_have_their_rate() -> None:
    last = list(workload().tasks())[-1]
    # 4,000 gaps of 0.5 s: the standard error is 1.6 %; five of them, false alarms below 1e-6.
    assert last.arrival_at / S == pytest.approx(2000, rel=0.08)


def test_constant_arrivals_come_at_multiples_without_drift() -> None:
    plans = list(workload('kind = "constant"\nrate = 3', end="tasks = 1000").tasks())
    assert [plan.arrival_at for plan in plans[:4]] == [0, 333_333_333, 666_666_667, S]
    assert plans[999].arrival_at == 333 * S


def test_the_horizon_is_the_first_instant_at_which_nothing_arrives() -> None:
    plans = list(workload('kind = "constant"\nrate = 1', end="horizon_s = 5").tasks())
    assert [plan.arrival_at // S for plan in plans] == [0, 1, 2, 3, 4]


def test_shares_and_counts_divide_the_tasks() -> None:
    plans = list(workload().tasks())
    population = np.array([plan.population for plan in plans])
    # Binomial, 4,000 at 1/4, 1/10, 1/5: five standard errors; false alarms below 1e-6 each.
    assert np.mean(population == 0) == pytest.approx(0.25, abs=0.035)
    assert np.mean([plan.fails for plan in plans]) == pytest.approx(0.1, abs=0.024)
    requesters = {(plan.population, plan.requester) for plan in plans}
    assert requesters == {(0, 0), (0, 1), (1, 2), (1, 3), (1, 4)}
    assert workload().requesters == 5


def test_notifications_are_lost_at_their_share() -> None:
    load_ = workload()
    lost = [load_.messages.is_created_lost(plan.key) for plan in load_.tasks()]
    assert np.mean(lost) == pytest.approx(0.2, abs=0.032)


def test_a_leg_takes_its_law_and_at_least_a_nanosecond() -> None:
    load_ = workload()
    key = load_.key_of(0)
    assert load_.messages.request_leg_ns(key, 0, Operation.GET, 3) == S // 2
    assert load_.messages.reply_leg_ns(key, 0, Operation.GET, 3) == 1
    assert load_.messages.reply_leg_ns(key, 0, Operation.CREATED, 0) == 1


def test_the_work_that_nobody_dictates_is_the_work_that_was_drawn() -> None:
    load_ = workload()
    plan = next(load_.tasks())
    assert load_.duration_ns(plan.index) == plan.duration_ns


def test_the_expected_number_of_tasks_is_told() -> None:
    assert workload(end="horizon_s = 100").expected_tasks() == 200
    assert workload(end="horizon_s = 100\ntasks = 50").expected_tasks() == 50


def trace_scenario(folder: Path, days: int) -> str:
    rows = [
        f"{86_400 * day + hour * 3600},u{day},{day + 1}" for day in range(days) for hour in (1, 2)
    ]
    (folder / "t.csv").write_text("arrival_s,requester,duration_s\n" + "\n".join(rows) + "\n")
    return "[arrivals]\nkind = 'trace'\nfile = 't.csv'\n"


def test_the_first_replication_of_a_trace_is_the_trace(tmp_path: Path) -> None:
    scenario = parse(trace_scenario(tmp_path, 3), "f", folder=tmp_path)
    plans = list(Workload(scenario).tasks())
    assert [plan.requester for plan in plans] == [0, 0, 1, 1, 2, 2]
    assert [plan.duration_ns // S for plan in plans] == [1, 1, 2, 2, 3, 3]


def test_further_replications_resample_whole_days_and_say_so(tmp_path: Path) -> None:
    scenario = parse(trace_scenario(tmp_path, 30), "f", folder=tmp_path)
    load_ = Workload(scenario, replication=1)
    plans = list(load_.tasks())
    assert len(plans) == 60
    arrivals = [plan.arrival_at for plan in plans]
    assert arrivals == sorted(arrivals)
    days = [plan.requester for plan in plans]
    assert days[0::2] == days[1::2]  # both tasks of a day come together
    assert len(set(days)) < 30  # some days twice, some not at all
    assert load_.notes == ("replications after the first resample the trace's 30 days",)


def test_a_short_trace_is_repeated_as_it_is_and_says_so(tmp_path: Path) -> None:
    scenario = parse(trace_scenario(tmp_path, 1), "f", folder=tmp_path)
    load_ = Workload(scenario, replication=1)
    assert len(list(load_.tasks())) == 2
    assert load_.notes == (
        "the trace is shorter than two days: replications vary only the network",
    )


def test_the_demo_is_as_large_as_it_promises() -> None:
    assert len(list(Workload(load("demo")).tasks())) >= 2000
