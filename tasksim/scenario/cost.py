"""What a run will cost, roughly, before it starts.

Rule 1: means only, rounded towards too much; it tells minutes from days, no more.
Rule 2: a run beyond the bounds is refused with its numbers, unless it is forced.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal

from tasksim.policies import ABSENT
from tasksim.policies.learning import NOTHING
from tasksim.policies.polling import Polling
from tasksim.scenario.arrivals import USER_BITS
from tasksim.scenario.model import Closed, Scenario
from tasksim.scenario.poll_rules import polling_rule
from tasksim.scenario.polls import (
    AgentPolling,
    BackoffPolling,
    FixedPolling,
    HazardPolling,
    LearningPolling,
    PlainPolling,
    PythonPolling,
    QuadraticPolling,
    RampPolling,
    ScheduledPolling,
    WaitThenFixed,
)
from tasksim.scenario.presets import resolved
from tasksim.scenario.problems import InputError
from tasksim.scenario.receiving import shortest_advice_s
from tasksim.scenario.workload import Workload, mean_rate
from tasksim.units import NS_PER_S

REQUESTS_MAX: Final = 100_000_000  # about forty minutes of the reference engine
BYTES_MAX: Final = 8_000_000_000
BYTES_PER_TASK: Final = {"summary": 40, "tasks": 1_600, "events": 1_600}
BYTES_PER_EVENT: Final = 250
EVENTS_PER_REQUEST: Final = 3
OPEN_TASK_BYTES: Final = 6_000
TASKS_OF_USER_MAX: Final = 1 << USER_BITS - 1  # half of what a task number can tell apart
RAMP_STEPS: Final = 8  # polls of a ramp before it has reached its interval, as clients ramp
STEPS_MAX: Final = 10_000  # gaps that a rule is followed for
ROUNDS_PER_TASK: Final = 3  # creation, result, and what else there may be


class CostError(InputError):
    """The run would take too long or too much memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Expected tasks, requests and bytes of memory of one replication."""

    tasks: float
    requests: float
    memory: float


def cost_of(workload: Workload, level: Literal["summary", "tasks", "events"]) -> Cost:
    """Cost of one replication."""
    scenario = workload.scenario
    work_s = _mean_work_s(workload)
    tasks = workload.expected_tasks()
    if tasks is None:  # users that think
        think_s = workload.mean_thought_ns() / NS_PER_S
        horizon_s = scenario.horizon_s or 0.0
        tasks = workload.requesters * horizon_s / max(think_s + work_s, 1e-9)
    stay_s = work_s + _wait_s(workload, tasks, work_s)
    polls = sum(
        p.share * _polls(resolved(p.polling), stay_s, scenario) for p in scenario.requesters
    )
    requests = tasks * (polls + ROUNDS_PER_TASK)
    memory = tasks * BYTES_PER_TASK[level] + min(tasks, _open(scenario, stay_s)) * OPEN_TASK_BYTES
    if level == "events":
        memory += requests * EVENTS_PER_REQUEST * BYTES_PER_EVENT
    return Cost(tasks=tasks, requests=requests, memory=memory)


def require_affordable(
    scenario: Scenario,
    level: Literal["summary", "tasks", "events"],
    replications: int = 1,
    *,
    force: bool = False,
) -> None:
    """Raise CostError when the run is beyond the bounds and not forced."""
    if force:
        return
    cost = cost_of(Workload(scenario), level)
    problems = []
    if cost.requests * replications > REQUESTS_MAX:
        problems.append(
            f"about {cost.requests * replications:.2g} requests (bound {REQUESTS_MAX:.0e}): "
            f"{cost.tasks:.2g} tasks of {cost.requests / max(cost.tasks, 1e-9):.2g} requests each"
        )
    if cost.memory * replications > BYTES_MAX:
        problems.append(
            f"about {cost.memory * replications / 1e9:.2g} GB of memory "
            f"(bound {BYTES_MAX / 1e9:.0f} GB) at level {level}"
        )
    if isinstance(scenario.arrivals, Closed):
        each = cost.tasks / scenario.arrivals.users
        if each > TASKS_OF_USER_MAX:
            problems.append(f"about {each:.2g} tasks of each user (bound {TASKS_OF_USER_MAX:,})")
    if problems:
        told = "; ".join(problems)
        raise CostError(
            f"this run would take {told}; let fewer tasks arrive, poll less often, "
            "or give --force to run it all the same"
        )


def _mean_work_s(workload: Workload) -> float:
    """Mean duration of the work, with the time that users think over its questions."""
    return workload.mean_work_ns() / NS_PER_S


def _wait_s(workload: Workload, tasks: float, work_s: float) -> float:
    """Mean wait for a worker where more comes than workers can do: half of the last one's.

    In a closed model everybody who does not think or work waits.
    """
    scenario = workload.scenario
    workers = scenario.receiver.workers
    if workers is None:
        return 0.0
    if workload.is_closed:
        cycle_s = workload.mean_thought_ns() / NS_PER_S + work_s
        return max(workload.requesters * work_s / workers - cycle_s, 0.0)
    rate = mean_rate(scenario)
    span_s = workload.trace_span_s if not rate else tasks / rate
    return max(tasks * work_s / workers - span_s, 0.0) / 2


def _open(scenario: Scenario, stay_s: float) -> float:
    """Tasks that are open or kept at once."""
    rate = mean_rate(scenario)
    kept_s = max(scenario.receiver.keep_alive.default_s, 1.0)
    return float("inf") if rate is None else rate * (stay_s + kept_s)


def _polls(polling: PlainPolling, stay_s: float, scenario: Scenario) -> float:
    """Polls of a task that stays that long."""
    match polling:
        case ScheduledPolling():
            return _scheduled_polls(polling.gaps_s, stay_s)
        case WaitThenFixed():
            return _scheduled_polls((polling.wait_s, polling.interval_s), stay_s)
        case BackoffPolling():
            return _backoff_polls(polling, stay_s)
        case QuadraticPolling():
            return math.sqrt(stay_s * polling.delay_cost_per_s / polling.poll_cost) + 1
        case HazardPolling():
            return stay_s / polling.min_s + 1
        case FixedPolling():
            return stay_s / polling.interval_s + 1
        case LearningPolling():
            return stay_s / polling.min_s + 1
        case AgentPolling() | PythonPolling():
            return _walked_polls(polling_rule(polling, scenario), stay_s)
        case _:
            steps = RAMP_STEPS if isinstance(polling, RampPolling) else 1
            return stay_s / (shortest_advice_s(scenario.receiver) or polling.default_s) + steps


def _walked_polls(rule: Polling, stay_s: float) -> float:
    """Polls of a rule of which nothing else is known, in the middle of what it draws."""
    polls, age_ns, last_ns = 1, 0, 0
    while age_ns < stay_s * NS_PER_S and polls < STEPS_MAX:
        state = (float(last_ns), 0.5, *NOTHING)
        last_ns = rule.gap_ns(rule.params, state, polls, age_ns, ABSENT, ABSENT, 0.5)
        age_ns += last_ns
        polls += 1
    return polls * max(stay_s * NS_PER_S / max(age_ns, 1), 1.0)


def _scheduled_polls(gaps_s: tuple[float, ...], stay_s: float) -> float:
    polls, left_s = 1.0, stay_s
    for gap_s in gaps_s:
        if left_s <= gap_s:
            return polls
        left_s -= gap_s
        polls += 1
    return polls + left_s / gaps_s[-1]


def _backoff_polls(polling: BackoffPolling, stay_s: float) -> float:
    """Without what chance does: full jitter makes twice as many, which is within the bounds."""
    polls, gap_s, left_s = 1.0, polling.base_s, stay_s
    while left_s > gap_s and gap_s < polling.cap_s and polling.factor > 1:
        left_s -= gap_s
        gap_s = min(gap_s * polling.factor, polling.cap_s)
        polls += 1
    return polls + left_s / gap_s
