"""How fast the engines are, beside a bare SimPy loop and beside each other in the same run.

``make bench``. A speed is a ratio: tasks and polls per CPU second of the engine, whole protocol
core inside, against SimPy's own time-outs per CPU second, medians of interleaved rounds. The number
of polls is asserted, so that nothing gets faster by doing less. Where YARDSTICK names a folder with
``eng_simpy.py``, that engine runs W1m beside ours on the same workload, round by round, in a
process of its own; where it also holds the C++ engine (``eng`` and ``W1.bin``, built as its README
says), that runs W1 beside the fast engine.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import simpy

from tasksim.engines import simulate
from tasksim.scenario.loading import load

ROUNDS = 5
TIMEOUTS = 200_000
TASKS, POLLS = 4_015, 35_513  # of the demo, seed 1
W1_TASKS, W1_REQUESTS = 20_000, 186_198  # of limited-service cut to as many tasks
FAST_TASKS, FAST_REQUESTS = 100_000, 926_272


def bare_simpy() -> float:
    """Time-outs per CPU second of SimPy alone."""
    env = simpy.Environment()

    def clock() -> object:
        for _ in range(TIMEOUTS):
            yield env.timeout(1)

    env.process(clock())  # type: ignore[arg-type]
    start = time.process_time()
    env.run()
    return TIMEOUTS / (time.process_time() - start)


def engine() -> tuple[float, float]:
    """Tasks and polls per CPU second of the reference engine on the demo, level ``tasks``."""
    scenario = load("demo", ["engine=reference"])
    start = time.process_time()
    run = simulate(scenario)
    spent = time.process_time() - start
    polls = int(run.tasks.polls_sent.sum())
    assert (len(run.tasks), polls) == (TASKS, POLLS), (len(run.tasks), polls)
    return TASKS / spent, POLLS / spent


def limited_service() -> float:
    """Tasks per CPU second on the catalogue's statement of workload W1, cut to 20,000 tasks."""
    scenario = load("limited-service", [f"tasks={W1_TASKS}", "engine=reference"])
    start = time.process_time()
    run = simulate(scenario)
    spent = time.process_time() - start
    events = sum(run.counts.by_operation)
    assert (len(run.tasks), events) == (W1_TASKS, W1_REQUESTS), (len(run.tasks), events)
    return W1_TASKS / spent


def fast_service() -> float:
    """Tasks per CPU second of the fast engine on 100,000 tasks of the workload, draws included."""
    scenario = load("limited-service", [f"tasks={FAST_TASKS}", "engine=fast"])
    start = time.process_time()
    run = simulate(scenario)
    spent = time.process_time() - start
    found = (len(run.tasks), sum(run.counts.by_operation))
    assert found == (FAST_TASKS, FAST_REQUESTS), found
    return FAST_TASKS / spent


def compiled_yardstick(folder: Path) -> float:
    """Tasks per CPU second of the yardstick's C++ engine on W1 (100,000 tasks), its run alone."""
    done = subprocess.run(
        ["./eng", "W1", "wheel", "fused", "8", "1"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return FAST_TASKS / float(json.loads(done.stdout.splitlines()[-1])["cpu"])


def yardstick(folder: Path) -> float:
    """Tasks per CPU second of the yardstick's natural SimPy engine on its W1m (20,000 tasks)."""
    done = subprocess.run(
        [sys.executable, "-B", "eng_simpy.py", "W1m", "nat"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return W1_TASKS / float(json.loads(done.stdout)["cpu"])


def beside_the_yardstick() -> None:
    """The ratio of the two, in interleaved rounds, where the yardstick is at hand."""
    folder = os.environ.get("YARDSTICK")
    if folder is None or not (Path(folder) / "eng_simpy.py").exists():
        print("YARDSTICK names no folder with eng_simpy.py: no comparison")
        return
    fast_service()  # loads what is compiled
    rounds = [(limited_service(), yardstick(Path(folder)), fast_service()) for _ in range(ROUNDS)]
    ours, theirs, fast = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"workload: limited-service, {W1_TASKS:,} tasks, {W1_REQUESTS:,} requests; yardstick W1m")
    print(f"tasks/s, whole protocol core, level tasks  {ours:10,.0f}")
    print(f"tasks/s, yardstick eng_simpy.py W1m nat    {theirs:10,.0f}")
    ratios = [one / other for one, other in rounds]
    print(f"ratio {ours / theirs:.2f}   [{min(ratios):.2f} .. {max(ratios):.2f}]   wanted: 0.25")
    ratios = [one / other for _, other, one in rounds]
    print(f"tasks/s, fast engine, {FAST_TASKS:,} tasks, draws and table included  {fast:10,.0f}")
    print(f"ratio {fast / theirs:.0f}   [{min(ratios):.0f} .. {max(ratios):.0f}]   wanted: 200")
    if (Path(folder) / "eng").exists() and (Path(folder) / "W1.bin").exists():
        pairs = [(fast_service(), compiled_yardstick(Path(folder))) for _ in range(ROUNDS)]
        ratios = sorted(one / other for one, other in pairs)
        print(f"ratio to C++ {statistics.median(ratios):.2f}   "
              f"[{ratios[0]:.2f} .. {ratios[-1]:.2f}]   wanted: 0.5")  # fmt: skip


def main() -> None:
    """Print medians, their spread, versions and workload."""
    rounds = [(bare_simpy(), *engine()) for _ in range(ROUNDS)]
    names = ("SimPy time-outs/s", "tasks/s", "polls/s")
    print(f"workload: demo, {TASKS:,} tasks, {POLLS:,} polls; {ROUNDS} interleaved rounds")
    print(f"Python {platform.python_version()}, SimPy {version('simpy')}, {platform.machine()}")
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    for name, median, column in zip(names, medians, zip(*rounds, strict=True), strict=True):
        print(f"{name:20}{median:12,.0f}   [{min(column):,.0f} .. {max(column):,.0f}]")
    print(f"SimPy time-outs for the price of a poll: {medians[0] / medians[2]:.1f}")
    beside_the_yardstick()


if __name__ == "__main__":
    main()
