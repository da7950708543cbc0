"""What a scenario says of its parties, in the machines' own terms.

Rule: seconds become nanoseconds here and in ``workload``, and nowhere further in.
"""

from typing import Final

from tasksim.policies import UNLIMITED, polling
from tasksim.policies.polling import First, Polling
from tasksim.protocol.receiver import ReceiverRules
from tasksim.protocol.requester import RequesterRules
from tasksim.protocol.states import TERMINAL, Status
from tasksim.scenario.model import BackoffPolling, FixedPolling, HintPolling, Population, Scenario
from tasksim.units import ns_from_s

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


def receiver_rules(scenario: Scenario) -> ReceiverRules:
    """Rules of the scenario's receiver."""
    receiver = scenario.receiver
    keep_alive, advice = receiver.keep_alive, receiver.poll_frequency
    longest_s = keep_alive.max_s
    return ReceiverRules(
        keep_alive_default_ns=ns_from_s(keep_alive.default_s),
        keep_alive_max_ns=UNLIMITED if longest_s is None else ns_from_s(longest_s),
        poll_interval_ns=None if advice is None else ns_from_s(advice.interval_s),
        tombstones=receiver.tombstones,
        deletable=DELETABLE[receiver.delete],
        page_size=receiver.page_size,
    )


def requester_rules(population: Population) -> RequesterRules:
    """Rules of every requester of a population."""
    keep_alive_s = population.keep_alive_s
    return RequesterRules(
        polling=polling_rule(population.polling),
        keep_alive_ns=None if keep_alive_s is None else ns_from_s(keep_alive_s),
        created_timeout_ns=ns_from_s(population.created_timeout_s),
        request_timeout_ns=ns_from_s(population.request_timeout_s),
        raced=population.original_response == "raced",
    )


def polling_rule(settings: FixedPolling | HintPolling | BackoffPolling) -> Polling:
    """Polling rule that the settings describe."""
    first = FIRST_OF[settings.first]
    match settings:
        case FixedPolling():
            return polling.fixed(
                ns_from_s(settings.interval_s), jitter=settings.jitter, first=first
            )
        case HintPolling():
            return polling.hint(ns_from_s(settings.default_s), jitter=settings.jitter, first=first)
        case BackoffPolling():
            return polling.backoff(
                ns_from_s(settings.base_s),
                ns_from_s(settings.cap_s),
                factor=settings.factor,
                jitter=settings.jitter,
                first=first,
            )
