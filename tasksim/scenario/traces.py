"""Job and request logs as arrivals: CSV, Parquet, Standard Workload Format.

Rule 1: a malformed line is named by its number; all of them (the first twenty) in one message.
Rule 2: what a log says is kept: arrivals are only shifted to start at 0 and divided by
``speed_up``; durations are only multiplied by ``duration_scale``.
Rule 3: a column that a log does not have is absent, not invented.

Source of the SWF columns: Feitelson, Parallel Workloads Archive, version 2.2 (field 2 submit
time, field 4 run time, field 12 user; -1 is unknown).
"""

import csv
import gzip
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tasksim.scenario.model import Columns, Trace
from tasksim.scenario.variates import LONGEST_NS
from tasksim.units import NS_PER_S

Ints = npt.NDArray[np.int64]

SHOWN: Final = 20
LONGEST_S: Final = LONGEST_NS / NS_PER_S
SWF_SUBMIT, SWF_RUN, SWF_USER = 1, 3, 11
SWF_FIELDS: Final = 18
SWF_ENDINGS: Final = (".swf", ".swf.gz")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
STAMP: Final = re.compile(r"(.+\d\d:\d\d:\d\d)(?:[.,](\d{1,12}))?(Z|[+-]\d\d:?\d\d)?")


class TraceError(ValueError):
    """The trace cannot be used; the text names file and lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRows:
    """Tasks of a trace in order of arrival; arrays of one length."""

    arrival_ns: Ints
    requester: Ints | None  # dense numbers, in order of the log's sorted names
    duration_ns: Ints | None
    work: Ints | None = None  # places of the class names that were handed in
    requesters: int = 0
    skipped: int = 0  # rows without a run time

    def __len__(self) -> int:
        return len(self.arrival_ns)


class _Cells(NamedTuple):
    """What a row says; None where the trace has no such column."""

    arrival: object
    requester: object
    duration: object
    work: object


@dataclass(slots=True)
class _Rows:
    """Rows as they are read, and what was wrong with others."""

    classes: tuple[str, ...] = ()
    arrival_ns: list[int] = field(default_factory=list)
    requester: list[str] = field(default_factory=list)
    duration_s: list[float] = field(default_factory=list)
    work: list[int] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    skipped: int = 0

    def add(self, line: int, cells: _Cells) -> None:
        """Keep a row whose cells are sound."""
        arrival_ns = 0 if cells.arrival is None else _instant_ns(cells.arrival)
        duration_s = 0.0 if cells.duration is None else _number(cells.duration)
        problem = None
        if arrival_ns is None:
            problem = f"arrival must be a number of seconds or a time stamp, not {cells.arrival!r}"
        elif duration_s is None or duration_s < 0:
            problem = f"duration must be a number >= 0, not {cells.duration!r}"
        elif cells.requester == "":
            problem = "requester is empty"
        elif cells.work is not None and str(cells.work) not in self.classes:
            known = ", ".join(map(repr, self.classes))
            problem = f"no [[work]] table is named {str(cells.work)!r}; there are {known}"
        if problem is not None or arrival_ns is None or duration_s is None:
            self.bad.append(f"line {line}: {problem}")
            return
        self.arrival_ns.append(arrival_ns)
        self.duration_s.append(duration_s)
        self.requester.append(str(cells.requester))
        self.work.append(0 if cells.work is None else self.classes.index(str(cells.work)))


def is_swf(trace: Trace) -> bool:
    """Whether the file is of the Standard Workload Format, whose columns are known."""
    return trace.file.name.endswith(SWF_ENDINGS)


def read_trace(trace: Trace, classes: tuple[str, ...] = ()) -> TraceRows:
    """Rows of a trace, cut and scaled as it says. TraceError when they cannot be used.

    *classes* are the names that a column of classes may hold.
    """
    try:
        state = trace.file.stat()
    except OSError as fault:
        raise TraceError(f"{trace.file}: cannot be read: {fault}") from fault
    return _read(trace, classes, (state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=4)
def _read(trace: Trace, classes: tuple[str, ...], version: tuple[int, int]) -> TraceRows:  # noqa: ARG001
    """Rows of one version of the file."""
    columns = trace.columns or Columns()
    try:
        if is_swf(trace):
            rows = _read_swf(trace)
        elif trace.file.suffix == ".parquet":
            rows = _read_parquet(trace, columns, classes)
        else:
            rows = _read_csv(trace, columns, classes)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as fault:
        raise TraceError(f"{trace.file}: cannot be read: {fault}") from fault
    if rows.bad:
        more = len(rows.bad) - SHOWN
        shown = rows.bad[:SHOWN] + ([f"... and {more} more"] if more > 0 else [])
        raise TraceError(f"{trace.file}: " + "; ".join(shown))
    if not rows.arrival_ns:
        raise TraceError(f"{trace.file}: has no tasks")
    return _ordered(rows, trace, Columns() if is_swf(trace) else columns)


def _ordered(rows: _Rows, trace: Trace, columns: Columns) -> TraceRows:
    """Rows by arrival (stable), cut to those asked for, from instant 0 on."""
    order = sorted(range(len(rows.arrival_ns)), key=rows.arrival_ns.__getitem__)
    order = order[trace.first :][: trace.tasks]
    if not order:
        total = len(rows.arrival_ns)
        raise TraceError(f"{trace.file}: first = {trace.first} leaves none of its {total}")
    first_ns = rows.arrival_ns[order[0]]
    since_first_ns = [rows.arrival_ns[place] - first_ns for place in order]
    if since_first_ns[-1] / trace.speed_up > LONGEST_NS:
        raise TraceError(f"{trace.file}: spans more than 18 years")
    if trace.speed_up != 1.0:
        since_first_ns = [int(since / trace.speed_up + 0.5) for since in since_first_ns]
    names, numbers = np.unique(np.array(rows.requester)[order], return_inverse=True)
    duration_s = np.array(rows.duration_s)[order] * trace.duration_scale
    if duration_s.max() > LONGEST_S:
        raise TraceError(f"{trace.file}: holds a duration of more than 18 years")
    has_requester = columns.requester is not False
    return TraceRows(
        arrival_ns=np.array(since_first_ns, dtype=np.int64),
        requester=numbers.astype(np.int64) if has_requester else None,
        duration_ns=None if columns.duration is False else _ns(duration_s),
        work=None if columns.work is False else np.array(rows.work, dtype=np.int64)[order],
        requesters=len(names) if has_requester else 0,
        skipped=rows.skipped,
    )


def _ns(seconds: npt.NDArray[np.float64]) -> Ints:
    return np.floor(seconds * NS_PER_S + 0.5).astype(np.int64)


def _read_swf(trace: Trace) -> _Rows:
    rows = _Rows()
    opened = gzip.open if trace.file.name.endswith(".gz") else open
    with opened(trace.file, "rt", encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if not line.startswith(";") and line.strip():
                _add_swf(rows, number, line.split())
    return rows


def _add_swf(rows: _Rows, number: int, fields: list[str]) -> None:
    if len(fields) != SWF_FIELDS:
        rows.bad.append(f"line {number}: has {len(fields)} fields, not {SWF_FIELDS}")
        return
    run = _number(fields[SWF_RUN])
    if run is not None and run < 0:
        rows.skipped += 1  # -1: unknown, the job never ran
        return
    rows.add(number, _Cells(fields[SWF_SUBMIT], fields[SWF_USER], fields[SWF_RUN], None))


def _read_csv(trace: Trace, columns: Columns, classes: tuple[str, ...]) -> _Rows:
    rows = _Rows(classes)
    with trace.file.open(newline="", encoding="utf-8-sig") as lines:
        table = csv.reader(lines)
        places = _places(trace, next(table, []), columns)
        last = max((place for place in places if place is not None), default=0)
        for cells in table:
            if not cells:
                continue
            if len(cells) <= last:
                rows.bad.append(f"line {table.line_num}: has {len(cells)} fields, too few")
                continue
            found = (None if place is None else cells[place] for place in places)
            rows.add(table.line_num, _Cells(*found))
    return rows


def _places(trace: Trace, heading: list[str], columns: Columns) -> list[int | None]:
    """Places of a row's cells in the heading; TraceError names those that are not there."""
    wanted = (columns.arrival, columns.requester, columns.duration, columns.work)
    missing = [repr(name) for name in wanted if name is not False and name not in heading]
    if missing:
        found = ", ".join(map(repr, heading)) or "nothing"
        raise TraceError(
            f"{trace.file}: line 1: no column {' and no column '.join(missing)}; it has {found}"
        )
    return [None if name is False else heading.index(name) for name in wanted]


def _read_parquet(trace: Trace, columns: Columns, classes: tuple[str, ...]) -> _Rows:
    import pyarrow.parquet as pq  # noqa: PLC0415 - loads on use
    from pyarrow.lib import ArrowException  # noqa: PLC0415

    rows = _Rows(classes)
    try:
        file = pq.ParquetFile(trace.file)
        names = file.schema_arrow.names
        places = _places(trace, names, columns)
        used = [names[place] for place in places if place is not None]
        for number, row in enumerate(_records(file.iter_batches(columns=used)), 1):
            if None in row.values():
                rows.bad.append(f"line {number}: has an empty field")
                continue
            found = (None if place is None else row[names[place]] for place in places)
            rows.add(number, _Cells(*found))
    except ArrowException as fault:
        raise TraceError(f"{trace.file}: cannot be read: {fault}") from fault
    return rows


def _records(batches: Iterable[object]) -> Iterator[dict[str, object]]:
    for batch in batches:
        yield from batch.to_pylist()  # type: ignore[attr-defined]


def _number(cell: object) -> float | None:
    """A finite number within reach, or None."""
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _instant_ns(cell: object) -> int | None:
    """Nanoseconds of a number of seconds or of a time stamp (UTC where it names no zone)."""
    seconds = _number(cell)
    if seconds is not None:
        return math.floor(seconds * NS_PER_S + 0.5)
    found = STAMP.fullmatch(cell.isoformat() if isinstance(cell, datetime) else str(cell))
    if found is None:
        return None
    whole, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(whole + (zone or ""))
    except ValueError:
        return None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
    return since // timedelta(seconds=1) * NS_PER_S + int((fraction or "0").ljust(9, "0")[:9])
