"""The table of requirements: complete, true, and kept so."""

import json
from typing import Any

import pytest

from tasksim.cli import main
from tasksim.protocol.requirements import REQUIREMENTS
from tasksim.report.requirements import evidence
from tests.quality.requirements import PLACE, as_text


def test_there_are_55_requirements_as_the_sep_has_them() -> None:
    names = [requirement.name for requirement in REQUIREMENTS]
    assert names == [f"R{number:02}" for number in range(1, 56)]
    counts = {
        keyword: sum(requirement.keyword == keyword for requirement in REQUIREMENTS)
        for keyword in ("MUST", "MUST NOT", "SHOULD", "MAY")
    }
    assert counts == {"MUST": 18, "MUST NOT": 1, "SHOULD": 21, "MAY": 15}


def test_the_table_says_what_the_code_and_the_tests_say() -> None:
    assert PLACE.read_text(encoding="utf-8") == as_text(), "run make requirements"


@pytest.mark.parametrize("found", evidence(), ids=lambda found: found.requirement.name)
def test_every_requirement_is_kept_somewhere_and_tested(found: Any) -> None:
    assert found.code, f"no code says that it keeps {found.requirement.name}"
    assert found.tests, f"no test is marked with {found.requirement.name}"


def test_the_command_prints_the_table(capsys: Any) -> None:
    assert main(["requirements"]) == 0
    text = capsys.readouterr().out
    assert "R20" in text
    assert "tasksim/protocol/lifecycle.py:Lifecycle.on_time" in text
    assert main(["requirements", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == 55
    assert all(entry["code"] and entry["tests"] for entry in found)
