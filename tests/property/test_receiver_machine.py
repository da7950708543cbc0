"""The receiver against a dict: whatever the order of events, the two agree."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tasksim.protocol.lifecycle import StartWork
from tasksim.protocol.messages import Create, Get, GetResult
from tasksim.protocol.occurrences import Reason
from tasksim.protocol.receiver import Receiver
from tasksim.protocol.rules import ReceiverRules
from tasksim.protocol.states import Status

KEEP_NS = 5
IDS = st.sampled_from(["a", "b", "c"])
SESSIONS = st.sampled_from(["x", "y"])


class ReceiverMachine(RuleBasedStateMachine):
    """The model: a dict from key to (status, terminal instant); expired ids are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.rows: list[tuple[int, ...]] = []
        self.model: dict[tuple[str, str], tuple[Status, int | None]] = {}
        self.expired: set[tuple[str, str]] = set()

    @initialize()
    def start(self) -> None:
        rules = ReceiverRules(keep_alive_default_ns=KEEP_NS)
        self.receiver = Receiver(rules, lambda *row: self.rows.append(row))

    def alive(self, key: tuple[str, str]) -> Status | None:
        if key not in self.model:
            return None
        status, ended_at = self.model[key]
        return None if ended_at is not None and self.now >= ended_at + KEEP_NS else status

    def reply(self, session: str, message: Any) -> Any:
        (output,) = self.receiver.receive(session, message, self.now)
        return output.message  # type: ignore[union-attr]

    @rule(session=SESSIONS, task_id=IDS)
    def create(self, session: str, task_id: str) -> None:
        outputs = self.receiver.receive(session, Create(request_id=1, task_id=task_id), self.now)
        is_admitted = any(isinstance(output, StartWork) for output in outputs)
        key = (session, task_id)
        assert is_admitted == (key not in self.model and key not in self.expired)
        if is_admitted:
            self.model[key] = (Status.SUBMITTED, None)

    @rule(session=SESSIONS, task_id=IDS)
    def begin(self, session: str, task_id: str) -> None:
        key = (session, task_id)
        if self.alive(key) is Status.SUBMITTED:
            self.receiver.work_started(key, self.now)
            self.model[key] = (Status.WORKING, None)

    @rule(session=SESSIONS, task_id=IDS, fails=st.booleans())
    def end(self, session: str, task_id: str, fails: bool) -> None:
        key = (session, task_id)
        if self.alive(key) not in {Status.SUBMITTED, Status.WORKING}:
            return
        if fails:
            self.receiver.work_failed(key, "broken", self.now)
        else:
            self.receiver.work_succeeded(key, {"content": []}, self.now)
        self.model[key] = (Status.FAILED if fails else Status.COMPLETED, self.now)

    @rule(by=st.integers(0, 4))
    def pass_time(self, by: int) -> None:
        self.now += by

    @rule()
    def wake(self) -> None:
        """One deadline a call, in order; late calls are allowed."""
        self.receiver.on_time(self.now)
        for key in [key for key in self.model if self.receiver.status_of(key) is None]:
            assert self.alive(key) is None
            del self.model[key]
            self.expired.add(key)

    @rule(session=SESSIONS, task_id=IDS)
    def get(self, session: str, task_id: str) -> None:
        key = (session, task_id)
        reply = self.reply(session, Get(request_id=1, task_id=task_id))
        status = self.alive(key)
        if status is None:
            was_there = key in self.model or key in self.expired
            assert reply.reason is (Reason.EXPIRED if was_there else Reason.NOT_FOUND)
        else:
            assert reply.status is status

    @rule(session=SESSIONS, task_id=IDS)
    def result(self, session: str, task_id: str) -> None:
        reply = self.reply(session, GetResult(request_id=1, task_id=task_id))
        is_given = hasattr(reply, "payload")
        assert is_given == (self.alive((session, task_id)) is Status.COMPLETED)

    @invariant()
    def deadlines_follow_the_terminal_tasks(self) -> None:
        ends = [ended for _, ended in self.model.values() if ended is not None]
        deadline = self.receiver.next_deadline
        assert (None if deadline is None else deadline[0]) == (
            min(ends) + KEEP_NS if ends else None
        )

    @invariant()
    def the_tables_have_one_row_a_task(self) -> None:
        assert self.receiver.resident_tasks == len(self.model)


TestReceiverMachine = ReceiverMachine.TestCase
TestReceiverMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
