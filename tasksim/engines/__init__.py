"""Engines: a scenario in, a run out.

Rule 1: an engine decides nothing about the protocol; the machines of ``protocol`` do.
Rule 2: same scenario, seed and replication: the same run, bit for bit, whatever the engine, the
process, the hash seed or the number of workers.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tasksim.eventlog.run import Level, Run
from tasksim.scenario.model import Scenario
from tasksim.scenario.problems import InputError
from tasksim.scenario.workload import Workload

Progress = Callable[[int], None]  # told the number of tasks that have arrived
FAST_FROM: Final = 500  # tasks; below, loading compiled code takes longer than it saves


class EngineError(InputError):
    """The engine that the scenario names cannot run it."""


def simulate(
    scenario: Scenario,
    *,
    replication: int = 0,
    level: Level = "tasks",
    progress: Progress | None = None,
) -> Run:
    """One replication of the scenario, observed at *level*.

    ``events`` keeps every occurrence, ``tasks`` one row a task, ``summary`` what can be added up,
    with memory for the tasks in flight only. The engine is the one that the scenario names;
    ``auto`` is the fast one where it can run the scenario and that is worth while, else the
    reference, with a note of what the fast one cannot do. EngineError when ``fast`` is named and
    cannot.
    """
    missing = () if scenario.engine == "reference" else _missing(scenario, level)
    if scenario.engine == "fast" and missing:
        raise EngineError(f"engine: fast cannot do this yet: {', '.join(missing)}")
    is_fast = scenario.engine == "fast" or (
        scenario.engine == "auto" and not missing and _is_large(scenario)
    )
    if is_fast:
        from tasksim.engines.fast import engine  # noqa: PLC0415 - Numba loads on use

        return engine.simulate(scenario, replication=replication, level=level, progress=progress)
    from tasksim.engines.reference.model import Model  # noqa: PLC0415 - SimPy loads on use

    run = Model(scenario, replication=replication, level=level, progress=progress).run()
    if missing and level != "summary" and _is_large(scenario):
        note = f"the reference engine ran this; the fast one cannot do {', '.join(missing)} yet"
        return replace(run, notes=(*run.notes, note))
    return run


def _missing(scenario: Scenario, level: Level) -> tuple[str, ...]:
    from tasksim.engines.fast.supports import supports  # noqa: PLC0415 - Numba loads on use

    return (*supports(scenario), *(("level summary",) if level == "summary" else ()))


def _is_large(scenario: Scenario) -> bool:
    tasks = Workload(scenario).expected_tasks()
    return tasks is None or tasks >= FAST_FROM
