"""Backoff without chance and with independent jitter; the geometric schedule at a random phase.

The k-th ceiling is min(cap, base * factor^k) from k = 0. Full jitter draws the gap from (0, v),
equal jitter from (v/2, v). Jitter that remembers, and jitter under general work, in ``jitter``.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import optimize

from tasksim.theory.laws import Array, Law, expectation
from tasksim.theory.polling import POLLS_MAX, schedule_delay_quantile_s
from tasksim.theory.validity import require, require_level, require_positive

Independent = Literal["none", "full", "equal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Ceilings of the gaps between polls: min(cap, base * factor^k)."""

    base_s: float
    factor: float = 2.0
    cap_s: float = math.inf

    def __post_init__(self) -> None:
        require_positive(base_s=self.base_s, factor=self.factor)
        require(self.factor >= 1, f"a backoff does not shrink: factor {self.factor}")
        require(self.cap_s >= self.base_s, f"cap {self.cap_s} s is below base {self.base_s} s")
        capped = math.isfinite(self.cap_s) or self.factor == 1
        require(capped or self.factor > 1.0000001, f"factor {self.factor} never gets anywhere")

    def rising_s(self) -> list[float]:
        """Ceilings below the cap; every later one is the cap. Needs a finite cap."""
        require(math.isfinite(self.cap_s), "the sum over jittered gaps needs a finite cap")
        ceilings: list[float] = []
        while (
            self.factor > 1 and (ceiling := self.base_s * self.factor ** len(ceilings)) < self.cap_s
        ):
            ceilings.append(ceiling)
        return ceilings

    def last_s(self) -> float:
        """The ceiling that stays."""
        return self.base_s if self.factor == 1 else self.cap_s


def backoff_instants_s(backoff: Backoff, end_s: float) -> Array:
    """Instants 0, b, b + bf, ... up to the first at or after *end_s*.

    Source: definition. Valid when: they are at most five million.
    """
    instants, gap = [0.0], backoff.base_s
    while instants[-1] < end_s and gap < backoff.cap_s and backoff.factor > 1:
        instants.append(instants[-1] + gap)
        gap = backoff.base_s * backoff.factor ** (len(instants) - 1)
    gap = min(gap, backoff.cap_s)
    steps = max(0, math.ceil((end_s - instants[-1]) / gap))
    require(steps < POLLS_MAX, f"a sum over {steps} polls: the tail is too heavy for it")
    rest = instants[-1] + gap * np.arange(1, steps + 1, dtype=np.float64)
    return np.concatenate((np.asarray(instants), rest))


def backoff_polls_mean(work: Law, backoff: Backoff) -> float:
    """Mean polls: sum over k of P(S > x_k), x_0 = 0.

    Model: any work, gaps without chance, no network.
    Source: cost identity of Barlow, Hunter & Proschan 1963. Valid when: the work is positive.
    """
    return float(work.survival(backoff_instants_s(backoff, work.end_s())).sum())


def backoff_delay_mean_s(work: Law, backoff: Backoff) -> float:
    """Mean detection delay: sum over k of (x_(k+1) - x_k) P(S > x_k), less E S.

    Source and validity: as in ``backoff_polls_mean``.
    """
    instants = backoff_instants_s(backoff, work.end_s())
    return float((np.diff(instants) * work.survival(instants[:-1])).sum()) - work.mean_s


def backoff_delay_quantile_s(work: Law, backoff: Backoff, level: float) -> float:
    """Quantile of the detection delay: P(D > y) = sum of [F(x_(k+1) - y) - F(x_k)]^+, inverted.

    Source and validity: as in ``backoff_polls_mean``.
    """
    return schedule_delay_quantile_s(work, backoff_instants_s(backoff, work.end_s()), level)


def random_phase_backoff_polls_mean(work: Law, base_s: float, factor: float) -> float:
    """Mean polls of x_k = b (f^(k-1+U) - 1) / (f - 1): 1 + E log_f(1 + S (f-1)/b).

    Model: uncapped geometric gaps at a random phase U, any work.
    Source: identity of the project's catalogue, from U uniform. Valid when: the factor exceeds one.
    """
    require_positive(base_s=base_s)
    require(factor > 1, f"a geometric schedule grows: factor {factor}")
    slope = (factor - 1) / base_s
    return 1 + expectation(work, lambda x: math.log1p(x * slope)) / math.log(factor)


def random_phase_backoff_delay_mean_s(mean_s: float, base_s: float, factor: float) -> float:
    """Mean detection delay of the same: (E S + b/(f-1)) ((f-1)/ln f - 1), for every law.

    An uncapped backoff wastes the share (f-1)/ln f - 1 of the work: 44.3 % for doubling.
    Source and validity: as in ``random_phase_backoff_polls_mean``.
    """
    require_positive(mean_s=mean_s, base_s=base_s)
    require(factor > 1, f"a geometric schedule grows: factor {factor}")
    return (mean_s + base_s / (factor - 1)) * ((factor - 1) / math.log(factor) - 1)


def lowest_share(jitter: Independent) -> float:
    """Lowest gap as a share of its ceiling. Source: Brooker 2015. Valid when: as named."""
    return {"none": 1.0, "full": 0.0, "equal": 0.5}[jitter]


def _gap_transform(ceiling_s: float, rate: float, low: float) -> float:
    """E e^(-rate d), d uniform on (low v, v)."""
    if low == 1.0:
        return math.exp(-rate * ceiling_s)
    a, b = rate * ceiling_s * low, rate * ceiling_s
    return -math.exp(-a) * math.expm1(a - b) / (b - a)


def _alive(backoff: Backoff, rate: float, low: float) -> list[tuple[float, float]]:
    """(ceiling, P(alive at the poll before)) for every rising gap and, summed, for the cap."""
    found, alive = [], 1.0
    for ceiling in backoff.rising_s():
        found.append((ceiling, alive))
        alive *= _gap_transform(ceiling, rate, low)
    last = backoff.last_s()
    return [*found, (last, alive / (1 - _gap_transform(last, rate, low)))]


def jittered_polls_mean(mean_s: float, backoff: Backoff, jitter: Independent) -> float:
    """Mean polls of exponential work under independent jitter.

    Formula: sum over k of the product over i < k of E e^(-d_i / m); the capped rest is geometric.
    Source: transform of independent increments; jitter as in Brooker 2015.
    Valid when: work is exponential, the cap finite.
    """
    require_positive(mean_s=mean_s)
    return math.fsum(weight for _, weight in _alive(backoff, 1 / mean_s, lowest_share(jitter)))


def jittered_delay_mean_s(mean_s: float, backoff: Backoff, jitter: Independent) -> float:
    """Mean detection delay: sum over k of E d_k times P(alive at the poll before), less m.

    Source and validity: as in ``jittered_polls_mean``.
    """
    require_positive(mean_s=mean_s)
    low = lowest_share(jitter)
    terms = [weight * v * (1 + low) / 2 for v, weight in _alive(backoff, 1 / mean_s, low)]
    return math.fsum(terms) - mean_s


def jittered_delay_tail(mean_s: float, backoff: Backoff, jitter: Independent, y_s: float) -> float:
    """P(D > y): sum over k of P(alive) E[1 - e^(-(d_k - y)^+ / m)].

    Source and validity: as in ``jittered_polls_mean``.
    """
    require_positive(mean_s=mean_s)
    low, total = lowest_share(jitter), 0.0
    for ceiling, weight in _alive(backoff, 1 / mean_s, low):
        start, reach = max(low * ceiling, y_s), ceiling - max(low * ceiling, y_s)
        if low == 1.0 and y_s < ceiling:
            total -= weight * math.expm1(-(ceiling - y_s) / mean_s)
        elif reach > 0:
            near = math.exp(-(start - y_s) / mean_s) - math.exp(-(ceiling - y_s) / mean_s)
            total += weight * (reach - mean_s * near) / (ceiling * (1 - low))
    return total


def jittered_delay_quantile_s(
    mean_s: float, backoff: Backoff, jitter: Independent, level: float
) -> float:
    """Quantile of the detection delay: ``jittered_delay_tail`` inverted.

    Source and validity: as there; the level lies strictly between 0 and 1.
    """
    require_level(level=level)
    found = optimize.brentq(
        lambda y: jittered_delay_tail(mean_s, backoff, jitter, y) - (1 - level),
        0.0,
        backoff.last_s(),
        xtol=1e-12,
    )
    return float(found)
