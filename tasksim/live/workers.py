"""Workers of a live receiver: a queue and due instants, without a clock.

Rule: a task at work ends at its due instant exactly, however late its timer is: whoever drives
the pool carries out what was due before anything else is decided.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

from tasksim.protocol.ties import Tie, rank

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Generic[K]):
    """One piece of work."""

    key: K
    number: int  # of its task, for ties
    duration_ns: int
    fails: bool = False


class WorkPool(Generic[K]):
    """*count* workers, or as many as needed, behind one FIFO queue."""

    def __init__(self, count: int | None) -> None:
        self.count: Final = count
        self._queue: deque[Work[K]] = deque()
        self._due: list[tuple[int, int, int, Work[K]]] = []
        self._started = 0
        self._running: dict[K, int] = {}  # which start each piece at work is
        self._stopped: set[int] = set()  # starts that were stopped; their due instants stay

    @property
    def busy(self) -> int:
        """Workers at work."""
        return len(self._running)

    @property
    def queued(self) -> int:
        """Pieces of work that wait for a worker."""
        return len(self._queue)

    @property
    def next_deadline(self) -> tuple[int, int] | None:
        """(instant, rank) of the next completion."""
        return self._due[0][:2] if self._due else None

    def order(self, work: Work[K], now: int) -> bool:
        """Take work on; whether it begins at once."""
        if self.count is not None and self.busy >= self.count:
            self._queue.append(work)
            return False
        self._start(work, now)
        return True

    def stop(self, key: K, now: int) -> Work[K] | None:
        """Give up work that waits or is at work; what begins in its place at once."""
        for work in self._queue:
            if work.key == key:
                self._queue.remove(work)
                return None
        self._stopped.add(self._running.pop(key))
        self._forget_stopped()
        return self._start_next(now)

    def on_time(self, now: int) -> tuple[Work[K], int, Work[K] | None] | None:
        """The one piece of work that is next to end, if it is due.

        The work, the instant at which it ended, and the work that begins at that instant.
        """
        if not self._due or self._due[0][0] > now:
            return None
        at, _, _, work = heappop(self._due)
        del self._running[work.key]
        self._forget_stopped()
        return work, at, self._start_next(at)

    def _start_next(self, at: int) -> Work[K] | None:
        follower = self._queue.popleft() if self._queue else None
        if follower is not None:
            self._start(follower, at)
        return follower

    def _forget_stopped(self) -> None:
        """Keep the head of the due instants one that will happen."""
        while self._due and self._due[0][2] in self._stopped:
            self._stopped.discard(heappop(self._due)[2])

    def _start(self, work: Work[K], at: int) -> None:
        assert work.key not in self._running, "a key is at work once"
        self._started += 1
        self._running[work.key] = self._started
        tie = rank(Tie.COMPLETION, work.number)
        heappush(self._due, (at + work.duration_ns, tie, self._started, work))
