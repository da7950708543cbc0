"""Simulation against closed forms, with a stated false-alarm rate.

Every test uses ``SUITE_ALPHA / TESTS``; with the seeds fixed, a failure is a change in code. The
power test injects a bias into what the others compare with, and requires its detection.
"""

import dataclasses
import datetime as dt
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from tasksim.engines import simulate
from tasksim.scenario.loading import parse
from tasksim.scenario.model import Scenario

SUITE_ALPHA = 1e-6
TESTS = 14
ALPHA = SUITE_ALPHA / TESTS
S = 1_000_000_000
MEAN_S, INTERVAL_S = 30.0, 10.0
THETA = 1.0 / MEAN_S


def exponential_work(first: str) -> Scenario:
    return parse(
        f"""
tasks = 1500
[arrivals]
kind = "poisson"
rate = 1
[[requesters]]
polling = {{ kind = "fixed", interval_s = {INTERVAL_S}, first = "{first}" }}
[[work]]
duration = {{ kind = "exponential", mean_s = {MEAN_S} }}
""",
        "theory.toml",
    )


@cache
def replications(first: str, seed: int = 1, count: int = 30) -> tuple[list[float], list[float]]:
    """Means over tasks of detection delay (s) and polls, one a replication."""
    scenario = dataclasses.replace(exponential_work(first), seed=seed)
    delays, polls = [], []
    for replication in range(count):
        tasks = simulate(scenario, replication=replication).tasks
        delays.append(float(np.mean(tasks.detected_at - tasks.terminal_at)) / S)
        polls.append(float(np.mean(tasks.polls_sent)))
    return delays, polls


def pvalue(means: list[float], expected: float) -> float:
    return float(stats.ttest_1samp(means, expected).pvalue)


def detection_delay_s() -> float:
    """Mean detection delay of exponential work polled from its start every p seconds.

    Model: work Exp(theta), polls at p, 2p, ... after its start, no network delay.
    Formula: p / (1 - exp(-theta p)) - 1 / theta. Source: the excess of a geometric number of
    intervals over the work, E[N] p - E[X], N as in ``polls_per_task``.
    """
    return INTERVAL_S / (1 - math.exp(-THETA * INTERVAL_S)) - MEAN_S


def polls_per_task() -> float:
    """Mean number of polls: P(N > n) = exp(-theta n p), so N is geometric from 1."""
    return 1 / (1 - math.exp(-THETA * INTERVAL_S))


def test_detection_delay_of_polling_from_the_start() -> None:
    delays, _ = replications("after-interval")
    assert pvalue(delays, detection_delay_s()) > ALPHA


def test_polls_per_task_of_polling_from_the_start() -> None:
    _, polls = replications("after-interval")
    assert pvalue(polls, polls_per_task()) > ALPHA


def test_a_random_phase_makes_the_delay_half_an_interval_whatever_the_work() -> None:
    delays, _ = replications("random-phase")
    assert pvalue(delays, INTERVAL_S / 2) > ALPHA


def test_a_bias_of_two_per_cent_in_delays_and_of_five_in_polls_would_be_seen() -> None:
    delays, polls = replications("after-interval")
    assert pvalue(delays, 1.02 * detection_delay_s()) < ALPHA
    assert pvalue(polls, 1.05 * polls_per_task()) < ALPHA


def erlang_c(servers: int, load: float) -> float:
    """Probability of waiting in M/M/c (Erlang 1917); *load* in erlangs, below *servers*."""
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def test_waiting_for_one_of_four_workers_is_erlangs() -> None:
    """M/M/4 at 0.6: mean waiting time C(4, 2.4) / (4 mu - lambda), warm-up removed."""
    scenario = parse(
        """
tasks = 6000
[arrivals]
kind = "poisson"
rate = 0.6
[[requesters]]
polling = { kind = "fixed", interval_s = 60 }
[[work]]
duration = { kind = "exponential", mean_s = 4 }
[receiver]
workers = 4
""",
        "mmc.toml",
    )
    means = []
    for replication in range(12):
        tasks = simulate(scenario, replication=replication).tasks
        means.append(float(np.mean((tasks.started_at - tasks.created_at)[1000:])) / S)
    expected = erlang_c(4, 2.4) / (4 / 4 - 0.6)
    assert pvalue(means, expected) > ALPHA
    assert np.mean(means) == pytest.approx(expected, rel=0.1)


def test_erlangs_formula_is_right_where_it_is_known() -> None:
    """For one server the probability of waiting is the load."""
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)


@pytest.mark.nightly
def test_the_same_on_the_seed_of_the_day() -> None:
    """A fresh seed each day; on rejection once more, with four times the replications."""
    seed = dt.datetime.now(tz=dt.UTC).date().toordinal()
    delays, _ = replications("after-interval", seed, 60)
    if pvalue(delays, detection_delay_s()) <= ALPHA:
        delays, _ = replications("after-interval", seed + 10_000_000, 240)
    assert pvalue(delays, detection_delay_s()) > ALPHA


# Backoff with chance, and the schedule that knows nothing of the work. Exponential work of 10 s,
# no network. Expected values: project's catalogue of formulas (independent jitter: products of
# Laplace transforms and memorylessness; decorrelated: an integral equation; quadratic: exact).

JITTERED = {
    "full": (4.501333, 3.830772),
    "equal": (3.793826, 3.786098),
    "decorrelated": (3.270531, 3.538364),
}


@cache
def of_policy(polling: str, law: str, count: int = 20) -> tuple[list[float], list[float]]:
    """Means over tasks of polls and of detection delay (s), one a replication."""
    text = f"""
tasks = 2000
[arrivals]
kind = "poisson"
rate = 1
[[requesters]]
polling = {polling}
[[work]]
duration = {law}
"""
    scenario = parse(text, "theory.toml")
    polls, delays = [], []
    for replication in range(count):
        tasks = simulate(scenario, replication=replication).tasks
        polls.append(float(np.mean(tasks.polls_sent)))
        delays.append(float(np.mean(tasks.detected_at - tasks.terminal_at)) / S)
    return polls, delays


EXPONENTIAL = "{ kind = 'exponential', mean_s = 10 }"


@pytest.mark.parametrize("spread", JITTERED)
def test_backoff_with_chance_polls_and_delays_as_computed(spread: str) -> None:
    polling = f"{{ kind = 'backoff', base_s = 1, factor = 2, cap_s = 16, spread = '{spread}' }}"
    polls, delays = of_policy(polling, EXPONENTIAL)
    expected_polls, expected_delay_s = JITTERED[spread]
    assert pvalue(polls, expected_polls) > ALPHA
    assert pvalue(delays, expected_delay_s) > ALPHA
    assert pvalue(polls, 1.05 * expected_polls) < ALPHA, "a bias of five per cent would be seen"


QUADRATIC = {
    "exponential": (EXPONENTIAL, 4.963327),
    "lognormal": ("{ kind = 'lognormal', mean_s = 10, cv = 2 }", 4.657158),
}


@pytest.mark.parametrize("law", QUADRATIC)
def test_quadratic_polling_takes_as_many_polls_as_computed(law: str) -> None:
    """E polls = 1 + E sqrt(S / a) with a = c1 / c2 = 0.5 s, for work of any law."""
    text, expected = QUADRATIC[law]
    polls, _ = of_policy("{ kind = 'quadratic', poll_cost = 0.5, delay_cost_per_s = 1 }", text)
    assert pvalue(polls, expected) > ALPHA
