"""A comparison of a live run and its simulation, as text."""

from tasksim.metrics.estimators import Estimate
from tasksim.planning.compare_live import LAG_P99_MAX_MS, MEDIAN_ERROR_MAX_MS, Comparison
from tasksim.scenario.model import Scenario


def comparison_text(comparison: Comparison, scenario: Scenario) -> str:
    """Verdict first, then errors task by task, means, lag, the worst tasks."""
    error, lag = comparison.error_ms, comparison.lag_ms
    lines = [scenario.title or "(no title)", "", *_verdict(comparison), ""]
    lines += [
        f"detection instant, measured - simulated, task by task ({comparison.compared:,} tasks)",
        (
            f"  |error| median {error['p50']:.2f} ms, 95 % within {error['p95']:.2f} ms, "
            f"largest {error['max']:.1f} ms; median of the signed error {error['bias']:+.2f} ms"
        ),
        f"  off by more than half an interval: {comparison.off_half_interval_share:.2%}",
        (
            f"  same number of polls: {comparison.same_polls_share:.2%} "
            f"({', '.join(f'{n} in {c:,}' for n, c in comparison.polls.items())})"
        ),
        f"  same outcome: {comparison.same_outcome_share:.2%}",
        "",
        f"{'':22}{'measured':>20}{'simulated':>20}{'difference':>22}",
    ]
    lines += [
        f"{pair.name:22}{_shown(pair.measured):>20}{_shown(pair.simulated):>20}"
        f"{_shown(pair.difference, signed=True):>22}"
        for pair in comparison.pairs
    ]
    lines += [
        "",
        (
            f"simulated with a round trip of {comparison.rtt_ms:.3f} ms, the median of pings "
            "under load; nothing else was fitted"
        ),
        (
            f"starts behind the plan: median {lag['p50']:.2f} ms, 99 % within {lag['p99']:.2f} ms, "
            f"most {lag['max']:.2f} ms"
        ),
        f"load generator: {comparison.cpu_s:.1f} s of CPU, {comparison.connects:,} connections",
        "",
        "farthest off:   task   error, ms   polls measured / simulated   end of work, ms",
    ]
    lines += [
        f"{row['task']:20d}{row['error_ms']:+12.1f}"
        f"{row['polls_measured']:17d} / {row['polls_simulated']:d}{row['terminal_error_ms']:+23.1f}"
        for row in comparison.worst
    ]
    network = scenario.network
    if network.request is not None or network.reply is not None:
        lines.append("note: the scenario's own network delays were not imposed on the live run")
    lines += [f"warning: broken law: {law}" for law in comparison.broken_laws]
    return "\n".join(lines)


def _verdict(comparison: Comparison) -> list[str]:
    lines = []
    if comparison.is_generator_limited:
        lines.append(
            f"GENERATOR-LIMITED: 1 % of the tasks started more than {LAG_P99_MAX_MS:.0f} ms late; "
            "this run says little of the receiver."
        )
    error_ms = comparison.error_ms["p50"]
    word = "within" if error_ms <= MEDIAN_ERROR_MAX_MS else "NOT within"
    lines.append(
        f"The simulation told the instant at which each task was noticed to {error_ms:.2f} ms "
        f"(median), {word} {MEDIAN_ERROR_MAX_MS:.0f} ms."
    )
    return lines


def _shown(estimate: Estimate, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    value = f"{estimate.value:{sign}.4f}"
    return value if estimate.half_width is None else f"{value} ± {estimate.half_width:.4f}"
