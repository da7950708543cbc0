"""Which polling interval a receiver advertises (R21).

Rule: a rule is one function ``interval_ns(params, age_ns, open_tasks) -> int`` on a flat tuple:
the task's age since it was created, and the tasks that have not ended.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tasksim.policies.polling import aged_place

GOLDEN: Final = 0x9E3779B9  # 2**32 / golden ratio, odd
MASK: Final = (1 << 32) - 1
Params = tuple[int, ...]
AdviceRule = Callable[[Params, int, int], int]


def fixed_interval_ns(params: Params, age_ns: int, open_tasks: int) -> int:  # noqa: ARG001
    """One interval, always: *params* = (interval in ns,)."""
    return params[0]


def load_interval_ns(params: Params, age_ns: int, open_tasks: int) -> int:  # noqa: ARG001
    """An interval that keeps all requesters together within a budget of polls a second.

    *params* = (ns between two polls of the budget, shortest, longest): N open tasks that poll
    every N times that make just so many polls.
    """
    between_ns, least_ns, most_ns = params
    return min(max(open_tasks * between_ns, least_ns), most_ns)


def age_interval_ns(params: Params, age_ns: int, open_tasks: int) -> int:  # noqa: ARG001
    """An interval by the task's age: *params* = (n, n ages in ns, n + 1 intervals in ns)."""
    count = params[0]
    return params[1 + count + aged_place(params, count, age_ns)]


def spread_ns(interval_ns: int, share: float, sequence: int) -> int:
    """An interval that is longer by up to *share* of itself, another for each task.

    The parts follow the golden ratio, so that any few tasks in a row are told intervals as
    different as can be, and what polls in step does so no longer. Nothing is drawn.

    Source: Weyl 1916; the sequence of least discrepancy for one dimension.
    """
    part = (sequence * GOLDEN & MASK) * 2.0**-32
    return int(interval_ns * (1.0 + share * part) + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A rule with its parameters, and the share by which it is spread."""

    interval_ns: AdviceRule
    params: Params
    spread: float = 0.0

    def told_ns(self, age_ns: int, open_tasks: int, sequence: int) -> int:
        """What the task that was admitted as number *sequence* is told."""
        interval_ns = self.interval_ns(self.params, age_ns, open_tasks)
        return spread_ns(interval_ns, self.spread, sequence) if self.spread else interval_ns


def fixed(interval_ns: int) -> Advice:
    """Advertise *interval_ns*."""
    return Advice(interval_ns=fixed_interval_ns, params=(interval_ns,))


def load_dependent(between_ns: int, least_ns: int, most_ns: int) -> Advice:
    """Advertise what makes a poll every *between_ns* in all, within limits."""
    return Advice(interval_ns=load_interval_ns, params=(between_ns, least_ns, most_ns))


def age_dependent(ages_ns: Sequence[int], intervals_ns: Sequence[int]) -> Advice:
    """Advertise ``intervals_ns[k]`` from ``ages_ns[k - 1]`` on; one interval more than ages."""
    assert len(intervals_ns) == len(ages_ns) + 1, "an interval before, between and after the ages"
    params = (len(ages_ns), *ages_ns, *intervals_ns)
    return Advice(interval_ns=age_interval_ns, params=params)
