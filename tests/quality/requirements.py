"""Gathers which code says that it keeps a requirement, and which tests hold it up.

``python -m tests.quality.requirements`` (``make requirements``) writes
``tasksim/report/requirements.json``; a test holds the file to what would be gathered.
"""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from tasksim.protocol.requirements import REQUIREMENTS

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "tasksim" / "report" / "requirements.json"
NAME = re.compile(r"\bR(\d\d)(?:-R(\d\d))?\b")
TABLE = ROOT / "tasksim" / "protocol" / "requirements.py"  # says all of them


def gathered() -> dict[str, dict[str, list[str]]]:
    """By requirement: places in the code and tests, in order."""
    found: dict[str, dict[str, set[str]]] = {
        requirement.name: {"code": set(), "tests": set()} for requirement in REQUIREMENTS
    }
    for path in [*(ROOT / "tasksim").rglob("*.py"), *(ROOT / "loadtests").rglob("*.py")]:
        if path != TABLE:
            for name, place in mentions(path):
                found[name]["code"].add(place)
    for path in (ROOT / "tests").rglob("test_*.py"):
        for name, place in marks(path):
            found[name]["tests"].add(place)
    return {
        name: {kind: sorted(places) for kind, places in kinds.items()}
        for name, kinds in found.items()
    }


def mentions(path: Path) -> Iterator[tuple[str, str]]:
    """(requirement, file:symbol) of every mention in a docstring or a comment."""
    text = path.read_text(encoding="utf-8")
    scopes = list(_scopes(ast.parse(text)))
    for number, line in enumerate(text.splitlines(), 1):
        for match in NAME.finditer(line):
            first, last = int(match[1]), int(match[2] or match[1])
            inside = [scope for scope in scopes if scope[0] <= number <= scope[1]]
            symbol = max(inside, default=(0, 0, ""))[2]
            place = f"{path.relative_to(ROOT)}{':' if symbol else ''}{symbol}"
            for requirement in range(first, last + 1):
                yield f"R{requirement:02}", place


def marks(path: Path) -> Iterator[tuple[str, str]]:
    """(requirement, file::test) of every test that is marked."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == (
                "pytest.mark.requirement"
            ):
                for argument in decorator.args:
                    assert isinstance(argument, ast.Constant)
                    yield str(argument.value), f"{path.relative_to(ROOT)}::{node.name}"


def _scopes(tree: ast.Module) -> Iterator[tuple[int, int, str]]:
    """(first line, last line, dotted name) of classes and functions."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}.{child.name}" if prefix else child.name
                yield child.lineno, child.end_lineno or child.lineno, name
            pending.append((child, name))


def as_text() -> str:
    return json.dumps(gathered(), indent=1) + "\n"


if __name__ == "__main__":
    PLACE.write_text(as_text(), encoding="utf-8")
    print(f"wrote {PLACE.relative_to(ROOT)}")
