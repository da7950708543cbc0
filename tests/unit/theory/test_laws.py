"""Laws: moments, tails, quantiles, and what they refuse."""

import math

import numpy as np
import pytest
from scipy import stats

from tasksim.theory import InvalidModelError, laws

BLEND = laws.mixture([0.9, 0.1], [laws.lognormal(2, 0.3), laws.lognormal(82, 0.3)])
CONTINUOUS = [
    laws.exponential(10),
    laws.lognormal(10, 1.5),
    laws.weibull(0.5, 10),
    laws.gamma(3, 10),
    laws.uniform(2, 18),
    laws.normal(10, 2),
    laws.lomax(2.5, 10),
    BLEND,
]
NAMES = [law.name.split("(")[0] for law in CONTINUOUS]


@pytest.mark.parametrize("law", CONTINUOUS, ids=NAMES)
def test_mean_and_variance_are_those_of_the_tail(law: laws.Law) -> None:
    assert law.mean_s == pytest.approx(10)
    assert laws.expectation(law, lambda x: x) == pytest.approx(10, rel=1e-5)
    assert laws.excess_s(law, 0.0) == pytest.approx(10)
    if not law.name.startswith("lomax"):
        second = laws.expectation(law, lambda x: x * x)
        assert law.variance_s2 == pytest.approx(second - 100, rel=1e-4)


@pytest.mark.parametrize("law", CONTINUOUS, ids=NAMES)
def test_quantiles_invert_the_tail_on_both_sides(law: laws.Law) -> None:
    levels = np.asarray([1e-6, 0.01, 0.3, 0.5, 0.9, 0.999])
    assert law.distribution(law.lower(levels)) == pytest.approx(levels)
    assert law.survival(law.upper(levels)) == pytest.approx(levels)
    x = float(law.lower(0.4))
    slope = (law.survival(x) - law.survival(x * (1 + 1e-6))) / (x * 1e-6)
    assert float(laws.density_of(law)(x)) == pytest.approx(float(slope), rel=1e-3)


def test_cv_is_kept() -> None:
    law = laws.lognormal(10, 1.5)
    assert math.sqrt(law.variance_s2) / law.mean_s == pytest.approx(1.5)


def test_work_that_ends_at_a_poll_is_seen_by_it() -> None:
    law = laws.empirical([1.0, 2.0, 2.0, 4.0])
    assert law.survival([0.5, 1.0, 2.0, 3.9, 4.0]).tolist() == [1.0, 0.75, 0.25, 0.25, 0.0]
    assert law.lower([0.1, 0.25, 0.26, 1.0]).tolist() == [1.0, 1.0, 2.0, 4.0]
    assert law.mean_s == 2.25
    assert law.end_s() == 4.0
    assert laws.constant(3.0).variance_s2 == 0.0


def test_the_excess_is_the_area_of_the_tail() -> None:
    law = laws.exponential(10)
    assert laws.excess_s(law, 7.0) == pytest.approx(10 * math.exp(-0.7), rel=1e-9)
    assert laws.excess_s(law, 1e6) == pytest.approx(0.0, abs=1e-9)


def test_kinks_split_an_expectation() -> None:
    law = laws.exponential(1.0)
    found = laws.expectation(law, lambda x: min(x, 0.3), kinks_s=[0.3])
    assert found == pytest.approx(1 - math.exp(-0.3), abs=1e-11)
    late = laws.expectation(law, lambda x: min(x, 3.0), kinks_s=[3.0])
    assert late == pytest.approx(1 - math.exp(-3.0), abs=1e-11)


def test_a_cut_law_ends_where_it_is_cut() -> None:
    law = laws.cut(laws.lomax(1.5, 10), 200.0)
    assert law.end_s() == 200.0
    assert float(law.survival(199.9)) > 0
    assert float(law.survival(200.0)) == 0
    assert law.mean_s == pytest.approx(10 * (1 - (1 + 200 / 5) ** -0.5), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: laws.exponential(0), "mean_s must be positive"),
        (lambda: laws.lognormal(1, math.inf), "cv must be positive and finite"),
        (lambda: laws.uniform(3, 3), "no interval"),
        (lambda: laws.normal(10, 5), "below zero"),
        (lambda: laws.lomax(1, 5), "mean is infinite"),
        (lambda: laws.mixture([1], []), "as many weights"),
        (lambda: laws.mixture([0.0], [laws.exponential(1)]), "weights must be positive"),
        (lambda: laws.mixture([1], [laws.constant(1)]), "densities"),
        (lambda: laws.empirical([]), "needs a sample"),
        (lambda: laws.empirical([1.0, -1.0]), "durations must be positive"),
        (lambda: laws.density_of(laws.constant(1)), "no density"),
        (lambda: laws.excess_s(laws.exponential(1), -1), "before creation"),
        (lambda: laws.from_scipy(stats.pareto(0.5), "pareto"), "not a positive number"),
    ],
)
def test_what_is_no_law_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidModelError, match=message):
        make()
