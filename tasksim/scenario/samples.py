"""Samples of durations, read from a column of a file.

Rule 1: a cell that is no duration is named by its line, ten of them in one message.
Rule 2: every fault of a file is a ``LawError``, so that loading can say where it was named.
"""

import csv
from collections.abc import Sequence
from typing import Final

from tasksim.scenario.distributions import Empirical, LawError
from tasksim.scenario.variates import LONGEST_NS
from tasksim.units import NS_PER_S, ns_from_s

SHOWN: Final = 10


def sample_ns(law: Empirical) -> list[int]:
    """Values of the law's column in ns, in the file's order."""
    values: list[int] = []
    bad: list[str] = []
    for line, cell in _column(law):
        value_ns = _duration_ns(cell)
        if value_ns is None:
            bad.append(f"line {line} ({cell!r})")
        else:
            values.append(value_ns)
    if bad:
        shown = ", ".join(bad[:SHOWN]) + (", ..." if len(bad) > SHOWN else "")
        raise LawError(f"{law.file}: {law.column} must be a number of seconds >= 0: {shown}")
    if not values:
        raise LawError(f"{law.file} has no rows")
    return values


def _duration_ns(cell: object) -> int | None:
    try:
        value_s = float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return ns_from_s(value_s) if 0.0 <= value_s <= LONGEST_NS / NS_PER_S else None


def _column(law: Empirical) -> Sequence[tuple[int, object]]:
    """(line, cell) of each row of the column; the heading of a CSV file is line 1."""
    try:
        return _parquet_column(law) if law.file.suffix == ".parquet" else _csv_column(law)
    except OSError as fault:
        raise LawError(f"{law.file}: {fault.strerror or fault}") from fault
    except (UnicodeDecodeError, csv.Error) as fault:
        raise LawError(f"{law.file}: cannot be read: {fault}") from fault


def _csv_column(law: Empirical) -> Sequence[tuple[int, object]]:
    with law.file.open(newline="", encoding="utf-8-sig") as lines:
        rows = csv.DictReader(lines)
        if law.column not in (rows.fieldnames or ()):
            raise LawError(f"{law.file} has no column {law.column!r}")
        return [(rows.line_num, row[law.column]) for row in rows]


def _parquet_column(law: Empirical) -> Sequence[tuple[int, object]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - loads on use
    from pyarrow.lib import ArrowException  # noqa: PLC0415

    try:
        with pq.ParquetFile(law.file) as file:
            if law.column not in file.schema_arrow.names:
                raise LawError(f"{law.file} has no column {law.column!r}")
            cells = file.read(columns=[law.column]).column(0).to_pylist()
    except ArrowException as fault:
        raise LawError(f"{law.file}: cannot be read: {fault}") from fault
    return list(enumerate(cells, 1))
