"""Rules of the house that can be read off the source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "tasksim").rglob("*.py"), *(ROOT / "loadtests").rglob("*.py")])
NAMES = [str(path.relative_to(ROOT)) for path in SOURCES]
LINES_MAX = 450
BODY_LINES_MAX = 50

WIRE_NAMES = re.compile(
    r"pollFrequency|pollInterval|keepAlive|taskId|related-task|modelcontextprotocol"
    r"|tasks/(get|result|list|delete|cancel|created|update)|nextCursor|ttlMs"
)
CLOCKS = re.compile(r"\btime\.(time|monotonic|perf_counter|process_time)(_ns)?\(")
RANDOM = re.compile(r"\brandom\.|default_rng|np\.random|import random|\bsecrets\b|\buuid")
FLOAT_LOGS = re.compile(r"\bnp\.(log|exp|power)\w*\(")
UNSAFE = re.compile(r"\bpickle|\beval\(|\bexec\(|yaml\.load|shell=True")


def code_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a module without docstrings and comments: prose may name what it likes."""
    text = path.read_text(encoding="utf-8")
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(text.splitlines(), 1):
        if number not in prose:
            yield number, line.split("  #", maxsplit=1)[0].split("# ", maxsplit=1)[0]


def offences(pattern: re.Pattern[str], *, allowed: tuple[str, ...]) -> list[str]:
    found = []
    for path, name in zip(SOURCES, NAMES, strict=True):
        if not name.startswith(allowed):
            found += [f"{name}:{n}: {s.strip()}" for n, s in code_lines(path) if pattern.search(s)]
    return found


def test_there_are_sources() -> None:
    assert len(SOURCES) > 30


def test_names_of_the_wire_stand_in_the_dialects_only() -> None:
    assert offences(WIRE_NAMES, allowed=("tasksim/protocol/dialects/",)) == []


def test_clocks_are_read_on_the_live_side_only() -> None:
    assert offences(CLOCKS, allowed=("tasksim/live/", "loadtests/")) == []


def test_randomness_is_keyed_and_ids_are_made_on_the_live_side_only() -> None:
    assert offences(RANDOM, allowed=("tasksim/live/", "loadtests/")) == []


def test_logs_and_powers_of_arrays_build_tables_only() -> None:
    assert offences(FLOAT_LOGS, allowed=("tasksim/scenario/quantiles.py", "tasksim/theory/")) == []


def test_nothing_that_a_peer_sends_is_executed() -> None:
    assert offences(UNSAFE, allowed=()) == []


@pytest.mark.parametrize(("path", "name"), list(zip(SOURCES, NAMES, strict=True)), ids=NAMES)
def test_modules_and_functions_keep_their_size(path: Path, name: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= LINES_MAX, f"{name} is longer than {LINES_MAX} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            assert lines <= BODY_LINES_MAX, f"{name}: {node.name} has {lines} lines"


@pytest.mark.parametrize(("path", "name"), list(zip(SOURCES, NAMES, strict=True)), ids=NAMES)
def test_every_module_says_what_lives_in_it(path: Path, name: str) -> None:
    module = ast.parse(path.read_text(encoding="utf-8"))
    assert not module.body or ast.get_docstring(module), f"{name} has no head"


def test_protocol_and_policies_import_the_standard_library_only() -> None:
    foreign = re.compile(r"^\s*(?:import|from)\s+(?!tasksim)(\w+)")
    known = {
        "collections", "dataclasses", "enum", "heapq", "math", "typing", "itertools",
        "functools", "re", "json", "hashlib", "hmac", "bisect",
    }  # fmt: skip
    found = []
    for path, name in zip(SOURCES, NAMES, strict=True):
        if name.startswith(("tasksim/protocol/", "tasksim/policies/", "tasksim/units.py")):
            for number, line in code_lines(path):
                match = foreign.match(line)
                if match and match[1] not in known:
                    found.append(f"{name}:{number}: {line.strip()}")
    assert found == []
