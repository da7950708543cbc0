"""Draws and variates, compiled: those of ``scenario.draws`` and ``scenario.variates``.

Rule: words are uint64 and everything else int64; a test compares both with the originals.
"""

import numpy as np

from tasksim.engines.fast.jit import inlined
from tasksim.scenario import variates
from tasksim.scenario.draws import COUNTER_STEP, ENTITY_STEP

_ENTITY_STEP = np.uint64(ENTITY_STEP)
_COUNTER_STEP = np.uint64(COUNTER_STEP)
_MUL_A = np.uint64(0xBF58476D1CE4E5B9)
_MUL_B = np.uint64(0x94D049BB133111EB)
_FIRST_NODE = np.int64(1 << (63 - variates.OCTAVES))
_MASK63 = np.uint64((1 << 63) - 1)
_CONSTANT, _QUANTILES, _MIXTURE = variates.CONSTANT, variates.QUANTILES, variates.MIXTURE
_CELL_BITS, _CELLS = variates.CELL_BITS, variates.CELLS
_TAIL_LENGTH = variates.TAIL_LENGTH
_MASK31 = (1 << 31) - 1
_HALF = 1 << 30


@inlined
def mix64(z):
    """SplitMix64 finaliser of a 64-bit word."""
    z = (z ^ (z >> np.uint64(30))) * _MUL_A
    z = (z ^ (z >> np.uint64(27))) * _MUL_B
    return z ^ (z >> np.uint64(31))


@inlined
def entity_key(run, entity):
    """Key of an entity within a replication."""
    return mix64(run + np.uint64(entity + 1) * _ENTITY_STEP)


@inlined
def draw(key, stream, ordinal):
    """Uniform 64-bit word of an entity's draw."""
    address = np.uint64(stream) << np.uint64(32) | np.uint64(ordinal)
    return mix64(key + address * _COUNTER_STEP)


@inlined
def unit(word):
    """Uniform float in [0, 1) with 53 random bits."""
    return np.float64(np.int64(word >> np.uint64(11))) * 2.0**-53


@inlined
def falls(word, threshold):
    """Whether a word lies below a threshold that was shifted right by 11."""
    return np.int64(word >> np.uint64(11)) < threshold


@inlined
def band_of(thresholds, first, count, word):
    """Index of the band that a word falls into; *count* thresholds, shifted, from *first* on."""
    shifted = np.int64(word >> np.uint64(11))
    for index in range(count):
        if shifted < thresholds[first + index]:
            return index
    return count


@inlined
def below(count, word):
    """Uniform whole number in 0 .. count - 1; *count* below 2**31."""
    high, low = np.int64(word >> np.uint64(32)), np.int64(word & np.uint64(0xFFFFFFFF))
    return (high * count + (low * count >> 32)) >> 32


@inlined
def _bit_length(value):
    """Number of bits of a positive whole number."""
    bits = 0
    if value >> 32:
        bits, value = 32, value >> 32
    if value >> 16:
        bits, value = bits + 16, value >> 16
    if value >> 8:
        bits, value = bits + 8, value >> 8
    if value >> 4:
        bits, value = bits + 4, value >> 4
    if value >> 2:
        bits, value = bits + 2, value >> 2
    return bits + (2 if value >> 1 else 1)


@inlined
def _interpolated(values, start, word):
    """Quantile at a word from the two tails that begin at *start*."""
    is_upper = np.int64(word >> np.uint64(63))
    folded = ~word if is_upper else word
    distance = max(np.int64(folded & _MASK63), _FIRST_NODE)
    bits = _bit_length(distance)
    distance <<= 63 - bits
    cell = ((bits - 16) << _CELL_BITS) + ((distance >> (62 - _CELL_BITS)) & (_CELLS - 1))
    fraction = (distance >> (31 - _CELL_BITS)) & _MASK31
    node = start + is_upper * _TAIL_LENGTH + cell
    low = values[node]
    step = values[node + 1] - low
    return low + (step >> 31) * fraction + (((step & _MASK31) * fraction + _HALF) >> 31)


@inlined
def variate_ns(values, place, word):
    """Duration in ns that the law at *place* gives to a word."""
    form = values[place]
    while form == _MIXTURE:
        parts, first, part = values[place + 1], place + 2, 0
        half = np.int64(word >> np.uint64(1))
        while part < parts - 1 and half >= values[first + part]:
            part += 1
        place = values[first + parts - 1 + part]
        form = values[place]
        word = mix64(word + _ENTITY_STEP)
    if form == _QUANTILES:
        return _interpolated(values, place + 1, word)
    if form == _CONSTANT:
        return values[place + 1]
    return values[place + 2 + below(values[place + 1], word)]
