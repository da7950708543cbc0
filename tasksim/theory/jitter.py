"""Jittered backoff under any smooth law of the work, and jitter that remembers its last gap.

Both follow the measure of polls: how often, in the mean, polls stand at t (with last gap s) if
nobody stops polling. Every wanted number is an integral of a reward against that measure, because
the gaps do not depend on the work: polls P(S > t), gaps E d P(S > t), tail E[F(t+d-y) - F(t)]^+.
"""

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from scipy import interpolate, optimize, special

from tasksim.theory.backoff import Backoff, Independent, lowest_share
from tasksim.theory.laws import Array, Law
from tasksim.theory.validity import InvalidModelError, require, require_level, require_positive

STEPS_MAX: Final = 3_000_000
TAIL: Final = 1e-11
PIECE_NODES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class JitteredPolling:
    """Mean polls, mean detection delay and one quantile of it."""

    polls: float
    delay_s: float
    delay_quantile_s: float


class _Visits(Protocol):
    """The measure of polls, as far as rewards need it."""

    @property
    def longest_s(self) -> float: ...

    def polls(self, work: Law) -> float: ...

    def gaps_s(self, work: Law) -> float: ...

    def late(self, integral: interpolate.CubicSpline, work: Law, y_s: float) -> float: ...


def _steps(work: Law, step_s: float, longest_s: float) -> int:
    """Grid steps until work has surely ended."""
    require(work.density is not None, f"{work.name} has no smooth survival function")
    count = math.ceil((work.end_s(TAIL) + longest_s) / step_s)
    require(count < STEPS_MAX, f"{work.name} needs a grid of {count} steps of {step_s} s")
    return count + 1


def _quantile_s(visits: _Visits, work: Law, level: float, step_s: float) -> float:
    """Quantile of the delay; F is integrated once, by its cubic spline."""
    grid = np.arange(_steps(work, step_s, 2 * visits.longest_s)) * step_s
    integral = interpolate.CubicSpline(grid, work.distribution(grid)).antiderivative()
    found = optimize.brentq(
        lambda y: visits.late(integral, work, y) - (1 - level), 0.0, visits.longest_s, xtol=1e-9
    )
    return float(found)


def _mean_rise(
    integral: interpolate.CubicSpline, start: Array, low: Array, high: Array, below: Array
) -> Array:
    """Integral over d from low to high of F(start + d) - below, zero for an empty range."""
    top = np.maximum(low, high)
    return np.asarray(integral(start + top) - integral(start + low) - (top - low) * below)


# Independent jitter: a box at every stage. --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stages:
    """Weights of polls on a grid, for every rising ceiling and for all the capped ones."""

    grid: Array
    stages: list[tuple[float, Array]]
    low: float
    longest_s: float

    def polls(self, work: Law) -> float:
        alive = work.survival(self.grid)
        return math.fsum(float(weights @ alive) for _, weights in self.stages)

    def gaps_s(self, work: Law) -> float:
        alive = work.survival(self.grid)
        share = (1 + self.low) / 2
        return math.fsum(v * share * float(weights @ alive) for v, weights in self.stages)

    def late(self, integral: interpolate.CubicSpline, work: Law, y_s: float) -> float:
        below, total = work.distribution(self.grid), 0.0
        for ceiling, weights in self.stages:
            least, high = np.float64(max(self.low * ceiling, y_s)), np.float64(ceiling)
            rise = _mean_rise(integral, self.grid - y_s, np.asarray(least), np.asarray(high), below)
            total += float(weights @ rise) / (ceiling * (1 - self.low))
        return total


def _boxed(weights: Array, first: int, last: int) -> Array:
    """Convolution with a uniform law between two numbers of steps, by the trapezoidal rule."""
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    size, index = weights.size, np.arange(weights.size)
    whole = sums[np.clip(index - first + 1, 0, size)] - sums[np.clip(index - last, 0, size)]
    ends = np.zeros(size)
    ends[first:] += weights[: size - first] / 2
    ends[last:] += weights[: size - last] / 2
    return np.asarray((whole - ends) / (last - first))


def _renewed(weights: Array, first: int, last: int) -> Array:
    """The renewal measure R = weights + box * R; a box that reaches zero makes it implicit."""
    share, given = 1.0 / (last - first), weights.tolist()
    found = [0.0] * (last + 1) + given
    own = 1.0 - share / 2 if first == 0 else 1.0
    inside = 0.0  # Sum of what lies strictly within the box behind the present step.
    for step in range(last + 1, len(found)):
        if first > 0:
            inside += found[step - first - 1] - found[step - last]
            near = found[step - first] / 2
        else:
            inside += found[step - 1] - found[step - last]
            near = 0.0
        found[step] = (found[step] + share * (inside + near + found[step - last] / 2)) / own
    return np.asarray(found[last + 1 :])


def _stages(work: Law, backoff: Backoff, low: float, step_s: float) -> _Stages:
    """The measure of polls on a grid; every ceiling must be a whole number of steps."""
    last_s = backoff.last_s()
    weights = np.zeros(_steps(work, step_s, last_s))
    weights[0] = 1.0
    stages: list[tuple[float, Array]] = []
    for ceiling in backoff.rising_s():
        stages.append((ceiling, weights))
        weights = _boxed(weights, round(low * ceiling / step_s), round(ceiling / step_s))
    weights = _renewed(weights, round(low * last_s / step_s), round(last_s / step_s))
    grid = np.arange(weights.size, dtype=np.float64) * np.float64(step_s)
    return _Stages(grid=grid, stages=[*stages, (last_s, weights)], low=low, longest_s=last_s)


def _step_s(backoff: Backoff, parts: int) -> float:
    """A step of which every half ceiling is a multiple; at least twice *parts* in the base."""
    ceilings = [*backoff.rising_s(), backoff.last_s()]
    for refined in range(parts, 64 * parts + 1):
        step = backoff.base_s / (2 * refined)
        if all(abs(v / (2 * step) - round(v / (2 * step))) < 1e-9 for v in ceilings):
            return step
    raise InvalidModelError(f"ceilings {ceilings} have no common step that is not too small")


def jittered_polling(
    work: Law, backoff: Backoff, jitter: Independent, level: float = 0.99, *, parts: int = 16
) -> JitteredPolling:
    """Polls and detection delay of any smooth work under full or equal jitter.

    Model: gaps uniform on (0, v) or (v/2, v), independent of the work and of each other.
    Formula: measure of polls by the trapezoidal rule on two grids, Richardson's extrapolation.
    Source: renewal recursion; jitter as in Brooker 2015.
    Valid when: the survival function is smooth (a lognormal's, not a uniform's), the cap is finite,
    ceilings have a common step, and the tail ends within the grid.
    """
    require(jitter in ("full", "equal"), f"jitter must be full or equal, not {jitter}")
    require_level(level=level)
    low, step = lowest_share(jitter), _step_s(backoff, parts)
    fine, coarse = (_stages(work, backoff, low, step * size) for size in (1, 2))
    polls = [visits.polls(work) for visits in (fine, coarse)]
    gaps = [visits.gaps_s(work) for visits in (fine, coarse)]
    return JitteredPolling(
        polls=(4 * polls[0] - polls[1]) / 3,
        delay_s=(4 * gaps[0] - gaps[1]) / 3 - work.mean_s,
        delay_quantile_s=_quantile_s(fine, work, level, step),
    )


# Decorrelated jitter: the next gap is min(cap, U(base, 3 * the last one)). ------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """Weights of polls on a grid of instants by nodes of the last gap."""

    grid: Array
    nodes: Array
    weights: Array
    base_s: float
    longest_s: float

    def polls(self, work: Law) -> float:
        return float(self.weights.sum(axis=1) @ work.survival(self.grid))

    def gaps_s(self, work: Law) -> float:
        b, cap, reach = self.base_s, self.longest_s, 3 * self.nodes
        top = np.minimum(reach, cap)
        mean = ((top**2 - b**2) / 2 + (reach - top) * cap) / (reach - b)
        return float(work.survival(self.grid) @ (self.weights @ mean))

    def late(self, integral: interpolate.CubicSpline, work: Law, y_s: float) -> float:
        b, cap, reach = self.base_s, self.longest_s, 3 * self.nodes
        top = np.minimum(reach, cap)
        below = work.distribution(self.grid)
        at_cap = work.distribution(self.grid + max(0.0, cap - y_s)) - below
        total = 0.0
        for column, (end, whole) in enumerate(zip(top, reach, strict=True)):
            least = np.asarray(max(b, y_s))
            rise = _mean_rise(integral, self.grid - y_s, least, np.asarray(end), below)
            reward = (rise + (whole - end) * at_cap) / (whole - b)
            total += float(self.weights[:, column] @ reward)
        return total


def _pieces(base_s: float, cap_s: float) -> Array:
    """Edges between which functions of the last gap are smooth: base, ..., cap/9, cap/3, cap."""
    edges = [cap_s]
    while edges[-1] / 3 > base_s * 1.0001:
        edges.append(edges[-1] / 3)
    return np.asarray([base_s, *reversed(edges)])


def _transitions(base_s: float, cap_s: float) -> tuple[Array, Array]:
    """Nodes of the last gap (the base first, the cap last) and weights of the next one."""
    edges = _pieces(base_s, cap_s)
    x, _ = special.roots_legendre(PIECE_NODES)
    vander = np.linalg.inv(np.polynomial.legendre.legvander(x, PIECE_NODES - 1))
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    nodes = np.concatenate(([base_s], (middle[:, None] + half[:, None] * x).ravel(), [cap_s]))
    weights = np.zeros((nodes.size, nodes.size))
    for row, reach in enumerate(3 * nodes):
        top = min(reach, cap_s)
        for piece, (h, m) in enumerate(zip(half, middle, strict=True)):
            tau = np.clip((top - m) / h, -1.0, 1.0)
            values = np.polynomial.legendre.legint(np.eye(PIECE_NODES), lbnd=-1.0)
            rows = np.polynomial.legendre.legval(tau, values) @ vander * h
            weights[row, 1 + piece * PIECE_NODES : 1 + (piece + 1) * PIECE_NODES] = rows
        weights[row, -1] += reach - top
        weights[row] /= reach - base_s
    return nodes, weights


def _interpolation(nodes: Array, step_s: float) -> tuple[np.ndarray, Array]:
    """Offsets in steps and coefficients of six-point interpolation at every node."""
    place = nodes / step_s
    offsets = np.floor(place).astype(int)[None, :] + np.arange(-2, 4)[:, None]
    require(int(offsets.min()) >= 1, "the step is too coarse for the base")
    found = np.ones(offsets.shape)
    for p in range(6):
        for other in range(6):
            if other != p:
                found[p] *= (place - offsets[other]) / (offsets[p] - offsets[other])
    return offsets, found


def decorrelated_polling(
    work: Law, base_s: float, cap_s: float, level: float = 0.99, *, parts: int = 8
) -> JitteredPolling:
    """Polls and detection delay of any smooth work under decorrelated jitter.

    Model: s_0 = b; each gap is s = min(cap, U(b, 3 s)) of the gap before.
    Formula: u(t, s) = r(t) + E u(t + d, d), by its adjoint: Gauss nodes in s, six points in t.
    Source: Brooker 2015 for the jitter; the equation is elementary.
    Valid when: the survival function is smooth, the cap exceeds the base, the tail ends within
    the grid.
    """
    require_positive(base_s=base_s, cap_s=cap_s)
    require(cap_s > base_s, f"cap {cap_s} s must exceed base {base_s} s")
    require_level(level=level)
    step_s = base_s / parts
    nodes, moves = _transitions(base_s, cap_s)
    offsets, shares = _interpolation(nodes, step_s)
    steps = _steps(work, step_s, 0.0)
    weights = np.zeros((steps + int(offsets.max()) + 1, nodes.size))
    weights[0, 0] = 1.0
    columns = np.broadcast_to(np.arange(nodes.size), offsets.shape)
    for row in range(steps):
        weights[offsets + row, columns] += shares * (weights[row] @ moves)
    visits = _Memory(
        grid=np.arange(steps, dtype=np.float64) * np.float64(step_s),
        nodes=nodes,
        weights=weights[:steps],
        base_s=base_s,
        longest_s=cap_s,
    )
    return JitteredPolling(
        polls=visits.polls(work),
        delay_s=visits.gaps_s(work) - work.mean_s,
        delay_quantile_s=_quantile_s(visits, work, level, step_s),
    )
