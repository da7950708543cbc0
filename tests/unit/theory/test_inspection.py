"""Optimum inspection in closed form, retention, notifications: identities and refusals."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from tasksim.theory import InvalidModelError, inspection, laws, notifications, polling, retention
from tasksim.theory.backoff import Backoff
from tasksim.theory.inspection import Costs

WORK = laws.exponential(10)
COSTS = Costs(poll=0.5)


@pytest.mark.parametrize("ratio", [1e-9, 1e-4, 0.3, 5.0, 1e4])
def test_the_best_interval_solves_its_equation(ratio: float) -> None:
    y = inspection.exponential_optimal_interval_s(10, Costs(poll=10 * ratio)) / 10
    assert math.expm1(y) - y == pytest.approx(ratio, rel=1e-6)


@pytest.mark.parametrize("failure_share", [0.0, 0.2, 0.7])
def test_the_best_interval_with_failures_is_the_least_of_its_cost(failure_share: float) -> None:
    def cost(interval: float) -> float:
        polls = polling.exponential_polls_mean(10, interval, failure_share=failure_share)
        return COSTS.of(polls, interval * polls - 10)

    best = inspection.failing_optimal_interval_s(10, COSTS, failure_share)
    searched = optimize.minimize_scalar(cost, bounds=(0.1, 20), method="bounded")
    assert best == pytest.approx(searched.x, rel=1e-4)
    assert inspection.failing_optimal_cost(10, COSTS, failure_share) <= searched.fun + 1e-9
    if failure_share == 0:
        assert best == pytest.approx(inspection.exponential_optimal_interval_s(10, COSTS))


def test_quadratic_polling_is_never_far_from_the_best_random_phase() -> None:
    for work in (WORK, laws.lognormal(10, 2), laws.weibull(0.5, 10), laws.uniform(0, 20)):
        quadratic = inspection.quadratic_cost(work, COSTS)
        assert quadratic <= math.sqrt(2) * inspection.random_phase_optimal_cost(10, COSTS)
        polls = inspection.quadratic_polls_mean(work, COSTS.ratio_s)
        assert polls < quadratic / COSTS.poll


def test_uniform_schedules_end_at_the_end_with_gaps_falling_by_the_ratio() -> None:
    for ratio in (0.3, 2.0, 50.0, 500.0):
        costs = Costs(poll=ratio)
        n = inspection.uniform_optimal_polls(100, costs)
        assert n * (n - 1) * ratio / 2 < 100 <= n * (n + 1) * ratio / 2
        instants = inspection.uniform_optimal_instants_s(100, costs)
        assert instants[-1] == pytest.approx(100)
        gaps = np.diff(np.concatenate(([0.0], instants)))
        assert np.diff(gaps) == pytest.approx(np.full(n - 1, -ratio))


def test_an_advertised_interval_follows_the_hazard() -> None:
    even = inspection.keller_interval_s(WORK, COSTS, np.asarray([0.0, 5.0, 50.0]))
    assert even == pytest.approx(np.full(3, math.sqrt(10)))
    rising = inspection.keller_interval_s(laws.weibull(2, 10), COSTS, np.asarray([1.0, 4.0]))
    assert rising[0] == pytest.approx(2 * rising[1])
    waiting = inspection.keller_interval_s(laws.uniform(5, 9), COSTS, np.asarray([1.0]))
    assert math.isinf(waiting[0])


def test_weibull_gain_has_a_closed_form() -> None:
    for k in (0.5, 1.0, 3.0):
        closed = math.gamma((k + 1) / (2 * k)) ** 2 / (k * math.gamma(1 + 1 / k))
        assert inspection.keller_gain(laws.weibull(k, 10)) == pytest.approx(closed, rel=1e-6)


def test_the_recursion_makes_exponential_gaps_even() -> None:
    instants = inspection.recursion_instants_s(WORK, COSTS)
    best = inspection.exponential_optimal_interval_s(10, COSTS)
    assert instants[:5] == pytest.approx(best * np.arange(1, 6), rel=1e-4)


def test_retention_for_a_share_loses_that_share() -> None:
    for lost in (0.3, 1e-3):
        kept = retention.retention_for_lost_share_s(lost, 5, one_way_s=0.1, failure_share=0.2)
        found = retention.fixed_lost_share(kept, 5, one_way_s=0.1, failure_share=0.2)
        assert found == pytest.approx(lost)
    enough = retention.lossless_retention_s(5, one_way_s=0.1)
    assert retention.fixed_lost_share(enough, 5, one_way_s=0.1) == pytest.approx(0, abs=1e-12)
    assert retention.synchronised_lost_share(10, enough, 5, one_way_s=0.1) == pytest.approx(0)
    assert retention.synchronised_lost_share(10, 0.0, 5, one_way_s=0.1) == 1.0


def test_loss_under_a_schedule_is_the_tail_of_its_delay() -> None:
    assert retention.backoff_lost_share(WORK, Backoff(base_s=2, factor=1), 1.5) == pytest.approx(
        retention.synchronised_lost_share(10, 1.5, 2)
    )
    assert retention.schedule_lost_share(WORK, np.asarray([400.0]), 399.0) == pytest.approx(
        -math.expm1(-0.1)
    )


def test_renewal_polls_of_known_laws() -> None:
    assert retention.renewal_lost_share(laws.exponential(5), 3.0) == pytest.approx(
        retention.poisson_lost_share(0.2, 3.0)
    )
    assert retention.renewal_lost_share(laws.constant(5.0), 3.0) == pytest.approx(0.4)
    assert retention.renewal_lost_share(laws.uniform(3, 7), 8.0) == 0.0


def test_refetching_that_never_fails_is_plain_loss() -> None:
    found = retention.refetch_lost_share(
        13, 5, one_way_s=0.1, failure_share=0.1, fetch_failure_share=0.0
    )
    assert found == pytest.approx(
        retention.fixed_lost_share(13, 5, one_way_s=0.1, failure_share=0.1), rel=1e-9
    )


def test_an_uncapped_backoff_needs_retention_as_long_as_the_work() -> None:
    assert retention.geometric_lost_share(60, 61, 1, 2) == 0.0
    assert retention.geometric_lost_share(60, 60, 1, 2) > 0.0
    assert retention.geometric_lost_share(60, 0, 1, 2) == 1.0


NOTICE = laws.exponential(0.5)
WEIGHTS = {"early_cost": 4.0, "delay_cost_per_s": 1.0}


def test_the_general_fallback_is_the_exponential_one() -> None:
    closed = notifications.exponential_fallback_s(0.5, 0.1, **WEIGHTS)
    assert notifications.optimal_fallback_s(NOTICE, 0.1, **WEIGHTS) == pytest.approx(closed)
    around = [
        notifications.fallback_cost(NOTICE, 0.1, closed + step, **WEIGHTS)
        for step in (-0.1, 0, 0.1)
    ]
    assert min(around) == around[1]


def test_where_an_early_poll_costs_little_nobody_waits() -> None:
    cheap = {"early_cost": 0.1, "delay_cost_per_s": 1.0}
    assert notifications.exponential_fallback_s(0.5, 0.1, **cheap) == 0.0
    assert notifications.optimal_fallback_s(NOTICE, 0.1, **cheap) == 0.0


def test_silence_speaks_louder_with_time() -> None:
    shares = [notifications.dropped_given_silence(NOTICE, 0.1, t) for t in (0.0, 0.5, 5.0)]
    assert shares[0] == pytest.approx(0.1)
    assert shares == sorted(shares)
    assert notifications.unsupported_given_silence(NOTICE, 0.1, 0.0, 0.25) == pytest.approx(0.25)


def test_without_drops_and_with_instant_notices_polling_is_plain() -> None:
    instant = laws.constant(1e-12)
    assert notifications.polling_start_mean_s(instant, 0.0, 9.0) == pytest.approx(0, abs=1e-9)
    assert notifications.detection_delay_mean_s(10, 2, instant, 0.0, 9.0) == pytest.approx(
        polling.exponential_delay_mean_s(10, 2)
    )
    assert notifications.polls_mean(10, 2, instant, 0.0, 9.0) == pytest.approx(
        polling.exponential_polls_mean(10, 2, at_once=True)
    )
    assert notifications.lost_share(
        10, 2, 1.5, instant, dropped_share=0.0, fallback_s=9.0
    ) == pytest.approx(retention.synchronised_lost_share(10, 1.5, 2))


def test_a_response_that_always_arrives_needs_no_poll() -> None:
    assert notifications.raced_delay_mean_s(7.0, 0.0, 0.2) == 0.2
    assert notifications.raced_delay_mean_s(7.0, 1.0, 0.2) == 7.2
    assert notifications.all_dropped_share(0.3, 0) == 1.0


REFUSED = [
    (lambda: Costs(poll=1, delay_per_s=0), "delay_per_s must be positive"),
    (lambda: inspection.exponential_interval_approximation_s(1, Costs(poll=3)), "means of work"),
    (lambda: inspection.recursion_instants_s(laws.lognormal(10, 1), COSTS), "log-concave"),
    (lambda: inspection.recursion_instants_s(laws.uniform(0, 9), COSTS), "ends for certain"),
    (lambda: inspection.keller_gain(laws.constant(1)), "no density"),
    (
        lambda: inspection.recursion_instants_s(
            laws.from_scipy(stats.weibull_min(2, scale=500), "w"), Costs(poll=1e-9)
        ),
        "more than 20000 polls",
    ),
    (lambda: retention.fixed_lost_share(-1, 5), "retention_s must be zero"),
    (lambda: retention.geometric_lost_share(60, 30, 1, 1), "grows"),
    (lambda: retention.outage_missed_share(0.1, 1.5, 2), "stay must be"),
    (lambda: retention.outage_missed_share(0.1, 0.5, 0), "polls must be a whole"),
    (lambda: notifications.exponential_fallback_s(0.5, 0.0, **WEIGHTS), "dropped_share must lie"),
    (lambda: notifications.polling_start_mean_s(NOTICE, 1.0, 1.0), "dropped_share must lie"),
    (lambda: notifications.optimal_fallback_s(laws.constant(1), 0.1, **WEIGHTS), "no density"),
    (lambda: notifications.raced_delay_mean_s(1, 1.1, 0), "response_lost_share"),
    (lambda: notifications.all_dropped_share(1.1, 2), "dropped_share must lie"),
]


@pytest.mark.parametrize(("compute", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_outside_its_model_a_formula_refuses(compute: object, message: str) -> None:
    assert callable(compute)
    with pytest.raises(InvalidModelError, match=message):
        compute()
