"""When a requester polls next.

Rule 1: a rule is one function ``gap_ns(params, state, attempt, age_ns, hint_ns, retry_after_ns,
u)``; *params* and *state* are flat tuples of numbers, so that the same source compiles.
Rule 2: a gap is counted from the answer to the previous poll; gap 0 stands before the first poll,
counted from the created notification, which carries no hint (SEP-1686 3.4).
Rule 3: jitter only lengthens a gap, so a hint that is respected stays respected (R22).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

Params = tuple[float, ...]
GapRule = Callable[[Params, Params, int, int, int, int, float], int]


class First(IntEnum):
    """When the first poll follows the created notification."""

    AFTER_INTERVAL = 0
    AT_ONCE = 1
    RANDOM_PHASE = 2


def lengthened_ns(gap_ns: float, jitter: float, u: float) -> int:
    """Gap in ns, longer by up to the share *jitter* of itself; *u* uniform in [0, 1)."""
    return int(gap_ns * (1.0 + jitter * u) + 0.5)


def fixed_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,  # noqa: ARG001
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns of a requester with its own fixed interval, deaf to hints.

    *params* = (interval in ns, jitter share).
    """
    return max(lengthened_ns(params[0], params[1], u), retry_after_ns)


def hint_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,  # noqa: ARG001
    age_ns: int,  # noqa: ARG001
    hint_ns: int,
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns of a requester that follows the advertised interval (R22).

    *params* = (own interval in ns while no hint is known, jitter share).
    """
    interval_ns = hint_ns if hint_ns >= 0 else params[0]
    return max(lengthened_ns(interval_ns, params[1], u), retry_after_ns)


def backoff_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns of capped exponential backoff, base * factor**attempt, deaf to hints (N03).

    *params* = (base in ns, factor, cap in ns, jitter share, attempt at which the cap is reached).
    """
    base_ns, factor, cap_ns, jitter, capped_from = params
    gap_ns = cap_ns
    if attempt < capped_from:
        # float(): an integer power differs in the last bit between Python and compiled code.
        gap_ns = min(cap_ns, base_ns * factor ** float(attempt))
    return max(lengthened_ns(gap_ns, jitter, u), retry_after_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """A polling rule with its parameters."""

    gap_ns: GapRule
    params: Params
    first: First = First.AFTER_INTERVAL
    jittered: bool = False  # whether the rule looks at its uniform


def fixed(interval_ns: int, *, jitter: float = 0.0, first: First = First.AFTER_INTERVAL) -> Polling:
    """Poll every *interval_ns*, whatever the receiver advertises."""
    return Polling(
        gap_ns=fixed_gap_ns,
        params=(float(interval_ns), jitter),
        first=first,
        jittered=jitter > 0,
    )


def hint(default_ns: int, *, jitter: float = 0.0, first: First = First.AFTER_INTERVAL) -> Polling:
    """Poll as advertised; every *default_ns* until a hint is known."""
    return Polling(
        gap_ns=hint_gap_ns,
        params=(float(default_ns), jitter),
        first=first,
        jittered=jitter > 0,
    )


def backoff(
    base_ns: int,
    cap_ns: int,
    *,
    factor: float = 2.0,
    jitter: float = 0.0,
    first: First = First.AFTER_INTERVAL,
) -> Polling:
    """Poll at gaps that grow by *factor*, at least 1, from *base_ns* up to *cap_ns*.

    The attempt from which the cap holds is worked out here, so that the power never overflows.
    """
    steps = math.inf
    if base_ns >= cap_ns:
        steps = 0.0
    elif factor > 1:
        steps = float(math.ceil(math.log(cap_ns / base_ns) / math.log(factor)) + 1)
    return Polling(
        gap_ns=backoff_gap_ns,
        params=(float(base_ns), factor, float(cap_ns), jitter, steps),
        first=first,
        jittered=jitter > 0,
    )
