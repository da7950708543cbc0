"""The token bucket against one that counts tokens in fractions."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tasksim.policies.limiters import (
    FRESH,
    TAKEN,
    cell_rate,
    fixed_window,
    sliding_log,
    token_bucket,
)

S = 1_000_000_000


@given(
    token_ns=st.integers(1, 50),
    burst=st.integers(1, 5),
    gaps=st.lists(st.integers(0, 120), max_size=60),
)
def test_it_is_a_bucket_of_tokens(token_ns: int, burst: int, gaps: list[int]) -> None:
    tokens, seen_at, now, state = Fraction(burst), 0, 0, FRESH
    for gap in gaps:
        now += gap
        tokens = min(Fraction(burst), tokens + Fraction(now - seen_at, token_ns))
        seen_at = now
        before = state
        state, wait_ns = token_bucket((token_ns, burst), state, now)
        if tokens >= 1:
            tokens -= 1
            assert wait_ns == TAKEN
        else:
            assert state == before, "a refused request consumes nothing"
            assert wait_ns == (1 - tokens) * token_ns, "the wait is to the next whole token"


def test_a_request_that_waits_as_told_is_let_in() -> None:
    state, wait_ns = token_bucket((S, 1), FRESH, 0)
    assert wait_ns == TAKEN
    state, wait_ns = token_bucket((S, 1), state, 0)
    assert wait_ns == S
    assert token_bucket((S, 1), state, S - 1)[1] == 1
    assert token_bucket((S, 1), state, S)[1] == TAKEN


GAPS = st.lists(st.integers(0, 60), max_size=80)


@given(token_ns=st.integers(1, 50), burst=st.integers(1, 5), gaps=GAPS)
def test_a_cell_rate_with_the_tolerance_of_a_burst_is_that_bucket(
    token_ns: int, burst: int, gaps: list[int]
) -> None:
    now, one, two = 0, FRESH, FRESH
    for gap in gaps:
        now += gap
        one, waits = token_bucket((token_ns, burst), one, now)
        two, tolerates = cell_rate((token_ns, (burst - 1) * token_ns), two, now)
        assert waits == tolerates


@given(window_ns=st.integers(1, 80), limit=st.integers(1, 4), gaps=GAPS)
def test_a_fixed_window_counts_from_edge_to_edge(
    window_ns: int, limit: int, gaps: list[int]
) -> None:
    now, state, passed = 0, FRESH, list[int]()
    for gap in gaps:
        now += gap
        before = state
        state, wait_ns = fixed_window((window_ns, limit), state, now)
        own = [at for at in passed if at // window_ns == now // window_ns]
        if len(own) < limit:
            assert wait_ns == TAKEN
            passed.append(now)
        else:
            assert (state, wait_ns) == (before, window_ns - now % window_ns)


@given(window_ns=st.integers(1, 80), limit=st.integers(1, 4), gaps=GAPS)
def test_a_sliding_log_lets_so_many_into_any_window(
    window_ns: int, limit: int, gaps: list[int]
) -> None:
    now, state, passed = 0, FRESH, list[int]()
    for gap in gaps:
        now += gap
        state, wait_ns = sliding_log((window_ns, limit), state, now)
        own = [at for at in passed if at > now - window_ns]
        if len(own) < limit:
            assert wait_ns == TAKEN
            passed.append(now)
            assert state[0] == now + window_ns
        else:
            assert wait_ns == own[-limit] + window_ns - now
