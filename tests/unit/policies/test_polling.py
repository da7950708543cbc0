"""Polling rules: gaps in nanoseconds, worked out by hand."""

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
