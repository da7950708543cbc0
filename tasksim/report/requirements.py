"""Where each requirement is kept and tested, as it was gathered from code and tests.

Rule: the file beside this is written by ``make requirements`` and by nobody else.
"""

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from tasksim.protocol.requirements import REQUIREMENTS, Requirement


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where a requirement is kept: places in the code, and tests."""

    requirement: Requirement
    code: tuple[str, ...]
    tests: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """As answers in JSON give it."""
        asked = self.requirement
        return {
            "id": asked.name,
            "section": asked.section,
            "keyword": asked.keyword,
            "binds": asked.binds,
            "says": asked.says,
            "code": list(self.code),
            "tests": list(self.tests),
        }


def evidence() -> tuple[Evidence, ...]:
    """Every requirement with the places that keep it."""
    text = resources.files("tasksim.report").joinpath("requirements.json").read_text("utf-8")
    gathered = json.loads(text)
    return tuple(
        Evidence(
            requirement,
            tuple(gathered[requirement.name]["code"]),
            tuple(gathered[requirement.name]["tests"]),
        )
        for requirement in REQUIREMENTS
    )
