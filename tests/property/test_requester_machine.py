"""The requester under any sequence of answers, losses and delays: it ends, once, consistently."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.policies import polling
from tasksim.protocol.messages import PLAIN_CALL, Failure, Get, GetResult, Result, TaskView
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.requester import Requester
from tasksim.protocol.rules import RequesterRules
from tasksim.protocol.states import Status

ANSWERS = st.lists(
    st.tuples(
        st.sampled_from(["view", "not found", "expired", "internal", "broken", "silent"]),
        st.sampled_from(list(Status)),
        st.integers(1, 20),
    ),
    max_size=30,
)


def answer_to(request: Any, what: str, status: Status) -> Any:
    """An answer of the kind *what* to a get or a fetch; None is silence."""
    operation = Operation.GET if isinstance(request, Get) else Operation.RESULT
    if what == "view" and isinstance(request, Get):
        return TaskView(
            request_id=1, task_id="t", status=status, keep_alive_ns=None, attempt=request.attempt
        )
    if what == "view":
        return Result(
            request_id=1, task_id="t", payload={}, operation=operation, attempt=request.attempt
        )
    reasons = {
        "not found": Reason.NOT_FOUND,
        "expired": Reason.EXPIRED,
        "internal": Reason.INTERNAL,
    }
    if what not in reasons:
        return None
    return Failure(
        request_id=1,
        code=-32602,
        message="",
        operation=operation,
        reason=reasons[what],
        attempt=request.attempt,
    )


@settings(max_examples=300, deadline=None)
@given(answers=ANSWERS, created_after=st.none() | st.integers(1, 30), raced=st.booleans())
def test_a_requester_ends_once_and_its_log_is_consistent(
    answers: list[tuple[str, Status, int]], created_after: int | None, raced: bool
) -> None:
    rows: list[tuple[int, ...]] = []
    rules = RequesterRules(
        polling=polling.fixed(7),
        created_timeout_ns=20,
        request_timeout_ns=15,
        raced=raced,
        failures_max=3,
    )
    machine = Requester(
        task_id="t",
        number=0,
        rules=rules,
        observe=lambda *row: rows.append(row),
        call=PLAIN_CALL,
    )
    now = 0
    machine.start(now)
    pending: list[Any] = []
    if created_after is not None and created_after < 20:
        now = created_after
        pending += machine.on_created(now)
    queue = iter(answers)
    for _ in range(500):
        if machine.done:
            break
        assert machine.next_deadline is not None
        assert machine.next_deadline[0] >= now
        if pending:
            request = pending.pop()
            assert isinstance(request, Get | GetResult)
            what, status, delay = next(queue, ("expired", Status.WORKING, 1))
            now = min(now + delay, machine.next_deadline[0])
            reply = answer_to(request, what, status)
            if what == "broken":
                operation = Operation.GET if isinstance(request, Get) else Operation.RESULT
                pending += machine.on_no_answer(operation, request.attempt, now)
            elif reply is not None:
                pending += machine.on_reply(reply, now)
        else:
            now = machine.next_deadline[0]
            pending += machine.on_time(now)
    assert machine.done
    kinds = [row[1] for row in rows]
    assert kinds.count(Kind.CLOSED) == 1
    assert kinds[-1] == Kind.CLOSED
    assert kinds.count(Kind.DETECTED) <= 1
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    sent = [row[4] for row in rows if row[1] == Kind.SENT and row[3] == Operation.GET]
    assert sent == list(range(len(sent)))
