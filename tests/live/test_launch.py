"""What the child processes say and do when things go wrong."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tasksim.eventlog.store import read_log
from tasksim.live import launch
from tasksim.scenario.loading import load

SERVING = """
import sys, time
from pathlib import Path
from tasksim.live.launch import running_receiver
with running_receiver(Path(sys.argv[1]), Path(sys.argv[2])) as url:
    print(url, flush=True)
    time.sleep(30)
"""


def test_a_parent_that_is_told_to_end_ends_its_receiver_first(tmp_path: Path) -> None:
    path = launch.save_scenario(tmp_path, load("live-smoke", ["tasks=2"]))
    log = tmp_path / "receiver.parquet"
    command = [sys.executable, "-c", SERVING, str(path), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline().startswith("http://127.0.0.1:")
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(25) == 128 + signal.SIGTERM
    assert len(read_log(log)) == 0  # which the receiver writes when it ends


def test_the_way_of_ending_is_given_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    bad = tmp_path / "bad.toml"
    bad.write_text("x = 1\n")
    with pytest.raises(launch.TargetFailedError), launch.running_receiver(bad, tmp_path / "r"):
        pass
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize(
    ("host", "scenario", "said"),
    [
        ("http://example.com/mcp", "live-smoke", "load goes to this machine only"),
        ("http://127.0.0.1:9/mcp", "nonesuch", "nonesuch"),
    ],
)
def test_load_that_cannot_be_is_refused_in_words(host: str, scenario: str, said: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "locust", "-f", str(launch.locustfile()), "--headless"),
            *("-u", "1", "-r", "1", "--loglevel", "CRITICAL", "--only-summary"),
            *("--host", host, "--scenario", scenario),
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
