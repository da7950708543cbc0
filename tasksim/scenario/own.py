"""A user's own polling rule, in a Python file of theirs.

The file holds a function with the signature of ``GapRule``; the scenario names the file::

    polling = { kind = "python", file = "mine.py", function = "gap_ns", params = [2e9] }

Rule 1: the file is code that its user runs: it is executed as it stands. A scenario of a stranger
that names one is to be read first.
Rule 2: a rule is tried when the scenario is loaded, not when the run is half through.
Rule 3: nothing but what is handed in may decide: a rule that answers the same question in two
ways is refused.
"""

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol, cast

from tasksim.policies.polling import Polling
from tasksim.scenario.polls import PythonPolling

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


class OwnPolicyError(ValueError):
    """The file holds no rule that can be used."""


def own_polling(settings: PythonPolling) -> Polling:
    """The rule that the settings name; OwnPolicyError when it cannot be used."""
    rule = _function(settings.file, settings.function)
    state = (0.0, 0.5, *((10.0, 300e9, 240.0, 5800.0) if settings.learns else ()))
    for trial in TRIALS:
        _try(rule, settings, state, trial)
    return Polling(
        gap_ns=rule, params=settings.params, jittered=settings.draws, learns=settings.learns
    )


def _function(file: Path, name: str) -> GapRule:
    spec = importlib.util.spec_from_file_location(f"tasksim_own_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise OwnPolicyError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as fault:  # whatever their code does wrong
        raise OwnPolicyError(f"{file}: {type(fault).__name__}: {fault}") from fault
    rule: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(rule):
        raise OwnPolicyError(f"{file} has no function {name}")
    found = tuple(inspect.signature(rule).parameters)
    if found != NAMES:
        raise OwnPolicyError(f"{name} must take ({', '.join(NAMES)}), not ({', '.join(found)})")
    return cast("GapRule", rule)


def _try(
    rule: GapRule,
    settings: PythonPolling,
    state: tuple[float, ...],
    trial: tuple[int, int, int, int, float],
) -> None:
    attempt, age_ns, hint_ns, retry_after_ns, u = trial
    asked = f"attempt {attempt}, age_ns {age_ns}, hint_ns {hint_ns}, u {u}"
    try:
        found = [
            rule(settings.params, state, attempt, age_ns, hint_ns, retry_after_ns, u)
            for _ in range(2)
        ]
    except Exception as fault:
        told = f"{type(fault).__name__}: {fault}"
        raise OwnPolicyError(f"{settings.function} fails at {asked}: {told}") from fault
    gap_ns = found[0]
    if not isinstance(gap_ns, int) or isinstance(gap_ns, bool):
        raise OwnPolicyError(f"{settings.function} must give whole ns, not {gap_ns!r:.40}")
    if not max(1, retry_after_ns) <= gap_ns < LONGEST_NS:
        raise OwnPolicyError(
            f"{settings.function} gives {gap_ns} ns at {asked}: at least 1 and a Retry-After "
            f"({retry_after_ns}), at most 18 years"
        )
    if found[0] != found[1]:
        raise OwnPolicyError(f"{settings.function} answers the same question in two ways ({asked})")
