"""What a review found, each as the small run that showed it."""

from typing import Any

import pytest

from tasksim.engines import simulate
from tasksim.engines.reference.model import Model
from tasksim.eventlog.laws import check_log
from tasksim.eventlog.run import Run
from tasksim.eventlog.schema import NEVER
from tasksim.metrics.summary import summarise
from tasksim.protocol.messages import Failure
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.states import Status
from tasksim.scenario.cost import CostError, cost_of, require_affordable
from tasksim.scenario.loading import ScenarioError, parse
from tasksim.scenario.workload import Workload
from tests.unit.protocol.helpers import admit, create, new_receiver, new_requester

S = 1_000_000_000

BASE = """
tasks = {tasks}
[arrivals]
kind = "constant"
rate = 1.0
[[requesters]]
{requesters}
[[work]]
duration = {{ kind = "constant", value_s = {work_s} }}
{work}
[receiver]
{receiver}
[faults]
{faults}
"""


def text(tasks: int = 1, work_s: float = 10, **sections: str) -> str:
    parts = {name: sections.get(name, "") for name in ("requesters", "work", "receiver", "faults")}
    return BASE.format(tasks=tasks, work_s=work_s, **parts)


def run(*args: Any, **sections: Any) -> Run:
    found = simulate(parse(text(*args, **sections), "f"), level="events")
    assert found.events is not None
    assert check_log(found.events) == []
    return found


def count(found: Run, kind: Kind, operation: int) -> int:
    log = found.events
    assert log is not None
    return int(((log.kind == kind) & (log.operation == operation)).sum())


ASKS = "input_required = { share = 1, think = { kind = 'constant', value_s = 60 } }"
ASKS_FREELY = ASKS.replace("share = 1,", "share = 1, holds_worker = false,")


@pytest.mark.parametrize("tasks", ["true", "false"])
def test_a_response_that_comes_before_the_time_out_counts_where_it_is_the_fallback(
    tasks: str,
) -> None:
    found = run(
        work_s=3,
        requesters='created_fallback = "original"',
        receiver=f"tasks = {tasks}",
        faults="created_lost_share = 1.0",
    )
    assert found.tasks.outcome[0] == Reason.RETRIEVED
    assert found.tasks.closed_at[0] == pytest.approx(3 * S, abs=10)


@pytest.mark.parametrize(
    "sections",
    [
        {"requesters": "patience_s = 5", "work": ASKS},
        {"requesters": "patience_s = 5", "work": ASKS_FREELY},
        {"requesters": "session_s = 5", "work": ASKS},
        {"requesters": "attempts = 1", "work": ASKS,
         "faults": "restarts = [{ at_s = 4, down_s = 10, interrupted = 'redone' }]"},
        {"work": ASKS,
         "receiver": "workers = 1\nhandling = { shares_workers = true, get_s = 0.01 }"},
    ],
)  # fmt: skip
def test_input_that_nobody_will_give_is_not_waited_for_for_ever(sections: dict[str, str]) -> None:
    found = run(**sections)
    assert (found.tasks.terminal_at != NEVER).all()


def test_queueing_is_foreseen_for_closed_models() -> None:
    closed = """
    tasks = 1000
    [arrivals]
    kind = "closed"
    users = 500
    think = { kind = "constant", value_s = 1 }
    [[requesters]]
    polling = { kind = "fixed", interval_s = 5 }
    [[work]]
    duration = { kind = "constant", value_s = 10 }
    [receiver]
    workers = 1
    """
    assert cost_of(Workload(parse(closed, "f")), "tasks").requests > 400_000


def test_bursts_that_bring_almost_nothing_are_refused_or_end_at_the_horizon() -> None:
    bursty = """
    horizon_s = 3600
    [arrivals]
    kind = "bursty"
    rates = [0.0, {rate}]
    mean_s = [1, 1]
    [[work]]
    duration = {{ kind = "constant", value_s = 1 }}
    """
    with pytest.raises(ScenarioError, match=r"arrivals\.rates"):
        parse(bursty.format(rate="1e-9"), "f")
    assert len(list(Workload(parse(bursty.format(rate="1e-3"), "f")).tasks())) < 20


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("receiver", "keep_alive = { default_s = 1e10 }"),
        ("receiver", "keep_alive = { sweep_s = 1e12 }"),
        ("receiver", "poll_frequency = { kind = 'fixed', interval_s = 1e10 }"),
        ("receiver", "handling = { get_s = 1e11 }"),
        ("requesters", "keep_alive_s = 1e10"),
        ("requesters", "polling = { kind = 'fixed', interval_s = 1e12 }"),
        ("requesters", "polling = { kind = 'backoff', base_s = 1e-12, cap_s = 1 }"),
        ("faults", "restarts = [{ at_s = 1e12 }]"),
    ],
)
def test_a_time_that_no_run_can_hold_is_refused(section: str, key: str) -> None:
    with pytest.raises(ScenarioError, match=r"18 years|nanosecond"):
        parse(text(**{section: key}), "f")


def test_a_number_of_tasks_that_takes_too_long_to_arrive_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"tasks: take more than 18 years"):
        parse(text(tasks=300), "f", ["arrivals.rate=1e-7"])


def test_a_user_asks_for_as_many_tasks_as_can_be_told_apart() -> None:
    closed = """
    tasks = 2000000
    [arrivals]
    kind = "closed"
    users = 1
    think = { kind = "constant", value_s = 0.001 }
    [[work]]
    duration = { kind = "constant", value_s = 0.001 }
    """
    with pytest.raises(CostError, match="tasks of each user"):
        require_affordable(parse(closed, "f"), "tasks")


def test_a_copy_of_an_answer_wastes_no_poll() -> None:
    found = run(
        work_s=50,
        requesters="polling = { kind = 'fixed', interval_s = 5 }",
        faults="reply_duplicated_share = 1.0",
    )
    assert (found.tasks.polls_sent[0], found.tasks.polls_wasted[0]) == (10, 9)


def test_a_copy_of_a_refusal_is_one_refusal() -> None:
    found = run(
        tasks=2,
        work_s=1000,
        requesters="limited_attempts = 6\npolling = { kind = 'fixed', interval_s = 5 }",
        receiver="concurrency = { total = 1 }",
        faults="reply_duplicated_share = 1.0",
    )
    assert found.tasks.outcome[1] == Reason.REJECTED
    assert found.tasks.creations[1] == 6


def test_failed_and_unknown_are_shares_of_the_whole() -> None:
    found = run(tasks=400, work="failed_share = 0.5\nunknown_share = 0.5")
    statuses = found.tasks.status.tolist()
    assert statuses.count(Status.COMPLETED) == 0
    assert abs(statuses.count(Status.FAILED) - 200) < 50  # five standard deviations


def test_a_plain_call_whose_work_is_lost_is_never_answered() -> None:
    found = run(requesters='augmented = "never"', work="unknown_share = 1.0")
    assert found.tasks.outcome[0] == Reason.GAVE_UP
    assert found.tasks.status[0] == Status.UNKNOWN


def test_a_worker_that_stops_slowly_counts_until_it_is_free() -> None:
    found = run(
        work_s=1000,
        requesters="polling = { kind = 'fixed', interval_s = 30 }\ncancel_share = 1.0\n"
        "cancel_after = { kind = 'constant', value_s = 31 }",
        work="sensitive = true",
        receiver="workers = 1\nstop_s = 100",
    )
    assert found.tasks.worked_ns[0] == pytest.approx(131 * S, abs=10)
    restarted = run(
        work_s=1000,
        requesters="cancel_share = 1.0\ncancel_after = { kind = 'constant', value_s = 5 }",
        receiver="workers = 1\nstop_s = 100",
        faults="restarts = [{ at_s = 50 }]",
    )
    assert restarted.tasks.worked_ns[0] == pytest.approx(50 * S, abs=10)


@pytest.mark.parametrize("level", ["tasks", "summary"])
def test_workers_that_answer_are_busy(level: Any) -> None:
    """100 tasks of 10 s and some 900 requests of half a second in 2,000 s, by two workers."""
    scenario = parse(
        text(
            tasks=100,
            work_s=10,
            requesters="polling = { kind = 'fixed', interval_s = 2 }",
            receiver="workers = 2\nhandling = { shares_workers = true, create_s = 0.5, "
            "get_s = 0.5, result_s = 0.5 }",
        ),
        "f",
        ["arrivals.rate=0.05"],
    )
    found = simulate(scenario, level=level)
    requests = sum(found.counts.by_operation)
    expected = (1000 + 0.5 * requests) / (2 * 1980)
    estimate = summarise([found], scenario).get("utilization")
    assert estimate is not None
    assert estimate.value == pytest.approx(expected, rel=0.05)


def test_refused_repetitions_are_on_record_under_their_task() -> None:
    found = run(requesters="create_attempts = 2", faults="created_lost_share = 1.0")
    assert len(found.tasks) == 1


def test_patience_counts_from_the_first_time_that_was_asked() -> None:
    found = run(
        work_s=100,
        requesters='patience_s = 15\ncreate_attempts = 4\nretry_id = "new"',
        faults="created_lost_share = 1.0",
    )
    assert found.tasks.closed_at.max() == 15 * S


def test_a_prompt_shows_that_the_task_exists() -> None:
    found = run(
        work_s=2,
        requesters='create_attempts = 2\nretry_id = "new"',
        work="input_required = { share = 1, think = { kind = 'constant', value_s = 20 } }",
        faults="created_lost_share = 1.0",
    )
    assert count(found, Kind.SENT, Operation.CREATE) == 1
    assert found.tasks.outcome[0] == Reason.RETRIEVED


def test_refusals_in_a_row_end_with_an_acceptance() -> None:
    machine, _ = new_requester(limited_max=3)

    def refusal(operation: Operation, reason: Reason, attempt: int) -> Failure:
        return Failure(
            request_id=1, code=-32603, message="", operation=operation, reason=reason,
            task_id="t", retry_after_ns=S, attempt=attempt,
        )  # fmt: skip

    machine.start(0)
    for attempt in (0, 1):
        machine.on_reply(refusal(Operation.CREATE, Reason.CONCURRENCY, attempt), attempt * 5 * S)
        assert machine.on_time((attempt + 1) * 5 * S)
    machine.on_created(11 * S)
    machine.on_time(16 * S)
    machine.on_reply(refusal(Operation.GET, Reason.RATE_LIMITED, 0), 17 * S)
    assert not machine.done


def test_a_cancel_leaves_also_where_no_notification_is_heard() -> None:
    fallback = run(
        work_s=100,
        requesters='created_fallback = "original"\ncancel_share = 1.0\n'
        "cancel_after = { kind = 'constant', value_s = 20 }",
        faults="created_lost_share = 1.0",
    )
    assert fallback.tasks.outcome[0] == Reason.CANCELLED
    assert fallback.tasks.terminal_at[0] == pytest.approx(20 * S, abs=10)
    plain = Model(
        parse(
            text(
                work_s=100,
                requesters='augmented = "never"\ncancel_share = 1.0\n'
                "cancel_after = { kind = 'constant', value_s = 20 }",
                receiver="workers = 1",
            ),
            "f",
        ),
        replication=0,
        level="tasks",
    )
    table = plain.run().tasks
    assert (table.outcome[0], table.status[0]) == (Reason.CANCELLED, Status.CANCELLED)
    assert table.worked_ns[0] == pytest.approx(20 * S, abs=10)


def test_a_late_sweep_is_not_visible_to_who_reuses_an_id() -> None:
    for sweep_ns in (0, 100 * S):
        receiver, _ = new_receiver(
            keep_alive_default_ns=S, sweep_ns=sweep_ns, reuses_forgotten=True
        )
        receiver.work_succeeded(admit(receiver, 0).key, {}, 0)
        if not sweep_ns:
            receiver.on_time(S)
        assert len(receiver.receive("s", create(request_id=9), 2 * S)) == 2


def test_a_restart_tells_who_was_waiting_at_the_desk() -> None:
    found = run(
        work_s=100,
        requesters="polling = { kind = 'fixed', interval_s = 5 }",
        receiver="handling = { get_s = 2 }",
        faults="restarts = [{ at_s = 6 }]",
    )
    assert count(found, Kind.LOST, Operation.GET) == 1
    assert found.tasks.polls_sent[0] >= 2


@pytest.mark.parametrize("key", ["speed_up = 2", "duration_scale = 2"])
def test_a_key_of_a_trace_that_would_do_nothing_is_refused(tmp_path: Any, key: str) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    scenario = f"""
    [arrivals]
    kind = "trace"
    file = "t.csv"
    rate = 1
    columns = {{ arrival = false, requester = false, duration = false, work = false }}
    {key}
    [[work]]
    duration = {{ kind = "constant", value_s = 1 }}
    """
    with pytest.raises(ScenarioError, match=key.split(maxsplit=1)[0]):
        parse(scenario, "f", folder=tmp_path)


def test_one_kind_of_message_can_be_lost_and_others_not() -> None:
    found = run(
        tasks=50,
        requesters="polling = { kind = 'fixed', interval_s = 1 }\nattempts = 100\n"
        "request_timeout_s = 2",
        faults="request_lost_share = 0.5\nrequest_lost = { create = 0.0, result = 0.0 }\n"
        "reply_lost = { result = 1.0 }",
    )
    assert count(found, Kind.LOST, Operation.CREATE) == 0
    assert count(found, Kind.LOST, Operation.GET) > 50
    assert count(found, Kind.RECEIVED, Operation.RESULT) == 50 * 100
    assert (found.tasks.outcome == Reason.GAVE_UP).all()


def test_only_so_many_requests_are_in_hand() -> None:
    """Ten requesters poll at once; answering takes a second; three are let in."""
    sections = {
        "requesters": "polling = { kind = 'fixed', interval_s = 5 }\ncount = 10",
        "receiver": "handling = { servers = 1, get_s = 1 }\n"
        "rate_limits = { get = { kind = 'concurrency', limit = 3, retry_after_s = 2 } }",
    }
    found = simulate(
        parse(text(tasks=10, work_s=20, **sections), "f", ["arrivals.rate=1000"]), level="events"
    )
    assert found.events is not None
    assert check_log(found.events) == []
    log = found.events
    is_get = (log.kind == Kind.RECEIVED) & (log.operation == Operation.GET)
    first = log.reason[is_get & (log.at < 5.1 * S)]
    assert (first == Reason.RATE_LIMITED).sum() == 7
    assert (found.tasks.outcome == Reason.RETRIEVED).all()
    with pytest.raises(ScenarioError, match=r"needs receiver\.handling"):
        parse(text(receiver="rate_limits = { get = { kind = 'concurrency', limit = 3 } }"), "f")


def test_a_cancel_that_is_not_taken_in_hand_is_on_record() -> None:
    """Two cancels at one instant, one hand, a second to answer each."""
    sections = {
        "requesters": "cancel_share = 1.0\ncancel_after = { kind = 'constant', value_s = 5 }",
        "receiver": "handling = { servers = 9, cancel_s = 1 }\n"
        "rate_limits = { cancel = { kind = 'concurrency', limit = 1 } }",
    }
    found = simulate(
        parse(text(tasks=2, work_s=20, **sections), "f", ["arrivals.rate=1000"]), level="events"
    )
    log = found.events
    assert log is not None
    assert check_log(log) == []
    is_cancel = (log.kind == Kind.RECEIVED) & (log.operation == Operation.CANCEL)
    assert sorted(log.reason[is_cancel].tolist()) == [NEVER, Reason.RATE_LIMITED]
