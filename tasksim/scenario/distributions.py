"""Laws of durations, as a scenario file writes them.

Rule 1: parameters are seconds, and stand here as in the file; ``quantiles`` makes them usable.
Rule 2: a law says everything that is wrong with its parameters in one message.

``min_s`` and ``max_s`` cut a law *conditionally*: a variate is one of the law's, given that it
lies between them.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, Gt, Len
from pydantic import Discriminator

Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
FORBID: Final = {"extra": "forbid", "allow_inf_nan": False, "strict": True}


class LawError(ValueError):
    """The law cannot be drawn from; the text says why and which key would help."""


def _one_of(given: dict[str, float | None], ways: tuple[tuple[str, ...], ...]) -> list[str]:
    """Complaint unless exactly one way of giving the parameters was used."""
    used = {name for name, value in given.items() if value is not None}
    if used in [set(way) for way in ways]:
        return []
    wanted = " or ".join(" and ".join(way) for way in ways)
    return [f"needs {wanted}, not {' and '.join(sorted(used)) or 'nothing'}"]


def _bounds(low: float, high: float | None) -> list[str]:
    if high is not None and high <= low:
        return [f"max_s must be > min_s ({low:g}), not {high:g}"]
    return []


def _scale_problems(law: "Gamma | Weibull") -> list[str]:
    given = {"mean_s": law.mean_s, "scale_s": law.scale_s}
    return _one_of(given, (("mean_s",), ("scale_s",)))


def _scale(law: "Gamma | Weibull", *, mean_of_unit_scale: float) -> float:
    """Scale in seconds, from whichever of mean and scale is given."""
    if law.scale_s is not None:
        return law.scale_s
    assert law.mean_s is not None, "checked at construction"
    return law.mean_s / mean_of_unit_scale


def _complain(problems: list[str]) -> None:
    if problems:
        raise ValueError("; ".join(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """Always the same duration."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["constant"] = "constant"
    value_s: NotNegative


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniform:
    """Anything between two durations, equally likely."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["uniform"] = "uniform"
    low_s: NotNegative
    high_s: NotNegative
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        problems = _bounds(self.min_s, self.max_s)
        if self.high_s <= self.low_s:
            problems.append(f"high_s must be > low_s ({self.low_s:g}), not {self.high_s:g}")
        _complain(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exponential:
    """Memoryless durations."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["exponential"] = "exponential"
    mean_s: Positive
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        _complain(_bounds(self.min_s, self.max_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lognormal:
    """Durations whose logarithm is normal: by mean and coefficient of variation, or median."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["lognormal"] = "lognormal"
    mean_s: Positive | None = None
    cv: Positive | None = None
    median_s: Positive | None = None
    sigma: Positive | None = None
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("mean_s", "cv", "median_s", "sigma")}
        ways = (("mean_s", "cv"), ("median_s", "sigma"))
        _complain(_one_of(given, ways) + _bounds(self.min_s, self.max_s))

    def median_and_sigma(self) -> tuple[float, float]:
        """Median in seconds and standard deviation of the natural logarithm."""
        if self.mean_s is not None and self.cv is not None:
            variance = math.log1p(self.cv**2)
            return self.mean_s * math.exp(-variance / 2), math.sqrt(variance)
        assert self.median_s is not None, "checked at construction"
        assert self.sigma is not None, "checked at construction"
        return self.median_s, self.sigma


@dataclass(frozen=True, slots=True, kw_only=True)
class Gamma:
    """Sums of exponentials, and what lies between: by shape and mean, or shape and scale."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["gamma"] = "gamma"
    shape: Positive
    mean_s: Positive | None = None
    scale_s: Positive | None = None
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        _complain(_scale_problems(self) + _bounds(self.min_s, self.max_s))

    def scale(self) -> float:
        """Scale in seconds."""
        return _scale(self, mean_of_unit_scale=self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weibull:
    """Lifetimes with a falling (shape < 1) or rising hazard."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["weibull"] = "weibull"
    shape: Positive
    mean_s: Positive | None = None
    scale_s: Positive | None = None
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        _complain(_scale_problems(self) + _bounds(self.min_s, self.max_s))

    def scale(self) -> float:
        """Scale in seconds."""
        return _scale(self, mean_of_unit_scale=math.gamma(1.0 + 1.0 / self.shape))


@dataclass(frozen=True, slots=True, kw_only=True)
class Lomax:
    """Power-law tails: P(X > x) = (1 + x / scale) ** -alpha. No mean for alpha <= 1."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["lomax"] = "lomax"
    alpha: Positive
    scale_s: Positive
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        _complain(_bounds(self.min_s, self.max_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """One of several laws, picked with the given weights (which need not sum to 1)."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["mixture"] = "mixture"
    weights: Annotated[tuple[Positive, ...], Len(1)]
    parts: Annotated[tuple["Law", ...], Len(1)]
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        problems = _bounds(self.min_s, self.max_s)
        if len(self.weights) != len(self.parts):
            problems.append(f"has {len(self.weights)} weights for {len(self.parts)} parts")
        if not math.isfinite(sum(self.weights)):
            problems.append("weights are so large that their sum is infinite")
        _complain(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Empirical:
    """The values of one column of a CSV or Parquet file, in seconds, equally likely."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["empirical"] = "empirical"
    file: Path
    column: str
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        _complain(_bounds(self.min_s, self.max_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A law of the user's own: a function of its quantiles in a Python file.

    ``quantile_s(params, p, q)`` is the duration in seconds below which a share *p* lies; *q* is
    1 - p without rounding. The law is drawn from 16,384 of its quantiles, equally likely.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["python"] = "python"
    file: Path
    function: str = "quantile_s"
    params: tuple[float, ...] = ()
    min_s: NotNegative = 0.0
    max_s: Positive | None = None

    def __post_init__(self) -> None:
        _complain(_bounds(self.min_s, self.max_s))


Law = Annotated[
    Constant
    | Uniform
    | Exponential
    | Lognormal
    | Gamma
    | Weibull
    | Lomax
    | Mixture
    | Empirical
    | Own,
    Discriminator("kind"),
]
