"""When a requester polls next.

Rule 1: a rule is one function ``gap_ns(params, state, attempt, age_ns, hint_ns, retry_after_ns,
u)``; *params* and *state* are flat tuples of numbers, so that the same source compiles.
Rule 2: a gap is counted from the answer to the previous poll; gap 0 stands before the first poll,
counted from the created notification, which carries no hint (SEP-1686 3.4).
Rule 3: proportional jitter only lengthens a gap, so a hint that is respected stays respected
(R22); the other jitters belong to backoff, which is deaf to hints.
Rule 4: *state* = (the last gap in ns, 0 before the first; the task's own uniform, drawn once); of
a rule that learns it goes on with what its requester remembers, (tasks that ended, the sum of
their durations in ns, of the logarithms of those, of the squares of these).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Params = tuple[float, ...]
Spread = Literal["proportional", "full", "equal", "decorrelated"]
GapRule = Callable[[Params, Params, int, int, int, int, float], int]


class First(IntEnum):
    """When the first poll follows the created notification."""

    AFTER_INTERVAL = 0
    AT_ONCE = 1
    RANDOM_PHASE = 2


def lengthened_ns(gap_ns: float, jitter: float, u: float) -> int:
    """Gap in ns, longer by up to the share *jitter* of itself; *u* uniform in [0, 1)."""
    return int(gap_ns * (1.0 + jitter * u) + 0.5)


def grown_ns(
    base_ns: float, factor: float, cap_ns: float, capped_from: float, attempt: int
) -> float:
    """Base * factor**attempt, at most the cap, which holds from attempt *capped_from* on."""
    if attempt >= capped_from:
        return cap_ns
    # float(): an integer power differs in the last bit between Python and compiled code.
    grown: float = base_ns * factor ** float(attempt)
    return min(cap_ns, grown)


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

    *params* = (own interval in ns while no hint is known, jitter share, ceiling, floor, own least
    gap). The interval is cut to the ceiling, then raised to the floor and to the own least gap:
    the largest of all that apply wins, and a Retry-After is never cut.
    """
    default_ns, jitter, ceiling_ns, floor_ns, own_ns = params
    interval_ns = hint_ns if hint_ns >= 0 else default_ns
    interval_ns = max(min(interval_ns, ceiling_ns), floor_ns, own_ns)
    return max(lengthened_ns(interval_ns, jitter, u), retry_after_ns)


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
    gap_ns = grown_ns(base_ns, factor, cap_ns, capped_from, attempt)
    return max(lengthened_ns(gap_ns, jitter, u), retry_after_ns)


def spread_backoff_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns of capped exponential backoff that is spread below its ceiling.

    *params* = (base in ns, factor, cap in ns, least share of the ceiling, attempt at which the cap
    is reached): share 0 is full jitter, one half equal jitter.

    Source: Brooker 2015, Exponential Backoff and Jitter.
    """
    base_ns, factor, cap_ns, least, capped_from = params
    ceiling_ns = grown_ns(base_ns, factor, cap_ns, capped_from, attempt)
    return max(int(ceiling_ns * (least + (1.0 - least) * u) + 0.5), retry_after_ns, 1)


def decorrelated_gap_ns(
    params: Params,
    state: Params,
    attempt: int,
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns that is uniform between the base and thrice the last one, at most the cap.

    *params* = (base in ns, cap in ns). Source: Brooker 2015.
    """
    base_ns, cap_ns = params
    last_ns = base_ns if attempt == 0 else max(state[0], base_ns)
    gap_ns = min(cap_ns, base_ns + (3.0 * last_ns - base_ns) * u)
    return max(int(gap_ns + 0.5), retry_after_ns)


def ramp_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,
    age_ns: int,  # noqa: ARG001
    hint_ns: int,
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns that doubles from a base up to the advertised interval.

    *params* = (base in ns, factor, own cap in ns while no hint is known, jitter share).
    """
    base_ns, factor, own_ns, jitter = params
    cap_ns = float(hint_ns) if hint_ns >= 0 else own_ns
    steps = min(float(attempt), 60.0)  # further on any base has passed any cap
    gap_ns = min(base_ns * factor**steps, max(cap_ns, base_ns))
    return max(lengthened_ns(gap_ns, jitter, u), retry_after_ns)


def scheduled_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns of an explicit schedule, whose last gap repeats.

    *params* = (jitter share, first gap in ns, second, ...).
    """
    place = min(attempt + 1, len(params) - 1)
    return max(lengthened_ns(params[place], params[0], u), retry_after_ns)


def quadratic_gap_ns(
    params: Params,
    state: Params,
    attempt: int,
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,  # noqa: ARG001
) -> int:
    """Gap in ns between polls at ages a (k + U)**2, k from 0: nothing need be known of the work.

    *params* = (a in ns: the cost of a poll over the cost of a delay for a second). U is the
    task's own uniform. Expected cost: 2 sqrt(c1 c2) E[sqrt S] + 4 c1 / 3 for work of any law.
    """
    unit_ns, phase = params[0], state[1]
    if attempt == 0:
        return max(int(unit_ns * phase * phase + 0.5), retry_after_ns, 1)
    return max(int(unit_ns * (2.0 * attempt - 1.0 + 2.0 * phase) + 0.5), retry_after_ns, 1)


def aged_place(params: Params, count: int, age_ns: int) -> int:
    """How many of the *count* ages from ``params[1]`` on are not above *age_ns*."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if age_ns < params[1 + middle]:
            high = middle
        else:
            low = middle + 1
    return low


def aged_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,  # noqa: ARG001
    age_ns: int,
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,  # noqa: ARG001
) -> int:
    """Gap in ns by the task's age: *params* = (n, n ages in ns, n + 1 gaps in ns)."""
    count = int(params[0])
    return max(int(params[1 + count + aged_place(params, count, age_ns)]), retry_after_ns)


def tabled_gap_ns(
    params: Params,
    state: Params,  # noqa: ARG001
    attempt: int,  # noqa: ARG001
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,
) -> int:
    """Gap in ns of somebody who polls when there is occasion: drawn anew each time.

    *params* = quantiles of the gap in ns at equal steps from 0 to 1, at least two.
    """
    at = u * (len(params) - 1)
    place = int(at)
    low_ns, high_ns = params[place], params[place + 1]
    return max(int(low_ns + (high_ns - low_ns) * (at - place) + 0.5), retry_after_ns, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """A polling rule with its parameters."""

    gap_ns: GapRule
    params: Params
    first: First = First.AFTER_INTERVAL
    jittered: bool = False  # whether the rule looks at its uniform
    tests_late: bool = (
        False  # N12: sleeps before it looks at what a get said, then asks for results
    )
    learns: bool = False  # whether its state goes on with what tasks that ended have taught
    hold_ns: int = 0  # how long the receiver is asked to hold a get; 0: not at all


def fixed(interval_ns: int, *, jitter: float = 0.0, first: First = First.AFTER_INTERVAL) -> Polling:
    """Poll every *interval_ns*, whatever the receiver advertises."""
    return Polling(
        gap_ns=fixed_gap_ns,
        params=(float(interval_ns), jitter),
        first=first,
        jittered=jitter > 0,
    )


def hint(
    default_ns: int,
    *,
    jitter: float = 0.0,
    first: First = First.AFTER_INTERVAL,
    ceiling_ns: float = math.inf,
    floor_ns: int = 0,
    own_ns: int = 0,
    tests_late: bool = False,
) -> Polling:
    """Poll as advertised; every *default_ns* until a hint is known.

    Never faster than *floor_ns* nor than the user's *own_ns*; what is advertised beyond
    *ceiling_ns* is cut to it, unless the floor is higher.
    """
    return Polling(
        gap_ns=hint_gap_ns,
        params=(float(default_ns), jitter, float(ceiling_ns), float(floor_ns), float(own_ns)),
        first=first,
        jittered=jitter > 0,
        tests_late=tests_late,
    )


def schedule(
    gaps_ns: Sequence[int], *, jitter: float = 0.0, first: First = First.AFTER_INTERVAL
) -> Polling:
    """Poll after each of *gaps_ns*, the last of which repeats."""
    return Polling(
        gap_ns=scheduled_gap_ns,
        params=(jitter, *map(float, gaps_ns)),
        first=first,
        jittered=jitter > 0,
    )


def quadratic(unit_ns: float) -> Polling:
    """Poll at ages unit * (k + U)**2."""
    return Polling(gap_ns=quadratic_gap_ns, params=(float(unit_ns),))


def aged(ages_ns: Sequence[int], gaps_ns: Sequence[int]) -> Polling:
    """Poll after ``gaps_ns[k]`` from ``ages_ns[k - 1]`` on; one gap more than ages."""
    assert len(gaps_ns) == len(ages_ns) + 1, "a gap before, between and after the ages"
    params = (float(len(ages_ns)), *map(float, ages_ns), *map(float, gaps_ns))
    return Polling(gap_ns=aged_gap_ns, params=params)


def ramp(base_ns: int, own_ns: int, *, factor: float = 2.0, jitter: float = 0.0,
         first: First = First.AFTER_INTERVAL) -> Polling:  # fmt: skip
    """Poll at gaps that grow from *base_ns* to what is advertised, *own_ns* while nothing is."""
    return Polling(
        gap_ns=ramp_gap_ns,
        params=(float(base_ns), factor, float(own_ns), jitter),
        first=first,
        jittered=jitter > 0,
    )


def backoff(
    base_ns: int,
    cap_ns: int,
    *,
    factor: float = 2.0,
    jitter: float = 0.0,
    spread: Spread = "proportional",
    first: First = First.AFTER_INTERVAL,
) -> Polling:
    """Poll at gaps that grow by *factor*, at least 1, from *base_ns* up to *cap_ns*.

    The attempt from which the cap holds is worked out here, so that the power never overflows.
    """
    if spread == "decorrelated":
        return Polling(
            gap_ns=decorrelated_gap_ns,
            params=(float(base_ns), float(cap_ns)),
            first=first,
            jittered=True,
        )
    steps = math.inf
    if base_ns >= cap_ns:
        steps = 0.0
    elif factor > 1:
        steps = float(math.ceil(math.log(cap_ns / base_ns) / math.log(factor)) + 1)
    if spread != "proportional":
        least = 0.5 if spread == "equal" else 0.0
        return Polling(
            gap_ns=spread_backoff_gap_ns,
            params=(float(base_ns), factor, float(cap_ns), least, steps),
            first=first,
            jittered=True,
        )
    return Polling(
        gap_ns=backoff_gap_ns,
        params=(float(base_ns), factor, float(cap_ns), jitter, steps),
        first=first,
        jittered=jitter > 0,
    )


def tabled(quantiles_ns: Sequence[int]) -> Polling:
    """Poll at gaps that are drawn from a law, given by its quantiles at equal steps."""
    assert len(quantiles_ns) > 1, "a first and a last quantile"
    return Polling(gap_ns=tabled_gap_ns, params=tuple(map(float, quantiles_ns)), jittered=True)


def held(hold_ns: int, otherwise_ns: int, *, jitter: float = 0.0) -> Polling:
    """Ask the receiver to hold each get; as advertised, else *otherwise_ns*, where it does not."""
    return Polling(
        gap_ns=hint_gap_ns,
        params=(float(otherwise_ns), jitter, math.inf, 0.0, 0.0),
        first=First.AT_ONCE,
        jittered=jitter > 0,
        hold_ns=hold_ns,
    )
