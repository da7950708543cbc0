"""Polling rules that a scenario's settings describe.

Rule: seconds become nanoseconds here; what a rule must know of the work it is told here.
"""

import math
from dataclasses import replace
from typing import Final

from tasksim.policies import learning, polling
from tasksim.policies.polling import First, Polling
from tasksim.scenario.hazards import intervals_by_age, quantiles_ns
from tasksim.scenario.model import Scenario
from tasksim.scenario.own import own_polling
from tasksim.scenario.polls import (
    AgentPolling,
    BackoffPolling,
    FixedPolling,
    HazardPolling,
    HintPolling,
    LearningPolling,
    LongPolling,
    PlainPolling,
    PythonPolling,
    QuadraticPolling,
    RampPolling,
    ReferenceLoop,
    ScheduledPolling,
    WaitThenFixed,
)
from tasksim.units import NS_PER_S, ns_from_s

FIRST_OF: Final = {
    "after-interval": First.AFTER_INTERVAL,
    "at-once": First.AT_ONCE,
    "random-phase": First.RANDOM_PHASE,
}


def polling_rule(settings: PlainPolling, scenario: Scenario) -> Polling:
    """Polling rule that the settings describe, for the scenario's work."""
    match settings:
        case QuadraticPolling():
            ratio_s = settings.poll_cost / settings.delay_cost_per_s
            return polling.quadratic(ratio_s * NS_PER_S)
        case HazardPolling():
            ages_ns, gaps_ns = intervals_by_age(
                scenario,
                settings.poll_cost / settings.delay_cost_per_s,
                ns_from_s(settings.min_s),
                ns_from_s(settings.max_s),
            )
            return replace(polling.aged(ages_ns, gaps_ns), first=FIRST_OF[settings.first])
        case LearningPolling():
            rule = learning.learning(
                settings.fit,
                settings.poll_cost / settings.delay_cost_per_s * NS_PER_S,
                ns_from_s(settings.default_s),
                settings.enough,
                ns_from_s(settings.min_s),
                ns_from_s(settings.max_s),
            )
            return replace(rule, first=FIRST_OF[settings.first])
        case AgentPolling():
            return replace(
                polling.tabled(quantiles_ns(settings.turn)), first=FIRST_OF[settings.first]
            )
        case LongPolling():
            wait_ns, default_ns = ns_from_s(settings.wait_s), ns_from_s(settings.default_s)
            return polling.held(wait_ns, default_ns, jitter=settings.jitter)
        case PythonPolling():
            return replace(own_polling(settings), first=FIRST_OF[settings.first])
        case WaitThenFixed():
            gaps = [ns_from_s(settings.wait_s), ns_from_s(settings.interval_s)]
            return polling.schedule(gaps, jitter=settings.jitter)
        case ScheduledPolling():
            gaps = [ns_from_s(gap_s) for gap_s in settings.gaps_s]
            return polling.schedule(gaps, jitter=settings.jitter, first=FIRST_OF[settings.first])
        case _:
            return _steady_rule(settings)


def _steady_rule(
    settings: FixedPolling | HintPolling | BackoffPolling | RampPolling | ReferenceLoop,
) -> Polling:
    """The rules that need to know nothing but their own settings."""
    first, jitter = FIRST_OF[settings.first], settings.jitter
    match settings:
        case FixedPolling():
            return polling.fixed(ns_from_s(settings.interval_s), jitter=jitter, first=first)
        case HintPolling():
            ceiling_s = settings.ceiling_s
            return polling.hint(
                ns_from_s(settings.default_s),
                jitter=jitter,
                first=first,
                ceiling_ns=math.inf if ceiling_s is None else ns_from_s(ceiling_s),
                floor_ns=ns_from_s(settings.floor_s),
                own_ns=ns_from_s(settings.own_s),
            )
        case ReferenceLoop():
            return polling.hint(
                ns_from_s(settings.default_s), jitter=jitter, first=first, tests_late=True
            )
        case RampPolling():
            return polling.ramp(
                ns_from_s(settings.base_s),
                ns_from_s(settings.default_s),
                factor=settings.factor,
                jitter=jitter,
                first=first,
            )
        case BackoffPolling():
            return polling.backoff(
                ns_from_s(settings.base_s),
                ns_from_s(settings.cap_s),
                factor=settings.factor,
                jitter=jitter,
                spread=settings.spread,
                first=first,
            )
