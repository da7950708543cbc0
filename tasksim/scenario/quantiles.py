"""Tables of laws, built once when a scenario is loaded.

Rule 1: floats end here. Nodes are rounded to 24 significant bits before they become nanoseconds,
so that the last bits of a mathematical library do not reach a run; ``digest`` tells when they did.
Rule 2: a law that a table cannot hold is refused, with the key that would help.
"""

import csv
import hashlib
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
    Uniform,
    Weibull,
)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuous:
    """A continuous law in seconds: quantiles from below and above, and their inverses."""

    lower: Curve  # x with P(X <= x) = p
    upper: Curve  # x with P(X > x) = p
    cdf: Curve
    survival: Curve


def continuous(law: Law) -> Continuous:
    """The law without its bounds."""
    match law:
        case Uniform():
            low, width = law.low_s, law.high_s - law.low_s
            return Continuous(
                lower=lambda p: low + p * width,
                upper=lambda p: low + width - p * width,
                cdf=lambda x: np.clip((x - low) / width, 0.0, 1.0),
                survival=lambda x: np.clip((low + width - x) / width, 0.0, 1.0),
            )
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
        with np.errstate(divide="ignore"):
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


def between(law: Continuous, low_s: float, high_s: float | None) -> tuple[Continuous, float]:
    """The law given that it lies between the bounds, and the probability that it does.

    Every quantile is taken from the side where its probability is below one half, and the
    probability itself from the survival side where that is the smaller: nothing cancels.
    The answer's ``cdf`` and ``survival`` are those of the uncut law.
    """
    cdf_low, survival_low = _ends(law, low_s)
    cdf_high, survival_high = _ends(law, high_s)
    mass = survival_low - survival_high if survival_low < 0.5 else cdf_high - cdf_low

    def lower(p: Floats) -> Floats:
        return _quantile(law, cdf_low + p * mass, survival_low - p * mass)

    def upper(p: Floats) -> Floats:
        return _quantile(law, cdf_high - p * mass, survival_high + p * mass)

    cut = Continuous(lower=lower, upper=upper, cdf=law.cdf, survival=law.survival)
    return cut, max(mass, 0.0)


def _ends(law: Continuous, bound_s: float | None) -> tuple[float, float]:
    if bound_s is None:
        return 1.0, 0.0
    at = np.array([bound_s])
    return float(law.cdf(at)[0]), float(law.survival(at)[0])


def _quantile(law: Continuous, from_below: Floats, from_above: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        below = law.lower(np.minimum(from_below, 0.5))
        above = law.upper(np.minimum(from_above, 0.5))
    return np.where(from_below < 0.5, below, above)


def _nodes() -> Floats:
    """Tail probabilities of a table's nodes, from 2**-49 to 1/2."""
    octaves = 2.0 ** np.arange(-OCTAVES - 1, -1)
    cells = 1.0 + np.arange(CELLS) / CELLS
    return np.append((octaves[:, np.newaxis] * cells).ravel(), 0.5)


def _tail_ns(curve: Curve, low_ns: int, high_ns: int) -> Ints:
    """Quantiles in ns at the nodes, to 24 significant bits, within the bounds."""
    with np.errstate(over="ignore"):
        mantissa, exponent = np.frexp(curve(_nodes()) * NS_PER_S)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, SIGNIFICANT_BITS)), exponent - SIGNIFICANT_BITS)
    if not np.isfinite(rounded).all() or rounded.max() > LONGEST_NS:
        raise LawError("has durations beyond 18 years: give max_s")
    whole: Ints = np.clip(np.rint(rounded), low_ns, high_ns).astype(np.int64)
    return whole


def quantile_table(law: Continuous, low_ns: int = 0, high_ns: int = LONGEST_NS) -> Ints:
    """Both tails of a continuous law as they stand in a table; shape (2 * TAIL_LENGTH,)."""
    lower = np.maximum.accumulate(_tail_ns(law.lower, low_ns, high_ns))
    upper = np.minimum.accumulate(_tail_ns(law.upper, low_ns, high_ns))
    lower[-1] = upper[-1] = (int(lower[-1]) + int(upper[-1])) // 2  # there is one median
    np.minimum(lower, lower[-1], out=lower)
    np.maximum(upper, upper[-1], out=upper)
    return np.concatenate([lower, upper])


class LawTables:
    """The laws of a scenario in one flat array of integers."""

    def __init__(self) -> None:
        self.values: list[int] = []

    def add(self, law: Law) -> int:
        """Put a law into the array; its place. Raises LawError when it cannot be drawn from."""
        place, _ = self._add(law, 0.0, None)
        return place

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

    def _add(self, law: Law, low_s: float, high_s: float | None) -> tuple[int, float]:
        """Place of the law within the bounds, and the probability of lying within them."""
        low_s, high_s = _narrowed(law, low_s, high_s)
        low_ns = ns_from_s(low_s)
        high_ns = LONGEST_NS if high_s is None else min(ns_from_s(high_s), LONGEST_NS)
        match law:
            case Constant():
                return self._add_constant(law, low_ns, high_ns)
            case Mixture():
                return self._add_mixture(law, low_s, high_s)
            case Empirical():
                return self._add_sample(law, low_ns, high_ns)
        whole = continuous(law)
        cut, mass = between(whole, low_s, high_s)
        if mass <= 0.0 or not np.isfinite(mass):
            raise LawError(f"has no probability {_range(low_s, high_s)}")
        own, own_mass = between(whole, *_narrowed(law, 0.0, None))
        del own
        if low_s == 0.0 and high_s is None:
            cut = whole
        table = quantile_table(cut, low_ns, high_ns)
        return self._put([QUANTILES], table.tolist()), mass / own_mass

    def _add_constant(self, law: Constant, low_ns: int, high_ns: int) -> tuple[int, float]:
        value_ns = ns_from_s(law.value_s)
        if value_ns > LONGEST_NS:
            raise LawError("value_s is beyond 18 years")
        is_within = low_ns <= value_ns <= high_ns
        return self._put([CONSTANT, value_ns]), 1.0 if is_within else 0.0

    def _add_sample(self, law: Empirical, low_ns: int, high_ns: int) -> tuple[int, float]:
        sample_ns = sample_of(law)
        kept = [value for value in sample_ns if low_ns <= value <= high_ns]
        if not kept:
            raise LawError(f"{law.file.name} has no value of {law.column} within the bounds")
        if len(kept) > SAMPLE_MAX:
            raise LawError(f"{law.file.name} has more than {SAMPLE_MAX} values")
        own_low, own_high = _narrowed(law, 0.0, None)
        own_low_ns = ns_from_s(own_low)
        own_high_ns = LONGEST_NS if own_high is None else ns_from_s(own_high)
        own = sum(1 for value in sample_ns if own_low_ns <= value <= own_high_ns)
        return self._put([SAMPLE, len(kept)], sorted(kept)), len(kept) / own

    def _add_mixture(self, law: Mixture, low_s: float, high_s: float | None) -> tuple[int, float]:
        """Cut the parts, reweigh them by what is left of each, drop those of which nothing is."""
        places, weights = [], []
        for weight, part in zip(law.weights, law.parts, strict=True):
            try:
                place, mass = self._add(part, low_s, high_s)
            except LawError as fault:
                if not str(fault).startswith("has no "):
                    raise
                mass = 0.0
            if mass > 0.0:
                places.append(place)
                weights.append(weight * mass)
        if not places:
            raise LawError(f"has no probability {_range(low_s, high_s)}")
        ends = np.cumsum(weights) / sum(weights)
        thresholds = [min(int(end * 2.0**63), (1 << 63) - 1) for end in ends[:-1]]
        share = sum(weights) / sum(law.weights)
        return self._put([MIXTURE, len(places)], thresholds, places), share


def _narrowed(law: Law, low_s: float, high_s: float | None) -> tuple[float, float | None]:
    """Bounds that hold when both the given ones and the law's own do."""
    if isinstance(law, Constant):
        return low_s, high_s
    highs = [high for high in (high_s, law.max_s) if high is not None]
    return max(low_s, law.min_s), min(highs, default=None)


def _range(low_s: float, high_s: float | None) -> str:
    return f"above {low_s:g} s" if high_s is None else f"between {low_s:g} and {high_s:g} s"


def _mean_of_tail(tail: Sequence[int]) -> float:
    """Contribution of one tail to the mean; its outermost node stands for all beyond it too."""
    nodes = np.array(tail, dtype=np.float64)
    cell_share = np.repeat(2.0 ** np.arange(-OCTAVES - 1, -1), CELLS) / CELLS
    inner = float(np.sum(cell_share * (nodes[:-1] + nodes[1:]) / 2.0))
    return inner + FAR_TAIL * float(nodes[0])


def sample_of(law: Empirical) -> list[int]:
    """Values of the law's column in ns; LawError names what is wrong with the file."""
    try:
        cells = _column(law)
    except OSError as fault:
        raise LawError(f"{law.file}: {fault.strerror or fault}") from fault
    values: list[int] = []
    bad: list[str] = []
    for line, cell in cells:
        try:
            value = float(cell)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            value = -1.0
        if 0.0 <= value <= LONGEST_NS / NS_PER_S:
            values.append(ns_from_s(value))
        else:
            bad.append(f"line {line} ({cell!r})")
    if bad:
        shown = ", ".join(bad[:10]) + (", ..." if len(bad) > 10 else "")
        raise LawError(f"{law.file}: {law.column} must be a number of seconds >= 0: {shown}")
    if not values:
        raise LawError(f"{law.file} has no rows")
    return values


def _column(law: Empirical) -> list[tuple[int, object]]:
    """(line, cell) of each row of the column; lines count from 1, the heading's."""
    if law.file.suffix == ".parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415
        from pyarrow.lib import ArrowException  # noqa: PLC0415

        try:
            table = pq.read_table(law.file, columns=[law.column])
            cells = table.column(law.column).to_pylist()
        except (ArrowException, KeyError) as fault:
            raise LawError(f"{law.file}: {fault}") from fault
        return list(enumerate(cells, 1))
    with law.file.open(newline="", encoding="utf-8") as lines:
        rows = csv.DictReader(lines)
        if law.column not in (rows.fieldnames or ()):
            raise LawError(f"{law.file} has no column {law.column!r}")
        return [(rows.line_num, row[law.column]) for row in rows]


def draw_many(tables: LawTables, place: int, words: Sequence[int]) -> list[int]:
    """Variates in ns of many words; for tests and figures."""
    values = tables.values
    return [variate_ns(values, place, u) for u in words]
