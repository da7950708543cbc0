"""The network, compiled: what is lost, and when a message arrives.

Rule: draws and rows are those of ``engines.reference.network``.
"""

from tasksim.engines.fast import layout as c
from tasksim.engines.fast import words
from tasksim.engines.fast.heap import free_slot, new_slot, push
from tasksim.engines.fast.jit import inlined
from tasksim.engines.fast.names import (
    BIT,
    LOST,
    NEVER,
    NONE,
    NOTICE,
    ORDINAL_MASK,
    REPLY_LOST,
    REQUEST_LOST,
    S_CREATED_LOST,
    S_REPLY_LOST,
    S_REQUEST_LOST,
    SHIFT,
)
from tasksim.engines.fast.recording import emit
from tasksim.protocol.ties import ORDINAL_BITS


@inlined
def rank(tie, task, ordinal):
    """Key of an event among others of its instant."""
    return tie << SHIFT | task << ORDINAL_BITS | ordinal & ORDINAL_MASK


@inlined
def leg_ns(w, law, task, stream, ordinal):
    """How long a message travels."""
    if law < 0:
        return 1
    return max(words.variate_ns(w.laws, law, words.draw(w.keys[task], stream, ordinal)), 1)


@inlined
def to_receiver(w, task, now, operation, attempt, tie, stream):
    """Send a request; when it arrives, NEVER when it does not."""
    threshold = w.lost[0, operation]
    if w.settings[c.LOSES_REQUESTS] and threshold > 0:
        word = words.draw(w.keys[task], S_REQUEST_LOST, operation << BIT | attempt)
        if words.falls(word, threshold):
            emit(w, now, LOST, task, operation, attempt, NONE, REQUEST_LOST, 0)
            return NEVER
    law = w.populations[w.plans[task, c.POPULATION], c.REQUEST_LAW]
    at = now + leg_ns(w, law, task, stream, attempt)
    push(w, at, rank(tie, task, attempt), new_slot(w, attempt, NONE, NONE, 0))
    return at


@inlined
def to_requester(w, task, now, operation, tie, stream, slot):
    """Send an answer or a notification; when it arrives, NEVER when it does not."""
    attempt = w.slots[slot, 0]
    threshold = w.lost[1, operation]
    if threshold > 0:
        if operation == NOTICE:
            word = words.draw(w.keys[task], S_CREATED_LOST, attempt)
        else:
            word = words.draw(w.keys[task], S_REPLY_LOST, operation << BIT | attempt)
        if words.falls(word, threshold):
            emit(w, now, LOST, task, operation, attempt, NONE, REPLY_LOST, 0)
            free_slot(w, slot)
            return NEVER
    law = w.populations[w.plans[task, c.POPULATION], c.REPLY_LAW]
    at = now + leg_ns(w, law, task, stream, attempt)
    push(w, at, rank(tie, task, attempt), slot)
    return at
