"""Optimal schedules of polls for any law of the work: an exact dynamic programme over instants.

Rule 1: the programme is exact over the instants it may use. For an empirical law these are all that
an optimum can need; for a continuous law a grid, refined twice about the optimum it gave.
Rule 2: the objective is the same for all that is compared: work that outlives ``HORIZON_MEANS`` of
its means is taken to end there, and a probability of ``TAIL`` is neglected.
Rule 3: what is returned is never worse than the best policy of the library on the same objective.
Their instants are among the programme's, and the cheaper of the two is returned in any case.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import optimize

from tasksim.theory.backoff import Backoff, backoff_instants_s
from tasksim.theory.inspection import (
    Costs,
    performance,
    random_phase_optimal_interval_s,
)
from tasksim.theory.laws import Array, Law, cut
from tasksim.theory.programme import Limits, cheapest_path
from tasksim.theory.validity import InvalidModelError, require, require_count

TAIL: Final = 1e-13
HORIZON_MEANS: Final = 20_000.0
INSTANTS_MAX: Final = 400_000
POLICY_POLLS_MAX: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Instants of polls after creation, what they achieve, and which rule they came from."""

    origin: str
    instants_s: Array
    polls: float
    delay_s: float
    cost: float


def judged(work: Law, instants_s: Array, costs: Costs, origin: str) -> Schedule:
    """A schedule with its means and its cost.

    Source and validity: ``inspection.performance``.
    """
    found = performance(work, instants_s)
    return Schedule(
        origin=origin,
        instants_s=instants_s,
        polls=found.polls,
        delay_s=found.delay_s,
        cost=costs.of(found.polls, found.delay_s),
    )


def within_horizon(work: Law) -> Law:
    """The law that is judged: cut at the horizon where its tail reaches beyond.

    Source: rule 2 of this module. Valid when: the mean is finite, as every law's here is.
    """
    horizon_s = HORIZON_MEANS * work.mean_s
    return work if work.end_s(TAIL) <= horizon_s else cut(work, horizon_s)


# Policies of the library. -------------------------------------------------------------------------


def _allowed(work: Law, steps: Array, limits: Limits) -> Array | None:
    """Gaps bent into the limits, up to the end of the work; None where polls are too many."""
    end_s = work.end_s(TAIL)
    instants = np.cumsum(np.clip(steps, limits.gap_min_s, limits.gap_max_s))
    if instants[-1] < end_s:
        count = math.ceil((end_s - instants[-1]) / limits.gap_max_s)
        if not 0 < count < POLICY_POLLS_MAX:
            return None
        rest = instants[-1] + limits.gap_max_s * np.arange(1, count + 1)
        instants = np.concatenate((instants, rest))
    return np.asarray(instants[: int(np.searchsorted(instants, end_s)) + 1])


def fixed_instants_s(work: Law, interval_s: float, limits: Limits) -> Array | None:
    """Instants of fixed polling within the limits, or None where they are too many.

    Source: definition; the interval is bent into the limits. Valid when: the interval is positive.
    """
    interval = min(max(interval_s, limits.gap_min_s), limits.gap_max_s)
    count = math.ceil(work.end_s(TAIL) / interval) + 1
    return None if count > POLICY_POLLS_MAX else _allowed(work, np.full(count, interval), limits)


def _backed_off(
    work: Law, base_s: float, factor: float, cap_s: float, limits: Limits
) -> Array | None:
    """Instants of a backoff within the limits, or None where they are too many."""
    if not (base_s > 0 and 1 <= factor < 1e3 and cap_s >= base_s):
        return None
    if min(cap_s, base_s if factor < 1.001 else math.inf) * POLICY_POLLS_MAX < work.end_s(TAIL):
        return None
    backoff = Backoff(base_s=base_s, factor=factor if factor >= 1.001 else 1.0, cap_s=cap_s)
    return _allowed(work, np.diff(backoff_instants_s(backoff, work.end_s(TAIL))), limits)


def _quadratic(work: Law, scale_s: float, limits: Limits) -> Array | None:
    """Instants a k^2 within the limits, or None where they are too many."""
    count = math.ceil(math.sqrt(work.end_s(TAIL) / scale_s)) + 1
    if count > POLICY_POLLS_MAX:
        return None
    return _allowed(work, scale_s * (2 * np.arange(1, count + 1, dtype=np.float64) - 1), limits)


def _grown(work: Law, family: str, logs: Array, limits: Limits) -> Array | None:
    """Instants of a member of a family, its parameters given by their logarithms."""
    values = [math.exp(min(v, 60.0)) for v in logs]
    if family == "fixed":
        return fixed_instants_s(work, values[0], limits)
    if family == "quadratic":
        return _quadratic(work, values[0], limits)
    return _backed_off(work, values[0], 1 + values[1], values[0] * (1 + values[2]), limits)


def _starts(work: Law, costs: Costs, family: str) -> Iterator[Array]:
    """Logarithms of parameters from which the search of a family starts."""
    unit = math.log(random_phase_optimal_interval_s(work.mean_s, costs))
    if family == "fixed":
        yield from (np.asarray([unit + s]) for s in np.linspace(-2.5, 3.5, 61))
    elif family == "quadratic":
        yield from (np.asarray([math.log(costs.ratio_s) + s]) for s in np.linspace(-3.0, 3.0, 31))
    else:
        for base in np.linspace(-3.0, 1.0, 6):
            for growth in (0.03, 0.1, 0.3, 1.0, 2.0):
                for reach in (2.0, 8.0, 1e6):
                    yield np.asarray([unit + base, math.log(growth), math.log(reach)])


def best_policy(work: Law, costs: Costs, limits: Limits = Limits()) -> Schedule:  # noqa: B008
    """The best of fixed polling, backoff and quadratic polling found by search, from creation on.

    Model: policies start at creation; gaps outside the limits are bent into them.
    Formula: cost of ``inspection.performance``, minimised over parameters from many starts.
    Source: search by Nelder and Mead. Valid when: some policy ends within 200 000 polls.
    """
    work = within_horizon(work)
    found = []
    for family in ("fixed", "backoff", "quadratic"):

        def price(logs: Array, family: str = family) -> float:
            instants = _grown(work, family, logs, limits)
            return math.inf if instants is None else judged(work, instants, costs, family).cost

        starts = list(_starts(work, costs, family))
        ranked = sorted((price(start), index) for index, start in enumerate(starts))
        for _, index in ranked[:3]:
            best = optimize.minimize(
                price, starts[index], method="Nelder-Mead", options={"maxfev": 40 * starts[0].size}
            )
            instants = _grown(work, family, best.x, limits)
            if instants is not None:
                found.append(judged(work, instants, costs, family))
    require(bool(found), f"{work.name}: no policy ends within {POLICY_POLLS_MAX} polls")
    return min(found, key=lambda schedule: schedule.cost)


# The optimum. -------------------------------------------------------------------------------------


def empirical_instants_s(work: Law, limits: Limits) -> Array:
    """All instants that an optimum for an empirical law can need.

    A poll can be moved earlier at no cost until it meets a duration that was seen, the poll before
    it plus the least gap, or the poll after it less the greatest gap. Hence: durations, durations
    plus multiples of the least gap, durations less multiples of the greatest.
    Source: the exchange argument above. Valid when: they are at most 400 000; else hand in
    instants of your own.
    """
    atoms = np.asarray(work.pieces, dtype=np.float64)
    end = float(atoms[-1])
    found = [atoms]
    for gap, anchors, sign in (
        (limits.gap_min_s, np.concatenate(([0.0], atoms[:-1])), 1.0),
        (limits.gap_max_s, atoms, -1.0),
    ):
        if 0 < gap < math.inf:
            reach = (end - anchors) / gap + 1 if sign > 0 else anchors / gap
            total = float(np.ceil(reach).sum())
            require(
                total < INSTANTS_MAX, f"gaps of {gap} s need {total:.0f} instants; hand some in"
            )
            for step in range(1, math.ceil(float(reach.max())) + 1):
                moved = anchors[reach >= step] + sign * step * gap
                found.append(moved[(moved > 0) & (moved < end + gap)])
    return np.unique(np.concatenate(found))


def grid_instants_s(work: Law, count: int) -> Array:
    """A grid for a continuous law: even in time, in probability and in the logarithm of time.

    Source: none, a choice that ``optimal_schedule`` refines. Valid when: 100 points or more.
    """
    require_count(100, count=count)
    end_s = work.end_s(TAIL)
    levels = (np.arange(count // 4) + 0.5) / (count // 4)
    body = float(work.upper(1e-4))
    parts = [
        np.linspace(0.0, body, count // 2 + 1)[1:],
        work.lower(levels),
        np.geomspace(max(float(work.lower(1e-4)), 1e-9 * end_s), end_s, count // 4),
    ]
    instants = np.unique(np.concatenate(parts))
    return np.asarray(instants[(instants > 0) & (instants <= end_s)])


def _planned(work: Law, instants_s: Array, costs: Costs, limits: Limits) -> Array:
    """The cheapest instants among those given."""
    edges = np.concatenate(([0.0], instants_s))
    alive = work.survival(edges)
    alive[alive <= 2 * TAIL] = 0.0
    require(alive[-1] == 0.0, f"work outlives the last instant ({edges[-1]} s) too often")
    path = cheapest_path(edges, alive, costs.poll, costs.delay_per_s, limits)
    if path is None:
        raise InvalidModelError(f"no schedule on these instants keeps gaps within {limits}")
    return np.asarray(edges[path])


def _about(instants_s: Array, grid: Array) -> Array:
    """A finer grid about the chosen instants, and those instants."""
    place = np.clip(np.searchsorted(grid, instants_s), 1, grid.size - 2)
    spread = np.maximum(grid[place + 1] - grid[place], grid[place] - grid[place - 1])
    offsets = np.linspace(-1.5, 1.5, 31)
    near = (instants_s[:, None] + spread[:, None] * offsets).ravel()
    near = near[(near > 0) & (near < grid[-1])]
    return np.unique(np.concatenate((instants_s, near, grid[-1:])))


def optimal_schedule(
    work: Law,
    costs: Costs,
    *,
    limits: Limits = Limits(),  # noqa: B008
    instants_s: Array | None = None,
    grid: int = 20_000,
) -> Schedule:
    """The schedule of least cost c1 E N + c2 E D, never worse than the library's best policy.

    Model: any work; all gaps (the first included) within limits; *instants_s* are the instants the
    programme may use, in place of its own choice.
    Formula: W(x) = min over y of c1 q + c2 (y - x) q + W(y), q = P(S > x), as a minimum of lines in
    q: O(n) with a least gap, O(n log n) with a greatest gap as well.
    Source: Barlow, Hunter & Proschan 1963 for the cost; hull of lines: the project's catalogue.
    Valid when: a schedule within the limits exists on the instants.
    """
    work = within_horizon(work)
    policy = best_policy(work, costs, limits)
    if instants_s is not None:
        chosen = _planned(work, instants_s, costs, limits)
    elif work.density is None:
        chosen = _planned(work, empirical_instants_s(work, limits), costs, limits)
    else:
        points = np.union1d(grid_instants_s(work, grid), policy.instants_s)
        chosen = _planned(work, points, costs, limits)
        for _ in range(2):
            points = _about(chosen, points)
            chosen = _planned(work, points, costs, limits)
    optimum = judged(work, chosen, costs, "programme")
    return min(optimum, policy, key=lambda schedule: schedule.cost)


# With a budget of polls. --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetedOptimum:
    """Two schedules that share tasks so that the mean number of polls meets the budget."""

    seldom: Schedule
    often: Schedule
    often_share: float
    polls: float
    delay_s: float


def _shared(seldom: Schedule, often: Schedule, polls_max: float) -> BudgetedOptimum:
    wide = often.polls - seldom.polls
    share = 0.0 if wide <= 0 else min(1.0, (polls_max - seldom.polls) / wide)
    return BudgetedOptimum(
        seldom=seldom,
        often=often,
        often_share=share,
        polls=seldom.polls + share * wide,
        delay_s=seldom.delay_s + share * (often.delay_s - seldom.delay_s),
    )


def budgeted_schedule(
    work: Law,
    polls_max: float,
    *,
    limits: Limits = Limits(),  # noqa: B008
    instants_s: Array | None = None,
    grid: int = 8_000,
) -> BudgetedOptimum:
    """Least mean detection delay with at most so many polls a task in the mean.

    Formula: lower hull of (E N, E D) by a Lagrangian, its two corners about the budget shared.
    Source: Everett 1963; programme as in ``optimal_schedule``. Fixed polling at the same budget is
    compared, and taken instead where it is better (it never is on an adequate grid).
    Valid when: the budget allows a poll (more under a greatest gap).
    """
    require(polls_max >= 1, f"a task needs at least one poll, the budget is {polls_max}")
    work = within_horizon(work)
    fixed = fixed_within_budget(work, polls_max, limits)
    if instants_s is None and work.density is None:
        instants_s = empirical_instants_s(work, limits)
    elif instants_s is None:
        feasible = fixed_instants_s(work, min(work.mean_s, limits.gap_max_s), limits)
        known = [] if feasible is None else [feasible]
        known += [fixed.instants_s] if fixed else []
        instants_s = np.unique(np.concatenate((grid_instants_s(work, grid), *known)))
    points = instants_s

    def at(price_s: float) -> Schedule:
        costs = Costs(poll=price_s)
        return judged(work, _planned(work, points, costs, limits), costs, "programme")

    price = work.mean_s / (2 * polls_max**2)
    seldom = often = at(price)
    while seldom.polls > polls_max:
        price *= 4
        require(
            price < 1e9 * work.mean_s, f"no schedule within {limits} needs {polls_max} polls only"
        )
        seldom = at(price)
    price = work.mean_s / (2 * polls_max**2)
    while often.polls < polls_max and price > 1e-9 * work.mean_s:
        price /= 4
        often = at(price)
    while often.polls > seldom.polls:
        price = (seldom.delay_s - often.delay_s) / (often.polls - seldom.polls)
        between = at(price)
        if between.cost >= price * seldom.polls + seldom.delay_s - 1e-12 * work.mean_s:
            break
        seldom, often = (between, often) if between.polls <= polls_max else (seldom, between)
    best = _shared(seldom, often, polls_max)
    return _shared(fixed, fixed, polls_max) if fixed and fixed.delay_s < best.delay_s else best


def fixed_within_budget(work: Law, polls_max: float, limits: Limits) -> Schedule | None:
    """The shortest fixed interval found that keeps the mean number of polls within a budget.

    Source: halving on the logarithm of the interval. Valid when: None is returned otherwise.
    """
    low, high = math.log(work.mean_s / polls_max) - 2, math.log(work.end_s(TAIL)) + 1
    best: Schedule | None = None
    for _ in range(50):
        middle = (low + high) / 2
        instants = fixed_instants_s(work, math.exp(middle), limits)
        found = None if instants is None else judged(work, instants, Costs(poll=1.0), "fixed")
        if found is None or found.polls > polls_max:
            low = middle
        else:
            best, high = found, middle
    return best
