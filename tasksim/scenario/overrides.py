"""``--set key=value``: changes to a scenario's document before it is checked.

Rule: a key is a path of names; a table of a list is addressed by its name, or by its number.
"""

import tomllib
from collections.abc import Sequence
from typing import Any

from tasksim.scenario.places import Path


def apply(document: dict[str, Any], overrides: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Change *document* in place; the paths that were set, and what could not be."""
    paths: list[Path] = []
    complaints: list[str] = []
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key.strip():
            complaints.append(f"--set {override}: must be KEY=VALUE")
            continue
        try:
            paths.append(_put(document, key.strip().split("."), _value(value.strip())))
        except LookupError as fault:
            complaints.append(f"--set {key.strip()}: {fault.args[0]}")
    return paths, complaints


def _value(text: str) -> Any:
    """The text as a TOML value; what is none is a string."""
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if set(parsed) == {"value"} else text


def _put(document: dict[str, Any], names: list[str], value: Any) -> Path:
    branch: Any = document
    path: Path = ()
    for name in names[:-1]:
        step = _step(branch, name)
        if isinstance(branch, dict) and step not in branch:
            branch[step] = {}
        branch = branch[step]
        path = (*path, step)
    last = _step(branch, names[-1])
    branch[last] = value
    return (*path, last)


def _step(branch: Any, name: str) -> str | int:
    """Key or index that *name* means in a table or a list of tables."""
    if isinstance(branch, dict):
        return name
    if not isinstance(branch, list):
        raise LookupError(f"{name!r} is below a value that is no table")  # noqa: TRY004
    known = [item.get("name") if isinstance(item, dict) else None for item in branch]
    if name in known:
        return known.index(name)
    if name.isdecimal() and int(name) < len(branch):
        return int(name)
    shown = ", ".join(repr(item) for item in known if item is not None) or "none"
    raise LookupError(f"no table is named {name!r}; there are {shown}")
