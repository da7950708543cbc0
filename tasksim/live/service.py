"""The live receiver without HTTP: protocol machine, workers, timers, log.

Rule 1: *lazy and exact*. Before a message is looked at, everything that was due is carried out in
the order of ``protocol.ties``, at its due instant. A late timer delays nobody's truth.
Rule 2: with a scenario, and a draw address in the request, it loses the same notifications as the
simulation does.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tasksim.eventlog.recorder import EventRecorder
from tasksim.live.reach import require_live
from tasksim.live.workers import Work, WorkPool
from tasksim.protocol.errors import InvalidMessageError
from tasksim.protocol.messages import (
    Call,
    Cancel,
    Create,
    Created,
    InputRequest,
    Pushed,
    Question,
    Reply,
)
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.outputs import Answer, Output, Send, StartWork, StopWork
from tasksim.protocol.receiver import Receiver
from tasksim.protocol.records import Key
from tasksim.protocol.rules import told
from tasksim.scenario.model import Scenario
from tasksim.scenario.rules import receiver_rules
from tasksim.scenario.variates import LONGEST_NS
from tasksim.scenario.workload import Workload
from tasksim.units import NS_PER_S, ms_from_ns, ns_from_ms, ns_from_s

TOOL: Final = "work"
FAILURE_TEXT: Final = "Tool execution failed"
RESULT: Final[Mapping[str, Any]] = {
    "content": [{"type": "text", "text": "done"}],
    "isError": False,
}
OUTCOMES: Final = ("ok", "failure")
TIMER_SLACK_NS: Final = 200_000  # a timer is set a little late rather than a little early
Clock = Callable[[], int]
Waiter = asyncio.Future[Reply | None]  # None: cancelled, there will be no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What the arguments of the tool ask for."""

    duration_ns: int | None
    fails: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """A task was created: its notification, if it is to be heard, and the answer to come."""

    created: Created | None
    original: Waiter
    stream_s: float | None  # how long a stream for them stays open; None: until the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An original request that is not answered yet."""

    waiter: Waiter
    closes_at: int | None  # when the stream for its answer closes; None: it waits for it


class TaskService:
    """One receiver's state, on the event loop's thread."""

    def __init__(
        self, scenario: Scenario, *, replication: int = 0, clock: Clock = time.monotonic_ns
    ) -> None:
        self.recorder: Final = EventRecorder()
        self._clock = clock
        self._replication = replication
        require_live(scenario)
        self._workload = Workload(scenario, replication)
        rules = replace(receiver_rules(scenario), cursor_key=secrets.token_bytes(32))
        self._rules = rules
        self._receiver = Receiver(rules, self.recorder)
        self._pool: WorkPool[Key] = WorkPool(scenario.receiver.workers)
        self._stream_s = scenario.network.stream_lifetime_s
        self._pending: dict[Key, Pending] = {}
        self._plain_waiters: dict[Key, asyncio.Future[None]] = {}
        self._plain = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0

    # Messages.

    def receive(self, session: str, request: Question, *, streams: bool) -> Reply | Admission:
        """Take a request about a task; *streams* says whether its answer can carry events."""
        order = order_of(request.call) if isinstance(request, Create) else None
        now = self._advance()
        created, start, reply, stop = _parts(self._receiver.receive(session, request, now))
        if stop is not None:
            self._stop(stop.key, now)
        if start is None or created is None:
            self._arm()
            assert reply is not None, "a request is answered or admitted"
            return reply
        assert isinstance(request, Create), "only creations start work"
        assert order is not None, "read above"
        waiter: Waiter = asyncio.get_running_loop().create_future()
        lifetime_s = self._stream_s if streams else None
        closes_at = None if lifetime_s is None else now + ns_from_s(lifetime_s)
        self._pending[start.key] = Pending(waiter=waiter, closes_at=closes_at)
        self._begin(start, self._work(start, order, request), now)
        if not streams or self._is_created_lost(request):
            self.recorder(now, Kind.LOST, start.number, Operation.CREATED, 0, -1, Reason.REPLY_LOST)
            created = None
        self._arm()
        return Admission(created=created, original=waiter, stream_s=lifetime_s)

    def cancel(self, session: str, message: Cancel) -> None:
        """Take the cancellation of a request: its task, if it has not ended, is cancelled (R28)."""
        now = self._advance()
        for output in self._receiver.receive(session, message, now):
            assert isinstance(output, StopWork), "a cancellation is not answered"
            self._stop(output.key, now)
        self._arm()

    async def call(self, call: Call) -> bool:
        """Do the work of a plain call, in the same queue as tasks (R04); whether it succeeded."""
        order = order_of(call)
        now = self._advance()
        duration_ns = order.duration_ns
        if duration_ns is None:
            duration_ns = self._workload.duration_ns(self._plain)
        key = ("", str(self._plain))  # no session has an empty name
        self._plain += 1
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._plain_waiters[key] = done
        self._pool.order(Work(key=key, number=0, duration_ns=duration_ns), now)
        self._arm()
        await done
        return not order.fails

    @property
    def strict(self) -> bool:
        """Whether related-task metadata stands only where the SEP's examples have it (C6)."""
        return self._workload.scenario.receiver.related_task == "examples"

    @property
    def told(self) -> tuple[str, ...]:
        """What it says of its limits."""
        return told(self._rules)

    @property
    def resident_tasks(self) -> int:
        """Tasks that it remembers."""
        return self._receiver.resident_tasks

    # Time.

    def _advance(self) -> int:
        """Carry out everything that is due; the instant now."""
        now = self._clock()
        while (deadline := self._next_deadline()) is not None and deadline[0] <= now:
            if deadline == self._receiver.next_deadline:
                self._receiver.on_time(deadline[0])
            else:
                self._end_work(deadline[0])
        return now

    def _next_deadline(self) -> tuple[int, int] | None:
        deadlines = (self._receiver.next_deadline, self._pool.next_deadline)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def _end_work(self, now: int) -> None:
        ended = self._pool.on_time(now)
        assert ended is not None, "it was due"
        work, at, follower = ended
        if work.key[0]:
            self._answer_original(work, at)
        elif not (done := self._plain_waiters.pop(work.key)).done():
            done.set_result(None)
        self._begin_next(follower, at)

    def _stop(self, key: Key, now: int) -> None:
        """Give up a task's work; its original request stays unanswered."""
        self._begin_next(self._pool.stop(key, now), now)
        waiter = self._pending.pop(key).waiter
        if not waiter.done():
            waiter.set_result(None)

    def _begin_next(self, follower: Work[Key] | None, at: int) -> None:
        """Take note of work that left the queue."""
        if follower is not None and follower.key[0]:
            self._receiver.work_started(follower.key, at)

    def _answer_original(self, work: Work[Key], at: int) -> None:
        """End a task; its original response goes out, if its stream is still open (N09)."""
        outputs = (
            self._receiver.work_failed(work.key, FAILURE_TEXT, at)
            if work.fails
            else self._receiver.work_succeeded(work.key, RESULT, at)
        )
        (answer,) = [output.message for output in outputs if isinstance(output, Answer)]
        assert len(outputs) == 1, "the rest is refused before it is served"
        pending = self._pending.pop(work.key)
        is_lost = pending.closes_at is not None and at > pending.closes_at
        if is_lost:
            self.recorder(at, Kind.LOST, work.number, Operation.ORIGINAL)
        if not pending.waiter.done():
            pending.waiter.set_result(None if is_lost else answer)

    def _arm(self) -> None:
        """Wake for the next deadline, so that original responses leave and tasks expire."""
        deadline = self._next_deadline()
        if deadline is None or (self._timer is not None and self._timer_at <= deadline[0]):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline[0]
        wait_ns = max(deadline[0] - self._clock(), 0) + TIMER_SLACK_NS
        self._timer = asyncio.get_running_loop().call_later(wait_ns / NS_PER_S, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._advance()
        self._arm()

    # Work.

    def _begin(self, start: StartWork, work: Work[Key], now: int) -> None:
        if self._pool.order(work, now):
            self._receiver.work_started(start.key, now)

    def _work(self, start: StartWork, order: Order, request: Create) -> Work[Key]:
        duration_ns = order.duration_ns
        if duration_ns is None:
            entity = start.number if request.draw is None else request.draw.entity
            duration_ns = self._workload.duration_ns(entity)
        return Work(key=start.key, number=start.number, duration_ns=duration_ns, fails=order.fails)

    def _is_created_lost(self, request: Create) -> bool:
        """Fate of the notification, where the requester says which task of the scenario it is."""
        draw = request.draw
        if draw is None or draw.replication != self._replication:
            return False
        return self._workload.messages.is_created_lost(
            self._workload.key_of(draw.entity), request.attempt
        )


def order_of(call: Call) -> Order:
    """What a call asks for; InvalidMessageError when that cannot be done."""
    if call.tool != TOOL:
        raise InvalidMessageError(f"Unknown tool: {call.tool}")
    duration_ms = call.arguments.get("duration_ms")
    outcome = call.arguments.get("outcome", "ok")
    if outcome not in OUTCOMES:  # a peer may send what no set can hold
        raise InvalidMessageError(f"outcome must be 'ok' or 'failure', not {outcome!r:.60}")
    if duration_ms is None:
        return Order(duration_ns=None, fails=outcome == "failure")
    is_number = isinstance(duration_ms, int | float) and not isinstance(duration_ms, bool)
    if not is_number or not 0 <= duration_ms <= ms_from_ns(LONGEST_NS):  # NaN is in no range
        raise InvalidMessageError(f"duration_ms must be a number >= 0, not {duration_ms!r:.60}")
    return Order(duration_ns=ns_from_ms(duration_ms), fails=outcome == "failure")


def _parts(
    outputs: list[Output],
) -> tuple[Created | None, StartWork | None, Reply | None, StopWork | None]:
    """The notification, the order, the answer and the stop among a receiver's outputs."""
    created: Created | None = None
    start: StartWork | None = None
    stop: StopWork | None = None
    reply: Reply | None = None
    for output in outputs:
        if isinstance(output, StartWork):
            start = output
        elif isinstance(output, StopWork):
            stop = output
        else:
            assert isinstance(output, Send), "the rest is refused before it is served"
            message = output.message
            assert not isinstance(message, InputRequest | Pushed), "it says nothing unasked"
            if isinstance(message, Created):
                created = message
            else:
                reply = message
    return created, start, reply, stop
