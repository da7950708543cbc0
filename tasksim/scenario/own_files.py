"""Functions of a user's own, in a Python file of theirs.

Rule 1: the file is code that its user runs: it is executed as it stands. A scenario of a stranger
that names one is to be read first.
Rule 2: a function is tried when the scenario is loaded, not when the run is half through; what it
does wrong is told with what it was asked.
"""

import importlib.util
import inspect
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasksim.scenario.problems import InputError


class OwnFileError(ValueError):
    """The file holds no function that can be used."""


class OwnRuleError(InputError):
    """A function of the user's own fails, or answers nonsense, half through a run."""


def function_of(file: Path, name: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
    """The function of that name, which must take these parameters; OwnFileError when there is none.

    A file is executed once, however often it is named.
    """
    if not file.is_file():
        raise OwnFileError(f"{file} is no Python file")
    found = getattr(_module(file, file.stat().st_mtime_ns), name, None)
    if not callable(found):
        raise OwnFileError(f"{file} has no function {name}")
    takes = tuple(inspect.signature(found).parameters)
    if takes != parameters:
        raise OwnFileError(f"{name} must take ({', '.join(parameters)}), not ({', '.join(takes)})")
    function: Callable[..., Any] = found
    return function


def tried(name: str, asked: str, call: Callable[[], Any]) -> Any:
    """What a function says, the same twice; OwnFileError when it fails or is fickle."""
    try:
        first, second = call(), call()
    except Exception as fault:  # whatever their code does wrong
        raise OwnFileError(f"{name} fails at {asked}: {type(fault).__name__}: {fault}") from fault
    if first != second:
        raise OwnFileError(f"{name} answers the same question in two ways ({asked})")
    return first


def answered(name: str, arguments: tuple[Any, ...], call: Callable[..., Any]) -> Any:
    """What a function says in a run; OwnRuleError with its arguments when it fails."""
    try:
        return call(*arguments)
    except Exception as fault:  # whatever their code does wrong
        asked = ", ".join(f"{each!r:.80}" for each in arguments)
        why = f"{type(fault).__name__}: {fault}"
        raise OwnRuleError(f"{name}({asked}) fails: {why}") from fault


@lru_cache(maxsize=32)
def _module(file: Path, changed_at: int) -> Any:  # noqa: ARG001 - a changed file is another one
    spec = importlib.util.spec_from_file_location(f"tasksim_own_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise OwnFileError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as fault:  # whatever their code does wrong
        raise OwnFileError(f"{file}: {type(fault).__name__}: {fault}") from fault
    return module
