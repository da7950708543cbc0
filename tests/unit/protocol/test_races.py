"""Every ordering of what may race: the outcome is one, and it is the right one."""

import itertools
from typing import Any

import pytest

from tasksim.policies import polling
from tasksim.protocol.messages import (
    Cancel,
    Failure,
    InputAnswer,
    InputRequest,
    Result,
    TaskView,
)
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.outputs import ResumeWork, Send, StopWork
from tasksim.protocol.states import IllegalTransitionError, Status

from .helpers import S, admit, answer, fetch, get, new_receiver, new_requester

PAYLOAD = {"content": [], "isError": False}


# Cancel against completion, at the receiver (R11, R28, R31).


@pytest.mark.requirement("R28")
def test_a_cancel_that_comes_first_wins_and_stops_the_work() -> None:
    receiver, _ = new_receiver()
    key = admit(receiver, 0).key
    receiver.work_started(key, 0)
    assert receiver.receive("s", Cancel(request_id=1, task_id="t"), 5) == [StopWork(key)]
    with pytest.raises(IllegalTransitionError):  # who was told to stop reports nothing more
        receiver.work_succeeded(key, PAYLOAD, 5)
    assert answer(receiver, get(), 5).status is Status.CANCELLED


@pytest.mark.requirement("R11", "R31")
def test_a_completion_that_comes_first_wins_and_keeps_its_result() -> None:
    receiver, _ = new_receiver()
    key = admit(receiver, 0).key
    receiver.work_succeeded(key, PAYLOAD, 5)
    assert receiver.receive("s", Cancel(request_id=1, task_id="t"), 5) == []
    assert answer(receiver, get(), 5).status is Status.COMPLETED
    assert answer(receiver, fetch(), 5).payload == PAYLOAD


# Created notification, original response and poll, at the requester (N01 to N05).


def view(status: Status, attempt: int = 0) -> TaskView:
    return TaskView(request_id=2, task_id="t", status=status, keep_alive_ns=None, attempt=attempt)


def original(success: bool) -> Result | Failure:
    if success:
        return Result(request_id=1, task_id="t", payload={}, operation=Operation.ORIGINAL)
    return Failure(
        request_id=1, code=-32603, message="x", operation=Operation.ORIGINAL,
        reason=Reason.EXECUTION, task_id="t",
    )  # fmt: skip


RESULT = Result(request_id=3, task_id="t", payload={}, operation=Operation.RESULT)


def race(order: tuple[str, ...], *, raced: bool, success: bool) -> tuple[Any, Any]:
    """A requester that polls since the created time-out, and what arrives in that order."""
    machine, log = new_requester(polling=polling.fixed(5 * S), created_timeout_ns=S, raced=raced)
    machine.start(0)
    machine.on_time(S)  # no notification yet: it polls
    status = Status.COMPLETED if success else Status.FAILED
    arrivals = {
        "created": machine.on_created,
        "response": lambda now: machine.on_reply(original(success), now),
        "poll": lambda now: machine.on_reply(view(status), now),
    }
    for place, name in enumerate(order):
        arrivals[name](2 * S + place)
    machine.on_reply(RESULT, 3 * S)
    return machine, log


@pytest.mark.parametrize("raced", [True, False])
@pytest.mark.parametrize("order", list(itertools.permutations(["created", "response", "poll"])))
def test_the_first_success_is_the_detection_and_the_result_is_had_once(
    order: tuple[str, ...], raced: bool
) -> None:
    machine, log = race(order, raced=raced, success=True)
    assert machine.done
    assert log.kinds().count(Kind.DETECTED) == 1
    assert log.kinds().count(Kind.RETRIEVED) == 1
    assert log.of(Kind.CLOSED)[-1][6] == Reason.RETRIEVED
    (detected,) = log.of(Kind.DETECTED)
    response_first = order.index("response") < order.index("poll")
    assert detected[6] == (Reason.RESPONSE if raced and response_first else Reason.POLL)


@pytest.mark.parametrize("raced", [True, False])
@pytest.mark.parametrize("order", list(itertools.permutations(["created", "response", "poll"])))
def test_a_failed_response_waits_for_the_poll_to_tell(order: tuple[str, ...], raced: bool) -> None:
    machine, log = race(order, raced=raced, success=False)
    assert machine.done
    (detected,) = log.of(Kind.DETECTED)
    assert detected[6] == Reason.POLL
    assert log.of(Kind.CLOSED)[-1][6] == Reason.FAILED
    assert Kind.RETRIEVED not in log.kinds()


# Expiry against get (R20): the boundary, whether the timer has run or not.


@pytest.mark.parametrize("timer_runs", [True, False])
@pytest.mark.parametrize(
    ("at", "is_there"), [(10 * S - 1, True), (10 * S, False), (10 * S + 1, False)]
)
@pytest.mark.requirement("R20")
def test_a_task_is_there_until_its_retention_has_passed_and_not_longer(
    at: int, is_there: bool, timer_runs: bool
) -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=10 * S)
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 0)
    if timer_runs:
        receiver.on_time(at)
    for message in (get(), fetch()):
        reply = answer(receiver, message, at)
        assert isinstance(reply, Failure) is not is_there
        if not is_there:
            assert (reply.code, reply.reason) == (-32602, Reason.EXPIRED)


@pytest.mark.parametrize("at", [10 * S, 11 * S, 15 * S - 1])
@pytest.mark.requirement("R20", "R52")
def test_the_lag_of_a_sweep_costs_memory_and_is_never_visible(at: int) -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=10 * S, sweep_ns=5 * S)
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 1)
    assert receiver.next_deadline is not None
    assert receiver.next_deadline[0] == 15 * S
    assert answer(receiver, get(), at + 1).reason is Reason.EXPIRED
    assert receiver.resident_tasks == 1
    receiver.on_time(15 * S)
    assert receiver.resident_tasks == 0


# Input against cancel (R16, R17, R34).


def asking(count: int = 1) -> tuple[Any, Any, list[InputRequest], Any]:
    receiver, log = new_receiver()
    key = admit(receiver, 0).key
    receiver.work_started(key, 0)
    sent = receiver.work_needs_input(key, 1, ({},) * count)
    asked = [out.message for out in sent if isinstance(out, Send)]
    assert all(isinstance(message, InputRequest) for message in asked)
    return receiver, key, asked, log  # type: ignore[return-value]


def said(ask: InputRequest) -> InputAnswer:
    return InputAnswer(request_id=ask.request_id, task_id=ask.task_id)


@pytest.mark.parametrize("order", list(itertools.permutations(["first", "second", "cancel"])))
@pytest.mark.requirement("R33", "R34")
def test_answers_and_a_cancel_in_every_order(order: tuple[str, ...]) -> None:
    receiver, key, (one, two), log = asking(2)
    messages = {
        "first": said(one), "second": said(two), "cancel": Cancel(request_id=1, task_id="t"),
    }  # fmt: skip
    outputs = [receiver.receive("s", messages[name], 2) for name in order]
    assert answer(receiver, get(), 3).status is Status.CANCELLED
    # The task went on only if both answers came before the cancel.
    resumed = [out for each in outputs for out in each if isinstance(out, ResumeWork)]
    assert resumed == ([ResumeWork(key)] if order[2] == "cancel" else [])
    late = order[order.index("cancel") + 1 :]
    disregarded = [row for row in log.of(Kind.RECEIVED) if row[6] == Reason.DISREGARDED]
    assert len(disregarded) == len(late)


@pytest.mark.requirement("R14", "R16", "R17")
def test_a_task_waits_for_every_answer() -> None:
    receiver, key, (one, two), _ = asking(2)
    assert receiver.receive("s", said(one), 2) == []
    assert answer(receiver, get(), 2).status is Status.INPUT_REQUIRED
    assert receiver.receive("s", said(one), 2) == []  # twice is once
    assert receiver.receive("s", said(two), 3) == [ResumeWork(key)]
    assert answer(receiver, get(), 3).status is Status.WORKING


def test_an_answer_of_another_session_is_disregarded() -> None:
    receiver, _, (one,), _ = asking()
    assert receiver.receive("other", said(one), 2) == []
    assert answer(receiver, get(), 2).status is Status.INPUT_REQUIRED


def test_input_that_does_not_come_in_time_fails_the_task() -> None:
    receiver, _ = new_receiver(input_timeout_ns=10 * S)
    key = admit(receiver, 0).key
    receiver.work_started(key, 0)
    receiver.work_needs_input(key, S)
    (told, stop) = receiver.on_time(11 * S)
    assert stop == StopWork(key)
    assert told.message.message == "Input was not received in time"
    found = answer(receiver, get(), 12 * S)
    assert (found.status, found.error) == (Status.FAILED, "Input was not received in time")


@pytest.mark.requirement("R15", "R27")
def test_requests_for_input_carry_the_id_of_the_task() -> None:  # R15, R27
    _, _, (one,), _ = asking()
    assert one.task_id == "t"


# The requester's side of input.


def test_a_requester_thinks_and_answers_each_request_once() -> None:
    machine, _ = new_requester()
    machine.start(0)
    machine.on_created(0)
    prompts = [InputRequest(request_id=f"r{n}", task_id="t", ordinal=n) for n in (1, 0, 1)]
    for prompt in prompts:
        machine.on_prompt(prompt, S)
    answers = [message for _ in range(4) for message in machine.on_time(S)]
    assert [message.request_id for message in answers] == ["r0", "r1"]


def test_a_requester_that_cancelled_answers_no_more() -> None:
    machine, _ = new_requester()
    machine.start(0)
    machine.on_created(0)
    machine.on_prompt(InputRequest(request_id="r0", task_id="t"), S)
    machine._cancel_at = S
    machine._set_aside()
    sent = [message for _ in range(4) for message in machine.on_time(S)]
    assert [type(message) for message in sent] == [Cancel]
