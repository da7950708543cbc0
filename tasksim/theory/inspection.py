"""Optimum inspection: what polling at its best costs, where a formula says so.

A poll costs c1, a second of detection delay c2. Schedules for any law come from ``optimum``.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import integrate, optimize, special

from tasksim.theory.laws import Array, Law, density_of, expectation
from tasksim.theory.polling import exponential_polls_mean
from tasksim.theory.validity import InvalidModelError, require, require_positive, require_share

POLLS_MAX: Final = 20_000
HALVINGS: Final = 70
AGREEMENT: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Cost of a poll and of a second of detection delay, in one currency."""

    poll: float
    delay_per_s: float = 1.0

    def __post_init__(self) -> None:
        require_positive(poll=self.poll, delay_per_s=self.delay_per_s)

    @property
    def ratio_s(self) -> float:
        """Seconds of delay that cost as much as a poll."""
        return self.poll / self.delay_per_s

    def of(self, polls: float, delay_s: float) -> float:
        """Cost of so many polls and so much delay."""
        return self.poll * polls + self.delay_per_s * delay_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """Mean polls and mean detection delay of a schedule."""

    polls: float
    delay_s: float


def performance(work: Law, instants_s: Array) -> Performance:
    """Mean polls and detection delay when polls stand at given instants.

    Formula: E N = sum of P(S > x_k), E D = sum of (x_(k+1) - x_k) P(S > x_k), less E S, x_0 = 0.
    Source: Barlow, Hunter & Proschan 1963. Valid when: instants rise from above 0, and work
    outlives the last with a negligible probability (what lies beyond is not counted).
    """
    edges = np.concatenate(([0.0], np.asarray(instants_s, dtype=np.float64)))
    require(bool((np.diff(edges) > 0).all()), "instants of polls must rise, from above zero")
    alive = work.survival(edges[:-1])
    return Performance(
        polls=float(alive.sum()), delay_s=float(np.diff(edges) @ alive) - work.mean_s
    )


def exponential_optimal_interval_s(mean_s: float, costs: Costs) -> float:
    """Interval that costs least for exponential work.

    Formula: e^y - 1 - y = eps, eps = c1 / (c2 m), y = P / m: y = -(1 + eps) - W_-1(-e^-(1 + eps)).
    Source: Barlow, Hunter & Proschan 1963; the form with Lambert's W is the catalogue's.
    Valid when: work is exponential, polls from creation on, no network.
    """
    require_positive(mean_s=mean_s)
    eps = costs.ratio_s / mean_s
    if eps > 1e-6:
        start = -(1 + eps) - float(special.lambertw(-math.exp(-(1 + eps)), -1).real)
    else:
        start = math.sqrt(2 * eps) - eps / 3
    if not math.isfinite(start):
        start = math.log1p(eps + math.log1p(eps))
    for _ in range(3):  # W loses digits at its branch point; Newton's steps restore them.
        start -= (math.expm1(start) - start - eps) / math.expm1(start)
    return start * mean_s


def exponential_optimal_cost(mean_s: float, costs: Costs) -> float:
    """Cost at the optimal interval: c1 + c2 P*. Source and validity: as there."""
    return costs.of(1, exponential_optimal_interval_s(mean_s, costs))


def exponential_interval_approximation_s(mean_s: float, costs: Costs) -> float:
    """Optimal interval when polls are cheap: sqrt(2 c1 m / c2) - c1 / (3 c2).

    Source: series of the exact equation. Valid when: c1 / (c2 m) is small; 2 is refused.
    """
    require_positive(mean_s=mean_s)
    require(costs.ratio_s < 2 * mean_s, f"a poll costs {costs.ratio_s / mean_s} means of work")
    return math.sqrt(2 * costs.ratio_s * mean_s) - costs.ratio_s / 3


def failing_optimal_interval_s(mean_s: float, costs: Costs, failure_share: float) -> float:
    """Interval that costs least for exponential work when polls fail with probability q.

    Formula: argmin of (c1 + c2 P)(1 / (1 - e^(-P/m)) + q / (1 - q)) - c2 m.
    Source: extends Barlow, Hunter & Proschan 1963; Parmigiani 1993.
    Valid when: failures are independent, each retried one interval later.
    """
    require_share(failure_share=failure_share)
    ratio, retries = costs.ratio_s, failure_share / (1 - failure_share)

    def slope(interval: float) -> float:  # of the cost, over c2
        gone = -math.expm1(-interval / mean_s)
        fall = math.exp(-interval / mean_s) / (mean_s * gone * gone)
        return 1 / gone + retries - (ratio + interval) * fall

    high = 2 * exponential_optimal_interval_s(mean_s, costs)
    return float(optimize.brentq(slope, high * 1e-9, high, xtol=1e-13))


def failing_optimal_cost(mean_s: float, costs: Costs, failure_share: float) -> float:
    """Cost at that interval. Source and validity: ``failing_optimal_interval_s``."""
    interval = failing_optimal_interval_s(mean_s, costs, failure_share)
    polls = exponential_polls_mean(mean_s, interval, failure_share=failure_share)
    return costs.of(polls, interval * polls - mean_s)


def random_phase_optimal_interval_s(mean_s: float, costs: Costs) -> float:
    """Interval that costs least at a random phase, for every law: sqrt(2 c1 E S / c2).

    Source: Harris 1913 (economic order quantity). Valid when: the phase is uniform.
    """
    require_positive(mean_s=mean_s)
    return math.sqrt(2 * costs.ratio_s * mean_s)


def random_phase_optimal_cost(mean_s: float, costs: Costs) -> float:
    """Cost at that interval: c1 + sqrt(2 c1 c2 E S). Source and validity: as there."""
    return costs.of(1, random_phase_optimal_interval_s(mean_s, costs))


def uniform_optimal_polls(high_s: float, costs: Costs) -> int:
    """Number of polls that costs least for work uniform on (0, a): max n, n (n-1) c1/(2 c2) < a.

    Source: Barlow, Hunter & Proschan 1963. Valid when: work is uniform from zero.
    """
    require_positive(high_s=high_s)
    return math.ceil((1 + math.sqrt(1 + 8 * high_s / costs.ratio_s)) / 2) - 1


def uniform_optimal_instants_s(high_s: float, costs: Costs) -> Array:
    """Best instants for work uniform on (0, a): x_k = k a/n + k (n-k) c1 / (2 c2).

    Source and validity: as in ``uniform_optimal_polls``.
    """
    n = uniform_optimal_polls(high_s, costs)
    k = np.arange(1, n + 1, dtype=np.float64)
    return np.asarray(k * high_s / n + k * (n - k) * costs.ratio_s / 2)


def quadratic_polls_mean(work: Law, scale_s: float) -> float:
    """Mean polls of x_k = a (k - 1 + U)^2: 1 + E sqrt(S / a), for every law.

    Source: identity of the project's catalogue. Valid when: the phase U is uniform.
    """
    require_positive(scale_s=scale_s)
    return 1 + expectation(work, math.sqrt) / math.sqrt(scale_s)


def quadratic_cost(work: Law, costs: Costs) -> float:
    """Cost of the distribution-free rule, a = c1/c2: 2 sqrt(c1 c2) E sqrt S + 4 c1 / 3.

    It knows nothing of the work, and is never more than sqrt 2 above the best fixed interval at a
    random phase. Source: the project's catalogue. Valid when: the phase U is uniform.
    """
    root = expectation(work, math.sqrt)
    return 2 * math.sqrt(costs.poll * costs.delay_per_s) * root + 4 * costs.poll / 3


def keller_gain(work: Law) -> float:
    """Delay of the best schedule over that of fixed polling with as many polls, polls being many.

    Formula: R^2 = (integral of sqrt(f P(S > t)) dt)^2 / E S; one for exponential work only.
    Source: Keller 1974; the ratio by Cauchy-Schwarz. Valid when: the work has a density.
    """
    density = density_of(work)
    levels = [1e-30, 1e-12, 1e-6, 0.01, 0.1, 0.3, 0.5]
    marks = {0.0, *(float(work.lower(v)) for v in levels), *(float(work.upper(v)) for v in levels)}
    edges = sorted(m for m in marks.union(work.pieces) if m >= 0)

    def root(t: float) -> float:
        return math.sqrt(float(density(t)) * float(work.survival(t)))

    parts = [
        integrate.quad(root, a, b, limit=200, epsabs=1e-10)[0]
        for a, b in itertools.pairwise(edges)
        if b > a
    ]
    return math.fsum(parts) ** 2 / work.mean_s


def keller_interval_s(work: Law, costs: Costs, age_s: Array) -> Array:
    """Interval a receiver should advertise for a task of a given age: sqrt(2 c1 / (c2 h(age))).

    Model: many polls; h is the hazard of the work. Infinite where the hazard is zero.
    Source: Keller 1974. Valid when: the work has a density.
    """
    hazard = density_of(work)(age_s) / np.maximum(work.survival(age_s), 1e-300)
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(2 * costs.ratio_s / hazard))


def _is_log_concave(work: Law) -> bool:
    """Whether ln f bends downwards over nearly all of the probability."""
    x = np.linspace(float(work.lower(0.002)), float(work.lower(0.998)), 250)
    values = [math.log(v) if v > 0 else -math.inf for v in density_of(work)(x)]
    return bool((np.diff(values, 2) <= 1e-7).all())


def recursion_instants_s(work: Law, costs: Costs) -> Array:
    """Best instants by the recursion of Barlow, Hunter and Proschan.

    Formula: x_(k+1) - x_k = (F(x_k) - F(x_(k-1))) / f(x_k) - c1/c2, with x_1 such that gaps neither
    grow nor turn negative. Source: Barlow, Hunter & Proschan 1963; Nakagawa 2005, ch. 8.
    Both runs about x_1 are followed as far as they agree: rounding grows from poll to poll.
    Valid when: the work has no greatest value and its density is log-concave (PF2): gamma and
    Weibull of shape 1 or more, normal. Lognormal work is not: see ``optimum``.
    """
    density = density_of(work)
    if not _is_log_concave(work):
        raise InvalidModelError(f"{work.name}: the recursion needs a log-concave density")
    require(
        math.isinf(work.end_s(0.0)),
        f"{work.name} ends for certain; that leaves x_1 open",
    )
    end_s = work.end_s(1e-10)

    def follow(first: float) -> tuple[int, list[float]]:
        """Whether x_1 is too early (-1), too late (1) or neither (0), and the instants."""
        instants = [0.0, first]
        gap = first
        while instants[-1] < end_s:
            height = float(density(instants[-1]))
            if height <= 0:
                return 0, instants
            passed = float(work.survival(instants[-2]) - work.survival(instants[-1]))
            gap, before = passed / height - costs.ratio_s, gap
            if gap <= 0:
                return -1, instants
            if gap > before * (1 + 1e-9):
                return 1, instants
            instants.append(instants[-1] + gap)
            require(len(instants) < POLLS_MAX, f"more than {POLLS_MAX} polls of {work.name}")
        return 0, instants

    low, high = 0.0, end_s
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if follow(middle)[0] > 0 else (middle, high)
    early, late = (np.asarray(follow(first)[1][1:]) for first in (low, high))
    shared = min(early.size, late.size)
    apart = np.abs(early[:shared] - late[:shared]) > AGREEMENT * end_s
    return early[: int(apart.argmax()) if apart.any() else shared]
