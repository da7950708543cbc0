"""What happens next: lanes of what comes nearly in order, a heap of the rest, slots for messages.

Rule 1: (instant, rank) is the key, as in the reference engine; nothing else decides.
Rule 2: a lane is a sorted ring. What follows the last of its kind by a constant delay is put at
its end; what would have to go far forward goes to the heap instead.
Rule 3: nothing is written past an end: the kernel stops while there is room for everything that
one event can cause, and is called again with larger arrays.
"""

from typing import Final

import numpy as np

from tasksim.engines.fast.jit import inlined
from tasksim.engines.fast.layout import EVENTS, LANES, SLOTS_FREE, SLOTS_USED
from tasksim.engines.fast.names import SHIFT, T_EXPIRY, T_GET, T_POLL_DUE, T_SWEEP, T_VIEW

WAYS: Final = 4
STEPS_MAX: Final = 16  # forward in a lane
FAR: Final = 1 << 62  # an instant that never comes
LANE_OF = np.full(64, -1, dtype=np.int64)
for _lane, _ties in enumerate(((T_POLL_DUE,), (T_GET,), (T_VIEW,), (T_EXPIRY, T_SWEEP))):
    for _tie in _ties:
        LANE_OF[_tie] = _lane


@inlined
def push(w, at, rank, slot):
    """Let something happen."""
    lane = LANE_OF[rank >> SHIFT]
    if lane < 0 or not into_lane(w, lane, at, rank, slot):
        into_heap(w, at, rank, slot)


@inlined
def into_lane(w, lane, at, rank, slot):
    """Put it in its place near the end of a lane; whether that was near enough."""
    ring = w.lanes[lane]
    mask = len(ring) - 1
    head, tail = w.ends[lane, 0], w.ends[lane, 1]
    place = tail
    while place > head:
        before = ring[(place - 1) & mask]
        if before[0] < at or (before[0] == at and before[1] <= rank):
            break
        place -= 1
        if tail - place > STEPS_MAX:
            return False
    for moved in range(tail, place, -1):
        to, of = ring[moved & mask], ring[(moved - 1) & mask]
        to[0], to[1], to[2] = of[0], of[1], of[2]
    new = ring[place & mask]
    new[0], new[1], new[2] = at, rank, slot
    w.ends[lane, 1] = tail + 1
    if place == head:
        w.ends[lane, 2], w.ends[lane, 3] = at, rank
    return True


@inlined
def into_heap(w, at, rank, slot):
    """Put it where the heap's order wants it."""
    heap = w.heap
    place = w.counters[EVENTS]
    w.counters[EVENTS] = place + 1
    while place > 0:
        above = (place - 1) // WAYS
        if heap[above, 0] < at or (heap[above, 0] == at and heap[above, 1] <= rank):
            break
        heap[place, 0] = heap[above, 0]
        heap[place, 1] = heap[above, 1]
        heap[place, 2] = heap[above, 2]
        place = above
    heap[place, 0] = at
    heap[place, 1] = rank
    heap[place, 2] = slot


@inlined
def first_of(w):
    """Where the next event is: a lane, or LANES for the heap; -1 when there is none."""
    found, at, rank = -1, FAR, FAR
    if w.counters[EVENTS] > 0:
        found, at, rank = LANES, w.heap[0, 0], w.heap[0, 1]
    for lane in range(LANES):
        head = w.ends[lane, 2]
        if head < at or (head == at and head < FAR and w.ends[lane, 3] < rank):
            found, at, rank = lane, head, w.ends[lane, 3]
    return found


@inlined
def take(w, place):
    """The event that comes first there, which is there no more: (rank, slot)."""
    if place == LANES:
        rank, slot = w.heap[0, 1], w.heap[0, 2]
        drop_first(w)
        return rank, slot
    ring = w.lanes[place]
    mask = len(ring) - 1
    head = w.ends[place, 0]
    rank, slot = ring[head & mask, 1], ring[head & mask, 2]
    head += 1
    w.ends[place, 0] = head
    if head == w.ends[place, 1]:
        w.ends[place, 2] = FAR
    else:
        w.ends[place, 2], w.ends[place, 3] = ring[head & mask, 0], ring[head & mask, 1]
    return rank, slot


@inlined
def drop_first(w):
    """Take away what comes first in the heap; there is something."""
    heap = w.heap
    last = w.counters[EVENTS] - 1
    w.counters[EVENTS] = last
    at, rank, slot = heap[last, 0], heap[last, 1], heap[last, 2]
    place = 0
    while True:
        first = WAYS * place + 1
        if first >= last:
            break
        least = first
        for below in range(first + 1, min(first + WAYS, last)):
            if heap[below, 0] < heap[least, 0] or (
                heap[below, 0] == heap[least, 0] and heap[below, 1] < heap[least, 1]
            ):
                least = below
        if heap[least, 0] > at or (heap[least, 0] == at and heap[least, 1] >= rank):
            break
        heap[place, 0] = heap[least, 0]
        heap[place, 1] = heap[least, 1]
        heap[place, 2] = heap[least, 2]
        place = least
    heap[place, 0] = at
    heap[place, 1] = rank
    heap[place, 2] = slot


@inlined
def new_slot(w, attempt, status, reason, value):
    """A slot for a message."""
    slot = w.counters[SLOTS_FREE]
    if slot >= 0:
        w.counters[SLOTS_FREE] = w.slots[slot, 0]
    else:
        slot = w.counters[SLOTS_USED]
        w.counters[SLOTS_USED] = slot + 1
    w.slots[slot, 0] = attempt
    w.slots[slot, 1] = status
    w.slots[slot, 2] = reason
    w.slots[slot, 3] = value
    return slot


@inlined
def free_slot(w, slot):
    """A message has arrived."""
    w.slots[slot, 0] = w.counters[SLOTS_FREE]
    w.counters[SLOTS_FREE] = slot
