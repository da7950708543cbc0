"""Receivers without a queue whose refused creators come back: retrial queues."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from tasksim.theory.validity import require, require_count, require_positive

LEVELS_MAX: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrial:
    """Probability that all workers are busy, and mean number of creators that wait to retry."""

    busy_share: float
    orbit: float


def _check(workers: int, arrival: float, work_rate: float, retry: float) -> None:
    require_count(1, workers=workers)
    require_positive(arrival_rate_per_s=arrival, work_rate_per_s=work_rate, retry_rate_per_s=retry)
    load = arrival / work_rate
    require(load < workers, f"a load of {load} on {workers} workers has no steady state")


def one_worker_retrial(
    arrival_rate_per_s: float, work_rate_per_s: float, retry_rate_per_s: float
) -> Retrial:
    """M/M/1 with retrials: busy rho, orbit rho^2/(1-rho) + lambda rho / (nu (1-rho)).

    Source: Falin & Templeton 1997, ch. 1. Valid when: rho < 1; every refused creator retries, on
    its own, at rate nu.
    """
    _check(1, arrival_rate_per_s, work_rate_per_s, retry_rate_per_s)
    load = arrival_rate_per_s / work_rate_per_s
    orbit = load**2 + arrival_rate_per_s * load / retry_rate_per_s
    return Retrial(busy_share=load, orbit=orbit / (1 - load))


def one_worker_acceptance_mean_s(
    arrival_rate_per_s: float, work_rate_per_s: float, retry_rate_per_s: float
) -> float:
    """Mean time from the first attempt to acceptance: rho/(1-rho) (1/mu + 1/nu).

    Source: Little's law on the orbit; Falin & Templeton 1997. Valid when: as for the orbit.
    """
    found = one_worker_retrial(arrival_rate_per_s, work_rate_per_s, retry_rate_per_s)
    return found.orbit / arrival_rate_per_s


def two_worker_retrial(
    arrival_rate_per_s: float, work_rate_per_s: float, retry_rate_per_s: float
) -> Retrial:
    """M/M/2 with retrials, by a recursion over the orbit.

    Formula: p_0,j+1 / p_0,j = lam ((lam + j nu)^2 + j nu mu) / (mu (j+1) nu (3 lam + 2 mu +
    2 (j+1) nu)); p_1,j = (lam + j nu) / mu p_0,j; p_2,j = (j+1) nu (p_0 + p_1)_(j+1) / lam.
    Source: Hanschke 1987; Falin & Templeton 1997. Valid when: lambda < 2 mu.
    """
    lam, mu, nu = arrival_rate_per_s, work_rate_per_s, retry_rate_per_s
    _check(2, lam, mu, nu)
    idle, whole, busy, orbit, j = 1.0, 0.0, 0.0, 0.0, 0
    while True:
        require(j < LEVELS_MAX, f"the orbit does not die out within {LEVELS_MAX} creators")
        one = (lam + j * nu) / mu * idle
        following = idle * lam * ((lam + j * nu) ** 2 + j * nu * mu)
        following /= mu * (j + 1) * nu * (3 * lam + 2 * mu + 2 * (j + 1) * nu)
        two = (j + 1) * nu * following * (1 + (lam + (j + 1) * nu) / mu) / lam
        level = idle + one + two
        whole, busy, orbit = whole + level, busy + two, orbit + j * level
        if j > 10 and (j + 1) * level < 1e-16 * whole:
            return Retrial(busy_share=busy / whole, orbit=orbit / whole)
        idle, j = following, j + 1


def retrial(
    workers: int,
    arrival_rate_per_s: float,
    work_rate_per_s: float,
    retry_rate_per_s: float,
    *,
    levels: int = 500,
) -> Retrial:
    """M/M/c with retrials, by its chain with the orbit cut at a number of levels.

    Source: Artalejo & Gomez-Corral 2008. Valid when: lambda < c mu, and the last level carries
    less than 1e-9 (else take more levels).
    """
    _check(workers, arrival_rate_per_s, work_rate_per_s, retry_rate_per_s)
    require_count(10, levels=levels)
    width = workers + 1
    busy = np.tile(np.arange(width), levels)
    orbit = np.repeat(np.arange(levels), width)
    state = np.arange(busy.size)
    free, last = busy < workers, orbit == levels - 1
    moves = [
        (state[free], state[free] + 1, np.full(int(free.sum()), arrival_rate_per_s)),
        (
            state[~free & ~last],
            state[~free & ~last] + width,
            np.full(levels - 1, arrival_rate_per_s),
        ),
        (state[busy > 0], state[busy > 0] - 1, busy[busy > 0] * work_rate_per_s),
        (
            state[free & (orbit > 0)],
            state[free & (orbit > 0)] - width + 1,
            orbit[free & (orbit > 0)] * retry_rate_per_s,
        ),
    ]
    chances = steady_state(
        np.concatenate([move[0] for move in moves]),
        np.concatenate([move[1] for move in moves]),
        np.concatenate([move[2] for move in moves]),
        busy.size,
    )
    left = float(chances[last].sum())
    require(left < 1e-9, f"{levels} levels are too few: the last carries {left}")
    return Retrial(busy_share=float(chances[~free].sum()), orbit=float((orbit * chances).sum()))


def steady_state(
    origins: np.ndarray, targets: np.ndarray, rates: np.ndarray, size: int
) -> np.ndarray:
    """Steady state of a finite Markov chain in continuous time, given its moves and their rates.

    Formula: pi Q = 0, sum pi = 1, one balance equation replaced by pi_0 = 1.
    Source: balance. Valid when: every state can be reached from every other.
    """
    leaving = np.bincount(origins, weights=rates, minlength=size)
    rows = np.concatenate((targets, np.arange(size)))
    columns = np.concatenate((origins, np.arange(size)))
    values = np.concatenate((rates, -leaving))
    keep = rows > 0
    balance = sparse.csc_matrix(
        (
            np.concatenate((values[keep], [1.0])),
            (np.concatenate((rows[keep], [0])), np.concatenate((columns[keep], [0]))),
        ),
        shape=(size, size),
    )
    right = np.zeros(size)
    right[0] = 1.0
    found = linalg.spsolve(balance, right)
    return np.asarray(found / found.sum())
