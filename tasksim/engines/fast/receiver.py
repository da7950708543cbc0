"""What the receiver and its workers do, compiled: the subset that ``flat`` lets through.

Rule: a function stands for the method of the same name in ``protocol.receiver``, ``lifecycle`` and
``engines.reference.workers``; rows, draws and order are theirs.
"""

from tasksim.engines.fast import layout as c
from tasksim.engines.fast.deadlines import expect
from tasksim.engines.fast.heap import push
from tasksim.engines.fast.jit import inlined
from tasksim.engines.fast.names import (
    ABSENT,
    CANCEL,
    CANCELLED,
    COMPLETED,
    CREATE,
    CREATED,
    EXPIRED,
    EXPIRED_KIND,
    FAILED,
    FINISHED,
    GET,
    NEVER,
    NONE,
    NOT_COMPLETED,
    NOT_FOUND,
    NOTICE,
    RATE_LIMITED,
    RECEIVED,
    RESULT,
    S_CREATED_LEG,
    S_FETCHED_LEG,
    S_VIEW_LEG,
    STARTED_KIND,
    SUBMITTED,
    T_COMPLETION,
    T_EXPIRY,
    T_FETCHED,
    T_HEARD,
    T_SWEEP,
    T_VIEW,
    UNKNOWN,
    WORKING,
)
from tasksim.engines.fast.network import rank, to_requester
from tasksim.engines.fast.recording import emit
from tasksim.engines.fast.rules import age_interval_ns, cell_rate, spread_ns, token_bucket


@inlined
def on_create(w, task, now, slot):
    """A creation arrives: the task is admitted, and worked on when a worker is free."""
    state, settings = w.state[task], w.settings
    keep = w.populations[w.plans[task, c.POPULATION], c.KEEP_GRANTED]
    emit(w, now, RECEIVED, task, CREATE, 0, SUBMITTED, NONE, 0)
    emit(w, now, CREATED, task, CREATE, 0, SUBMITTED, NONE, keep)
    state[c.STATUS] = SUBMITTED
    state[c.CREATED_AT] = now
    state[c.KEEP] = keep
    state[c.SEQUENCE] = w.counters[c.ADMITTED]
    w.counters[c.ADMITTED] += 1
    w.counters[c.OPEN_TASKS] += 1
    expect(w, task, to_requester(w, task, now, NOTICE, T_HEARD, S_CREATED_LEG, slot))
    if settings[c.WORKERS] < 0 or w.counters[c.BUSY] < settings[c.WORKERS]:
        begin(w, task, now)
    else:
        state[c.QUEUED] = 1
        w.queue[w.counters[c.QUEUE_TAIL]] = task
        w.counters[c.QUEUE_TAIL] += 1


@inlined
def begin(w, task, now):
    """A worker begins."""
    state = w.state[task]
    w.counters[c.BUSY] += 1
    state[c.QUEUED] = 0
    state[c.STATUS] = WORKING
    state[c.AT_WORK] = 1
    emit(w, now, STARTED_KIND, task, NONE, 0, NONE, NONE, 0)
    push(w, now + w.plans[task, c.DURATION], rank(T_COMPLETION, task, 0), NEVER)


@inlined
def release(w, now):
    """A worker is free: the next one that waits is begun."""
    counters = w.counters
    counters[c.BUSY] -= 1
    while counters[c.QUEUE_HEAD] < counters[c.QUEUE_TAIL]:
        task = w.queue[counters[c.QUEUE_HEAD]]
        counters[c.QUEUE_HEAD] += 1
        if w.state[task, c.QUEUED]:
            begin(w, task, now)
            return


@inlined
def finish(w, task, now, status):
    """The task becomes terminal; from now on its retention runs."""
    state, settings = w.state[task], w.settings
    state[c.STATUS] = status
    w.counters[c.OPEN_TASKS] -= 1
    emit(w, now, FINISHED, task, NONE, 0, status, NONE, 0)
    if state[c.KEEP] < 0 or (status == UNKNOWN and settings[c.KEEPS_UNKNOWN]):
        return
    over_at = now + state[c.KEEP]
    state[c.EXPIRES_AT] = over_at
    if settings[c.SWEEP]:
        swept_at = -(-over_at // settings[c.SWEEP]) * settings[c.SWEEP]
        push(w, swept_at, rank(T_SWEEP, task, 0), NEVER)
    else:
        push(w, over_at, rank(T_EXPIRY, task, 0), NEVER)


@inlined
def on_completion(w, task, now):
    """The work is through, unless it was stopped."""
    if not w.state[task, c.AT_WORK]:
        return
    w.state[task, c.AT_WORK] = 0
    fate = w.plans[task, c.FATE]
    status = COMPLETED
    if fate == c.FAILS:
        status = FAILED
    elif fate == c.VANISHES:
        status = UNKNOWN
    finish(w, task, now, status)
    release(w, now)


@inlined
def on_expiry(w, task, now):
    """The retention is over: the task is forgotten."""
    state = w.state[task]
    state[c.FORGOTTEN] = w.counters[c.FORGOTTEN_COUNT]
    w.counters[c.FORGOTTEN_COUNT] += 1
    emit(w, now, EXPIRED_KIND, task, NONE, 0, NONE, NONE, 0)


@inlined
def on_cancel(w, task, now):
    """A cancel arrives: the task ends, unless it has ended or is not there."""
    state = w.state[task]
    status = state[c.STATUS]
    if status == NEVER or state[c.FORGOTTEN] != NEVER:
        emit(w, now, RECEIVED, task, CANCEL, 0, NONE, NOT_FOUND, 0)
        return
    emit(w, now, RECEIVED, task, CANCEL, 0, status, NONE, 0)
    if status >= COMPLETED:
        return
    finish(w, task, now, CANCELLED)
    if state[c.QUEUED]:
        state[c.QUEUED] = 0
    elif state[c.AT_WORK]:
        state[c.AT_WORK] = 0
        release(w, now)


@inlined
def missing(w, task, now):
    """Why the receiver has no such task; NONE when it has."""
    state = w.state[task]
    if state[c.STATUS] == NEVER:
        return NOT_FOUND
    if state[c.FORGOTTEN] != NEVER:
        age = w.counters[c.FORGOTTEN_COUNT] - state[c.FORGOTTEN]
        return EXPIRED if age <= w.settings[c.TOMBSTONES] else NOT_FOUND
    if state[c.EXPIRES_AT] != NEVER and state[c.EXPIRES_AT] <= now:
        return EXPIRED
    return NONE


@inlined
def limit_wait(w, task, now):
    """How long a get is to wait; NEVER when it may pass."""
    settings = w.settings
    if settings[c.LIMIT] == c.NO_LIMIT:
        return NEVER
    who = w.plans[task, c.REQUESTER] if settings[c.LIMIT_SCOPE] else 0
    params, before = (settings[c.LIMIT_A], settings[c.LIMIT_B]), (w.limits[who],)
    if settings[c.LIMIT] == c.TOKEN_BUCKET:
        after, wait = token_bucket(params, before, now)
    else:
        after, wait = cell_rate(params, before, now)
    w.limits[who] = after[0]
    return wait


@inlined
def advised_ns(w, task, now):
    """What the task's requester is told to wait."""
    kind = w.settings[c.ADVICE]
    if kind == c.NO_ADVICE:
        return ABSENT
    interval = w.advice[0]
    if kind == c.LOAD_ADVICE:
        interval = min(max(w.counters[c.OPEN_TASKS] * w.advice[0], w.advice[1]), w.advice[2])
    elif kind == c.AGE_ADVICE:
        age = now - w.state[task, c.CREATED_AT]
        interval = age_interval_ns(w.advice, age, w.counters[c.OPEN_TASKS])
    if w.spread[0] > 0:
        return spread_ns(interval, w.spread[0], w.state[task, c.SEQUENCE])
    return interval


@inlined
def on_get(w, task, now, slot):
    """A get arrives: it is answered with a status, or refused."""
    attempt = w.slots[slot, 0]
    wait = limit_wait(w, task, now)
    reason = RATE_LIMITED if wait != NEVER else missing(w, task, now)
    if reason != NONE:
        emit(w, now, RECEIVED, task, GET, attempt, NONE, reason, 0)
        w.slots[slot, 1], w.slots[slot, 2], w.slots[slot, 3] = NONE, reason, wait
    else:
        status = w.state[task, c.STATUS]
        emit(w, now, RECEIVED, task, GET, attempt, status, NONE, 0)
        w.slots[slot, 1], w.slots[slot, 2] = status, NONE
        w.slots[slot, 3] = advised_ns(w, task, now)
    expect(w, task, to_requester(w, task, now, GET, T_VIEW, S_VIEW_LEG, slot))


@inlined
def on_result(w, task, now, slot):
    """A result request arrives."""
    attempt = w.slots[slot, 0]
    reason = missing(w, task, now)
    if reason == NONE and w.state[task, c.STATUS] != COMPLETED:
        reason = NOT_COMPLETED
    status = COMPLETED if reason == NONE else NONE
    emit(w, now, RECEIVED, task, RESULT, attempt, status, reason, 0)
    w.slots[slot, 1], w.slots[slot, 2], w.slots[slot, 3] = status, reason, ABSENT
    expect(w, task, to_requester(w, task, now, RESULT, T_FETCHED, S_FETCHED_LEG, slot))
