"""Traces: what is read, what is refused by line, what a real log holds."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from tasksim.scenario.model import Columns, Trace
from tasksim.scenario.traces import TraceError, read_trace
from tests.public_logs import NASA, needs

S = 1_000_000_000
CSV = "arrival_s,requester,duration_s\n10,bob,5\n0,ann,1.5\n10,ann,0\n"


def swf(*rows: tuple[int, int, int]) -> str:
    """SWF lines of (submit, run time, user)."""
    lines = [
        " ".join(str(x) for x in (i, submit, -1, run, 1, *[-1] * 6, user, *[-1] * 6))
        for i, (submit, run, user) in enumerate(rows, 1)
    ]
    return "; Version: 2.2\n;\n" + "\n".join(lines) + "\n"


def test_a_csv_is_read_in_order_of_arrival(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    rows = read_trace(Trace(file=tmp_path / "t.csv"))
    assert rows.arrival_ns.tolist() == [0, 10 * S, 10 * S]
    assert rows.duration_ns is not None
    assert rows.duration_ns.tolist() == [1_500_000_000, 5 * S, 0]
    assert rows.requester is not None
    assert rows.requester.tolist() == [0, 1, 0]
    assert rows.requesters == 2


def test_columns_have_names_of_their_own_or_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("when\n3\n4\n")
    columns = Columns(arrival="when", requester=False, duration=False)
    rows = read_trace(Trace(file=tmp_path / "t.csv", columns=columns))
    assert rows.arrival_ns.tolist() == [0, S]
    assert rows.requester is None
    assert rows.duration_ns is None


def test_a_parquet_file_reads_like_its_csv(tmp_path: Path) -> None:
    import pandas as pd

    (tmp_path / "t.csv").write_text(CSV)
    pd.read_csv(tmp_path / "t.csv").to_parquet(tmp_path / "t.parquet")
    csv, parquet = (read_trace(Trace(file=tmp_path / name)) for name in ("t.csv", "t.parquet"))
    for name in ("arrival_ns", "requester", "duration_ns"):
        assert np.array_equal(getattr(csv, name), getattr(parquet, name))


@pytest.mark.parametrize("name", ["t.swf", "t.swf.gz"])
def test_swf_gives_submit_time_run_time_and_user(tmp_path: Path, name: str) -> None:
    text = swf((100, 60, 7), (130, -1, 7), (160, 30, 2)).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    rows = read_trace(Trace(file=tmp_path / name))
    assert rows.arrival_ns.tolist() == [0, 60 * S]
    assert rows.duration_ns is not None
    assert rows.duration_ns.tolist() == [60 * S, 30 * S]
    assert rows.skipped == 1


def test_a_trace_is_cut_and_sped_up(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "arrival_s,requester,duration_s\n" + "".join(f"{10 * i},x,{i}\n" for i in range(10))
    )
    trace = Trace(file=tmp_path / "t.csv", first=2, tasks=3, speed_up=2)
    rows = read_trace(trace)
    assert rows.arrival_ns.tolist() == [0, 5 * S, 10 * S]
    assert rows.duration_ns is not None
    assert rows.duration_ns.tolist() == [2 * S, 3 * S, 4 * S]


BAD_CSV = "arrival_s,requester,duration_s\n0,a,1\nx,a,1\n1,a\n2,a,-3\n\n3,,1\n4,a,nan\ninf,a,1\n"


def test_malformed_lines_are_named_by_number_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(BAD_CSV)
    with pytest.raises(TraceError) as caught:
        read_trace(Trace(file=tmp_path / "t.csv"))
    assert str(caught.value) == (
        f"{tmp_path / 't.csv'}: "
        "line 3: arrival must be a number of seconds or a time stamp, not 'x'; "
        "line 4: has 2 fields, too few; "
        "line 5: duration must be a number >= 0, not '-3'; "
        "line 7: requester is empty; "
        "line 8: duration must be a number >= 0, not 'nan'; "
        "line 9: arrival must be a number of seconds or a time stamp, not 'inf'"
    )


def test_of_many_malformed_lines_the_first_twenty_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("arrival_s,requester,duration_s\n" + "x,a,1\n" * 30)
    with pytest.raises(TraceError, match=r"line 21: .*\.\.\. and 10 more$"):
        read_trace(Trace(file=tmp_path / "t.csv"))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("t.csv", b"", "no column 'arrival_s' and no column 'requester'"),
        ("t.csv", b"arrival_s,requester,duration_s\n", "has no tasks"),
        ("t.csv", b"time,who\n1,2\n", "it has 'time', 'who'"),
        ("t.csv", b"\xff\xfe\x00arrival", "cannot be read"),
        ("t.swf", b"1 2 3\n", "line 1: has 3 fields, not 18"),
        ("t.swf.gz", b"not gzip", "cannot be read"),
        ("t.parquet", b"not parquet", "cannot be read"),
    ],
)
def test_a_file_that_is_no_trace_is_refused(
    tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceError, match=complaint):
        read_trace(Trace(file=tmp_path / name))


def test_cutting_away_every_row_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    with pytest.raises(TraceError, match="first = 9 leaves none of its 3"):
        read_trace(Trace(file=tmp_path / "t.csv", first=9))


@needs(NASA)
def test_the_nasa_log_has_its_jobs_and_users() -> None:
    rows = read_trace(Trace(file=NASA))
    assert (len(rows), rows.requesters) == (18_239, 69)
    assert rows.arrival_ns[-1] / S / 86_400 == pytest.approx(92, abs=0.1)
