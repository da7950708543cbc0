"""Pacing: a table of due instants, clocks and waits."""

import pytest

from loadtests.pacing import wait_s

S = 1_000_000_000


@pytest.mark.parametrize(
    ("due_at", "now", "wait"), [(5 * S, 3 * S, 2.0), (5 * S, 5 * S, 0.0), (5 * S, 9 * S, 0.0)]
)
def test_a_wait_is_until_the_due_instant_and_never_negative(
    due_at: int, now: int, wait: float
) -> None:
    assert wait_s(due_at, now) == wait
