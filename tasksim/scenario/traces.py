"""Job and request logs as arrivals: CSV, Parquet, Standard Workload Format.

Rule 1: a malformed line is named by its number; all of them (the first twenty) in one message.
Rule 2: what a log says is kept: arrivals are only shifted to start at 0 and divided by
``speed_up``; durations are never scaled.

Source of the SWF columns: Feitelson, Parallel Workloads Archive, version 2.2 (field 2 submit
time, field 4 run time, field 12 user; -1 is unknown).
"""

import csv
import gzip
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

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


class TraceError(ValueError):
    """The trace cannot be used; the text names file and lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRows:
    """Tasks of a trace in order of arrival; arrays of one length."""

    arrival_ns: Ints
    requester: Ints | None  # dense numbers, in order of the log's sorted names
    duration_ns: Ints | None
    requesters: int = 0
    skipped: int = 0  # rows without a run time

    def __len__(self) -> int:
        return len(self.arrival_ns)


@dataclass(slots=True)
class _Rows:
    """Rows as they are read, and what was wrong with others."""

    arrival_s: list[float] = field(default_factory=list)
    requester: list[str] = field(default_factory=list)
    duration_s: list[float] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    skipped: int = 0

    def add(self, line: int, arrival: object, requester: object, duration: object) -> None:
        """Keep a row whose numbers are sound; *duration* None where the trace has none."""
        arrival_s = _number(arrival)
        duration_s = 0.0 if duration is None else _number(duration)
        if arrival_s is None:
            self.bad.append(f"line {line}: arrival must be a number of seconds, not {arrival!r}")
        elif duration_s is None or duration_s < 0:
            self.bad.append(
                f"line {line}: duration must be a number of seconds >= 0, not {duration!r}"
            )
        elif requester is None or requester == "":
            self.bad.append(f"line {line}: requester is empty")
        else:
            self.arrival_s.append(arrival_s)
            self.duration_s.append(duration_s)
            self.requester.append(str(requester))


@lru_cache(maxsize=4)
def read_trace(trace: Trace) -> TraceRows:
    """Rows of a trace, cut and sped up as it says. TraceError when they cannot be used."""
    columns = trace.columns or Columns()
    is_swf = trace.file.name.endswith((".swf", ".swf.gz"))
    try:
        if is_swf:
            rows = _read_swf(trace)
        elif trace.file.suffix == ".parquet":
            rows = _read_parquet(trace, columns)
        else:
            rows = _read_csv(trace, columns)
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as fault:
        raise TraceError(f"{trace.file}: cannot be read: {fault}") from fault
    if rows.bad:
        more = len(rows.bad) - SHOWN
        shown = rows.bad[:SHOWN] + ([f"... and {more} more"] if more > 0 else [])
        raise TraceError(f"{trace.file}: " + "; ".join(shown))
    if not rows.arrival_s:
        raise TraceError(f"{trace.file}: has no tasks")
    return _ordered(
        rows,
        trace,
        has_requester=is_swf or columns.requester is not False,
        has_duration=is_swf or columns.duration is not False,
    )


def _ordered(rows: _Rows, trace: Trace, *, has_requester: bool, has_duration: bool) -> TraceRows:
    """Rows by arrival (stable), cut to those asked for, from instant 0 on."""
    arrival_s = np.array(rows.arrival_s)
    order = np.argsort(arrival_s, kind="stable")[trace.first :][: trace.tasks]
    if not len(order):
        raise TraceError(f"{trace.file}: first = {trace.first} leaves none of its {len(arrival_s)}")
    since_first_s = (arrival_s[order] - arrival_s[order[0]]) / trace.speed_up
    if since_first_s[-1] > LONGEST_S:
        raise TraceError(f"{trace.file}: spans more than 18 years")
    names, numbers = np.unique(np.array(rows.requester)[order], return_inverse=True)
    duration_s = np.array(rows.duration_s)[order]
    return TraceRows(
        arrival_ns=_ns(since_first_s),
        requester=numbers.astype(np.int64) if has_requester else None,
        duration_ns=_ns(duration_s) if has_duration else None,
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
    rows.add(number, fields[SWF_SUBMIT], fields[SWF_USER], fields[SWF_RUN])


def _read_csv(trace: Trace, columns: Columns) -> _Rows:
    rows = _Rows()
    with trace.file.open(newline="", encoding="utf-8-sig") as lines:
        table = csv.reader(lines)
        heading = next(table, [])
        places = _places(trace, heading, columns)
        last = max(place for place in places if place is not None)
        arrival, requester, duration = places
        for cells in table:
            if not cells:
                continue
            if len(cells) <= last:
                rows.bad.append(f"line {table.line_num}: has {len(cells)} fields, too few")
                continue
            rows.add(
                table.line_num,
                cells[arrival],
                "-" if requester is None else cells[requester],
                None if duration is None else cells[duration],
            )
    return rows


def _places(
    trace: Trace, heading: list[str], columns: Columns
) -> tuple[int, int | None, int | None]:
    """Indices of the columns in the heading; TraceError names those that are not there."""
    wanted = [columns.arrival, columns.requester, columns.duration]
    missing = [repr(name) for name in wanted if name is not False and name not in heading]
    if missing:
        found = ", ".join(map(repr, heading)) or "nothing"
        raise TraceError(
            f"{trace.file}: line 1: no column {' and no column '.join(missing)}; it has {found}"
        )
    requester = None if columns.requester is False else heading.index(columns.requester)
    duration = None if columns.duration is False else heading.index(columns.duration)
    return heading.index(columns.arrival), requester, duration


def _read_parquet(trace: Trace, columns: Columns) -> _Rows:
    import pyarrow.parquet as pq  # noqa: PLC0415 - loads on use
    from pyarrow.lib import ArrowException  # noqa: PLC0415

    rows = _Rows()
    try:
        file = pq.ParquetFile(trace.file)
        arrival, requester, duration = _places(trace, file.schema_arrow.names, columns)
        names = file.schema_arrow.names
        used = [names[place] for place in (arrival, requester, duration) if place is not None]
        for number, row in enumerate(_records(file.iter_batches(columns=used)), 1):
            rows.add(
                number,
                row[columns.arrival],
                "-" if columns.requester is False else row[columns.requester],
                None if columns.duration is False else row[columns.duration],
            )
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
