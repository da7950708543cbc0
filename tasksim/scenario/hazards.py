"""How likely work is to end next, by its age; and the polling intervals that follow.

Rule: hazards come from quantiles of the laws as they are drawn, so that they fit what is drawn.

Source: Barlow, Hunter, Proschan 1963, optimum checking; locally, a poll that costs c1 against a
delay that costs c2 a second is best sent every sqrt(2 c1 / (c2 h)) at hazard h.
"""

import math
from typing import Final

from tasksim.policies.advice import Advice, age_dependent
from tasksim.scenario.distributions import Law
from tasksim.scenario.model import Scenario
from tasksim.scenario.quantiles import LawTables
from tasksim.scenario.receiving import AgeAdvice
from tasksim.scenario.variates import variate_ns
from tasksim.units import NS_PER_S, ns_from_s

POINTS: Final = 1024  # quantiles of each law
BANDS: Final = 64  # ages between which the hazard is taken as constant


def age_advice(scenario: Scenario, settings: AgeAdvice) -> Advice:
    """Advice by age for the scenario's work."""
    ages_ns, intervals_ns = intervals_by_age(
        scenario,
        settings.poll_cost / settings.delay_cost_per_s,
        ns_from_s(settings.min_s),
        ns_from_s(settings.max_s),
    )
    return age_dependent(ages_ns, intervals_ns)


def intervals_by_age(
    scenario: Scenario, cost_ratio_s: float, least_ns: int, most_ns: int
) -> tuple[list[int], list[int]]:
    """Ages in ns, and one interval more: sqrt(2 c1 / (c2 h)) for all classes of work together."""
    durations = _durations(scenario)
    ages: list[int] = []
    intervals: list[int] = []
    total = sum(weight for _, weight in durations)
    left, at, band = total, 0, 0.0
    for duration_ns, weight in durations:
        band += weight
        if band < total / BANDS or duration_ns <= at:
            continue
        survival = max(left - band, total / (2 * POINTS * BANDS)) / left
        hazard = -math.log(survival) / ((duration_ns - at) / NS_PER_S)
        interval_s = math.sqrt(2 * cost_ratio_s / hazard)
        intervals.append(min(max(ns_from_s(interval_s), least_ns), most_ns))
        ages.append(duration_ns)
        left, at, band = max(left - band, 0.0), duration_ns, 0.0
        if left <= 0:
            break
    return ages, [*intervals, intervals[-1] if intervals else least_ns]


def _durations(scenario: Scenario) -> list[tuple[int, float]]:
    """Quantiles of all classes in order, each with its weight."""
    found = []
    for work in scenario.work:
        assert work.duration is not None, "checked when the scenario was loaded"
        weight = work.share / POINTS
        found += [(duration, weight) for duration in quantiles_ns(work.duration)]
    return sorted(found)


def quantiles_ns(law: Law) -> list[int]:
    """Quantiles of a law in the middle of equal bands, from the lowest to the highest."""
    tables = LawTables()
    place = tables.add(law)
    step = (1 << 64) // POINTS
    return [variate_ns(tables.values, place, k * step + step // 2) for k in range(POINTS)]
