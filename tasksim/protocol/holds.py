"""Requests that a receiver holds: long polls, results that are waited for, creations in a queue.

Rule 1: of one session's requests about one task and of one kind the last counts; the connection
of the one before is taken for gone.
Rule 2: a held request is answered once, or its connection is; then nothing is left of it.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Final

from tasksim.protocol.messages import Create, Get, GetResult
from tasksim.protocol.records import Key
from tasksim.protocol.ties import Tie, rank


@dataclass(frozen=True, slots=True)
class Held:
    """A request that waits, and whoever sent it."""

    key: Key
    owner: str
    session: str
    requester: str
    message: Get | GetResult
    number: int  # of its task in the log
    ordinal: int
    until: int | None  # when it is answered whatever there is; None: not before there is something
    via: Any


@dataclass(frozen=True, slots=True)
class Queued:
    """A creation that waits for room."""

    owner: str
    session: str
    requester: str
    message: Create
    via: Any


class Holds:
    """The held requests of one receiver."""

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._held: dict[Key, dict[tuple[str, type], Held]] = {}
        self._count = 0
        self._deadlines: list[tuple[int, int, int, Held]] = []
        self._added = 0
        self.queue: Final[deque[Queued]] = deque()

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        """Whether as many are held as are allowed."""
        return 0 <= self._limit <= self._count

    def add(self, held: Held) -> Held | None:
        """Hold one more; the one that it takes the place of."""
        place = (held.session, type(held.message))
        own = self._held.setdefault(held.key, {})
        before = own.get(place)
        own[place] = held
        self._count += before is None
        if held.until is not None:
            self._added += 1
            tie = rank(Tie.HOLD_END, held.number, held.ordinal)
            heappush(self._deadlines, (held.until, tie, self._added, held))
        self._drop_stale()
        return before

    def of(self, key: Key, kind: type) -> list[Held]:
        """A task's held requests of a kind."""
        return [held for held in self._held.get(key, {}).values() if type(held.message) is kind]

    def release(self, key: Key, kind: type | None = None) -> list[Held]:
        """Hold a task's requests no longer, of one kind or of all."""
        own = self._held.get(key)
        if own is None:
            return []
        found = [held for held in own.values() if kind is None or type(held.message) is kind]
        for held in found:
            self._let_go(held)
        return found

    @property
    def next_deadline(self) -> tuple[int, int] | None:
        """(instant, rank) of the next one that has been held for long enough."""
        return self._deadlines[0][:2] if self._deadlines else None

    def due(self, now: int) -> Held | None:
        """The one that has been held for long enough, held no more."""
        if not self._deadlines or self._deadlines[0][0] > now:
            return None
        held = self._deadlines[0][3]
        self._let_go(held)
        return held

    def all(self) -> Iterator[Held]:
        """Every one."""
        for own in list(self._held.values()):
            yield from list(own.values())

    def wipe(self) -> None:
        """Drop everything, as a restart does."""
        self._held.clear()
        self._deadlines.clear()
        self.queue.clear()
        self._count = 0

    def sizes(self) -> dict[str, int]:
        """Size of every table that must be empty when all is over."""
        return {
            "held requests": self._count,
            "holds to end": len(self._deadlines),
            "queued creations": len(self.queue),
        }

    def _let_go(self, held: Held) -> None:
        own = self._held[held.key]
        del own[held.session, type(held.message)]
        if not own:
            del self._held[held.key]
        self._count -= 1
        self._drop_stale()

    def _drop_stale(self) -> None:
        """Keep the head of the deadlines one of a request that is still held."""
        while self._deadlines:
            held = self._deadlines[0][3]
            if self._held.get(held.key, {}).get((held.session, type(held.message))) is held:
                return
            heappop(self._deadlines)
