"""How fast requests may come.

Rule 1: a limiter is one function ``take(params, state, now) -> (state, wait_ns)`` on whole
numbers; *wait_ns* is ``TAKEN`` when the request may pass, else how long to wait.
Rule 2: a refused request consumes nothing: its state is the one that was handed in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

TAKEN: Final = -1
Params = tuple[int, ...]
Limiter = Callable[[Params, int, int], tuple[int, int]]


def token_bucket(params: Params, state: int, now: int) -> tuple[int, int]:
    """A bucket of tokens that refills continuously, as the instant at which it will be full.

    *params* = (ns a token, tokens when full). *state*, and the state that is returned: the
    instant in ns at which the bucket is full if nothing more is taken; 0 is full.

    Source: ITU-T I.371, the virtual scheduling form of the generic cell rate algorithm.
    """
    token_ns, burst = params
    full_at = max(state, now)
    wait_ns = full_at - (burst - 1) * token_ns - now
    if wait_ns > 0:
        return state, wait_ns
    return full_at + token_ns, TAKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limiter with its parameters, for all requesters together or for each."""

    take: Limiter
    params: Params
    per_requester: bool = False


def bucket(token_ns: int, burst: int, *, per_requester: bool = False) -> Limit:
    """A token every *token_ns*, at most *burst* of them saved up."""
    return Limit(take=token_bucket, params=(token_ns, burst), per_requester=per_requester)
