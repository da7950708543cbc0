"""Workers and queues: Erlang's formulas and their kin, from Poisson arrivals or finite populations.

Offered load is in erlangs: arrivals a second times mean work. ``limits`` has concurrency limits,
``retrial`` the receivers that turn creators away, ``sharing`` the ones that polls slow down.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, stats

from tasksim.theory.laws import Array, Law, halved
from tasksim.theory.validity import (
    InvalidModelError,
    require,
    require_count,
    require_level,
    require_not_negative,
    require_positive,
    require_share,
)

STATES_MAX: Final = 2048
NEGLIGIBLE: Final = 1e-13
WORKERS_MAX: Final = 1_000_000


def erlang_b(workers: int, load: float) -> float:
    """Share of arrivals refused by c workers without a queue, M/G/c/c.

    Formula: B_0 = 1, B_k = a B_(k-1) / (k + a B_(k-1)). Source: Erlang 1917; any law of the work by
    Sevastyanov 1957. Valid when: arrivals are Poisson, refused ones do not come back.
    """
    require_count(0, workers=workers)
    require_not_negative(load=load)
    blocked = 1.0
    for count in range(1, workers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked


def load_for_blocking(workers: int, blocked_share: float) -> float:
    """Load at which c workers refuse a given share: the inverse of ``erlang_b``.

    Source and validity: as there.
    """
    require_count(1, workers=workers)
    require_level(blocked_share=blocked_share)
    most = workers / (1 - blocked_share)
    found = optimize.brentq(lambda a: erlang_b(workers, a) - blocked_share, 0.0, most, xtol=1e-12)
    return float(found)


def retried_blocking(workers: int, load: float, retried_share: float) -> float:
    """Share refused when a share of the refused comes back at once, as fresh arrivals would.

    Formula: B(c, A'), A' = A + r A' B(c, A'). Source: Extended Erlang B (telephony's practice).
    Valid when: the share that retries is below one. An approximation; ``retrial`` is exact.
    """
    require_positive(load=load)
    require_share(retried_share=retried_share)

    def surplus(offered: float) -> float:
        return offered * (1 - retried_share * erlang_b(workers, offered)) - load

    offered = optimize.brentq(surplus, load, load / (1 - retried_share) + 1e-9, xtol=1e-10 * load)
    return erlang_b(workers, float(offered))


def erlang_c(workers: int, load: float) -> float:
    """Probability that a task waits for one of c workers, M/M/c: c B / (c - a (1 - B)).

    Source: Erlang 1917. Valid when: the load is below the number of workers.
    """
    require_count(1, workers=workers)
    require(0 <= load < workers, f"a load of {load} on {workers} workers has no steady state")
    blocked = erlang_b(workers, load)
    return workers * blocked / (workers - load * (1 - blocked))


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """M/M/c, first come first served: Poisson arrivals, exponential work, an unlimited queue.

    Source: Erlang 1917. Valid when: arrivals a second times mean work are below the workers.
    """

    workers: int
    arrival_rate_per_s: float
    work_mean_s: float

    def __post_init__(self) -> None:
        require_positive(arrival_rate_per_s=self.arrival_rate_per_s, work_mean_s=self.work_mean_s)
        erlang_c(self.workers, self.load)

    @property
    def load(self) -> float:
        """Offered load in erlangs."""
        return self.arrival_rate_per_s * self.work_mean_s

    @property
    def spare_rate_per_s(self) -> float:
        """What is left of the workers' rate: c mu - lambda."""
        return self.workers / self.work_mean_s - self.arrival_rate_per_s

    def waiting_mean_s(self) -> float:
        """Mean waiting time: C / (c mu - lambda)."""
        return erlang_c(self.workers, self.load) / self.spare_rate_per_s

    def waiting_tail(self, waiting_s: float) -> float:
        """P(waiting > t): C e^(-(c mu - lambda) t)."""
        require_not_negative(waiting_s=waiting_s)
        return erlang_c(self.workers, self.load) * math.exp(-self.spare_rate_per_s * waiting_s)

    def sojourn(self) -> Law:
        """Law of the time from creation to completion: work plus waiting.

        Formula: P(T > t) = (1 - C) e^(-mu t) + C (mu e^(-th t) - th e^(-mu t)) / (mu - th),
        th = c mu - lambda; C (1 + mu t) e^(-mu t) in place of the second where th = mu.
        """
        waits = erlang_c(self.workers, self.load)
        mu, theta = 1 / self.work_mean_s, self.spare_rate_per_s
        name = f"sojourn({self.workers} workers, load {self.load})"
        return _sojourn(name, mu, theta, waits)


def _sojourn(name: str, mu: float, theta: float, waits: float) -> Law:
    """Exponential work of rate mu, behind an exponential wait of rate theta with a probability."""
    equal = abs(mu - theta) < 1e-7 * mu
    end_s = 60 / min(mu, theta)

    def survival(x: npt.ArrayLike) -> Array:
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        alone = np.exp(-mu * t)
        if equal:
            queued = (1 + mu * t) * alone
        else:
            queued = (mu * np.exp(-theta * t) - theta * alone) / (mu - theta)
        return np.asarray((1 - waits) * alone + waits * queued)

    def density(x: npt.ArrayLike) -> Array:
        t = np.maximum(np.asarray(x, dtype=np.float64), 0.0)
        alone = np.exp(-mu * t)
        queued = mu * t * alone if equal else theta * (np.exp(-theta * t) - alone) / (mu - theta)
        return np.asarray(mu * ((1 - waits) * alone + waits * queued))

    def upper(level: npt.ArrayLike) -> Array:
        tails = np.asarray(level, dtype=np.float64)
        return halved(survival, tails, np.zeros_like(tails), np.full_like(tails, end_s))

    mean_s = 1 / mu + waits / theta
    return Law(
        name=name,
        mean_s=mean_s,
        variance_s2=1 / mu**2 + waits * (2 - waits) / theta**2,
        survival=survival,
        density=density,
        lower=lambda level: upper(1.0 - np.asarray(level, dtype=np.float64)),
        upper=upper,
    )


def workers_for_waiting(
    arrival_rate_per_s: float, work_mean_s: float, waiting_s: float, late_share: float
) -> int:
    """Least number of workers with P(waiting > w) at most a given share.

    Formula: min c with C(c, a) e^(-(c mu - lambda) w) <= eps. Source: Erlang C.
    Valid when: as for ``Station``; loads up to a million.
    """
    require_level(late_share=late_share)
    load = arrival_rate_per_s * work_mean_s
    require(load < WORKERS_MAX, f"more than {WORKERS_MAX} workers would be needed")

    def late(workers: int) -> bool:
        station = Station(
            workers=workers, arrival_rate_per_s=arrival_rate_per_s, work_mean_s=work_mean_s
        )
        return station.waiting_tail(waiting_s) > late_share

    low, high = math.floor(load), math.floor(load) + 1
    while late(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if late(middle) else (low, middle)
    return high


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """Share refused, mean tasks waiting and mean waiting time of the accepted."""

    refused_share: float
    waiting_tasks: float
    waiting_mean_s: float


def bounded_queue(
    workers: int, places: int, arrival_rate_per_s: float, work_mean_s: float
) -> Bounded:
    """M/M/c/K: c workers, K places of which K - c wait.

    Formula: birth and death, p_n ~ a^n / (n! or c! c^(n-c)); refused p_K; waiting by Little's law.
    Source: Erlang 1917; Little 1961. Valid when: places are no fewer than workers.
    """
    require_count(1, workers=workers)
    require_count(workers, places=places)
    require_positive(arrival_rate_per_s=arrival_rate_per_s, work_mean_s=work_mean_s)
    load = arrival_rate_per_s * work_mean_s
    chances = birth_death([load] * places, [min(n, workers) for n in range(1, places + 1)])
    waiting = float(np.maximum(np.arange(places + 1) - workers, 0) @ chances)
    refused = float(chances[-1])
    return Bounded(
        refused_share=refused,
        waiting_tasks=waiting,
        waiting_mean_s=waiting / (arrival_rate_per_s * (1 - refused)),
    )


def birth_death(births: list[float], deaths: list[float]) -> Array:
    """Steady state of a birth-death chain; births from 0, 1, ..., deaths from 1, 2, ...

    Formula: p_(n+1) / p_n = births_n / deaths_(n+1). Source: balance across a cut.
    Valid when: every rate is positive.
    """
    require(len(births) == len(deaths), "a birth-death chain has as many births as deaths")
    require(min(deaths, default=1.0) > 0, "rates of death must be positive")
    logs = [0.0]
    for birth, death in zip(births, deaths, strict=True):
        require(birth > 0, "rates of birth must be positive")
        logs.append(logs[-1] + math.log(birth) - math.log(death))
    top = max(logs)
    weights = np.asarray([math.exp(log - top) for log in logs])
    return np.asarray(weights / weights.sum())


@lru_cache(maxsize=64)
def _constant_work_states(workers: int, load: float) -> Array:
    """Steady state over one duration of the work, on as many states as count."""
    erlang_c(workers, load)
    size = max(64, 4 * workers)
    while size <= STATES_MAX:
        step = np.arange(size)
        left = np.maximum(step - workers, 0)
        moves = stats.poisson.pmf(step[None, :] - left[:, None], load)
        moves[:, -1] += 1 - moves.sum(axis=1)
        balance = moves.T - np.eye(size)
        balance[-1] = 1.0
        chances = np.linalg.solve(balance, np.eye(size)[-1])
        if chances[-size // 8 :].sum() < NEGLIGIBLE:
            return np.asarray(chances)
        size *= 2
    raise InvalidModelError(f"a load of {load} on {workers} workers needs over {STATES_MAX} states")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantWork:
    """M/D/c, first come first served, by its chain over one duration of the work.

    Formula: N(t + D) = (N(t) - c)^+ + Poisson(lambda D), solved on a truncated state space.
    Source: Crommelin 1932; Tijms 2003. Valid when: load below the workers, not so near that more
    than 2 048 states count.
    """

    workers: int
    arrival_rate_per_s: float
    work_s: float

    def states(self) -> Array:
        """P(N = n) of the tasks present."""
        require_positive(arrival_rate_per_s=self.arrival_rate_per_s, work_s=self.work_s)
        return _constant_work_states(self.workers, self.arrival_rate_per_s * self.work_s)

    def waiting_mean_s(self) -> float:
        """Mean waiting time, by Little's law."""
        chances = self.states()
        waiting = np.maximum(np.arange(chances.size) - self.workers, 0) @ chances
        return float(waiting) / self.arrival_rate_per_s

    def waiting_distribution(self, waiting_s: float) -> float:
        """P(waiting <= x) = e^(-lambda u) sum over j < m c of Q_(mc-1-j) (lambda u)^j / j!.

        u = m D - x with (m - 1) D <= x < m D; Q_j = P(N <= c + j). Source: Franx 2001.
        """
        require_not_negative(waiting_s=waiting_s)
        rounds = math.floor(waiting_s / self.work_s) + 1
        left_s = rounds * self.work_s - waiting_s
        levels = np.cumsum(self.states())
        j = np.arange(rounds * self.workers)
        at = np.minimum(self.workers + rounds * self.workers - 1 - j, levels.size - 1)
        return float(stats.poisson.pmf(j, self.arrival_rate_per_s * left_s) @ levels[at])


def single_worker_waiting_mean_s(arrival_rate_per_s: float, work: Law) -> float:
    """Mean waiting time for one worker, any law: rho (1 + cv^2) / (2 (1 - rho)) E S.

    Source: Pollaczek 1930; Khinchine 1932. Valid when: the load is below one, the variance finite.
    """
    require_positive(arrival_rate_per_s=arrival_rate_per_s)
    load = arrival_rate_per_s * work.mean_s
    require(load < 1, f"a load of {load} on one worker has no steady state")
    require(math.isfinite(work.variance_s2), f"{work.name} has no finite variance")
    return arrival_rate_per_s * (work.variance_s2 + work.mean_s**2) / (2 * (1 - load))


def allen_cunneen_waiting_mean_s(workers: int, arrival_rate_per_s: float, work: Law) -> float:
    """Mean waiting time for c workers, any law, approximately: Erlang's times (1 + cv^2) / 2.

    Source: Allen 1990. Valid when: taken as a plan, not as a measure: off by up to 50 %.
    """
    station = Station(
        workers=workers, arrival_rate_per_s=arrival_rate_per_s, work_mean_s=work.mean_s
    )
    return station.waiting_mean_s() * (1 + work.variance_s2 / work.mean_s**2) / 2


def engset_blocking(requesters: int, workers: int, rate_ratio: float) -> float:
    """Share of creations refused when N requesters keep one task each and think again when refused.

    Formula: binom(N-1, c) alpha^c / sum over k <= c of binom(N-1, k) alpha^k, alpha the creation
    rate of an idle requester over the rate of the work.
    Source: Engset 1918; any law of the work by Cohen 1957. Valid when: N is at least one.
    """
    require_count(1, requesters=requesters, workers=workers)
    require_positive(rate_ratio=rate_ratio)
    others = requesters - 1
    if others < workers:
        return 0.0
    births = [(others - n) * rate_ratio for n in range(workers)]
    return float(birth_death(births, [float(n) for n in range(1, workers + 1)])[-1])


def closed_sojourn_mean_s(
    requesters: int, workers: int, creation_rate_per_s: float, work_mean_s: float
) -> float:
    """Mean time from creation to completion, N requesters with one task each, M/M/c//N.

    Formula: E n / (rate of creations), birth and death with births (N - n) alpha.
    Source: Palm 1947 (machine repair). Valid when: thinking and work are exponential.
    """
    require_count(1, requesters=requesters, workers=workers)
    require_positive(creation_rate_per_s=creation_rate_per_s, work_mean_s=work_mean_s)
    births = [(requesters - n) * creation_rate_per_s for n in range(requesters)]
    deaths = [min(n, workers) / work_mean_s for n in range(1, requesters + 1)]
    present = float(np.arange(requesters + 1) @ birth_death(births, deaths))
    return present / (creation_rate_per_s * (requesters - present))


def priority_waiting_mean_s(
    urgent_rate_per_s: float, urgent: Law, patient_rate_per_s: float, patient: Law
) -> tuple[float, float]:
    """Mean waiting of urgent and of patient work at one worker that never interrupts.

    Model: polls (urgent) and tasks at a receiver that does one thing at a time.
    Formula: W_0 / (1 - rho_u), W_0 / ((1 - rho_u)(1 - rho_u - rho_p)), W_0 = sum lambda E S^2 / 2.
    Source: Cobham 1954. Valid when: both streams are Poisson and the whole load is below one.
    """
    require_positive(urgent_rate_per_s=urgent_rate_per_s, patient_rate_per_s=patient_rate_per_s)
    urgent_load, load = (
        urgent_rate_per_s * urgent.mean_s,
        urgent_rate_per_s * urgent.mean_s + patient_rate_per_s * patient.mean_s,
    )
    require(load < 1, f"a load of {load} on one worker has no steady state")
    residual_s = 0.5 * math.fsum(
        rate * (law.variance_s2 + law.mean_s**2)
        for rate, law in ((urgent_rate_per_s, urgent), (patient_rate_per_s, patient))
    )
    first = residual_s / (1 - urgent_load)
    return first, first / (1 - load)


def poll_rate_per_s(arrival_rate_per_s: float, sojourn_mean_s: float, cycle_s: float) -> float:
    """Polls a second at a receiver: lambda (1 + E T / C).

    Source: Little 1961. Valid when: polls start at a random phase.
    """
    require_positive(arrival_rate_per_s=arrival_rate_per_s, cycle_s=cycle_s)
    return arrival_rate_per_s * (1 + sojourn_mean_s / cycle_s)


def sojourn_beyond_mean_s(sojourn: Law, start_s: float) -> float:
    """E (T - a)^+ of a sojourn, by quadrature of its survival.

    Source: elementary. Valid when: the survival function is smooth beyond the start.
    """
    require_not_negative(start_s=start_s)
    value, _ = integrate.quad(
        lambda t: float(sojourn.survival(t)), start_s, max(start_s, sojourn.end_s()), limit=400
    )
    return float(value)
