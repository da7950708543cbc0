"""Estimators: against SciPy, and how often their intervals hold."""

import math

import numpy as np
import pytest
from scipy import stats

from tasksim.metrics import estimators
from tasksim.scenario import draws


def units(count: int, stream: int = 0) -> np.ndarray:
    key = draws.run_key(11, 0)
    return np.array([draws.unit_from_u64(draws.draw_u64(key, stream, i)) for i in range(count)])


def test_a_mean_over_replications_has_a_t_interval() -> None:
    values = [1.0, 2.0, 4.0]
    found = estimators.over_replications(values)
    assert found is not None
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert found.value == pytest.approx(7 / 3)
    assert found.half_width == pytest.approx((high - low) / 2)


def test_one_replication_has_a_value_and_no_interval() -> None:
    assert estimators.over_replications([3.0]) == estimators.Estimate(value=3.0)
    assert estimators.over_replications([math.nan]) is None
    assert estimators.over_replications([]) is None


def test_batch_means_of_independent_values_cover_their_mean() -> None:
    """1,000 intervals of 200 uniforms: 95 % cover; five standard errors are 3.4 points."""
    values = units(200_000).reshape(1000, 200)
    covered = 0
    for row in values:
        found = estimators.batch_mean(row)
        assert found is not None
        assert found.half_width is not None
        covered += abs(found.value - 0.5) <= found.half_width
    assert covered / 1000 == pytest.approx(0.95, abs=0.035)


def test_too_few_values_have_no_interval() -> None:
    found = estimators.batch_mean(np.array([1.0, 2.0]))
    assert found == estimators.Estimate(value=1.5)
    assert estimators.batch_mean(np.array([])) is None


def test_a_quantile_is_the_smallest_value_that_is_enough() -> None:
    values = np.array([3.0, 1.0, 2.0, 4.0])
    assert [estimators.quantile(values, q) for q in (0.25, 0.26, 0.5, 0.99, 1.0)] == [
        1.0, 2.0, 2.0, 4.0, 4.0,
    ]  # fmt: skip


def test_quantile_intervals_cover() -> None:
    """1,000 intervals for the 90 % quantile of 100 uniforms: at least 95 % cover, by design."""
    values = units(100_000, stream=1).reshape(1000, 100)
    intervals = [estimators.quantile_interval(row, 0.9) for row in values]
    covered = [low <= 0.9 <= high for low, high in filter(None, intervals)]
    assert len(covered) == 1000
    assert np.mean(covered) > 0.95 - 0.035


def test_a_quantile_too_far_out_has_no_interval() -> None:
    assert estimators.quantile_interval(np.arange(20.0), 0.99) is None


def test_the_wilson_interval_is_scipys() -> None:
    for hits, trials in ((0, 10), (3, 10), (50, 100)):
        expected = stats.binomtest(hits, trials).proportion_ci(0.95, method="wilson")
        found = estimators.wilson_interval(hits, trials)
        assert found == pytest.approx((expected.low, expected.high))
