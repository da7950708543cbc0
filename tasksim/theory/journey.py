"""A task from creation to its result: queue, notification, polls, retention and network together.

Creations are Poisson, work is exponential on c workers. The notification of creation arrives after
a round trip or is dropped, and then the fall-back starts the polls: the first at a random phase of
a cycle after the start, the others every C = P + 2 L.
"""

import itertools
from dataclasses import dataclass

from scipy import integrate

from tasksim.theory.laws import Law, density_of
from tasksim.theory.polling import cycles_for_missed_share, missed_share
from tasksim.theory.queueing import Station, sojourn_beyond_mean_s
from tasksim.theory.validity import (
    require,
    require_level,
    require_not_negative,
    require_positive,
    require_share,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Journey:
    """Everything that decides how a task fares.

    Source: sections on polling, retention, queues and notifications, combined as in the project's
    catalogue, section 9. Valid when: the station is stable, failures of polls are independent
    (a rate limit's are not: loss is then far greater), retention is not shorter than 2 L.
    """

    station: Station
    interval_s: float
    retention_s: float
    fallback_s: float
    one_way_s: float = 0.0
    dropped_share: float = 0.0
    failure_share: float = 0.0

    def __post_init__(self) -> None:
        require_positive(interval_s=self.interval_s)
        require_not_negative(
            retention_s=self.retention_s, fallback_s=self.fallback_s, one_way_s=self.one_way_s
        )
        require_share(dropped_share=self.dropped_share, failure_share=self.failure_share)
        enough = self.retention_s >= 2 * self.one_way_s
        require(enough, f"retention of {self.retention_s} s is shorter than a fetch takes")

    @property
    def cycle_s(self) -> float:
        """Distance of polls at the receiver: P + 2 L."""
        return self.interval_s + 2 * self.one_way_s

    def starts(self) -> tuple[tuple[float, float], ...]:
        """Starts of polling and their probabilities: a round trip, or the fall-back."""
        return (
            (2 * self.one_way_s, 1 - self.dropped_share),
            (self.fallback_s, self.dropped_share),
        )

    def polls_mean(self) -> float:
        """Mean polls of a task: sum over starts of 1 + E (T - a)^+ / C + q / (1 - q)."""
        retries = self.failure_share / (1 - self.failure_share)
        sojourn = self.station.sojourn()
        return sum(
            share * (1 + sojourn_beyond_mean_s(sojourn, start_s) / self.cycle_s + retries)
            for start_s, share in self.starts()
        )

    def detection_delay_mean_s(self) -> float:
        """Mean until the requester knows: sum over starts of E (a - T)^+ + C/2 + C q/(1-q) + L."""
        retries = self.failure_share / (1 - self.failure_share)
        sojourn, total = self.station.sojourn(), 0.0
        for start_s, share in self.starts():
            early_s = start_s - sojourn.mean_s + sojourn_beyond_mean_s(sojourn, start_s)
            total += share * (early_s + self.cycle_s * (0.5 + retries) + self.one_way_s)
        return total

    def lost_share(self) -> float:
        """Share of results that expire unseen: sum over starts a of P(T > a) h_q((K - 2 L)/C) ...

        ... plus the integral over t < a of h_q((K - 2 L - a + t)/C) dF_T(t).
        """
        sojourn = self.station.sojourn()
        left_s = self.retention_s - 2 * self.one_way_s
        return sum(
            share
            * (
                float(sojourn.survival(start_s))
                * missed_share(left_s / self.cycle_s, self.failure_share)
                + self._lost_early(sojourn, start_s, left_s)
            )
            for start_s, share in self.starts()
        )

    def _lost_early(self, sojourn: Law, start_s: float, left_s: float) -> float:
        """Lost among tasks that end before polling starts."""
        density, cycle_s = density_of(sojourn), self.cycle_s

        def lost(t: float) -> float:
            share = missed_share((left_s - start_s + t) / cycle_s, self.failure_share)
            return share * float(density(t))

        kinks = {start_s - left_s + k * cycle_s for k in range(int(left_s / cycle_s) + 2)}
        marks = sorted({0.0, start_s, *(k for k in kinks if 0 < k < start_s)})
        return sum(
            integrate.quad(lost, a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(marks)
        )

    def poll_rate_per_s(self) -> float:
        """Polls a second at the receiver, by Little's law."""
        return self.station.arrival_rate_per_s * self.polls_mean()


def cycle_for_delay_s(
    delay_s: float, level: float, *, one_way_s: float = 0.0, failure_share: float = 0.0
) -> float:
    """Longest cycle with which a quantile of the detection delay is met: (d - L) / h_q^-1(1 - p).

    Source: ``polling.random_phase_delay_quantile_s``, inverted. Valid when: d exceeds L.
    """
    require_level(level=level)
    require_not_negative(one_way_s=one_way_s)
    require(delay_s > one_way_s, f"{delay_s} s are gone in the network, {one_way_s} s a way")
    return (delay_s - one_way_s) / cycles_for_missed_share(1 - level, failure_share)


def tasks_in_flight_max(poll_budget_per_s: float, cycle_s: float) -> float:
    """Tasks that may be open within a budget of polls a second: R C.

    Source: Little 1961. Valid when: every open task polls once a cycle.
    """
    require_positive(poll_budget_per_s=poll_budget_per_s, cycle_s=cycle_s)
    return poll_budget_per_s * cycle_s
