"""Rate limiters, thresholds and sample sizes: identities and refusals."""

import math

import numpy as np
import pytest

from tasksim.theory import InvalidModelError, inference, limiters


@pytest.mark.parametrize("burst", [1, 2, 7, 25, 60])
@pytest.mark.parametrize("load", [0.2, 0.8, 1.0, 1.7])
def test_a_token_bucket_is_a_queue_of_constant_work(load: float, burst: int) -> None:
    bucket = limiters.token_bucket_refused_share(10 * load, 10.0, burst)
    assert bucket == pytest.approx(limiters.shaper_lost_share(10 * load, 0.1, burst), abs=1e-12)


def test_a_burst_of_one_is_erlangs_loss_of_one_worker() -> None:
    assert limiters.token_bucket_refused_share(8, 10, 1) == pytest.approx(0.8 / 1.8)


def test_a_fraction_of_a_token_helps_a_little() -> None:
    shares = [limiters.token_bucket_refused_share(8, 10, b) for b in (2, 2.3, 2.7, 3)]
    assert shares == sorted(shares, reverse=True)


def test_bursts_too_long_for_floats_still_sum() -> None:
    assert 0 < limiters.token_bucket_refused_share(8, 10, 300) < 1e-50
    assert limiters.token_bucket_refused_share(15, 10, 400) == pytest.approx(1 / 3)


@pytest.mark.parametrize("share", [0.5, 0.01, 1e-6])
def test_the_least_burst_is_the_least(share: float) -> None:
    burst = limiters.burst_for_refused_share(8, 10, share)
    assert limiters.token_bucket_refused_share(8, 10, burst) <= share
    if burst > 1:
        assert limiters.token_bucket_refused_share(8, 10, burst - 1) > share
    assert limiters.burst_for_refused_share(15, 10, 0.4) >= 1


@pytest.mark.parametrize("load", [0.01, 0.5, 0.9, 0.9999])
def test_the_decay_solves_its_equation(load: float) -> None:
    y = limiters.token_bucket_decay(10 * load, 10)
    assert y > 0
    assert load * math.expm1(y) == pytest.approx(y, rel=1e-9)


def test_a_bucket_and_its_gcra_decide_alike_and_as_often_as_the_formula_says() -> None:
    polls = np.cumsum(np.random.default_rng(3).exponential(1 / 9.5, 40_000))
    assert limiters.differing_decisions(polls, 10.0, 4.0) == 0
    refused = 1 - np.mean(list(limiters.token_bucket_accepts(polls, 10.0, 4.0)))
    assert refused == pytest.approx(limiters.token_bucket_refused_share(9.5, 10.0, 4.0), rel=0.05)


def test_decisions_by_hand() -> None:
    polls = [0.0, 0.0, 0.0, 0.5, 1.0, 9.0, 9.0, 9.0]
    expected = [True, True, False, False, True, True, True, False]
    assert list(limiters.token_bucket_accepts(polls, 1.0, 2.0)) == expected
    assert list(limiters.gcra_accepts(polls, 1.0, 1.0)) == expected


def test_ticks_of_whole_tokens_refuse_less_than_a_flow() -> None:
    assert limiters.ticking_bucket_refused_share(8, 10, 1) == pytest.approx(
        1 - -math.expm1(-0.8) / 0.8
    )
    flow = limiters.token_bucket_refused_share(8, 10, 5)
    assert limiters.ticking_bucket_refused_share(8, 10, 5) < flow


def test_a_herd_and_a_period() -> None:
    assert limiters.herd_refused_share(10, 1.0, 100.0, 50) == 0.0
    assert limiters.herd_refused_share(100, 5.0, 9.99, 20.0) == 0.8
    assert limiters.periodic_backlog_tail(5, 50.0, 5.0) == 0.0
    tails = [limiters.periodic_backlog_tail(40, 50.0, x) for x in (0, 1, 4, 10)]
    assert tails == sorted(tails, reverse=True)
    assert tails[0] == pytest.approx(40 / 50)


def test_windows_of_one_poll() -> None:
    assert limiters.fixed_window_refused_share(2, 1, 1) == pytest.approx(
        (2 - -math.expm1(-2.0)) / 2
    )
    assert limiters.sliding_log_refused_share(2, 1, 1) == pytest.approx(2 / 3)


def test_thresholds_grow_with_tests_and_stages_multiply() -> None:
    assert inference.bonferroni_threshold(1, 0.05) == pytest.approx(1.959964, abs=1e-6)
    assert inference.bonferroni_threshold(10) < inference.bonferroni_threshold(100)
    assert inference.staged_alpha([inference.stage_alpha(1e-9, 3)] * 3) == pytest.approx(1e-9)


def test_coverage_and_false_alarms() -> None:
    assert inference.quantile_coverage(100, 0.5, 1, 100) == pytest.approx(1.0)
    nominal = inference.exponential_false_alarm(10**6, 1.959964)
    assert nominal == pytest.approx(0.05, rel=1e-3)
    assert inference.exponential_false_alarm(4, 3.0) > 0.0027
    assert inference.kolmogorov_threshold(1, 0.1) == pytest.approx(0.95)


REFUSED = [
    (lambda: limiters.token_bucket_refused_share(8, 10, 0.5), "lets nothing through"),
    (lambda: limiters.token_bucket_refused_share(8, 10, 1e5), "too large to sum"),
    (lambda: limiters.burst_for_refused_share(15, 10, 0.3), "no burst refuses only 0.3"),
    (lambda: limiters.token_bucket_decay(10, 10), "does not fall to zero"),
    (lambda: limiters.ticking_bucket_refused_share(8, 10, 0), "burst must be a whole number"),
    (lambda: limiters.herd_refused_share(10, 1.0, 2.5, 20), "not a whole number"),
    (lambda: limiters.herd_refused_share(10, 1.0, 2.0, 0.5), "lets nothing through"),
    (lambda: limiters.periodic_backlog_tail(50, 50.0, 1.0), "do not fit"),
    (lambda: list(limiters.token_bucket_accepts([1.0, 0.5], 1.0, 2.0)), "must be in order"),
    (lambda: list(limiters.gcra_accepts([1.0, 0.5], 1.0, 1.0)), "must be in order"),
    (lambda: list(limiters.token_bucket_accepts([1.0], 1.0, 0.0)), "lets nothing through"),
    (lambda: inference.bonferroni_threshold(0), "tests must be a whole number"),
    (lambda: inference.quantile_coverage(10, 0.5, 5, 5), "ranks 5 to 5 of 10"),
    (lambda: inference.staged_alpha([]), "at least one stage"),
    (lambda: inference.waiting_variance_constant(1.0), "load must lie"),
    (lambda: inference.hedge_regret(0, 1, 1.0), "tasks must be a whole number"),
]


@pytest.mark.parametrize(("compute", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_outside_its_model_a_formula_refuses(compute: object, message: str) -> None:
    assert callable(compute)
    with pytest.raises(InvalidModelError, match=message):
        compute()
