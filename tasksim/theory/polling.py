"""Polling at a fixed interval: polls per task, detection delay, network, polls that fail.

Polls stand at multiples of a cycle after creation (or after a random phase); a poll at the very
instant of completion detects. A *cycle* is the distance of two polls at the receiver: the interval,
plus both ways through the network where the requester waits for a reply first.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import optimize

from tasksim.theory.laws import Array, Law, cell_integrals, expectation
from tasksim.theory.validity import (
    InvalidModelError,
    require,
    require_count,
    require_level,
    require_not_negative,
    require_positive,
    require_share,
)

POLLS_MAX = 5_000_000


def poll_instants_s(work: Law, interval_s: float, tail_share: float = 1e-14) -> Array:
    """Instants 0, P, 2P, ... up to one that work outlives with a share *tail_share* at most.

    Source: definition. Valid when: they are at most five million, else the tail is too heavy for a
    plain sum.
    """
    require_positive(interval_s=interval_s)
    polls = work.end_s(tail_share) / interval_s
    require(
        polls < POLLS_MAX, f"{work.name} every {interval_s} s needs a sum over {polls:.0f} polls"
    )
    return np.arange(int(polls) + 2, dtype=np.float64) * interval_s


def fixed_polls_mean(work: Law, interval_s: float, *, at_once: bool = False) -> float:
    """Mean polls of a task, the detecting one included; *at_once* adds one at creation.

    Model: any work S, polls at P, 2P, ..., no network.
    Formula: E N = sum over k >= 0 of P(S > k P).
    Source: Barlow & Proschan 1965, ch. 4.
    Valid when: the interval is positive.
    """
    return float(work.survival(poll_instants_s(work, interval_s)).sum()) + at_once


def fixed_delay_mean_s(work: Law, interval_s: float) -> float:
    """Mean detection delay.

    Model: as in ``fixed_polls_mean``, no poll at creation. Formula: E D = P E N - E S.
    Source: Barlow & Proschan 1965. Valid when: the interval is positive.
    """
    return interval_s * fixed_polls_mean(work, interval_s) - work.mean_s


def schedule_delay_tail(work: Law, instants_s: Array, delay_s: float) -> float:
    """P(D > y) when polls stand at given instants after 0, the first of the array.

    Formula: sum over k of [F(x_(k+1) - y) - F(x_k)]^+.
    Source: Barlow, Hunter & Proschan 1963. Valid when: the last instant outlives the work.
    """
    left, right = instants_s[:-1], instants_s[1:] - delay_s
    inside = right > left
    return float((work.survival(left[inside]) - work.survival(right[inside])).sum())


def schedule_delay_quantile_s(work: Law, instants_s: Array, level: float) -> float:
    """Quantile of the detection delay under a schedule: ``schedule_delay_tail`` inverted.

    Source: as there. Valid when: the level lies strictly between 0 and 1.
    """
    require_level(level=level)
    most = float(np.diff(instants_s).max())
    found = optimize.brentq(
        lambda y: schedule_delay_tail(work, instants_s, y) - (1 - level), 0.0, most, xtol=1e-12
    )
    return float(found)


def fixed_delay_quantile_s(work: Law, interval_s: float, level: float) -> float:
    """Quantile of the detection delay.

    Model: as in ``fixed_polls_mean``.
    Formula: P(D <= x) = sum over k of F((k+1) P) - F((k+1) P - x), inverted.
    Source: elementary. Valid when: the level lies strictly between 0 and 1.
    """
    return schedule_delay_quantile_s(work, poll_instants_s(work, interval_s), level)


def fourier_delay_mean_s(
    characteristic: Callable[[Array], np.ndarray], interval_s: float, *, terms: int = 20_000
) -> float:
    """Mean detection delay from the characteristic function phi of the work.

    Formula: E D = P/2 + (P/pi) sum over k of Im phi(2 pi k / P) / k.
    Source: Poisson summation; Abate & Whitt 1992.
    Valid when: the work has a density of bounded variation; |phi| must have died out after *terms*.
    """
    require_positive(interval_s=interval_s)
    k = np.arange(1, terms + 1, dtype=np.float64)
    phi = characteristic(2 * math.pi * k / interval_s)
    require(bool(abs(phi[-1]) < 1e-6), f"the series has not converged after {terms} terms")
    return interval_s / 2 + interval_s / math.pi * float((phi.imag / k).sum())


def exponential_polls_mean(
    mean_s: float, cycle_s: float, *, failure_share: float = 0.0, at_once: bool = False
) -> float:
    """Mean polls of exponential work, polls that fail counted.

    Formula: 1 / (1 - e^(-C/m)) + q / (1 - q); one more with a poll at creation.
    Source: Barlow, Hunter & Proschan 1963; geometric retries.
    Valid when: each poll fails independently with probability q < 1, retried one cycle later.
    """
    require_positive(mean_s=mean_s, cycle_s=cycle_s)
    require_share(failure_share=failure_share)
    return at_once - 1 / math.expm1(-cycle_s / mean_s) + failure_share / (1 - failure_share)


def exponential_polls_variance(mean_s: float, cycle_s: float) -> float:
    """Variance of the polls of exponential work: e^-y / (1 - e^-y)^2, y = C/m.

    Source: geometric law. Valid when: both durations are positive.
    """
    require_positive(mean_s=mean_s, cycle_s=cycle_s)
    return math.exp(-cycle_s / mean_s) / math.expm1(-cycle_s / mean_s) ** 2


def exponential_delay_mean_s(
    mean_s: float,
    cycle_s: float,
    *,
    failure_share: float = 0.0,
    one_way_s: float = 0.0,
    legs: int = 1,
) -> float:
    """Mean from completion until the requester knows (one leg) or holds the result (three).

    Formula: C / (1 - e^(-C/m)) - m + C q / (1 - q) + legs L.
    Source: Barlow, Hunter & Proschan 1963 with cycle C = P + 2 L; geometric retries.
    Valid when: network time is a constant L a way, and the cycle already holds both ways.
    """
    require_not_negative(one_way_s=one_way_s)
    require_count(0, legs=legs)
    polls = exponential_polls_mean(mean_s, cycle_s, failure_share=failure_share)
    return cycle_s * polls - mean_s + legs * one_way_s


def exponential_delay_variance_s2(mean_s: float, cycle_s: float) -> float:
    """Variance of the detection delay: m^2 - C^2 e^-y / (1 - e^-y)^2, y = C/m.

    Source: C - D is a truncated exponential. Valid when: both durations are positive.
    """
    return mean_s**2 - cycle_s**2 * exponential_polls_variance(mean_s, cycle_s)


def exponential_delay_quantile_s(mean_s: float, cycle_s: float, level: float) -> float:
    """Quantile of the detection delay: C + m ln(p (1 - e^-y) + e^-y), y = C/m.

    Source: truncated exponential. Valid when: the level lies strictly between 0 and 1.
    """
    require_positive(mean_s=mean_s, cycle_s=cycle_s)
    require_level(level=level)
    return cycle_s + mean_s * math.log1p((1 - level) * math.expm1(-cycle_s / mean_s))


def polls_delay_covariance_s(work: Law, interval_s: float) -> float:
    """Covariance of polls and detection delay; zero exactly for exponential work.

    Formula: P E N^2 - E[N S] - E N E D, E N^2 = sum (2k+1) P(S > kP),
    E[N S] = integral of (number of polls before t, times t) as the sum over k of
    k P P(S > kP) + E (S - kP)^+.
    Source: memorylessness for the exponential case. Valid when: the survival function is smooth.
    """
    instants = poll_instants_s(work, interval_s)
    tails = work.survival(instants)
    counts = np.arange(instants.size, dtype=np.float64)
    cells = cell_integrals(work.survival, instants)
    beyond = np.append(np.cumsum(cells[::-1])[::-1], 0.0)
    second = float(((2 * counts + 1) * tails).sum())
    product = float((instants * tails + beyond).sum())
    return interval_s * second - product - float(tails.sum()) * fixed_delay_mean_s(work, interval_s)


def random_phase_polls_mean(mean_s: float, cycle_s: float) -> float:
    """Mean polls: 1 + E S / C, for every law of the work.

    Model: first poll uniform on one cycle. Source: stationary point process (Daley & Vere-Jones).
    Valid when: the phase is independent of the work.
    """
    require_positive(mean_s=mean_s, cycle_s=cycle_s)
    return 1 + mean_s / cycle_s


def random_phase_polls_variance(work: Law, cycle_s: float) -> float:
    """Variance of the polls: Var S / C^2 + E[r (1 - r)], r the fractional part of S / C.

    Source: conditional variance of a rounding at random.
    Valid when: the phase is uniform and independent; the work has a smooth survival function.
    """
    instants = poll_instants_s(work, cycle_s)

    def slope(x: npt.ArrayLike) -> Array:
        part = np.mod(np.asarray(x, dtype=np.float64) / cycle_s, 1.0)
        return np.asarray((1 - 2 * part) / cycle_s * work.survival(x))

    return work.variance_s2 / cycle_s**2 + float(cell_integrals(slope, instants).sum())


def random_phase_delay_mean_s(
    cycle_s: float, *, one_way_s: float = 0.0, failure_share: float = 0.0
) -> float:
    """Mean from completion until the requester knows: C/2 + C q / (1 - q) + L.

    Source: stationarity, D uniform on (0, C) independent of S; geometric retries.
    Valid when: phase uniform, failures independent.
    """
    require_positive(cycle_s=cycle_s)
    require_not_negative(one_way_s=one_way_s)
    require_share(failure_share=failure_share)
    return cycle_s / 2 + cycle_s * failure_share / (1 - failure_share) + one_way_s


def random_phase_delay_quantile_s(
    cycle_s: float, level: float, *, one_way_s: float = 0.0, failure_share: float = 0.0
) -> float:
    """Quantile from completion until the requester knows: C h_q^-1(1 - level) + L.

    Source: uniform phase plus a geometric number of cycles; see ``missed_share``.
    Valid when: phase uniform, failures independent.
    """
    require_positive(cycle_s=cycle_s)
    require_level(level=level)
    return cycle_s * cycles_for_missed_share(1 - level, failure_share) + one_way_s


def missed_share(cycles: float, failure_share: float) -> float:
    """P(no poll succeeds within so many cycles): h_q(x) = q^floor(x) (1 - frac(x) (1 - q)).

    Source: polls at a uniform phase, each failing with probability q; renewal theory (Cox 1962).
    Valid when: failures are independent. Outages and rate limits make it far too small.
    """
    require_share(failure_share=failure_share)
    if cycles <= 0:
        return 1.0
    whole = math.floor(cycles)
    return float(failure_share**whole) * (1 - (cycles - whole) * (1 - failure_share))


def cycles_for_missed_share(share: float, failure_share: float) -> float:
    """The inverse of ``missed_share``: m + (1 - eps / q^m) / (1 - q), m = floor(ln eps / ln q).

    Source: as there. Valid when: the share lies strictly between 0 and 1, failures are independent.
    """
    require_level(share=share)
    require_share(failure_share=failure_share)
    whole = 0 if failure_share == 0 else math.floor(math.log(share) / math.log(failure_share))
    return whole + (1 - share / failure_share**whole) / (1 - failure_share)


def laplace(law: Law, rate_per_s: float) -> float:
    """Transform of a law: E e^(-s L), by quadrature over its probability.

    Source: definition. Valid when: the rate is zero or more.
    """
    require_not_negative(rate_per_s=rate_per_s)
    return expectation(law, lambda x: math.exp(-rate_per_s * x))


def network_polls_mean(mean_s: float, interval_s: float, request: Law, reply: Law) -> float:
    """Mean polls of exponential work through a network of random times each way.

    Formula: 1 / (1 - phi), phi = e^(-P/m) A*(1/m) B*(1/m). Source: renewal argument (Ross 1996).
    Valid when: times are independent of each other and of the work, and the first poll follows the
    acknowledgement of creation by the interval.
    """
    require_positive(mean_s=mean_s, interval_s=interval_s)
    phi = math.exp(-interval_s / mean_s) * laplace(request, 1 / mean_s) * laplace(reply, 1 / mean_s)
    return 1 / (1 - phi)


def network_delay_mean_s(mean_s: float, interval_s: float, request: Law, reply: Law) -> float:
    """Mean from completion until the requester knows: E N E C - m + E B.

    Source: Wald's identity. Valid when: as in ``network_polls_mean``.
    """
    polls = network_polls_mean(mean_s, interval_s, request, reply)
    return polls * (interval_s + request.mean_s + reply.mean_s) - mean_s + reply.mean_s


def renewal_delay_mean_s(
    cycle_mean_s: float, cycle_variance_s2: float, reply_s: float = 0
) -> float:
    """Mean from completion until the requester knows, polls a renewal process in equilibrium.

    Formula: E C^2 / (2 E C) + E B. Source: inspection paradox (Cox 1962).
    Valid when: completions spread over many cycles.
    """
    require_positive(cycle_mean_s=cycle_mean_s)
    require_not_negative(cycle_variance_s2=cycle_variance_s2, reply_s=reply_s)
    return (cycle_variance_s2 + cycle_mean_s**2) / (2 * cycle_mean_s) + reply_s


def uniform_jitter_delay_mean_s(interval_s: float, jitter_share: float) -> float:
    """Mean detection delay of intervals uniform within a share of their mean: P/2 (1 + d^2/3).

    Source: equilibrium renewal (Cox 1962). Valid when: completions spread over many intervals.
    """
    if not 0 <= jitter_share <= 1:
        raise InvalidModelError(f"jitter_share must lie in [0, 1], not {jitter_share}")
    return renewal_delay_mean_s(interval_s, (interval_s * jitter_share) ** 2 / 3)
