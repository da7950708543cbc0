"""Tables of laws, built once when a scenario is loaded.

Rule 1: floats end here. Nodes are rounded to 24 significant bits before they become nanoseconds,
so that the last bits of a mathematical library do not reach a run; ``digest`` tells when they did.
Rule 2: a law that a table cannot hold is refused, with the key that would help.

The rounding is relative to the duration, which a law far narrower than its distance from 0 feels:
uniform from 3,600 to 3,601 s is right to 1.3e-4, from 86,400 to 86,401 s to 4e-3. Neither leaves
its support.
"""

import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from tasksim.scenario.distributions import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Law,
    LawError,
    Lognormal,
    Lomax,
    Mixture,
    Own,
    Uniform,
    Weibull,
)
from tasksim.scenario.samples import sample_ns
from tasksim.scenario.variates import (
    CELLS,
    CONSTANT,
    LONGEST_NS,
    MIXTURE,
    OCTAVES,
    QUANTILES,
    SAMPLE,
    SAMPLE_MAX,
    TAIL_LENGTH,
    variate_ns,
)
from tasksim.units import NS_PER_S, ns_from_s

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Curve = Callable[[Floats], Floats]

SIGNIFICANT_BITS: Final = 24
FAR_TAIL: Final = 2.0 ** -(OCTAVES + 1)
LONGEST_S: Final = LONGEST_NS / NS_PER_S
MASS_MIN: Final = sys.float_info.min / FAR_TAIL  # below it a cut law's far nodes underflow


@dataclass(frozen=True, slots=True)
class Bounds:
    """What variates must lie between, in seconds; a high end of None is open."""

    low_s: float = 0.0
    high_s: float | None = None

    def __str__(self) -> str:
        if self.high_s is None:
            return f"above {self.low_s:g} s"
        return f"between {self.low_s:g} and {self.high_s:g} s"

    @property
    def low_ns(self) -> int:
        """Low end in ns."""
        return LONGEST_NS if self.low_s >= LONGEST_S else ns_from_s(self.low_s)

    @property
    def high_ns(self) -> int:
        """High end in ns; that of all laws where it is open."""
        if self.high_s is None or self.high_s >= LONGEST_S:
            return LONGEST_NS
        return ns_from_s(self.high_s)

    def within(self, other: "Bounds") -> "Bounds":
        """Bounds that hold when both do."""
        highs = [high for high in (self.high_s, other.high_s) if high is not None]
        return Bounds(max(self.low_s, other.low_s), min(highs, default=None))

    def hold(self, value_ns: int) -> bool:
        """Whether a duration lies between the ends, or at one."""
        return self.low_ns <= value_ns <= self.high_ns


OPEN: Final = Bounds()


def own_bounds(law: Law) -> Bounds:
    """Bounds that the law's own keys ask for."""
    return OPEN if isinstance(law, Constant) else Bounds(law.min_s, law.max_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuous:
    """A continuous law in seconds: quantiles from below and above, and their inverses."""

    lower: Curve  # x with P(X <= x) = p
    upper: Curve  # x with P(X > x) = p
    cdf: Curve
    survival: Curve
    support: Bounds = OPEN


def continuous(law: Law) -> Continuous:
    """The law without its bounds."""
    match law:
        case Uniform():
            return _uniform(law.low_s, law.high_s)
        case Exponential():
            return _weibull(1.0, law.mean_s)
        case Weibull():
            return _weibull(law.shape, law.scale())
        case Lomax():
            return _lomax(law.alpha, law.scale_s)
        case Lognormal():
            return _lognormal(*law.median_and_sigma())
        case Gamma():
            return _gamma(law.shape, law.scale())
        case _:
            raise AssertionError(f"{law.kind} is not continuous")


def _uniform(low: float, high: float) -> Continuous:
    width = high - low
    return Continuous(
        lower=lambda p: low + p * width,
        upper=lambda p: low + width - p * width,
        cdf=lambda x: np.clip((x - low) / width, 0.0, 1.0),
        survival=lambda x: np.clip((low + width - x) / width, 0.0, 1.0),
        support=Bounds(low, high),
    )


def _weibull(shape: float, scale: float) -> Continuous:
    return Continuous(
        lower=lambda p: scale * (-np.log1p(-p)) ** (1.0 / shape),
        upper=lambda p: scale * (-np.log(p)) ** (1.0 / shape),
        cdf=lambda x: -np.expm1(-((x / scale) ** shape)),
        survival=lambda x: np.exp(-((x / scale) ** shape)),
    )


def _lomax(alpha: float, scale: float) -> Continuous:
    return Continuous(
        lower=lambda p: scale * np.expm1(-np.log1p(-p) / alpha),
        upper=lambda p: scale * np.expm1(-np.log(p) / alpha),
        cdf=lambda x: -np.expm1(-alpha * np.log1p(x / scale)),
        survival=lambda x: np.exp(-alpha * np.log1p(x / scale)),
    )


def _lognormal(median: float, sigma: float) -> Continuous:
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - SciPy loads on use

    def score(x: Floats) -> Floats:
        return np.asarray(np.log(x / median) / sigma)

    return Continuous(
        lower=lambda p: median * np.exp(sigma * ndtri(p)),
        upper=lambda p: median * np.exp(-sigma * ndtri(p)),
        cdf=lambda x: np.asarray(ndtr(score(x))),
        survival=lambda x: np.asarray(ndtr(-score(x))),
    )


def _gamma(shape: float, scale: float) -> Continuous:
    from scipy.special import (  # noqa: PLC0415
        gammainc,
        gammaincc,
        gammainccinv,
        gammaincinv,
    )

    return Continuous(
        lower=lambda p: np.asarray(scale * gammaincinv(shape, p)),
        upper=lambda p: np.asarray(scale * gammainccinv(shape, p)),
        cdf=lambda x: np.asarray(gammainc(shape, x / scale)),
        survival=lambda x: np.asarray(gammaincc(shape, x / scale)),
    )


def between(law: Continuous, bounds: Bounds) -> tuple[Continuous, float]:
    """The law given that it lies between the bounds, and the probability that it does.

    Every quantile is taken from the side where its probability is below one half, and the
    probability itself from the survival side where that is the smaller: nothing cancels.
    The answer's ``cdf`` and ``survival`` are those of the uncut law. A probability too small to
    be divided into a table's nodes counts as 0.
    """
    cdf_low, survival_low = _ends(law, bounds.low_s)
    cdf_high, survival_high = _ends(law, bounds.high_s)
    mass = survival_low - survival_high if survival_low < 0.5 else cdf_high - cdf_low

    def lower(p: Floats) -> Floats:
        return _quantile(law, cdf_low + p * mass, survival_low - p * mass)

    def upper(p: Floats) -> Floats:
        return _quantile(law, cdf_high - p * mass, survival_high + p * mass)

    cut = Continuous(
        lower=lower,
        upper=upper,
        cdf=law.cdf,
        survival=law.survival,
        support=law.support.within(bounds),
    )
    return cut, mass if mass >= MASS_MIN else 0.0


def _ends(law: Continuous, bound_s: float | None) -> tuple[float, float]:
    if bound_s is None:
        return 1.0, 0.0
    at = np.array([bound_s])
    return float(law.cdf(at)[0]), float(law.survival(at)[0])


def _quantile(law: Continuous, from_below: Floats, from_above: Floats) -> Floats:
    below = law.lower(np.minimum(from_below, 0.5))
    above = law.upper(np.minimum(from_above, 0.5))
    return np.where(from_below < 0.5, below, above)


def probability(law: Law, bounds: Bounds) -> float:
    """Probability that a variate lies within the bounds. LawError when the law has no variates."""
    own = own_bounds(law)
    whole = _uncut_probability(law, own)
    if whole <= 0.0:
        raise LawError(f"has no probability {own}")
    return _uncut_probability(law, bounds.within(own)) / whole


def _uncut_probability(law: Law, bounds: Bounds) -> float:
    """Probability of the bounds under the law without bounds of its own."""
    if bounds == OPEN:
        return 1.0
    match law:
        case Constant():
            return 1.0 if bounds.hold(ns_from_s(law.value_s)) else 0.0
        case Mixture():
            parts = zip(law.weights, law.parts, strict=True)
            return sum(w * probability(part, bounds) for w, part in parts) / sum(law.weights)
        case Empirical() | Own():
            values = sample_ns(law)
            return sum(1 for value in values if bounds.hold(value)) / len(values)
        case _:
            return between(continuous(law), bounds)[1]


def _nodes() -> Floats:
    """Tail probabilities of a table's nodes, from 2**-49 to 1/2."""
    octaves = 2.0 ** np.arange(-OCTAVES - 1, -1)
    cells = 1.0 + np.arange(CELLS) / CELLS
    return np.append((octaves[:, np.newaxis] * cells).ravel(), 0.5)


def _tail_ns(curve: Curve, support: Bounds) -> Ints:
    """Quantiles in ns at the nodes, to 24 significant bits, within the support."""
    mantissa, exponent = np.frexp(curve(_nodes()) * NS_PER_S)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, SIGNIFICANT_BITS)), exponent - SIGNIFICANT_BITS)
    if rounded.min() < 0:
        raise LawError("has negative durations")
    if not np.isfinite(rounded).all() or rounded.max() > LONGEST_NS:
        remedy = "give max_s" if support.high_s is None else "give a lower max_s"
        raise LawError(f"has durations beyond 18 years: {remedy}")
    whole: Ints = np.clip(np.rint(rounded), support.low_ns, support.high_ns).astype(np.int64)
    return whole


def quantile_table(law: Continuous) -> Ints:
    """Both tails of a continuous law as they stand in a table; shape (2 * TAIL_LENGTH,)."""
    lower = np.maximum.accumulate(_tail_ns(law.lower, law.support))
    upper = np.minimum.accumulate(_tail_ns(law.upper, law.support))
    lower[-1] = upper[-1] = (int(lower[-1]) + int(upper[-1])) // 2  # there is one median
    np.minimum(lower, lower[-1], out=lower)
    np.maximum(upper, upper[-1], out=upper)
    return np.concatenate([lower, upper])


class LawTables:
    """The laws of a scenario in one flat array of integers."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, law: Law) -> int:
        """Put a law into the array; its place.

        LawError when it cannot be drawn from; the array is then as it was.
        """
        length = len(self.values)
        try:
            # What overflows shows as an infinite quantile, and is refused as such.
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                return self._add(law, OPEN)
        except LawError:
            del self.values[length:]
            raise
        except (OverflowError, ZeroDivisionError) as fault:
            del self.values[length:]
            raise LawError(
                f"has parameters that are too extreme to compute with: {fault}"
            ) from None

    def digest(self) -> str:
        """SHA-256 of the array: equal digests draw equal variates."""
        return hashlib.sha256(np.array(self.values, dtype="<i8").tobytes()).hexdigest()

    def mean_ns(self, place: int) -> float:
        """Exact mean in ns of the variates of the law at *place*."""
        form, size = self.values[place], self.values[place + 1]
        if form == CONSTANT:
            return float(size)
        if form == SAMPLE:
            return sum(self.values[place + 2 : place + 2 + size]) / size
        if form == MIXTURE:
            ends = [0, *self.values[place + 2 : place + 1 + size], 1 << 63]
            places = self.values[place + 1 + size : place + 1 + 2 * size]
            weights = [(b - a) / 2**63 for a, b in pairwise(ends)]
            return sum(w * self.mean_ns(p) for w, p in zip(weights, places, strict=True))
        start = place + 1
        return _mean_of_tail(self.values[start : start + TAIL_LENGTH]) + _mean_of_tail(
            self.values[start + TAIL_LENGTH : start + 2 * TAIL_LENGTH]
        )

    def _put(self, *parts: Sequence[int]) -> int:
        place = len(self.values)
        for part in parts:
            self.values.extend(part)
        return place

    def _add(self, law: Law, bounds: Bounds) -> int:
        if (
            isinstance(law, Lomax)
            and law.alpha <= 1
            and bounds.within(own_bounds(law)).high_s is None
        ):
            raise LawError(f"has no mean for alpha <= 1 ({law.alpha:g}): give max_s")
        """Place of the law given that it lies within the bounds and its own."""
        bounds = bounds.within(own_bounds(law))
        match law:
            case Constant():
                return self._add_constant(law)
            case Mixture():
                return self._add_mixture(law, bounds)
            case Empirical() | Own():
                return self._add_sample(law, bounds)
        whole = continuous(law)
        if bounds == OPEN:
            return self._put([QUANTILES], quantile_table(whole).tolist())
        cut, mass = between(whole, bounds)
        if mass <= 0.0:
            raise LawError(f"has no probability {bounds}")
        return self._put([QUANTILES], quantile_table(cut).tolist())

    def _add_constant(self, law: Constant) -> int:
        if law.value_s > LONGEST_S:
            raise LawError("value_s is beyond 18 years")
        return self._put([CONSTANT, ns_from_s(law.value_s)])

    def _add_sample(self, law: Empirical | Own, bounds: Bounds) -> int:
        kept = sorted(value for value in sample_ns(law) if bounds.hold(value))
        if not kept:
            of = "" if isinstance(law, Own) else f" of {law.column}"
            raise LawError(f"{law.file} has no value{of} {bounds}")
        if len(kept) > SAMPLE_MAX:
            raise LawError(f"{law.file} has more than {SAMPLE_MAX} values")
        return self._put([SAMPLE, len(kept)], kept)

    def _add_mixture(self, law: Mixture, bounds: Bounds) -> int:
        """Cut the parts, reweigh them by what is left of each, drop those of which nothing is."""
        places, weights = [], []
        for index, (weight, part) in enumerate(zip(law.weights, law.parts, strict=True)):
            try:
                share = probability(part, bounds)
                if share > 0.0:
                    places.append(self._add(part, bounds))
                    weights.append(weight * share)
            except LawError as fault:
                raise LawError(f"parts.{index}: {fault}") from fault
        if not places:
            raise LawError(f"has no probability {bounds}")
        ends = np.cumsum(weights) / sum(weights)
        thresholds = [min(int(end * 2.0**63), (1 << 63) - 1) for end in ends[:-1]]
        return self._put([MIXTURE, len(places)], thresholds, places)


def _mean_of_tail(tail: Sequence[int]) -> float:
    """Contribution of one tail to the mean; its outermost node stands for all beyond it too."""
    nodes = np.array(tail, dtype=np.float64)
    cell_share = np.repeat(2.0 ** np.arange(-OCTAVES - 1, -1), CELLS) / CELLS
    inner = float(np.sum(cell_share * (nodes[:-1] + nodes[1:]) / 2.0))
    return inner + FAR_TAIL * float(nodes[0])


def draw_many(tables: LawTables, place: int, words: Sequence[int]) -> list[int]:
    """Variates in ns of many words; for tests and figures."""
    values = tables.values
    return [variate_ns(values, place, u) for u in words]
