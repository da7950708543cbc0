"""Laws of durations as theory needs them: survival, density, quantiles, integrals.

Rule: continuous laws are SciPy's, wrapped; nothing here draws, and nothing here knows the laws of
``scenario``, which theory judges.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import integrate, special, stats

from tasksim.theory.validity import InvalidModelError, require, require_positive

Array = npt.NDArray[np.float64]
Curve = Callable[[npt.ArrayLike], Array]

CELL_NODES: Final = 12
QUANTILE_TAIL: Final = 1e-14
HALVINGS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Law:
    """A law of a non-negative duration in seconds; functions take and give arrays.

    ``survival(x)`` is P(S > x), right-continuous: work that ends at a poll is seen by it.
    ``density`` is None where there is none; ``upper(v)`` is the x with P(S > x) = v.
    ``pieces`` are instants between which density and survival are smooth; ``parts`` are the
    weighted laws of a mixture.
    """

    name: str
    mean_s: float
    variance_s2: float
    survival: Curve
    density: Curve | None
    lower: Curve
    upper: Curve
    pieces: tuple[float, ...] = ()
    parts: tuple[tuple[float, "Law"], ...] = ()

    def distribution(self, x: npt.ArrayLike) -> Array:
        """P(S <= x)."""
        return 1.0 - self.survival(x)

    def end_s(self, tail: float = QUANTILE_TAIL) -> float:
        """Instant that work outlives with a probability of *tail* at most."""
        return _end_s(self, tail)


@lru_cache(maxsize=256)
def _end_s(law: Law, tail: float) -> float:
    """The same, remembered: searches ask for it at every step."""
    return float(law.upper(tail))


def _curve(function: Callable[[Any], Any]) -> Curve:
    return lambda x: np.asarray(function(np.asarray(x, dtype=np.float64)), dtype=np.float64)


def from_scipy(frozen: Any, name: str, pieces: tuple[float, ...] = ()) -> Law:
    """A law of a frozen continuous distribution of SciPy, on the half-line."""
    mean, variance = (float(moment) for moment in frozen.stats("mv"))
    require(mean > 0 and math.isfinite(mean), f"{name}: the mean is {mean}, not a positive number")
    return Law(
        name=name,
        mean_s=mean,
        variance_s2=variance,
        survival=_curve(frozen.sf),
        density=_curve(frozen.pdf),
        lower=_curve(frozen.ppf),
        upper=_curve(frozen.isf),
        pieces=pieces,
    )


def exponential(mean_s: float) -> Law:
    """Exponential work."""
    require_positive(mean_s=mean_s)
    return from_scipy(stats.expon(scale=mean_s), f"exponential({mean_s})")


def lognormal(mean_s: float, cv: float) -> Law:
    """Lognormal work of a given mean and coefficient of variation."""
    require_positive(mean_s=mean_s, cv=cv)
    sigma = math.sqrt(math.log1p(cv * cv))
    median_s = mean_s / math.sqrt(1 + cv * cv)
    return from_scipy(stats.lognorm(sigma, scale=median_s), f"lognormal({mean_s}, cv {cv})")


def weibull(shape: float, mean_s: float) -> Law:
    """Weibull work; the hazard rises for a shape above one."""
    require_positive(shape=shape, mean_s=mean_s)
    scale = mean_s / math.gamma(1 + 1 / shape)
    return from_scipy(stats.weibull_min(shape, scale=scale), f"weibull({shape}, {mean_s})")


def gamma(shape: float, mean_s: float) -> Law:
    """Gamma work; Erlang for a whole shape."""
    require_positive(shape=shape, mean_s=mean_s)
    return from_scipy(stats.gamma(shape, scale=mean_s / shape), f"gamma({shape}, {mean_s})")


def uniform(low_s: float, high_s: float) -> Law:
    """Work uniform between two durations."""
    require(0 <= low_s < high_s < math.inf, f"no interval of durations: {low_s} to {high_s}")
    frozen = stats.uniform(loc=low_s, scale=high_s - low_s)
    return from_scipy(frozen, f"uniform({low_s}, {high_s})", (low_s, high_s))


def normal(mean_s: float, sd_s: float) -> Law:
    """Normal work, for a mean so many deviations above zero that the left tail does not count."""
    require_positive(mean_s=mean_s, sd_s=sd_s)
    require(mean_s >= 4 * sd_s, f"normal work below zero counts: mean {mean_s}, deviation {sd_s}")
    return from_scipy(stats.norm(mean_s, sd_s), f"normal({mean_s}, {sd_s})")


def lomax(alpha: float, mean_s: float) -> Law:
    """Lomax (Pareto II) work, tail index above one."""
    require(alpha > 1, f"lomax: the mean is infinite for alpha {alpha}")
    require_positive(mean_s=mean_s)
    return from_scipy(stats.lomax(alpha, scale=mean_s * (alpha - 1)), f"lomax({alpha}, {mean_s})")


def mixture(weights: Sequence[float], parts: Sequence[Law]) -> Law:
    """A pick among continuous laws with the given weights."""
    require(len(weights) == len(parts) > 0, "a mixture needs as many weights as parts")
    require(min(weights) > 0, f"weights must be positive: {list(weights)}")
    require(all(part.density is not None for part in parts), "parts of a mixture need densities")
    shares = [weight / math.fsum(weights) for weight in weights]
    mean = math.fsum(w * part.mean_s for w, part in zip(shares, parts, strict=True))
    second = math.fsum(
        w * (part.variance_s2 + part.mean_s**2) for w, part in zip(shares, parts, strict=True)
    )

    def blend(curves: Sequence[Curve]) -> Curve:
        return lambda x: np.asarray(
            sum(w * curve(x) for w, curve in zip(shares, curves, strict=True)), dtype=np.float64
        )

    survival = blend([part.survival for part in parts])
    marks = {float(part.lower(level)) for part in parts for level in (1e-9, 0.01, 0.5, 0.99)}
    return Law(
        name="mixture(" + ", ".join(part.name for part in parts) + ")",
        mean_s=mean,
        variance_s2=second - mean * mean,
        survival=survival,
        density=blend([part.density for part in parts if part.density is not None]),
        lower=_inverse(survival, lambda u: 1.0 - u, [part.lower for part in parts]),
        upper=_inverse(survival, lambda v: v, [part.upper for part in parts]),
        pieces=tuple(sorted(marks.union(*(part.pieces for part in parts)))),
        parts=tuple(zip(shares, parts, strict=True)),
    )


def halved(survival: Curve, tails: Array, low: Array, high: Array) -> Array:
    """Where a survival function falls to given values between two ends, by halving."""
    for _ in range(HALVINGS):
        middle = np.where(np.isfinite(high), (low + high) / 2, high)
        beyond = survival(middle) > tails
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.asarray(high)


def _inverse(survival: Curve, tail: Callable[[Array], Array], ends: Sequence[Curve]) -> Curve:
    """Quantiles of a mixture, each between the least and the greatest of its parts'."""

    def quantile(level: npt.ArrayLike) -> Array:
        given = np.asarray(level, dtype=np.float64)
        quantiles = [end(given) for end in ends]
        low, high = np.minimum.reduce(quantiles), np.maximum.reduce(quantiles)
        return halved(survival, tail(given), low, high)

    return quantile


def constant(value_s: float) -> Law:
    """Work that always takes as long."""
    require_positive(value_s=value_s)
    return empirical([value_s])


def empirical(samples_s: npt.ArrayLike) -> Law:
    """The law of a sample: every duration seen, each as likely as it was seen often."""
    values = np.sort(np.asarray(samples_s, dtype=np.float64).ravel())
    require(values.size > 0, "an empirical law needs a sample")
    require(bool(values[0] > 0 and np.isfinite(values[-1])), "durations must be positive, finite")
    count = values.size

    def survival(x: npt.ArrayLike) -> Array:
        return np.asarray(1.0 - np.searchsorted(values, x, side="right") / count, dtype=np.float64)

    def lower(level: npt.ArrayLike) -> Array:
        rank = np.ceil(np.asarray(level, dtype=np.float64) * count).astype(int) - 1
        return np.asarray(values[np.clip(rank, 0, count - 1)], dtype=np.float64)

    return Law(
        name=f"empirical({count})",
        mean_s=float(values.mean()),
        variance_s2=float(values.var()),
        survival=survival,
        density=None,
        lower=lower,
        upper=lambda v: lower(1.0 - np.asarray(v, dtype=np.float64)),
        pieces=tuple(np.unique(values).tolist()),
    )


def density_of(law: Law) -> Curve:
    """The law's density, or a refusal."""
    if law.density is None:
        raise InvalidModelError(f"{law.name} has no density, which this formula needs")
    return law.density


def expectation(
    law: Law, function: Callable[[float], float], kinks_s: Sequence[float] = ()
) -> float:
    """E[g(S)] for a g that is smooth between kinks, or has a mild singularity at the law's ends.

    By quadrature over the law's two halves of probability, so that both tails are resolved.
    """
    if law.parts:
        return math.fsum(w * expectation(part, function, kinks_s) for w, part in law.parts)
    total = 0.0
    for end, level_of in ((law.lower, law.distribution), (law.upper, law.survival)):
        marks = {float(level_of(kink)) for kink in kinks_s}
        edges = [0.0, *sorted(mark for mark in marks if 0 < mark < 0.5), 0.5]
        for low, high in itertools.pairwise(edges):
            total += integrate.quad(
                lambda v, end=end: function(float(end(v))), low, high, limit=400, epsabs=1e-11
            )[0]
    return total


def cell_integrals(function: Curve, edges: Array) -> Array:
    """Integrals of a function over consecutive cells, by Gauss-Legendre in each."""
    nodes, weights = special.roots_legendre(CELL_NODES)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return np.asarray((function(middle + half * nodes) * weights).sum(axis=1) * half[:, 0])


def excess_s(law: Law, instant_s: float) -> float:
    """E (S - t)^+ = integral of P(S > x) over x above t."""
    require(instant_s >= 0, f"an instant before creation: {instant_s}")
    marks = np.concatenate(
        (
            np.asarray(law.pieces, dtype=np.float64),
            law.lower(np.geomspace(1e-6, 0.5, 100)),
            law.upper(np.geomspace(1e-14, 0.5, 300)),
        )
    )
    edges = np.unique(np.concatenate(([0.0, instant_s], marks[(marks > 0) & (marks < instant_s)])))
    return max(0.0, law.mean_s - float(cell_integrals(law.survival, edges).sum()))


def cut(law: Law, end_s: float) -> Law:
    """The law of min(S, T): work that goes on for longer is taken to end at T.

    Its density is that of S, the rest of the probability sits at T. The variance is not known.
    """
    require_positive(end_s=end_s)

    def survival(x: npt.ArrayLike) -> Array:
        return np.where(np.asarray(x, dtype=np.float64) < end_s, law.survival(x), 0.0)

    return Law(
        name=f"{law.name} cut at {end_s} s",
        mean_s=law.mean_s - excess_s(law, end_s),
        variance_s2=math.nan,
        survival=survival,
        density=law.density,
        lower=lambda level: np.minimum(law.lower(level), end_s),
        upper=lambda level: np.minimum(law.upper(level), end_s),
        pieces=(*(p for p in law.pieces if p < end_s), end_s),
    )
