"""Conversions: exact where they can be, rounded in the stated direction where not."""

import pytest

from tasksim import units


def test_seconds_become_the_nearest_nanosecond() -> None:
    assert units.ns_from_s(0.1) == 100_000_000
    assert units.ns_from_s(1e-9) == 1
    assert units.ns_from_s(0) == 0


def test_a_negative_duration_is_our_own_error() -> None:
    with pytest.raises(AssertionError):
        units.ns_from_s(-1)
    with pytest.raises(AssertionError):
        units.ns_from_ms(-1)


@pytest.mark.parametrize("ns", [0, 1, 999_999, 123_456_789_012_345, 2**51 - 1])
def test_nanoseconds_survive_the_way_to_milliseconds_and_back(ns: int) -> None:
    assert units.ns_from_ms(units.ms_from_ns(ns)) == ns


def test_advertised_rounds_up_and_granted_rounds_down() -> None:
    assert (units.whole_ms_up(1), units.whole_ms_down(1)) == (1, 0)
    assert (units.whole_ms_up(2_000_000), units.whole_ms_down(2_000_000)) == (2, 2)


def test_seconds_come_back() -> None:
    assert units.s_from_ns(1_500_000_000) == 1.5
