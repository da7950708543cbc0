"""Fixed polling: identities between formulas, limits of parameters, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.theory import InvalidModelError, backoff, jitter, laws, polling
from tasksim.theory.backoff import Backoff

WORK = laws.exponential(10)


def test_general_work_gives_what_exponential_formulas_give() -> None:
    assert polling.fixed_polls_mean(WORK, 2.0, at_once=True) == pytest.approx(
        polling.exponential_polls_mean(10, 2.0, at_once=True)
    )
    assert polling.fixed_delay_mean_s(WORK, 2.0) == pytest.approx(
        polling.exponential_delay_mean_s(10, 2.0)
    )
    assert polling.fixed_delay_quantile_s(WORK, 2.0, 0.3) == pytest.approx(
        polling.exponential_delay_quantile_s(10, 2.0, 0.3)
    )


def test_polls_and_delay_go_together_where_work_remembers() -> None:
    spread = laws.uniform(0.0, 3.0)  # every 2 s: N = 1 on (0, 2), 2 on (2, 3)
    # E N D = 2/3 * 1 + 1/3 * 2 * 1.5, E N = 4/3, E D = 2/3 * 1 + 1/3 * 1.5.
    expected = (2 / 3 + 1.0) - (4 / 3) * (2 / 3 + 0.5)
    assert polling.polls_delay_covariance_s(spread, 2.0) == pytest.approx(expected, abs=2e-2)


@given(st.floats(1e-9, 0.999), st.floats(0.0, 0.95))
def test_cycles_invert_the_missed_share(share: float, failure_share: float) -> None:
    cycles = polling.cycles_for_missed_share(share, failure_share)
    assert polling.missed_share(cycles, failure_share) == pytest.approx(share, rel=1e-6)


def test_nothing_is_seen_before_completion_and_all_within_a_cycle_without_failures() -> None:
    assert polling.missed_share(-1, 0.2) == 1.0
    assert polling.missed_share(0, 0.2) == 1.0
    assert polling.missed_share(1.0, 0.0) == 0.0
    assert polling.missed_share(0.25, 0.0) == 0.75


def test_a_network_of_constant_times_is_a_longer_cycle() -> None:
    leg = laws.constant(0.15)
    assert polling.network_polls_mean(10, 2.0, leg, leg) == pytest.approx(
        polling.exponential_polls_mean(10, 2.3)
    )
    assert polling.network_delay_mean_s(10, 2.0, leg, leg) == pytest.approx(
        polling.exponential_delay_mean_s(10, 2.3, one_way_s=0.15)
    )


def test_jitter_by_grid_agrees_with_transforms_for_exponential_work() -> None:
    rising = Backoff(base_s=1.0, factor=2.0, cap_s=16.0)
    for kind in ("full", "equal"):
        found = jitter.jittered_polling(WORK, rising, kind, 0.9)
        assert found.polls == pytest.approx(backoff.jittered_polls_mean(10, rising, kind), rel=1e-6)
        assert found.delay_s == pytest.approx(
            backoff.jittered_delay_mean_s(10, rising, kind), rel=1e-5
        )
        assert found.delay_quantile_s == pytest.approx(
            backoff.jittered_delay_quantile_s(10, rising, kind, 0.9), rel=1e-4
        )


def test_no_jitter_is_plain_backoff() -> None:
    rising = Backoff(base_s=1.0, factor=2.0, cap_s=16.0)
    assert backoff.jittered_polls_mean(10, rising, "none") == pytest.approx(
        backoff.backoff_polls_mean(WORK, rising)
    )
    assert backoff.jittered_delay_mean_s(10, rising, "none") == pytest.approx(
        backoff.backoff_delay_mean_s(WORK, rising)
    )
    assert backoff.jittered_delay_quantile_s(10, rising, "none", 0.9) == pytest.approx(
        backoff.backoff_delay_quantile_s(WORK, rising, 0.9)
    )


def test_a_backoff_of_factor_one_is_fixed_polling() -> None:
    steady = Backoff(base_s=2.0, factor=1.0, cap_s=64.0)
    assert backoff.backoff_polls_mean(WORK, steady) == pytest.approx(
        polling.fixed_polls_mean(WORK, 2.0)
    )
    assert backoff.jittered_polls_mean(10, steady, "none") == pytest.approx(
        polling.exponential_polls_mean(10, 2.0)
    )
    assert steady.rising_s() == []


def test_decorrelated_gaps_between_equal_ends_are_nearly_fixed() -> None:
    """With a cap just above the base, gaps can only be the two: polls lie between theirs."""
    found = jitter.decorrelated_polling(WORK, 2.0, 2.2)
    fastest, slowest = (polling.exponential_polls_mean(10, gap) for gap in (2.0, 2.2))
    assert slowest < found.polls < fastest


def test_doubling_at_a_random_phase_wastes_its_share() -> None:
    waste = backoff.random_phase_backoff_delay_mean_s(1e9, 1.0, 2.0) / 1e9
    assert waste == pytest.approx(1 / math.log(2) - 1, rel=1e-6)


REFUSED = [
    (lambda: polling.fixed_polls_mean(WORK, 0.0), "interval_s must be positive"),
    (lambda: polling.poll_instants_s(laws.lomax(1.1, 10), 1e-3), "sum over"),
    (lambda: polling.fixed_delay_quantile_s(WORK, 2.0, 1.0), "level must lie strictly"),
    (lambda: polling.exponential_polls_mean(10, 2, failure_share=1.0), r"lie in \[0, 1\)"),
    (lambda: polling.exponential_polls_mean(-1, 2), "mean_s must be positive"),
    (lambda: polling.exponential_delay_mean_s(10, 2, legs=-1), "legs must be a whole number"),
    (lambda: polling.random_phase_delay_mean_s(2, one_way_s=-0.1), "one_way_s must be zero"),
    (lambda: polling.cycles_for_missed_share(0.0, 0.1), "share must lie strictly"),
    (lambda: polling.renewal_delay_mean_s(1, math.nan), "cycle_variance_s2 must be zero"),
    (lambda: polling.uniform_jitter_delay_mean_s(5, 1.5), "jitter_share"),
    (lambda: polling.fourier_delay_mean_s(lambda w: 1 / (1 - 1j * w), 2, terms=5), "converged"),
    (lambda: Backoff(base_s=1, factor=0.5), "does not shrink"),
    (lambda: Backoff(base_s=2, cap_s=1), "below base"),
    (lambda: backoff.jittered_polls_mean(10, Backoff(base_s=1), "full"), "finite cap"),
    (lambda: backoff.random_phase_backoff_polls_mean(WORK, 1, 1), "grows"),
    (lambda: backoff.random_phase_backoff_delay_mean_s(10, 1, 1), "grows"),
    (
        lambda: backoff.backoff_polls_mean(laws.lomax(1.1, 10), Backoff(base_s=0.1, cap_s=0.1)),
        "too heavy",
    ),
    (
        lambda: jitter.jittered_polling(WORK, Backoff(base_s=1, cap_s=math.pi), "full"),
        "no common step",
    ),
    (lambda: jitter.jittered_polling(WORK, Backoff(base_s=1, cap_s=4), "none"), "full or equal"),
    (lambda: jitter.decorrelated_polling(WORK, 2.0, 2.0), "must exceed"),
    (lambda: jitter.decorrelated_polling(laws.constant(5), 2.0, 9.0), "no smooth survival"),
    (lambda: jitter.decorrelated_polling(laws.lomax(1.1, 10), 1.0, 9.0), "needs a grid"),
    (lambda: jitter.decorrelated_polling(WORK, 1.0, 9.0, parts=2), "too coarse"),
]


@pytest.mark.parametrize(("compute", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_outside_its_model_a_formula_refuses(compute: object, message: str) -> None:
    assert callable(compute)
    with pytest.raises(InvalidModelError, match=message):
        compute()


def test_a_refusal_is_a_value_error() -> None:
    assert issubclass(InvalidModelError, ValueError)


def test_a_schedule_is_measured_by_its_own_gaps() -> None:
    instants = np.asarray([0.0, 1.0, 3.0, 400.0])
    work = laws.uniform(0.0, 4.0)
    assert polling.schedule_delay_tail(work, instants, 0.0) == pytest.approx(1.0)
    assert polling.schedule_delay_tail(work, instants, 396.0) == pytest.approx(0.25)
    assert polling.schedule_delay_quantile_s(work, instants, 0.5) == pytest.approx(1.0, abs=1e-9)
