"""A comparison as text: sentences first, then one line a metric and contender.

Rule: at most 100 columns, no markup, as for every answer.
"""

import textwrap
from typing import Final

from tasksim.metrics.estimators import Estimate
from tasksim.planning.compare import Comparison, Contest, is_certain
from tasksim.report.text import WIDTH, shown_number

SHOWN: Final = (
    ("detection delay, s", "detection_delay_s.mean"),
    ("  19 in 20 within, s", "detection_delay_s.p95"),
    ("turnaround, s", "turnaround_s.mean"),
    ("waiting for a worker, s", "waiting_s.mean"),
    ("polls per task", "polls_per_task.mean"),
    ("wasted polls per task", "wasted_polls_per_task.mean"),
    ("requests a second", "requests_per_s.total"),
    ("  in the busiest second", "requests_per_s.peak"),
    ("share of requests limited", "rate_limited_share"),
    ("share of results lost", "lost_result_share"),
    ("share of tasks given up", "gave_up_share"),
    ("share of tasks rejected", "rejected_share"),
    ("utilization of the workers", "utilization"),
)
NAME_MAX: Final = 36


def comparison_text(comparison: Comparison) -> str:
    """The whole answer."""
    lines = [*sentences(comparison), ""]
    for label, metric in SHOWN:
        contest = comparison.get(metric)
        if contest is not None and _says_something(contest):
            lines += _rows(label, contest, comparison.names)
    lines.append("")
    lines.append(
        f"{comparison.replications} replications on common random numbers; ± 95 % intervals, "
        "of differences in pairs"
    )
    for warning in comparison.warnings:
        lines += textwrap.wrap(f"warning: {warning}", WIDTH, subsequent_indent=" " * 9)
    return "\n".join(lines)


def sentences(comparison: Comparison) -> list[str]:
    """What a person who skips the table should know: a sentence a contender."""
    told = []
    first = comparison.names[0]
    for place, name in enumerate(comparison.names[1:], 1):
        parts = []
        for more, less, metric in (
            ("noticed ends {} s later", "noticed ends {} s earlier", "detection_delay_s.mean"),
            ("took {} more polls a task", "took {} fewer polls a task", "polls_per_task.mean"),
            ("sent {} more requests a second", "sent {} fewer requests a second",
             "requests_per_s.total"),
        ):  # fmt: skip
            contest = comparison.get(metric)
            difference = None if contest is None else contest.differences[place]
            if difference is not None and is_certain(difference):
                what = more if difference.value > 0 else less
                parts.append(what.format(shown_number(abs(difference.value))))
        said = ", ".join(parts) if parts else "is not told apart on delay, polls or requests"
        told.append(f"Against {first!r}, {name!r} {said}.")
    return [line for sentence in told for line in textwrap.wrap(sentence, WIDTH)]


def _says_something(contest: Contest) -> bool:
    return any(value is not None and value.value != 0 for value in contest.values)


def _rows(label: str, contest: Contest, names: tuple[str, ...]) -> list[str]:
    lines = [label]
    parts = zip(names, contest.values, contest.differences, strict=True)
    for place, (name, value, difference) in enumerate(parts):
        shown = name if len(name) <= NAME_MAX else f"{name[: NAME_MAX - 3]}..."
        apart = "" if difference is None else f"{difference.value:+.4g}{_reach(difference)}"
        cell = "" if value is None else f"{shown_number(value.value)}{_reach(value)}"
        lines.append(
            f"  {shown:{NAME_MAX}}{cell:>18}{apart:>22}  {contest.verdict(place)}".rstrip()
        )
    return lines


def _reach(estimate: Estimate) -> str:
    return "" if estimate.half_width is None else f" ± {estimate.half_width:.2g}"
