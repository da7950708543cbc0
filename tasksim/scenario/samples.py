"""Samples of durations, read from a column of a file.

Rule 1: a cell that is no duration is named by its line, ten of them in one message.
Rule 2: every fault of a file is a ``LawError``, so that loading can say where it was named.
"""

import csv
from collections.abc import Sequence
from typing import Final

from tasksim.scenario.distributions import Empirical, LawError, Own
from tasksim.scenario.own_files import function_of
from tasksim.scenario.variates import LONGEST_NS
from tasksim.units import NS_PER_S, ns_from_s

SHOWN: Final = 10
OWN_POINTS: Final = 1 << 14  # quantiles of a law of one's own


def sample_ns(law: Empirical | Own) -> list[int]:
    """Values of the law's column in ns, in the file's order; or quantiles of a law of one's own."""
    if isinstance(law, Own):
        return _own_sample_ns(law)
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


def _own_sample_ns(law: Own) -> list[int]:
    """Quantiles in the middle of equal bands, which must not fall."""
    values: list[int] = []
    for k in range(OWN_POINTS):
        p, q = (k + 0.5) / OWN_POINTS, (OWN_POINTS - k - 0.5) / OWN_POINTS
        try:
            quantile_s = function_of(law.file, law.function, ("params", "p", "q"))
            found = quantile_s(law.params, p, q)
        except Exception as fault:  # whatever their code does wrong
            raise LawError(f"{law.file}: {type(fault).__name__}: {fault}") from fault
        value_ns = _duration_ns(found)
        if value_ns is None or (values and value_ns < values[-1]):
            raise LawError(f"{law.function} gives {found!r:.40} at p {p:g}: seconds that rise")
        values.append(value_ns)
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
