"""Logs and task tables as Parquet files.

Rule 1: a file is whole or absent: it is written beside its place and moved into it.
Rule 2: codes are stored as their lower-case names, -1 of a code as null; format version and
provenance stand in the file's metadata. What was written comes back equal, bit for bit.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tasksim.eventlog.files import placed_by
from tasksim.eventlog.log import EventLog
from tasksim.eventlog.schema import CODES, EVENT_TYPES, NEVER, TASK_TYPES, VERSION, Column
from tasksim.eventlog.tasks import TaskTable
from tasksim.scenario.problems import InputError

METADATA_KEY: Final = b"tasksim"


class LogError(InputError):
    """A file is not a log of this format."""


def write_log(path: Path, log: EventLog, *, provenance: Mapping[str, Any]) -> None:
    """Write an event log."""
    _write(path, log.columns(), "events", provenance)


def read_log(path: Path) -> EventLog:
    """Event log in a file; LogError when it holds none."""
    return EventLog(**_read(path, "events", EVENT_TYPES))


def write_tasks(path: Path, table: TaskTable, *, provenance: Mapping[str, Any]) -> None:
    """Write a task table."""
    _write(path, table.columns(), "tasks", provenance)


def read_tasks(path: Path) -> TaskTable:
    """Task table in a file; LogError when it holds none."""
    return TaskTable(**_read(path, "tasks", TASK_TYPES))


def read_any(path: Path) -> EventLog | TaskTable:
    """Whatever log a file holds; LogError when it holds none."""
    return read_tasks(path) if _about(path)["what"] == "tasks" else read_log(path)


def _write(
    path: Path, columns: Mapping[str, Column], what: str, provenance: Mapping[str, Any]
) -> None:
    import pyarrow as pa  # noqa: PLC0415 - loads on use
    import pyarrow.parquet as pq  # noqa: PLC0415

    arrays = {
        name: _named(column, name) if name in CODES else pa.array(column)
        for name, column in columns.items()
    }
    about = {"version": VERSION, "what": what, "provenance": dict(provenance)}
    table = pa.table(arrays).replace_schema_metadata({METADATA_KEY: json.dumps(about).encode()})
    placed_by(path, lambda draft: pq.write_table(table, draft, compression="zstd"))


def _named(column: Column, name: str) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    names = [code.name.lower() for code in CODES[name]]
    codes = pa.array(column.astype(np.int8), mask=column == NEVER)
    return pa.DictionaryArray.from_arrays(codes, pa.array(names))


def _read(path: Path, what: str, types: Mapping[str, str]) -> dict[str, Column]:
    import pyarrow.parquet as pq  # noqa: PLC0415

    about = _about(path)
    if (about["version"], about["what"]) != (VERSION, what):
        found = f"{about['what']} in version {about['version']}"
        raise LogError(f"{path}: holds {found}, not {what} in version {VERSION}")
    table = pq.read_table(path)
    return {
        name: _codes(table.column(name), name)
        if name in CODES
        else table.column(name).to_numpy().astype(dtype)
        for name, dtype in types.items()
    }


def _about(path: Path) -> dict[str, Any]:
    """What a file says that it holds."""
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyarrow.lib import ArrowException  # noqa: PLC0415

    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, ArrowException) as fault:
        raise LogError(f"{path}: cannot be read: {fault}") from fault
    if METADATA_KEY not in metadata:
        raise LogError(f"{path}: is not a log of tasksim")
    about: dict[str, Any] = json.loads(metadata[METADATA_KEY])
    return about


def _codes(column: Any, name: str) -> Column:
    known = {code.name.lower(): int(code) for code in CODES[name]}
    whole = column.combine_chunks().dictionary_decode().to_pylist()
    return np.array([NEVER if cell is None else known[cell] for cell in whole], dtype="i1")
