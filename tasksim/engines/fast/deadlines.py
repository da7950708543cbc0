"""When a requester acts next, compiled: its wake-up, and the gaps of its polling rule."""

import numpy as np

from tasksim.engines.fast import layout as c
from tasksim.engines.fast import words
from tasksim.engines.fast.heap import push
from tasksim.engines.fast.jit import inlined
from tasksim.engines.fast.names import (
    NEVER,
    S_JITTER,
    S_PHASE,
    T_CANCEL_DUE,
)
from tasksim.engines.fast.network import rank
from tasksim.engines.fast.rules import (
    aged_gap_ns,
    backoff_gap_ns,
    decorrelated_gap_ns,
    fixed_gap_ns,
    hint_gap_ns,
    quadratic_gap_ns,
    ramp_gap_ns,
    scheduled_gap_ns,
    spread_backoff_gap_ns,
    tabled_gap_ns,
)


@inlined
def arm(w, task):
    """Wake the task's requester for its next deadline."""
    state = w.state[task]
    at, tie = state[c.DUE_AT], state[c.DUE_TIE]
    aside = state[c.CANCEL_AT]
    if aside != NEVER and (at == NEVER or (aside, T_CANCEL_DUE) < (at, tie)):
        at, tie = aside, T_CANCEL_DUE
    if at == state[c.WAKE_AT] and (at == NEVER or tie == state[c.WAKE_TIE]):
        return
    state[c.WAKE_AT] = at
    state[c.WAKE_TIE] = tie
    if at != NEVER:
        push(w, at, rank(tie, task, 0), NEVER)


@inlined
def expect(w, task, answer_at):
    """An answer will arrive at that instant, or never: arm the deadline that it will miss."""
    state = w.state[task]
    at = state[c.DUE_AT]
    aside = state[c.CANCEL_AT]
    if aside != NEVER and (at == NEVER or aside < at):
        at = aside
    if at != NEVER and (answer_at == NEVER or answer_at >= at):
        arm(w, task)


@inlined
def wake(w, task, at, tie):
    """Set the deadline of the exchange."""
    w.state[task, c.DUE_AT] = at
    w.state[task, c.DUE_TIE] = tie


@inlined
def gap_ns(w, task, attempt, now, retry_after_ns):
    """How long until the next poll, by the population's rule."""
    state, key = w.state[task], w.keys[task]
    population = w.populations[w.plans[task, c.POPULATION]]
    first = population[c.PARAMS_AT]
    p = w.params[first : first + population[c.PARAMS_COUNT]]
    u = words.unit(words.draw(key, S_JITTER, attempt)) if population[c.JITTERED] else 0.0
    rule = population[c.RULE]
    phase = words.unit(words.draw(key, S_PHASE, 0)) if rule == c.QUADRATIC else 0.0
    before = (float(state[c.LAST_GAP]), phase)
    age_ns, hint = now - state[c.SENT_AT], state[c.HINT]
    if rule == c.FIXED:
        return fixed_gap_ns((p[0], p[1]), before, attempt, age_ns, hint, retry_after_ns, u)
    if rule == c.HINTED:
        return hint_gap_ns(
            (p[0], p[1], p[2], p[3], p[4]), before, attempt, age_ns, hint, retry_after_ns, u
        )
    if rule == c.BACKOFF:
        return backoff_gap_ns(
            (p[0], p[1], p[2], p[3], p[4]), before, attempt, age_ns, hint, retry_after_ns, u
        )
    if rule == c.SPREAD_BACKOFF:
        return spread_backoff_gap_ns(
            (p[0], p[1], p[2], p[3], p[4]), before, attempt, age_ns, hint, retry_after_ns, u
        )
    if rule == c.DECORRELATED:
        return decorrelated_gap_ns((p[0], p[1]), before, attempt, age_ns, hint, retry_after_ns, u)
    if rule == c.RAMP:
        return ramp_gap_ns(
            (p[0], p[1], p[2], p[3]), before, attempt, age_ns, hint, retry_after_ns, u
        )
    if rule == c.QUADRATIC:
        return quadratic_gap_ns((p[0],), before, attempt, age_ns, hint, retry_after_ns, u)
    if rule == c.SCHEDULED:
        return scheduled_gap_ns(p, before, attempt, age_ns, hint, retry_after_ns, u)
    if rule == c.AGED:
        return aged_gap_ns(p, before, attempt, age_ns, hint, retry_after_ns, u)
    return tabled_gap_ns(p, before, attempt, age_ns, hint, retry_after_ns, u)


@inlined
def gap_taken(w, task, attempt, now, retry_after_ns):
    """The gap, which the next one may look at."""
    gap = np.int64(gap_ns(w, task, attempt, now, retry_after_ns))
    w.state[task, c.LAST_GAP] = gap
    return gap
