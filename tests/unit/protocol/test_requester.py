"""The requester, driven by hand: when it asks, what it believes, when it gives up."""

from typing import Any

import pytest

from tasksim.policies import polling
from tasksim.protocol.exchanges import Fate
from tasksim.protocol.messages import (
    Cancel,
    Create,
    Delete,
    Deleted,
    Failure,
    Get,
    GetResult,
    Result,
    TaskView,
)
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.requester import Requester
from tasksim.protocol.states import Status
from tasksim.protocol.ties import Tie

from .helpers import S, new_requester

DONE = Result(request_id=0, task_id="t", payload={}, operation=Operation.RESULT)
ORIGINAL = Result(request_id=0, task_id="t", payload={}, operation=Operation.ORIGINAL)


def view(status: Status = Status.WORKING, attempt: int = 0, hint_ns: int | None = None) -> TaskView:
    return TaskView(
        request_id=0,
        task_id="t",
        status=status,
        keep_alive_ns=None,
        poll_interval_ns=hint_ns,
        attempt=attempt,
    )


def failure(reason: Reason, operation: Operation = Operation.GET, attempt: int = 0) -> Failure:
    return Failure(
        request_id=0, code=-32602, message="", operation=operation, reason=reason, attempt=attempt
    )


def polled(requester: Requester, at: int) -> Get:
    """The get that the machine sends at its deadline *at*."""
    assert requester.next_deadline == (at, Tie.POLL_DUE)
    (request,) = requester.on_time(at)
    assert isinstance(request, Get)
    return request


@pytest.mark.requirement("R02", "R06")
def test_it_asks_for_the_task_first() -> None:
    requester, _ = new_requester(keep_alive_ns=60 * S)
    (request,) = requester.start(0)
    assert isinstance(request, Create)
    assert request.keep_alive_ns == 60 * S
    assert requester.next_deadline == (10 * S, Tie.CREATED_TIMEOUT)


def test_it_polls_one_interval_after_the_notification() -> None:
    requester, _ = new_requester()
    requester.start(0)
    assert requester.on_created(1) == []
    polled(requester, 5 * S + 1)


def test_it_polls_at_once_where_the_policy_says_so() -> None:
    requester, _ = new_requester(polling=polling.hint(5 * S, first=polling.First.AT_ONCE))
    requester.start(0)
    (request,) = requester.on_created(1)
    assert isinstance(request, Get)


def test_a_job_of_12_s_at_a_hint_of_5_s_takes_three_gets() -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_created(0)
    for attempt, at in enumerate((5 * S, 10 * S)):
        polled(requester, at)
        requester.on_reply(view(attempt=attempt, hint_ns=5 * S), at)
    polled(requester, 15 * S)
    (request,) = requester.on_reply(view(Status.COMPLETED, attempt=2), 15 * S)
    assert isinstance(request, GetResult)
    requester.on_reply(DONE, 15 * S)
    assert requester.done
    assert log[-1][1:3] + log[-1][6:7] == (Kind.CLOSED, 0, Reason.RETRIEVED)


@pytest.mark.requirement("R22")
def test_the_hint_in_answer_k_sets_the_gap_after_it() -> None:
    requester, _ = new_requester(polling=polling.hint(2 * S))
    requester.start(0)
    requester.on_created(0)
    due = 2 * S
    for attempt, hint_s in enumerate((1, 5, 1)):
        polled(requester, due)
        requester.on_reply(view(attempt=attempt, hint_ns=hint_s * S), due)
        due += hint_s * S
    assert requester.next_deadline == (due, Tie.POLL_DUE)


def test_without_the_notification_it_polls_after_the_time_out() -> None:
    requester, log = new_requester(created_timeout_ns=3 * S)
    requester.start(0)
    (request,) = requester.on_time(3 * S)
    assert isinstance(request, Get)
    assert Kind.CREATED_TIMED_OUT in log.kinds()


def test_a_late_notification_is_noted_and_changes_no_schedule() -> None:
    requester, log = new_requester(created_timeout_ns=3 * S)
    requester.start(0)
    requester.on_time(3 * S)
    before = requester.next_deadline
    assert requester.on_created(3 * S + 1) == []
    assert requester.next_deadline == before
    assert Kind.CREATED_HEARD in log.kinds()


def test_not_found_before_the_notification_is_not_fatal() -> None:
    requester, _ = new_requester(created_timeout_ns=3 * S)
    requester.start(0)
    requester.on_time(3 * S)
    assert requester.on_reply(failure(Reason.NOT_FOUND), 3 * S) == []
    polled(requester, 8 * S)
    requester.on_reply(view(attempt=1), 8 * S)
    assert not requester.done


def test_a_task_that_never_appears_is_given_up() -> None:
    requester, log = new_requester(created_timeout_ns=3 * S, request_timeout_ns=10 * S)
    requester.start(0)
    requester.on_time(3 * S)
    for attempt, at in enumerate((3 * S, 8 * S, 13 * S)):
        requester.on_reply(failure(Reason.NOT_FOUND, attempt=attempt), at)
        if not requester.done:
            requester.on_time(at + 5 * S)
    assert requester.done
    assert log[-1][6] == Reason.GAVE_UP


@pytest.mark.parametrize("reason", [Reason.NOT_FOUND, Reason.EXPIRED])
def test_a_task_that_is_gone_after_it_was_seen_is_a_lost_result(reason: Reason) -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    requester.on_reply(failure(reason), 5 * S)
    assert requester.done
    assert log[-1][6] == Reason.RESULT_LOST


def test_a_result_that_expired_between_get_and_fetch_is_lost() -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    requester.on_reply(view(Status.COMPLETED), 5 * S)
    requester.on_reply(failure(Reason.EXPIRED, Operation.RESULT), 6 * S)
    assert log[-1][6] == Reason.RESULT_LOST


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (Status.FAILED, Reason.FAILED),
        (Status.CANCELLED, Reason.CANCELLED),
        (Status.UNKNOWN, Reason.UNKNOWN),
    ],
)
def test_a_task_that_ended_badly_is_not_asked_for_a_result(status: Status, outcome: Reason) -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    assert requester.on_reply(view(status), 5 * S) == []
    assert log[-1][6] == outcome


def test_a_refused_creation_closes_the_task() -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_reply(failure(Reason.INVALID, Operation.CREATE), 1)
    assert requester.done
    assert log[-1][6] == Reason.REJECTED


def test_a_duplicate_confirms_the_task_and_is_polled() -> None:  # N05
    requester, _ = new_requester()
    requester.start(0)
    assert requester.on_reply(failure(Reason.DUPLICATE, Operation.CREATE), 1) == []
    assert requester.next_deadline == (1 + 5 * S, Tie.POLL_DUE)


def test_an_unanswered_get_is_followed_by_the_next_one_after_its_gap() -> None:
    requester, log = new_requester(request_timeout_ns=2 * S)
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    assert requester.next_deadline == (7 * S, Tie.REQUEST_TIMEOUT)
    assert requester.on_time(7 * S) == []
    assert Kind.REQUEST_TIMED_OUT in log.kinds()
    polled(requester, 12 * S)


def test_an_answer_after_its_time_out_still_counts_when_it_is_terminal() -> None:
    requester, _ = new_requester(request_timeout_ns=2 * S)
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    requester.on_time(7 * S)
    (request,) = requester.on_reply(view(Status.COMPLETED), 9 * S)
    assert isinstance(request, GetResult)


def test_a_copy_of_an_answer_is_nothing() -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    assert requester.on_reply(view(Status.WORKING), 6 * S) == []
    assert requester.on_reply(view(Status.WORKING), 8 * S) == []
    assert requester.next_deadline == (11 * S, Tie.POLL_DUE)
    assert len(log.of(Kind.ANSWERED)) == 1


def test_four_broken_exchanges_in_a_row_are_borne_and_the_fifth_is_not() -> None:
    requester, log = new_requester()
    requester.start(0)
    requester.on_created(0)
    for attempt in range(5):
        assert not requester.done
        assert requester.next_deadline is not None
        at = requester.next_deadline[0]
        requester.on_time(at)
        requester.on_no_answer(Operation.GET, attempt, at)
    assert requester.done
    assert log[-1][6] == Reason.GAVE_UP


def test_a_retry_after_lengthens_the_gap() -> None:
    requester, _ = new_requester()
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    refusal = Failure(
        request_id=0,
        code=-32603,
        message="",
        operation=Operation.GET,
        reason=Reason.INTERNAL,
        retry_after_ns=120 * S,
    )
    requester.on_reply(refusal, 5 * S)
    assert requester.next_deadline == (125 * S, Tie.POLL_DUE)


def test_a_broken_fetch_is_retried() -> None:
    requester, _ = new_requester()
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    requester.on_reply(view(Status.COMPLETED), 5 * S)
    requester.on_no_answer(Operation.RESULT, 0, 5 * S)
    assert requester.next_deadline == (10 * S, Tie.RETRY)
    (request,) = requester.on_time(10 * S)
    assert isinstance(request, GetResult)
    assert request.attempt == 1


def test_the_original_response_is_ignored_by_default() -> None:
    requester, _ = new_requester()
    requester.start(0)
    requester.on_created(0)
    requester.on_reply(ORIGINAL, S)
    assert not requester.done


@pytest.mark.parametrize("is_created", [True, False])
def test_a_raced_original_response_wins_before_and_after_the_notification(
    is_created: bool,
) -> None:
    requester, log = new_requester(raced=True)
    requester.start(0)
    if is_created:
        requester.on_created(0)
    requester.on_reply(ORIGINAL, S)
    assert requester.done
    detected = next(row for row in log if row[1] == Kind.DETECTED)
    assert detected[5:7] == (Status.COMPLETED, Reason.RESPONSE)


def test_a_raced_response_that_comes_during_the_fetch_retrieves_without_detecting_twice() -> None:
    requester, log = new_requester(raced=True)
    requester.start(0)
    requester.on_created(0)
    requester.on_time(5 * S)
    requester.on_reply(view(Status.COMPLETED), 5 * S)
    requester.on_reply(ORIGINAL, 5 * S + 1)
    assert requester.done
    assert log.kinds().count(Kind.DETECTED) == 1
    requester.on_reply(DONE, 5 * S + 2)
    assert log.kinds().count(Kind.RETRIEVED) == 1


def test_a_failed_original_response_leaves_the_decision_to_polling() -> None:
    requester, _ = new_requester(raced=True)
    requester.start(0)
    requester.on_created(0)
    requester.on_reply(failure(Reason.EXECUTION, Operation.ORIGINAL), S)
    assert not requester.done
    polled(requester, 5 * S)


def test_nothing_reopens_a_closed_task() -> None:
    requester, log = new_requester(raced=True)
    requester.start(0)
    requester.on_reply(ORIGINAL, S)
    rows = len(log)
    assert requester.on_created(2 * S) == []
    assert requester.on_reply(ORIGINAL, 2 * S) == []
    assert requester.on_time(100 * S) == []
    assert len(log) == rows


def test_a_random_phase_puts_the_first_poll_within_the_first_interval() -> None:
    machine, log = new_requester(polling=polling.hint(4 * S, first=polling.First.RANDOM_PHASE))
    machine = Requester(
        task_id="t",
        number=0,
        rules=machine._rules,
        observe=log,
        call=machine._call,
        fate=Fate(phase_unit=0.25),
    )
    machine.start(0)
    machine.on_created(0)
    assert machine.next_deadline == (S, Tie.POLL_DUE)


def test_request_ids_of_two_tasks_of_one_session_never_meet() -> None:
    ids = set()
    for number in (0, 1):
        machine, log = new_requester()
        machine = Requester(
            task_id="t", number=number, rules=machine._rules, observe=log, call=machine._call
        )
        ids.add(machine.start(0)[0].request_id)
    assert len(ids) == 2


def cancelling(after_ns: int, **rules: Any) -> tuple[Requester, Any]:
    machine, log = new_requester(**rules)
    rules_of = machine._rules
    machine = Requester(
        task_id="t",
        number=2,
        rules=rules_of,
        observe=log,
        call=machine._call,
        fate=Fate(cancel_after_ns=after_ns),
    )
    return machine, log


@pytest.mark.requirement("R33", "R35")
def test_a_cancel_names_the_original_request_and_polling_goes_on() -> None:
    machine, _ = cancelling(7 * S)
    (create,) = machine.start(0)
    machine.on_created(0)
    assert machine.on_time(5 * S)  # the first poll
    machine.on_reply(view(attempt=0), 5 * S)
    assert machine.next_deadline == (7 * S, Tie.CANCEL_DUE)
    (request,) = machine.on_time(7 * S)
    assert isinstance(request, Cancel)
    assert request.request_id == create.request_id
    assert machine.next_deadline == (10 * S, Tie.POLL_DUE)


def test_a_confirmed_cancel_closes_the_task_as_cancelled() -> None:
    machine, log = cancelling(1 * S)
    machine.start(0)
    machine.on_created(0)
    machine.on_time(1 * S)
    machine.on_time(5 * S)
    assert machine.on_reply(view(Status.CANCELLED), 5 * S) == []
    assert log[-1][6] == Reason.CANCELLED


def test_a_cancel_that_came_too_late_yields_the_result() -> None:
    machine, log = cancelling(1 * S)
    machine.start(0)
    machine.on_created(0)
    machine.on_time(1 * S)
    machine.on_time(5 * S)
    (request,) = machine.on_reply(view(Status.COMPLETED), 5 * S)
    assert isinstance(request, GetResult)
    machine.on_reply(DONE, 5 * S)
    assert log[-1][6] == Reason.RETRIEVED


@pytest.mark.requirement("R36")
def test_a_cancel_that_is_never_confirmed_is_given_up_after_its_patience() -> None:
    machine, log = cancelling(1 * S, cancel_patience_ns=9 * S)
    machine.start(0)
    machine.on_created(0)
    machine.on_time(1 * S)
    for attempt, at in enumerate((5 * S, 10 * S)):
        assert not machine.done
        machine.on_time(at)
        machine.on_reply(view(attempt=attempt), at)
    assert machine.done
    assert log[-1][6] == Reason.GAVE_UP


def test_nothing_is_cancelled_once_the_end_is_known() -> None:
    machine, log = cancelling(6 * S)
    machine.start(0)
    machine.on_created(0)
    machine.on_time(5 * S)
    machine.on_reply(view(Status.COMPLETED), 5 * S)
    assert machine.next_deadline is not None
    assert machine.next_deadline[1] is Tie.REQUEST_TIMEOUT
    machine.on_reply(DONE, 7 * S)
    assert Kind.SENT not in [row[1] for row in log if row[3] == Operation.CANCEL]


def test_a_cancel_before_the_notification_goes_out_with_it() -> None:
    """It must not overtake the creation, and must not get lost (case 32)."""
    machine, _ = cancelling(1 * S)
    machine.start(0)
    assert machine.on_time(1 * S) == []
    assert machine.next_deadline == (10 * S, Tie.CREATED_TIMEOUT)
    (request,) = machine.on_created(2 * S)
    assert isinstance(request, Cancel)
    assert machine.next_deadline == (7 * S, Tie.POLL_DUE)


def deleting() -> tuple[Requester, Any]:
    machine, log = new_requester()
    machine = Requester(
        task_id="t", number=0, rules=machine._rules, observe=log, call=machine._call, deletes=True
    )
    machine.start(0)
    machine.on_created(0)
    machine.on_time(5 * S)
    return machine, log


@pytest.mark.requirement("R44")
def test_a_sensitive_task_is_deleted_as_soon_as_its_result_is_there() -> None:
    machine, log = deleting()
    machine.on_reply(view(Status.COMPLETED), 5 * S)
    (request,) = machine.on_reply(DONE, 6 * S)
    assert isinstance(request, Delete)
    assert not machine.done
    machine.on_reply(Deleted(request_id=0, task_id="t"), 7 * S)
    assert machine.done
    assert log[-1][6] == Reason.RETRIEVED


@pytest.mark.parametrize("how", ["refused", "silent", "broken"])
def test_a_delete_that_does_not_work_leaves_the_task_to_its_retention(how: str) -> None:
    machine, log = deleting()
    (request,) = machine.on_reply(view(Status.FAILED), 5 * S)
    assert isinstance(request, Delete)
    if how == "refused":
        machine.on_reply(failure(Reason.INVALID, Operation.DELETE), 6 * S)
    elif how == "broken":
        machine.on_no_answer(Operation.DELETE, 0, 6 * S)
    else:
        assert machine.next_deadline == (65 * S, Tie.REQUEST_TIMEOUT)
        machine.on_time(65 * S)
    assert machine.done
    assert log[-1][6] == Reason.FAILED


def settled_by_the_race(**rules: Any) -> tuple[Requester, Any]:
    """A sensitive task whose original response came while its result was on its way."""
    machine, log = new_requester(raced=True, **rules)
    machine = Requester(
        task_id="t",
        number=0,
        rules=machine._rules,
        observe=log,
        call=machine._call,
        fate=Fate(cancel_after_ns=50 * S),
        deletes=True,
    )
    machine.start(0)
    machine.on_created(0)
    machine.on_time(5 * S)
    machine.on_reply(view(Status.COMPLETED), 5 * S)
    (request,) = machine.on_reply(ORIGINAL, 6 * S)
    assert isinstance(request, Delete)
    return machine, log


@pytest.mark.parametrize("how", ["answered", "refused", "broken"])
def test_what_becomes_of_the_fetch_does_not_disturb_the_delete_that_followed(how: str) -> None:
    machine, log = settled_by_the_race()
    if how == "answered":
        assert machine.on_reply(DONE, 7 * S) == []
    elif how == "refused":
        assert machine.on_reply(failure(Reason.EXPIRED, Operation.RESULT), 7 * S) == []
    else:
        assert machine.on_no_answer(Operation.RESULT, 0, 7 * S) == []
    assert not machine.done
    assert log.kinds().count(Kind.RETRIEVED) == 1
    machine.on_reply(Deleted(request_id=0, task_id="t"), 8 * S)
    assert machine.done
    assert log[-1][6] == Reason.RETRIEVED


def test_nothing_is_cancelled_while_a_delete_is_on_its_way() -> None:
    machine, _ = settled_by_the_race()
    assert machine.next_deadline is not None
    assert machine.next_deadline[1] is Tie.REQUEST_TIMEOUT
