"""What happens next: a heap of (instant, rank, slot), and slots for messages on their way.

Rule 1: (instant, rank) is the key, as in the reference engine; nothing else decides.
Rule 2: nothing is written past an end: the kernel stops while there is room for everything that
one event can cause, and is called again with larger arrays.
"""

from typing import Final

from numba import njit

from tasksim.engines.fast.layout import EVENTS, SLOTS_FREE, SLOTS_USED

WAYS: Final = 4


@njit(cache=True)
def push(w, at, rank, slot):
    """Let something happen."""
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


@njit(cache=True)
def drop_first(w):
    """Take away what comes first; there is something."""
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


@njit(cache=True)
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


@njit(cache=True)
def free_slot(w, slot):
    """A message has arrived."""
    w.slots[slot, 0] = w.counters[SLOTS_FREE]
    w.counters[SLOTS_FREE] = slot
