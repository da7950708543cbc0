"""Tasks as they are drawn, compiled: ``scenario.workload`` for arrivals that are drawn."""

from typing import Final

import numpy as np

from tasksim.engines.fast import layout as c
from tasksim.engines.fast import words
from tasksim.engines.fast.jit import outlined
from tasksim.scenario.draws import Stream

S_GAP, S_POPULATION, S_REQUESTER, S_CLASS = (
    int(Stream.ARRIVAL_GAP), int(Stream.POPULATION), int(Stream.REQUESTER), int(Stream.WORK_CLASS),
)  # fmt: skip
S_DURATION, S_FAILED, S_CANCELLED, S_CANCEL_AFTER = (
    int(Stream.DURATION), int(Stream.FAILED), int(Stream.CANCELLED), int(Stream.CANCEL_AFTER),
)  # fmt: skip
ABSENT: Final = -1


@outlined
def poisson_instants(run, laws, law, first, at, instants):
    """Fill in arrivals from number *first* on, the one before at *at*."""
    for index in range(len(instants)):
        key = words.entity_key(run, first + index)
        at += words.variate_ns(laws, law, words.draw(key, S_GAP, 0))
        instants[index] = at


@outlined
def draw_plans(run, laws, bands, populations, classes, plans, keys):
    """Fill in what is drawn of each task; its arrival and, from a trace, more, stand there.

    *bands*: (populations, classes) rows of thresholds, shifted. What a trace gives is not ABSENT.
    """
    for task in range(len(keys)):
        key = words.entity_key(run, task)
        keys[task] = key
        plan = plans[task]
        if plan[c.REQUESTER] == ABSENT:
            word = words.draw(key, S_POPULATION, 0)
            population = words.band_of(bands[0], 0, len(populations) - 1, word)
            plan[c.POPULATION] = population
            count = populations[population, c.COUNT]
            place = words.below(count, words.draw(key, S_REQUESTER, 0))
            plan[c.REQUESTER] = populations[population, c.OFFSET] + place
        else:
            owner = words.entity_key(run, plan[c.REQUESTER])
            word = words.draw(owner, S_POPULATION, 0)
            plan[c.POPULATION] = words.band_of(bands[0], 0, len(populations) - 1, word)
        if plan[c.CLASS] == ABSENT:
            word = words.draw(key, S_CLASS, 0)
            plan[c.CLASS] = words.band_of(bands[1], 0, len(classes) - 1, word)
        work = classes[plan[c.CLASS]]
        if plan[c.DURATION] == ABSENT:
            plan[c.DURATION] = words.variate_ns(laws, work[c.LAW], words.draw(key, S_DURATION, 0))
        fate = np.int64(words.draw(key, S_FAILED, 0) >> np.uint64(11))
        plan[c.FATE] = c.GOES_WELL
        if fate < work[c.FAILED_SHARE]:
            plan[c.FATE] = c.FAILS
        elif fate < work[c.BAD_SHARE]:
            plan[c.FATE] = c.VANISHES
        own = populations[plan[c.POPULATION]]
        plan[c.CANCEL_AFTER] = ABSENT
        if own[c.CANCEL_LAW] >= 0 and words.falls(
            words.draw(key, S_CANCELLED, 0), own[c.CANCEL_SHARE]
        ):
            word = words.draw(key, S_CANCEL_AFTER, 0)
            plan[c.CANCEL_AFTER] = words.variate_ns(laws, own[c.CANCEL_LAW], word)
