"""Rules that learn: what they make of tasks that have ended, and what they do before any has."""

import math

import pytest
from scipy import stats

from tasksim.policies.learning import NOTHING, learned, learning
from tasksim.policies.polling import Params

S = 1_000_000_000


def after(*durations_s: float) -> Params:
    lore = NOTHING
    for duration_s in durations_s:
        lore = learned(lore, int(duration_s * S))
    return lore


def gap_s(fit: str, lore: Params, age_s: float = 0.0, **limits: float) -> float:
    rule = learning(
        fit,  # type: ignore[arg-type]
        limits.get("ratio_s", 1.0) * S,
        int(limits.get("first_s", 7.0) * S),
        3,
        int(limits.get("least_s", 0.01) * S),
        int(limits.get("most_s", 1000.0) * S),
    )
    return rule.gap_ns(rule.params, (0.0, 0.0, *lore), 4, int(age_s * S), -1, -1, 0.0) / S


@pytest.mark.parametrize("fit", ["mean", "lognormal"])
def test_before_enough_tasks_have_ended_the_default_holds(fit: str) -> None:
    assert gap_s(fit, after(1.0, 1.0)) == 7.0


def test_the_mean_gives_the_interval_of_an_exponential_law() -> None:
    assert gap_s("mean", after(10.0, 20.0, 60.0)) == pytest.approx(math.sqrt(2 * 30.0))


@pytest.mark.parametrize("age_s", [1.0, 10.0, 30.0, 90.0])
def test_the_fit_gives_the_interval_at_the_hazard_of_its_law(age_s: float) -> None:
    durations = [5.0, 8.0, 20.0, 33.0, 90.0]
    logs = [math.log(duration * S) for duration in durations]
    centre = sum(logs) / 5
    spread = math.sqrt(sum((log - centre) ** 2 for log in logs) / 5)
    law = stats.lognorm(spread, scale=math.exp(centre) / S)
    hazard = law.pdf(age_s) / law.sf(age_s)
    expected = min(math.sqrt(2 / hazard), 1000.0)
    assert gap_s("lognormal", after(*durations), age_s) == pytest.approx(expected, rel=1e-6)


def test_the_limits_hold_and_far_tails_do_not_break_anything() -> None:
    lore = after(*[10.0] * 5)
    assert gap_s("lognormal", lore, 0.0, most_s=50.0) == 50.0
    assert gap_s("lognormal", lore, 1e7, least_s=0.5) >= 0.5
    assert gap_s("mean", lore, ratio_s=1e-9, least_s=0.5) == 0.5


def test_equal_durations_are_no_proof_that_all_are_equal() -> None:
    assert gap_s("lognormal", after(*[10.0] * 5), 9.0) > 0.1
