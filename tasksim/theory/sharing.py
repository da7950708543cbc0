"""Polls and tasks that share one thing: a receiver's processor, or a budget of polls."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from tasksim.theory.laws import Array
from tasksim.theory.queueing import birth_death
from tasksim.theory.retrial import steady_state
from tasksim.theory.validity import (
    require,
    require_count,
    require_level,
    require_not_negative,
    require_positive,
)


def slowed_tasks_mean(
    arrival_rate_per_s: float, work_mean_s: float, cycle_s: float, poll_work_s: float, places: int
) -> float:
    """Mean tasks present when polls take their share of a processor-sharing receiver.

    Model: n tasks poll once a cycle C, each poll takes s_p; polls are a fluid; at most *places*.
    Formula: birth and death with lambda and mu (1 - n s_p / C).
    Source: state-dependent M/M/1 (the project's catalogue). Valid when: places s_p < C.
    """
    require_positive(
        arrival_rate_per_s=arrival_rate_per_s, work_mean_s=work_mean_s, cycle_s=cycle_s
    )
    require_not_negative(poll_work_s=poll_work_s)
    require_count(1, places=places)
    require(places * poll_work_s < cycle_s, f"polls of {places} tasks take the whole receiver")
    deaths = [(1 - n * poll_work_s / cycle_s) / work_mean_s for n in range(1, places + 1)]
    chances = birth_death([arrival_rate_per_s] * places, deaths)
    return float(np.arange(places + 1) @ chances)


def least_stable_cycle_s(load: float, poll_work_s: float) -> float:
    """Shortest cycle of polls that a processor-sharing receiver survives: 4 rho s_p / (1 - rho)^2.

    Source: fixed point T (1 - rho) - lambda T^2 s_p / C = 1/mu (mean field; the catalogue).
    Valid when: the load without polls is below one.
    """
    require_level(load=load)
    require_not_negative(poll_work_s=poll_work_s)
    return 4 * load * poll_work_s / (1 - load) ** 2


def polled_tasks_mean(
    arrival_rate_per_s: float,
    work_rate_per_s: float,
    poll_work_rate_per_s: float,
    poll_rate_per_s: float,
    places: int,
) -> float:
    """Mean tasks present at a processor-sharing receiver that answers their polls as well.

    Model: n tasks, m of them with a poll in work; all n + m share the processor evenly; a task
    whose poll is answered thinks for an exponential time; a task that ends while its poll is in
    work leaves with it, with probability m/n.
    Formula: the chain over (n, m), solved. Source: numerically exact.
    Valid when: work and thinking are exponential; arrivals at *places* tasks are refused.
    """
    require_positive(
        arrival_rate_per_s=arrival_rate_per_s,
        work_rate_per_s=work_rate_per_s,
        poll_work_rate_per_s=poll_work_rate_per_s,
        poll_rate_per_s=poll_rate_per_s,
    )
    require_count(1, places=places)
    tasks = np.concatenate([np.full(n + 1, n) for n in range(places + 1)])
    polls = np.concatenate([np.arange(n + 1) for n in range(places + 1)])
    state = np.arange(tasks.size)
    total = np.maximum(tasks + polls, 1)
    ending = work_rate_per_s * tasks / total
    with_poll = np.where(tasks > 0, polls / np.maximum(tasks, 1), 0.0)
    moves = [
        (state + tasks + 1, np.where(tasks < places, arrival_rate_per_s, 0.0)),
        (state + 1, (tasks - polls) * poll_rate_per_s),
        (state - 1, poll_work_rate_per_s * polls / total),
        (state - tasks, ending * (1 - with_poll)),
        (state - tasks - 1, ending * with_poll),
    ]
    chances = steady_state(
        np.concatenate([state[rates > 0] for _, rates in moves]),
        np.concatenate([target[rates > 0] for target, rates in moves]),
        np.concatenate([rates[rates > 0] for _, rates in moves]),
        tasks.size,
    )
    return float(tasks @ chances)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBudget:
    """Intervals of several classes of tasks, and what they gain over a common interval."""

    intervals_s: Array
    poll_rate_per_s: float
    delay_ratio: float


def square_root_intervals(
    means_s: Sequence[float], rates_per_s: Sequence[float], budget_per_s: float
) -> SharedBudget:
    """Intervals that delay least in the mean under a budget of polls a second: P_i ~ sqrt(E S_i).

    Formula: budget = sum Lambda_i (1 + E S_i / P_i); delay over that of a common interval
    (sum Lambda sqrt(ES))^2 / (sum Lambda sum Lambda ES).
    Source: Cauchy-Schwarz; compare Cho & Garcia-Molina 2003. Valid when: random phases, and the
    budget exceeds one poll a task.
    """
    require(len(means_s) == len(rates_per_s) > 0, "as many means as rates are needed")
    for mean, rate in zip(means_s, rates_per_s, strict=True):
        require_positive(mean_s=mean, rate_per_s=rate)
    means, rates = np.asarray(means_s, dtype=float), np.asarray(rates_per_s, dtype=float)
    spare = budget_per_s - float(rates.sum())
    require(spare > 0, f"{budget_per_s} polls a second are no more than one poll a task")
    roots = float(rates @ np.sqrt(means))
    intervals = np.sqrt(means) * roots / spare
    return SharedBudget(
        intervals_s=intervals,
        poll_rate_per_s=float((rates * (1 + means / intervals)).sum()),
        delay_ratio=roots**2 / float(rates.sum() * (rates @ means)),
    )


def freshness(change_rate_per_s: float, poll_rate_per_s: float) -> float:
    """Share of time a copy is fresh: (f / lambda)(1 - e^(-lambda / f)).

    Source: Cho & Garcia-Molina 2000. Valid when: changes are Poisson, polls evenly spaced.
    """
    require_positive(change_rate_per_s=change_rate_per_s, poll_rate_per_s=poll_rate_per_s)
    changes = change_rate_per_s / poll_rate_per_s
    return -math.expm1(-changes) / changes


def _settled(rates: Array, budget: float, marginal: Callable[[float, float], float]) -> Array:
    """Poll rates with one common marginal gain, or zero where even the first poll gains less.

    All in units of the budget, which the marginal gains allow.
    """
    changes = (rates / budget).tolist()

    def rate_at(price: float, change: float) -> float:
        low, high = 1e-6 * change, 10 * (1 + change)
        if marginal(low, change) <= price:
            return 0.0
        if marginal(high, change) >= price:
            return high
        return float(optimize.brentq(lambda f: marginal(f, change) - price, low, high, xtol=1e-15))

    def spent(log_price: float) -> float:
        return sum(rate_at(math.exp(log_price), change) for change in changes) - 1

    price = math.exp(optimize.brentq(spent, -60.0, 60.0, xtol=1e-14))
    return budget * np.asarray([rate_at(price, change) for change in changes])


def _seen(changes: float) -> float:
    """1 - e^-r - r e^-r, which both marginal gains hold."""
    return -math.expm1(-changes) - changes * math.exp(-changes)


def freshest_poll_rates_per_s(change_rates_per_s: Sequence[float], budget_per_s: float) -> Array:
    """Poll rates of several elements that keep their copies freshest under a budget.

    Formula: (1 - e^-r - r e^-r) / lambda alike for all with f > 0, r = lambda / f.
    Source: Cho & Garcia-Molina 2003. Valid when: as for ``freshness``. What changes too fast for
    the budget is not polled at all.
    """
    require_positive(budget_per_s=budget_per_s, slowest=min(change_rates_per_s))
    return _settled(
        np.asarray(change_rates_per_s, dtype=float),
        budget_per_s,
        lambda f, lam: _seen(lam / f) / lam,
    )


def youngest_poll_rates_per_s(change_rates_per_s: Sequence[float], budget_per_s: float) -> Array:
    """Poll rates of several elements that keep the mean age of their copies least under a budget.

    Formula: 1/(2 f^2) - (1 - e^-r - r e^-r) / lambda^2 alike for all, r = lambda / f.
    Source: Cho & Garcia-Molina 2003. Valid when: as for ``freshness``.
    """
    require_positive(budget_per_s=budget_per_s, slowest=min(change_rates_per_s))
    return _settled(
        np.asarray(change_rates_per_s, dtype=float),
        budget_per_s,
        lambda f, lam: 1 / (2 * f * f) - _seen(lam / f) / lam**2,
    )
