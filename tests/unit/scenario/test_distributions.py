"""Laws as a scenario file writes them."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tasksim.scenario.distributions import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Lomax,
    Mixture,
    Uniform,
    Weibull,
)

ADAPTER: TypeAdapter[Any] = TypeAdapter(Law)


def read(**keys: object) -> Any:
    return ADAPTER.validate_json(json.dumps(keys))


def complaints(**keys: object) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        read(**keys)
    return [error["msg"] for error in caught.value.errors()]


@pytest.mark.parametrize(
    "law",
    [
        Constant(value_s=0),
        Uniform(low_s=0, high_s=1),
        Exponential(mean_s=3, min_s=1, max_s=9),
        Lognormal(mean_s=30, cv=1.5),
        Lognormal(median_s=10, sigma=1),
        Gamma(shape=0.5, mean_s=3),
        Weibull(shape=2, scale_s=3),
        Lomax(alpha=1.5, scale_s=3, max_s=60),
        Mixture(weights=(1, 3), parts=(Constant(value_s=1), Exponential(mean_s=1))),
        Empirical(file=Path("d.csv"), column="seconds"),
    ],
    ids=lambda law: str(law.kind),
)
def test_a_law_is_read_as_it_is_written(law: Any) -> None:
    assert ADAPTER.validate_json(ADAPTER.dump_json(law)) == law


def test_the_kind_decides_what_else_may_be_given() -> None:
    assert complaints(kind="exponential", mean_s=1, cv=2) == ["Unexpected keyword argument"]
    assert complaints(kind="constant", value_s=1, max_s=2) == ["Unexpected keyword argument"]
    assert "expected tags" in complaints(kind="pareto", alpha=1)[0]


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "constant", "value_s": -1},
        {"kind": "uniform", "low_s": -1, "high_s": 1},
        {"kind": "exponential", "mean_s": 0},
        {"kind": "exponential", "mean_s": "3"},
        {"kind": "exponential", "mean_s": 1, "min_s": -1},
        {"kind": "exponential", "mean_s": 1, "max_s": 0},
        {"kind": "lognormal", "mean_s": 1, "cv": 0},
        {"kind": "gamma", "shape": 0, "mean_s": 1},
        {"kind": "weibull", "shape": 1, "scale_s": -1},
        {"kind": "lomax", "alpha": 0, "scale_s": 1},
        {"kind": "mixture", "weights": [], "parts": []},
        {"kind": "mixture", "weights": [0], "parts": [{"kind": "constant", "value_s": 1}]},
    ],
    ids=str,
)
def test_a_parameter_out_of_range_is_refused(keys: dict[str, object]) -> None:
    assert complaints(**keys)


def test_numbers_that_are_none_are_refused() -> None:
    for text in ("NaN", "Infinity"):
        with pytest.raises(ValidationError, match="finite"):
            ADAPTER.validate_json(f'{{"kind": "exponential", "mean_s": {text}}}')


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (Lognormal, "needs mean_s and cv or median_s and sigma, not nothing"),
        (lambda: Lognormal(mean_s=1), "needs mean_s and cv or median_s and sigma, not mean_s"),
        (
            lambda: Lognormal(mean_s=1, cv=1, sigma=1),
            "needs mean_s and cv or median_s and sigma, not cv and mean_s and sigma",
        ),
        (lambda: Gamma(shape=1), "needs mean_s or scale_s, not nothing"),
        (lambda: Weibull(shape=1, mean_s=1, scale_s=1), "needs mean_s or scale_s, not mean_s and"),
        (lambda: Uniform(low_s=2, high_s=2), r"high_s must be > low_s \(2\), not 2"),
        (lambda: Exponential(mean_s=1, min_s=2, max_s=2), r"max_s must be > min_s \(2\), not 2"),
        (lambda: Lomax(alpha=1, scale_s=1, min_s=2, max_s=1), r"max_s must be > min_s \(2\)"),
        (
            lambda: Empirical(file=Path("d.csv"), column="s", min_s=2, max_s=1),
            r"max_s must be > min_s \(2\)",
        ),
        (
            lambda: Mixture(weights=(1, 1), parts=(Constant(value_s=1),)),
            "has 2 weights for 1 parts",
        ),
        (
            lambda: Mixture(weights=(1e308, 1e308), parts=(Constant(value_s=1),) * 2),
            "their sum is infinite",
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(make: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()


def test_all_problems_come_at_once() -> None:
    with pytest.raises(ValueError, match="needs mean_s or scale_s, not nothing; max_s must be"):
        Gamma(shape=1, min_s=5, max_s=1)
    with pytest.raises(ValueError, match=r"max_s must be > min_s .*; high_s must be > low_s"):
        Uniform(low_s=2, high_s=1, min_s=5, max_s=1)


def test_laws_cannot_be_changed() -> None:
    law: Any = Exponential(mean_s=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        law.mean_s = 2


def test_mean_and_variation_of_a_lognormal_become_median_and_sigma() -> None:
    median_s, sigma = Lognormal(mean_s=30, cv=1.5).median_and_sigma()
    assert median_s * math.exp(sigma**2 / 2) == pytest.approx(30)
    assert math.sqrt(math.expm1(sigma**2)) == pytest.approx(1.5)
    assert Lognormal(median_s=10, sigma=2).median_and_sigma() == (10, 2)


def test_a_mean_becomes_a_scale() -> None:
    assert Gamma(shape=4, mean_s=12).scale() == 3
    assert Weibull(shape=0.5, mean_s=12).scale() == pytest.approx(6)
    assert Weibull(shape=0.5, scale_s=12).scale() == 12
