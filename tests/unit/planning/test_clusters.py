"""A sweep on a Dask cluster gives what it gives here, for any number of workers."""

from collections.abc import Iterator
from pathlib import Path

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
    points = points_of("minimal", axes, ["tasks=40"])
    finished: list[int] = []
    there = sweep(axes, points, replications=2, folder=tmp_path / "a", cluster=address,
                  progress=finished.append)  # fmt: skip
    here = sweep(axes, points, replications=2, folder=tmp_path / "b", jobs=1)
    assert there.values == here.values
    assert not there.interrupted
    assert finished == [1, 2, 3]
    kept = {path.name: path.read_bytes() for path in (tmp_path / "a" / "points").iterdir()}
    assert kept == {p.name: p.read_bytes() for p in (tmp_path / "b" / "points").iterdir()}


def test_an_address_without_a_scheduler_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasksim.planning.clusters.TIMEOUT_S", 1)
    out = tmp_path / "out"
    code = main(["sweep", "minimal", "--over", "receiver.workers=1,2", "--out", str(out),
                 "--cluster", "tcp://127.0.0.1:9"])  # fmt: skip
    assert code == 2
    assert "no scheduler there" in capsys.readouterr().err
    assert not list(out.rglob("*.json")) + list(out.rglob("*.csv"))


def test_workers_of_another_version_are_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasksim.planning.clusters.versions", lambda: {"tasksim": "0"})
    axes = [axis_of("receiver.workers=1")]
    points = points_of("minimal", axes, ["tasks=40"])
    with pytest.raises(ClusterError, match=r"has tasksim .*, not 0"):
        sweep(axes, points, replications=1, folder=tmp_path, cluster=address)
