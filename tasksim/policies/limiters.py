"""How fast requests may come.

Rule 1: a limiter is one function ``take(params, state, now) -> (state, wait_ns)`` on flat tuples
of whole numbers; *wait_ns* is ``TAKEN`` when the request may pass, else how long to wait.
Rule 2: a refused request consumes nothing: its state is the one that was handed in.
Rule 3: the first number of a state is the instant from which on the state says no more than
``FRESH`` does, so that whoever keeps it may drop it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

TAKEN: Final = -1
FRESH: Final = (0,)
Params = tuple[int, ...]
State = tuple[int, ...]
Limiter = Callable[[Params, State, int], tuple[State, int]]


def token_bucket(params: Params, state: State, now: int) -> tuple[State, int]:
    """A bucket of tokens that refills continuously, as the instant at which it will be full.

    *params* = (ns a token, tokens when full). *state* = (the instant at which the bucket is full
    if nothing more is taken,).

    Source: ITU-T I.371, the virtual scheduling form of the generic cell rate algorithm.
    """
    token_ns, burst = params
    full_at = max(now, state[0])
    wait_ns = full_at - (burst - 1) * token_ns - now
    if wait_ns > 0:
        return state, wait_ns
    return (full_at + token_ns,), TAKEN


def cell_rate(params: Params, state: State, now: int) -> tuple[State, int]:
    """The generic cell rate algorithm: requests as even as *params* = (interval, tolerance) asks.

    *state* = (theoretical arrival of the next one,). With a tolerance of burst - 1 intervals it
    is the token bucket of that burst.
    """
    interval_ns, tolerance_ns = params
    due_at = max(now, state[0])
    wait_ns = due_at - tolerance_ns - now
    if wait_ns > 0:
        return state, wait_ns
    return (due_at + interval_ns,), TAKEN


def fixed_window(params: Params, state: State, now: int) -> tuple[State, int]:
    """So many requests in each window of the clock: *params* = (window in ns, limit).

    *state* = (end of the window, requests in it). At a window's edge twice the limit may pass.
    """
    window_ns, limit = params
    if state[0] <= now:
        return ((now // window_ns + 1) * window_ns, 1), TAKEN
    if state[1] >= limit:
        return state, state[0] - now
    return (state[0], state[1] + 1), TAKEN


def sliding_log(params: Params, state: State, now: int) -> tuple[State, int]:
    """So many requests in any window: *params* = (window in ns, limit).

    *state* = (when the last of them leaves the window, then the instants at which each does, in
    order). Exact, and as long as the limit.
    """
    window_ns, limit = params
    leaving = tuple(at for at in state[1:] if at > now)
    if len(leaving) >= limit:
        return state, leaving[0] - now
    end_at = now + window_ns
    return (end_at, *leaving, end_at), TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limiter with its parameters, for all requesters together or for each."""

    take: Limiter
    params: Params
    per_requester: bool = False


def bucket(token_ns: int, burst: int, *, per_requester: bool = False) -> Limit:
    """A token every *token_ns*, at most *burst* of them saved up."""
    return Limit(take=token_bucket, params=(token_ns, burst), per_requester=per_requester)
