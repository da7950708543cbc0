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
from tasksim.scenario.plans import Stop, TaskPlan

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

    def reached(self, key: Key) -> None:
        """The work has an intermediate result."""

    def needs_input(self, key: Key, plan: TaskPlan) -> None:
        """Work cannot go on without input."""

    def needs_children(self, key: Key, plan: TaskPlan) -> None:
        """Work cannot go on before its child tasks are done."""

    def died(self, plan: TaskPlan) -> None:
        """The worker died, and nobody has seen it yet."""

    def found_dead(self, key: Key, plan: TaskPlan) -> None:
        """It is seen that the worker died."""

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
    holds: frozenset[Stop]  # stops at which it keeps its worker
    stop: int = 0  # which of the plan's stops is next
    waits_at: Stop | None = None  # where it has stopped
    end: At | None = None  # of the segment at work
    unseen: At | None = None  # when a worker will look for it

    @property
    def keeps_worker(self) -> bool:
        """Whether a worker stands by where it has stopped."""
        return self.waits_at is not None and self.waits_at in self.holds


class Workers:
    """Work on tasks, by the workers of a pool."""

    def __init__(
        self,
        env: RankedEnvironment,
        pool: Pool,
        ledger: Ledger,
        *,
        stop_ns: int,
        unseen_ns: int = 0,
        pickup_ns: int = 0,
    ) -> None:
        self._env = env
        self._pool = pool
        self._ledger = ledger
        self._stop_ns = stop_ns
        self._unseen_ns = unseen_ns  # for how long nobody sees that a worker died
        self._pickup_ns = pickup_ns  # how often a free worker looks for work; 0: it is told
        self._stalled_until = 0  # ends before that are seen then
        self._jobs: dict[Key, Job] = {}
        self._stopping: dict[At, Job] = {}

    @property
    def jobs(self) -> int:
        """Tasks that wait, are at work or wait for input."""
        return len(self._jobs)

    def order(self, key: Key, plan: TaskPlan, *, holds: frozenset[Stop]) -> None:
        """Start the work now, or when its turn comes."""
        job = Job(key, plan, holds)
        self._jobs[key] = job
        if not self._pickup_ns:
            self._pool.acquire(key, lambda: self._begin(job))
            return
        at = -(-self._env.now // self._pickup_ns) * self._pickup_ns

        def found(_: object) -> None:
            job.unseen = None
            self._pool.acquire(key, lambda: self._begin(job))

        job.unseen = At(self._env, at, rank(Tie.PICKUP, plan.index), found)

    def resume(self, key: Key) -> None:
        """What was waited for is there: go on, where no worker was kept when one is free."""
        job = self._jobs[key]
        keeps, job.waits_at = job.keeps_worker, None
        if keeps:
            self._work(job)
        else:
            self._pool.acquire(key, lambda: self._begin(job))

    def stop(self, key: Key) -> None:
        """Give up a task that waits or is at work; its worker is free when it has stopped."""
        job = self._jobs.pop(key, None)
        if job is None or self._pool.withdraw(key):
            return
        if job.unseen is not None:
            self._env.cancel(job.unseen)
            return
        if job.end is not None:
            self._env.cancel(job.end)
        elif not job.keeps_worker:
            return  # it waits without a worker
        if self._stop_ns:
            self._stop_slowly(job)
        else:
            self._pool.release()

    def stop_all(self) -> None:
        """Drop everything that waits or is at work, as a restart does."""
        for job in self._jobs.values():
            if job.unseen is not None:
                self._env.cancel(job.unseen)
            if job.end is not None:
                self._env.cancel(job.end)
            if job.end is not None or job.keeps_worker:
                self._ledger.interrupted(job.plan)
        for event, job in self._stopping.items():
            self._env.cancel(event)
            self._ledger.freed(job.key, job.plan)
        self._jobs.clear()
        self._stopping.clear()
        self._stalled_until = 0
        self._pool.reset()

    def stall(self, until: int) -> None:
        """Nobody sees before *until* that work has come to a stop or to its end."""
        self._stalled_until = until

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
        """Work up to the next stop, or to the end."""
        plan = job.plan
        done_ns = plan.stops[job.stop - 1][0] if job.stop else 0
        tie = Tie.COMPLETION
        if job.stop < len(plan.stops):
            until_ns, stop = plan.stops[job.stop]
            tie = Tie.MILESTONE if stop is Stop.MILESTONE else Tie.COMPLETION

            def then(job: Job) -> None:
                self._halt(job, stop)
        else:
            until_ns, then = plan.duration_ns, self._end
        key = rank(tie, plan.index, job.stop)
        at = self._env.now + until_ns - done_ns

        def reach(_: object) -> None:
            if self._env.now < self._stalled_until:
                job.end = At(self._env, self._stalled_until, key, reach)
            else:
                then(job)

        job.end = At(self._env, at, key, reach)

    def _halt(self, job: Job, stop: Stop) -> None:
        """The work has come to a stop on its way."""
        job.stop += 1
        job.end = None
        if stop is Stop.MILESTONE:
            self._work(job)
            self._ledger.reached(job.key)
        elif stop is Stop.DEATH:
            self._ledger.died(job.plan)
            at = self._env.now + self._unseen_ns
            tie = rank(Tie.WORKER_DEATH, job.plan.index)
            job.end = At(self._env, at, tie, lambda _: self._find_dead(job))
        else:
            job.waits_at = stop
            if not job.keeps_worker:
                self._ledger.paused(job.key)
                self._pool.release()
            if stop is Stop.INPUT:
                self._ledger.needs_input(job.key, job.plan)
            else:
                self._ledger.needs_children(job.key, job.plan)

    def _find_dead(self, job: Job) -> None:
        """Somebody has seen that the worker is dead: another takes its place."""
        del self._jobs[job.key]
        self._ledger.found_dead(job.key, job.plan)
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
        self._stalled_until = 0
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
            self._events[number] = At(self._env, at, tie, lambda _: self._end(number, tie, act))

        self._pool.acquire(("request", number), begin)

    def stall(self, until: int) -> None:
        """Answers that are due before *until* go out then."""
        self._stalled_until = until

    def _end(self, number: int, tie: int, act: Begin) -> None:
        if self._env.now < self._stalled_until:
            self._events[number] = At(
                self._env, self._stalled_until, tie, lambda _: self._end(number, tie, act)
            )
            return
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
        self._stalled_until = 0
        self._pool.reset()
        for drop in drops:
            drop()
