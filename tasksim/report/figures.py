"""The summary figure of a run.

Rule 1: every axis has its unit; a title says what to see.
Rule 2: lines differ by dash and marker, bars by hatch: grey print keeps them apart.
Rule 3: the same run draws the same bytes.
"""

from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.eventlog.digest import end_of
from tasksim.eventlog.run import Run
from tasksim.eventlog.schema import NEVER
from tasksim.metrics.estimators import quantile
from tasksim.metrics.path import Path, number_over_time
from tasksim.metrics.summary import counts_of, measured, span_s
from tasksim.protocol.occurrences import Operation
from tasksim.scenario.model import Scenario
from tasksim.units import NS_PER_S, ns_from_s

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DARK, MIDDLE, LIGHT = "#1b3a57", "#4f86b5", "#c3d9ea"
OUTCOMES: Final = (
    "retrieved",
    "failed",
    "cancelled",
    "unknown",
    "lost",
    "rejected",
    "gave_up",
    "not_needed",
    "censored",
)
POINTS_MAX: Final = 4000
# (seconds, name): the largest unit in which a span has at least three ticks.
TIME_UNITS: Final = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def summary_figure(runs: Sequence[Run], scenario: Scenario) -> "Figure":
    """Two by two: tasks in system, detection delay, requests a second, outcomes.

    State and requests over time are those of the first replication; delays and outcomes of all.
    """
    import matplotlib as mpl  # noqa: PLC0415 - loads on use

    mpl.use("Agg")
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(10, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    figure.suptitle(scenario.title or "tasksim", fontsize=11, wrap=True)
    draw_in_system(axes[0, 0], runs[0], scenario)
    draw_detection_delay(axes[0, 1], runs, scenario)
    draw_requests(axes[1, 0], runs[0])
    draw_outcomes(axes[1, 1], runs, scenario)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: "Figure", path: FilePath) -> None:
    """Write PNG or SVG, by the path's ending, without a date."""
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context({"svg.hashsalt": "tasksim", "svg.fonttype": "none"}):
        is_svg = path.suffix == ".svg"
        metadata: dict[str, Any] = {"Date": None} if is_svg else {"Software": None}
        figure.savefig(path, dpi=120, metadata=metadata)


def draw_in_system(ax: "Axes", run: Run, scenario: Scenario) -> None:
    """Tasks submitted or at work, over time."""
    path = _in_system(run)
    scale, unit = _time_unit(path.instants)
    points = len(path.instants)
    shown = np.unique(np.linspace(0, points - 1, min(points, POINTS_MAX)).astype(np.int64))
    ax.step(
        path.instants[shown] / NS_PER_S / scale, path.numbers[shown], where="post", color=DARK,
        linewidth=0.9, label="in system",
    )  # fmt: skip
    if scenario.warmup_s > 0:
        ax.axvspan(0, scenario.warmup_s / scale, color="0.9", label="warm-up")
    workers = scenario.receiver.workers
    peak = int(path.numbers.max()) if len(path.numbers) else 0
    title = f"At most {peak:,} tasks in the system at once"
    if workers is not None:
        ax.axhline(workers, color=MIDDLE, linestyle="--", linewidth=1, label=f"{workers:,} workers")
    ax.legend(frameon=False, fontsize=8, loc="lower center")
    ax.set(xlabel=f"time, {unit}", ylabel="tasks in system", title=title, ylim=(0, None))


def draw_detection_delay(ax: "Axes", runs: Sequence[Run], scenario: Scenario) -> None:
    """Histogram of detection delays, mean and 95 % quantile marked."""
    delays = np.concatenate([_delays_s(run, scenario) for run in runs])
    ax.set(xlabel="detection delay, seconds", ylabel="tasks")
    if not len(delays):
        ax.set_title("No task was detected")
        return
    ax.hist(delays, bins=60, color=LIGHT, edgecolor=MIDDLE, linewidth=0.4)
    mean, tail = float(delays.mean()), quantile(delays, 0.95)
    ax.axvline(mean, color=DARK, linewidth=1.4, label=f"mean {mean:.3g} s")
    ax.axvline(tail, color=DARK, linewidth=1.4, linestyle=":", label=f"95 % within {tail:.3g} s")
    ax.legend(frameon=False, fontsize=8)
    ax.set_title(f"The end of a task is noticed {mean:.3g} s late on average")


def _in_system(run: Run) -> Path:
    """Number in system over time; of a digest the largest of each of its bins."""
    if run.digest is None:
        table = run.tasks
        gone_at = np.maximum(table.deleted_at, table.wiped_at)
        left_at = np.where(table.terminal_at == NEVER, gone_at, table.terminal_at)
        return number_over_time(
            table.created_at, np.where(table.created_at == NEVER, NEVER, left_at)
        )
    series = run.digest.series
    return Path(np.arange(len(series)) * run.digest.series_bin_ns, series)


def _delays_s(run: Run, scenario: Scenario) -> Any:
    """Detection delays in seconds; of a digest the ends of its buckets."""
    if run.digest is None:
        table = measured(run.tasks, ns_from_s(scenario.warmup_s))
        return span_s(table, "detected_at", "terminal_at")
    counts = run.digest.spans["detection_delay_s"].counts
    ends = np.array([end_of(bucket) for bucket in counts], dtype=np.float64)
    return np.repeat(ends / NS_PER_S, list(counts.values()))


def draw_requests(ax: "Axes", run: Run) -> None:
    """Requests a second by operation, over time."""
    counts = run.counts
    width_s = counts.bin_ns / NS_PER_S
    bins = counts.bins.shape[1]
    scale, unit = _time_unit(np.array([bins * counts.bin_ns]))
    middles = (np.arange(bins) + 0.5) * width_s / scale
    styles = (
        (Operation.GET, "polls", "-", DARK),
        (Operation.CREATE, "creations", "--", MIDDLE),
        (Operation.RESULT, "results", ":", "black"),
    )
    for operation, label, dash, colour in styles:
        ax.plot(
            middles, counts.bins[operation] / width_s, dash, color=colour, linewidth=1.1,
            label=label,
        )  # fmt: skip
    polls, total = counts.by_operation[Operation.GET], max(counts.total, 1)
    ax.legend(frameon=False, fontsize=8)
    ax.set(
        xlabel=f"time, {unit}",
        ylabel=f"requests a second (means of {width_s:g} s)",
        title=f"{polls / total:.0%} of the requests are polls",
        ylim=(0, None),
    )


def draw_outcomes(ax: "Axes", runs: Sequence[Run], scenario: Scenario) -> None:
    """Tasks by what became of them."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter  # noqa: PLC0415

    warm_at = ns_from_s(scenario.warmup_s)
    kept = [
        counts_of(measured(run.tasks, warm_at)) if run.digest is None else run.digest.counts
        for run in runs
    ]
    counts = [sum(count[name] for count in kept) for name in OUTCOMES]
    arrived = max(sum(count["arrived"] for count in kept), 1)
    labels = [name.replace("_", " ") for name in OUTCOMES]
    bars = ax.barh(labels, counts, color=LIGHT, edgecolor=DARK)
    for bar, count in zip(bars, counts, strict=True):
        share = f"{count:,} ({count / arrived:.2%})"
        ax.annotate(
            share, (bar.get_width(), bar.get_y() + bar.get_height() / 2), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    ax.invert_yaxis()
    ax.margins(x=0.3)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    ax.set(
        xlabel="tasks",
        title=f"{counts[0] / arrived:.1%} of the tasks gave their requester a result",
    )


def _time_unit(instants: Any) -> tuple[float, str]:
    """Seconds in, and name of, the unit that suits a span of time."""
    known = instants[instants != NEVER]
    span_s = float(known.max()) / NS_PER_S if len(known) else 1.0
    return next(((s, name) for s, name in TIME_UNITS if span_s >= 3 * s), (1.0, "seconds"))
