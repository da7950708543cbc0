"""Parquet: whole or absent, equal when it comes back, named for readers."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasksim.eventlog.recorder import fold
from tasksim.eventlog.schema import log_digest
from tasksim.eventlog.store import LogError, read_log, read_tasks, write_log, write_tasks
from tasksim.scenario.problems import OutputError

from .helpers import GOOD, log_from


def test_a_log_comes_back_equal(tmp_path: Path) -> None:
    log = log_from(GOOD)
    write_log(tmp_path / "l.parquet", log, provenance={"seed": 1})
    again = read_log(tmp_path / "l.parquet")
    for name, column in log.columns().items():
        assert column.dtype == again.columns()[name].dtype
        assert np.array_equal(column, again.columns()[name]), name
    assert log_digest(log.columns()) == log_digest(again.columns())


def test_a_task_table_comes_back_equal(tmp_path: Path) -> None:
    table, _ = fold(log_from(GOOD))
    write_tasks(tmp_path / "t.parquet", table, provenance={})
    again = read_tasks(tmp_path / "t.parquet")
    assert log_digest(table.columns()) == log_digest(again.columns())


def test_codes_read_as_names(tmp_path: Path) -> None:
    write_log(tmp_path / "l.parquet", log_from(GOOD), provenance={})
    frame = pq.read_table(tmp_path / "l.parquet").to_pylist()
    assert frame[-1]["kind"] == "expired"
    assert frame[-1]["operation"] is None
    assert {row["side"] for row in frame} == {"requester", "receiver"}


def test_the_digest_is_of_the_columns_alone_and_never_changes() -> None:
    assert log_digest(log_from(GOOD).columns())[:16] == GOLDEN


GOLDEN = "2b5c91256155026a"


@pytest.mark.parametrize("content", [b"", b"not parquet"])
def test_a_broken_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(LogError, match="cannot be read"):
        read_log(tmp_path / "x.parquet")


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": [1]}), tmp_path / "x.parquet")
    with pytest.raises(LogError, match="is not a log of tasksim"):
        read_log(tmp_path / "x.parquet")


def test_a_task_table_is_no_event_log(tmp_path: Path) -> None:
    table, _ = fold(log_from(GOOD))
    write_tasks(tmp_path / "t.parquet", table, provenance={})
    with pytest.raises(LogError, match="holds tasks in version 3, not events in version 3"):
        read_log(tmp_path / "t.parquet")


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OutputError, match="taken: cannot be written"):
        write_log(tmp_path / "taken", log_from(GOOD), provenance={})
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_frame_has_names_and_nothing_invented() -> None:
    table, _ = fold(log_from(GOOD))
    frame = table.to_frame()
    assert frame.loc[0, "outcome"] == "retrieved"
    assert frame.loc[0, "detected_by"] == "poll"
