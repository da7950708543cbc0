"""Polling by what the tasks that have ended took.

Rule 1: a rule is a gap rule of ``polling`` whose state goes on with what its requester remembers,
(tasks that ended, the sum of their durations in ns, of the logarithms of those, of the squares of
these).
Rule 2: a duration is what a requester can know: from the creation that it heard of to the middle
between the last poll that found nothing and the one that found the end.
"""

import math
from typing import Final, Literal

from tasksim.policies.polling import Params, Polling

NOTHING: Final[Params] = (0.0, 0.0, 0.0, 0.0)
INVERSE_ROOT_2: Final = 0.7071067811865476
INVERSE_ROOT_2_PI: Final = 0.3989422804014327
TINY: Final = 1e-280


def learned_mean_gap_ns(
    params: Params,
    state: Params,
    attempt: int,  # noqa: ARG001
    age_ns: int,  # noqa: ARG001
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,  # noqa: ARG001
) -> int:
    """Gap in ns of a requester that knows how long its tasks took on average, and no more.

    The law of greatest entropy with that mean is exponential, whose hazard is 1 / mean, so the
    gap is sqrt(2 c1 mean / c2). *params* = (c1 / c2 in ns, gap in ns while fewer than so many
    tasks have ended, so many, shortest, longest). *state* = (.., .., tasks learned from, their sum
    in ns, ..).
    """
    ratio_ns, first_ns, enough, least_ns, most_ns = params
    count = state[2]
    if count < enough:
        return max(int(first_ns), retry_after_ns)
    gap_ns = math.sqrt(2.0 * ratio_ns * (state[3] / count))
    return max(int(min(max(gap_ns, least_ns), most_ns)), retry_after_ns)


def learned_lognormal_gap_ns(
    params: Params,
    state: Params,
    attempt: int,  # noqa: ARG001
    age_ns: int,
    hint_ns: int,  # noqa: ARG001
    retry_after_ns: int,
    u: float,  # noqa: ARG001
) -> int:
    """Gap in ns by the hazard of the lognormal law that fits the tasks that have ended.

    *params* as of ``learned_mean_gap_ns``; *state* = (.., .., tasks, .., sum of their logarithms,
    sum of the squares of those). A spread of less than a twentieth is taken as a twentieth: few
    tasks that took the same time prove little.
    """
    ratio_ns, first_ns, enough, least_ns, most_ns = params
    count = state[2]
    if count < enough:
        return max(int(first_ns), retry_after_ns)
    centre = state[4] / count
    spread = math.sqrt(max(state[5] / count - centre * centre, 0.0025))
    z = (math.log(max(age_ns, 1)) - centre) / spread
    survival = 0.5 * math.erfc(z * INVERSE_ROOT_2)
    if survival < TINY:
        hazard = max(z, 1.0) / (spread * age_ns)  # of the far tail (Mills)
    else:
        hazard = math.exp(-0.5 * z * z) * INVERSE_ROOT_2_PI / (spread * max(age_ns, 1) * survival)
    if hazard * most_ns * most_ns < 2.0 * ratio_ns:
        return max(int(most_ns), retry_after_ns)
    gap_ns = math.sqrt(2.0 * ratio_ns / hazard)
    return max(int(min(max(gap_ns, least_ns), most_ns)), retry_after_ns)


def learned(lore: Params, duration_ns: int) -> Params:
    """What is remembered of tasks that have ended, with one more: as ``NOTHING`` is made."""
    count, total, logs, squares = lore
    log = math.log(max(duration_ns, 1))
    return count + 1.0, total + duration_ns, logs + log, squares + log * log


def learning(
    rule: Literal["mean", "lognormal"],
    ratio_ns: float,
    first_ns: int,
    enough: int,
    least_ns: int,
    most_ns: int,
) -> Polling:
    """Poll by what the tasks that ended have taught; every *first_ns* until *enough* have."""
    return Polling(
        gap_ns=learned_mean_gap_ns if rule == "mean" else learned_lognormal_gap_ns,
        params=(float(ratio_ns), float(first_ns), float(enough), float(least_ns), float(most_ns)),
        learns=True,
    )
