"""Rate limiters under Poisson polls, under herds, and under many pollers of one period.

A refused poll takes no token and is not followed by others of its own: retries are the caller's.
"""

import decimal
import itertools
import math
from collections.abc import Iterable
from typing import Final

import numpy as np
from scipy import optimize, stats

from tasksim.theory.laws import Array
from tasksim.theory.queueing import erlang_b
from tasksim.theory.validity import (
    require,
    require_count,
    require_level,
    require_not_negative,
    require_positive,
)

EXPONENT_MAX: Final = 5_000.0
BURST_MAX: Final = 4_096


def token_bucket_refused_share(
    poll_rate_per_s: float, token_rate_per_s: float, burst: float
) -> float:
    """Share of Poisson polls that a token bucket with continuous refill refuses.

    Formula: 1 - g / (1 + rho g), rho = lambda / r, g = sum over k <= B - 1 of
    e^(lambda (x - k D)) (-lambda (x - k D))^k / k!, x = (B - 1) / r, D = 1 / r; any real B >= 1.
    The terms alternate and cancel, so they are summed in decimals of sufficient precision.
    Source: M/D/1 with bounded workload: Erlang 1909; Takacs 1967; form of the project's catalogue.
    Valid when: a full bucket holds at least one token.
    """
    require_positive(poll_rate_per_s=poll_rate_per_s, token_rate_per_s=token_rate_per_s)
    require(1 <= burst < math.inf, f"a burst of {burst} lets nothing through")
    load = poll_rate_per_s / token_rate_per_s
    require(load * burst < EXPONENT_MAX, f"load {load} times burst {burst} is too large to sum")
    with decimal.localcontext() as context:
        context.prec = 40 + int(load * burst)
        rho, full = decimal.Decimal(load), decimal.Decimal(burst) - 1
        total, factorial = decimal.Decimal(0), decimal.Decimal(1)
        for k in range(math.floor(burst)):
            factorial *= max(k, 1)
            reach = rho * (full - k)
            # Decimal leaves 0 ** 0 undefined; the term is then e^0.
            power = (-reach) ** k if k else decimal.Decimal(1)
            total += reach.exp() * power / factorial
        return float(1 - total / (1 + rho * total))


def burst_for_refused_share(
    poll_rate_per_s: float, token_rate_per_s: float, refused_share: float
) -> int:
    """Least whole burst that refuses at most a given share: min B with P(B) <= eps.

    Source and validity: as in ``token_bucket_refused_share``; polls must come slower than tokens,
    or the share reachable by any burst is bounded.
    """
    require_level(refused_share=refused_share)
    load = poll_rate_per_s / token_rate_per_s
    reachable = load < 1 or refused_share > 1 - 1 / load
    require(reachable, f"no burst refuses only {refused_share} at a load of {load}")

    def fits(burst: int) -> bool:
        share = token_bucket_refused_share(poll_rate_per_s, token_rate_per_s, burst)
        return share <= refused_share

    high = 1
    while not fits(high):
        require(high < BURST_MAX, f"a burst above {BURST_MAX} would be needed at a load of {load}")
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def token_bucket_decay(poll_rate_per_s: float, token_rate_per_s: float) -> float:
    """How fast the refused share falls with the burst: P ~ const e^(-y B).

    Formula: y > 0 with rho (e^y - 1) = y. Source: Cramer-Lundberg. Valid when: rho < 1.
    """
    require_positive(poll_rate_per_s=poll_rate_per_s, token_rate_per_s=token_rate_per_s)
    load = poll_rate_per_s / token_rate_per_s
    require(load < 1, f"at a load of {load} the refused share does not fall to zero")
    low, high = 1e-12, 1.0
    while load * math.expm1(high) < high:
        low, high = high, 2 * high
    low = min(low, (1 - load) / load)
    return float(optimize.brentq(lambda y: load * math.expm1(y) - y, low, high, xtol=1e-15))


def ticking_bucket_refused_share(
    poll_rate_per_s: float, token_rate_per_s: float, burst: int
) -> float:
    """Share of Poisson polls refused by a bucket that gets one whole token every 1/r seconds.

    Formula: chain of the tokens after a tick; 1 - E min(A, tokens) / E A, A ~ Poisson(lambda / r).
    Source: leaky-bucket chain (Sidi et al. 1993). Valid when: the burst is whole.
    """
    require_positive(poll_rate_per_s=poll_rate_per_s, token_rate_per_s=token_rate_per_s)
    require_count(1, burst=burst)
    load = poll_rate_per_s / token_rate_per_s
    moves, taken = np.zeros((burst, burst)), np.zeros(burst)
    for row, tokens in enumerate(range(1, burst + 1)):
        chances = stats.poisson.pmf(np.arange(tokens), load)
        rest = float(stats.poisson.sf(tokens - 1, load))
        for polls, chance in enumerate([*chances, rest]):
            moves[row, min(burst, tokens - polls + 1) - 1] += chance
            taken[row] += chance * polls
    balance = moves.T - np.eye(burst)
    balance[-1] = 1.0
    tokens_law = np.linalg.solve(balance, np.eye(burst)[-1])
    return 1 - float(tokens_law @ taken) / load


def fixed_window_refused_share(poll_rate_per_s: float, window_s: float, polls_max: int) -> float:
    """Share of Poisson polls refused by a counter that starts afresh every window.

    Formula: E (A - M)^+ / E A, A ~ Poisson(lambda W). Source: elementary.
    Valid when: windows are not aligned with the polls.
    """
    require_positive(poll_rate_per_s=poll_rate_per_s, window_s=window_s)
    require_count(1, polls_max=polls_max)
    mean = poll_rate_per_s * window_s
    beyond = mean * stats.poisson.sf(polls_max - 1, mean) - polls_max * stats.poisson.sf(
        polls_max, mean
    )
    return float(beyond / mean)


def sliding_log_refused_share(poll_rate_per_s: float, window_s: float, polls_max: int) -> float:
    """Share of Poisson polls refused by a log of the accepted polls of the last window.

    Formula: Erlang's B(M, lambda W): accepted polls are M/D/M/M customers who stay for W.
    Source: Sevastyanov 1957 (insensitivity). Valid when: only accepted polls enter the log.
    """
    require_positive(poll_rate_per_s=poll_rate_per_s, window_s=window_s)
    require_count(1, polls_max=polls_max)
    return erlang_b(polls_max, poll_rate_per_s * window_s)


def herd_refused_share(
    pollers: int, interval_s: float, token_rate_per_s: float, burst: float
) -> float:
    """Share of polls refused when all pollers poll at the same instants: 1 - min(B, r P) / N.

    Source: elementary. Valid when: refused polls wait for the next round; r P is a whole number or
    above the burst (else part of a token carries over and the share lies between its neighbours).
    """
    require_count(1, pollers=pollers)
    require_positive(interval_s=interval_s, token_rate_per_s=token_rate_per_s)
    require(burst >= 1, f"a burst of {burst} lets nothing through")
    refill = token_rate_per_s * interval_s
    whole = abs(refill - round(refill)) < 1e-9 * max(1.0, refill)
    require(whole or refill >= burst, f"{refill} tokens a round are not a whole number")
    return max(0.0, 1 - math.floor(min(burst, refill) + 1e-9) / pollers)


def periodic_backlog_tail(pollers: int, interval_in_polls: float, backlog: float) -> float:
    """P(backlog of a shaper > x) for N pollers of one period P at random phases, N*D/D/1.

    P is in units of the time that one poll takes at the shaper (1/r).
    Formula: sum over x < k <= N of binom(N, k) ((k-x)/P)^k (1-(k-x)/P)^(N-k) (P-N+x)/(P-k+x).
    Source: Benes 1963; Roberts & Virtamo 1991. Valid when: N < P, x >= 0. It bounds the chance that
    a bucket of depth x refuses something.
    """
    require_count(1, pollers=pollers)
    require(
        pollers < interval_in_polls, f"{pollers} polls do not fit a period of {interval_in_polls}"
    )
    require_not_negative(backlog=backlog)
    total = 0.0
    for k in range(math.floor(backlog) + 1, pollers + 1):
        share = (k - backlog) / interval_in_polls
        scale = (interval_in_polls - pollers + backlog) / (interval_in_polls - k + backlog)
        total += float(stats.binom.pmf(k, pollers, share)) * scale
    return total


def shaper_lost_share(poll_rate_per_s: float, poll_time_s: float, places: int) -> float:
    """Share of Poisson polls lost at a queue of K places with constant work, M/D/1/K.

    Formula: 1 - 1 / (pi_0 + rho), pi_0 from the chain at departures. Source: Takagi 1993.
    Valid when: places, the one in work included, are at least one. Equal to a token bucket whose
    burst is K.
    """
    require_positive(poll_rate_per_s=poll_rate_per_s, poll_time_s=poll_time_s)
    require_count(1, places=places)
    load = poll_rate_per_s * poll_time_s
    moves = np.zeros((places, places))
    for left in range(places):
        stay = max(left - 1, 0)
        room = places - 1 - stay
        moves[left, stay : places - 1] = stats.poisson.pmf(np.arange(room), load)
        moves[left, places - 1] = stats.poisson.sf(room - 1, load)
    balance = moves.T - np.eye(places)
    balance[-1] = 1.0
    idle = float(np.linalg.solve(balance, np.eye(places)[-1])[0])
    return 1 - 1 / (idle + load)


def token_bucket_accepts(
    polls_s: Iterable[float], token_rate_per_s: float, burst: float
) -> Iterable[bool]:
    """What a bucket with continuous refill, full at first, decides on polls at given instants.

    Source: definition. Valid when: instants do not fall.
    """
    require_positive(token_rate_per_s=token_rate_per_s)
    require(burst >= 1, f"a burst of {burst} lets nothing through")
    tokens, before_s = burst, 0.0
    for at_s in polls_s:
        require(at_s >= before_s, f"polls must be in order: {at_s} s after {before_s} s")
        tokens, before_s = min(burst, tokens + (at_s - before_s) * token_rate_per_s), at_s
        accepted = tokens >= 1
        tokens -= accepted
        yield accepted


def gcra_accepts(
    polls_s: Iterable[float], increment_s: float, tolerance_s: float
) -> Iterable[bool]:
    """What the generic cell rate algorithm decides on polls at given instants.

    The same as a token bucket with r = 1/T and B = 1 + tau/T.
    Source: ITU-T I.371 (virtual scheduling). Valid when: instants do not fall.
    """
    require_positive(increment_s=increment_s)
    require_not_negative(tolerance_s=tolerance_s)
    expected_s, before_s = 0.0, 0.0
    for at_s in polls_s:
        require(at_s >= before_s, f"polls must be in order: {at_s} s after {before_s} s")
        before_s = at_s
        accepted = at_s >= expected_s - tolerance_s
        if accepted:
            expected_s = max(at_s, expected_s) + increment_s
        yield accepted


def differing_decisions(polls_s: Array, token_rate_per_s: float, burst: float) -> int:
    """On how many polls a token bucket and its GCRA disagree: none, rounding at ties apart.

    Source and validity: as in ``gcra_accepts``.
    """
    instants = np.asarray(polls_s, dtype=np.float64).tolist()
    bucket = token_bucket_accepts(instants, token_rate_per_s, burst)
    gcra = gcra_accepts(instants, 1 / token_rate_per_s, (burst - 1) / token_rate_per_s)
    return sum(left != right for left, right in itertools.zip_longest(bucket, gcra))
