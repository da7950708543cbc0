"""One uniform 64-bit word in, one duration in nanoseconds out: laws as integer tables.

Rule 1: exact integer arithmetic on one flat array; every product fits int64, so that compiled
code and Python agree bit for bit on every machine. Nothing is ever drawn twice (no rejection).
Rule 2: a law is its *place* in the array. What stands there:

    0, value                             always the same
    1, lower tail, upper tail            quantiles at tail probabilities, interpolated
    2, n, n sorted values                a sample, each value equally likely
    3, m, m - 1 thresholds, m places     a mixture: u >> 1 picks a part, a new word draws from it

A tail holds the quantiles at probabilities 2**-49 ... 1/2: 48 octaves of 128 cells, and the end.
The word's distance to the nearer end of its range picks octave and cell by its leading bits; the
next 31 bits interpolate. Beyond 2**-49 a tail stays at its outermost quantile, so a variate never
falls as its word grows. Errors against the exact laws, at most, as the tests hold them:

    law                       mean    deviation   quantiles   distribution function
    uniform                   1e-9    1e-9        1e-7        1e-7
    exponential               2e-6    1e-6        1e-6        2e-6
    lognormal, cv 0.3 to 3    4e-6    2e-6        3e-6        4e-6
    gamma, shape 0.1 to 3     6e-6    2e-6        6e-6        2e-5
    Weibull, shape 0.5 to 2   4e-6    2e-6        6e-6        4e-6
    Lomax, alpha 3            3e-6    2e-5        2e-6        3e-6
    cut laws                  6e-6    3e-6        7e-6        8e-6

Quantiles from 0.001 to 0.9999, relatively (below 1 ms: as a share of 1 ms). Durations are whole
nanoseconds: what is shorter than half of one is 0.
"""

from collections.abc import Sequence
from typing import Final

from tasksim.scenario.draws import ENTITY_STEP, MASK64, mix64

CONSTANT: Final = 0
QUANTILES: Final = 1
SAMPLE: Final = 2
MIXTURE: Final = 3

OCTAVES: Final = 48
CELL_BITS: Final = 7
CELLS: Final = 1 << CELL_BITS
TAIL_LENGTH: Final = OCTAVES * CELLS + 1
LONGEST_NS: Final = 1 << 59  # 18 years; 2**62 is what the products would bear
SAMPLE_MAX: Final = (1 << 31) - 1  # values in one sample

_MASK63: Final = (1 << 63) - 1
_MASK32: Final = (1 << 32) - 1
_MASK31: Final = (1 << 31) - 1
_FIRST_NODE: Final = 1 << (63 - OCTAVES)  # words nearer to an end share the outermost quantile
_HALF: Final = 1 << 30


def variate_ns(values: Sequence[int], place: int, u: int) -> int:
    """Duration in ns that the law at *place* gives to the word *u*, uniform on 64 bits."""
    form = values[place]
    while form == MIXTURE:
        place = _part_of(values, place, u)
        form = values[place]
        u = mix64(u + ENTITY_STEP & MASK64)
    if form == QUANTILES:
        return _interpolated(values, place + 1, u)
    if form == CONSTANT:
        return values[place + 1]
    count = values[place + 1]
    return values[place + 2 + (((u >> 32) * count + ((u & _MASK32) * count >> 32)) >> 32)]


def _part_of(values: Sequence[int], place: int, u: int) -> int:
    """Place of the part of a mixture that *u* picks."""
    parts = values[place + 1]
    first = place + 2
    part = 0
    while part < parts - 1 and u >> 1 >= values[first + part]:
        part += 1
    return values[first + parts - 1 + part]


def _interpolated(values: Sequence[int], start: int, u: int) -> int:
    """Quantile at *u* from the two tails that begin at *start*."""
    is_upper = u >> 63
    distance = max((~u if is_upper else u) & _MASK63, _FIRST_NODE)
    bits = distance.bit_length()  # 16 to 63: the octave
    distance <<= 63 - bits  # the leading one moves to bit 62
    cell = (bits - 16 << CELL_BITS) + (distance >> 62 - CELL_BITS & CELLS - 1)
    fraction = distance >> 31 - CELL_BITS & _MASK31
    node = start + is_upper * TAIL_LENGTH + cell
    low = values[node]
    step = values[node + 1] - low
    # low + step * fraction / 2**31, rounded; split so that no product passes 2**62.
    return low + (step >> 31) * fraction + ((step & _MASK31) * fraction + _HALF >> 31)
