"""What a served receiver refuses before it serves."""

from pathlib import Path

import pytest

from tasksim.eventlog.files import require_place
from tasksim.scenario.problems import OutputError


def test_a_log_that_could_not_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"--log .*none/x\.parquet: cannot write there"):
        require_place(tmp_path / "none" / "x.parquet")
    with pytest.raises(OutputError, match="is a folder"):
        require_place(tmp_path)


def test_a_log_that_can_be_written_leaves_no_trace_yet(tmp_path: Path) -> None:
    require_place(tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []
