"""A closed form without its source and its validity is a number without a meaning."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator

import pytest

import tasksim.theory

TOOLS = {"laws", "validity", "programme"}  # what formulas are computed with; they state none


def formulas() -> Iterator[tuple[str, Callable[..., object]]]:
    for module in pkgutil.iter_modules(tasksim.theory.__path__):
        if module.name not in TOOLS:
            loaded = importlib.import_module(f"tasksim.theory.{module.name}")
            for name, value in vars(loaded).items():
                own = inspect.isfunction(value) and value.__module__ == loaded.__name__
                if own and not name.startswith("_"):
                    yield f"{module.name}.{name}", value


FORMULAS = dict(formulas())


def test_there_are_many() -> None:
    assert len(FORMULAS) > 100


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_names_its_source_and_its_validity(name: str) -> None:
    text = (FORMULAS[name].__doc__ or "").lower()
    assert "source" in text
    assert "valid" in text


@pytest.mark.parametrize("name", FORMULAS)
def test_numbers_carry_their_units(name: str) -> None:
    """A float parameter says s, per_s, share, or is one of the plain numbers listed here."""
    plain = {
        "load", "cv", "alpha", "power", "level", "factor", "rate_ratio", "burst", "cycles", "share",
        "samples", "stay", "delta", "bias_share", "reach", "threshold", "cost_max", "poll", "price",
        "early_cost", "interval_in_polls", "backlog", "polls_max", "suite_alpha",
    }  # fmt: skip
    for parameter in inspect.signature(FORMULAS[name]).parameters.values():
        if parameter.annotation is float and parameter.name not in plain:
            assert parameter.name.endswith(("_s", "_per_s", "_share", "_s2")), parameter.name
