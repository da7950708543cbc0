"""The integer arithmetic of variates: against rational numbers, and within 64 bits."""

from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.scenario.distributions import Constant, Lognormal, Mixture, Uniform
from tasksim.scenario.draws import ENTITY_STEP, MASK64, mix64
from tasksim.scenario.quantiles import LawTables
from tasksim.scenario.variates import (
    CELL_BITS,
    CELLS,
    CONSTANT,
    MIXTURE,
    OCTAVES,
    QUANTILES,
    SAMPLE,
    SAMPLE_MAX,
    TAIL_LENGTH,
    variate_ns,
)

WORDS = 100_000
EDGES = [
    *(end + step for end in (0, 2**15, 2**16, 2**62, 2**63, 3 * 2**62) for step in (-1, 0, 1)),
    2**64 - 2**16,
    2**64 - 2**15,
    2**64 - 1,
][1:]


def words(count: int) -> list[int]:
    """Uniform words, and as many that are small or large: half of them lie in the far tails."""
    plain = [mix64(i * ENTITY_STEP & MASK64) for i in range(1, count // 2 + 1)]
    tails = [mix64(~u & MASK64) >> (u & 63) ^ (MASK64 if u & 64 else 0) for u in plain]
    return plain + tails


def swinging(top: int) -> list[int]:
    """A table whose neighbours lie 0 and *top* apart: the widest cells there can be."""
    return [QUANTILES, *([0, top] * TAIL_LENGTH)]


def scattered() -> list[int]:
    """A table of arbitrary numbers below 2**62."""
    return [QUANTILES, *(mix64(i * ENTITY_STEP & MASK64) >> 2 for i in range(2 * TAIL_LENGTH))]


TABLES = {
    "swinging": swinging(2**62 - 1),
    "scattered": scattered(),
    "flat": [QUANTILES, *([7] * 2 * TAIL_LENGTH)],
}


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


@pytest.mark.parametrize("name", ["swinging", "scattered"])
def test_interpolation_is_rational_arithmetic_rounded_once(name: str) -> None:
    values = TABLES[name]
    for u in words(WORDS) + EDGES:
        assert variate_ns(values, 0, u) == floor(exact(values, u) + Fraction(1, 2)), hex(u)


def in_int64(values: list[int], start: int, u: list[int]) -> Any:
    """The interpolation again, in machine words that wrap: what compiled code will compute."""
    table = np.array(values, dtype=np.int64)
    word = np.array(u, dtype=np.uint64)
    is_upper = (word >> np.uint64(63)).astype(np.int64)
    near = np.where(is_upper == 1, ~word, word).astype(np.int64)
    near = np.maximum(near, 1 << (63 - OCTAVES))
    octave = np.zeros_like(near)
    for shift in (32, 16, 8, 4, 2, 1):
        octave += np.where(near >> (octave + shift) > 0, shift, 0)
    near <<= 62 - octave
    cell = ((octave - 15) << CELL_BITS) + ((near >> (62 - CELL_BITS)) & (CELLS - 1))
    fraction = (near >> (31 - CELL_BITS)) & (2**31 - 1)
    low = table[start + is_upper * TAIL_LENGTH + cell]
    step = table[start + is_upper * TAIL_LENGTH + cell + 1] - low
    below = (step & (2**31 - 1)) * fraction + 2**30
    return low + (step >> 31) * fraction + (below >> 31)


@pytest.mark.parametrize("name", list(TABLES))
def test_no_product_leaves_int64(name: str) -> None:
    chosen = words(WORDS) + EDGES
    drawn = [variate_ns(TABLES[name], 0, u) for u in chosen]
    np.testing.assert_array_equal(in_int64(TABLES[name], 1, chosen), drawn)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 1_000, 65_537])
def test_a_samples_value_is_picked_by_exact_division(count: int) -> None:
    values = [SAMPLE, count, *range(count)]
    for u in words(10_000) + EDGES:
        assert variate_ns(values, 0, u) == u * count >> 64


class LongestSample:
    """Stands for a sample that is too long to be held: value i is i."""

    def __getitem__(self, index: int) -> int:
        return (SAMPLE, SAMPLE_MAX)[index] if index < 2 else index - 2


def test_the_longest_sample_is_divided_within_64_bits() -> None:
    longest: Any = LongestSample()
    assert (2**32 - 1) * SAMPLE_MAX + (2**32 - 1) < 2**63
    for u in words(10_000) + EDGES:
        assert variate_ns(longest, 0, u) == u * SAMPLE_MAX >> 64


def test_constants_ignore_the_word() -> None:
    assert {variate_ns([CONSTANT, 5], 0, u) for u in EDGES} == {5}


def test_a_mixture_draws_from_its_part_with_a_new_word() -> None:
    tables = LawTables()
    part = tables.add(Uniform(low_s=0, high_s=1))
    other = tables.add(Constant(value_s=9))
    place = len(tables.values)
    tables.values += [MIXTURE, 2, 2**62, part, other]
    for u in (0, 2**62, 2**63 - 1):
        fresh = mix64(u + ENTITY_STEP & MASK64)
        assert variate_ns(tables.values, place, u) == variate_ns(tables.values, part, fresh)
    assert variate_ns(tables.values, place, 2**63) == 9_000_000_000


def test_mixtures_nest() -> None:
    tables = LawTables()
    inner = Mixture(weights=(1, 1), parts=(Constant(value_s=1), Constant(value_s=2)))
    place = tables.add(Mixture(weights=(1, 1), parts=(inner, Constant(value_s=3))))
    drawn = [variate_ns(tables.values, place, u) for u in words(20_000)[:10_000]]
    shares = [drawn.count(s * 1_000_000_000) / len(drawn) for s in (1, 2, 3)]
    # Five standard errors of a share of one half; false alarms below 1e-6 each.
    assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.025)


def lognormal_table() -> list[int]:
    tables = LawTables()
    tables.add(Lognormal(mean_s=30, cv=3))
    return tables.values


LOGNORMAL = lognormal_table()
WORDS_OF_ALL_SIZES = (
    st.integers(0, 2**64 - 1) | st.integers(0, 2**20) | st.integers(2**64 - 2**20, 2**64 - 1)
)


@given(a=WORDS_OF_ALL_SIZES, b=WORDS_OF_ALL_SIZES)
def test_a_variate_never_falls_as_its_word_grows(a: int, b: int) -> None:
    low, high = sorted((a, b))
    assert variate_ns(LOGNORMAL, 0, low) <= variate_ns(LOGNORMAL, 0, high)


@given(u=WORDS_OF_ALL_SIZES, apart=st.integers(1, 2**16))
def test_a_variate_does_not_fall_between_neighbours(u: int, apart: int) -> None:
    low = min(u, 2**64 - 1 - apart)
    assert variate_ns(LOGNORMAL, 0, low) <= variate_ns(LOGNORMAL, 0, low + apart)


def test_variates_grow_through_cells_octaves_and_the_median() -> None:
    starts = [1 << bits for bits in range(15, 63)]
    lower = {start + cell * start // CELLS for start in starts for cell in range(CELLS)}
    lower |= {corner + step for corner in lower for step in (-(2**15), -1, 1, 2**15)}
    lower = {u for u in lower if 0 <= u < 2**63}
    ordered = sorted(lower | {2**64 - 1 - u for u in lower})
    drawn = [variate_ns(LOGNORMAL, 0, u) for u in ordered]
    assert all(a <= b for a, b in pairwise(drawn))


def test_words_beyond_the_last_octave_give_the_outermost_quantile() -> None:
    for u in (0, 1, 12_345, 2**15):
        assert variate_ns(LOGNORMAL, 0, u) == LOGNORMAL[1]
        assert variate_ns(LOGNORMAL, 0, 2**64 - 1 - u) == LOGNORMAL[1 + TAIL_LENGTH]


def test_the_median_is_one() -> None:
    below, above = (variate_ns(LOGNORMAL, 0, u) for u in (2**63 - 1, 2**63))
    assert below == above == LOGNORMAL[TAIL_LENGTH] == LOGNORMAL[2 * TAIL_LENGTH]
