"""A user's own polling rule and limiter: see ``own_files`` for how files are treated.

The file holds a function with the signature of ``GapRule`` or of ``TakeRule``; the scenario names
it::

    polling = { kind = "python", file = "mine.py", function = "gap_ns", params = [2e9] }

Rule: nothing but what is handed in may decide: a rule that answers the same question in two ways
is refused.
"""

from functools import partial
from typing import Final, Protocol, cast

from tasksim.policies.limiters import FRESH, TAKEN, Limit
from tasksim.policies.polling import Polling
from tasksim.scenario.own_files import (
    OwnFileError,
    OwnRuleError,
    answered,
    function_of,
    tried,
)
from tasksim.scenario.polls import PythonPolling
from tasksim.scenario.receiving import OwnLimit

S: Final = 1_000_000_000
LONGEST_NS: Final = 1 << 59
NAMES: Final = ("params", "state", "attempt", "age_ns", "hint_ns", "retry_after_ns", "u")
# (attempt, age_ns, hint_ns, retry_after_ns, u) that a rule is tried with.
TRIALS: Final = (
    (0, 0, -1, -1, 0.0),
    (1, 5 * S, 5 * S, -1, 0.5),
    (40, 3600 * S, 1 * S, 7 * S, 0.999),
)


class GapRule(Protocol):
    """How long to wait for the next poll.

    *params* are the scenario's. *state* = (the last gap in ns, 0 before the first; the task's own
    uniform), and where ``learns`` is set four numbers more: tasks that ended, the sum of their
    durations in ns, of the logarithms of those, of the squares of these. *attempt* counts polls
    from 0, *age_ns* is the time since the task was asked for. *hint_ns* is what the receiver
    advertises and *retry_after_ns* what it asks to wait, -1 where it says nothing. *u* is uniform
    in [0, 1), drawn for this poll, where ``draws`` is set; else 0.

    The answer is a whole number of ns, at least 1 and at least *retry_after_ns*.
    """

    def __call__(  # noqa: D102 - above
        self,
        params: tuple[float, ...],
        state: tuple[float, ...],
        attempt: int,
        age_ns: int,
        hint_ns: int,
        retry_after_ns: int,
        u: float,
        /,
    ) -> int: ...


class TakeRule(Protocol):
    """Whether a request may pass: (state, wait in ns, -1 when it may).

    *state* is ``(0,)`` at first. Its first number is the instant from which on it says no more
    than ``(0,)`` does. A refused request leaves the state as it was.
    """

    def __call__(  # noqa: D102 - above
        self, params: tuple[int, ...], state: tuple[int, ...], now: int, /
    ) -> tuple[tuple[int, ...], int]: ...


def own_polling(settings: PythonPolling) -> Polling:
    """The rule that the settings name; OwnFileError when it cannot be used."""
    rule = cast("GapRule", function_of(settings.file, settings.function, NAMES))
    state = (0.0, 0.5, *((10.0, 300e9, 240.0, 5800.0) if settings.learns else ()))
    for trial in TRIALS:
        _try(rule, settings, state, trial)
    return Polling(
        gap_ns=_watched(settings.function, rule),
        params=settings.params,
        jittered=settings.draws,
        learns=settings.learns,
    )


def _watched(name: str, rule: GapRule) -> GapRule:
    """The rule, whose faults half through a run are told as such."""

    def gap_ns(
        params: tuple[float, ...],
        state: tuple[float, ...],
        attempt: int,
        age_ns: int,
        hint_ns: int,
        retry_after_ns: int,
        u: float,
    ) -> int:
        asked = (params, state, attempt, age_ns, hint_ns, retry_after_ns, u)
        found: int = answered(name, asked, rule)
        if type(found) is not int or not max(1, retry_after_ns) <= found < LONGEST_NS:
            raise OwnRuleError(
                f"{name}{asked} gives {found!r:.40}: whole ns, at least 1 and a Retry-After"
            )
        return found

    return gap_ns


def _try(
    rule: GapRule,
    settings: PythonPolling,
    state: tuple[float, ...],
    trial: tuple[int, int, int, int, float],
) -> None:
    attempt, age_ns, hint_ns, retry_after_ns, u = trial
    asked = f"attempt {attempt}, age_ns {age_ns}, hint_ns {hint_ns}, u {u}"
    gap_ns = tried(
        settings.function,
        asked,
        lambda: rule(settings.params, state, attempt, age_ns, hint_ns, retry_after_ns, u),
    )
    if not isinstance(gap_ns, int) or isinstance(gap_ns, bool):
        raise OwnFileError(f"{settings.function} must give whole ns, not {gap_ns!r:.40}")
    if not max(1, retry_after_ns) <= gap_ns < LONGEST_NS:
        raise OwnFileError(
            f"{settings.function} gives {gap_ns} ns at {asked}: at least 1 and a Retry-After "
            f"({retry_after_ns}), at most 18 years"
        )


def own_limit(settings: OwnLimit) -> Limit:
    """The limiter that the settings name; OwnFileError when it cannot be used."""
    name = settings.function
    take = cast("TakeRule", function_of(settings.file, name, ("params", "state", "now")))
    state: tuple[int, ...] = FRESH
    now = 0
    for _ in range(20):  # requests at once, until one is refused; then when it may come
        asked = f"state {state}, now {now}"
        answer = tried(name, asked, partial(take, settings.params, state, now))
        if not _is_decision(answer):
            raise OwnFileError(
                f"{name} must give ((whole numbers), wait in ns), not {answer!r:.60}"
            )
        after, wait_ns = answer
        if wait_ns == TAKEN:
            state = after
        elif wait_ns <= 0 or after != state:
            raise OwnFileError(f"{name} refuses and changes its state, or says no wait: {answer}")
        else:
            now += wait_ns
    return Limit(
        take=_watched_limit(name, take),
        params=settings.params,
        per_requester=settings.scope == "requester",
    )


def _watched_limit(name: str, take: TakeRule) -> TakeRule:
    """The limiter, whose faults half through a run are told as such."""

    def decide(
        params: tuple[int, ...], state: tuple[int, ...], now: int
    ) -> tuple[tuple[int, ...], int]:
        answer = answered(name, (params, state, now), take)
        if not _is_decision(answer) or (answer[1] != TAKEN and answer[1] <= 0):
            raise OwnRuleError(f"{name}{(params, state, now)} gives {answer!r:.60}: no decision")
        decision: tuple[tuple[int, ...], int] = answer
        return decision

    return decide


def _is_decision(answer: object) -> bool:
    if not isinstance(answer, tuple) or len(answer) != 2:
        return False
    state, wait_ns = answer
    is_state = isinstance(state, tuple) and state and all(type(n) is int for n in state)
    return bool(is_state) and type(wait_ns) is int
