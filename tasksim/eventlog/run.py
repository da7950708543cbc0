"""One observed replication, simulated or measured."""

from dataclasses import dataclass
from typing import Literal

from tasksim.eventlog.digest import Digest, SummaryRecorder
from tasksim.eventlog.log import EventLog
from tasksim.eventlog.recorder import EventRecorder, TaskRecorder, fold
from tasksim.eventlog.tasks import RequestCounts, TaskTable

Level = Literal["summary", "tasks", "events"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Run:
    """What was observed: at level ``events`` everything, at ``tasks`` one row a task.

    At level ``summary`` the table is empty, and the digest holds what was added up.
    """

    level: Level
    replication: int
    tasks: TaskTable
    counts: RequestCounts
    events: EventLog | None
    end_at: int  # the last occurrence
    digest: Digest | None = None
    engine: str = "reference"
    notes: tuple[str, ...] = ()


def run_of_log(
    log: EventLog,
    *,
    replication: int = 0,
    notes: tuple[str, ...] = (),
    engine: str = "reference",
) -> Run:
    """Run of a complete event log."""
    tasks, counts = fold(log)
    return Run(
        level="events",
        replication=replication,
        tasks=tasks,
        counts=counts,
        events=log,
        end_at=int(log.at[-1]) if len(log) else 0,
        engine=engine,
        notes=notes,
    )


def finish_run(
    recorder: EventRecorder | TaskRecorder, *, replication: int, notes: tuple[str, ...] = ()
) -> Run:
    """Run that a recorder observed."""
    digest = recorder.digest() if isinstance(recorder, SummaryRecorder) else None
    if isinstance(recorder, EventRecorder):
        return run_of_log(recorder.finish(), replication=replication, notes=notes)
    tasks, counts = recorder.finish()
    return Run(
        level="tasks" if digest is None else "summary",
        replication=replication,
        tasks=tasks,
        counts=counts,
        events=None,
        end_at=recorder.end_at,
        digest=digest,
        notes=notes,
    )
