"""Whole tokens, sliding counters, shapers, adaptive limits; breakers, budgets and paces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.policies import retries
from tasksim.policies.limiters import (
    FRESH,
    MILLI,
    TAKEN,
    Limiter,
    adapted,
    shaped,
    sliding_counter,
    whole_tokens,
)

ARRIVALS = st.lists(st.integers(0, 40), min_size=1, max_size=80).map(
    lambda gaps: list(itertools.accumulate(gaps))
)


def taken(limiter: Limiter, params: tuple[int, ...], instants: list[int]) -> list[int]:
    """Instants at which a request passes; a refusal must change nothing and tell the truth."""
    state: tuple[int, ...] = FRESH
    passed = []
    for at in instants:
        before = state
        state, wait_ns = limiter(params, state, at)
        if wait_ns == TAKEN:
            passed.append(at)
            continue
        assert state == before
        assert wait_ns > 0
        assert limiter(params, state, at + wait_ns)[1] == TAKEN
        assert limiter(params, state, at + wait_ns - 1)[1] != TAKEN
    return passed


def test_whole_tokens_come_at_ticks() -> None:
    assert taken(whole_tokens, (10, 2), [5, 5, 5, 9, 10, 11, 19, 20, 20]) == [5, 5, 10, 20]


@given(ARRIVALS)
def test_whole_tokens_pass_no_more_than_their_ticks(instants: list[int]) -> None:
    passed = taken(whole_tokens, (10, 3), instants)
    for first, last in itertools.combinations_with_replacement(range(len(passed)), 2):
        ticks = passed[last] // 10 - passed[first] // 10
        assert last - first + 1 <= 3 + ticks


def test_a_sliding_counter_weighs_the_window_before() -> None:
    # Four in the first window of 10; at 13 seven tenths of them still count: 2.8 + 1 + 1 > 4.
    assert taken(sliding_counter, (10, 4), [1, 2, 3, 4, 5, 12, 13, 20]) == [1, 2, 3, 4, 13, 20]


@given(ARRIVALS)
def test_a_sliding_counter_passes_at_most_its_limit_in_a_window_of_the_clock(
    instants: list[int],
) -> None:
    passed = taken(sliding_counter, (25, 5), instants)
    for window in {at // 25 for at in passed}:
        assert sum(at // 25 == window for at in passed) <= 5


@pytest.mark.parametrize("limiter", [whole_tokens, sliding_counter])
def test_a_state_that_is_over_says_what_a_fresh_one_says(limiter: Limiter) -> None:
    state: tuple[int, ...] = FRESH
    for _ in range(3):
        state, _ = limiter((10, 3), state, 5)
    over_at = state[0]
    for at in (over_at, over_at + 7):
        assert limiter((10, 3), state, at) == limiter((10, 3), FRESH, at)


def test_a_shaper_delays_and_refuses_only_what_has_no_room() -> None:
    state: tuple[int, ...] = FRESH
    found = []
    for at in (0, 0, 0, 0, 5, 100):
        state, wait_ns, delay_ns = shaped((10, 3), state, at)
        found.append((wait_ns, delay_ns))
    assert found == [(TAKEN, 0), (TAKEN, 10), (TAKEN, 20), (10, 0), (5, 0), (TAKEN, 0)]


def test_an_adaptive_limit_grows_by_one_a_round_and_is_cut() -> None:
    limit = 4 * MILLI
    for _ in range(4):
        limit = adapted((1, 10, 100, 500), limit, 4, 50)
    assert limit == pytest.approx(5 * MILLI, rel=0.03)
    assert adapted((1, 10, 100, 500), limit, 4, 101) == limit // 2
    assert adapted((1, 10, 100, 500), 1 * MILLI, 1, 101) == 1 * MILLI
    assert adapted((1, 10, 100, 500), 10 * MILLI, 10, 1) == 10 * MILLI
    assert adapted((1, 10, 100, 500), 8 * MILLI, 1, 1) == 8 * MILLI  # it is not made use of


def test_a_breaker_opens_tries_once_and_closes() -> None:
    params, state = (2, 10), retries.CLOSED
    assert retries.breaker(params, state, 0)[1] == 0
    state = retries.noted(params, state, 1, ok=False)
    assert retries.breaker(params, state, 1)[1] == 0
    state = retries.noted(params, state, 2, ok=False)
    assert retries.breaker(params, state, 5)[1] == 7
    state, wait = retries.breaker(params, state, 12)
    assert wait == 0
    assert retries.breaker(params, state, 13)[1] == 9  # another waits for what comes of the trial
    again = retries.noted(params, state, 14, ok=False)
    assert retries.breaker(params, again, 15)[1] == 9
    assert retries.noted(params, state, 14, ok=True) == retries.CLOSED


def test_a_budget_lets_so_many_retries_out() -> None:
    params, balance = (100, 2000), 2000
    for allowed in (True, True, False):
        balance, may_go = retries.budget(params, balance, is_retry=True)
        assert may_go is allowed
    for _ in range(10):
        balance, _ = retries.budget(params, balance, is_retry=False)
    assert retries.budget(params, balance, is_retry=True) == (0, True)


def test_a_pace_gives_out_turns_in_order() -> None:
    state: tuple[int, ...] = (0,)
    goes = []
    for at in (0, 0, 0, 0, 0, 100, 100, 100, 100):
        state, delay_ns = retries.paced((10, 3), state, at)
        goes.append(at + delay_ns)
    assert goes == [0, 0, 0, 10, 20, 100, 100, 100, 110]
