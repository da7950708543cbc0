"""Workers and the front desk: who does what, and in what order.

Rule 1: a pool hands out places first come, first served; whoever waits can withdraw, and leaves
nothing behind.
Rule 2: work is done in segments: it may stop to ask for input, with its worker or without.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from tasksim.engines.reference.ranked import At, RankedEnvironment
from tasksim.protocol.records import Key
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.workload import TaskPlan

Begin = Callable[[], None]


class Pool:
    """*count* places, or as many as needed, behind one FIFO queue."""

    def __init__(self, count: int | None) -> None:
        self.count: Final = count
        self.busy = 0
        self._queue: dict[object, Begin] = {}  # in order of coming

    @property
    def waiting(self) -> int:
        """How many wait for a place."""
        return len(self._queue)

    def acquire(self, key: object, begin: Begin) -> None:
        """Take a place and begin: now, or when the turn of *key* comes."""
        if self.count is None or self.busy < self.count:
            self.busy += 1
            begin()
        else:
            self._queue[key] = begin

    def withdraw(self, key: object) -> bool:
        """Wait no longer; whether *key* was waiting."""
        return self._queue.pop(key, None) is not None

    def release(self) -> None:
        """Give a place back; the next one begins at once."""
        self.busy -= 1
        if self._queue and (self.count is None or self.busy < self.count):
            begin = self._queue.pop(next(iter(self._queue)))
            self.busy += 1
            begin()

    def reset(self) -> None:
        """Forget everybody, as a restart does."""
        self.busy = 0
        self._queue.clear()


class Ledger(Protocol):
    """Whom workers report to."""

    def started(self, key: Key, plan: TaskPlan) -> None:
        """A worker begins, or goes on."""

    def needs_input(self, key: Key, plan: TaskPlan) -> None:
        """Work cannot go on without input."""

    def paused(self, key: Key) -> None:
        """The worker is free while the input is waited for."""

    def ended(self, key: Key, plan: TaskPlan) -> None:
        """The work is through."""

    def interrupted(self, plan: TaskPlan) -> None:
        """A restart took the worker away."""

    def freed(self, key: Key, plan: TaskPlan) -> None:
        """A worker that was told to stop has stopped."""


@dataclass(slots=True)
class Job:
    """Work on one task."""

    key: Key
    plan: TaskPlan
    holds: bool  # whether it keeps its worker while it waits for input
    has_asked: bool = False
    end: At | None = None  # of the segment at work


class Workers:
    """Work on tasks, by the workers of a pool."""

    def __init__(self, env: RankedEnvironment, pool: Pool, ledger: Ledger, stop_ns: int) -> None:
        self._env = env
        self._pool = pool
        self._ledger = ledger
        self._stop_ns = stop_ns
        self._jobs: dict[Key, Job] = {}
        self._stopping: dict[At, Job] = {}

    @property
    def jobs(self) -> int:
        """Tasks that wait, are at work or wait for input."""
        return len(self._jobs)

    def order(self, key: Key, plan: TaskPlan, *, holds: bool) -> None:
        """Start the work now, or when its turn comes."""
        job = Job(key, plan, holds)
        self._jobs[key] = job
        self._pool.acquire(key, lambda: self._begin(job))

    def resume(self, key: Key) -> None:
        """The input is there: go on, where no worker was kept when one is free."""
        job = self._jobs[key]
        if job.holds:
            self._work(job)
        else:
            self._pool.acquire(key, lambda: self._begin(job))

    def stop(self, key: Key) -> None:
        """Give up a task that waits or is at work; its worker is free when it has stopped."""
        job = self._jobs.pop(key)
        if self._pool.withdraw(key):
            return
        if job.end is not None:
            self._env.cancel(job.end)
        elif not job.holds:
            return  # it waits for input, without a worker
        if self._stop_ns:
            self._stop_slowly(job)
        else:
            self._pool.release()

    def stop_all(self) -> None:
        """Drop everything that waits or is at work, as a restart does."""
        for job in self._jobs.values():
            if job.end is not None:
                self._env.cancel(job.end)
            if job.end is not None or (job.has_asked and job.holds):
                self._ledger.interrupted(job.plan)
        for event, job in self._stopping.items():
            self._env.cancel(event)
            self._ledger.freed(job.key, job.plan)
        self._jobs.clear()
        self._stopping.clear()
        self._pool.reset()

    def _stop_slowly(self, job: Job) -> None:
        """Free the worker after the time that stopping takes (R29, R30)."""

        def stopped(_: object) -> None:
            del self._stopping[event]
            self._ledger.freed(job.key, job.plan)
            self._pool.release()

        at = self._env.now + self._stop_ns
        event = At(self._env, at, rank(Tie.COMPLETION, job.plan.index), stopped)
        self._stopping[event] = job

    def _begin(self, job: Job) -> None:
        self._ledger.started(job.key, job.plan)
        self._work(job)

    def _work(self, job: Job) -> None:
        plan = job.plan
        if plan.asks and not job.has_asked:
            duration_ns, then = plan.asks_after_ns, self._ask
        else:
            duration_ns, then = plan.duration_ns - plan.asks_after_ns, self._end
        job.end = At(
            self._env,
            self._env.now + duration_ns,
            rank(Tie.COMPLETION, plan.index),
            lambda _: then(job),
        )

    def _ask(self, job: Job) -> None:
        job.has_asked = True
        job.end = None
        self._ledger.needs_input(job.key, job.plan)
        if not job.holds:
            self._ledger.paused(job.key)
            self._pool.release()

    def _end(self, job: Job) -> None:
        del self._jobs[job.key]
        self._ledger.ended(job.key, job.plan)
        self._pool.release()


class Desk:
    """Who answers: each request takes a server's time, first come, first served."""

    def __init__(self, env: RankedEnvironment, pool: Pool) -> None:
        self._env = env
        self._pool = pool
        self._drops: dict[int, Begin] = {}  # what to do when a request is dropped, in order
        self._events: dict[int, At] = {}  # ends of those that are being answered
        self._asked = 0

    @property
    def busy(self) -> int:
        """Requests that wait or are being answered."""
        return len(self._drops)

    def take(self, cost_ns: int, tie: int, act: Begin, drop: Begin) -> None:
        """Act after a server has spent *cost_ns* on it; *tie* is the rank of its end."""
        self._asked += 1
        number = self._asked
        self._drops[number] = drop

        def begin() -> None:
            at = self._env.now + cost_ns
            self._events[number] = At(self._env, at, tie, lambda _: self._end(number, act))

        self._pool.acquire(("request", number), begin)

    def _end(self, number: int, act: Begin) -> None:
        del self._events[number], self._drops[number]
        act()
        self._pool.release()

    def stop_all(self) -> None:
        """Drop every request, as a restart does; who sent it is told."""
        drops = list(self._drops.values())
        for event in self._events.values():
            self._env.cancel(event)
        self._events.clear()
        self._drops.clear()
        self._pool.reset()
        for drop in drops:
            drop()
