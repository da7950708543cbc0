"""From a TOML file, or a name of the catalogue, to a scenario that can be run.

Rule 1: every problem is told at once, each on a line of its own: file, line, key, what is
allowed, what was found. Nothing runs before.
Rule 2: relative files are relative to the scenario's own folder.
"""

import dataclasses
import hashlib
import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from tasksim.scenario.checks import CHECKS
from tasksim.scenario.model import Scenario
from tasksim.scenario.more_checks import Problem
from tasksim.scenario.overrides import apply
from tasksim.scenario.places import outline_of
from tasksim.scenario.problems import InputError, suggestion
from tasksim.scenario.wording import problems_of, shown_path

STAND_IN: Final = {"kind": "constant", "rate": 1.0}  # for arrivals that are faulty themselves


class ScenarioError(InputError):
    """A scenario cannot be run. ``problems`` holds one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems: Final = tuple(problems)
        super().__init__("\n".join(problems))


def load(source: str | Path, overrides: Sequence[str] = ()) -> Scenario:
    """Scenario in a file, or of the catalogue, with ``key=value`` overrides applied."""
    path = Path(source)
    if path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            raise ScenarioError([f"{path}: cannot be read: {fault}"]) from fault
        return parse(text, str(path), overrides, folder=path.parent)
    names = catalogue_names()
    if str(source) in names:
        entry = resources.files("tasksim.scenario.catalogue") / f"{source}.toml"
        return parse(entry.read_text(encoding="utf-8"), f"{source}.toml", overrides)
    hint = suggestion(str(source), names)
    raise ScenarioError([f"{source}: no such file, and no scenario of the catalogue{hint}"])


def catalogue_names() -> list[str]:
    """Names of the scenarios that come along."""
    folder = resources.files("tasksim.scenario.catalogue")
    names = [entry.name for entry in folder.iterdir()]
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def parse(
    text: str, name: str, overrides: Sequence[str] = (), *, folder: Path | None = None
) -> Scenario:
    """Scenario in a TOML text; *name* stands before the line in messages."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise ScenarioError([_syntax_problem(name, str(fault))]) from fault
    overridden, complaints = apply(document, overrides)
    if complaints:
        raise ScenarioError(complaints)
    _place_files(document, folder or Path())
    scenario, problems = _validated(document)
    if problems:
        outline = outline_of(text)

        def line(problem: Problem) -> str:
            path, message = problem
            key = shown_path(path, document)
            for changed in overridden:
                if path[: len(changed)] == changed:
                    return f"--set {key}: {message}"
            where = f"{name}:{outline.line_of(path)}"
            return f"{where}: {key}: {message}" if key else f"{where}: {message}"

        ordered = sorted(problems, key=lambda problem: outline.line_of(problem[0]))
        raise ScenarioError([line(problem) for problem in ordered])
    assert scenario is not None, "a scenario without problems was built"
    return scenario


def schema_json() -> dict[str, Any]:
    """JSON Schema of scenario files."""
    schema = TypeAdapter(Scenario).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def dump_toml(scenario: Scenario, *, folder: Path | None = None) -> str:
    """The scenario as a TOML text with everything spelled out.

    Files are named absolutely, or relative to the *folder* where the text will stand.
    """
    import tomli_w  # noqa: PLC0415 - loads on use

    def shown(path: Path) -> str:
        return str(path) if folder is None else os.path.relpath(path, folder)

    return tomli_w.dumps(_plain(scenario, shown))


def scenario_digest(scenario: Scenario) -> str:
    """SHA-256 of the scenario with its seed; files count by their content, not their name.

    What stands at its default does not count, so that keys that are yet to come change no digest.
    """
    plain = json.dumps(_plain(scenario, _content_digest, skip_defaults=True), sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _validated(document: dict[str, Any]) -> tuple[Scenario | None, list[Problem]]:
    """The scenario and all problems, those that concern several sections included."""
    adapter = TypeAdapter(Scenario)
    problems: list[Problem] = []
    try:
        scenario = adapter.validate_json(_as_json(document))
    except ValidationError as fault:
        problems = problems_of(fault.errors(include_url=False), document)
        sound = _without_faulty(document, {path[0] for path, _ in problems if path})
        try:
            scenario = adapter.validate_json(_as_json(sound))
        except ValidationError:
            return None, problems
    faulty = {str(path[0]) for path, _ in problems if path}
    for check, sections in CHECKS:
        if not sections & faulty:
            problems += check(scenario)
    return scenario, problems


def _without_faulty(document: dict[str, Any], faulty: set[str | int]) -> dict[str, Any]:
    sound = {key: value for key, value in document.items() if key not in faulty}
    sound.setdefault("arrivals", STAND_IN)
    return sound


def _as_json(document: dict[str, Any]) -> str:
    return json.dumps(document, default=str)  # dates become strings, which no key takes


def _place_files(branch: Any, folder: Path) -> None:
    """Make the values of every ``file`` key absolute."""
    if isinstance(branch, list):
        for item in branch:
            _place_files(item, folder)
    elif isinstance(branch, dict):
        for key, value in branch.items():
            if key == "file" and isinstance(value, str):
                branch[key] = str((folder / value).absolute())
            else:
                _place_files(value, folder)


def _syntax_problem(name: str, message: str) -> str:
    text, _, place = message.partition(" (at ")
    line = "".join(filter(str.isdigit, place.partition(",")[0]))
    return f"{name}:{line or 1}: not TOML: {text}"


def _plain(value: Any, shown: Callable[[Path], str], *, skip_defaults: bool = False) -> Any:
    """Dataclasses as dictionaries, without what is None; files as *shown* shows them.

    A law's or a rule's ``kind`` is kept even where it is the default: it says what the rest means.
    """
    if isinstance(value, tuple):
        return [_plain(item, shown, skip_defaults=skip_defaults) for item in value]
    if isinstance(value, Path):
        return shown(value)
    if isinstance(value, Mapping):
        return {
            key: _plain(item, shown, skip_defaults=skip_defaults) for key, item in value.items()
        }
    if not dataclasses.is_dataclass(value):
        return value
    table = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        is_skipped = skip_defaults and field.name != "kind" and _is_default(field, item)
        if item is not None and not is_skipped:
            table[field.name] = _plain(item, shown, skip_defaults=skip_defaults)
    return table


def _is_default(field: "dataclasses.Field[Any]", item: Any) -> bool:
    if field.default_factory is not dataclasses.MISSING:
        return bool(item == field.default_factory())
    return bool(item == field.default)


def _content_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
