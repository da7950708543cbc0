"""Ranked events: SimPy with an explicit answer to *what comes first at one instant*.

Rule 1: (time, rank) is the key of every event of the model. SimPy's own events keep its two
priorities, 0 and 1, and so drain before the next ranked event of the instant.
Rule 2: times are ``int`` nanoseconds; an event in the past is an error of ours.
"""

from collections.abc import Callable
from heapq import heapify
from typing import Any, Final

from simpy import Environment
from simpy.events import Event

ABOVE_SIMPY: Final = 2  # SimPy's URGENT is 0 and its NORMAL 1
COMPACT_FROM: Final = 256  # cancelled events in the queue before it is worth cleaning


class At(Event):
    """Happens at an instant, after everything of lower rank there; yield it or give it a call."""

    __slots__ = ("cancelled",)

    def __init__(
        self,
        env: "RankedEnvironment",
        when: int,
        rank: int,
        call: Callable[[Event], None] | None = None,
    ) -> None:
        delay = when - env.now
        assert delay >= 0, f"{when} ns lies {-delay} ns in the past"
        # Event.__init__ is inlined: these are most of the model's events.
        self.env = env
        self.callbacks = [] if call is None else [call]
        self._value = None
        self._ok = True
        self.cancelled = False
        env.schedule(self, rank + ABOVE_SIMPY, delay)  # type: ignore[arg-type]


class RankedEnvironment(Environment):
    """SimPy's environment with ranked events that can be cancelled."""

    def __init__(self) -> None:
        super().__init__(0)
        self._cancelled = 0

    @property
    def now(self) -> int:
        """The instant, in ns: every delay of the model is an int."""
        return self._now  # type: ignore[return-value]

    def cancel(self, event: At) -> None:
        """Make a scheduled event happen to nobody.

        It stays in the queue without callbacks; when half of the queue is such, it is cleaned.
        That is the one place that touches SimPy's private queue.
        """
        if event.cancelled or not event.callbacks:
            return
        event.callbacks.clear()
        event.cancelled = True
        self._cancelled += 1
        if self._cancelled > COMPACT_FROM and self._cancelled * 2 > len(self._queue):
            self._queue[:] = [item for item in self._queue if not _is_cancelled(item[3])]
            heapify(self._queue)
            self._cancelled = 0


def _is_cancelled(event: Any) -> bool:
    return isinstance(event, At) and event.cancelled


class Wakeup:
    """The one wake-up of a machine. Arm it with the machine's next deadline after every input."""

    __slots__ = ("_call", "_env", "_event", "_key")

    def __init__(self, env: RankedEnvironment, call: Callable[[], None]) -> None:
        self._env = env
        self._call = call
        self._key: tuple[int, int] | None = None
        self._event: At | None = None

    def arm(self, key: tuple[int, int] | None) -> None:
        """Wake at *key* = (instant, rank) and at no other time; None is never."""
        if key == self._key:
            return
        if self._event is not None:
            self._env.cancel(self._event)
        self._key = key
        self._event = None if key is None else At(self._env, key[0], key[1], self._fire)

    def _fire(self, _: Event) -> None:
        self._key = self._event = None
        self._call()
