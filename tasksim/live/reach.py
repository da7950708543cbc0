"""What a live run can do of what a scenario says.

Rule: what it cannot do it refuses before it starts, every point named; nothing is left out
silently.
"""

from collections.abc import Iterator
from dataclasses import fields

from tasksim.scenario.model import Closed, Population, Scenario, WorkClass
from tasksim.scenario.polls import LongPolling
from tasksim.scenario.presets import resolved
from tasksim.scenario.problems import InputError
from tasksim.scenario.rules import limits_in_hand, shapers


class LiveError(InputError):
    """The scenario asks for what a live run cannot do."""


def require_live(scenario: Scenario) -> None:
    """Raise LiveError when the scenario cannot be served and driven as it stands."""
    problems = list(_problems(scenario))
    if problems:
        told = "".join(f"\n  {problem}" for problem in problems)
        raise LiveError(f"a live run cannot do this yet; simulate it, or leave it out:{told}")


def _problems(scenario: Scenario) -> Iterator[str]:
    if isinstance(scenario.arrivals, Closed):
        yield "arrivals.kind = 'closed'"
    if not scenario.drain:
        yield "drain = false"
    for population in scenario.requesters:
        yield from _of_requesters(population)
    for work in scenario.work:
        yield from _of_work(work)
    yield from _of_receiver(scenario)
    yield from _of_limits(scenario)
    yield from _of_faults(scenario)


def _of_requesters(population: Population) -> Iterator[str]:
    here = f"requesters.{population.name}"
    if population.side != "client":
        yield f"{here}.side = 'server'"
    if population.augmented == "never":
        yield f"{here}.augmented = 'never'"
    if population.create_attempts > 1 and population.retry_id == "new":
        yield f"{here}.retry_id = 'new'"
    if population.session_s is not None:
        yield f"{here}.session_s"
    for name in ("max_open", "crash", "breaker", "retry_budget", "pace"):
        if getattr(population, name) is not None:
            yield f"{here}.{name}"
    if population.waits_for == "any":
        yield f"{here}.waits_for = 'any'"
    if isinstance(resolved(population.polling), LongPolling):
        yield f"{here}.polling of kind 'long-poll'"


def _of_work(work: WorkClass) -> Iterator[str]:
    here = f"work.{work.name}"
    if work.method != "tools/call":
        yield f"{here}.method other than a tool call"
    if work.unknown_share > 0:
        yield f"{here}.unknown_share"
    if work.input_required is not None and work.input_required.share > 0:
        yield f"{here}.input_required"
    for name in ("poll_frequency", "children"):
        if getattr(work, name) is not None:
            yield f"{here}.{name}"
    if work.milestones:
        yield f"{here}.milestones"


def _of_receiver(scenario: Scenario) -> Iterator[str]:
    receiver = scenario.receiver
    if receiver.handling is not None:
        yield "receiver.handling"
    for name in ("stop_s", "pickup_s"):
        if getattr(receiver, name) > 0:
            yield f"receiver.{name}"
    if receiver.isolation == "principal":
        yield "receiver.isolation = 'principal'"
    if not receiver.tasks or receiver.task_methods is not None:
        yield "a receiver that does not support all tasks"
    if receiver.duplicate_ids == "accepted":
        yield "receiver.duplicate_ids = 'accepted'"
    if receiver.original_after_cancel == "error":
        yield "receiver.original_after_cancel = 'error'"


def _of_limits(scenario: Scenario) -> Iterator[str]:
    receiver = scenario.receiver
    if receiver.dialect != "sep-1686":
        yield f"receiver.dialect = '{receiver.dialect}'"
    if limits_in_hand(receiver.rate_limits):
        yield "receiver.rate_limits of kind 'concurrency' or 'aimd'"
    if shapers(receiver.rate_limits):
        yield "receiver.rate_limits of kind 'leaky-bucket'"
    if receiver.keep_alive.anchor not in {None, "end"}:
        yield f"receiver.keep_alive.anchor = '{receiver.keep_alive.anchor}'"
    if receiver.concurrency.queue:
        yield "receiver.concurrency.queue"
    for name in ("store", "long_poll"):
        if getattr(receiver, name) is not None:
            yield f"receiver.{name}"
    if receiver.pushes:
        yield "receiver.pushes"


def _of_faults(scenario: Scenario) -> Iterator[str]:
    faults = scenario.faults
    for name in (
        "request_lost_share",
        "reply_lost_share",
        "original_lost_share",
        "input_lost_share",
        "request_duplicated_share",
        "reply_duplicated_share",
    ):
        if getattr(faults, name) > 0:
            yield f"faults.{name}"
    for name in ("request_delayed", "reply_delayed"):
        if getattr(faults, name) is not None:
            yield f"faults.{name}"
    for name in ("request_lost", "reply_lost", "request_duplicated", "reply_duplicated"):
        shares = getattr(faults, name)
        if any(getattr(shares, field.name) for field in fields(shares)):
            yield f"faults.{name}"
    for name in ("restarts", "stalls", "outages", "worker_deaths", "stream_cuts"):
        if getattr(faults, name):
            yield f"faults.{name}"
