"""The answer as text: three sentences, the table, counts, warnings.

Rule: at most 100 columns, no markup: it must read well in a terminal and in a log.
"""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, Final

from tasksim.metrics.estimators import Estimate
from tasksim.metrics.summary import Summary
from tasksim.metrics.verdicts import Verdict, verdicts
from tasksim.scenario.model import Scenario

WIDTH: Final = 100
COLUMNS: Final = ("mean", "p50", "p95", "p99", "max")
WITH_WIDTH: Final = frozenset({"mean", "p95"})
ONLY_WHERE_USED: Final = frozenset({"held_s"})
ROWS: Final = (
    ("detection delay, s", "detection_delay_s"),
    ("held by the requester, s", "held_s"),
    ("waiting for a worker, s", "waiting_s"),
    ("service, s", "service_s"),
    ("sojourn, s", "sojourn_s"),
    ("time to created, s", "time_to_created_s"),
    ("retrieval delay, s", "retrieval_delay_s"),
    ("turnaround, s", "turnaround_s"),
    ("polls per task", "polls_per_task"),
    ("wasted polls per task", "wasted_polls_per_task"),
    ("tasks in system", "in_system"),
    ("tasks resident", "resident_tasks"),
)


def text_answer(summary: Summary, scenario: Scenario, origin: dict[str, Any]) -> str:
    """The whole answer."""
    judged = objective_lines(verdicts(summary, scenario.objectives))
    parts = [
        scenario.title or "(no title)",
        "",
        *sentences(summary, scenario),
        *judged,
        "",
        *table(summary),
        "",
        *single_numbers(summary),
        "",
        *_wrapped("tasks: ", ", ".join(f"{n:,} {_words(k)}" for k, n in summary.tasks.items())),
        *_wrapped("from: ", _origin(origin)),
        *(line for warning in summary.warnings for line in _wrapped("warning: ", warning)),
    ]
    return "\n".join(parts)


def sentences(summary: Summary, scenario: Scenario) -> list[str]:
    """What a person who skips the table should know."""
    counts = summary.tasks
    arrived = counts["arrived"]
    if not arrived:
        return ["No task arrived after the warm-up, so there is nothing to tell."]
    told = [
        (
            f"Of {arrived:,} tasks {_percent(counts['retrieved'] / arrived)} gave their result to "
            f"the requester, {_percent(counts['failed'] / arrived)} failed and "
            f"{_percent(counts['lost'] / arrived)} of the results were lost{_others(counts)}."
        )
    ]
    delay, tail = summary.get("detection_delay_s.mean"), summary.get("detection_delay_s.p95")
    polls, wasted = summary.get("polls_per_task.mean"), summary.get("wasted_polls_per_task.mean")
    if delay and tail and polls and wasted:
        late, within = shown_number(delay.value), shown_number(tail.value)
        told.append(
            f"A requester learned {late} s after the end of its task that it had ended (19 in 20 "
            f"within {within} s), for {shown_number(polls.value)} polls a task, "
            f"{shown_number(wasted.value)} of them too early."
        )
    total, peak = summary.get("requests_per_s.total"), summary.get("requests_per_s.peak")
    if total and peak:
        told.append(
            f"The receiver answered {shown_number(total.value)} requests a second, "
            f"{shown_number(peak.value)} in the busiest second{_workers(summary, scenario)}."
        )
    return [line for sentence in told for line in textwrap.wrap(sentence, WIDTH)]


def _others(counts: dict[str, int]) -> str:
    """What else became of tasks, as the end of a sentence: nothing is left unsaid."""
    ends = (
        ("cancelled", "cancelled"),
        ("gave_up", "given up by their requesters"),
        ("not_needed", "needed no longer, another of their batch being enough"),
        ("rejected", "rejected"),
        ("unknown", "lost in the work"),
        ("censored", "still open at the end"),
    )
    arrived = counts["arrived"]
    said = [f"{_percent(counts[key] / arrived)} were {end}" for key, end in ends if counts[key]]
    return f"; {', '.join(said)}" if said else ""


def table(summary: Summary) -> list[str]:
    """Means, quantiles and maxima; half-widths, where there are any, of two."""
    rows = []
    for label, name in ROWS:
        cells = [
            _cell(summary.get(f"{name}.{column}"), has_width=column in WITH_WIDTH)
            for column in COLUMNS
        ]
        largest = summary.get(f"{name}.max")
        is_off = name in ONLY_WHERE_USED and largest is not None and largest.value == 0
        if any(cells) and not is_off:
            rows.append([label, *cells])
    if not rows:
        return []
    heading = ["", *COLUMNS]
    widths = [max(len(row[i]) for row in [heading, *rows]) for i in range(len(heading))]
    lines = []
    for row in [heading, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def objective_lines(found: Sequence[Verdict]) -> list[str]:
    """One line an objective: what was asked, what came out, the verdict."""
    lines = []
    for verdict in found:
        limits = (("<=", verdict.objective.max), (">=", verdict.objective.min))
        asked = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)
        shown = _cell(verdict.estimate)
        lines.append(f"objective {verdict.metric} {asked}: {shown} {verdict.judgement.upper()}")
    return lines


def single_numbers(summary: Summary) -> list[str]:
    """Rates and shares, one a line."""
    names = [
        ("requests a second", "requests_per_s.total"),
        ("  of them creations", "requests_per_s.by_operation.create"),
        ("  of them polls", "requests_per_s.by_operation.get"),
        ("  of them results", "requests_per_s.by_operation.result"),
        ("  of them cancels", "requests_per_s.by_operation.cancel"),
        ("  of them deletes", "requests_per_s.by_operation.delete"),
        ("  of them answers to input", "requests_per_s.by_operation.input"),
        ("  in the busiest second", "requests_per_s.peak"),
        ("  peak to mean of polls", "phase_synchronisation"),
        ("utilization of the workers", "utilization"),
        ("worker-seconds", "worker_s.total"),
        ("  of them without a result", "worker_s.wasted"),
        ("share of requests limited", "rate_limited_share"),
        ("share of results lost", "lost_result_share"),
        ("share of tasks rejected", "rejected_share"),
        ("share of tasks given up", "gave_up_share"),
        ("share of tasks failed", "failed_share"),
        ("share of tasks cancelled", "cancelled_share"),
        ("share of tasks unknown", "unknown_share"),
        ("share of notifications lost", "created_lost_share"),
        ("milestone delay, s", "milestone_delay_s.mean"),
        *((f"own {name}", f"own.{name}") for name in summary.metrics.get("own", {})),
    ]
    held = summary.get("held_requests.max")
    if held is not None and held.value:
        names.append(("requests held open, at most", "held_requests.max"))
    known = [(label, estimate) for label, name in names if (estimate := summary.get(name))]
    return [f"{label:28}{_cell(estimate):>18}" for label, estimate in known]


def _workers(summary: Summary, scenario: Scenario) -> str:
    """What the workers did, as the end of a sentence."""
    busy, waiting = summary.get("utilization"), summary.get("waiting_s.mean")
    workers = scenario.receiver.workers
    if busy is None or waiting is None or workers is None:
        return ""
    plural = "workers" if workers > 1 else "worker"
    return (
        f"; its {workers:,} {plural} were busy {_percent(busy.value)} of the time and a task "
        f"waited {shown_number(waiting.value)} s for one"
    )


def _origin(origin: dict[str, Any]) -> str:
    several = "s, ± 95 % intervals of means and of p95" if origin["replications"] > 1 else ""
    return (
        f"seed {origin['seed']}, {origin['replications']} replication{several}, "
        f"{origin['engine']} engine, scenario {origin['scenario_digest'][:12]}, "
        f"log {origin['log_digest'][:12]}"
    )


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=label, subsequent_indent=" " * len(label))


def _cell(estimate: Estimate | None, *, has_width: bool = True) -> str:
    if estimate is None:
        return ""
    if estimate.half_width is None or not has_width:
        return shown_number(estimate.value)
    return f"{shown_number(estimate.value)} ± {_rounded(estimate.half_width, 2)}"


def shown_number(value: float) -> str:
    """Four significant digits; whole numbers from 1,000 on."""
    return _rounded(value, 4)


def _rounded(value: float, digits: int) -> str:
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    if decimals <= 0:
        return f"{value:,.0f}"
    text = f"{value:,.{min(decimals, 9)}f}"
    return text.rstrip("0").rstrip(".") if value == int(value) else text


def _percent(share: float) -> str:
    if share in {0.0, 1.0}:
        return f"{share:.0%}".replace("%", " %")
    return f"{share * 100:.{1 if 0.001 <= share <= 0.999 else 3}f} %"


def _words(key: str) -> str:
    return key.replace("_", " ")
