"""The token bucket against one that counts tokens in fractions."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tasksim.policies.limiters import TAKEN, token_bucket

S = 1_000_000_000


@given(
    token_ns=st.integers(1, 50),
    burst=st.integers(1, 5),
    gaps=st.lists(st.integers(0, 120), max_size=60),
)
def test_it_is_a_bucket_of_tokens(token_ns: int, burst: int, gaps: list[int]) -> None:
    tokens, seen_at, now, state = Fraction(burst), 0, 0, 0
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
    state, wait_ns = token_bucket((S, 1), 0, 0)
    assert wait_ns == TAKEN
    state, wait_ns = token_bucket((S, 1), state, 0)
    assert wait_ns == S
    assert token_bucket((S, 1), state, S - 1)[1] == 1
    assert token_bucket((S, 1), state, S)[1] == TAKEN
