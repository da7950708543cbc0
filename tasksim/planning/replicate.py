"""Independent replications of a scenario."""

from collections.abc import Callable
from dataclasses import dataclass

from tasksim.engines import simulate
from tasksim.eventlog.run import Level, Run
from tasksim.scenario.model import Scenario

Progress = Callable[[int, int], None]  # told (replication, tasks that have arrived in it)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replications:
    """Finished replications, in order; fewer than asked for when *interrupted*."""

    runs: tuple[Run, ...]
    asked: int
    interrupted: bool = False


def replicate(
    scenario: Scenario, count: int, *, level: Level = "tasks", progress: Progress | None = None
) -> Replications:
    """Run replications 0 to count - 1. Ctrl-C keeps those that are finished."""
    runs: list[Run] = []
    try:
        for replication in range(count):  # a loop, so that Ctrl-C keeps what is there
            runs.append(  # noqa: PERF401
                simulate(
                    scenario,
                    replication=replication,
                    level=level,
                    progress=None if progress is None else _of(progress, replication),
                )
            )
    except KeyboardInterrupt:
        return Replications(runs=tuple(runs), asked=count, interrupted=True)
    return Replications(runs=tuple(runs), asked=count)


def _of(progress: Progress, replication: int) -> Callable[[int], None]:
    return lambda arrived: progress(replication, arrived)
