"""Result folders: scenario, summary, task table, figure, provenance.

Rule: a file is whole or absent. Each is written beside its place and moved into it.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasksim.eventlog.files import placed_by, require_folder
from tasksim.eventlog.laws import check_log, check_tasks, told
from tasksim.eventlog.run import Run
from tasksim.eventlog.store import write_log, write_tasks
from tasksim.metrics.summary import Summary
from tasksim.report.figures import save_figure, summary_figure
from tasksim.scenario.loading import dump_toml
from tasksim.scenario.model import Scenario
from tasksim.scenario.problems import OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class LawBrokenError(AssertionError):
    """A simulated log breaks a law: our own fault, never caught."""


def require_lawful(runs: Sequence[Run]) -> None:
    """Raise LawBrokenError unless every law holds on every log."""
    for run in runs:
        broken = list(check_tasks(run.tasks))
        if run.events is not None:
            broken += check_log(run.events)
        if broken:
            raise LawBrokenError(f"replication {run.replication}: {'; '.join(told(broken))}")


def require_writable(folder: Path) -> None:
    """Make the folder; OutputError when results could not be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise OutputError(f"--out {folder}: cannot write there: {fault.strerror}") from fault
    require_folder(folder, shown=f"--out {folder}")


def write(
    folder: Path,
    scenario: Scenario,
    runs: Sequence[Run],
    summary: Summary,
    origin: dict[str, Any],
) -> Iterator[Path]:
    """Write every file of a result, yielding the path of each when it is there."""
    yield place(folder / "scenario.toml", dump_toml(scenario, folder=folder).encode())
    yield place(folder / "summary.csv", summary_csv(summary).encode())
    for run in runs:
        suffix = "" if len(runs) == 1 else f"-{run.replication}"
        if run.digest is None:
            path = folder / f"tasks{suffix}.parquet"
            write_tasks(path, run.tasks, provenance=origin)
            yield path
        if run.events is not None:
            path = folder / f"events{suffix}.parquet"
            write_log(path, run.events, provenance=origin)
            yield path
    figure = summary_figure(runs, scenario)
    yield from place_figure(folder, figure)
    yield place(folder / "provenance.json", (json.dumps(origin, indent=2) + "\n").encode())


def summary_csv(summary: Summary) -> str:
    """One line an estimate: metric, value, half-width (empty where there is none)."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["metric", "value", "half_width_95"])
    for name, estimate in estimates(summary.as_dict()["metrics"]):
        table.writerow([name, estimate["value"], estimate.get("half_width", "")])
    for name, count in summary.as_dict()["tasks"].items():
        table.writerow([f"tasks.{name}", count, ""])
    return out.getvalue()


def estimates(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Dotted names and estimates of a nested tree of metrics, in order."""
    for key, branch in tree.items():
        name = f"{prefix}{key}"
        if "value" in branch:
            yield name, branch
        else:
            yield from estimates(branch, f"{name}.")


def place_figure(folder: Path, figure: "Figure") -> Iterator[Path]:
    """Put a figure into its place as PNG and as SVG."""
    for ending in ("png", "svg"):
        yield placed_by(folder / f"figure.{ending}", lambda path: save_figure(figure, path))


def place(path: Path, content: bytes) -> Path:
    """Put a file into its place, whole or not at all."""
    return placed_by(path, lambda draft: draft.write_bytes(content))
