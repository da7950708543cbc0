"""What the README says is so: its scenario can be run, its commands exist."""

import argparse
import re
from pathlib import Path

from tasksim.cli import COMMANDS
from tasksim.scenario.loading import parse

TEXT = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_scenario_of_the_readme_can_be_run() -> None:
    (block,) = [b for b in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL) if "[arrivals]" in b]
    scenario = parse(block, "README.md")
    assert scenario.requesters[0].patience_s == 600


def test_every_command_is_told_and_no_other() -> None:
    subparsers = argparse.ArgumentParser().add_subparsers()
    for command in COMMANDS:
        command.add_to(subparsers)
    told = set(re.findall(r"`tasksim ([a-z][a-z-]+)", TEXT))
    assert told == set(subparsers.choices)
