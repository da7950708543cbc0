"""The receiver, driven by hand: what it answers, grants, forgets and reports."""

from typing import Any

import pytest

from tasksim.policies import UNLIMITED, advice
from tasksim.protocol.messages import (
    Cancel,
    Created,
    Delete,
    Deleted,
    DrawAddress,
    Failure,
    List,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.outputs import Answer, Send, StartWork, StopWork
from tasksim.protocol.receiver import Receiver
from tasksim.protocol.states import IllegalTransitionError, Status

from .helpers import S, admit, answer, create, fetch, get, new_receiver

PAYLOAD = {"content": [], "isError": False}


@pytest.mark.requirement("R03")
def test_a_creation_sends_the_notification_and_then_orders_the_work() -> None:
    receiver, _ = new_receiver()
    created, order = receiver.receive("s", create(), 0)
    assert created == Send("s", Created(task_id="t"))
    assert isinstance(order, StartWork)
    assert order.key == ("s", "t")


@pytest.mark.requirement("R09")
def test_a_new_task_is_submitted() -> None:
    receiver, _ = new_receiver()
    admit(receiver, 0)
    assert answer(receiver, get(), 0).status is Status.SUBMITTED


def test_a_task_at_work_is_working() -> None:
    receiver, _ = new_receiver()
    receiver.work_started(admit(receiver, 0).key, 1)
    assert answer(receiver, get(), 1).status is Status.WORKING


@pytest.mark.requirement("R02", "R18", "R19", "R21")
def test_a_get_tells_the_granted_retention_and_the_advertised_interval() -> None:
    receiver, _ = new_receiver(keep_alive_max_ns=30 * S, advice=advice.fixed(5 * S))
    admit(receiver, 0, keep_alive_ns=60 * S)
    assert answer(receiver, get(), 0) == TaskView(
        request_id=2,
        task_id="t",
        status=Status.SUBMITTED,
        keep_alive_ns=30 * S,
        poll_interval_ns=5 * S,
    )


@pytest.mark.requirement("R19")
def test_an_unlimited_retention_is_told_as_none_and_never_ends() -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=UNLIMITED)
    order = admit(receiver, 0)
    receiver.work_succeeded(order.key, PAYLOAD, 1)
    assert answer(receiver, get(), 2).keep_alive_ns is None
    assert receiver.next_deadline is None


@pytest.mark.parametrize("is_started", [True, False])
@pytest.mark.requirement("R12")
def test_work_may_end_from_submitted_or_from_working(is_started: bool) -> None:
    receiver, _ = new_receiver()
    key = admit(receiver, 0).key
    if is_started:
        receiver.work_started(key, 0)
    receiver.work_succeeded(key, PAYLOAD, 0)
    assert answer(receiver, get(), 0).status is Status.COMPLETED


@pytest.mark.requirement("R23", "R25")
def test_a_completed_task_gives_its_result_as_often_as_asked() -> None:
    receiver, _ = new_receiver()
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 1)
    first, second = (answer(receiver, fetch(), 2) for _ in range(2))
    assert (
        first
        == second
        == Result(request_id=3, task_id="t", payload=PAYLOAD, operation=Operation.RESULT)
    )


def test_the_original_request_is_answered_at_completion() -> None:
    receiver, _ = new_receiver()
    key = admit(receiver, 0, request_id=42).key
    (original,) = receiver.work_succeeded(key, PAYLOAD, 1)
    assert original == Answer(
        key,
        Result(request_id=42, task_id="t", payload=PAYLOAD, operation=Operation.ORIGINAL),
    )


@pytest.mark.requirement("R48")
def test_failed_work_shows_its_error_in_get_and_answers_the_original_request_with_it() -> None:
    receiver, _ = new_receiver()
    (output,) = receiver.work_failed(admit(receiver, 0).key, "API rate limit exceeded", 1)
    view = answer(receiver, get(), 1)
    assert (view.status, view.error) == (Status.FAILED, "API rate limit exceeded")
    assert isinstance(output, Answer)
    original = output.message
    assert isinstance(original, Failure)
    assert (original.code, original.message) == (-32603, "API rate limit exceeded")


@pytest.mark.parametrize("status", ["submitted", "working", "failed"])
@pytest.mark.requirement("R23", "R24", "R46", "R47")
def test_a_result_before_completion_is_refused_with_the_status(status: str) -> None:
    receiver, _ = new_receiver()
    key = admit(receiver, 0).key
    if status == "working":
        receiver.work_started(key, 0)
    if status == "failed":
        receiver.work_failed(key, "no", 0)
    refusal = answer(receiver, fetch(), 1)
    assert refusal.code == -32602
    assert refusal.message == (
        f"Cannot retrieve result: Task status is '{status}', not 'completed'"
    )


@pytest.mark.requirement("R11")
def test_a_terminal_task_never_changes() -> None:
    receiver, _ = new_receiver()
    key = admit(receiver, 0).key
    receiver.work_succeeded(key, PAYLOAD, 1)
    with pytest.raises(IllegalTransitionError):
        receiver.work_failed(key, "late", 2)
    assert answer(receiver, get(), 2).status is Status.COMPLETED
    assert answer(receiver, fetch(), 2).payload == PAYLOAD


@pytest.mark.requirement("R07", "R08", "R46")
def test_an_id_in_use_is_refused_and_the_task_is_left_alone() -> None:
    receiver, _ = new_receiver()
    admit(receiver, 0)
    refusal = answer(receiver, create(request_id=9), 1)
    assert (refusal.code, refusal.message) == (-32602, "Task ID already exists: t")
    assert (refusal.request_id, refusal.reason) == (9, Reason.DUPLICATE)
    assert receiver.resident_tasks == 1


@pytest.mark.requirement("R46", "R47")
def test_an_unknown_id_is_not_found_by_get_and_result() -> None:
    receiver, _ = new_receiver()
    for message in (get("x"), fetch("x")):
        refusal = answer(receiver, message, 0)
        assert refusal.code == -32602
        assert refusal.message == "Failed to retrieve task: Task not found"


@pytest.mark.requirement("R49")
def test_another_session_learns_nothing_of_a_task() -> None:
    receiver, _ = new_receiver()
    admit(receiver, 0, session="a")
    foreign = answer(receiver, get(), 0, session="b")
    unknown = answer(receiver, get(), 0, session="c")
    assert foreign == unknown
    assert admit(receiver, 0, session="b").key == ("b", "t")


@pytest.mark.requirement("R20")
def test_a_task_is_there_until_just_before_its_retention_has_passed() -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=30 * S)
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 10 * S)
    assert answer(receiver, get(), 40 * S - 1).status is Status.COMPLETED
    assert answer(receiver, get(), 40 * S).message == "Failed to retrieve task: Task has expired"


@pytest.mark.requirement("R20")
def test_retention_runs_from_the_terminal_state_however_long_the_work_took() -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=300 * S)
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 304 * S)
    assert receiver.next_deadline is not None
    assert receiver.next_deadline[0] == 604 * S


@pytest.mark.requirement("R20", "R52")
def test_an_expired_task_is_forgotten_and_its_id_remembered_for_a_while() -> None:
    receiver, log = new_receiver(keep_alive_default_ns=S, tombstones=1)
    for task_id in ("a", "b"):
        receiver.work_succeeded(admit(receiver, 0, task_id).key, PAYLOAD, 0)
    receiver.on_time(S)
    assert answer(receiver, get("a"), S).reason is Reason.EXPIRED
    assert answer(receiver, create("a"), S).reason is Reason.DUPLICATE
    receiver.on_time(S)
    assert answer(receiver, get("a"), S).reason is Reason.NOT_FOUND
    assert answer(receiver, get("b"), S).reason is Reason.EXPIRED
    assert receiver.resident_tasks == 0
    assert log.kinds().count(Kind.EXPIRED) == 2


def test_one_deadline_is_carried_out_a_call_in_order_of_task_number() -> None:
    receiver, log = new_receiver(keep_alive_default_ns=S)
    for number in (7, 3):
        order = admit(receiver, 0, f"t{number}", draw=DrawAddress(entity=number))
        receiver.work_succeeded(order.key, PAYLOAD, 0)
    receiver.on_time(S)
    assert log[-1][:3] == (S, Kind.EXPIRED, 3)
    receiver.on_time(S)
    assert log[-1][:3] == (S, Kind.EXPIRED, 7)


def test_a_timer_that_fires_early_changes_nothing() -> None:
    receiver, log = new_receiver(keep_alive_default_ns=S)
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 0)
    receiver.on_time(S - 1)
    assert Kind.EXPIRED not in log.kinds()


def test_a_late_timer_reports_the_instant_that_was_due() -> None:
    receiver, log = new_receiver(keep_alive_default_ns=S)
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 0)
    receiver.on_time(5 * S)
    assert log[-1][:2] == (S, Kind.EXPIRED)


@pytest.mark.requirement("R54")
def test_the_log_of_a_task_tells_its_life() -> None:
    receiver, log = new_receiver()
    key = admit(receiver, 0, draw=DrawAddress(entity=5)).key
    receiver.work_started(key, 1)
    receiver.work_succeeded(key, PAYLOAD, 2)
    answer(receiver, get(), 3)
    answer(receiver, fetch(), 4)
    assert log.kinds() == [
        Kind.RECEIVED, Kind.CREATED, Kind.STARTED, Kind.FINISHED, Kind.RECEIVED, Kind.RECEIVED,
    ]  # fmt: skip
    assert {row[2] for row in log} == {5}


def cancel(request_id: int = 1, task_id: str = "t") -> Cancel:
    return Cancel(request_id=request_id, task_id=task_id)


@pytest.mark.parametrize("is_started", [True, False])
@pytest.mark.requirement("R28", "R30")
def test_a_cancel_by_the_original_request_stops_the_work_at_once(is_started: bool) -> None:
    receiver, _ = new_receiver()
    key = admit(receiver, 0, request_id=42).key
    if is_started:
        receiver.work_started(key, 0)
    assert receiver.receive("s", cancel(42), 1) == [StopWork(key)]
    assert answer(receiver, get(), 1).status is Status.CANCELLED


@pytest.mark.requirement("R32")
def test_a_cancelled_task_gives_no_result_and_expires_like_others() -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=30 * S)
    admit(receiver, 0)
    receiver.receive("s", cancel(), 10 * S)
    refusal = answer(receiver, fetch(), 10 * S)
    assert refusal.message == "Cannot retrieve result: Task status is 'cancelled', not 'completed'"
    assert receiver.next_deadline is not None
    assert receiver.next_deadline[0] == 40 * S


@pytest.mark.requirement("R31")
def test_a_cancel_after_the_end_is_ignored_and_the_result_stays() -> None:
    receiver, _ = new_receiver()
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 1)
    assert receiver.receive("s", cancel(), 2) == []
    assert answer(receiver, get(), 2).status is Status.COMPLETED
    assert answer(receiver, fetch(), 2).payload == PAYLOAD


def test_a_cancel_of_an_unknown_request_or_another_sessions_is_ignored() -> None:
    receiver, _ = new_receiver()
    admit(receiver, 0, request_id=42, session="a")
    assert receiver.receive("b", cancel(42), 1) == []
    assert receiver.receive("a", cancel(43), 1) == []
    assert answer(receiver, get(), 1, session="a").status is Status.SUBMITTED


def test_cancelling_twice_stops_once() -> None:
    receiver, log = new_receiver()
    admit(receiver, 0)
    assert len(receiver.receive("s", cancel(), 1)) == 1
    assert receiver.receive("s", cancel(), 2) == []
    assert log.kinds().count(Kind.FINISHED) == 1


def test_nothing_is_remembered_of_the_requests_of_expired_tasks() -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=S)
    for number in range(10):
        admit(receiver, 0, f"t{number}", request_id=number)
        receiver.receive("s", cancel(number), 0)
    for _ in range(10):
        receiver.on_time(S)
    assert set(receiver.sizes(S).values()) == {0}


# Lists.


def walk(receiver: Receiver, session: str = "s", now: int = 0) -> list[list[str]]:
    """Task ids of every page."""
    pages, cursor = [], None
    while True:
        page = answer(receiver, List(request_id=9, cursor=cursor), now, session)
        assert isinstance(page, TaskPage)
        pages.append([view.task_id for view in page.tasks])
        if page.next_cursor is None:
            return pages
        cursor = page.next_cursor


@pytest.mark.requirement("R37", "R38")
def test_sixty_tasks_of_one_instant_make_pages_of_fifty_and_ten_without_a_repeat() -> None:
    receiver, _ = new_receiver(page_size=50)
    ids = [f"t{number}" for number in range(60)]
    for task_id in ids:
        admit(receiver, 0, task_id)
    pages = walk(receiver)
    assert [len(page) for page in pages] == [50, 10]
    assert [task_id for page in pages for task_id in page] == ids


@pytest.mark.requirement("R38")
def test_a_list_that_just_fits_has_no_next_page() -> None:
    receiver, _ = new_receiver(page_size=2)
    for task_id in ("a", "b"):
        admit(receiver, 0, task_id)
    assert walk(receiver) == [["a", "b"]]
    assert walk(receiver, "nobody") == [[]]


@pytest.mark.requirement("R38")
def test_a_cursor_survives_the_deletion_of_the_task_that_it_points_at() -> None:
    receiver, _ = new_receiver(page_size=2, deletable=frozenset(Status))
    for task_id in "abcd":
        admit(receiver, 0, task_id)
    first = answer(receiver, List(request_id=1), 0)
    receiver.receive("s", Delete(request_id=2, task_id="b"), 0)
    second = answer(receiver, List(request_id=3, cursor=first.next_cursor), 0)
    assert [view.task_id for view in second.tasks] == ["c", "d"]


@pytest.mark.parametrize("cursor", ["", "bogus", "0", "0-", "-1-", "0-0123", "\ud800", "0-\ud800"])
@pytest.mark.requirement("R46")
def test_a_cursor_that_was_not_issued_is_refused(cursor: str) -> None:
    receiver, _ = new_receiver(page_size=1)
    for task_id in "ab":
        admit(receiver, 0, task_id)
    refusal = answer(receiver, List(request_id=1, cursor=cursor), 0)
    assert (refusal.code, refusal.message) == (-32602, "Invalid cursor")


@pytest.mark.requirement("R49")
def test_a_cursor_of_another_session_is_refused() -> None:
    receiver, _ = new_receiver(page_size=1)
    for session in "xy":
        for task_id in "ab":
            admit(receiver, 0, task_id, session)
    cursor = answer(receiver, List(request_id=1), 0, "x").next_cursor
    assert answer(receiver, List(request_id=1, cursor=cursor), 0, "y").code == -32602


@pytest.mark.requirement("R40", "R49")
def test_a_list_shows_what_a_get_would_find_and_nobody_elses() -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=S)
    for session, task_id in (("x", "old"), ("x", "new"), ("y", "other")):
        admit(receiver, 0, task_id, session)
    receiver.work_succeeded(("x", "old"), PAYLOAD, 0)
    assert walk(receiver, "x", S - 1) == [["old", "new"]]
    assert walk(receiver, "x", S) == [["new"]]  # expired, though not yet swept


# Deletes.


def delete(task_id: str = "t") -> Delete:
    return Delete(request_id=8, task_id=task_id)


@pytest.mark.requirement("R42")
def test_a_deleted_task_is_gone_from_everything() -> None:
    receiver, log = new_receiver()
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 1)
    assert answer(receiver, delete(), 2) == Deleted(request_id=8, task_id="t")
    for message in (get(), fetch(), delete()):
        assert answer(receiver, message, 3).message == "Failed to retrieve task: Task not found"
    assert walk(receiver, now=3) == [[]]
    assert (receiver.next_deadline, set(receiver.sizes(3).values())) == (None, {0})
    assert log[-5][1] == Kind.DELETED


@pytest.mark.requirement("R41", "R43")
def test_a_task_that_has_not_ended_is_not_deleted_by_default() -> None:
    receiver, _ = new_receiver()
    receiver.work_started(admit(receiver, 0).key, 0)
    refusal = answer(receiver, delete(), 1)
    assert (refusal.code, refusal.message) == (
        -32602,
        "Cannot delete task: Task status is 'working'",
    )
    assert answer(receiver, get(), 1).status is Status.WORKING


def test_where_deletion_is_always_allowed_work_is_stopped() -> None:
    receiver, _ = new_receiver(deletable=frozenset(Status))
    key = admit(receiver, 0).key
    outputs = receiver.receive("s", delete(), 1)
    assert outputs[1:] == [StopWork(key)]


@pytest.mark.parametrize(("deletable", "code"), [(frozenset(), -32602), (None, -32601)])
@pytest.mark.requirement("R41", "R43")
def test_deletion_may_be_refused_or_unsupported(deletable: Any, code: int) -> None:
    receiver, _ = new_receiver(deletable=deletable)
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 0)
    assert answer(receiver, delete(), 1).code == code
    assert receiver.resident_tasks == 1


def test_the_id_of_a_deleted_task_is_not_free_while_its_tombstone_lives() -> None:
    receiver, _ = new_receiver()
    receiver.work_succeeded(admit(receiver, 0).key, PAYLOAD, 0)
    answer(receiver, delete(), 1)
    assert answer(receiver, create(), 2).reason is Reason.DUPLICATE


def test_the_expiry_of_a_deleted_task_does_not_come() -> None:
    receiver, log = new_receiver(keep_alive_default_ns=S)
    for task_id in "ab":
        receiver.work_succeeded(admit(receiver, 0, task_id).key, PAYLOAD, 0)
    answer(receiver, delete("a"), 0)
    receiver.on_time(S)
    receiver.on_time(S)
    assert log.kinds().count(Kind.EXPIRED) == 1
    assert receiver.resident_tasks == 0
