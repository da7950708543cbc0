"""Keyed randomness: a draw has an address, no generator has a state.

Rule 1: the address is (seed, replication, stream, entity, ordinal). Entity is the task's index
(or the requester's, or a day's); the ordinal is the attempt, or the number of that kind of message
within the task, never a global counter.
Rule 2: stream numbers are final; a new purpose takes a new number.
Rule 3: integers only. The same numbers come out of Python, compiled code and every machine.

The hash is the SplitMix64 finaliser (Steele, Lea, Flood 2014) over keyed increments: one
finaliser for the run, one for the entity, one for the draw.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

MASK64: Final = (1 << 64) - 1
ENTITY_STEP: Final = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, odd
COUNTER_STEP: Final = 0xD1342543DE82EF95  # a multiplier of Steele and Vigna 2022, odd
STREAM_BITS: Final = 32


class Stream(IntEnum):
    """What a draw is for."""

    ARRIVAL_GAP = 0
    REQUESTER = 1
    POPULATION = 2
    WORK_CLASS = 3
    DURATION = 4
    FAILED = 5
    POLL_JITTER = 6
    FIRST_PHASE = 7
    TRACE_DAY = 8
    CANCELLED = 9
    CANCEL_AFTER = 10
    INPUT = 11
    INPUT_THINK = 12
    USER_THINK = 14
    BURST_STATE = 15
    CREATED_LOST = 16
    REQUEST_LOST = 17
    REPLY_LOST = 18
    ORIGINAL_LOST = 19
    INPUT_LOST = 20
    REQUEST_TWICE = 21
    REPLY_TWICE = 22
    TRACE_KEPT = 23
    SLOW_WORK = 24
    WORKER_DEATH = 25
    CRASHED = 26
    CRASH_AFTER = 27
    PUSH_LOST = 28
    STREAM_CUT = 29
    CREATE_REQUEST_LEG = 32
    CREATED_LEG = 33
    CREATE_REPLY_LEG = 34
    ORIGINAL_LEG = 35
    GET_REQUEST_LEG = 36
    GET_REPLY_LEG = 37
    RESULT_REQUEST_LEG = 38
    RESULT_REPLY_LEG = 39
    CANCEL_LEG = 40
    DELETE_REQUEST_LEG = 41
    DELETE_REPLY_LEG = 42
    INPUT_LEG = 43
    ANSWER_LEG = 44
    CANCEL_REPLY_LEG = 45
    PUSH_LEG = 46
    REQUEST_LATE = 47
    REQUEST_LATE_BY = 48
    REPLY_LATE = 49
    REPLY_LATE_BY = 50


def mix64(z: int) -> int:
    """SplitMix64 finaliser of a 64-bit word."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def run_key(seed: int, replication: int) -> int:
    """Key of a replication."""
    return mix64((mix64(seed * ENTITY_STEP & MASK64) + replication * COUNTER_STEP) & MASK64)


def entity_key(run: int, entity: int) -> int:
    """Key of an entity within a replication."""
    return mix64((run + (entity + 1) * ENTITY_STEP) & MASK64)


def draw_u64(key: int, stream: int, ordinal: int = 0) -> int:
    """Uniform 64-bit word of an entity's draw; *ordinal* below 2**32."""
    return mix64((key + (stream << STREAM_BITS | ordinal) * COUNTER_STEP) & MASK64)


def unit_from_u64(u: int) -> float:
    """Uniform float in [0, 1) with 53 random bits."""
    return (u >> 11) * 2.0**-53


def threshold_from_share(share: float) -> int:
    """Number below which a 64-bit word falls with probability *share*, to 2**-53.

    A multiple of 2**11, so that compiled code may compare both shifted right by 11 in int64:
    that of the whole, 2**64, fits no 64-bit word.
    """
    return int(share * 2.0**53 + 0.5) << 11


def thresholds_from_shares(shares: Sequence[float]) -> tuple[int, ...]:
    """Upper ends of consecutive bands with the given shares; the last band takes the rest."""
    total, ends = 0.0, []
    for share in shares[:-1]:
        total += share
        ends.append(threshold_from_share(min(total, 1.0)))
    return tuple(ends)


def band_of(thresholds: Sequence[int], u: int) -> int:
    """Index of the band that a 64-bit word falls into."""
    for index, end in enumerate(thresholds):
        if u < end:
            return index
    return len(thresholds)


def below(count: int, u: int) -> int:
    """Uniform whole number in 0 .. count - 1; bias below count / 2**64."""
    return count * u >> 64
