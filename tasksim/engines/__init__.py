"""Engines: a scenario in, a run out.

Rule 1: an engine decides nothing about the protocol; the machines of ``protocol`` do.
Rule 2: same scenario, seed and replication: the same run, bit for bit, whatever the process,
the hash seed or the number of workers.
"""

from collections.abc import Callable

from tasksim.eventlog.run import Level, Run
from tasksim.scenario.model import Scenario

Progress = Callable[[int], None]  # told the number of tasks that have arrived


def simulate(
    scenario: Scenario,
    *,
    replication: int = 0,
    level: Level = "tasks",
    progress: Progress | None = None,
) -> Run:
    """One replication of the scenario, observed at *level*.

    ``events`` keeps every occurrence, ``tasks`` one row a task, ``summary`` what can be added up,
    with memory for the tasks in flight only. The engine is the one that the
    scenario names; ``auto`` is the reference engine.
    """
    from tasksim.engines.reference.model import Model  # noqa: PLC0415 - SimPy loads on use

    return Model(scenario, replication=replication, level=level, progress=progress).run()
