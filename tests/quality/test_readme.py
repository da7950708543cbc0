"""What the README says is so: its scenario can be run, its commands exist."""

import argparse
import re
from pathlib import Path

from tasksim.cli import COMMANDS
from tasksim.engines import simulate
from tasksim.metrics.summary import summarise
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


def test_the_rules_of_ones_own_that_the_readme_shows_can_be_used(tmp_path: Path) -> None:
    (code,) = [b for b in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "def take" in b]
    (own,) = [b for b in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL) if "mine.py" in b]
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    rest = "tasks = 20\n[arrivals]\nkind = 'poisson'\nrate = 1\n"
    scenario = parse(rest + own, "README.md", folder=tmp_path)
    late = summarise([simulate(scenario)], scenario).get("own.late_share")
    assert late is not None
    assert 0 <= late.value <= 1
    rules = [len(f.splitlines()) for f in code.split("\n\n")]
    assert max(rules) <= 10
