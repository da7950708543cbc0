"""When the next task is due, as pure functions of the plan and the clock."""

from tasksim.units import NS_PER_S


def wait_s(due_at: int, now: int) -> float:
    """Seconds to wait at *now* for an instant; 0 when it has passed."""
    return max(due_at - now, 0) / NS_PER_S


def is_share_of(requester: int, worker: int, workers: int) -> bool:
    """Whether a requester's tasks belong to one of several load generators.

    Whole requesters are dealt out, so that a session stays with one generator.
    """
    return requester % workers == worker
