"""A run as a trace for Perfetto or chrome://tracing.

Rule 1: every slice is an interval between two rows of the log; nothing is invented.
Rule 2: instants are microseconds of the run's clock, with three decimals: nanoseconds survive.

Source: Chrome's Trace Event Format (complete, nestable asynchronous, counter and metadata events).
"""

import json
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any, Final

import numpy as np

from tasksim.eventlog.log import EventLog
from tasksim.eventlog.run import Run
from tasksim.eventlog.schema import NEVER
from tasksim.eventlog.tasks import TaskTable
from tasksim.metrics.path import number_over_time
from tasksim.metrics.summary import busy_intervals
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.states import Status

REQUESTERS: Final = 1  # process numbers of the trace
RECEIVER: Final = 2
WORKERS: Final = 3
NAMES: Final = {REQUESTERS: "requesters", RECEIVER: "receiver", WORKERS: "workers"}
Event = dict[str, Any]

# What a receiver's task is in between which instants.
STAGES: Final = (
    ("submitted", "created_at", ("started_at", "terminal_at", "deleted_at", "wiped_at")),
    ("at work", "started_at", ("terminal_at", "deleted_at", "wiped_at")),
    ("kept", "terminal_at", ("expired_at", "deleted_at", "wiped_at")),
)


def perfetto_trace(run: Run) -> str:
    """JSON text of the whole run, which must have been observed at level ``events``."""
    assert run.events is not None, "a trace needs every occurrence"
    events = [
        *_processes(),
        *_tasks(run.tasks),
        *_stages(run.tasks),
        *_exchanges(run.events),
        *_workers(run.tasks),
        *_counters(run.tasks),
    ]
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, separators=(",", ":"))


def _processes() -> Iterator[Event]:
    for process, name in NAMES.items():
        yield {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}


def _us(at: int) -> float:
    return at / 1000


def _span(name: str, process: int, task: int, start: int, end: int, **args: Any) -> list[Event]:
    """A nestable slice of a task's track."""
    common = {"cat": "task", "id": f"{process}.{task}", "pid": process, "tid": process}
    begin = {"ph": "b", "name": name, "ts": _us(start), **common, "args": args}
    return [begin, {"ph": "e", "name": name, "ts": _us(end), **common}]


def _rows(table: TaskTable) -> Iterator[dict[str, int]]:
    columns = {name: column.tolist() for name, column in table.columns().items()}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _tasks(table: TaskTable) -> Iterator[Event]:
    """Each task from its arrival to its close."""
    for row in _rows(table):
        if row["arrival_at"] == NEVER or row["closed_at"] == NEVER:
            continue
        outcome = Reason(row["outcome"]).name.lower()
        yield from _span(
            f"task {row['task']}", REQUESTERS, row["task"], row["arrival_at"], row["closed_at"],
            requester=row["requester"], outcome=outcome, polls=row["polls_sent"],
        )  # fmt: skip


def _stages(table: TaskTable) -> Iterator[Event]:
    """What the receiver's task is, and for how long."""
    for row in _rows(table):
        for name, start, ends in STAGES:
            found = [row[end] for end in ends if row[end] != NEVER]
            if row[start] != NEVER and found:
                status = "" if row["status"] == NEVER else Status(row["status"]).name.lower()
                yield from _span(name, RECEIVER, row["task"], row[start], min(found), status=status)


def _exchanges(log: EventLog) -> Iterator[Event]:
    """Each request from its leaving to its answer; what was lost is an instant."""
    sent: dict[tuple[int, int, int], int] = {}
    columns = (log.at, log.kind, log.task, log.operation, log.ordinal)
    for at, kind, task, operation, ordinal in zip(*(c.tolist() for c in columns), strict=True):
        exchange = (task, operation, ordinal)
        if kind == Kind.SENT:
            sent[exchange] = at
        elif kind in {Kind.ANSWERED, Kind.REQUEST_TIMED_OUT} and exchange in sent:
            name = f"{Operation(operation).name.lower()} {ordinal}"
            yield from _span(name, REQUESTERS, task, sent.pop(exchange), at)
        elif kind in {Kind.LOST, Kind.RESTARTED}:
            what = "restarted" if kind == Kind.RESTARTED else f"{Operation(operation).name} lost"
            yield {
                "ph": "i", "s": "g", "name": what.lower(), "ts": _us(at),
                "pid": RECEIVER, "tid": RECEIVER, "args": {"task": task},
            }  # fmt: skip


def _workers(table: TaskTable) -> Iterator[Event]:
    """What each worker is at, on as many lanes as were busy at once."""
    begins, ends, tasks = busy_intervals(table)
    is_over = ends != NEVER
    begins, ends, tasks = begins[is_over], ends[is_over], tasks[is_over]
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    lanes = 0
    for place in np.lexsort([tasks, begins]).tolist():
        start, end = int(begins[place]), int(ends[place])
        while busy and busy[0][0] <= start:
            heappush(free, heappop(busy)[1])
        if not free:
            lanes += 1
            heappush(free, lanes)
        lane = heappop(free)
        heappush(busy, (end, lane))
        yield {
            "ph": "X", "name": f"task {tasks[place]}", "ts": _us(start), "dur": _us(end - start),
            "pid": WORKERS, "tid": lane,
        }  # fmt: skip


def _counters(table: TaskTable) -> Iterator[Event]:
    """Tasks in the system, and tasks remembered."""
    gone_at = np.maximum(table.deleted_at, table.wiped_at)
    ways = {
        "tasks in system": np.where(table.terminal_at == NEVER, gone_at, table.terminal_at),
        "tasks resident": np.maximum(table.expired_at, gone_at),
    }
    for name, left_at in ways.items():
        path = number_over_time(table.created_at, left_at)
        for at, number in zip(path.instants.tolist(), path.numbers.tolist(), strict=True):
            yield {
                "ph": "C", "name": name, "ts": _us(at), "pid": RECEIVER, "args": {"tasks": number},
            }  # fmt: skip
