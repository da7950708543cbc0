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


def whole_tokens(params: Params, state: State, now: int) -> tuple[State, int]:
    """A bucket that gains one whole token at each tick of the clock.

    *params* = (tick in ns, tokens when full). *state* = (the tick at which the bucket is full if
    nothing more is taken,). A request just before a tick waits hardly at all, one just after it a
    whole tick: a bucket that a timer fills, as many are.
    """
    tick_ns, burst = params
    ticks = now // tick_ns
    missing = max(0, state[0] // tick_ns - ticks)
    if missing >= burst:
        return state, (ticks + missing - burst + 1) * tick_ns - now
    return ((ticks + missing + 1) * tick_ns,), TAKEN


def sliding_counter(params: Params, state: State, now: int) -> tuple[State, int]:
    """So many requests in a window that slides, estimated from two counts.

    *params* = (window in ns, limit). *state* = (when both counts have left, the start of the
    window, requests in it, requests in the one before). The window before counts by the share of
    it that still is within reach.

    Source: Cloudflare 2017, How we built rate limiting capable of scaling to millions of domains.
    """
    window_ns, limit = params
    start = now // window_ns * window_ns
    count, before = 0, 0
    if state[0] > now:
        is_same = state[1] == start
        count, before = (state[2], state[3]) if is_same else (0, state[2])
    if before * (start + window_ns - now) + count * window_ns > (limit - 1) * window_ns:
        return state, _slides_in(window_ns, limit, count, before, now - start)
    return (start + 2 * window_ns, start, count + 1, before), TAKEN


def _slides_in(window_ns: int, limit: int, count: int, before: int, elapsed: int) -> int:
    """How long until the estimate leaves room for one more."""
    if count < limit:
        return window_ns - (limit - 1 - count) * window_ns // before - elapsed
    return window_ns - elapsed + window_ns - (limit - 1) * window_ns // count


def shaped(params: Params, state: State, now: int) -> tuple[State, int, int]:
    """A leaky bucket that lets requests out one by one: (state, wait, delay).

    *params* = (ns between two, most that may be inside). *state* = (when the next may leave,). A
    request is delayed, not refused, while there is room: *wait* is ``TAKEN`` and *delay* is how
    long it stays inside. Without room *wait* says for how long that lasts.

    Source: Turner 1986, the leaky bucket as a queue.
    """
    between_ns, room = params
    leaves_at = max(now, state[0])
    wait_ns = leaves_at - (room - 1) * between_ns - now
    if wait_ns > 0:
        return state, wait_ns, 0
    return (leaves_at + between_ns,), TAKEN, leaves_at - now


MILLI: Final = 1000


def adapted(params: Params, limit: int, in_hand: int, sojourn_ns: int) -> int:
    """An adaptive limit of requests in hand, in thousandths, after one was answered.

    *params* = (least, most, time in ns that answering may take, what a limit is cut to in
    thousandths). Additive increase by one for each limit of answers while the limit is made use
    of; multiplicative decrease when an answer took longer.

    Source: Chiu and Jain 1989, additive increase and multiplicative decrease.
    """
    least, most, target_ns, cut = params
    if sojourn_ns > target_ns:
        return max(least * MILLI, limit * cut // MILLI)
    if in_hand * 2 * MILLI < limit:
        return limit
    return min(most * MILLI, limit + MILLI * MILLI // limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limiter with its parameters, for all requesters together or for each."""

    take: Limiter
    params: Params
    per_requester: bool = False


def bucket(token_ns: int, burst: int, *, per_requester: bool = False) -> Limit:
    """A token every *token_ns*, at most *burst* of them saved up."""
    return Limit(take=token_bucket, params=(token_ns, burst), per_requester=per_requester)
