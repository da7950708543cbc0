"""A scenario over ranges of its keys, on all cores.

Rule 1: every point is checked before the first one runs; every point sees the same draws.
Rule 2: a point's result is kept as soon as it is there, whole, under the digest of its scenario;
what is kept is not computed again, so a sweep goes on where it was cut.
Rule 3: results do not depend on the number of workers, nor on the order in which they finish.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tasksim.engines import simulate
from tasksim.eventlog.files import placed_by
from tasksim.metrics.estimators import Estimate, over_replications
from tasksim.metrics.summary import summarise
from tasksim.planning.clusters import on_cluster
from tasksim.scenario.cost import require_affordable
from tasksim.scenario.loading import load, scenario_digest
from tasksim.scenario.model import Scenario
from tasksim.scenario.objectives import METRICS
from tasksim.scenario.problems import InputError

POINTS_MAX: Final = 10_000
FORMAT: Final = 1  # of a kept point
Values = dict[str, list[float | None]]  # by metric, one a replication


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A key and the values that it takes."""

    key: str
    values: tuple[str, ...]
    is_log: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One scenario of a sweep."""

    index: int
    settings: tuple[str, ...]  # one value an axis
    scenario: Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What became of the points: their metrics, as far as the sweep came."""

    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    values: tuple[Values | None, ...]  # by point
    replications: int
    interrupted: bool = False

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row a point and metric: the settings, the metric, its value and half-width."""
        for point, values in zip(self.points, self.values, strict=True):
            for metric, estimate in estimates_of(values).items():
                settings = zip((axis.key for axis in self.axes), point.settings, strict=True)
                yield {
                    **dict(settings),
                    "metric": metric,
                    "value": estimate.value,
                    "half_width_95": estimate.half_width,
                }


def axis_of(text: str) -> Axis:
    """Axis of KEY=LOW:HIGH:logN, KEY=LOW:HIGH:linN or KEY=A,B,C. InputError when it is none."""
    key, equals, spec = text.partition("=")
    parts = spec.split(":")
    if not equals or not key.strip() or not spec.strip():
        raise InputError(f"--over {text}: must be KEY=LOW:HIGH:logN, KEY=LOW:HIGH:linN or KEY=A,B")
    if len(parts) != 3:
        values = tuple(_split(spec))
        return Axis(key=key.strip(), values=values)
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2][3:])
    except ValueError as fault:
        raise InputError(f"--over {text}: LOW and HIGH are numbers, N a whole number") from fault
    is_log = parts[2].startswith("log")
    if not (is_log or parts[2].startswith("lin")) or count < 2 or not low < high:
        raise InputError(f"--over {text}: needs LOW < HIGH and log or lin with N >= 2")
    if is_log and low <= 0:
        raise InputError(f"--over {text}: a logarithmic range starts above 0")
    steps = [k / (count - 1) for k in range(count)]
    numbers = [low * (high / low) ** s if is_log else low + (high - low) * s for s in steps]
    return Axis(key=key.strip(), values=tuple(f"{n:.6g}" for n in numbers), is_log=is_log)


def _split(spec: str) -> Iterator[str]:
    """Values between commas that are in no bracket."""
    depth, word = 0, ""
    for letter in spec:
        depth += (letter in "{[(") - (letter in "}])")
        if letter == "," and depth == 0:
            yield word.strip()
            word = ""
        else:
            word += letter
    yield word.strip()


def points_of(source: str, axes: Sequence[Axis], overrides: Sequence[str]) -> tuple[Point, ...]:
    """Every combination, checked. InputError names every one that cannot be run."""
    keys = [axis.key for axis in axes]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise InputError(f"--over: {', '.join(twice)}: is given more than once")
    count = math.prod(len(axis.values) for axis in axes)
    if count > POINTS_MAX:
        raise InputError(f"--over: {count:,} points are more than {POINTS_MAX:,}")
    points, problems = [], list[str]()
    for index, settings in enumerate(itertools.product(*(axis.values for axis in axes))):
        changes = [f"{axis.key}={value}" for axis, value in zip(axes, settings, strict=True)]
        try:
            scenario = load(source, [*overrides, *changes])
        except InputError as problem:
            problems += [line for line in str(problem).splitlines() if line not in problems]
            continue
        points.append(Point(index=index, settings=settings, scenario=scenario))
    if problems:
        raise InputError("\n".join(problems))
    return tuple(points)


def sweep(
    axes: Sequence[Axis],
    points: Sequence[Point],
    *,
    replications: int,
    folder: Path,
    jobs: int = -1,
    cluster: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Sweep:
    """Run all points that are not kept in the *folder*; Ctrl-C keeps those that are finished.

    *jobs* are processes, -1 as many as there are cores; *cluster* is the address of a Dask
    scheduler that runs them instead; *progress* is told how many are finished.
    """
    kept = folder / "points"
    kept.mkdir(parents=True, exist_ok=True)
    values = {point.index: read_point(kept, point, replications) for point in points}
    left = [point for point in points if values[point.index] is None]
    interrupted = False
    done = len(points) - len(left)
    try:
        orders = [(point.index, point.scenario, replications) for point in left]
        runs = _locally(orders, jobs) if cluster is None else on_cluster(cluster, _run, orders)
        by_index = {point.index: point for point in left}
        for index, found in runs:
            write_point(kept, by_index[index], replications, found)
            values[index] = found
            done += 1
            if progress is not None:
                progress(done)
    except KeyboardInterrupt:
        interrupted = True
    return Sweep(
        axes=tuple(axes),
        points=tuple(points),
        values=tuple(values[point.index] for point in points),
        replications=replications,
        interrupted=interrupted,
    )


def _locally(orders: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[tuple[int, Values]]:
    from joblib import Parallel, delayed  # noqa: PLC0415 - loads on use

    runs: Iterator[tuple[int, Values]] = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_run)(*order) for order in orders
    )
    return runs


def require_affordable_points(points: Sequence[Point], replications: int, *, force: bool) -> None:
    """Raise CostError when any point is beyond the bounds."""
    for point in points:
        require_affordable(point.scenario, "summary", replications, force=force)


def estimates_of(values: Values | None) -> dict[str, Estimate]:
    """Estimates over a point's replications, by metric; none of a point that was not reached."""
    found = {}
    for metric, each in sorted((values or {}).items()):
        estimate = over_replications([math.nan if value is None else value for value in each])
        if estimate is not None:
            found[metric] = estimate
    return found


def _run(index: int, scenario: Scenario, replications: int) -> tuple[int, Values]:
    """Metrics of a point, one value a replication; None where there is nothing to measure."""
    names = METRICS | {f"own.{name}" for name in scenario.metrics}
    values: Values = {metric: [] for metric in sorted(names)}
    for replication in range(replications):
        run = simulate(scenario, replication=replication, level="tasks")
        summary = summarise([run], scenario)
        for metric, each in values.items():
            estimate = summary.get(metric)
            each.append(None if estimate is None else estimate.value)
    return index, values


# Points that are kept.


def _place(folder: Path, point: Point, replications: int) -> Path:
    return folder / f"{scenario_digest(point.scenario)[:20]}-{replications}.json"


def read_point(folder: Path, point: Point, replications: int) -> Values | None:
    """What was kept of a point; None where nothing was, or something that cannot be read."""
    try:
        content = json.loads(_place(folder, point, replications).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return None
    values: Values = content["values"]
    return values


def write_point(folder: Path, point: Point, replications: int, values: Values) -> None:
    """Keep a point, whole or not at all."""
    text = json.dumps({"format": FORMAT, "settings": point.settings, "values": values})
    place = _place(folder, point, replications)
    placed_by(place, lambda draft: draft.write_text(text, encoding="utf-8"))
