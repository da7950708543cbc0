"""The cheapest path through instants of polls: a dynamic programme as a minimum of lines.

Rule: arithmetic only. From instant x with q = P(S > x), going on to y costs c1 q + c2 (y - x) q,
so that the best y is the lowest of the lines c2 y q + W(y) at q; as x falls q rises, and the lines
enter in the order of falling slopes.
"""

import bisect
import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tasksim.theory.laws import Array
from tasksim.theory.validity import require

SLACK: Final = 1e-10  # Of the last instant: what rounding may take from a gap.


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Least and greatest gap between polls, the first from creation."""

    gap_min_s: float = 0.0
    gap_max_s: float = math.inf

    def __post_init__(self) -> None:
        ordered = 0 <= self.gap_min_s <= self.gap_max_s and self.gap_max_s > 0
        require(ordered, f"gaps from {self.gap_min_s} to {self.gap_max_s} s are no limits")


@dataclass(slots=True)
class _Hull:
    """Lowest of lines that enter with falling slopes and are asked at rising places."""

    slopes: list[float] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    head: int = 0

    def add(self, slope: float, height: float, name: int) -> None:
        s, w = self.slopes, self.heights
        while len(s) - self.head >= 2:
            cross_new = (height - w[-2]) * (s[-2] - s[-1])
            cross_old = (w[-1] - w[-2]) * (s[-2] - slope)
            if cross_new > cross_old:
                break
            s.pop()
            w.pop()
            self.names.pop()
        s.append(slope)
        w.append(height)
        self.names.append(name)

    def lowest(self, place: float) -> tuple[float, int]:
        s, w, head = self.slopes, self.heights, self.head
        if head >= len(s):
            return math.inf, -1
        value = s[head] * place + w[head]
        while head + 1 < len(s) and (following := s[head + 1] * place + w[head + 1]) <= value:
            head += 1
            value = following
        self.head = head
        return value, self.names[head]


def cheapest_path(
    instants: Array, alive: Array, poll: float, delay_per_s: float, limits: Limits
) -> list[int] | None:
    """Indices of the polls that cost least, from instant 0 (the first) to where nobody is alive.

    *alive* is P(S > x), falling, zero at the last instant. None where the limits allow no path.
    """
    slack = SLACK * float(instants[-1])
    x, q = instants.tolist(), alive.tolist()
    if math.isinf(limits.gap_max_s):
        onward = _with_least_gap(x, q, poll, delay_per_s, limits.gap_min_s - slack)
    else:
        onward = _with_both_gaps(x, q, poll, delay_per_s, limits, slack)
    path, at = [], onward[0]
    while at >= 0:
        path.append(at)
        at = onward[at]
    return path if path and q[path[-1]] <= 0.0 else None


def _with_least_gap(
    x: list[float], q: list[float], poll: float, per_s: float, gap_s: float
) -> list[int]:
    """The next poll from every instant: O(n), lines enter once the gap allows them."""
    size, entering = len(x), len(x) - 1
    worth, onward, hull = [0.0] * size, [-1] * size, _Hull()
    for i in range(size - 1, -1, -1):
        if q[i] <= 0.0:
            continue
        while entering > i and x[entering] >= x[i] + gap_s:
            if math.isfinite(worth[entering]):
                hull.add(per_s * x[entering], worth[entering], entering)
            entering -= 1
        best, onward[i] = hull.lowest(q[i])
        worth[i] = best + (poll - per_s * x[i]) * q[i]
    return onward


def _with_both_gaps(
    x: list[float], q: list[float], poll: float, per_s: float, limits: Limits, slack: float
) -> list[int]:
    """The next poll from every instant: O(n log n), a tree of hulls over spans of instants."""
    size = len(x)
    width = 1 << max(1, (size - 1).bit_length())
    tree: list[_Hull | None] = [None] * (2 * width)
    worth, onward = [math.inf] * size, [-1] * size
    for i in range(size - 1, -1, -1):
        if q[i] <= 0.0:
            worth[i] = 0.0
        else:
            first = max(i + 1, bisect.bisect_left(x, x[i] + limits.gap_min_s - slack))
            last = bisect.bisect_right(x, x[i] + limits.gap_max_s + slack)
            best, onward[i] = _lowest_within(tree, first + width, last + width, q[i])
            worth[i] = best + (poll - per_s * x[i]) * q[i]
        _close_spans(tree, i, width, x, worth, per_s)
    return onward


def _lowest_within(
    tree: list[_Hull | None], first: int, last: int, place: float
) -> tuple[float, int]:
    """The lowest line among the leaves from *first* up to *last*, at rising places."""
    best = (math.inf, -1)
    while first < last:
        for take, node in ((first & 1, first), (last & 1, last - 1)):
            hull = tree[node] if take else None
            if hull is not None:
                best = min(best, hull.lowest(place))
        first, last = (first + 1) >> 1, last >> 1
    return best


def _close_spans(
    tree: list[_Hull | None], i: int, width: int, x: list[float], worth: list[float], per_s: float
) -> None:
    """Build the hull of every span that begins at instant *i*: all its members are known now."""
    node, length = i + width, 1
    while True:
        hull = _Hull()
        for member in range(min(i + length, len(x)) - 1, i - 1, -1):
            if math.isfinite(worth[member]):
                hull.add(per_s * x[member], worth[member], member)
        tree[node] = hull
        if node & 1 or node == 1:
            return
        node, length = node >> 1, 2 * length


def brute_force_cost(
    instants: Array, alive: Array, poll: float, delay_per_s: float, limits: Limits
) -> float:
    """Cost of the cheapest path by trying every next poll: O(n^2), for tests of the fast ways.

    The constant c2 E S is not taken off.
    """
    slack = SLACK * float(instants[-1])
    worth = np.full(instants.size, math.inf)
    worth[alive <= 0.0] = 0.0
    for i in range(instants.size - 1, -1, -1):
        if alive[i] > 0.0:
            gaps = instants[i + 1 :] - instants[i]
            inside = (gaps >= limits.gap_min_s - slack) & (gaps <= limits.gap_max_s + slack)
            onward = (poll + delay_per_s * gaps) * alive[i] + worth[i + 1 :]
            worth[i] = np.where(inside, onward, math.inf).min(initial=math.inf)
    return float(worth[0])
