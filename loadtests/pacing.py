"""When the next task is due: pure functions of the plan and the clock, without a clock."""

from tasksim.units import NS_PER_S


def wait_s(due_at: int, now: int) -> float:
    """Seconds to wait at *now* for an instant; 0 when it has passed."""
    return max(due_at - now, 0) / NS_PER_S
