"""One task driven against a live receiver by the requester machine.

Rule 1: the driver waits and sends, nothing else; it never wakes the machine early.
Rule 2: the log holds the clock's instants. The machine is told the *logical* instant: what the
clock would have said had this driver woken on time. So its own lateness, bounded, is not carried
from poll to poll, where it would add up to whole intervals.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import gevent
from gevent.queue import Empty, Queue

from tasksim.eventlog.recorder import EventRecorder
from tasksim.live.client import Client, Document, Stream, TransportError
from tasksim.protocol.dialects.sep1686 import Codec
from tasksim.protocol.errors import ProtocolError
from tasksim.protocol.exchanges import Lore
from tasksim.protocol.messages import (
    OPERATION_OF,
    Call,
    Cancel,
    Create,
    Created,
    InputAnswer,
    Question,
    Reply,
    Request,
)
from tasksim.protocol.occurrences import Kind, Operation
from tasksim.protocol.requester import Requester
from tasksim.protocol.rules import RequesterRules
from tasksim.scenario.plans import TaskPlan
from tasksim.scenario.workload import Workload
from tasksim.units import NS_PER_S, ms_from_ns

LATENESS_MAX_NS: Final = 5_000_000  # lateness that is made up for, per wake-up
WHILE_OPEN: Final = 1 << 62  # an instant that never comes: closing the task closes its stream
Report = Callable[[str, int, Exception | None], None]  # operation, duration in ns, what broke


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the tasks of one run have in common."""

    client: Client
    workload: Workload
    recorder: EventRecorder
    rules: Mapping[int, RequesterRules]  # by population
    task_id_of: Callable[[TaskPlan], str]
    lores: dict[int, Lore] = field(default_factory=dict)  # by requester
    epoch_ns: int  # the clock's reading at the run's instant 0
    report: Report = lambda operation, duration_ns, broke: None  # noqa: ARG005
    paced: bool = True  # whether lateness is made up for


class TaskDriver:
    """Sees one task through. Run it in a greenlet of its own."""

    def __init__(self, plan: TaskPlan, session: Mapping[str, str], around: Surroundings) -> None:
        self._plan = plan
        self._headers = session
        self._around = around
        self._codec = Codec()
        self._inbox: Any = Queue()
        self._streams: list[Stream] = []  # one a creation
        self._readers: list[Any] = []  # the greenlets that read them
        self._late_ns = 0
        self._seen_at = 0  # the clock's reading that the next rows of the log carry
        self._machine = Requester(
            task_id=around.task_id_of(plan),
            number=plan.index,
            rules=around.rules[plan.population],
            observe=self._observe,
            call=call_of(plan),
            fate=around.workload.fate_of(plan),
            deletes=around.workload.deletes(plan),
            lore=around.lores.setdefault(plan.requester, Lore()),
        )

    def run(self) -> None:
        """From the arrival to the end."""
        around, plan = self._around, self._plan
        due_at = around.epoch_ns + plan.arrival_at
        around.recorder.meets(plan.index, plan.requester)
        around.recorder(due_at, Kind.ARRIVED, plan.index, -1, 0, -1, -1, plan.duration_ns)
        requests = self._machine.start(self._woken(due_at))
        try:
            while not self._machine.done or requests:
                if not requests:
                    requests = self._wait()
                    continue
                found: list[Request] = []
                for request in requests:
                    found += self._exchange(request)
                requests = found
        finally:
            for reader in self._readers:
                reader.kill()  # a connection has one reader at a time
            for stream in self._streams:
                stream.close()

    # Waiting.

    def _wait(self) -> list[Request]:
        """Until the machine's deadline, or until something arrives on the stream."""
        deadline = self._machine.next_deadline
        assert deadline is not None, "a requester that is not done waits for something"
        left_ns = deadline[0] - time.monotonic_ns()
        if left_ns > 0:
            try:
                arrived = self._inbox.get(timeout=left_ns / NS_PER_S)
            except Empty:
                pass
            else:
                return self._take(*arrived)
        if time.monotonic_ns() < deadline[0]:
            return []
        return self._machine.on_time(self._woken(deadline[0]))

    def _take(self, message: Created | Reply | TransportError, at: int) -> list[Request]:
        """What the stream brought, read at the clock's instant *at*."""
        self._seen_at = at
        now = at - self._late_ns
        if isinstance(message, Created):
            return self._machine.on_created(now)
        if isinstance(message, TransportError):
            return self._machine.on_no_answer(Operation.CREATE, 0, now)
        return self._machine.on_reply(message, now)

    def _woken(self, due_at: int) -> int:
        """The logical instant of a wake-up that was due at *due_at*."""
        self._seen_at = time.monotonic_ns()
        late_ns = max(self._seen_at - due_at, 0)
        self._late_ns = min(late_ns, LATENESS_MAX_NS) if self._around.paced else 0
        return self._seen_at - self._late_ns

    # Exchanges.

    def _exchange(self, request: Request) -> list[Request]:
        if isinstance(request, Create):
            self._readers.append(gevent.spawn(self._read_stream, request))
            return []
        if isinstance(request, Cancel):
            return self._notify(request)
        assert not isinstance(request, InputAnswer), "a live receiver asks for nothing yet"
        operation = OPERATION_OF[type(request)]
        sent_at = time.monotonic_ns()
        until_ns = sent_at + self._around.rules[self._plan.population].request_timeout_ns
        try:
            answer = self._around.client.post(
                self._codec.encode(request), self._headers, until_ns=until_ns
            )
            self._seen_at = time.monotonic_ns()
            reply = self._decoded(answer.document(), request)
        except TransportError as fault:
            self._seen_at = time.monotonic_ns()
            self._around.report(_name(operation), self._seen_at - sent_at, fault)
            return self._machine.on_no_answer(operation, request.attempt, self._logical())
        self._around.report(_name(operation), self._seen_at - sent_at, None)
        return self._machine.on_reply(reply, self._logical())

    def _notify(self, cancel: Cancel) -> list[Request]:
        """Send a notification; whether it arrived is for polling to find out (R35)."""
        sent_at = time.monotonic_ns()
        limit_ns = self._around.rules[self._plan.population].request_timeout_ns
        broke: Exception | None = None
        try:
            self._around.client.post(
                self._codec.encode(cancel), self._headers, until_ns=sent_at + limit_ns
            )
        except TransportError as fault:
            broke = fault
        self._around.report("cancel", time.monotonic_ns() - sent_at, broke)
        return []

    def _read_stream(self, request: Create) -> None:
        """Send the creation and pass on what its answer brings, until nobody needs it."""
        sent_at = time.monotonic_ns()
        rules = self._around.rules[self._plan.population]
        until_ns = sent_at + rules.created_timeout_ns + rules.request_timeout_ns
        try:
            stream = self._around.client.stream(
                self._codec.encode(request), self._headers, until_ns=until_ns
            )
            self._streams.append(stream)
            for document in stream.documents(WHILE_OPEN):
                at = time.monotonic_ns()
                message = self._about_task(document, request)
                if message is None:
                    continue
                if isinstance(message, Created):
                    self._around.report("created", at - sent_at, None)
                self._inbox.put((message, at))
                if isinstance(message, Created) and not rules.raced:
                    return  # the original response is ignored: it stays unread
        except (TransportError, ProtocolError) as fault:
            if self._machine.done:
                return
            at = time.monotonic_ns()
            self._around.report("created", at - sent_at, fault)
            self._inbox.put((TransportError(str(fault)), at))

    def _about_task(self, document: Document, create: Create) -> Created | Reply | None:
        """What a document on the stream says of the task; None where it speaks of other things.

        Progress, log messages and requests of the receiver may come on the same stream.
        """
        if "method" in document:
            created = self._codec.decode_created(document)
            return None if created is None or created.task_id != create.task_id else created
        is_answer = document.get("id") in (create.request_id, None)  # None: an error about no id
        return self._decoded(document, create) if is_answer else None

    def _decoded(self, document: Document, request: Question) -> Reply:
        try:
            return self._codec.decode_reply(document, request)
        except ProtocolError as fault:
            raise TransportError(f"not an answer: {fault}") from fault

    def _logical(self) -> int:
        return self._seen_at - self._late_ns

    def _observe(
        self,
        at: int,  # noqa: ARG002 - logical; the log wants the clock's
        kind: int,
        task: int,
        operation: int = -1,
        ordinal: int = 0,
        status: int = -1,
        reason: int = -1,
        value: int = 0,
        /,
    ) -> None:
        self._around.recorder(self._seen_at, kind, task, operation, ordinal, status, reason, value)


def call_of(plan: TaskPlan) -> Call:
    """The tool call that dictates a task's drawn duration and fate."""
    return Call(
        tool="work",
        arguments={
            "duration_ms": ms_from_ns(plan.duration_ns),
            "outcome": "failure" if plan.fails else "ok",
        },
    )


def _name(operation: Operation) -> str:
    return operation.name.lower()
