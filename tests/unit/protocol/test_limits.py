"""Limits, caps, isolation, suspicion, and receivers without tasks."""

from typing import Any

import pytest

from tasksim.engines import simulate
from tasksim.policies import advice, limiters
from tasksim.protocol.messages import (
    Call,
    Cancel,
    Create,
    Created,
    Delete,
    Failure,
    InputAnswer,
    List,
    TaskView,
)
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.outputs import RunPlain, StartWork
from tasksim.protocol.rules import Binding, Watch, told
from tasksim.protocol.states import Status
from tasksim.scenario.loading import load
from tasksim.scenario.rules import receiver_rules

from .helpers import S, admit, answer, create, fetch, get, new_receiver, new_requester

QUESTIONS: dict[Operation, Any] = {
    Operation.CREATE: create("new", request_id=77),
    Operation.GET: get(),
    Operation.RESULT: fetch(),
    Operation.LIST: List(request_id=5),
    Operation.DELETE: Delete(request_id=6, task_id="t"),
}


@pytest.mark.requirement("R51")
@pytest.mark.parametrize("operation", QUESTIONS)
def test_every_operation_has_a_limit_of_its_own(operation: Operation) -> None:
    receiver, log = new_receiver(limits={operation: limiters.bucket(10 * S, 1)})
    if operation is not Operation.CREATE:
        receiver.work_succeeded(admit(receiver, 0).key, {}, 0)
    receiver.receive("s", QUESTIONS[operation], S)
    refusal = answer(receiver, QUESTIONS[operation], S)
    assert (refusal.code, refusal.reason) == (-32603, Reason.RATE_LIMITED)
    assert refusal.retry_after_ns == 10 * S
    assert log.of(Kind.RECEIVED)[-1][6] == Reason.RATE_LIMITED
    for other, question in QUESTIONS.items():
        if other is not operation:
            outputs = receiver.receive("s", question, S)
            assert not any(
                isinstance(out.message, Failure) and out.message.reason is Reason.RATE_LIMITED
                for out in outputs
                if hasattr(out, "message")
            )


@pytest.mark.parametrize(("per_requester", "other_passes"), [(True, True), (False, False)])
def test_a_limit_is_for_each_requester_or_for_all(per_requester: bool, other_passes: bool) -> None:
    limit = limiters.bucket(10 * S, 1, per_requester=per_requester)
    receiver, _ = new_receiver(limits={Operation.GET: limit})
    assert answer(receiver, get(), 0).reason is Reason.NOT_FOUND
    assert answer(receiver, get(), 0).reason is Reason.RATE_LIMITED
    found = answer(receiver, get(), 0, session="other").reason
    assert (found is Reason.NOT_FOUND) is other_passes


def test_notifications_over_a_limit_are_dropped_and_on_record() -> None:
    limits = {Operation.CANCEL: limiters.bucket(10 * S, 1),
              Operation.INPUT: limiters.bucket(10 * S, 1)}  # fmt: skip
    receiver, log = new_receiver(limits=limits)
    for message in (Cancel(request_id=1, task_id="t"), InputAnswer(request_id="x", task_id="t")):
        assert receiver.receive("s", message, 0) == []
        assert receiver.receive("s", message, 0) == []
        assert log.of(Kind.RECEIVED)[-1][6] == Reason.RATE_LIMITED


def test_the_state_of_a_limit_is_dropped_when_it_says_nothing_any_more() -> None:
    limit = limiters.bucket(S, 2, per_requester=True)
    receiver, _ = new_receiver(limits={Operation.GET: limit})
    for number in range(1000):
        answer(receiver, get(), number * S, session=f"s{number}")
    assert receiver.sizes(1000 * S)["rate limits"] == 0
    assert len(receiver._gate._meters[Operation.GET]._states) <= 2


@pytest.mark.requirement("R52")
def test_a_requester_has_as_many_open_tasks_as_it_may() -> None:
    receiver, _ = new_receiver(open_per_requester=2, retry_after_ns=3 * S)
    keys = [admit(receiver, 0, f"t{n}", request_id=n).key for n in range(2)]
    refusal = answer(receiver, create("t2", request_id=2), 0)
    assert (refusal.code, refusal.reason) == (-32603, Reason.CONCURRENCY)
    assert refusal.retry_after_ns == 3 * S
    admit(receiver, 0, "theirs", session="other")
    receiver.work_succeeded(keys[0], {}, 1)  # ended tasks count no more, though they are kept
    admit(receiver, 1, "t3", request_id=3)


@pytest.mark.requirement("R52")
@pytest.mark.parametrize("ends", ["completed", "failed", "cancelled", "unknown", "deleted"])
def test_however_a_task_ends_its_place_is_free(ends: str) -> None:
    receiver, _ = new_receiver(open_total=1, deletable=frozenset(Status))
    key = admit(receiver, 0).key
    match ends:
        case "completed":
            receiver.work_succeeded(key, {}, 1)
        case "failed":
            receiver.work_failed(key, "x", 1)
        case "cancelled":
            receiver.receive("s", Cancel(request_id=1, task_id="t"), 1)
        case "unknown":
            receiver.work_lost(key, 1)
        case "deleted":
            receiver.receive("s", Delete(request_id=5, task_id="t"), 1)
    admit(receiver, 2, "next", request_id=9)


@pytest.mark.requirement("R49")
def test_a_principal_keeps_its_tasks_over_sessions() -> None:
    receiver, _ = new_receiver(binding=Binding.PRINCIPAL)
    receiver.receive("one", create(), 0, "alice")
    (reply,) = receiver.receive("two", get(), 0, "alice")
    assert isinstance(reply.message, TaskView)  # type: ignore[union-attr]
    (reply,) = receiver.receive("one", get(), 0, "bob")
    assert reply.message.reason is Reason.NOT_FOUND  # type: ignore[union-attr]


@pytest.mark.requirement("R49")
def test_who_names_no_principal_is_bound_to_its_session() -> None:
    receiver, _ = new_receiver(binding=Binding.PRINCIPAL)
    receiver.receive("one", create(), 0)
    (reply,) = receiver.receive("two", get(), 0)
    assert reply.message.reason is Reason.NOT_FOUND  # type: ignore[union-attr]


@pytest.mark.requirement("R50")
def test_without_binding_everybody_sees_everything_and_is_told_so() -> None:
    receiver, _ = new_receiver(binding=Binding.NOTHING)
    receiver.receive("one", create(), 0, "alice")
    (reply,) = receiver.receive("two", get(), 0, "bob")
    assert isinstance(reply.message, TaskView)  # type: ignore[union-attr]
    assert any("every session" in line for line in told(receiver._rules))


@pytest.mark.requirement("R53")
def test_limits_are_told() -> None:
    rules = receiver_rules(load("demo", ["receiver.concurrency={ per_requester = 4, total = 9 }"]))
    assert told(rules) == (
        "Tasks are kept for at most 600 s after they ended.",
        "A requester may have 4 open tasks.",
        "9 tasks may be open in all.",
    )


@pytest.mark.requirement("R54")
def test_failed_lookups_make_a_requester_suspect_once_a_window() -> None:
    receiver, log = new_receiver(watch=Watch(window_ns=60 * S, failed_lookups=3))
    for second in (0, 1, 2, 3, 4, 60, 61):
        answer(receiver, get("none"), second * S)
    assert [row[0] for row in log.of(Kind.SUSPECTED)] == [2 * S]
    answer(receiver, get("none"), 62 * S)
    assert [row[0] for row in log.of(Kind.SUSPECTED)] == [2 * S, 62 * S]
    assert log.of(Kind.SUSPECTED)[0][6] == Reason.FAILED_LOOKUPS


@pytest.mark.requirement("R54")
def test_polling_faster_than_advertised_makes_a_requester_suspect() -> None:
    receiver, log = new_receiver(advice=advice.fixed(5 * S), watch=Watch(early_polls=2))
    admit(receiver, 0)
    for second in (1, 6, 11, 12, 13):
        answer(receiver, get(), second * S)
    assert [row[0] for row in log.of(Kind.SUSPECTED)] == [13 * S]


@pytest.mark.requirement("R55")
def test_a_requester_keeps_a_log_of_its_task() -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_created(1)
    requester.on_time(1 + 5 * S)
    assert log.kinds() == [Kind.SENT, Kind.CREATED_HEARD, Kind.SENT]
    assert {row[2] for row in log} == {0}


# Receivers that do not support tasks, or not all.


@pytest.mark.requirement("R04")
def test_a_receiver_without_tasks_runs_the_call_and_knows_no_task() -> None:
    receiver, _ = new_receiver(supports_tasks=False)
    assert receiver.receive("s", create(), 0) == [RunPlain("s", 1, Call())]
    for question in (get(), fetch(), List(request_id=5), Delete(request_id=6, task_id="t")):
        assert answer(receiver, question, 0).code == -32601
    assert receiver.resident_tasks == 0


@pytest.mark.requirement("R04", "R05")
def test_a_receiver_chooses_which_requests_can_be_tasks() -> None:
    receiver, _ = new_receiver(task_methods=frozenset({"tools/call"}))
    other = Call(method="sampling/createMessage")
    plain = Create(request_id=1, task_id="t", call=other)
    assert receiver.receive("s", plain, 0) == [RunPlain("s", 1, other)]
    assert answer(receiver, get(), 0).code == -32602
    outputs = receiver.receive("s", create("u", request_id=2), 0)
    assert any(isinstance(output, StartWork) for output in outputs)


@pytest.mark.requirement("R01", "R04")
@pytest.mark.parametrize(
    ("augmented", "tasks", "outcome", "channel"),
    [
        ("always", "true", Reason.RETRIEVED, Reason.POLL),
        ("if-declared", "true", Reason.RETRIEVED, Reason.POLL),
        ("if-declared", "false", Reason.RETRIEVED, Reason.RESPONSE),
        ("never", "true", Reason.RETRIEVED, Reason.RESPONSE),
        # Nobody told it, and it ignores the original response: all polling is in vain.
        ("always", "false", Reason.GAVE_UP, -1),
    ],
)
def test_who_meets_whom_in_a_simulation(
    augmented: str, tasks: str, outcome: Reason, channel: int
) -> None:
    scenario = load(
        "minimal",
        ["tasks=1", f"requesters.0.augmented={augmented}", f"receiver.tasks={tasks}",
         "work.0.duration={ kind = 'constant', value_s = 20 }"],
    )  # fmt: skip
    table = simulate(scenario).tasks
    assert table.outcome[0] == outcome
    assert table.detected_by[0] == channel


@pytest.mark.requirement("R01")
def test_a_plain_call_dies_at_its_time_out_where_a_task_lives() -> None:
    """Ninety seconds of work, sixty of patience for an answer (case 29)."""
    found = {}
    for augmented in ("always", "never"):
        scenario = load(
            "minimal",
            ["tasks=1", f"requesters.0.augmented={augmented}",
             "work.0.duration={ kind = 'constant', value_s = 90 }"],
        )  # fmt: skip
        table = simulate(scenario).tasks
        lived_s = (table.closed_at[0] - table.sent_at[0]) / S
        found[augmented] = (Reason(table.outcome[0]), lived_s)
    assert found["always"][0] is Reason.RETRIEVED
    assert found["never"] == (Reason.GAVE_UP, pytest.approx(60, abs=0.1))


@pytest.mark.requirement("R29", "R30")
def test_a_worker_that_stops_slowly_is_free_later_and_on_record() -> None:
    scenario = load(
        "minimal",
        ["tasks=2", "arrivals.rate=10", "receiver.workers=1", "receiver.stop_s=3",
         "requesters.0.cancel_share=1",
         "requesters.0.cancel_after={ kind = 'constant', value_s = 10 }",
         "work.0.duration={ kind = 'constant', value_s = 100 }"],
    )  # fmt: skip
    table = simulate(scenario).tasks
    assert (table.status == Status.CANCELLED).all()
    first, second = table.terminal_at
    assert table.freed_at[0] == first + 3 * S
    assert table.worked_ns[0] == first + 3 * S - table.started_at[0]
    assert second - first < 3 * S, "the second was cancelled while it waited for the worker"
    assert table.worked_ns[1] == 0


# Ids that come back (C2).


@pytest.mark.requirement("R08")
def test_a_duplicate_may_be_taken_as_a_repetition() -> None:
    receiver, _ = new_receiver(reuses_live=True)
    admit(receiver, 0)
    (sent,) = receiver.receive("s", create(request_id=2), 1)
    assert sent.message == Created(task_id="t")  # type: ignore[union-attr]
    assert receiver.resident_tasks == 1


@pytest.mark.parametrize("reuses", [True, False])
def test_an_id_that_expired_may_come_back_where_that_is_allowed(reuses: bool) -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=S, reuses_forgotten=reuses)
    receiver.work_succeeded(admit(receiver, 0).key, {}, 0)
    receiver.on_time(S)
    outputs = receiver.receive("s", create(request_id=2), 2 * S)
    assert any(isinstance(output, StartWork) for output in outputs) is reuses


# Statuses by option (C3, C13).


@pytest.mark.requirement("R13")
def test_unknown_is_for_work_that_is_lost_and_expires_unless_kept() -> None:
    for keeps in (False, True):
        receiver, _ = new_receiver(keep_alive_default_ns=S, keeps_unknown=keeps)
        receiver.work_lost(admit(receiver, 0).key, 0)
        assert answer(receiver, get(), 0).status is Status.UNKNOWN
        assert (receiver.next_deadline is None) is keeps


@pytest.mark.parametrize("answers", [True, False])
def test_a_cancelled_original_request_is_answered_only_by_option(answers: bool) -> None:
    receiver, _ = new_receiver(answers_cancelled=answers)
    admit(receiver, 0)
    outputs = receiver.receive("s", Cancel(request_id=1, task_id="t"), 1)
    assert len(outputs) == (2 if answers else 1)
