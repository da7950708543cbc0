"""The loop: what comes first is carried out, until there is nothing, or no room for more."""

from typing import Final

from tasksim.engines.fast import layout as c
from tasksim.engines.fast.deadlines import arm
from tasksim.engines.fast.heap import first_of, free_slot, take
from tasksim.engines.fast.jit import inlined, outlined
from tasksim.engines.fast.names import (
    GET,
    NEVER,
    NONE,
    RESULT,
    SHIFT,
    T_CANCEL,
    T_COMPLETION,
    T_CREATE,
    T_EXPIRY,
    T_FETCHED,
    T_GET,
    T_HEARD,
    T_RESULT,
    T_SWEEP,
    T_VIEW,
)
from tasksim.engines.fast.receiver import (
    on_cancel,
    on_completion,
    on_create,
    on_expiry,
    on_get,
    on_result,
)
from tasksim.engines.fast.requester import (
    enter,
    on_fetched,
    on_heard,
    on_refused,
    on_timer,
    on_view,
    start,
)
from tasksim.protocol.ties import ORDINAL_BITS, TASK_BITS, Tie

ARRIVAL_TIE: Final = int(Tie.ARRIVAL)
TASK_MASK: Final = (1 << TASK_BITS) - 1
MARGIN: Final = 64  # rows, events and messages that one event can cause, and more


@outlined
def run_some(w, most):
    """Carry out up to *most* events; whether all is over."""
    counters = w.counters
    for _ in range(most):
        if (
            counters[c.EVENTS] + MARGIN > w.heap.shape[0]
            or fullest(w) + MARGIN > w.lanes.shape[1]
            or counters[c.SLOTS_USED] + MARGIN > w.slots.shape[0]
            or counters[c.ROWS] + MARGIN > w.rows.shape[0]
        ):
            return False
        place = first_of(w)
        now, key = NEVER, 0
        if place == c.LANES:
            now, key = w.heap[0, 0], w.heap[0, 1]
        elif place >= 0:
            now, key = w.ends[place, 2], w.ends[place, 3]
        arrival = counters[c.NEXT_ARRIVAL]
        is_arrival = False
        if arrival < w.settings[c.TASKS]:
            at, own = w.plans[arrival, c.ARRIVAL], ARRIVAL_TIE << SHIFT | arrival << ORDINAL_BITS
            is_arrival = place < 0 or at < now or (at == now and own < key)
            now = at if is_arrival else now
        elif place < 0:
            return True
        if w.settings[c.UNTIL] != NEVER and now >= w.settings[c.UNTIL]:
            return True
        if is_arrival:
            counters[c.NEXT_ARRIVAL] = arrival + 1
            enter(w, arrival, now)
        else:
            key, slot = take(w, place)
            dispatch(w, now, key >> SHIFT, key >> ORDINAL_BITS & TASK_MASK, slot)
            if counters[c.PENDING] != NEVER:
                waiting = counters[c.PENDING]
                counters[c.PENDING] = NEVER
                start(w, waiting, now)
    return False


@inlined
def fullest(w):
    """Most events in a lane."""
    most = 0
    for lane in range(c.LANES):
        most = max(most, w.ends[lane, 1] - w.ends[lane, 0])
    return most


@inlined
def dispatch(w, now, tie, task, slot):
    """Carry out one event."""
    if slot == NEVER:
        if tie == T_COMPLETION:
            on_completion(w, task, now)
        elif tie in (T_EXPIRY, T_SWEEP):
            on_expiry(w, task, now)
        elif w.state[task, c.WAKE_AT] == now and w.state[task, c.WAKE_TIE] == tie:
            w.state[task, c.WAKE_AT] = NEVER
            on_timer(w, task, now, tie)
    elif tie == T_GET:
        on_get(w, task, now, slot)
    elif tie == T_RESULT:
        on_result(w, task, now, slot)
    elif tie == T_CREATE:
        on_create(w, task, now, slot)
    elif tie == T_CANCEL:
        on_cancel(w, task, now)
        free_slot(w, slot)
    else:
        deliver(w, now, tie, task, slot)
        free_slot(w, slot)


@inlined
def deliver(w, now, tie, task, slot):
    """Something reaches a requester."""
    if tie == T_HEARD:
        on_heard(w, task, now)
    elif w.slots[slot, 2] != NONE:
        on_refused(w, task, now, GET if tie == T_VIEW else RESULT, slot)
    elif tie == T_VIEW:
        on_view(w, task, now, slot)
    elif tie == T_FETCHED:
        on_fetched(w, task, now, slot)
    else:
        arm(w, task)
