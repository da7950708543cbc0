"""What of scenarios the compiled kernel can do.

Rule: ``supports`` names every point that is not there; what it lets through gives the reference's
run, bit for bit. Nothing here loads Numba.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from tasksim.engines.fast import layout as c
from tasksim.policies import advice, limiters, polling
from tasksim.scenario.faults import Faults
from tasksim.scenario.model import Closed, Network, Population, Scenario, WorkClass
from tasksim.scenario.receiving import CellRate, RateLimits, ReceiverSettings, TokenBucket
from tasksim.scenario.rules import requester_rules

RULE_OF: Final[dict[Any, int]] = {
    polling.fixed_gap_ns: c.FIXED,
    polling.hint_gap_ns: c.HINTED,
    polling.backoff_gap_ns: c.BACKOFF,
    polling.spread_backoff_gap_ns: c.SPREAD_BACKOFF,
    polling.decorrelated_gap_ns: c.DECORRELATED,
    polling.ramp_gap_ns: c.RAMP,
    polling.scheduled_gap_ns: c.SCHEDULED,
    polling.quadratic_gap_ns: c.QUADRATIC,
    polling.aged_gap_ns: c.AGED,
    polling.tabled_gap_ns: c.TABLED,
}
ADVICE_OF: Final[dict[Any, int]] = {
    advice.fixed_interval_ns: c.FIXED_ADVICE,
    advice.load_interval_ns: c.LOAD_ADVICE,
    advice.age_interval_ns: c.AGE_ADVICE,
}
LIMIT_OF: Final[dict[Any, int]] = {
    limiters.token_bucket: c.TOKEN_BUCKET,
    limiters.cell_rate: c.CELL_RATE,
}
# Keys that the kernel knows; every other key must stand at its default.
OF_POPULATION: Final = frozenset({
    "name", "share", "count", "side", "polling", "created_timeout_s", "keep_alive_s",
    "request_timeout_s", "attempts", "limited_gap_s", "limited_attempts", "cancel_patience_s",
    "cancel_share", "cancel_after", "polls_max", "max_open", "retry_id", "push",
})  # fmt: skip
OF_WORK: Final = frozenset({"name", "share", "method", "duration", "failed_share", "unknown_share"})
OF_RECEIVER: Final = frozenset({
    "workers", "isolation", "poll_frequency", "keep_alive", "rate_limits", "input_timeout_s",
    "duplicate_ids", "forgotten_ids", "tombstones", "delete", "original_after_cancel",
    "related_task", "page_size",
})  # fmt: skip
OF_NETWORK: Final = frozenset({"request", "reply", "stream_lifetime_s"})
OF_FAULTS: Final = frozenset({
    "created_lost_share", "request_lost_share", "reply_lost_share", "request_lost", "reply_lost",
    "original_lost_share", "input_lost_share", "push_lost_share",
})  # fmt: skip


def supports(scenario: Scenario) -> tuple[str, ...]:
    """What the scenario asks for that the fast engine cannot do yet; nothing where it can."""
    return tuple(dict.fromkeys(_missing(scenario)))


def _missing(scenario: Scenario) -> Iterator[str]:
    if isinstance(scenario.arrivals, Closed):
        yield "arrivals.kind = 'closed'"
    if scenario.batch > 1:
        yield "batch"
    for population in scenario.requesters:
        yield from _others(population, Population, OF_POPULATION, "requesters")
        rule = requester_rules(population, scenario).polling
        if rule.gap_ns not in RULE_OF or rule.learns or rule.tests_late or rule.hold_ns:
            yield f"polling of kind '{population.polling.kind}'"
    for work in scenario.work:
        yield from _others(work, WorkClass, OF_WORK, "work")
    receiver = scenario.receiver
    yield from _others(receiver, ReceiverSettings, OF_RECEIVER, "receiver")
    if receiver.keep_alive.anchor not in {None, "end"}:
        yield "receiver.keep_alive.anchor"
    for field in fields(RateLimits):
        limit = getattr(receiver.rate_limits, field.name)
        is_known = field.name == "get" and isinstance(limit, TokenBucket | CellRate)
        if limit is not None and not is_known:
            yield f"receiver.rate_limits.{field.name} of kind '{limit.kind}'"
    yield from _others(scenario.network, Network, OF_NETWORK, "network")
    yield from _others(scenario.faults, Faults, OF_FAULTS, "faults")


def _others(part: Any, kind: type, known: frozenset[str], name: str) -> Iterator[str]:
    """Keys that are set to something else than their default, and not known here."""
    default = kind()
    for field in fields(part):
        if field.name not in known and getattr(part, field.name) != getattr(default, field.name):
            yield f"{name}.{field.name}"
