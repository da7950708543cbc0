"""What a receiver advertises: by hand, and where it comes from."""

import math

import pytest

from tasksim.engines import simulate
from tasksim.metrics.summary import summarise
from tasksim.policies import advice
from tasksim.policies.advice import Advice
from tasksim.scenario.loading import ScenarioError, load, parse
from tasksim.scenario.rules import receiver_rules

S = 1_000_000_000


def told(rule: Advice, age_ns: int = 0, open_tasks: int = 1) -> int:
    return rule.interval_ns(rule.params, age_ns, open_tasks)


def test_one_interval_always() -> None:
    assert told(advice.fixed(5 * S), 100 * S, 1000) == 5 * S


@pytest.mark.parametrize(("tasks", "interval_s"), [(0, 1), (4, 1), (10, 1), (50, 5), (10_000, 60)])
def test_many_tasks_share_a_budget_of_polls(tasks: int, interval_s: int) -> None:
    """Ten polls a second in all: each of N tasks every N / 10 seconds."""
    rule = advice.load_dependent(S // 10, S, 60 * S)
    assert told(rule, 0, tasks) == interval_s * S


@pytest.mark.parametrize(
    ("age_s", "interval_s"), [(0, 1), (9, 1), (10, 2), (29, 2), (30, 4), (99, 4)]
)
def test_an_age_finds_its_interval(age_s: int, interval_s: int) -> None:
    rule = advice.age_dependent([10 * S, 30 * S], [S, 2 * S, 4 * S])
    assert told(rule, age_s * S) == interval_s * S


AGED = """
tasks = 10
[arrivals]
kind = "poisson"
rate = 1
[[work]]
duration = {law}
[receiver]
poll_frequency = {{ kind = "age-dependent", poll_cost = 2, delay_cost_per_s = 0.1, min_s = 0.1 }}
"""


def test_work_without_memory_is_polled_evenly() -> None:
    """Hazard 1/30 a second: sqrt(2 * 2 / (0.1 / 30)) = 34.6 s at every age."""
    law = "{ kind = 'exponential', mean_s = 30 }"
    rule = receiver_rules(parse(AGED.format(law=law), "f")).advice
    assert rule is not None
    for age_s in (1, 10, 40, 80):
        assert told(rule, age_s * S) / S == pytest.approx(math.sqrt(2 * 2 * 30 / 0.1), rel=0.15)


def test_work_that_becomes_likelier_to_go_on_is_polled_less_and_less() -> None:
    law = "{ kind = 'weibull', shape = 0.5, mean_s = 30 }"
    rule = receiver_rules(parse(AGED.format(law=law), "f")).advice
    assert rule is not None
    intervals = [told(rule, age_s * S) for age_s in (1, 10, 60)]
    assert intervals == sorted(intervals)
    assert intervals[0] * 2 < intervals[2]


def test_a_budget_of_polls_is_kept_in_a_run() -> None:
    """66 tasks open on average: every 5 s they make 13 polls a second; the budget is 4."""
    overrides = [
        "requesters.impatient.polling={ kind = 'hint', default_s = 5 }",
        "receiver.poll_frequency={ kind = 'load-dependent', polls_per_s = 4 }",
    ]
    rates = []
    for changes in ([overrides[0]], overrides):
        scenario = load("demo", changes)
        found = summarise([simulate(scenario)], scenario).get("requests_per_s.by_operation.get")
        assert found is not None
        rates.append(found.value)
    assert rates[0] > 12
    # The first poll of each task, 2.2 a second, comes before it has been told anything.
    assert rates[1] < 4 + 2.2 + 1


def test_hazards_need_laws() -> None:
    with pytest.raises(ScenarioError, match="needs a law of the work"):
        parse(
            AGED.format(law="{ kind = 'constant', value_s = 1 }").replace(
                "[[work]]\nduration = { kind = 'constant', value_s = 1 }\n", ""
            ),
            "f",
        )
