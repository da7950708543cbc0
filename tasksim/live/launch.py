"""Receiver and load as child processes: started, waited for, stopped by process id.

Rule 1: every wait has a limit, and whatever was started is stopped, however the wait ends.
Rule 2: what a child said on its way down reaches the user.
"""

import json
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final, NoReturn

from tasksim.eventlog.log import EventLog, merged
from tasksim.eventlog.store import read_log
from tasksim.scenario.loading import dump_toml
from tasksim.scenario.model import Scenario

READY_LIMIT_S: Final = 30.0
STOP_LIMIT_S: Final = 20.0
TAIL_LINES: Final = 12


class TargetFailedError(Exception):
    """The receiver, or the load on it, did not get through; the text says what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drive:
    """What a load run left behind."""

    log: EventLog
    epoch_ns: int  # the clock's reading at the run's instant 0
    rtt_ns: tuple[int, ...]  # round trips of pings while the load ran
    connects: int
    cpu_s: float  # of the load generator
    interrupted: bool = False


def save_scenario(folder: Path, scenario: Scenario) -> Path:
    """The scenario as a file that a child can load."""
    path = folder / "scenario.toml"
    path.write_text(dump_toml(scenario), encoding="utf-8")
    return path


@contextmanager
def running_receiver(scenario: Path, log: Path, *, replication: int = 0) -> Iterator[str]:
    """URL of the scenario's receiver, served by a child until the block ends; then *log* is there.

    TargetFailedError when it does not come up.
    """
    command = [
        *(sys.executable, "-m", "tasksim", "serve", str(scenario)),
        *("--log", str(log), "--replication", str(replication)),
    ]
    with (
        ended_in_order(),
        log.with_suffix(".stderr").open("w+") as complaints,
        subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,  # Ctrl-C is for us: we stop what we started, in order
        ) as child,
    ):
        try:
            assert child.stdout is not None, "asked for above"
            yield _first_line(child, child.stdout, complaints)
        finally:
            stop(child)


def run_load(
    scenario: Path,
    url: str,
    log: Path,
    *,
    replication: int = 0,
    limit_s: float,
    options: Sequence[str] = (),
) -> Drive:
    """Drive *url* with the scenario by Locust in a child; what it recorded.

    Ctrl-C ends the load and keeps what was recorded until then. TargetFailedError when the load
    broke off or took longer than the limit.
    """
    command = [
        *(sys.executable, "-m", "locust", "-f", str(locustfile())),
        *("--headless", "-u", "1", "-r", "1", "--only-summary", "--loglevel", "WARNING"),
        *("--exit-code-on-error", "0", "--host", url, "--scenario", str(scenario)),
        *("--replication", str(replication), "--log", str(log), *options),
    ]
    interrupted = False
    with ended_in_order(), log.with_suffix(".stdout").open("w+") as said:
        with subprocess.Popen(  # noqa: S603 - our own program
            command, stdout=said, stderr=said, text=True, start_new_session=True
        ) as child:
            try:
                status = child.wait(limit_s)
            except subprocess.TimeoutExpired as fault:
                message = f"the load on {url} was not through after {limit_s:.0f} s"
                raise TargetFailedError(message) from fault
            except KeyboardInterrupt:
                interrupted = True
                status = 0
            finally:
                stop(child, signal.SIGINT)
        if status != 0 or not log.exists():
            raise TargetFailedError(f"the load on {url} broke off:\n{_tail(said)}")
    about = json.loads(log.with_suffix(".json").read_text(encoding="utf-8"))
    return Drive(
        log=read_log(log),
        epoch_ns=about["epoch_ns"],
        rtt_ns=tuple(about["rtt_ns"]),
        connects=about["connects"],
        cpu_s=about["cpu_s"],
        interrupted=interrupted,
    )


@contextmanager
def ended_in_order() -> Iterator[None]:
    """While it lasts, SIGTERM ends this process as an exception does, so that children end too.

    They live in sessions of their own, and would outlive a parent that just dies.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return

    def leave(number: int, _: FrameType | None) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)  # asked once is enough
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def both_sides(drive: Drive, receiver_log: Path) -> EventLog:
    """One log of requesters and receiver, from the run's instant 0."""
    return merged([drive.log, read_log(receiver_log)], epoch_ns=drive.epoch_ns)


def locustfile() -> Path:
    """Where the load tests are installed."""
    spec = find_spec("loadtests")
    assert spec is not None, "loadtests is installed with tasksim"
    assert spec.origin is not None, "it is a package with a file"
    return Path(spec.origin).with_name("locustfile.py")


def stop(child: "subprocess.Popen[Any]", request: int = signal.SIGTERM) -> None:
    """End a child: ask, wait, insist."""
    if child.poll() is not None:
        return
    child.send_signal(request)
    try:
        child.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _first_line(child: "subprocess.Popen[str]", out: IO[str], complaints: IO[str]) -> str:
    until = time.monotonic() + READY_LIMIT_S
    while time.monotonic() < until and child.poll() is None:
        readable, _, _ = select.select([out], [], [], 0.1)
        if readable and (line := out.readline().strip()):
            return line
    raise TargetFailedError(f"the receiver did not come up:\n{_tail(complaints)}")


def _tail(said: IO[str]) -> str:
    said.flush()
    said.seek(0)
    return "".join(said.readlines()[-TAIL_LINES:]).strip() or "(it said nothing)"
