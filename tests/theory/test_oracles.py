"""Every oracle of the catalogue against the function that computes it."""

import numpy as np
import pytest

from tasksim.theory import inference, laws
from tests.theory.registry import LAWS, LEFT_OUT, ORACLES, REGISTRY, jittered

COVERED_LEAST = 200
SMALL_SHARE = 1e-3  # An absolute tolerance says nothing about a value of 1e-8.


@pytest.mark.parametrize("one", sorted(REGISTRY), ids=sorted(REGISTRY))
def test_an_oracle_is_reproduced_to_its_tolerance(one: str) -> None:
    oracle = ORACLES[one]
    expected = np.atleast_1d(np.asarray(oracle["value"], dtype=float))
    found = np.atleast_1d(np.asarray(REGISTRY[one](oracle["params"]), dtype=float))
    assert found.shape == expected.shape
    for value, wanted in zip(found, expected, strict=True):
        allowed = oracle["tolerance"] * max(1.0, abs(wanted))
        if wanted != 0:
            allowed = min(allowed, SMALL_SHARE * abs(wanted))
        assert abs(value - wanted) <= allowed, oracle["name"]


def test_at_least_two_hundred_oracles_are_covered_and_the_others_say_why() -> None:
    assert len(REGISTRY) >= COVERED_LEAST
    assert set(REGISTRY) | set(LEFT_OUT) == set(ORACLES)
    assert not set(REGISTRY) & set(LEFT_OUT)


@pytest.mark.parametrize("one", ["2.33", "2.36", "2.39"])
def test_oracles_cut_at_1500_s_lack_the_work_beyond(one: str) -> None:
    """Their error is E (S - 1500)^+ to one per cent, and above their tolerance."""
    oracle = ORACLES[one]
    missing = laws.excess_s(LAWS[oracle["params"]["dist"]], 1500.0)
    gap = jittered(oracle["params"]).delay_s - oracle["value"]
    assert gap == pytest.approx(missing, rel=0.02)
    assert gap > oracle["tolerance"] * oracle["value"]


def test_the_threshold_named_in_an_oracle_is_that_of_a_hundred_tests() -> None:
    assert inference.bonferroni_threshold(100) == pytest.approx(5.7307, abs=5e-5)
