"""What the parts of a scenario must satisfy together.

Rule 1: a check yields every problem it sees, with the path of the key that is to be changed.
Rule 2: a check says which sections it reads, so that it can run while others are still faulty.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Final

from tasksim.scenario.distributions import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Lomax,
    Mixture,
    Own,
    Uniform,
    Weibull,
)
from tasksim.scenario.model import Bursty, Closed, Columns, ConstantRate, Poisson, Scenario, Trace
from tasksim.scenario.more_checks import MORE_CHECKS, Check, Problem, drawn
from tasksim.scenario.objectives import METRICS
from tasksim.scenario.places import Path
from tasksim.scenario.polls import BackoffPolling, HazardPolling, PresetPolling
from tasksim.scenario.presets import PRESETS
from tasksim.scenario.problems import suggestion
from tasksim.scenario.receiving import (
    Adaptive,
    AgeAdvice,
    FixedWindow,
    InHand,
    LeakyBucket,
    LoadAdvice,
    OwnLimit,
    SlidingCounter,
    SlidingLog,
    TokenBucket,
    WholeTokens,
)
from tasksim.scenario.traces import TraceError, is_swf, read_trace
from tasksim.scenario.variates import LONGEST_NS
from tasksim.units import NS_PER_S

NOT_RATES: Final = (
    FixedWindow, SlidingLog, SlidingCounter, InHand, Adaptive, OwnLimit, type(None)
)  # fmt: skip
SHARE_TOLERANCE: Final = 1e-9
STATES_MAX: Final = 10_000  # of a bursty process, for one arrival
LAWS: Final = (
    Constant,
    Uniform,
    Exponential,
    Lognormal,
    Gamma,
    Weibull,
    Lomax,
    Mixture,
    Empirical,
    Own,
)
SECTIONS: Final = frozenset(field.name for field in fields(Scenario))


def ends(scenario: Scenario) -> Iterator[Problem]:
    """A run must end, and not before its warm-up."""
    horizon_s, warmup_s = scenario.horizon_s, scenario.warmup_s
    is_trace = isinstance(scenario.arrivals, Trace)
    if horizon_s is None and scenario.tasks is None and not is_trace:
        yield (), "the arrivals never end: give horizon_s or tasks"
    if horizon_s is not None and warmup_s >= horizon_s:
        yield ("warmup_s",), f"must be < horizon_s ({horizon_s:g}), not {warmup_s:g}"
    if horizon_s is None and not scenario.drain:
        yield ("horizon_s",), "is missing: without drain the run is cut there"


def shares_sum_to_one(scenario: Scenario) -> Iterator[Problem]:
    """The shares of populations, and of classes of work, divide the whole."""
    for section in ("requesters", "work"):
        parts = getattr(scenario, section)
        total = sum(part.share for part in parts)
        if abs(total - 1.0) > SHARE_TOLERANCE:
            yield (section,), f"the shares must sum to 1, not {total:g}"


def names_differ(scenario: Scenario) -> Iterator[Problem]:
    """A table of a list is addressed by its name."""
    for section in ("requesters", "work"):
        names = Counter(part.name for part in getattr(scenario, section))
        for name, count in names.items():
            if count > 1:
                yield (section,), f"{count} tables have the name {name!r}: give each its own"


def backoff_grows(scenario: Scenario) -> Iterator[Problem]:
    """A cap below the base would be the only gap there is."""
    for index, population in enumerate(scenario.requesters):
        polling = population.polling
        path: Path = ("requesters", index, "polling", "name")
        if isinstance(polling, PresetPolling) and polling.name not in PRESETS:
            yield path, f"is no preset{suggestion(polling.name, PRESETS)}"
        if isinstance(polling, BackoffPolling) and polling.cap_s < polling.base_s:
            path = ("requesters", index, "polling", "cap_s")
            yield path, f"must be >= base_s ({polling.base_s:g}), not {polling.cap_s:g}"


def cancels_have_an_instant(scenario: Scenario) -> Iterator[Problem]:
    """Who cancels does so some time after asking for the task."""
    for index, population in enumerate(scenario.requesters):
        path = ("requesters", index, "cancel_after")
        if population.cancel_share > 0 and population.cancel_after is None:
            yield path, "is missing: how long after its creation is a task cancelled?"
        yield from drawn(path, population.cancel_after)


def objectives_are_metrics(scenario: Scenario) -> Iterator[Problem]:
    """An objective names what an answer has."""
    for name in scenario.objectives:
        path = ("objectives", name)
        if name.removeprefix("own.") in scenario.metrics and name.startswith("own."):
            continue
        if name not in METRICS:
            yield path, f"is no metric{suggestion(name, METRICS)}"
        elif name == "utilization" and scenario.receiver.workers is None:
            yield path, "needs receiver.workers: as many as needed are never all busy"
        elif name == "milestone_delay_s.mean" and not any(w.milestones for w in scenario.work):
            yield path, "needs work with milestones"


def durations_are_given_once(scenario: Scenario) -> Iterator[Problem]:
    """Every task's work has a duration: from the trace or from its class, not from both."""
    arrivals = scenario.arrivals
    from_trace = isinstance(arrivals, Trace) and _has_durations(arrivals)
    for index, work in enumerate(scenario.work):
        path = ("work", index, "duration")
        if from_trace and work.duration is not None:
            yield path, "the trace gives durations: drop this, or set columns.duration = false"
        if not from_trace and work.duration is None:
            yield path, "is missing: how long does the work take?"


def _has_durations(trace: Trace) -> bool:
    return is_swf(trace) or (trace.columns or Columns()).duration is not False


def trace_is_usable(scenario: Scenario) -> Iterator[Problem]:
    """A trace is read once before anything runs."""
    trace = scenario.arrivals
    if not isinstance(trace, Trace):
        return
    has_times = is_swf(trace) or (trace.columns or Columns()).arrival is not False
    if has_times and trace.rate is not None:
        yield (
            ("arrivals", "rate"),
            "the trace gives arrivals: drop this, or columns.arrival = false",
        )
    if not has_times and trace.rate is None:
        yield ("arrivals", "rate"), "is missing: how many tasks arrive a second?"
    if is_swf(trace) and trace.columns is not None:
        yield ("arrivals", "columns"), "the columns of this format are fixed: drop this"
        return
    try:
        read_trace(trace, tuple(work.name for work in scenario.work))
    except TraceError as fault:
        yield ("arrivals", "file"), str(fault)


def arrivals_are_within_reach(scenario: Scenario) -> Iterator[Problem]:
    """Gaps between arrivals must be durations that a run can hold."""
    arrivals, longest_s = scenario.arrivals, LONGEST_NS / NS_PER_S
    if isinstance(arrivals, Poisson | Trace | ConstantRate):
        rate = arrivals.rate
        if rate is not None and 50.0 / rate > longest_s:
            yield ("arrivals", "rate"), f"is so low that a gap may pass 18 years: {rate:g}"
    if isinstance(arrivals, Bursty):
        if len(arrivals.rates) != len(arrivals.mean_s):
            count = len(arrivals.rates)
            yield ("arrivals", "mean_s"), f"must have as many values as rates ({count})"
        if not any(arrivals.rates):
            yield ("arrivals", "rates"), "are all 0: no task ever arrives"
        if any(50.0 * mean > longest_s for mean in arrivals.mean_s):
            yield ("arrivals", "mean_s"), "is so long that a state may pass 18 years"
        yield from _bursts_are_dense(arrivals)
    if isinstance(arrivals, Closed):
        yield from drawn(("arrivals", "think"), arrivals.think)


def _bursts_are_dense(arrivals: Bursty) -> Iterator[Problem]:
    """An arrival must not take thousands of states to come."""
    tasks = sum(rate * mean for rate, mean in zip(arrivals.rates, arrivals.mean_s, strict=False))
    if 0 < tasks * STATES_MAX < len(arrivals.rates):
        yield ("arrivals", "rates"), f"let a task come only every {1 / tasks:.2g} rounds of states"


def times_are_within_reach(scenario: Scenario) -> Iterator[Problem]:
    """Every time of the file is 0, or between a nanosecond and 18 years."""
    yield from _times(scenario, ())
    arrivals, tasks = scenario.arrivals, scenario.tasks
    rate = arrivals.rate if isinstance(arrivals, Poisson | ConstantRate) else None
    longest_s = LONGEST_NS / NS_PER_S
    is_told = rate is not None and 50.0 / rate > longest_s
    if rate is not None and tasks is not None and tasks / rate > longest_s and not is_told:
        yield ("tasks",), f"take more than 18 years to arrive at {rate:g} a second"


def _times(value: object, path: Path) -> Iterator[Problem]:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _times(item, (*path, index))
    if not is_dataclass(value) or isinstance(value, LAWS):
        return
    for field in fields(value):
        item = getattr(value, field.name)
        here = (*path, field.name)
        if not isinstance(item, float) or not field.name.endswith("_s"):
            yield from _times(item, here)
        elif item * NS_PER_S > LONGEST_NS:
            yield here, f"must be at most 18 years ({LONGEST_NS / NS_PER_S:.3g} s), not {item:g}"
        elif 0 < item * NS_PER_S < 1:
            yield here, f"must be at least a nanosecond, not {item:g}"


def handling_is_done_by_someone(scenario: Scenario) -> Iterator[Problem]:
    """Where workers answer, there are no servers to count."""
    handling = scenario.receiver.handling
    if handling is not None and handling.shares_workers and handling.servers != 1:
        yield ("receiver", "handling", "servers"), "the workers answer: drop this"


def trace_keys_have_their_columns(scenario: Scenario) -> Iterator[Problem]:
    """A key that would do nothing is a mistake."""
    trace = scenario.arrivals
    if not isinstance(trace, Trace):
        return
    columns = Columns() if is_swf(trace) else trace.columns or Columns()
    if columns.arrival is False and trace.speed_up != 1.0:
        yield ("arrivals", "speed_up"), "the trace has no arrivals: give another rate"
    if columns.duration is False and trace.duration_scale != 1.0:
        yield ("arrivals", "duration_scale"), "the trace has no durations: drop this"
    for index, population in enumerate(scenario.requesters):
        if columns.requester is not False and population.count != 1:
            yield ("requesters", index, "count"), "the trace names requesters: drop this"


def closed_users_have_populations(scenario: Scenario) -> Iterator[Problem]:
    """A closed model's users are dealt out by share; a count would say something else."""
    if isinstance(scenario.arrivals, Closed):
        for index, population in enumerate(scenario.requesters):
            if population.count != 1:
                path = ("requesters", index, "count")
                yield path, "arrivals.users says how many there are: give shares only"


def limits_are_within_reach(scenario: Scenario) -> Iterator[Problem]:
    """A bucket must refill within the time that a run can hold."""
    limits = scenario.receiver.rate_limits
    for name in ("create", "get", "result", "list", "delete", "cancel", "input"):
        limit = getattr(limits, name)
        if isinstance(limit, InHand | Adaptive) and scenario.receiver.handling is None:
            here = ("receiver", "rate_limits", name)
            yield here, "needs receiver.handling: without it answering takes no time"
        if isinstance(limit, NOT_RATES):
            continue
        burst = limit.burst if isinstance(limit, TokenBucket | WholeTokens) else 1
        burst = limit.room if isinstance(limit, LeakyBucket) else burst
        if burst / limit.rate > LONGEST_NS / NS_PER_S:
            path = ("receiver", "rate_limits", name, "rate")
            yield path, f"is so low that the bucket fills in more than 18 years: {limit.rate:g}"


def advice_has_what_it_needs(scenario: Scenario) -> Iterator[Problem]:
    """Intervals have an order; hazards need laws."""
    settings = scenario.receiver.poll_frequency
    path = ("receiver", "poll_frequency")
    if isinstance(settings, LoadAdvice | AgeAdvice) and settings.max_s < settings.min_s:
        yield (*path, "max_s"), f"must be >= min_s ({settings.min_s:g}), not {settings.max_s:g}"
    has_laws = all(work.duration is not None for work in scenario.work)
    if isinstance(settings, AgeAdvice) and not has_laws:
        yield path, "needs a law of the work's duration: a trace's durations have no hazard"
    for index, population in enumerate(scenario.requesters):
        if isinstance(population.polling, HazardPolling) and not has_laws:
            here = ("requesters", index, "polling")
            yield here, "needs a law of the work's duration: a trace's durations have no hazard"
    if isinstance(settings, LoadAdvice) and 1.0 / settings.polls_per_s > LONGEST_NS / NS_PER_S:
        yield (*path, "polls_per_s"), "is so low that an interval would pass 18 years"


def windows_follow_each_other(scenario: Scenario) -> Iterator[Problem]:
    """Of two stalls, or two outages, the second begins when the first is over."""
    for name in ("stalls", "outages"):
        over_at = -1.0
        for index, window in enumerate(getattr(scenario.faults, name)):
            if window.at_s <= over_at:
                path = ("faults", name, index, "at_s")
                yield path, f"must be > {over_at:g}, when the one before is over"
            over_at = window.at_s + window.for_s


def restarts_follow_each_other(scenario: Scenario) -> Iterator[Problem]:
    """A receiver that is down cannot go down."""
    up_at = -1.0
    for index, restart in enumerate(scenario.faults.restarts):
        path = ("faults", "restarts", index, "at_s")
        if restart.at_s <= up_at:
            yield path, f"must be > {up_at:g}, when the one before is over, not {restart.at_s:g}"
        up_at = restart.at_s + restart.down_s


def work_can_be_drawn(scenario: Scenario) -> Iterator[Problem]:
    """Tables of the work's laws."""
    for index, work in enumerate(scenario.work):
        yield from drawn(("work", index, "duration"), work.duration)
        if work.input_required is not None:
            path = ("work", index, "input_required", "think")
            yield from drawn(path, work.input_required.think)
        if work.failed_share + work.unknown_share > 1:
            yield ("work", index, "unknown_share"), "and failed_share are more than 1 together"


def delays_can_be_drawn(scenario: Scenario) -> Iterator[Problem]:
    """Tables of the network's laws."""
    yield from drawn(("network", "request"), scenario.network.request)
    yield from drawn(("network", "reply"), scenario.network.reply)
    cuts = scenario.faults.stream_cuts
    yield from drawn(("faults", "stream_cuts", "after"), None if cuts is None else cuts.after)


# The sections that each check reads.
CHECKS: Final[tuple[tuple[Check, frozenset[str]], ...]] = (
    (ends, frozenset({"arrivals", "horizon_s", "tasks", "warmup_s"})),
    (shares_sum_to_one, frozenset({"requesters", "work"})),
    (names_differ, frozenset({"requesters", "work"})),
    (backoff_grows, frozenset({"requesters"})),
    (cancels_have_an_instant, frozenset({"requesters"})),
    (objectives_are_metrics, frozenset({"objectives", "receiver", "work", "metrics"})),
    (durations_are_given_once, frozenset({"arrivals", "work"})),
    (trace_is_usable, frozenset({"arrivals", "work"})),
    (closed_users_have_populations, frozenset({"arrivals", "requesters"})),
    (limits_are_within_reach, frozenset({"receiver"})),
    (advice_has_what_it_needs, frozenset({"receiver", "requesters", "work", "arrivals"})),
    (restarts_follow_each_other, frozenset({"faults"})),
    (times_are_within_reach, SECTIONS),
    (handling_is_done_by_someone, frozenset({"receiver"})),
    (trace_keys_have_their_columns, frozenset({"arrivals", "requesters"})),
    (arrivals_are_within_reach, frozenset({"arrivals"})),
    (work_can_be_drawn, frozenset({"work"})),
    (delays_can_be_drawn, frozenset({"network", "faults"})),
    (windows_follow_each_other, frozenset({"faults"})),
    *MORE_CHECKS,
)
