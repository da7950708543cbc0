"""What a requester does, compiled: the subset of ``protocol`` that ``flat`` lets through.

Rule: a function stands for the method of the same name in ``protocol.requester``, ``pursuit`` and
``exchanges``; rows, draws and order are theirs.
"""

import numpy as np

from tasksim.engines.fast import layout as c
from tasksim.engines.fast import words
from tasksim.engines.fast.deadlines import arm, expect, gap_taken, wake
from tasksim.engines.fast.jit import inlined
from tasksim.engines.fast.names import (
    ABSENT,
    ANSWERED,
    ARRIVED,
    AT_ONCE,
    BY_POLL,
    CANCEL,
    CLOSED,
    CLOSED_KIND,
    COMPLETED,
    CREATE,
    CREATED_TIMED_OUT,
    CREATING,
    DETECTED_KIND,
    EXPIRED,
    FETCHING,
    GAVE_UP,
    GET,
    HEARD,
    NEVER,
    NO_ANSWER,
    NONE,
    NOT_FOUND,
    NOTICE,
    OUTCOMES,
    POLLING,
    RANDOM_PHASE,
    RATE_LIMITED,
    REQUEST_TIMED_OUT,
    RESULT,
    RESULT_LOST,
    RETRIEVED,
    RETRIEVED_KIND,
    S_CANCEL_LEG,
    S_CREATE_LEG,
    S_GET_LEG,
    S_PHASE,
    S_RESULT_LEG,
    SENT,
    T_CANCEL,
    T_CANCEL_DUE,
    T_CREATE,
    T_CREATED_TIMEOUT,
    T_GET,
    T_POLL_DUE,
    T_REQUEST_TIMEOUT,
    T_RESULT,
    T_RETRY,
    WAITING,
)
from tasksim.engines.fast.network import to_receiver
from tasksim.engines.fast.recording import emit


@inlined
def close(w, task, now, outcome):
    """The requester is through with the task."""
    state = w.state[task]
    state[c.PHASE] = CLOSED
    state[c.OUTCOME] = outcome
    state[c.DUE_AT] = NEVER
    drop_asides(state)
    emit(w, now, CLOSED_KIND, task, NONE, 0, NONE, outcome, 0)


@inlined
def drop_asides(state):
    """Nothing is left to be done but what is on its way."""
    state[c.CANCEL_AT] = NEVER
    state[c.CANCEL_WAITS] = 0


@inlined
def start(w, task, now):
    """Ask for the task."""
    state, plan = w.state[task], w.plans[task]
    population = w.populations[plan[c.POPULATION]]
    state[c.STARTED] = 1
    state[c.SENT_AT] = now
    if plan[c.CANCEL_AFTER] >= 0:
        state[c.CANCEL_AT] = now + plan[c.CANCEL_AFTER]
    state[c.PHASE] = CREATING
    state[c.ON_WAY] = 1
    wake(w, task, now + population[c.CREATED_TIMEOUT], T_CREATED_TIMEOUT)
    state[c.WAKE_AT] = NEVER
    emit(w, now, SENT, task, CREATE, 0, NONE, NONE, 0)
    expect(w, task, to_receiver(w, task, now, CREATE, 0, T_CREATE, S_CREATE_LEG))


@inlined
def poll(w, task, now):
    """Ask for the task's status."""
    state = w.state[task]
    population = w.populations[w.plans[task, c.POPULATION]]
    attempt = state[c.ATTEMPT]
    if population[c.POLLS_MAX] >= 0 and attempt >= population[c.POLLS_MAX]:
        close(w, task, now, GAVE_UP)
        settle(w, task)
        return
    state[c.PHASE] = POLLING
    state[c.ON_WAY] = 1
    state[c.ATTEMPT] = attempt + 1
    state[c.POLLED_AT] = now
    wake(w, task, now + population[c.REQUEST_TIMEOUT], T_REQUEST_TIMEOUT)
    state[c.WAKE_AT] = NEVER
    emit(w, now, SENT, task, GET, attempt, NONE, NONE, 0)
    expect(w, task, to_receiver(w, task, now, GET, attempt, T_GET, S_GET_LEG))


@inlined
def fetch(w, task, now):
    """Ask for the task's result."""
    state = w.state[task]
    population = w.populations[w.plans[task, c.POPULATION]]
    state[c.PHASE] = FETCHING
    state[c.ON_WAY] = 1
    attempt = state[c.FETCHES]
    state[c.FETCHES] = attempt + 1
    wake(w, task, now + population[c.REQUEST_TIMEOUT], T_REQUEST_TIMEOUT)
    state[c.WAKE_AT] = NEVER
    emit(w, now, SENT, task, RESULT, attempt, NONE, NONE, 0)
    expect(w, task, to_receiver(w, task, now, RESULT, attempt, T_RESULT, S_RESULT_LEG))


@inlined
def cancel(w, task, now):
    """Tell the receiver to stop."""
    state = w.state[task]
    state[c.CANCEL_WAITS] = 0
    state[c.CANCELLED_AT] = now
    emit(w, now, SENT, task, CANCEL, 0, NONE, NONE, 0)
    expect(w, task, to_receiver(w, task, now, CANCEL, 0, T_CANCEL, S_CANCEL_LEG))


@inlined
def confirm(w, task, now):
    """The task has shown itself; whether a cancel that waited for that went out."""
    state = w.state[task]
    state[c.CONFIRMED] = 1
    state[c.LIMITED] = 0
    if state[c.CANCEL_WAITS]:
        cancel(w, task, now)
        return True
    return False


@inlined
def await_first_poll(w, task, now):
    """Wait for the first poll, or send it."""
    first = w.populations[w.plans[task, c.POPULATION], c.FIRST]
    if first == AT_ONCE:
        poll(w, task, now)
        return
    gap = gap_taken(w, task, 0, now, ABSENT)
    if first == RANDOM_PHASE:
        gap = np.int64(float(gap) * words.unit(words.draw(w.keys[task], S_PHASE, 0)) + 0.5)
    w.state[task, c.PHASE] = WAITING
    wake(w, task, now + gap, T_POLL_DUE)
    arm(w, task)


@inlined
def await_next_poll(w, task, now, retry_after_ns):
    """Wait for the next poll."""
    w.state[task, c.PHASE] = WAITING
    gap = gap_taken(w, task, w.state[task, c.ATTEMPT], now, retry_after_ns)
    wake(w, task, now + gap, T_POLL_DUE)


@inlined
def settle(w, task):
    """After whatever happened: arm what is next; a task that is through makes room."""
    state = w.state[task]
    arm(w, task)
    if state[c.PHASE] != CLOSED or state[c.LEFT]:
        return
    state[c.LEFT] = 1
    plan = w.plans[task]
    if w.populations[plan[c.POPULATION], c.MAX_OPEN] < 0:
        return
    door = w.open[plan[c.REQUESTER]]
    waiting = door[1]
    if waiting == NEVER:
        door[0] -= 1
        return
    door[1] = w.state[waiting, c.NEXT]
    w.counters[c.PENDING] = waiting  # asked for when this event is through


@inlined
def enter(w, task, now):
    """A task has arrived: it is asked for now, or when its requester has room."""
    plan = w.plans[task]
    emit(w, now, ARRIVED, task, NONE, 0, NONE, NONE, plan[c.DURATION])
    limit = w.populations[plan[c.POPULATION], c.MAX_OPEN]
    if limit < 0:
        start(w, task, now)
        return
    door = w.open[plan[c.REQUESTER]]
    if door[0] < limit:
        door[0] += 1
        start(w, task, now)
        return
    w.state[task, c.NEXT] = NEVER
    if door[1] == NEVER:
        door[1] = task
    else:
        w.state[door[2], c.NEXT] = task
    door[2] = task


@inlined
def awaits(state, operation, attempt):
    """Whether the machine still waits for the answer to this very request."""
    if not state[c.ON_WAY]:
        return False
    if state[c.PHASE] == POLLING:
        return operation == GET and attempt == state[c.ATTEMPT] - 1
    return state[c.PHASE] == FETCHING and operation == RESULT and attempt == state[c.FETCHES] - 1


@inlined
def again(w, task, now, gap, gives_up):
    """Repeat the exchange, unless it has failed too often."""
    state = w.state[task]
    if gives_up:
        close(w, task, now, GAVE_UP)
        return
    state[c.ON_WAY] = 0
    if state[c.PHASE] == FETCHING:
        wake(w, task, now + gap, T_RETRY)
    else:
        state[c.PHASE] = WAITING
        wake(w, task, now + gap, T_POLL_DUE)


@inlined
def setback(w, task, now, retry_after_ns):
    """The awaited exchange failed: later again."""
    state = w.state[task]
    state[c.FAILURES] += 1
    gap = gap_taken(w, task, state[c.ATTEMPT], now, retry_after_ns)
    most = w.populations[w.plans[task, c.POPULATION], c.FAILURES_MAX]
    again(w, task, now, gap, state[c.FAILURES] >= most)


@inlined
def limited(w, task, now, retry_after_ns):
    """Refused for coming too often: not a failure, but not for ever either."""
    state = w.state[task]
    population = w.populations[w.plans[task, c.POPULATION]]
    state[c.LIMITED] += 1
    gap = max(population[c.LIMITED_GAP], retry_after_ns)
    if population[c.LIMITED_GAP] == ABSENT:
        gap = gap_taken(w, task, state[c.ATTEMPT], now, retry_after_ns)
    again(w, task, now, gap, state[c.LIMITED] >= population[c.LIMITED_MAX])


@inlined
def on_heard(w, task, now):
    """The created notification arrives."""
    state = w.state[task]
    if state[c.PHASE] == CLOSED:
        settle(w, task)
        return
    emit(w, now, HEARD, task, NOTICE, 0, NONE, NONE, 0)
    confirm(w, task, now)
    if state[c.PHASE] == CREATING:
        await_first_poll(w, task, now)
    else:
        arm(w, task)


@inlined
def on_view(w, task, now, slot):
    """An answer to a get arrives: a status."""
    state = w.state[task]
    attempt, status, hint = w.slots[slot, 0], w.slots[slot, 1], w.slots[slot, 3]
    if attempt == state[c.VIEWED]:
        settle(w, task)
        return
    state[c.VIEWED] = attempt
    emit(w, now, ANSWERED, task, GET, attempt, status, NONE, hint)
    if state[c.PHASE] == FETCHING or state[c.PHASE] == CLOSED:
        settle(w, task)
        return
    state[c.FAILURES] = 0
    state[c.LIMITED] = 0
    state[c.HINT] = hint
    if status >= COMPLETED:
        detect(w, task, now, status)
        return
    confirm(w, task, now)
    if awaits(state, GET, attempt):
        patience = w.populations[w.plans[task, c.POPULATION], c.CANCEL_PATIENCE]
        if state[c.CANCELLED_AT] != NEVER and now - state[c.CANCELLED_AT] >= patience:
            close(w, task, now, GAVE_UP)
        else:
            await_next_poll(w, task, now, ABSENT)
    settle(w, task)


@inlined
def detect(w, task, now, status):
    """The task is known to have ended."""
    state = w.state[task]
    state[c.CONFIRMED] = 1
    drop_asides(state)
    state[c.DETECTED] = 1
    emit(w, now, DETECTED_KIND, task, GET, 0, status, BY_POLL, 0)
    if status == COMPLETED:
        fetch(w, task, now)
        return
    close(w, task, now, OUTCOMES[status])
    settle(w, task)


@inlined
def on_fetched(w, task, now, slot):
    """The result arrives."""
    emit(w, now, ANSWERED, task, RESULT, w.slots[slot, 0], COMPLETED, NONE, ABSENT)
    if w.state[task, c.PHASE] == FETCHING:
        emit(w, now, RETRIEVED_KIND, task, RESULT, 0, NONE, BY_POLL, 0)
        close(w, task, now, RETRIEVED)
    settle(w, task)


@inlined
def on_refused(w, task, now, operation, slot):
    """A get or a result request was refused."""
    state = w.state[task]
    attempt, reason, wait = w.slots[slot, 0], w.slots[slot, 2], w.slots[slot, 3]
    emit(w, now, ANSWERED, task, operation, attempt, NONE, reason, ABSENT)
    if state[c.PHASE] != CLOSED and awaits(state, operation, attempt):
        if reason == RATE_LIMITED:
            limited(w, task, now, wait)
        elif reason != NOT_FOUND and reason != EXPIRED:
            setback(w, task, now, wait)
        elif state[c.CONFIRMED] or reason == EXPIRED:
            close(w, task, now, RESULT_LOST)
        else:
            not_yet(w, task, now)
    settle(w, task)


@inlined
def not_yet(w, task, now):
    """A get came before the task, which is not fatal; but not for ever."""
    population = w.populations[w.plans[task, c.POPULATION]]
    patience = population[c.CREATED_TIMEOUT] + population[c.REQUEST_TIMEOUT]
    if now - w.state[task, c.SENT_AT] >= patience:
        close(w, task, now, GAVE_UP)
    else:
        await_next_poll(w, task, now, ABSENT)


@inlined
def on_timer(w, task, now, tie):
    """A deadline of the requester has come."""
    state = w.state[task]
    if tie == T_POLL_DUE:
        state[c.DUE_AT] = NEVER
        poll(w, task, now)
    elif tie == T_CANCEL_DUE:
        state[c.CANCEL_AT] = NEVER
        if state[c.CONFIRMED]:
            cancel(w, task, now)
        else:
            state[c.CANCEL_WAITS] = 1
        settle(w, task)
    elif tie == T_CREATED_TIMEOUT:
        state[c.DUE_AT] = NEVER
        emit(w, now, CREATED_TIMED_OUT, task, NONE, 0, NONE, NONE, 0)
        poll(w, task, now)
    elif tie == T_RETRY:
        state[c.DUE_AT] = NEVER
        fetch(w, task, now)
    else:
        state[c.DUE_AT] = NEVER
        operation, attempt = RESULT, state[c.FETCHES] - 1
        if state[c.PHASE] == POLLING:
            operation, attempt = GET, state[c.ATTEMPT] - 1
        emit(w, now, REQUEST_TIMED_OUT, task, operation, attempt, NONE, NO_ANSWER, 0)
        if awaits(state, operation, attempt):
            setback(w, task, now, ABSENT)
        settle(w, task)
