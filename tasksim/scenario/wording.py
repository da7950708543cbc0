"""What is wrong with a scenario, in the user's words.

Rule: nothing of the validating library's terms reaches a user.
"""

import dataclasses
import types
import typing
from typing import Any, Final

from tasksim.scenario.model import Scenario
from tasksim.scenario.more_checks import Problem
from tasksim.scenario.places import Path
from tasksim.scenario.problems import suggestion

# What a value must be, by the validator's name for the fault.
WANTED: Final = {
    "greater_than": "must be > {gt:g}",
    "greater_than_equal": "must be >= {ge:g}",
    "less_than": "must be < {lt:g}",
    "less_than_equal": "must be <= {le:g}",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "string_too_long": "is too long",
    "path_type": "must be a file name",
    "literal_error": "must be {expected}",
    "tuple_type": "must be an array",
    "too_short": "must not be empty",
    "dataclass_type": "must be a table",
    "dict_type": "must be a table",
    "model_attributes_type": "must be a table",
}


def problems_of(errors: list[Any], document: dict[str, Any]) -> list[Problem]:
    """Path and message of every fault that the validator found."""
    problems = [(error["type"], problem_of(error, document)) for error in errors]
    paths = [path for _, (path, _) in problems]

    def is_echo(kind: str, path: Path) -> bool:
        """An array whose elements are faulty is also said to have too few of them."""
        return kind == "too_short" and any(
            len(other) > len(path) and other[: len(path)] == path for other in paths
        )

    return [problem for kind, problem in problems if not is_echo(kind, problem[0])]


def problem_of(error: Any, document: dict[str, Any]) -> Problem:
    """Path and message of one fault that the validator found."""
    kind, context = error["type"], error.get("ctx", {})
    path = _path_of(error["loc"], document)
    if kind == "missing":
        return path, "is missing"
    if kind == "unexpected_keyword_argument":
        return path, f"is not a key here{suggestion(str(path[-1]), _keys_at(error['loc'][:-1]))}"
    if kind == "union_tag_not_found":
        return (*path, "kind"), f"is missing: must be one of {_kinds_at(error['loc'])}"
    if kind == "value_error":
        return path, str(context["error"])
    if kind == "union_tag_invalid":
        found = repr(context["tag"])
        return (*path, "kind"), f"must be {_alternatives(context['expected_tags'])}, not {found}"
    wanted = WANTED.get(kind)
    message = error["msg"] if wanted is None else wanted.format(**context)
    return path, f"{message}, not {_found(error['input'])}"


def shown_path(path: Path, document: dict[str, Any]) -> str:
    """A path as a user would write it: tables of lists by their name."""
    words: list[str] = []
    branch: Any = document
    for step in path:
        inner = _inner(branch, step)
        if isinstance(step, int):
            name = inner.get("name") if isinstance(inner, dict) else None
            words.append(name if isinstance(name, str) and name else str(step))
        else:
            words.append(step)
        branch = inner
    return ".".join(words)


def _path_of(location: tuple[Any, ...], document: dict[str, Any]) -> Path:
    """The validator's location without the tags of unions that it went through."""
    path: Path = ()
    branch: Any = document
    for index, step in enumerate(location):
        is_last = index == len(location) - 1
        is_tag = isinstance(branch, dict) and step not in branch and branch.get("kind") == step
        if not isinstance(branch, dict | list) or (is_tag and not is_last):
            continue
        if is_tag and is_last and step not in branch:
            continue
        path = (*path, step)
        branch = _inner(branch, step)
    return path


def _inner(branch: Any, step: str | int) -> Any:
    if isinstance(branch, dict):
        return branch.get(step)
    if isinstance(branch, list) and isinstance(step, int) and step < len(branch):
        return branch[step]
    return None


def _found(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _alternatives(tags: str) -> str:
    """'a', 'b' becomes 'a' or 'b'."""
    head, comma, last = tags.rpartition(", ")
    return f"{head} or {last}" if comma else tags


def _keys_at(location: tuple[Any, ...]) -> list[str]:
    """Keys of the table that the validator looked at."""
    classes = _classes_at(location)
    return [field.name for cls in classes for field in dataclasses.fields(cls)]


def _kinds_at(location: tuple[Any, ...]) -> str:
    kinds = [cls.__dataclass_fields__["kind"].default for cls in _classes_at(location)]
    return ", ".join(map(repr, kinds))


def _classes_at(location: tuple[Any, ...]) -> list[Any]:
    """Dataclasses that could stand at a location: one, or the members of a union."""
    found: Any = Scenario
    for step in location:
        members = _members(found)
        tagged = [m for m in members if _kind_of(m) == step]
        if isinstance(step, int):
            found = typing.get_args(members[0])[0]
        elif tagged:
            found = tagged[0]
        else:
            hints = typing.get_type_hints(members[0], include_extras=False)
            found = hints[step]
    return [member for member in _members(found) if dataclasses.is_dataclass(member)]


def _members(hint: Any) -> list[Any]:
    """The types that a hint allows, without None."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _members(typing.get_args(hint)[0])
    if origin in {typing.Union, types.UnionType}:
        arms = [arm for arm in typing.get_args(hint) if arm is not type(None)]
        return [member for arm in arms for member in _members(arm)]
    return [hint]


def _kind_of(hint: Any) -> Any:
    field = getattr(hint, "__dataclass_fields__", {}).get("kind")
    return None if field is None else field.default
