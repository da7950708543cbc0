"""What a sweep leaves in its folder, and says.

Rule: one tidy table, a row a point and metric, as CSV and as Parquet; a figure where one or two
keys were swept.
"""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.eventlog.files import placed_by
from tasksim.planning.sweep import Sweep, estimates_of
from tasksim.report.results import place, place_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK, MIDDLE = "#1b3a57", "#4f86b5"
PANELS: Final = (
    ("detection delay, s", (("mean", "detection_delay_s.mean"), ("95 %", "detection_delay_s.p95"))),
    ("polls per task", (("all", "polls_per_task.mean"), ("wasted", "wasted_polls_per_task.mean"))),
    ("requests a second", (("mean", "requests_per_s.total"), ("peak", "requests_per_s.peak"))),
    ("share of tasks", (("result lost", "lost_result_share"), ("given up", "gave_up_share"))),
)
TICKS_MAX: Final = 8  # swept values that are written under an axis
STYLES: Final = (("o-", DARK), ("s--", MIDDLE))
SHOWN: Final = ("detection_delay_s.mean", "detection_delay_s.p95", "polls_per_task.mean",
                "requests_per_s.total", "lost_result_share")  # fmt: skip


def write(folder: Path, sweep: Sweep, origin: dict[str, Any]) -> Iterator[Path]:
    """Write table, figure and provenance, yielding the path of each when it is there."""
    import pandas as pd  # noqa: PLC0415 - loads on use

    rows = list(sweep.rows())
    keys = [axis.key for axis in sweep.axes]
    out = io.StringIO()
    table = csv.DictWriter(out, [*keys, "metric", "value", "half_width_95"], lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    yield place(folder / "sweep.csv", out.getvalue().encode())
    frame = pd.DataFrame(rows, columns=[*keys, "metric", "value", "half_width_95"])
    for axis in sweep.axes:
        if _places(axis.values)[1]:
            frame[axis.key] = pd.to_numeric(frame[axis.key])
    yield placed_by(folder / "sweep.parquet", lambda draft: frame.to_parquet(draft, index=False))
    if len(sweep.axes) <= 2 and rows:
        yield from place_figure(folder, sweep_figure(sweep))
    yield place(folder / "provenance.json", (json.dumps(origin, indent=2) + "\n").encode())


def sweep_text(sweep: Sweep) -> str:
    """One line a point: its settings and the metrics that most ask for."""
    heading = [*(axis.key for axis in sweep.axes), *SHOWN]
    lines = [heading]
    for point, values in zip(sweep.points, sweep.values, strict=True):
        found = estimates_of(values)
        cells = [_cell(found.get(metric)) for metric in SHOWN]
        lines.append([*point.settings, *(cells if values is not None else ["-"] * len(SHOWN))])
    widths = [max(len(line[place]) for line in lines) for place in range(len(heading))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _cell(estimate: Any) -> str:
    if estimate is None:
        return ""
    reach = "" if estimate.half_width is None else f" ± {estimate.half_width:.2g}"
    return f"{estimate.value:.4g}{reach}"


def sweep_figure(sweep: Sweep) -> "Figure":
    """Lines over one swept key; over two, a map of the first of each panel's metrics."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    keys = " and ".join(axis.key for axis in sweep.axes)
    is_map = len(sweep.axes) == 2
    shown = "means" if is_map else "95 % intervals"
    several = f", {shown} of {sweep.replications} replications" if sweep.replications > 1 else ""
    figure.suptitle(f"What {keys} {'do' if is_map else 'does'}{several}", fontsize=11)
    for ax, (label, lines) in zip(axes.flat, PANELS, strict=True):
        if is_map:
            _draw_map(ax, sweep, lines[0][1])
            label = f"{label} ({lines[0][0]})"  # noqa: PLW2901 - the map shows one of the two
        else:
            _draw_lines(ax, sweep, lines)
        ax.set_title(label, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_lines(ax: "Axes", sweep: Sweep, lines: tuple[tuple[str, str], ...]) -> None:
    (axis,) = sweep.axes
    places, is_number = _places(axis.values)
    for (name, metric), (style, colour) in zip(lines, STYLES, strict=True):
        found = [estimates_of(each).get(metric) for each in sweep.values]  # noqa: PD011
        known = [(x, each) for x, each in zip(places, found, strict=True) if each is not None]
        if known:
            ax.errorbar(
                [x for x, _ in known],
                [each.value for _, each in known],
                yerr=[each.half_width or 0.0 for _, each in known],
                fmt=style, color=colour, markersize=4, linewidth=1.2, capsize=2, label=name,
            )  # fmt: skip
    if axis.is_log:
        ax.set_xscale("log")
    if not is_number or len(places) <= TICKS_MAX:
        ax.set_xticks(places, axis.values, fontsize=7)
        ax.minorticks_off()
    ax.set_xlabel(axis.key)
    ax.set_ylim(bottom=0)
    if ax.lines:
        ax.legend(frameon=False, fontsize=8)


def _draw_map(ax: "Axes", sweep: Sweep, metric: str) -> None:
    first, second = sweep.axes
    grid = np.full((len(second.values), len(first.values)), np.nan)
    for point, values in zip(sweep.points, sweep.values, strict=True):
        estimate = estimates_of(values).get(metric)
        if estimate is not None:
            row = list(second.values).index(point.settings[1])
            column = list(first.values).index(point.settings[0])
            grid[row, column] = estimate.value
    top = float(np.nanmax(grid, initial=0.0, where=~np.isnan(grid))) or 1.0
    image = ax.imshow(grid, aspect="auto", origin="lower", cmap="Greys", vmin=0, vmax=top)
    ax.figure.colorbar(image, ax=ax)
    ax.set_xticks(range(len(first.values)), first.values, fontsize=7, rotation=45)
    ax.set_yticks(range(len(second.values)), second.values, fontsize=7)
    ax.set(xlabel=first.key, ylabel=second.key)


def _places(values: tuple[str, ...]) -> tuple[list[float], bool]:
    """Where values stand on an axis: at themselves if they are numbers, else in order."""
    try:
        return [float(value) for value in values], True
    except ValueError:
        return [float(place) for place in range(len(values))], False
