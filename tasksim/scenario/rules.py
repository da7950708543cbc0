"""What a scenario says of its parties, in the machines' own terms.

Rule: seconds become nanoseconds here and in ``workload``, and nowhere further in.
"""

import math
from dataclasses import replace
from typing import Final

from tasksim.policies import UNLIMITED, advice, limiters, polling
from tasksim.policies.advice import Advice
from tasksim.policies.limiters import Limit
from tasksim.policies.polling import First, Polling
from tasksim.protocol.occurrences import Operation
from tasksim.protocol.rules import Binding, Fallback, ReceiverRules, RequesterRules, Watch
from tasksim.protocol.states import TERMINAL, Status
from tasksim.scenario.hazards import age_advice, intervals_by_age
from tasksim.scenario.model import (
    BackoffPolling,
    FixedPolling,
    HazardPolling,
    HintPolling,
    PlainPolling,
    Population,
    QuadraticPolling,
    RampPolling,
    ReferenceLoop,
    Scenario,
    ScheduledPolling,
    WaitThenFixed,
)
from tasksim.scenario.presets import resolved
from tasksim.scenario.receiving import (
    AgeAdvice,
    CellRate,
    FixedAdvice,
    FixedWindow,
    InHand,
    LimitSettings,
    LoadAdvice,
    RateLimits,
    SlidingLog,
    TokenBucket,
    WatchSettings,
)
from tasksim.units import NS_PER_S, ns_from_s

FIRST_OF: Final = {
    "after-interval": First.AFTER_INTERVAL,
    "at-once": First.AT_ONCE,
    "random-phase": First.RANDOM_PHASE,
}

DELETABLE: Final[dict[str, frozenset[Status] | None]] = {
    "terminal": TERMINAL,
    "always": frozenset(Status),
    "never": frozenset(),
    "unsupported": None,
}
BINDING_OF: Final = {
    "session": Binding.SESSION,
    "principal": Binding.PRINCIPAL,
    "none": Binding.NOTHING,
}
FALLBACK_OF: Final = {
    "poll": Fallback.POLL,
    "original": Fallback.ORIGINAL,
    "backoff": Fallback.BACKOFF,
}
BACKOFF_CAP_NS: Final = 60 * NS_PER_S  # of polls without a created notification (N03)


def receiver_rules(scenario: Scenario) -> ReceiverRules:
    """Rules of the scenario's receiver."""
    receiver = scenario.receiver
    keep_alive = receiver.keep_alive
    methods, caps = receiver.task_methods, receiver.concurrency
    return ReceiverRules(
        keep_alive_default_ns=ns_from_s(keep_alive.default_s),
        keep_alive_max_ns=_limit_ns(keep_alive.max_s),
        sweep_ns=ns_from_s(keep_alive.sweep_s),
        keeps_unknown=keep_alive.unknown == "kept",
        advice=_advice(scenario),
        tombstones=receiver.tombstones,
        reuses_forgotten=receiver.forgotten_ids == "accepted",
        reuses_live=receiver.duplicate_ids == "accepted",
        deletable=DELETABLE[receiver.delete],
        answers_cancelled=receiver.original_after_cancel == "error",
        page_size=receiver.page_size,
        binding=BINDING_OF[receiver.isolation],
        supports_tasks=receiver.tasks,
        task_methods=None if methods is None else frozenset(methods),
        open_per_requester=UNLIMITED if caps.per_requester is None else caps.per_requester,
        open_total=UNLIMITED if caps.total is None else caps.total,
        retry_after_ns=ns_from_s(caps.retry_after_s),
        limits=_limits(receiver.rate_limits),
        input_timeout_ns=ns_from_s(receiver.input_timeout_s),
        watch=_watch(receiver.watch),
    )


def _limit_ns(seconds: float | None) -> int:
    return UNLIMITED if seconds is None else ns_from_s(seconds)


def _limits(settings: RateLimits) -> dict[Operation, Limit]:
    """Limits in time by operation, of those that have one."""
    return {
        operation: limit_of(limit)
        for operation, limit in _by_operation(settings).items()
        if not isinstance(limit, InHand)
    }


def limits_in_hand(settings: RateLimits) -> dict[Operation, InHand]:
    """Limits of requests that are being answered at once, by operation."""
    found = _by_operation(settings).items()
    return {operation: limit for operation, limit in found if isinstance(limit, InHand)}


def _by_operation(settings: RateLimits) -> dict[Operation, LimitSettings]:
    by_operation: dict[Operation, LimitSettings | None] = {
        Operation.CREATE: settings.create,
        Operation.GET: settings.get,
        Operation.RESULT: settings.result,
        Operation.LIST: settings.list,
        Operation.DELETE: settings.delete,
        Operation.CANCEL: settings.cancel,
        Operation.INPUT: settings.input,
    }
    return {operation: limit for operation, limit in by_operation.items() if limit is not None}


def limit_of(settings: TokenBucket | CellRate | FixedWindow | SlidingLog) -> Limit:
    """Limiter that the settings describe."""
    match settings:
        case TokenBucket():
            params = (max(ns_from_s(1.0 / settings.rate), 1), settings.burst)
            take = limiters.token_bucket
        case CellRate():
            params = (max(ns_from_s(1.0 / settings.rate), 1), ns_from_s(settings.tolerance_s))
            take = limiters.cell_rate
        case FixedWindow():
            params = (ns_from_s(settings.window_s), settings.limit)
            take = limiters.fixed_window
        case SlidingLog():
            params = (ns_from_s(settings.window_s), settings.limit)
            take = limiters.sliding_log
    return Limit(take=take, params=params, per_requester=settings.scope == "requester")


def _advice(scenario: Scenario) -> Advice | None:
    settings = scenario.receiver.poll_frequency
    match settings:
        case None:
            return None
        case FixedAdvice():
            return advice.fixed(ns_from_s(settings.interval_s))
        case LoadAdvice():
            return advice.load_dependent(
                max(ns_from_s(1.0 / settings.polls_per_s), 1),
                ns_from_s(settings.min_s),
                ns_from_s(settings.max_s),
            )
        case AgeAdvice():
            return age_advice(scenario, settings)


def _watch(settings: WatchSettings | None) -> Watch | None:
    if settings is None:
        return None
    return Watch(
        window_ns=max(ns_from_s(settings.window_s), 1),
        failed_lookups=settings.failed_lookups,
        early_polls=settings.early_polls,
    )


def requester_rules(population: Population, scenario: Scenario) -> RequesterRules:
    """Rules of every requester of a population of the scenario."""
    keep_alive_s, receiver = population.keep_alive_s, scenario.receiver
    settings = resolved(population.polling)
    rule = polling_rule(settings, scenario)
    fallback = FALLBACK_OF[population.created_fallback]
    is_gated = population.augmented == "if-declared" and not receiver.tasks
    return RequesterRules(
        polling=rule,
        keep_alive_ns=None if keep_alive_s is None else ns_from_s(keep_alive_s),
        created_timeout_ns=ns_from_s(population.created_timeout_s),
        fallback=fallback,
        backoff=_backoff(rule, settings.jitter) if fallback is Fallback.BACKOFF else None,
        create_attempts=population.create_attempts,
        renews_id=population.retry_id == "new",
        request_timeout_ns=ns_from_s(population.request_timeout_s),
        raced=population.original_response == "raced",
        augmented=population.augmented != "never" and not is_gated,
        failures_max=population.attempts,
        limited_gap_ns=_limit_ns(population.limited_gap_s),
        limited_max=population.limited_attempts,
        cancel_patience_ns=ns_from_s(population.cancel_patience_s),
        patience_ns=_limit_ns(population.patience_s),
    )


def _backoff(rule: Polling, jitter: float) -> Polling:
    """Gaps that double from the rule's own first one (N03)."""
    base_ns = max(rule.gap_ns(rule.params, (0, 0.0), 0, 0, -1, -1, 0.0), NS_PER_S // 10)
    return polling.backoff(base_ns, max(BACKOFF_CAP_NS, base_ns), jitter=jitter)


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
