"""Concurrency limits: a cap for every requester and one for all, with or without a queue."""

import math

import numpy as np

from tasksim.theory.laws import Array
from tasksim.theory.validity import require_count, require_positive


def _own(cap: int, load: float) -> Array:
    """Weights a^k / k! of one requester's tasks, up to its cap."""
    return np.asarray([load**k / math.factorial(k) for k in range(cap + 1)])


def _several(requesters: int, own: Array) -> Array:
    """Weights of the tasks of several requesters together."""
    total = np.ones(1)
    for _ in range(requesters):
        total = np.convolve(total, own)
    return total


def capped_blocking(requesters: int, cap: int, total: int, load: float) -> float:
    """Share of creations refused by a cap m of every requester and a cap c of all, no queue.

    Model: each of R requesters offers *load* erlangs.
    Formula: pi(n) ~ prod a^n_i / n_i!, n_i <= m, sum n_i <= c;
    refused where n_1 = m or sum n_i = c.
    Source: Kaufman 1981; Roberts 1981; Kelly 1991; any law of the work by Burman et al. 1984.
    Valid when: creations are Poisson, refused ones do not come back.
    """
    require_count(1, requesters=requesters, cap=cap, total=total)
    require_positive(load=load)
    own = _own(min(cap, total), load)
    others = _several(requesters - 1, own)
    joint = np.outer(own, others)
    present = np.add.outer(np.arange(own.size), np.arange(others.size))
    allowed = present <= total
    refused = allowed & ((present == total) | (np.arange(own.size) == cap)[:, None])
    return float(joint[refused].sum() / joint[allowed].sum())


def capped_queue(
    requesters: int, cap: int, workers: int, arrival_rate_per_s: float, work_mean_s: float
) -> tuple[float, float]:
    """Share refused, and mean sojourn of the accepted, of capped requesters at a shared queue.

    Model: each of R requesters creates at a rate and has at most m tasks in the system; c workers,
    first come first served, exponential work.
    Formula: pi(n) ~ |n|! / prod n_i! prod rho^n_i / prod over j <= |n| of min(j, c), n_i <= m.
    Source: Kelly 1979; Berezner & Krzesinski 1996; Little. Valid when: as modelled.
    """
    require_count(1, requesters=requesters, cap=cap, workers=workers)
    require_positive(arrival_rate_per_s=arrival_rate_per_s, work_mean_s=work_mean_s)
    own = _own(cap, arrival_rate_per_s * work_mean_s)
    others = _several(requesters - 1, own)
    present = np.add.outer(np.arange(own.size), np.arange(others.size))
    shared = [1.0]
    for j in range(1, int(present.max()) + 1):
        shared.append(shared[-1] * j / min(j, workers))
    joint = np.outer(own, others) * np.asarray(shared)[present]
    joint /= joint.sum()
    refused = float(joint[cap].sum())
    accepted_per_s = requesters * arrival_rate_per_s * (1 - refused)
    return refused, float((joint * present).sum()) / accepted_per_s
