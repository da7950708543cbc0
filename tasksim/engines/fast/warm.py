"""Compile the kernel ahead of its first use: ``python -m tasksim.engines.fast.warm``."""

from dataclasses import replace

from tasksim.engines.fast.engine import simulate
from tasksim.scenario.loading import load


def warm() -> None:
    """Run a few tasks, so that all compiled code is in its cache."""
    scenario = replace(load("minimal"), tasks=3)
    simulate(scenario, replication=0, level="events")


if __name__ == "__main__":
    warm()
