"""Notifications that are dropped, and how long to wait before polling anyway.

A notification takes a time of law N and is dropped with probability p. The requester begins to poll
at A = min(N, T), or at the fall-back T when it was dropped. The best T weighs polls that come too
early (for a task not created yet: an error) against starting late.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import optimize

from tasksim.theory.laws import Law, density_of, expectation
from tasksim.theory.polling import exponential_delay_mean_s, exponential_polls_mean
from tasksim.theory.validity import (
    require,
    require_count,
    require_level,
    require_not_negative,
    require_positive,
    require_share,
)


def _over_start(
    notice: Law,
    dropped_share: float,
    fallback_s: float,
    function: Callable[[float], float],
    kinks_s: Sequence[float] = (),
) -> float:
    """E g(A) for the start of polling A."""
    require_share(dropped_share=dropped_share)
    require_not_negative(fallback_s=fallback_s)
    heard = expectation(notice, lambda x: function(min(x, fallback_s)), (fallback_s, *kinks_s))
    return (1 - dropped_share) * heard + dropped_share * function(fallback_s)


def polling_start_mean_s(notice: Law, dropped_share: float, fallback_s: float) -> float:
    """Mean start of polling: (1 - p) E min(N, T) + p T.

    Source: elementary. Valid when: drops are independent of the notification's time.
    """
    return _over_start(notice, dropped_share, fallback_s, lambda a: a)


def detection_delay_mean_s(
    mean_s: float, interval_s: float, notice: Law, dropped_share: float, fallback_s: float
) -> float:
    """Mean detection delay of exponential work, polls at A, A + P, ...

    Formula: E over A of a - m (1 - e^(-a/m)) + e^(-a/m) (P / (1 - e^(-P/m)) - m).
    Source: memorylessness. Valid when: work is exponential and starts at creation, no network.
    """
    synchronised_s = exponential_delay_mean_s(mean_s, interval_s)

    def delay_s(start_s: float) -> float:
        alive = math.exp(-start_s / mean_s)
        return start_s - mean_s * (1 - alive) + alive * synchronised_s

    return _over_start(notice, dropped_share, fallback_s, delay_s)


def polls_mean(
    mean_s: float, interval_s: float, notice: Law, dropped_share: float, fallback_s: float
) -> float:
    """Mean polls of the same, the one at A included: E over A of 1 + e^(-a/m) / (1 - e^(-P/m)).

    Source and validity: as in ``detection_delay_mean_s``.
    """
    onward = exponential_polls_mean(mean_s, interval_s)
    return _over_start(
        notice, dropped_share, fallback_s, lambda a: 1 + math.exp(-a / mean_s) * onward
    )


def lost_share(
    mean_s: float,
    interval_s: float,
    retention_s: float,
    notice: Law,
    *,
    dropped_share: float,
    fallback_s: float,
) -> float:
    """Share of results that expire before the first poll that would see them.

    Formula: E over A of 1 - e^(-(A - K)^+ / m), and e^(-A/m) times the share that polls every P
    lose. About p (1 - e^(-(T - K)/m)): hence the rule that T stays within retention.
    Source: memorylessness. Valid when: work is exponential and starts at creation, no network.
    """
    require_positive(mean_s=mean_s, interval_s=interval_s)
    require_not_negative(retention_s=retention_s)
    short_s = max(0.0, interval_s - retention_s)
    later = math.expm1(-short_s / mean_s) / math.expm1(-interval_s / mean_s)

    def lost(start_s: float) -> float:
        before = -math.expm1(-max(0.0, start_s - retention_s) / mean_s)
        return before + math.exp(-start_s / mean_s) * later

    return _over_start(notice, dropped_share, fallback_s, lost, (retention_s,))


def fallback_cost(
    notice: Law,
    dropped_share: float,
    fallback_s: float,
    *,
    early_cost: float,
    delay_cost_per_s: float,
) -> float:
    """Cost of a fall-back: c_d E A + c_e (1 - p) P(N > T).

    Source: elementary. Valid when: a poll before the notification's time is an error of cost c_e.
    """
    require_positive(early_cost=early_cost, delay_cost_per_s=delay_cost_per_s)
    start_s = polling_start_mean_s(notice, dropped_share, fallback_s)
    early = (1 - dropped_share) * float(notice.survival(fallback_s))
    return delay_cost_per_s * start_s + early_cost * early


def exponential_fallback_s(
    notice_mean_s: float, dropped_share: float, *, early_cost: float, delay_cost_per_s: float
) -> float:
    """Fall-back that costs least for an exponential notification time.

    Formula: (1/eta) ln((1-p)(c_e eta - c_d) / (c_d p)); 0 where it is negative or c_e eta <= c_d.
    Source: stopping of a wait that may be in vain (the project's catalogue).
    Valid when: some notifications are dropped, else one would wait for ever.
    """
    require_positive(
        notice_mean_s=notice_mean_s, early_cost=early_cost, delay_cost_per_s=delay_cost_per_s
    )
    require_level(dropped_share=dropped_share)
    gain = early_cost / notice_mean_s - delay_cost_per_s
    odds = (1 - dropped_share) * gain / (delay_cost_per_s * dropped_share)
    return notice_mean_s * math.log(odds) if odds > 1 else 0.0


def optimal_fallback_s(
    notice: Law, dropped_share: float, *, early_cost: float, delay_cost_per_s: float
) -> float:
    """Fall-back that costs least for any smooth notification time; 0 where waiting never pays.

    Formula: the root T of f(T) / (P(N > T) + p/(1-p)) = c_d / c_e that costs least.
    Source: stopping of a wait that may be in vain (the project's catalogue).
    Valid when: the time has a density and some notifications are dropped.
    """
    require_positive(early_cost=early_cost, delay_cost_per_s=delay_cost_per_s)
    require_level(dropped_share=dropped_share)
    density, odds = density_of(notice), dropped_share / (1 - dropped_share)
    target = delay_cost_per_s / early_cost

    def surplus(at_s: float) -> float:
        return float(density(at_s)) - target * (float(notice.survival(at_s)) + odds)

    levels = np.concatenate((np.geomspace(1e-12, 0.5, 400), 1 - np.geomspace(0.5, 1e-12, 400)))
    grid = np.unique(notice.lower(levels)).tolist()
    signs = [surplus(x) > 0 for x in grid]
    roots = [
        float(optimize.brentq(surplus, a, b, xtol=1e-13))
        for a, b, rising, onward in zip(grid[:-1], grid[1:], signs[:-1], signs[1:], strict=True)
        if rising and not onward  # the cost falls before and rises after: a minimum
    ]

    def cost(at_s: float) -> float:
        return fallback_cost(
            notice,
            dropped_share,
            at_s,
            early_cost=early_cost,
            delay_cost_per_s=delay_cost_per_s,
        )

    return min([0.0, *roots], key=cost)


def dropped_given_silence(notice: Law, dropped_share: float, waited_s: float) -> float:
    """P(the notification was dropped | none came within T): p / (p + (1-p) P(N > T)).

    Source: Bayes. Valid when: drops are independent of the time.
    """
    require_level(dropped_share=dropped_share)
    require_not_negative(waited_s=waited_s)
    open_share = (1 - dropped_share) * float(notice.survival(waited_s))
    return dropped_share / (dropped_share + open_share)


def unsupported_given_silence(
    notice: Law, dropped_share: float, waited_s: float, unsupported_share: float
) -> float:
    """P(the receiver knows no tasks | silence until T): u / (u + (1-u)(p + (1-p) P(N > T))).

    Source: Bayes. Valid when: a share u of receivers, known beforehand, does not support tasks.
    """
    require_level(unsupported_share=unsupported_share)
    require_share(dropped_share=dropped_share)
    require_not_negative(waited_s=waited_s)
    silent = dropped_share + (1 - dropped_share) * float(notice.survival(waited_s))
    return unsupported_share / (unsupported_share + (1 - unsupported_share) * silent)


def raced_delay_mean_s(
    polled_delay_s: float, response_lost_share: float, one_way_s: float
) -> float:
    """Mean until the requester knows, the original response racing the polls.

    Formula: p_o (E D + L) + (1 - p_o) L, D the delay at which a poll sees the end.
    Source: elementary: a response that arrives is first. Valid when: it is sent at completion.
    """
    require_not_negative(polled_delay_s=polled_delay_s, one_way_s=one_way_s)
    lost = response_lost_share
    require(0 <= lost <= 1, f"response_lost_share must lie in [0, 1], not {lost}")
    return response_lost_share * polled_delay_s + one_way_s


def all_dropped_share(dropped_share: float, sent: int) -> float:
    """P(none of so many notifications arrives): p^m.

    Source: independence. Valid when: drops are independent.
    """
    require(0 <= dropped_share <= 1, f"dropped_share must lie in [0, 1], not {dropped_share}")
    require_count(0, sent=sent)
    return float(dropped_share**sent)
