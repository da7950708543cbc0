"""Tables of laws against SciPy and against exact arithmetic."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tasksim.scenario import draws
from tasksim.scenario.distributions import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    LawError,
    Lognormal,
    Lomax,
    Mixture,
    Uniform,
    Weibull,
)
from tasksim.scenario.quantiles import LawTables, draw_many
from tasksim.scenario.variates import CELLS, OCTAVES, TAIL_LENGTH, variate_ns

S = 1_000_000_000
LEVELS = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)


def lognormal(mean: float, cv: float) -> Any:
    variance = math.log1p(cv * cv)
    return stats.lognorm(math.sqrt(variance), scale=mean * math.exp(-variance / 2))


# (law, SciPy's law, error allowed to the mean and to quantiles, relatively).
LAWS: list[tuple[Any, Any, float, float]] = [
    (Exponential(mean_s=30), stats.expon(scale=30), 2e-6, 2e-6),
    (Uniform(low_s=1, high_s=6), stats.uniform(1, 5), 1e-8, 1e-7),
    (Lognormal(mean_s=30, cv=0.3), lognormal(30, 0.3), 1e-6, 1e-6),
    (Lognormal(mean_s=30, cv=1), lognormal(30, 1), 3e-6, 3e-6),
    (Lognormal(mean_s=30, cv=3), lognormal(30, 3), 6e-6, 6e-6),
    (Lognormal(median_s=10, sigma=1.5), stats.lognorm(1.5, scale=10), 6e-6, 6e-6),
    (Gamma(shape=0.1, mean_s=30), stats.gamma(0.1, scale=300), 8e-6, 8e-6),
    (Gamma(shape=0.5, scale_s=60), stats.gamma(0.5, scale=60), 5e-6, 8e-6),
    (Gamma(shape=3, mean_s=30), stats.gamma(3, scale=10), 2e-6, 3e-6),
    (Weibull(shape=0.5, scale_s=15), stats.weibull_min(0.5, scale=15), 8e-6, 8e-6),
    (Weibull(shape=2, mean_s=30), stats.weibull_min(2, scale=30 / math.gamma(1.5)), 2e-6, 2e-6),
    (Lomax(alpha=3, scale_s=60), stats.lomax(3, scale=60), 5e-6, 4e-6),
]
IDS = [f"{law.kind}-{i}" for i, (law, *_) in enumerate(LAWS)]


@pytest.fixture(scope="module")
def tables() -> dict[int, LawTables]:
    built = {}
    for index, (law, *_) in enumerate(LAWS):
        built[index] = LawTables()
        assert built[index].add(law) == 0
    return built


@pytest.mark.parametrize("index", range(len(LAWS)), ids=IDS)
def test_the_mean_is_right(tables: dict[int, LawTables], index: int) -> None:
    _, law, allowed, _ = LAWS[index]
    assert tables[index].mean_ns(0) / S == pytest.approx(law.mean(), rel=allowed)


@pytest.mark.parametrize("index", range(len(LAWS)), ids=IDS)
def test_quantiles_are_right_to_a_few_millionths(tables: dict[int, LawTables], index: int) -> None:
    _, law, _, allowed = LAWS[index]
    for level in LEVELS:
        drawn = variate_ns(tables[index].values, 0, int(level * 2.0**64)) / S
        # A millisecond is the floor below which a relative error means nothing.
        assert abs(drawn - law.ppf(level)) <= allowed * max(law.ppf(level), 1e-3)


@pytest.mark.parametrize("index", range(len(LAWS)), ids=IDS)
def test_mean_and_spread_of_many_draws_are_right(tables: dict[int, LawTables], index: int) -> None:
    """Stratified words: the sample error vanishes and the table's own error shows."""
    _, law, _, _ = LAWS[index]
    words = [(2 * i + 1 << 63) // 40_000 for i in range(40_000)]
    drawn = np.array(draw_many(tables[index], 0, words)) / S
    p = (np.arange(40_000) + 0.5) / 40_000
    expected = law.ppf(p)
    assert drawn.mean() == pytest.approx(expected.mean(), rel=1e-5)
    assert drawn.std() == pytest.approx(expected.std(), rel=1e-5)


@pytest.mark.parametrize("index", range(len(LAWS)), ids=IDS)
def test_the_whole_distribution_is_right(tables: dict[int, LawTables], index: int) -> None:
    """Largest distance between drawn and exact distribution function, on a fine grid."""
    _, law, _, _ = LAWS[index]
    p = (np.arange(5_000) + 0.5) / 5_000
    drawn = np.array(draw_many(tables[index], 0, [int(x * 2.0**64) for x in p])) / S
    is_visible = drawn > 1e-6  # a variate is whole nanoseconds
    assert np.abs(law.cdf(drawn) - p)[is_visible].max() < 2.5e-5


CUT: list[tuple[Any, Any, float, float]] = [
    (Exponential(mean_s=30, min_s=1200, max_s=3600), stats.expon(scale=30), 1200, 3600),
    (Lomax(alpha=1.1, scale_s=30, max_s=2_592_000), stats.lomax(1.1, scale=30), 0, 2_592_000),
    (Lognormal(mean_s=30, cv=3, min_s=1, max_s=600), lognormal(30, 3), 1, 600),
    (Gamma(shape=0.1, mean_s=30, min_s=0.001), stats.gamma(0.1, scale=300), 0.001, math.inf),
    (
        Weibull(shape=2, mean_s=30, max_s=20),
        stats.weibull_min(2, scale=30 / math.gamma(1.5)),
        0,
        20,
    ),
    (Uniform(low_s=1, high_s=6, min_s=2, max_s=3), stats.uniform(1, 5), 2, 3),
]


@pytest.mark.parametrize(("law", "whole", "low", "high"), CUT, ids=[law.kind for law, *_ in CUT])
def test_a_cut_law_is_conditional(law: Any, whole: Any, low: float, high: float) -> None:
    tables = LawTables()
    tables.add(law)
    survival_low, survival_high = whole.sf(low), whole.sf(high)
    for level in LEVELS:
        drawn = variate_ns(tables.values, 0, int(level * 2.0**64)) / S
        assert low <= drawn <= high
        expected = whole.isf(survival_low - level * (survival_low - survival_high))
        assert drawn == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_a_mixture_picks_and_then_draws() -> None:
    tables = LawTables()
    law = Mixture(weights=(1, 3), parts=(Constant(value_s=1), Uniform(low_s=10, high_s=20)))
    place = tables.add(law)
    key = draws.run_key(1, 0)
    drawn = np.array(
        [variate_ns(tables.values, place, draws.draw_u64(key, 0, i)) for i in range(40_000)]
    )
    is_first = drawn == S
    # Binomial, 40,000 at 1/4: five standard errors are 0.011; false alarms below 1e-6.
    assert is_first.mean() == pytest.approx(0.25, abs=0.011)
    assert stats.kstest(drawn[~is_first] / S, stats.uniform(10, 10).cdf).pvalue > 1e-6
    assert tables.mean_ns(place) / S == pytest.approx(0.25 + 0.75 * 15)


def test_a_cut_mixture_reweighs_its_parts() -> None:
    tables = LawTables()
    parts = (Uniform(low_s=0, high_s=10), Uniform(low_s=0, high_s=100))
    place = tables.add(Mixture(weights=(1, 1), parts=parts, max_s=10))
    # Of the second part a tenth is left: weights 1 : 0.1, both uniform on 0..10.
    threshold = tables.values[place + 2]
    assert threshold / 2**63 == pytest.approx(1 / 1.1)
    assert tables.mean_ns(place) / S == pytest.approx(5, rel=1e-6)


def test_a_part_that_lies_outside_the_bounds_is_dropped() -> None:
    tables = LawTables()
    parts = (Constant(value_s=1), Constant(value_s=50))
    place = tables.add(Mixture(weights=(1, 1), parts=parts, max_s=10))
    assert {variate_ns(tables.values, place, u) for u in (0, 2**63, 2**64 - 1)} == {S}


def test_a_sample_is_exact(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("n,seconds\na,3\nb,1\nc,2\n")
    tables = LawTables()
    place = tables.add(Empirical(file=tmp_path / "d.csv", column="seconds"))
    third = 2**64 // 3
    words = [0, third, third + 1, 2 * third, 2 * third + 1, 2**64 - 1]
    assert [variate_ns(tables.values, place, u) // S for u in words] == [1, 1, 2, 2, 3, 3]


def test_a_cut_sample_keeps_what_lies_between(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("seconds\n1\n5\n9\n")
    tables = LawTables()
    tables.add(Empirical(file=tmp_path / "d.csv", column="seconds", min_s=2, max_s=6))
    assert tables.mean_ns(0) == 5 * S


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seconds\n1\nx\n-2\n", r"line 3 \('x'\), line 4 \('-2'\)"),
        ("other\n1\n", "has no column 'seconds'"),
        ("seconds\n", "has no rows"),
        ("seconds\nnan\n", "line 2"),
    ],
)
def test_a_faulty_sample_is_refused_with_its_lines(
    tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(LawError, match=complaint):
        LawTables().add(Empirical(file=tmp_path / "d.csv", column="seconds"))


def test_a_sample_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LawError, match="No such file"):
        LawTables().add(Empirical(file=tmp_path / "d.csv", column="seconds"))


@pytest.mark.parametrize(
    ("law", "complaint"),
    [
        (Lomax(alpha=1.1, scale_s=30), "give max_s"),
        (Lomax(alpha=1.5, scale_s=30), "give max_s"),
        (Uniform(low_s=1, high_s=2, min_s=5), "has no probability above 5 s"),
        (Exponential(mean_s=1e-3, min_s=100, max_s=200), "has no probability between 100 and"),
        (Constant(value_s=1e9), "beyond 18 years"),
    ],
)
def test_a_law_that_no_table_holds_is_refused(law: Any, complaint: str) -> None:
    with pytest.raises(LawError, match=complaint):
        LawTables().add(law)


def exact(values: list[int], u: int) -> Fraction:
    """The interpolation in rational arithmetic, from the words of the format."""
    is_upper = u >= 2**63
    distance = Fraction(max(2**64 - 1 - u if is_upper else u, 1 << (63 - OCTAVES)))
    octave = distance.numerator.bit_length() - 16
    position = (distance / 2 ** (octave + 15) - 1) * CELLS
    cell = octave * CELLS + int(position)
    fraction = Fraction(int((position - int(position)) * 2**31), 2**31)
    start = 1 + (TAIL_LENGTH if is_upper else 0)
    a, b = values[start + cell], values[start + cell + 1]
    return a + (b - a) * fraction


@given(u=st.integers(0, 2**64 - 1) | st.integers(0, 2**20) | st.integers(2**64 - 2**20, 2**64 - 1))
def test_interpolation_is_exact_and_rounds_to_the_nearest(u: int) -> None:
    assert abs(variate_ns(STEEP, 0, u) - exact(STEEP, u)) <= Fraction(1, 2)


def steep_table() -> list[int]:
    """Cells over the whole range that the products must bear."""
    lower = [(i * 2_654_435_761 % 2**20) << 39 for i in range(TAIL_LENGTH)]
    upper = [(1 << 59) - value for value in lower]
    return [1, *lower, *upper]


STEEP = steep_table()


WORDS = st.integers(0, 2**64 - 1) | st.integers(0, 2**20) | st.integers(2**64 - 2**20, 2**64 - 1)


@settings(max_examples=2000)
@given(a=WORDS, b=WORDS)
def test_a_variate_grows_with_its_word(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert variate_ns(MONOTONE, 0, low) <= variate_ns(MONOTONE, 0, high)


def monotone_table() -> list[int]:
    tables = LawTables()
    tables.add(Lognormal(mean_s=30, cv=3))
    return tables.values


MONOTONE = monotone_table()


def test_tables_do_not_depend_on_last_bits() -> None:
    """Digests of this platform's tables; another one that differs shows it in its provenance."""
    tables = LawTables()
    for law, *_ in LAWS:
        tables.add(law)
    assert len(tables.values) == len(LAWS) * (1 + 2 * TAIL_LENGTH)
    assert tables.digest()[:16] == TABLES_DIGEST


TABLES_DIGEST = "98062ac22d200689"
