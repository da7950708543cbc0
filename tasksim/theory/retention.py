"""Retention: the share of results that expire before they are fetched.

Retention counts from completion (SEP-1686). A poll must be answered and its fetch must reach the
receiver before it ends, so that of K only K - 2 L is left for polls, L the network a way.
"""

import itertools
import math

import numpy as np
from scipy import integrate

from tasksim.theory.backoff import Backoff, backoff_instants_s
from tasksim.theory.laws import Array, Law
from tasksim.theory.polling import cycles_for_missed_share, missed_share, schedule_delay_tail
from tasksim.theory.validity import (
    require,
    require_count,
    require_level,
    require_not_negative,
    require_positive,
    require_share,
)


def fixed_lost_share(
    retention_s: float, interval_s: float, *, one_way_s: float = 0.0, failure_share: float = 0.0
) -> float:
    """Share of results lost under fixed polling: h_q((K - 2 L) / C), C = P + 2 L.

    Model: random phase; failed polls repeat one cycle later; see ``polling.missed_share``.
    Source: polls in a window of length K (Cox 1962). Valid when: failures are independent; outages
    and rate limits correlate them, and the loss is then far greater.
    """
    require_positive(interval_s=interval_s)
    require_not_negative(retention_s=retention_s, one_way_s=one_way_s)
    cycle_s = interval_s + 2 * one_way_s
    return missed_share((retention_s - 2 * one_way_s) / cycle_s, failure_share)


def lossless_retention_s(interval_s: float, *, one_way_s: float = 0.0) -> float:
    """Least retention that loses nothing: P + 4 L.

    Source: a cycle and a fetch. Valid when: polls never fail, network time is constant.
    """
    require_positive(interval_s=interval_s)
    require_not_negative(one_way_s=one_way_s)
    return interval_s + 4 * one_way_s


def retention_for_lost_share_s(
    lost_share: float, interval_s: float, *, one_way_s: float = 0.0, failure_share: float = 0.0
) -> float:
    """Least retention that loses a given share: 2 L + C h_q^-1(eps).

    Source and validity: as in ``fixed_lost_share``.
    """
    require_positive(interval_s=interval_s)
    require_not_negative(one_way_s=one_way_s)
    cycles = cycles_for_missed_share(lost_share, failure_share)
    return 2 * one_way_s + (interval_s + 2 * one_way_s) * cycles


def synchronised_lost_share(
    mean_s: float, retention_s: float, interval_s: float, *, one_way_s: float = 0.0
) -> float:
    """Share lost by exponential work polled at kC from creation on.

    Formula: (1 - e^(-(C - K + 2 L)/m)) / (1 - e^(-C/m)), zero once K - 2 L reaches C.
    Source: truncated exponential. Valid when: polls never fail.
    """
    require_positive(mean_s=mean_s, interval_s=interval_s)
    require_not_negative(retention_s=retention_s, one_way_s=one_way_s)
    cycle_s = interval_s + 2 * one_way_s
    short_s = min(cycle_s, max(0.0, cycle_s - retention_s + 2 * one_way_s))
    return math.expm1(-short_s / mean_s) / math.expm1(-cycle_s / mean_s)


def poisson_lost_share(
    poll_rate_per_s: float, retention_s: float, failure_share: float = 0
) -> float:
    """Share lost under Poisson polls: e^(-mu (1 - q) K).

    Source: thinning. Valid when: failures are independent, no network time.
    """
    require_positive(poll_rate_per_s=poll_rate_per_s)
    require_not_negative(retention_s=retention_s)
    require_share(failure_share=failure_share)
    return math.exp(-poll_rate_per_s * (1 - failure_share) * retention_s)


def renewal_lost_share(gap: Law, retention_s: float) -> float:
    """Share lost under a renewal process of polls in equilibrium.

    Formula: integral beyond K of P(C > x), over E C.
    Source: residual life (Cox 1962). Valid when: polls never fail, no network time.
    """
    require_not_negative(retention_s=retention_s)
    marks = sorted({retention_s, *(p for p in (*gap.pieces, gap.end_s()) if p > retention_s)})
    parts = [
        integrate.quad(lambda x: float(gap.survival(x)), a, b, limit=200, epsabs=1e-12)[0]
        for a, b in itertools.pairwise(marks)
    ]
    return math.fsum(parts) / gap.mean_s


def schedule_lost_share(work: Law, instants_s: Array, retention_s: float) -> float:
    """Share lost under polls at given instants: sum over k of [F(x_(k+1) - K) - F(x_k)]^+.

    Source: the delay exceeds K. Valid when: polls never fail; instants are those at the receiver.
    """
    require_not_negative(retention_s=retention_s)
    edges = np.concatenate(([0.0], np.asarray(instants_s, dtype=np.float64)))
    return schedule_delay_tail(work, edges, retention_s)


def backoff_lost_share(work: Law, backoff: Backoff, retention_s: float) -> float:
    """Share lost under a backoff without jitter.

    Formula, source and validity: as in ``schedule_lost_share``.
    """
    return schedule_lost_share(work, backoff_instants_s(backoff, work.end_s())[1:], retention_s)


def geometric_lost_share(work_s: float, retention_s: float, base_s: float, factor: float) -> float:
    """Share lost by work of a known duration, polls uncapped at a random phase.

    Formula: 1 - log_f(1 + K / (S + b/(f-1))), zero for K >= (f-1) S + b: with uncapped doubling,
    retention must exceed the task's duration.
    Source: identity of the project's catalogue. Valid when: polls never fail, the factor exceeds 1.
    """
    require_positive(work_s=work_s, base_s=base_s)
    require_not_negative(retention_s=retention_s)
    require(factor > 1, f"a geometric schedule grows: factor {factor}")
    reach = math.log1p(retention_s / (work_s + base_s / (factor - 1))) / math.log(factor)
    return max(0.0, 1 - reach)


def refetch_lost_share(
    retention_s: float,
    interval_s: float,
    *,
    one_way_s: float,
    failure_share: float,
    fetch_failure_share: float,
) -> float:
    """Share lost when polls fail (q) and fetches fail (r) and are repeated at once, every 2 L.

    Formula: E over the phase U of sum over j of q^j (1-q) r^n(U + jC), n(x) the fetches that reach
    the receiver before K after a poll answered x after completion, and q^j where no poll is left.
    Source: elementary. Valid when: failures are independent and network time is constant, positive.
    """
    require_positive(interval_s=interval_s, one_way_s=one_way_s)
    require_not_negative(retention_s=retention_s)
    require_share(failure_share=failure_share, fetch_failure_share=fetch_failure_share)
    cycle_s, trip_s = interval_s + 2 * one_way_s, 2 * one_way_s

    def lost(phase_s: float) -> float:
        total, missed, at = 0.0, 1.0, phase_s
        while at + trip_s < retention_s:
            tries = math.ceil((retention_s - at - trip_s) / trip_s)
            total += missed * (1 - failure_share) * fetch_failure_share**tries
            missed, at = missed * failure_share, at + cycle_s
        return total + missed

    # The share is constant between phases at which a fetch or a poll more fits in.
    steps = math.ceil(retention_s / trip_s) + math.ceil(retention_s / cycle_s) + 2
    marks = {0.0, cycle_s}
    for j in range(math.ceil(retention_s / cycle_s) + 1):
        for n in range(1, steps):
            marks.add(retention_s - j * cycle_s - n * trip_s)
    edges = sorted(m for m in marks if 0 <= m <= cycle_s)
    return math.fsum((b - a) * lost((a + b) / 2) for a, b in itertools.pairwise(edges)) / cycle_s


def outage_missed_share(outage_share: float, stay: float, polls: int) -> float:
    """P(so many polls in a row fail) when failures come in outages: pi_B stay^(m-1).

    Source: Gilbert 1960; Elliott 1963. Valid when: every poll in an outage fails and none outside,
    the state moving from poll to poll with probability *stay* of staying.
    """
    require_level(outage_share=outage_share)
    require(0 <= stay <= 1, f"stay must be a probability, not {stay}")
    require_count(1, polls=polls)
    return float(outage_share * stay ** (polls - 1))
