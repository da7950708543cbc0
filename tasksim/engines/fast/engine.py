"""One replication by the compiled kernel."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tasksim.engines.fast import layout as c
from tasksim.engines.fast.flat import Flat
from tasksim.engines.fast.heap import FAR
from tasksim.engines.fast.kernel import MARGIN, run_some
from tasksim.engines.fast.layout import World
from tasksim.engines.fast.recording import COLUMN, TABLE_COLUMNS, settle_second
from tasksim.eventlog.log import EventLog, log_of
from tasksim.eventlog.recorder import BINS_MAX, BLANK
from tasksim.eventlog.run import Level, Run, run_of_log
from tasksim.eventlog.schema import NEVER
from tasksim.eventlog.tasks import RequestCounts, table_of
from tasksim.protocol.occurrences import SIDE_OF, Kind, Operation
from tasksim.scenario.model import Scenario
from tasksim.units import NS_PER_S

SOME: Final = 1 << 20  # events between two looks at the clock and at Ctrl-C
GROWING: Final = ("heap", "slots", "rows")


def simulate(
    scenario: Scenario,
    *,
    replication: int,
    level: Level,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """The run of a scenario that ``flat.supports``."""
    flat = Flat(scenario, replication)
    w = world(flat, keeps_rows=level == "events")
    while not run_some(w, SOME):
        w = grown(w)
        if progress is not None:
            progress(int(w.counters[c.NEXT_ARRIVAL]))
    if progress is not None:
        progress(int(w.counters[c.NEXT_ARRIVAL]))
    return _run_of(flat, w, replication, level)


def world(flat: Flat, *, keeps_rows: bool) -> World:
    """Arrays for a run that has not begun."""
    tasks = len(flat.keys)
    settings = flat.settings.copy()
    settings[c.KEEP_ROWS] = keeps_rows
    state = np.full((tasks, c.STATE_COLUMNS), NEVER, dtype=np.int64)
    for column in (
        c.PHASE, c.CONFIRMED, c.LAST_GAP, c.ATTEMPT, c.ON_WAY, c.POLLED_AT, c.FETCHES, c.FAILURES,
        c.LIMITED, c.SENT_AT, c.CANCEL_WAITS, c.DETECTED, c.LEFT, c.STARTED, c.AT_WORK, c.QUEUED,
    ):  # fmt: skip
        state[:, column] = 0
    counters = np.zeros(c.COUNTERS, dtype=np.int64)
    counters[c.SLOTS_FREE] = counters[c.PENDING] = -1
    counters[c.BIN_NS] = NS_PER_S
    table = np.tile(np.array(BLANK, dtype=np.int64), (tasks, 1))
    table[:, COLUMN["task"]] = np.arange(tasks)
    table[:, COLUMN["requester"]] = flat.plans[:, c.REQUESTER]
    requesters = max(int(flat.plans[:, c.REQUESTER].max(initial=0)) + 1, 1)
    assert table.shape[1] == TABLE_COLUMNS, "a row of the recorder"
    return World(
        plans=flat.plans,
        keys=flat.keys,
        state=state,
        table=table,
        populations=flat.populations,
        classes=flat.classes,
        settings=settings,
        advice=flat.advice,
        spread=flat.spread,
        lost=flat.lost,
        params=flat.params,
        laws=flat.laws,
        counters=counters,
        heap=np.zeros((4 * MARGIN, 3), dtype=np.int64),
        lanes=np.zeros((c.LANES, 4 * MARGIN, 3), dtype=np.int64),
        ends=np.tile(np.array([0, 0, FAR, FAR], dtype=np.int64), (c.LANES, 1)),
        slots=np.zeros((4 * MARGIN, 4), dtype=np.int64),
        queue=np.zeros(tasks + 1, dtype=np.int64),
        limits=np.zeros(requesters, dtype=np.int64),
        open=np.tile(np.array([0, NEVER, NEVER], dtype=np.int64), (requesters, 1)),
        rows=np.zeros((4 * MARGIN, 8), dtype=np.int64),
        requests=np.zeros((2, len(Operation)), dtype=np.int64),
        bins=np.zeros((len(Operation), BINS_MAX), dtype=np.int64),
    )


def grown(w: World) -> World:
    """The same with room for more, where there is little left."""
    used = (w.counters[c.EVENTS], w.counters[c.SLOTS_USED], w.counters[c.ROWS])
    larger: dict[str, Any] = {}
    for name, count in zip(GROWING, used, strict=True):
        array = getattr(w, name)
        if count + 2 * MARGIN > len(array):
            larger[name] = np.concatenate([array, np.zeros_like(array)])
    if int((w.ends[:, 1] - w.ends[:, 0]).max()) + 2 * MARGIN > w.lanes.shape[1]:
        larger["lanes"] = _longer(w)
    return w._replace(**larger) if larger else w


def _longer(w: World) -> Any:
    """Rings of twice the length, in which everything has its place."""
    count, length, width = w.lanes.shape
    found = np.zeros((count, 2 * length, width), dtype=np.int64)
    for lane in range(count):
        places = np.arange(w.ends[lane, 0], w.ends[lane, 1])
        found[lane, places % (2 * length)] = w.lanes[lane, places % length]
    return found


def _run_of(flat: Flat, w: World, replication: int, level: Level) -> Run:
    if level == "events":
        return run_of_log(
            _log_of(flat, w), replication=replication, notes=flat.workload.notes, engine="fast"
        )
    settle_second(w.counters)
    arrived = int(w.counters[c.NEXT_ARRIVAL])
    tasks = table_of({name: w.table[:arrived, index] for name, index in COLUMN.items()})
    counts = RequestCounts(
        by_operation=tuple(w.requests[0].tolist()),
        limited=tuple(w.requests[1].tolist()),
        peak=int(w.counters[c.PEAK]),
        peak_polls=int(w.counters[c.PEAK_POLLS]),
        held_peak=0,
        bin_ns=int(w.counters[c.BIN_NS]),
        bins=w.bins[:, : int(w.counters[c.BINS_USED])].copy(),
    )
    return Run(
        level="tasks",
        replication=replication,
        tasks=tasks,
        counts=counts,
        events=None,
        engine="fast",
        end_at=int(w.counters[c.END_AT]),
        notes=flat.workload.notes,
    )


def _log_of(flat: Flat, w: World) -> EventLog:
    rows = w.rows[: int(w.counters[c.ROWS])]
    names = ("at", "kind", "task", "operation", "ordinal", "status", "reason", "value")
    columns: dict[str, Any] = {name: rows[:, k] for k, name in enumerate(names)}
    sides = np.array([SIDE_OF[kind] for kind in Kind], dtype="i1")
    columns["side"] = sides[columns["kind"]]
    columns["requester"] = flat.plans[columns["task"], c.REQUESTER]
    return log_of(columns)
