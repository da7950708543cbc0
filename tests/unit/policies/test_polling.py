"""Polling rules: gaps in nanoseconds, worked out by hand."""

import math

import pytest

from tasksim.policies import ABSENT, polling

S = 1_000_000_000


def gap(
    rule: polling.Polling,
    attempt: int = 0,
    *,
    hint: int = ABSENT,
    retry_after: int = ABSENT,
    u: float = 0.0,
) -> int:
    return rule.gap_ns(rule.params, (), attempt, 0, hint, retry_after, u)


def test_a_fixed_interval_is_deaf_to_hints() -> None:
    assert gap(polling.fixed(2 * S), 3, hint=30 * S) == 2 * S


def test_a_hint_is_followed_and_the_own_interval_stands_in_for_it() -> None:
    rule = polling.hint(5 * S)
    assert gap(rule) == 5 * S
    assert gap(rule, hint=30 * S) == 30 * S
    assert gap(rule, hint=1 * S) == 1 * S


def test_backoff_doubles_up_to_its_cap() -> None:
    rule = polling.backoff(S, 60 * S)
    assert [gap(rule, k) // S for k in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_backoff_follows_its_factor() -> None:
    rule = polling.backoff(S, 20 * S, factor=1.5)
    assert [gap(rule, k) for k in range(3)] == [S, 1_500_000_000, 2_250_000_000]


@pytest.mark.parametrize("factor", [1.0, 1.0001, 2.0, 1e6])
def test_backoff_never_passes_its_cap_however_often_it_polls(factor: float) -> None:
    rule = polling.backoff(S, 10 * S, factor=factor)
    assert gap(rule, 10**7) == (S if factor == 1.0 else 10 * S)


def test_backoff_from_at_or_above_its_cap_is_its_cap() -> None:
    assert gap(polling.backoff(10 * S, 10 * S), 0) == 10 * S
    assert gap(polling.backoff(20 * S, 10 * S), 5) == 10 * S


@pytest.mark.parametrize(
    "rule",
    [
        polling.fixed(4 * S, jitter=0.5),
        polling.hint(4 * S, jitter=0.5),
        polling.backoff(4 * S, 4 * S, jitter=0.5),
    ],
)
def test_jitter_lengthens_a_gap_by_up_to_its_share(rule: polling.Polling) -> None:
    assert rule.jittered
    assert [gap(rule, u=u) for u in (0.0, 0.5)] == [4 * S, 5 * S]


@pytest.mark.parametrize(
    "rule", [polling.fixed(4 * S), polling.hint(4 * S), polling.backoff(4 * S, 4 * S)]
)
def test_a_retry_after_is_never_cut_short(rule: polling.Polling) -> None:
    assert gap(rule, retry_after=120 * S) == 120 * S
    assert gap(rule, retry_after=1 * S) == 4 * S


# Hints with limits.


def test_a_ceiling_below_the_floor_makes_no_hot_loop() -> None:  # case 2
    rule = polling.hint(5 * S, ceiling_ns=1_000_000, floor_ns=20_000_000)
    assert gap(rule) == 20_000_000


def test_the_largest_of_all_that_apply_wins() -> None:  # case 6
    user = polling.hint(5 * S, own_ns=S // 2)
    assert gap(user, hint=30 * S) == 30 * S
    assert gap(user, hint=S // 10) == S // 2
    capped = polling.hint(5 * S, ceiling_ns=60 * S)
    assert gap(capped, hint=600 * S) == 60 * S
    assert gap(capped, hint=600 * S, retry_after=120 * S) == 120 * S


# Backoff with chance.


@pytest.mark.parametrize(("spread", "low"), [("full", 0.0), ("equal", 0.5)])
def test_full_and_equal_jitter_pick_below_the_ceiling(spread: polling.Spread, low: float) -> None:
    rule = polling.backoff(S, 16 * S, spread=spread)
    for attempt, ceiling in enumerate([1, 2, 4, 8, 16, 16]):
        assert gap(rule, attempt, u=0.0) == max(int(low * ceiling * S), 1)
        assert gap(rule, attempt, u=0.5) == int((low + 1) / 2 * ceiling * S)
    assert gap(rule, 3, u=0.5, retry_after=100 * S) == 100 * S


def test_decorrelated_jitter_remembers_the_last_gap() -> None:
    rule = polling.backoff(S, 16 * S, spread="decorrelated")

    def after(last_ns: int, u: float, attempt: int = 1) -> int:
        return rule.gap_ns(rule.params, (last_ns, 0.0), attempt, 0, ABSENT, ABSENT, u)

    assert after(0, 0.5, attempt=0) == 2 * S  # between 1 and 3
    assert after(4 * S, 0.5) == 6_500_000_000  # between 1 and 12
    assert after(16 * S, 0.9) == 16 * S
    assert after(4 * S, 0.0) == S


# Schedules.


def test_a_schedule_repeats_its_last_gap() -> None:
    rule = polling.schedule([10 * S, 2 * S])
    assert [gap(rule, k) // S for k in range(4)] == [10, 2, 2, 2]


def test_quadratic_polls_come_at_squares() -> None:
    rule = polling.quadratic(2 * S)
    at, seen = 0, []
    for attempt in range(5):
        at += rule.gap_ns(rule.params, (0, 0.5), attempt, 0, ABSENT, ABSENT, 0.0)
        seen.append(at / S)
    assert seen == [2 * (k + 0.5) ** 2 for k in range(5)]


def test_a_ramp_stops_at_what_is_advertised() -> None:
    rule = polling.ramp(20_000_000, S // 2)
    assert [gap(rule, k) for k in (0, 1, 4, 5, 1000)] == [
        20_000_000, 40_000_000, 320_000_000, S // 2, S // 2,
    ]  # fmt: skip
    assert gap(rule, 1000, hint=2 * S) == 2 * S


def test_gaps_follow_the_age() -> None:
    rule = polling.aged([10 * S, 20 * S], [S, 3 * S, 9 * S])
    gaps = [
        rule.gap_ns(rule.params, (0, 0.0), 0, age * S, ABSENT, ABSENT, 0.0) for age in (0, 10, 99)
    ]
    assert gaps == [S, 3 * S, 9 * S]
    assert math.isinf(polling.hint(S).params[2])
