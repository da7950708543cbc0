"""What dialects, batches, children and a user's own rules must satisfy together.

Rule: as in ``checks``: a check finds places and says what is wrong there.
"""

from collections.abc import Callable, Iterator
from typing import Final

from tasksim.scenario.distributions import Law, LawError
from tasksim.scenario.model import Bursty, ConstantRate, Poisson, Scenario
from tasksim.scenario.own import own_limit, own_polling
from tasksim.scenario.own_files import OwnFileError, function_of
from tasksim.scenario.places import Path
from tasksim.scenario.polls import AgentPolling, LearningPolling, PythonPolling
from tasksim.scenario.problems import suggestion
from tasksim.scenario.quantiles import LawTables
from tasksim.scenario.receiving import Adaptive, KeepAlive, OwnLimit

Problem = tuple[Path, str]
Check = Callable[[Scenario], Iterator[Problem]]
OPERATIONS: Final = ("create", "get", "result", "list", "delete", "cancel", "input")


def drawn(path: Path, law: Law | None) -> Iterator[Problem]:
    """A law must have a table of its quantiles."""
    if law is not None:
        try:
            LawTables().add(law)
        except LawError as fault:
            yield path, str(fault)


def batches_come_with_arrivals(scenario: Scenario) -> Iterator[Problem]:
    """Tasks come together where arrivals are drawn; who waits for any needs several."""
    arrivals = scenario.arrivals
    if scenario.batch > 1 and not isinstance(arrivals, Poisson | ConstantRate | Bursty):
        yield ("batch",), "needs arrivals that are drawn: poisson, constant or bursty"
    for index, population in enumerate(scenario.requesters):
        if population.waits_for == "any" and scenario.batch == 1:
            yield (
                ("requesters", index, "waits_for"),
                "needs batch > 1: there is one task to wait for",
            )
        if population.rest == "cancelled" and population.waits_for == "each":
            yield ("requesters", index, "rest"), "needs waits_for = 'any': each is waited for"


def keys_fit_the_dialect(scenario: Scenario) -> Iterator[Problem]:
    """What a dialect does not have cannot be set."""
    dialect = scenario.receiver.dialect
    is_first, is_second = dialect == "sep-1686", dialect == "mcp-2025-11-25"
    for index, population in enumerate(scenario.requesters):
        here: Path = ("requesters", index)
        if not is_first and population.original_response == "raced":
            yield (*here, "original_response"), f"{dialect} answers a creation at once: drop this"
        if not is_first and population.created_fallback != "poll":
            yield (*here, "created_fallback"), f"{dialect} has no created notification: drop this"
        if not is_second and population.awaits == "result":
            yield (*here, "awaits"), f"{dialect} lets no result request wait: drop this"
        if not is_second and population.input_by == "polls":
            yield (*here, "input_by"), f"{dialect} carries no questions on results: drop this"
    if not is_first and scenario.receiver.duplicate_ids == "accepted":
        path = ("receiver", "duplicate_ids")
        yield path, f"{dialect} lets the receiver make ids: drop this"
    for index, work in enumerate(scenario.work):
        if not is_first and work.children is not None:
            yield ("work", index, "children"), f"{dialect} has no child tasks: drop this"


def children_have_a_class(scenario: Scenario) -> Iterator[Problem]:
    """A task's children are of a class that has none; their numbers need room."""
    by_name = {work.name: work for work in scenario.work}
    asks = any(work.children is not None for work in scenario.work)
    for index, work in enumerate(scenario.work):
        if work.children is None:
            continue
        path: Path = ("work", index, "children", "work")
        own = by_name.get(work.children.work)
        if own is None:
            yield path, f"is no class of work{suggestion(work.children.work, by_name)}"
        elif own.children is not None:
            yield path, "has children of its own: one generation is what there can be"
        elif own.duration is None:
            yield path, "needs a law of its duration: a trace has none for children"
    for index, population in enumerate(scenario.requesters):
        here: Path = ("requesters", index)
        if asks and population.retry_id == "new" and population.create_attempts > 1:
            yield (*here, "retry_id"), "must be 'same' where tasks have children"
        if asks and population.crash is not None and not population.crash.remembers:
            yield (*here, "crash", "remembers"), "must be true where tasks have children"


def requesters_laws_can_be_drawn(scenario: Scenario) -> Iterator[Problem]:
    """Tables of when requesters crash, when agents have a turn, what comes late by how much."""
    for name in ("request_delayed", "reply_delayed"):
        delays = getattr(scenario.faults, name)
        yield from drawn(("faults", name, "by"), None if delays is None else delays.by)
    for index, population in enumerate(scenario.requesters):
        crash, polling = population.crash, population.polling
        yield from drawn(
            ("requesters", index, "crash", "after"), None if crash is None else crash.after
        )
        here = ("requesters", index, "polling")
        if isinstance(polling, AgentPolling):
            yield from drawn((*here, "turn"), polling.turn)
        if isinstance(polling, LearningPolling) and polling.max_s < polling.min_s:
            yield (*here, "max_s"), f"must be >= min_s ({polling.min_s:g}), not {polling.max_s:g}"


def own_rules_can_be_used(scenario: Scenario) -> Iterator[Problem]:
    """A user's own rule is loaded and tried."""
    for index, population in enumerate(scenario.requesters):
        if isinstance(population.polling, PythonPolling):
            try:
                own_polling(population.polling)
            except OwnFileError as fault:
                yield ("requesters", index, "polling", "file"), str(fault)
    for name in OPERATIONS:
        limit = getattr(scenario.receiver.rate_limits, name)
        if isinstance(limit, OwnLimit):
            try:
                own_limit(limit)
            except OwnFileError as fault:
                yield ("receiver", "rate_limits", name, "file"), str(fault)
    for name, metric in scenario.metrics.items():
        try:
            function_of(metric.file, metric.function, ("tasks",))
        except OwnFileError as fault:
            yield ("metrics", name, "file"), str(fault)


def retention_is_said_once(scenario: Scenario) -> Iterator[Problem]:
    """What is kept without end is kept for no default time."""
    keep_alive = scenario.receiver.keep_alive
    if keep_alive.unlimited and keep_alive.default_s != KeepAlive().default_s:
        yield ("receiver", "keep_alive", "default_s"), "does nothing beside unlimited: drop one"


def adaptive_limits_have_an_order(scenario: Scenario) -> Iterator[Problem]:
    """The limit starts within its bounds."""
    for name in OPERATIONS:
        limit = getattr(scenario.receiver.rate_limits, name)
        if isinstance(limit, Adaptive) and not limit.min <= limit.start <= limit.max:
            path = ("receiver", "rate_limits", name, "start")
            yield path, f"must be in {limit.min} .. {limit.max}, not {limit.start}"


MORE_CHECKS: Final[tuple[tuple[Check, frozenset[str]], ...]] = (
    (batches_come_with_arrivals, frozenset({"arrivals", "batch", "requesters"})),
    (keys_fit_the_dialect, frozenset({"receiver", "requesters", "work"})),
    (children_have_a_class, frozenset({"requesters", "work"})),
    (requesters_laws_can_be_drawn, frozenset({"requesters", "faults"})),
    (own_rules_can_be_used, frozenset({"requesters", "receiver", "metrics"})),
    (retention_is_said_once, frozenset({"receiver"})),
    (adaptive_limits_have_an_order, frozenset({"receiver"})),
)
