"""Reading samples of durations from files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tasksim.scenario.distributions import Empirical, LawError
from tasksim.scenario.samples import sample_ns

S = 1_000_000_000


def column_of(path: Path, column: str = "seconds") -> list[int]:
    return sample_ns(Empirical(file=path, column=column))


def test_a_csv_column_is_read_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("n,seconds\na,3\nb,0.5\nc,0\n")
    assert column_of(tmp_path / "d.csv") == [3 * S, S // 2, 0]


def test_a_byte_order_mark_is_no_part_of_the_heading(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("seconds\n2\n", encoding="utf-8-sig")
    assert column_of(tmp_path / "d.csv") == [2 * S]


def test_a_parquet_column_is_read_in_its_order(tmp_path: Path) -> None:
    pd.DataFrame({"n": ["a", "b"], "seconds": [3.0, 0.25]}).to_parquet(tmp_path / "d.parquet")
    assert column_of(tmp_path / "d.parquet") == [3 * S, S // 4]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("seconds\n1\nx\n-2\n", r"line 3 \('x'\), line 4 \('-2'\)$"),
        ("n,seconds\na,1\nb\n", r"line 3 \(None\)$"),
        ("seconds\nnan\ninf\n", r"line 2 \('nan'\), line 3 \('inf'\)$"),
        ("seconds\n1e9\n", "line 2"),
        ("other\n1\n", "has no column 'seconds'"),
        ("", "has no column 'seconds'"),
        ("seconds\n", "has no rows"),
    ],
)
def test_a_faulty_csv_file_is_refused_with_its_lines(
    tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(LawError, match=complaint):
        column_of(tmp_path / "d.csv")


def test_ten_faulty_lines_are_named_and_more_are_hinted_at(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("seconds\n" + "x\n" * 11)
    with pytest.raises(LawError, match=r"line 11 \('x'\), \.\.\.$"):
        column_of(tmp_path / "d.csv")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LawError, match="No such file"):
        column_of(tmp_path / "d.csv")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LawError, match="Is a directory"):
        column_of(tmp_path)


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"seconds,\xe9\n1,2\n")
    with pytest.raises(LawError, match="cannot be read: 'utf-8' codec"):
        column_of(tmp_path / "d.csv")


def test_a_faulty_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    path.write_bytes(b"no")
    with pytest.raises(LawError, match="cannot be read"):
        column_of(path)
    pd.DataFrame({"seconds": [1.0, np.nan, -1.0]}).to_parquet(path)
    with pytest.raises(LawError, match=r"line 2 \((None|nan)\), line 3 \(-1\.0\)$"):
        column_of(path)
    with pytest.raises(LawError, match="has no column 'other'"):
        column_of(path, "other")
