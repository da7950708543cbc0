"""Compile the kernel ahead of its first use: ``python -m tasksim.engines.fast.warm``."""

import shutil
from dataclasses import replace

from tasksim.engines.fast import cache_folder
from tasksim.engines.fast.engine import simulate
from tasksim.scenario.loading import load


def warm() -> None:
    """Run a few tasks, so that all compiled code is in its cache; drop that of other versions."""
    here = cache_folder()
    for other in here.parent.glob("kernel-*"):
        if other.name != here.name:
            shutil.rmtree(other, ignore_errors=True)
    scenario = replace(load("minimal"), tasks=3)
    simulate(scenario, replication=0, level="events")


if __name__ == "__main__":
    warm()
