"""When a requester stops asking: circuit breakers, budgets of retries, its own pace.

Rule 1: a rule is a function on flat tuples of whole numbers, as limiters are.
Rule 2: what belongs to a requester is shared by all of its tasks.
"""

from typing import Final

Params = tuple[int, ...]
State = tuple[int, ...]

CLOSED: Final = (0, 0, -1)
MILLI: Final = 1000


def breaker(params: Params, state: State, now: int) -> tuple[State, int]:
    """Whether a circuit breaker lets a request out: (state, how long not; 0 when it does).

    *params* = (failures in a row that open it, ns that it stays open). *state* = (failures in a
    row, until when it is open, when a request was let out on trial, -1 none). When it has been
    open for long enough one request is let out on trial; the others wait for what comes of it.

    Source: Nygard 2007, Release It!, circuit breaker.
    """
    limit, open_ns = params
    failures, open_until, tried_at = state
    if failures < limit:
        return state, 0
    if now < open_until:
        return state, open_until - now
    if tried_at >= 0 and now < tried_at + open_ns:
        return state, tried_at + open_ns - now
    return (failures, open_until, now), 0


def noted(params: Params, state: State, now: int, *, ok: bool) -> State:
    """A breaker's state after a request has come to something, or to nothing."""
    limit, open_ns = params
    if ok:
        return CLOSED
    failures = state[0] + 1
    return (failures, now + open_ns if failures >= limit else 0, -1)


def budget(params: Params, balance: int, *, is_retry: bool) -> tuple[int, bool]:
    """Whether a budget of retries has something left: (balance, whether the request may go).

    *params* = (what any other request pays in, the most that is saved up), in thousandths of a
    retry. Source: Finagle's retry budgets; gRPC A6.
    """
    deposit, most = params
    if not is_retry:
        return min(balance + deposit, most), True
    return (balance - MILLI, True) if balance >= MILLI else (balance, False)


def paced(params: Params, state: State, now: int) -> tuple[State, int]:
    """When a requester that paces itself sends what is due now: (state, delay in ns).

    *params* = (ns between two, how many may go at once). *state* = (when the next would go if none
    were saved up,), at first 0. Turns are given out in order, so nobody overtakes.
    """
    between_ns, burst = params
    goes_at = max(now, state[0] - (burst - 1) * between_ns)
    return (max(state[0], now) + between_ns,), goes_at - now
