"""What a scenario says of its parties, in the machines' own terms.

Rule: seconds become nanoseconds here and in ``workload``, and nowhere further in.
"""

from dataclasses import replace
from typing import Final

from tasksim.policies import UNLIMITED, advice, limiters, polling
from tasksim.policies.advice import Advice
from tasksim.policies.learning import NOTHING
from tasksim.policies.limiters import Limit
from tasksim.policies.polling import Polling
from tasksim.policies.retries import MILLI
from tasksim.protocol.guards import GuardRules
from tasksim.protocol.manners import CORE_2025, SEP_1686, SEP_2663, Anchor, Manners
from tasksim.protocol.occurrences import Operation
from tasksim.protocol.rules import (
    Binding,
    Fallback,
    Push,
    PushUse,
    ReceiverRules,
    RequesterRules,
    Watch,
)
from tasksim.protocol.states import TERMINAL, Status
from tasksim.scenario.hazards import age_advice
from tasksim.scenario.model import Population, Scenario
from tasksim.scenario.own import own_limit
from tasksim.scenario.poll_rules import polling_rule
from tasksim.scenario.presets import resolved
from tasksim.scenario.receiving import (
    Adaptive,
    AdviceSettings,
    AgeAdvice,
    CellRate,
    FixedAdvice,
    FixedWindow,
    InHand,
    LeakyBucket,
    LimitSettings,
    LoadAdvice,
    OwnLimit,
    RateLimits,
    SlidingCounter,
    SlidingLog,
    TokenBucket,
    WatchSettings,
    WholeTokens,
)
from tasksim.units import NS_PER_S, ns_from_s

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
MANNERS_OF: Final[dict[str, Manners]] = {
    "sep-1686": SEP_1686,
    "mcp-2025-11-25": CORE_2025,
    "sep-2663": SEP_2663,
}
ANCHOR_OF: Final = {"end": Anchor.END, "creation": Anchor.CREATION, "both": Anchor.BOTH}
PUSH_OF: Final = {"ended": Push.ENDED, "input": Push.INPUT, "milestone": Push.MILESTONE}
PUSH_USE_OF: Final = {
    "ignored": PushUse.IGNORED,
    "wakes": PushUse.WAKES,
    "trusted": PushUse.TRUSTED,
}
BACKOFF_CAP_NS: Final = 60 * NS_PER_S  # of polls without a created notification (N03)


def receiver_rules(scenario: Scenario) -> ReceiverRules:
    """Rules of the scenario's receiver."""
    receiver = scenario.receiver
    keep_alive = receiver.keep_alive
    methods, caps = receiver.task_methods, receiver.concurrency
    manners, store, holds = MANNERS_OF[receiver.dialect], receiver.store, receiver.long_poll
    anchor = manners.anchor if keep_alive.anchor is None else ANCHOR_OF[keep_alive.anchor]
    return ReceiverRules(
        keep_alive_default_ns=UNLIMITED
        if keep_alive.unlimited
        else ns_from_s(keep_alive.default_s),
        keep_alive_max_ns=_limit_ns(keep_alive.max_s),
        sweep_ns=ns_from_s(keep_alive.sweep_s),
        keeps_unknown=keep_alive.unknown == "kept",
        anchor=anchor,
        store_max=UNLIMITED if store is None else store.limit,
        evicts=store is not None and store.when_full == "evicts",
        advice=_advice(scenario, receiver.poll_frequency),
        tool_advice=_tool_advice(scenario),
        tombstones=receiver.tombstones,
        reuses_forgotten=receiver.forgotten_ids == "accepted",
        reuses_live=receiver.duplicate_ids == "accepted",
        deletable=DELETABLE[receiver.delete],
        answers_cancelled=receiver.original_after_cancel == "error",
        page_size=receiver.page_size,
        binding=BINDING_OF[receiver.isolation],
        supports_tasks=receiver.tasks,
        task_methods=None if methods is None else frozenset(methods),
        open_per_requester=_count(caps.per_requester),
        open_total=_count(caps.total),
        queue_max=caps.queue,
        hold_max_ns=0 if holds is None else ns_from_s(holds.max_s),
        holds_max=_count(None if holds is None else holds.connections),
        pushes=frozenset(PUSH_OF[what] for what in receiver.pushes),
        manners=manners,
        retry_after_ns=ns_from_s(caps.retry_after_s),
        limits=_limits(receiver.rate_limits),
        input_timeout_ns=ns_from_s(receiver.input_timeout_s),
        watch=_watch(receiver.watch),
    )


def _count(limit: int | None) -> int:
    return UNLIMITED if limit is None else limit


def _limit_ns(seconds: float | None) -> int:
    return UNLIMITED if seconds is None else ns_from_s(seconds)


def _limits(settings: RateLimits) -> dict[Operation, Limit]:
    """Limits in time by operation, of those that have one."""
    return {
        operation: limit_of(limit)
        for operation, limit in _by_operation(settings).items()
        if not isinstance(limit, InHand | Adaptive | LeakyBucket)
    }


def limits_in_hand(settings: RateLimits) -> dict[Operation, InHand | Adaptive]:
    """Limits of requests that are being answered at once, by operation."""
    found = _by_operation(settings).items()
    return {operation: limit for operation, limit in found if isinstance(limit, InHand | Adaptive)}


def shapers(settings: RateLimits) -> dict[Operation, LeakyBucket]:
    """What delays requests instead of refusing them, by operation."""
    found = _by_operation(settings).items()
    return {operation: limit for operation, limit in found if isinstance(limit, LeakyBucket)}


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


def limit_of(
    settings: TokenBucket
    | WholeTokens
    | CellRate
    | FixedWindow
    | SlidingLog
    | SlidingCounter
    | OwnLimit,
) -> Limit:
    """Limiter that the settings describe."""
    match settings:
        case TokenBucket():
            params = (max(ns_from_s(1.0 / settings.rate), 1), settings.burst)
            take = limiters.token_bucket
        case WholeTokens():
            params = (max(ns_from_s(1.0 / settings.rate), 1), settings.burst)
            take = limiters.whole_tokens
        case CellRate():
            params = (max(ns_from_s(1.0 / settings.rate), 1), ns_from_s(settings.tolerance_s))
            take = limiters.cell_rate
        case FixedWindow():
            params = (ns_from_s(settings.window_s), settings.limit)
            take = limiters.fixed_window
        case SlidingLog():
            params = (ns_from_s(settings.window_s), settings.limit)
            take = limiters.sliding_log
        case OwnLimit():
            return own_limit(settings)
        case SlidingCounter():
            params = (ns_from_s(settings.window_s), settings.limit)
            take = limiters.sliding_counter
    return Limit(take=take, params=params, per_requester=settings.scope == "requester")


def _tool_advice(scenario: Scenario) -> dict[str, Advice]:
    """What is advertised for classes of work that have an interval of their own."""
    found = {work.name: _advice(scenario, work.poll_frequency) for work in scenario.work}
    return {name: rule for name, rule in found.items() if rule is not None}


def _advice(scenario: Scenario, settings: AdviceSettings | None) -> Advice | None:
    if settings is None:
        return None
    return replace(_plain_advice(scenario, settings), spread=settings.spread)


def _plain_advice(scenario: Scenario, settings: AdviceSettings) -> Advice:
    match settings:
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
        polls_max=_count(population.polls_max),
        push=PUSH_USE_OF[population.push],
        manners=MANNERS_OF[receiver.dialect],
        blocks=population.awaits == "result",
        answers_on_result=population.input_by == "result",
        back_ns=0 if population.crash is None else ns_from_s(population.crash.back_s),
        remembers=population.crash is None or population.crash.remembers,
    )


def guard_rules(population: Population) -> GuardRules:
    """What every requester of a population keeps for all of its tasks."""
    breaker, budget, pace = population.breaker, population.retry_budget, population.pace
    return GuardRules(
        breaker=None if breaker is None else (breaker.failures, ns_from_s(breaker.open_s)),
        budget=None if budget is None else (int(budget.share * MILLI), budget.reserve * MILLI),
        pace=None if pace is None else (max(ns_from_s(1.0 / pace.rate), 1), pace.burst),
    )


def _backoff(rule: Polling, jitter: float) -> Polling:
    """Gaps that double from the rule's own first one (N03)."""
    state = (0.0, 0.0, *NOTHING)
    base_ns = max(rule.gap_ns(rule.params, state, 0, 0, -1, -1, 0.0), NS_PER_S // 10)
    return polling.backoff(base_ns, max(BACKOFF_CAP_NS, base_ns), jitter=jitter)
