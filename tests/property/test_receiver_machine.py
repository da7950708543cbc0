"""The receiver against a dict: whatever the order of events, the two agree."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tasksim.protocol.messages import (
    Cancel,
    Create,
    Delete,
    Get,
    GetResult,
    InputAnswer,
    List,
    TaskPage,
)
from tasksim.protocol.occurrences import Reason
from tasksim.protocol.outputs import ResumeWork, Send, StartWork, StopWork
from tasksim.protocol.receiver import Receiver
from tasksim.protocol.rules import ReceiverRules
from tasksim.protocol.states import TERMINAL, Status

KEEP_NS = 5
SWEEP_NS = 3
OPEN_MAX = 3
IDS = st.sampled_from(["a", "b", "c"])
SESSIONS = st.sampled_from(["x", "y"])
Key = tuple[str, str]


class Modelled:
    """What the model knows of a task."""

    def __init__(self, request_id: int) -> None:
        self.request_id = request_id
        self.status = Status.SUBMITTED
        self.ended_at: int | None = None
        self.pending: set[str] = set()
        self.asked = 0


class ReceiverMachine(RuleBasedStateMachine):
    """The model: a dict from key to what a task should be; forgotten ids are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.rows: list[tuple[int, ...]] = []
        self.model: dict[Key, Modelled] = {}
        self.buried: dict[Key, Reason] = {}
        self.requests = 0

    @initialize()
    def start(self) -> None:
        rules = ReceiverRules(
            keep_alive_default_ns=KEEP_NS, sweep_ns=SWEEP_NS, open_per_requester=OPEN_MAX,
            page_size=2,
        )  # fmt: skip
        self.receiver = Receiver(rules, lambda *row: self.rows.append(row))

    def alive(self, key: Key) -> Modelled | None:
        task = self.model.get(key)
        if task is None or (task.ended_at is not None and self.now >= task.ended_at + KEEP_NS):
            return None
        return task

    def end(self, key: Key, status: Status) -> None:
        self.model[key].status = status
        self.model[key].ended_at = self.now
        self.model[key].pending.clear()

    def reply(self, session: str, message: Any) -> Any:
        (output,) = self.receiver.receive(session, message, self.now)
        return output.message  # type: ignore[union-attr]

    @rule(session=SESSIONS, task_id=IDS)
    def create(self, session: str, task_id: str) -> None:
        self.requests += 1
        create = Create(request_id=self.requests, task_id=task_id)
        outputs = self.receiver.receive(session, create, self.now)
        is_admitted = any(isinstance(output, StartWork) for output in outputs)
        key = (session, task_id)
        own = [t for (who, _), t in self.model.items() if who == session and t.ended_at is None]
        is_free = key not in self.model and key not in self.buried
        assert is_admitted == (is_free and len(own) < OPEN_MAX)
        if is_admitted:
            self.model[key] = Modelled(self.requests)

    @rule(session=SESSIONS, task_id=IDS)
    def begin(self, session: str, task_id: str) -> None:
        key = (session, task_id)
        task = self.model.get(key)
        if task is not None and task.status is Status.SUBMITTED:
            self.receiver.work_started(key, self.now)
            task.status = Status.WORKING

    @rule(session=SESSIONS, task_id=IDS, how=st.sampled_from(["fails", "succeeds", "vanishes"]))
    def work_ends(self, session: str, task_id: str, how: str) -> None:
        key = (session, task_id)
        task = self.model.get(key)
        if task is None or task.status not in {Status.SUBMITTED, Status.WORKING}:
            return
        if how == "fails":
            self.receiver.work_failed(key, "broken", self.now)
            self.end(key, Status.FAILED)
        elif how == "succeeds":
            self.receiver.work_succeeded(key, {"content": []}, self.now)
            self.end(key, Status.COMPLETED)
        else:
            self.receiver.work_lost(key, self.now)
            self.end(key, Status.UNKNOWN)

    @rule(session=SESSIONS, task_id=IDS, count=st.integers(1, 2))
    def asks(self, session: str, task_id: str, count: int) -> None:
        key = (session, task_id)
        task = self.model.get(key)
        if task is None or task.status is not Status.WORKING:
            return
        sent = self.receiver.work_needs_input(key, self.now, ({},) * count)
        asked = {out.message.request_id for out in sent if isinstance(out, Send)}
        assert len(asked) == count
        task.pending = {str(request) for request in asked}
        task.asked += count
        task.status = Status.INPUT_REQUIRED

    @rule(session=SESSIONS, task_id=IDS, place=st.integers(0, 3))
    def answers(self, session: str, task_id: str, place: int) -> None:
        key = (session, task_id)
        task = self.model.get(key)
        request_id = f"{task_id}#{place}"
        answer = InputAnswer(request_id=request_id, task_id=task_id)
        outputs = self.receiver.receive(session, answer, self.now)
        if task is None or request_id not in task.pending:
            assert outputs == []
            return
        task.pending.discard(request_id)
        assert outputs == ([] if task.pending else [ResumeWork(key)])
        if not task.pending:
            task.status = Status.WORKING

    @rule(session=SESSIONS, task_id=IDS)
    def cancel(self, session: str, task_id: str) -> None:
        key = (session, task_id)
        task = self.model.get(key)
        request_id = -1 if task is None else task.request_id
        cancel = Cancel(request_id=request_id, task_id=task_id)
        outputs = self.receiver.receive(session, cancel, self.now)
        if task is None or task.status in TERMINAL:
            assert outputs == []
            return
        assert outputs == [StopWork(key)]
        self.end(key, Status.CANCELLED)

    @rule(session=SESSIONS, task_id=IDS)
    def delete(self, session: str, task_id: str) -> None:
        key = (session, task_id)
        task = self.alive(key)
        outputs = self.receiver.receive(session, Delete(request_id=0, task_id=task_id), self.now)
        assert len(outputs) == 1
        is_refused = hasattr(outputs[0].message, "code")  # type: ignore[union-attr]
        assert is_refused == (task is None or task.status not in TERMINAL)
        if not is_refused:
            del self.model[key]
            self.buried[key] = Reason.NOT_FOUND

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
            self.buried[key] = Reason.EXPIRED

    @rule(session=SESSIONS, task_id=IDS)
    def get(self, session: str, task_id: str) -> None:
        key = (session, task_id)
        reply = self.reply(session, Get(request_id=0, task_id=task_id))
        task = self.alive(key)
        if task is None:
            was_there = Reason.EXPIRED if key in self.model else Reason.NOT_FOUND
            assert reply.reason is self.buried.get(key, was_there)
        else:
            assert reply.status is task.status

    @rule(session=SESSIONS, task_id=IDS)
    def result(self, session: str, task_id: str) -> None:
        reply = self.reply(session, GetResult(request_id=0, task_id=task_id))
        task = self.alive((session, task_id))
        assert hasattr(reply, "payload") == (task is not None and task.status is Status.COMPLETED)

    @rule(session=SESSIONS)
    def list_all(self, session: str) -> None:
        """R40: what a get would find, each once, in pages."""
        seen: list[str] = []
        cursor = None
        while True:
            page = self.reply(session, List(request_id=0, cursor=cursor))
            assert isinstance(page, TaskPage)
            seen += [view.task_id for view in page.tasks]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == [
            task_id
            for (who, task_id), task in sorted(
                self.model.items(), key=lambda item: item[1].request_id
            )
            if who == session and self.alive((who, task_id)) is task
        ]

    @invariant()
    def deadlines_follow_the_terminal_tasks(self) -> None:
        ends = [task.ended_at for task in self.model.values() if task.ended_at is not None]
        swept = [-(-(ended + KEEP_NS) // SWEEP_NS) * SWEEP_NS for ended in ends]
        deadline = self.receiver.next_deadline
        assert (None if deadline is None else deadline[0]) == (min(swept) if swept else None)

    @invariant()
    def the_tables_have_one_row_a_task(self) -> None:
        assert self.receiver.resident_tasks == len(self.model)
        if not self.model:
            assert set(self.receiver.sizes(self.now).values()) == {0}


TestReceiverMachine = ReceiverMachine.TestCase
TestReceiverMachine.settings = settings(max_examples=200, stateful_step_count=60, deadline=None)
