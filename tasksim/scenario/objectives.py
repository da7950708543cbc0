"""What a run is judged by: metrics with a limit.

Rule: names are those of answers. They stand here because a scenario is checked before there is an
answer; a test holds them to what the summary really has.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from tasksim.scenario.distributions import FORBID

_SPANS: Final = (
    "detection_delay_s",
    "held_s",
    "waiting_s",
    "service_s",
    "sojourn_s",
    "time_to_created_s",
    "retrieval_delay_s",
    "turnaround_s",
)
METRICS: Final = frozenset(
    {f"{span}.{statistic}" for span in _SPANS for statistic in ("mean", "p50", "p95", "p99", "max")}
    | {"polls_per_task.mean", "wasted_polls_per_task.mean"}
    | {
        f"{name}_share"
        for name in (
            "lost_result",
            "rejected",
            "rate_limited",
            "gave_up",
            "failed",
            "cancelled",
            "unknown",
            "created_lost",
        )
    }
    | {f"requests_per_s.{name}" for name in ("total", "peak")}
    | {f"worker_s.{name}" for name in ("total", "wasted")}
    | {f"requests_per_s.by_operation.{name}" for name in ("create", "get", "result")}
    | {f"{state}.{name}" for state in ("in_system", "resident_tasks") for name in ("mean", "max")}
    | {"utilization", "phase_synchronisation"}
    | {"held_requests.max", "held_requests.s_per_task", "milestone_delay_s.mean"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A metric's limits: at most *max*, at least *min*, or both."""

    __pydantic_config__: ClassVar[Any] = FORBID
    max: float | None = None
    min: float | None = None

    def __post_init__(self) -> None:
        if self.max is None and self.min is None:
            raise ValueError("needs max or min")
        if self.max is not None and self.min is not None and self.min > self.max:
            raise ValueError(f"min ({self.min:g}) must be <= max ({self.max:g})")
