"""Result folder of a comparison: both task tables, summary, figure, provenance."""

import csv
import dataclasses
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tasksim.eventlog.run import Run
from tasksim.eventlog.schema import NEVER
from tasksim.eventlog.store import write_tasks
from tasksim.planning.compare_live import Comparison
from tasksim.planning.provenance import LIVE_PACKAGES, provenance, versions
from tasksim.report.figures import DARK, LIGHT, MIDDLE
from tasksim.report.results import place, place_figure
from tasksim.scenario.loading import dump_toml
from tasksim.scenario.model import Scenario
from tasksim.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write(
    folder: Path, scenario: Scenario, comparison: Comparison, measured: Run, simulated: Run
) -> Iterator[Path]:
    """Write every file of a comparison, yielding the path of each when it is there."""
    origin = provenance(scenario, [simulated])
    origin["versions"] |= versions(LIVE_PACKAGES)
    origin["compared"] = comparison.as_dict()
    yield place(folder / "scenario.toml", dump_toml(scenario, folder=folder).encode())
    yield place(folder / "summary.csv", comparison_csv(comparison).encode())
    for name, run in (("measured", measured), ("simulated", simulated)):
        path = folder / f"{name}.parquet"
        write_tasks(path, run.tasks, provenance=origin)
        yield path
    figure = comparison_figure(comparison, measured, simulated)
    yield from place_figure(folder, figure)
    yield place(folder / "provenance.json", (json.dumps(origin, indent=2) + "\n").encode())


def comparison_csv(comparison: Comparison) -> str:
    """One line a quantity: measured, simulated, difference, each with its half-width."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["quantity", "side", "value", "half_width_95"])
    for pair in comparison.pairs:
        for side in ("measured", "simulated", "difference"):
            estimate = getattr(pair, side)
            width = "" if estimate.half_width is None else estimate.half_width
            table.writerow([pair.name, side, estimate.value, width])
    for group in ("error_ms", "lag_ms"):
        for name, value in getattr(comparison, group).items():
            table.writerow([f"{group}.{name}", "measured", value, ""])
    for field in dataclasses.fields(comparison):
        if field.name.endswith("_share"):
            table.writerow([field.name, "both", getattr(comparison, field.name), ""])
    return out.getvalue()


def comparison_figure(comparison: Comparison, measured: Run, simulated: Run) -> "Figure":
    """Left: errors of the detection instant. Right: detection delays, both sides, as quantiles."""
    import matplotlib as mpl  # noqa: PLC0415 - loads on use

    mpl.use("Agg")
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    ours, theirs = measured.tasks, simulated.tasks
    is_both = (ours.detected_at != NEVER) & (theirs.detected_at != NEVER)
    error_ms = (ours.detected_at - theirs.detected_at)[is_both] / NS_PER_MS
    reach = max(float(np.quantile(np.abs(error_ms), 0.98)), 0.5)
    left.hist(
        np.clip(error_ms, -reach, reach), bins=61, color=LIGHT, edgecolor=MIDDLE, linewidth=0.4
    )
    left.set(
        xlabel=f"measured - simulated instant, ms (outermost bins: beyond ±{reach:.1f})",
        ylabel="tasks",
        title=f"Half of the tasks were foretold to {comparison.error_ms['p50']:.2f} ms",
    )
    delays = [
        np.sort((table.detected_at - table.terminal_at)[is_both] / NS_PER_S)
        for table in (theirs, ours)
    ]
    right.plot(*delays, ".", color=DARK, markersize=3)
    end = float(max(delay[-1] for delay in delays))
    right.plot([0, end], [0, end], "--", color=MIDDLE, linewidth=1)
    right.set(
        xlabel="simulated detection delay, s",
        ylabel="measured detection delay, s",
        title="On the diagonal: both delays have the same quantiles",
    )
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    return figure
