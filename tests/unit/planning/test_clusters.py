"""A sweep on a Dask cluster gives what it gives here, for any number of workers."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tasksim.cli import main
from tasksim.planning.clusters import ClusterError
from tasksim.planning.sweep import axis_of, points_of, sweep


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


def test_two_workers_of_a_cluster_give_what_one_process_gives(address: str, tmp_path: Path) -> None:
    axes = [axis_of("receiver.workers=1,2,4")]
    points = points_of("minimal", axes, ["tasks=40", "engine=reference"])
    finished: list[int] = []
    there = sweep(axes, points, replications=2, folder=tmp_path / "a", cluster=address,
                  progress=finished.append)  # fmt: skip
    here = sweep(axes, points, replications=2, folder=tmp_path / "b", jobs=1)
    assert there.values == here.values
    assert not there.interrupted
    assert finished == [1, 2, 3]
    kept = {path.name: path.read_bytes() for path in (tmp_path / "a" / "points").iterdir()}
    assert kept == {p.name: p.read_bytes() for p in (tmp_path / "b" / "points").iterdir()}


def command(out: Path, *more: str) -> list[str]:
    quick = ["--set", "tasks=40", "--set", "engine=reference", "--replications", "2"]
    return ["sweep", "minimal", "--over", "receiver.workers=1,2", *quick, "--out", str(out), *more]


@pytest.mark.parametrize("where", ["nobody", "silent", "no-port", "foo://x:1", ""])
def test_an_address_without_a_scheduler_is_bad_input_and_leaves_nothing(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasksim.planning.clusters.TIMEOUT_S", 0.5)
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        address = {"nobody": "tcp://127.0.0.1:9", "silent": f"tcp://127.0.0.1:{port}"}
        assert main(command(out, "--cluster", address.get(where, where))) == 2
    told = capsys.readouterr().err
    assert "no scheduler there" in told
    assert told.count("\n") == 1
    assert not out.exists()


def test_a_missing_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(command(tmp_path / "out", "--cluster", "tcp://127.0.0.1:9")) == 2
    assert "tasksim[cluster]" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_processes_here_and_a_cluster_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        main(command(tmp_path / "out", "--cluster", "tcp://127.0.0.1:9", "--jobs", "2"))
    assert caught.value.code == 2


def test_the_command_leaves_the_same_tables_and_goes_on_where_it_was_killed(
    address: str, tmp_path: Path
) -> None:
    assert main(command(tmp_path / "here", "--jobs", "1")) == 0
    there = tmp_path / "there"
    assert main(command(there, "--cluster", address)) == 0
    same = ("sweep.csv", "sweep.parquet")
    for name in same:
        assert (there / name).read_bytes() == (tmp_path / "here" / name).read_bytes()
    gone, stays = sorted((there / "points").iterdir())
    gone.unlink()  # as if killed after the first point
    before = stays.stat().st_mtime_ns
    assert main(command(there, "--cluster", address)) == 0
    assert stays.stat().st_mtime_ns == before, "what was finished is not run again"
    for name in same:
        assert (there / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_workers_of_another_version_are_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasksim.planning.clusters.versions", lambda: {"tasksim": "0"})
    axes = [axis_of("receiver.workers=1")]
    points = points_of("minimal", axes, ["tasks=40", "engine=reference"])
    with pytest.raises(ClusterError, match=r"has tasksim .*, not 0"):
        sweep(axes, points, replications=1, folder=tmp_path, cluster=address)


def test_workers_that_cannot_run_tasksim_are_refused(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    absent = "tasksim.planning.clusters._versions_there"
    monkeypatch.setattr(absent, lambda: __import__("no_such_module"))
    out = tmp_path / "out"
    assert main(command(out, "--cluster", address)) == 2
    assert "cannot run tasksim" in capsys.readouterr().err
    assert not out.exists()
