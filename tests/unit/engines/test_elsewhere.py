"""The same problems as other people had them, with pollers of deployments, jobs and monitors.

Unless a case says otherwise: no network delay, enough workers, first get one interval after the
created notification.
"""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from tasksim.eventlog.laws import check_log
from tasksim.eventlog.run import Run
from tasksim.policies import polling
from tasksim.protocol.messages import Failure, Get, List, TaskView
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.requester import Requester
from tasksim.protocol.states import Status
from tasksim.scenario.loading import parse
from tasksim.scenario.workload import Workload
from tests.unit.protocol.helpers import S, admit, answer, fetch, get, new_receiver, new_requester

from .test_cases import instants, one, rows, run


def refused_share(found: Run) -> float:
    return found.counts.limited[Operation.GET] / found.counts.by_operation[Operation.GET]


def pollers(interval_s: float, first: str, burst: int, seed: int = 1) -> str:
    """A hundred pollers that nothing slows down, against ten gets a second, for a thousand."""
    return f"""
    seed = {seed}
    tasks = 100
    [arrivals]
    kind = "constant"
    rate = 1e9
    [[requesters]]
    polling = {{ kind = "fixed", interval_s = {interval_s}, first = "{first}" }}
    limited_attempts = 1_000_000
    [[work]]
    duration = {{ kind = "constant", value_s = 1000 }}
    [receiver.rate_limits]
    get = {{ kind = "token-bucket", rate = 10, burst = {burst} }}
    """


@pytest.mark.parametrize(
    ("interval_s", "first", "burst", "share"),
    [
        (2, "random-phase", 2, 0.80),
        (2, "random-phase", 1, 0.83),
        (2, "after-interval", 10, 0.90),
        (10, "random-phase", 1, 0.49),
        (10, "random-phase", 2, 0.27),
        (10, "random-phase", 10, 0.03),
        (10, "random-phase", 20, 0.0),
    ],
)
def test_case_35_an_account_limit_refuses_what_its_mean_would_allow(
    interval_s: float, first: str, burst: int, share: float
) -> None:
    # The phases are drawn once, so the share of one run scatters; five seeds are pooled.
    seeds = range(1) if first == "after-interval" else range(5)
    found = [refused_share(run(pollers(interval_s, first, burst, seed))) for seed in seeds]
    assert np.mean(found) == pytest.approx(share, abs=0.03)


def polled(requester: Requester) -> Requester:
    """A requester whose first get is on its way."""
    requester.start(0)
    requester.on_created(0)
    (poll,) = requester.on_time(5 * S)
    assert isinstance(poll, Get)
    return requester


def refusal(attempt: int) -> Failure:
    return Failure(
        request_id=1, code=-32603, message="Rate limit exceeded", operation=Operation.GET,
        reason=Reason.RATE_LIMITED, retry_after_ns=S, attempt=attempt,
    )  # fmt: skip


def view(attempt: int, status: Status = Status.WORKING, hint_ns: int | None = None) -> TaskView:
    return TaskView(
        request_id=1, task_id="t", status=status, keep_alive_ns=None, poll_interval_ns=hint_ns,
        attempt=attempt,
    )  # fmt: skip


@pytest.mark.parametrize("refusals", [5, 200])
def test_case_37_a_throttled_poll_does_not_fail_what_succeeded(refusals: int) -> None:
    requester, log = new_requester()
    polled(requester)
    now = 5 * S
    for attempt in range(refusals):
        requester.on_reply(refusal(attempt), now)
        if requester.done:
            break
        assert requester.next_deadline is not None
        now = requester.next_deadline[0]
        requester.on_time(now)
    if refusals == 5:
        requester.on_reply(view(5, Status.COMPLETED), now)
        assert [row[5] for row in log.of(Kind.DETECTED)] == [Status.COMPLETED]
        return
    assert requester.outcome is Reason.GAVE_UP
    assert log.of(Kind.DETECTED) == []  # its state is unknown, and nothing says that it failed


def test_case_40_a_budget_of_tries_is_told_as_giving_up() -> None:
    found = run(one(600, 30, requesters="polls_max = 10"))
    assert found.tasks.outcome[0] == Reason.GAVE_UP
    assert found.tasks.polls_sent[0] == 10
    assert found.tasks.closed_at[0] == pytest.approx(330 * S, abs=100)
    assert found.tasks.status[0] == Status.COMPLETED  # the task was still running, and went on


def test_case_41_the_first_poll_waits_as_the_creation_asked() -> None:
    text = one(60, 10, requesters="", receiver='dialect = "mcp-2025-11-25"')
    found = run(text, "requesters.0.polling.default_s=1")
    assert instants(found, Kind.SENT, Operation.GET) == [10, 20, 30, 40, 50, 60]


def test_case_44_the_hint_of_a_reply_sets_the_next_gap() -> None:
    requester, _ = new_requester(polling=polling.hint(2 * S))
    requester.start(0)
    requester.on_created(0)
    at = []
    for attempt, hint_s in enumerate([1, 5, 1, 1]):
        assert requester.next_deadline is not None
        now = requester.next_deadline[0]
        requester.on_time(now)
        at.append(now / S)
        requester.on_reply(view(attempt, hint_ns=hint_s * S), now)
    assert at == [2, 3, 8, 9]


@pytest.mark.parametrize(
    ("attempts", "low", "high"),
    [
        (1, 0.69871 - 0.19, 0.69871 + 0.19),  # 5 standard errors of 150 tasks
        (2, 0.0, 0.03),  # 0.12 %; five of 150 would be one chance in a million
    ],
)
def test_case_47_one_bad_answer_in_a_wait_loop(attempts: int, low: float, high: float) -> None:
    found = run(f"""
    tasks = 150
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = {{ kind = "fixed", interval_s = 2 }}
    request_timeout_s = 1
    attempts = {attempts}
    [[work]]
    duration = {{ kind = "constant", value_s = 2400 }}
    [faults]
    reply_lost = {{ get = 0.001 }}
    """)
    share = float(np.mean(found.tasks.outcome == Reason.GAVE_UP))
    assert pytest.approx(0.699, abs=1e-3) == 1 - 0.999**1200
    assert low <= share <= high


def test_case_48_a_limit_of_ones_own_is_told_as_ones_own_waiting() -> None:
    found = run("""
    tasks = 200
    [arrivals]
    kind = "constant"
    rate = 2
    [[requesters]]
    polling = { kind = "fixed", interval_s = 1e4 }
    push = "trusted"
    pace = { rate = 1 }
    [[work]]
    duration = { kind = "constant", value_s = 0.1 }
    [receiver]
    pushes = ["ended"]
    """)
    table = found.tasks
    held_s = (table.sent_at - table.arrival_at) / S
    assert held_s.max() == pytest.approx(99.5, abs=0.01)  # twice the rate for 100 s
    assert (table.started_at == table.created_at).all()
    assert ((table.detected_at - table.terminal_at) < 10).all()


def test_case_51_what_is_told_completed_can_be_fetched_and_expired_tasks_are_not_listed() -> None:
    receiver, _ = new_receiver(keep_alive_default_ns=10 * S, sweep_ns=100 * S)
    for name in ("a", "b"):
        receiver.work_succeeded(
            admit(receiver, 0, name, request_id=len(name) + ord(name)).key, {}, ord(name) - 96
        )
    assert answer(receiver, get("a"), 1).status is Status.COMPLETED
    assert answer(receiver, fetch("a"), 1).operation is Operation.RESULT
    page = answer(receiver, List(request_id=9), 10 * S + 1)  # a is over, though not swept yet
    assert [task.task_id for task in page.tasks] == ["b"]


SINGLE_SERVER = """
seed = {seed}
tasks = 25
[arrivals]
kind = "constant"
rate = 1e9
[[requesters]]
polling = {{ kind = "fixed", interval_s = 10, first = "{first}" }}
[[work]]
duration = {{ kind = "constant", value_s = 15 }}
[receiver]
handling = {{ servers = 1, get_s = 0.2 }}
"""


def first_answers_s(seed: int, first: str) -> Any:
    """How long the first get of each of 25 monitors took."""
    found = run(SINGLE_SERVER.format(seed=seed, first=first))
    log = found.events
    assert log is not None
    is_first = (log.operation == Operation.GET) & (log.ordinal == 0)
    sent, answered = (is_first & (log.kind == kind) for kind in (Kind.SENT, Kind.ANSWERED))
    order = np.argsort(log.task[sent]), np.argsort(log.task[answered])
    return (log.at[answered][order[1]] - log.at[sent][order[0]]) / S


def test_case_55_equal_first_delays_queue_up() -> None:
    waits = first_answers_s(1, "after-interval")
    assert np.quantile(waits, 0.5) == pytest.approx(2.6, abs=0.01)
    assert np.quantile(waits, 0.95, method="higher") == pytest.approx(4.8, abs=0.01)
    assert waits.max() == pytest.approx(5.0, abs=0.01)


def test_case_55_random_phases_do_not() -> None:
    waits = np.concatenate([first_answers_s(seed, "random-phase") for seed in range(50)])
    assert np.quantile(waits, 0.5) == pytest.approx(0.20, abs=0.03)
    assert np.quantile(waits, 0.95) == pytest.approx(0.556, abs=0.1)
    assert waits.max() < 1.5


@pytest.mark.parametrize("errors", [4, 5])
def test_case_57_a_transient_error_does_not_end_polling(errors: int) -> None:
    requester, log = new_requester(failures_max=5)
    polled(requester)
    now = 5 * S
    for attempt in range(errors):
        requester.on_no_answer(Operation.GET, attempt, now)
        if requester.next_deadline is not None:
            now = requester.next_deadline[0]
            requester.on_time(now)
    assert requester.done is (errors == 5)
    if errors == 4:
        requester.on_reply(view(4, Status.COMPLETED), now)
        assert len(log.of(Kind.DETECTED)) == 1
    else:
        assert requester.outcome is Reason.GAVE_UP


@pytest.mark.parametrize(
    ("changes_after_s", "expected"),
    [(19.9, [5, 10, 15, 20, 50, 80]), (20.1, [5, 10, 15, 20, 25, 55, 85])],
)
def test_case_58_an_interval_that_is_raised_on_the_way_is_followed(
    changes_after_s: float, expected: list[float]
) -> None:
    requester, _ = new_requester(polling=polling.hint(5 * S))
    requester.start(0)
    requester.on_created(0)
    at = []
    for attempt in range(len(expected)):
        assert requester.next_deadline is not None
        now = requester.next_deadline[0]
        requester.on_time(now)
        at.append(now / S)
        hint_s = 30 if now > changes_after_s * S else 5
        requester.on_reply(view(attempt, hint_ns=hint_s * S), now)
    assert at == expected


def test_case_5_a_worker_that_looks_for_work_finds_it_late() -> None:
    found = run("""
    tasks = 4000
    [arrivals]
    kind = "poisson"
    rate = 10
    [[work]]
    duration = { kind = "constant", value_s = 0.01 }
    [receiver]
    pickup_s = 0.25
    """)
    waits = (found.tasks.started_at - found.tasks.created_at) / S
    assert waits.max() <= 0.25
    # Uniform on 0 .. 0.25: five standard errors of 4,000 tasks.
    assert waits.mean() == pytest.approx(0.125, abs=5 * 0.25 / math.sqrt(12 * 4000))


def test_case_6_each_task_follows_its_own_hint() -> None:
    found = run("""
    seed = 1
    tasks = 40
    [arrivals]
    kind = "constant"
    rate = 1
    [[work]]
    name = "quick"
    share = 0.5
    duration = { kind = "constant", value_s = 300 }
    poll_frequency = { kind = "fixed", interval_s = 0.5 }
    [[work]]
    name = "slow"
    share = 0.5
    duration = { kind = "constant", value_s = 300 }
    [receiver]
    dialect = "mcp-2025-11-25"
    poll_frequency = { kind = "fixed", interval_s = 30 }
    keep_alive = { default_s = 1000 }
    """)
    assert set(found.tasks.polls_sent.tolist()) == {600, 10}


def test_case_27_an_orphan_is_polled_within_bounds_and_disturbs_nobody() -> None:
    def text(orphans: str) -> str:
        return f"""
        seed = 3
        tasks = 200
        [arrivals]
        kind = "constant"
        rate = 1
        [[requesters]]
        name = "tenants"
        share = 0.9
        count = 20
        polling = {{ kind = "fixed", interval_s = 5 }}
        [[requesters]]
        name = "orphans"
        share = 0.1
        count = 1
        polling = {{ kind = "fixed", interval_s = 0.15 }}
        limited_attempts = 1000000
        patience_s = 300
        {orphans}
        [[work]]
        duration = {{ kind = "constant", value_s = 12 }}
        [receiver]
        [receiver.rate_limits]
        get = {{ kind = "token-bucket", rate = 2, burst = 5, scope = "requester" }}
        [faults]
        worker_deaths = {{ share = 0.1, noticed_s = 100000 }}
        """

    found = run(text(""))
    orphans = found.tasks.where(found.tasks.outcome == Reason.GAVE_UP)
    assert len(orphans) > 0
    assert orphans.polls_sent.max() <= 300 / 0.15 + 1
    tenants = found.tasks.where(
        (found.tasks.requester < 20) & (found.tasks.outcome == Reason.RETRIEVED)
    )
    assert (tenants.limited == 0).all()
    delays = (tenants.detected_at - tenants.terminal_at) / S
    assert delays.max() == pytest.approx(3.0, abs=0.01)


def test_case_30_an_end_between_a_poll_and_a_push_is_seen_one_interval_later() -> None:
    text = one(12.3, 5, receiver='pushes = ["ended"]', faults="push_lost_share = 1")
    found = run(text, "requesters.0.push=trusted")
    assert found.tasks.detected_at[0] == pytest.approx(15 * S, abs=100)
    heard = run(one(12.3, 5, receiver='pushes = ["ended"]'), "requesters.0.push=trusted")
    assert heard.tasks.detected_at[0] == pytest.approx(12.3 * S, abs=100)
    assert heard.tasks.detected_by[0] == Reason.PUSH


def test_case_23_waiting_for_any_takes_as_long_as_the_shortest() -> None:
    text = """
    tasks = 3
    batch = 3
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = { kind = "fixed", interval_s = 5 }
    waits_for = "any"
    [[work]]
    duration = { kind = "mixture", weights = [1, 1, 1], parts = [
      { kind = "constant", value_s = 10 }, { kind = "constant", value_s = 20 },
      { kind = "constant", value_s = 30 } ] }
    """

    def durations(seed: int) -> list[int]:
        plans = Workload(parse(text, "any.toml", [f"seed={seed}"])).tasks()
        return sorted(plan.duration_ns // S for plan in plans)

    seed = next(seed for seed in range(1, 200) if durations(seed) == [10, 20, 30])
    found = run(text, f"seed={seed}")
    assert found.tasks.closed_at.max() == pytest.approx(10 * S, abs=100)
    assert found.tasks.polls_sent.sum() == 6
    assert sorted(found.tasks.outcome.tolist()) == [Reason.RETRIEVED, *[Reason.NOT_NEEDED] * 2]
    cancelled = run(text, f"seed={seed}", "requesters.0.rest=cancelled")
    assert len(rows(cancelled, Kind.SENT, Operation.CANCEL)) == 2


def test_case_2_a_ceiling_below_the_floor_makes_no_hot_loop() -> None:
    settings = "polling={kind='hint',default_s=5,ceiling_s=0.001,floor_s=0.02}"
    found = run(
        """
        tasks = 1
        [arrivals]
        kind = "constant"
        rate = 1
        [[requesters]]
        [[work]]
        duration = { kind = "constant", value_s = 10 }
        """,
        f"requesters.0.{settings}",
    )
    assert found.tasks.polls_sent[0] == 500  # 50 a second, though no hint came


@pytest.mark.parametrize(
    ("own_s", "hint_s", "ceiling_s", "retry_after_s", "gap_s"),
    [(0.5, 30, None, None, 30), (0.0, 5, 60, 120, 120), (40, 30, 20, None, 40)],
)
def test_case_6_the_largest_of_all_that_apply_wins(
    own_s: float, hint_s: int, ceiling_s: int | None, retry_after_s: int | None, gap_s: float
) -> None:
    ceiling_ns = math.inf if ceiling_s is None else ceiling_s * S
    rule = polling.hint(5 * S, ceiling_ns=ceiling_ns, own_ns=int(own_s * S))
    retry_after_ns = -1 if retry_after_s is None else retry_after_s * S
    gap_ns = rule.gap_ns(rule.params, (0.0, 0.0), 3, 0, hint_s * S, retry_after_ns, 0.0)
    assert gap_ns == gap_s * S


@pytest.mark.parametrize(("augmented", "outcome"), [("never", Reason.GAVE_UP),
                                                    ("always", Reason.RETRIEVED)])  # fmt: skip
def test_case_29_a_plain_call_dies_where_a_task_does_not(augmented: str, outcome: Reason) -> None:
    found = run(one(90, 5, requesters=f"augmented = '{augmented}'"))
    assert found.tasks.outcome[0] == outcome
    if outcome is Reason.GAVE_UP:
        assert found.tasks.closed_at[0] == pytest.approx(60 * S, abs=10)


def test_case_53_an_end_that_was_told_too_early_is_found() -> None:
    found = run(one(10, 4))
    log = found.events
    assert log is not None
    status = log.status.copy()
    first = np.flatnonzero((log.kind == Kind.RECEIVED) & (log.operation == Operation.GET))[0]
    status[first] = Status.COMPLETED  # a status endpoint that fakes the end
    faked = dataclasses.replace(log, status=status)
    assert "no end is told before it has come" in {v.law for v in check_log(faked)}
