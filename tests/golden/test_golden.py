"""Tiny runs, compared with their reviewed logs line by line."""

from pathlib import Path

import pytest

from .traces import scenarios, trace_of


@pytest.mark.parametrize("scenario", scenarios(), ids=[path.stem for path in scenarios()])
def test_a_tiny_run_is_as_it_was_reviewed(scenario: Path) -> None:
    assert trace_of(scenario) == scenario.with_suffix(".txt").read_text(encoding="utf-8")


def test_there_are_golden_traces() -> None:
    assert len(scenarios()) >= 5
