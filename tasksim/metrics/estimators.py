"""Estimates with intervals.

Rule 1: a half-width is 95 % unless it says otherwise, and is absent where nothing supports it.
Rule 2: replications are independent; values within one run are not, and are never treated so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

CONFIDENCE: Final = 0.95
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value and, where it has one, the half of its 95 % interval."""

    value: float
    half_width: float | None = None

    def as_dict(self) -> dict[str, float]:
        """Value and half-width; the latter only where there is one."""
        if self.half_width is None:
            return {"value": self.value}
        return {"value": self.value, "half_width": self.half_width}


def t_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t."""
    from scipy.special import stdtrit  # noqa: PLC0415 - SciPy loads on use

    return float(stdtrit(degrees, 0.5 + confidence / 2))


def over_replications(values: Sequence[float]) -> Estimate | None:
    """Mean over independent replications, with a t-interval from two on; None without any.

    Model: replication values are independent and about normal (Law 2015, 9.4.1).
    Formula: half-width = t(n - 1, 97.5 %) * s / sqrt(n).
    """
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return None
    if len(known) == 1:
        return Estimate(value=known[0])
    spread = float(np.std(known, ddof=1))
    half_width = t_quantile(len(known) - 1) * spread / math.sqrt(len(known))
    return Estimate(value=float(np.mean(known)), half_width=half_width)


def batch_mean(values: Floats, batches: int = 10) -> Estimate | None:
    """Mean of one run's values in order, with an interval from the means of batches.

    Model: means of consecutive batches are about independent (Law 2015, 9.5.3), which holds when a
    batch is much longer than the time over which values depend on each other.
    Valid when there are at least two values a batch; otherwise there is no half-width.
    """
    if not len(values):
        return None
    if len(values) < 2 * batches:
        return Estimate(value=float(values.mean()))
    means = [float(batch.mean()) for batch in np.array_split(values, batches)]
    half_width = t_quantile(batches - 1) * float(np.std(means, ddof=1)) / math.sqrt(batches)
    return Estimate(value=float(values.mean()), half_width=half_width)


def quantile(values: Floats, level: float) -> float:
    """The smallest value that at least the share *level* of the values does not exceed."""
    ordered = np.sort(values)
    return float(ordered[max(math.ceil(level * len(ordered)) - 1, 0)])


def quantile_interval(
    values: Floats, level: float, confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """Order-statistic interval of a quantile of independent values; None when n is too small.

    Model: the number of values below the quantile is binomial (David, Nagaraja 2003, 7.1); no law
    is assumed for the values. Valid when both ends exist: about n * min(level, 1 - level) >= 4.
    """
    from scipy.special import bdtr  # noqa: PLC0415

    count = len(values)
    tail = (1.0 - confidence) / 2
    below = bdtr(np.arange(count, dtype=np.float64), count, level)  # P(at most k values below)
    low = int(np.searchsorted(below, tail, side="right")) - 1
    high = int(np.searchsorted(below, 1.0 - tail, side="left")) + 1
    if low < 0 or high > count - 1:
        return None
    ordered = np.sort(values)
    return float(ordered[low]), float(ordered[high])


def wilson_interval(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Interval of a share from independent trials (Wilson 1927). Valid when trials >= 1."""
    from scipy.special import ndtri  # noqa: PLC0415

    z = float(ndtri(0.5 + confidence / 2))
    share = hits / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z / (1 + z * z / trials) * math.sqrt(
        share * (1 - share) / trials + z * z / (4 * trials * trials)
    )  # fmt: skip
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


def as_dict(tree: dict[str, Any]) -> dict[str, Any]:
    """A nested tree of estimates as plain values; branches without an estimate are left out."""
    plain: dict[str, Any] = {}
    for key, branch in tree.items():
        if isinstance(branch, Estimate):
            plain[key] = branch.as_dict()
        elif isinstance(branch, dict) and (inner := as_dict(branch)):
            plain[key] = inner
    return plain
