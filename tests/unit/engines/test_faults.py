"""What goes wrong, one fault at a time, and what is done against it."""

import itertools

import numpy as np
import pytest

from tasksim.eventlog.schema import NEVER
from tasksim.protocol.messages import Cancel
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.outputs import StartWork
from tasksim.protocol.states import Status
from tests.unit.protocol.helpers import S, admit, create, new_receiver

from .test_cases import instants, one, rows, run


def seconds(value: int) -> float:
    return round(value / S, 6)


def test_a_receiver_that_stands_still_answers_afterwards_and_loses_nothing() -> None:
    found = run(one(10, 4, faults="stalls = [{ at_s = 3.5, for_s = 5 }]"))
    # The get of 4 s is answered at 8.5 s, the next follows 4 s later; the end at 10 s is seen then.
    assert instants(found, Kind.RECEIVED, Operation.GET) == [8.5, 12.5]
    assert found.tasks.outcome[0] == Reason.RETRIEVED


def test_work_that_ends_in_a_stall_is_seen_at_its_end() -> None:
    found = run(one(10, 100, faults="stalls = [{ at_s = 9, for_s = 5 }]"))
    assert instants(found, Kind.FINISHED) == [14.0]


def test_what_expires_in_a_stall_is_forgotten_at_its_end() -> None:
    text = one(5, 30, receiver="keep_alive = { default_s = 2 }",
               faults="stalls = [{ at_s = 6, for_s = 5 }]")  # fmt: skip
    assert instants(run(text), Kind.EXPIRED) == [11.0]


def test_an_outage_loses_both_ways_and_is_over() -> None:
    text = one(
        10, 4, requesters="request_timeout_s = 2", faults="outages = [{ at_s = 3, for_s = 6 }]"
    )
    found = run(text)
    lost = [row for row in rows(found, Kind.LOST) if row[3] == Reason.NETWORK_DOWN]
    # The get of 4 s is lost; six seconds later another goes out, when the outage is over.
    assert [round(row[0], 3) for row in lost] == [4.0]
    assert found.tasks.outcome[0] == Reason.RETRIEVED
    assert seconds(found.tasks.detected_at[0]) == 10.0


def test_work_of_slow_workers_takes_longer() -> None:
    text = """
    tasks = 2000
    [arrivals]
    kind = "constant"
    rate = 10
    [[work]]
    duration = { kind = "constant", value_s = 2 }
    [faults]
    slow_work = { share = 0.25, factor = 5 }
    """
    table = run(text).tasks
    service = (table.terminal_at - table.started_at) / S
    assert set(service.tolist()) == {2.0, 10.0}
    # Five standard errors of 2,000 tasks: one false alarm in two million.
    assert np.mean(service == 10.0) == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / 2000))


@pytest.mark.parametrize(("known", "status"), [("true", Status.FAILED), ("false", Status.UNKNOWN)])
def test_a_dead_worker_holds_its_place_until_that_is_seen(known: str, status: Status) -> None:
    text = """
    tasks = 2
    [arrivals]
    kind = "constant"
    rate = 1
    [[work]]
    duration = { kind = "constant", value_s = 4 }
    [receiver]
    workers = 1
    [faults]
    """
    found = run(text + f"worker_deaths = {{ share = 1, noticed_s = 30, known = {known} }}")
    assert instants(found, Kind.DIED) == [2.0, 34.0]
    assert instants(found, Kind.FINISHED) == [32.0, 64.0]
    assert instants(found, Kind.STARTED) == [0.0, 32.0]
    assert (found.tasks.status == status).all()


def test_a_stream_that_is_cut_loses_what_goes_out_on_it() -> None:
    cuts = "stream_cuts = { after = { kind = 'constant', value_s = 3 } }"
    raced = "original_response = 'raced'"
    text = one(8, 20, requesters=raced, faults=cuts)
    found = run(text)
    lost = [row for row in rows(found, Kind.LOST) if row[3] == Reason.STREAM_CUT]
    assert len(lost) == 1  # the original response; the notification went out before
    assert seconds(found.tasks.detected_at[0]) == 20.0
    back = run(text.replace("value_s = 3 } }", "value_s = 3 }, resumes_s = 7 }"))
    assert seconds(back.tasks.detected_at[0]) == 10.0  # it waited for the stream
    assert back.tasks.detected_by[0] == Reason.RESPONSE


def test_a_requester_that_crashes_comes_back_with_its_ids_or_without() -> None:
    crash = "crash = { share = 1, after = { kind = 'constant', value_s = 3 }, back_s = 10"
    knows = run(one(8, 5, requesters=crash + " }"))
    assert len(rows(knows, Kind.CREATED)) == 1
    assert instants(knows, Kind.SENT, Operation.GET) == [13.0]
    asks = run(one(8, 5, requesters=crash + ", remembers = false }"))
    assert instants(asks, Kind.CREATED) == [0.0, 13.0]
    outcomes = asks.tasks.outcome.tolist()
    assert sorted(outcomes) == [Reason.RETRIEVED, Reason.SUPERSEDED]
    assert asks.tasks.worked_ns.sum() == 16 * S  # half of it for nobody


def test_a_full_store_refuses_or_forgets_what_ended_first() -> None:
    text = """
    tasks = 3
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = {{ kind = "fixed", interval_s = 4 }}
    [[work]]
    duration = {{ kind = "constant", value_s = 0.5 }}
    [receiver]
    store = {{ limit = 2, when_full = "{when_full}" }}
    keep_alive = {{ default_s = 20 }}
    """
    evicts = run(text.format(when_full="evicts"))
    assert instants(evicts, Kind.EVICTED) == [2.0]
    assert evicts.tasks.outcome.tolist() == [Reason.RESULT_LOST, *[Reason.RETRIEVED] * 2]
    refuses = run(text.format(when_full="refuses"))
    assert len(rows(refuses, Kind.EVICTED)) == 0
    refusals = [row for row in rows(refuses, Kind.ANSWERED) if row[3] == Reason.STORE_FULL]
    assert len(refusals) > 0
    assert refuses.tasks.outcome.tolist() == [Reason.RETRIEVED] * 3  # the third came in time


def test_creations_over_a_cap_wait_in_order() -> None:
    text = """
    tasks = 4
    [arrivals]
    kind = "constant"
    rate = 10
    [[requesters]]
    created_timeout_s = 100
    [[work]]
    duration = { kind = "constant", value_s = 5 }
    [receiver]
    concurrency = { total = 1, queue = 2, retry_after_s = 3 }
    """
    found = run(text)
    assert instants(found, Kind.QUEUED) == [0.1, 0.2, 5.3]
    assert found.tasks.limited.tolist()[:3] == [0, 0, 0]
    assert found.tasks.limited[3] > 0  # the fourth found the queue full, and came again
    assert instants(found, Kind.CREATED)[:3] == [0.0, 5.0, 10.0]
    assert (found.tasks.outcome == Reason.RETRIEVED).all()


def test_a_cancelled_creation_leaves_the_queue() -> None:
    receiver, log = new_receiver(open_total=1, queue_max=5)
    first = admit(receiver, 0, "a", request_id=1)
    receiver.receive("s", create("b", request_id=2), 1)
    receiver.receive("s", create("c", request_id=3), 2)
    assert receiver.receive("s", Cancel(request_id=2, task_id="b"), 3) == []
    outputs = receiver.work_succeeded(first.key, {}, 4)
    assert [o.key[1] for o in outputs if isinstance(o, StartWork)] == ["c"]
    assert len(log.of(Kind.CREATED)) == 2


def test_a_breaker_keeps_a_requester_from_asking_a_receiver_that_is_down() -> None:
    text = """
    tasks = 20
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = { kind = "fixed", interval_s = 1 }
    attempts = 1000
    created_timeout_s = 2
    create_attempts = 20
    [[work]]
    duration = { kind = "constant", value_s = 100 }
    [faults]
    restarts = [{ at_s = 30, down_s = 60 }]
    """
    plain = run(text)
    guarded = run(text, "requesters.0.breaker.failures=5", "requesters.0.breaker.open_s=10")
    refused = [
        sum(row[3] == Reason.RECEIVER_DOWN for row in rows(found, Kind.LOST))
        for found in (plain, guarded)
    ]
    assert refused[0] > 1000
    assert refused[1] < 30
    kept = [row for row in rows(guarded, Kind.LOST) if row[3] == Reason.BREAKER_OPEN]
    assert len(kept) > 100
    assert (guarded.tasks.outcome != Reason.GAVE_UP).all()


def test_a_budget_bounds_the_retries() -> None:
    text = """
    tasks = 50
    [arrivals]
    kind = "constant"
    rate = 10
    [[requesters]]
    polling = { kind = "fixed", interval_s = 1 }
    attempts = 1000
    request_timeout_s = 0.5
    patience_s = 60
    retry_budget = { share = 0.1, reserve = 10 }
    [[work]]
    duration = { kind = "constant", value_s = 5 }
    [faults]
    reply_lost = { get = 1.0 }
    """
    found = run(text)
    # 50 creations and 50 first polls pay in a tenth of a retry each; ten were there before.
    polls = found.counts.by_operation[Operation.GET]
    assert polls <= 50 + 10 + 10
    assert sum(row[3] == Reason.BUDGET_SPENT for row in rows(found, Kind.LOST)) > 1000


def test_a_pace_spreads_the_polls_of_a_requester() -> None:
    text = """
    tasks = 20
    [arrivals]
    kind = "constant"
    rate = 1000
    [[requesters]]
    polling = { kind = "fixed", interval_s = 5 }
    pace = { rate = 2 }
    [[work]]
    duration = { kind = "constant", value_s = 8 }
    """
    found = run(text)
    sent = sorted(instants(found, Kind.SENT, Operation.CREATE))
    assert np.diff(sent).min() >= 0.5 - 1e-6
    polls = sorted(instants(found, Kind.SENT, Operation.GET) + sent)
    assert np.diff(polls).min() >= 0.5 - 1e-6
    assert (found.tasks.outcome == Reason.RETRIEVED).all()


def test_a_long_poll_is_answered_when_there_is_news() -> None:
    text = one(12, 5, receiver="long_poll = { max_s = 5 }")
    found = run(text, "requesters.0.polling={kind='long-poll',wait_s=5}")
    assert found.tasks.polls_sent[0] == 3
    assert found.tasks.detected_at[0] == pytest.approx(12 * S, abs=100)
    assert found.tasks.held_ns[0] == pytest.approx(12 * S, abs=1000)


def test_without_connections_to_spare_a_long_poll_is_a_poll() -> None:
    text = """
    tasks = 3
    [arrivals]
    kind = "constant"
    rate = 1000
    [[requesters]]
    polling = { kind = "long-poll", wait_s = 30, default_s = 2 }
    [[work]]
    duration = { kind = "constant", value_s = 11 }
    [receiver]
    long_poll = { max_s = 30, connections = 1 }
    """
    found = run(text)
    assert found.counts.held_peak == 1
    assert sorted(found.tasks.polls_sent.tolist()) == [1, 7, 7]


def test_an_agent_polls_when_it_has_a_turn() -> None:
    text = """
    tasks = 500
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = { kind = "agent", turn = { kind = "exponential", mean_s = 10 } }
    [[work]]
    duration = { kind = "constant", value_s = 60 }
    """
    table = run(text).tasks
    delays = (table.detected_at - table.terminal_at) / S
    # Turns without memory: the delay is exponential again. Five standard errors.
    assert delays.mean() == pytest.approx(10, abs=5 * 10 / np.sqrt(500))


def test_who_has_learned_polls_as_often_as_its_work_asks() -> None:
    text = """
    tasks = 300
    [arrivals]
    kind = "constant"
    rate = 0.05
    [[requesters]]
    polling = { kind = "learning", delay_cost_per_s = 0.5, default_s = 1, enough = 5 }
    [[work]]
    duration = { kind = "exponential", mean_s = 16 }
    """
    found = run(text)
    gets = sorted(
        (row[0], task)
        for row, task in zip(
            rows(found, Kind.SENT, Operation.GET),
            found.events.task[
                (found.events.kind == Kind.SENT) & (found.events.operation == Operation.GET)
            ].tolist(),
            strict=True,
        )
    )
    gaps = [b[0] - a[0] for a, b in itertools.pairwise(gets) if a[1] == b[1]]
    late = gaps[len(gaps) // 2 :]
    # sqrt(2 c1 mean / c2) = 8 s for a mean of 16 s, give or take what 150 tasks teach.
    assert np.mean(late) == pytest.approx(8.0, rel=0.15)
    assert min(gaps) == pytest.approx(1.0, abs=1e-3)


def test_a_hint_that_is_spread_breaks_the_step() -> None:
    def peak(spread: float) -> int:
        text = f"""
        tasks = 50
        [arrivals]
        kind = "constant"
        rate = 1e9
        [[requesters]]
        polling = {{ kind = "hint", default_s = 10 }}
        [[work]]
        duration = {{ kind = "constant", value_s = 95 }}
        [receiver]
        poll_frequency = {{ kind = "fixed", interval_s = 10, spread = {spread} }}
        """
        found = run(text)
        sent = np.array(instants(found, Kind.SENT, Operation.GET))
        late = sent[sent > 50]
        return int(np.bincount(np.floor(late).astype(int)).max())

    assert peak(0.0) == 50
    assert peak(0.5) <= 15


@pytest.mark.parametrize("holds", ["true", "false"])
def test_a_task_goes_on_when_its_children_are_done(holds: str) -> None:
    text = f"""
    tasks = 1
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = {{ kind = "fixed", interval_s = 1 }}
    [[work]]
    name = "parent"
    duration = {{ kind = "constant", value_s = 4 }}
    children = {{ count = 3, work = "child", holds_worker = {holds} }}
    [[work]]
    name = "child"
    share = 0
    duration = {{ kind = "constant", value_s = 5 }}
    [receiver]
    workers = 2
    """
    found = run(text)
    table = found.tasks
    assert len(table) == 4
    assert (table.outcome == Reason.RETRIEVED).all()
    # Asked at 2 s: with both workers the three take 10 s, with one of them 15 s.
    done_at = 12.0 if holds == "false" else 17.0
    assert seconds(table.terminal_at[1:].max()) == pytest.approx(done_at, abs=0.001)
    assert seconds(table.terminal_at[0]) == pytest.approx(done_at + 2, abs=0.001)


def test_a_child_that_fails_makes_its_parent_fail() -> None:
    text = """
    tasks = 1
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = { kind = "fixed", interval_s = 1 }
    [[work]]
    name = "parent"
    duration = { kind = "constant", value_s = 4 }
    children = { count = 2, work = "child" }
    [[work]]
    name = "child"
    share = 0
    failed_share = 1
    duration = { kind = "constant", value_s = 5 }
    """
    table = run(text).tasks
    assert (table.outcome == Reason.FAILED).all()
    assert table.terminal_at[0] == table.terminal_at[1]


def test_intermediate_results_are_known_one_interval_late_or_at_once_when_pushed() -> None:
    polled = run(one(40, 4, work="milestones = 3"))
    assert polled.tasks.milestones[0] == polled.tasks.milestones_seen[0] == 3
    assert polled.tasks.milestone_delay_ns[0] == pytest.approx((2 + 0 + 2) * S, abs=1000)
    pushed = run(one(40, 4, work="milestones = 3", receiver='pushes = ["milestone"]'))
    assert pushed.tasks.milestone_delay_ns[0] < 1000
    assert pushed.tasks.created_lost[0] == 0
    assert pushed.tasks.evicted_at[0] == NEVER


def test_messages_of_a_kind_come_late_or_twice() -> None:
    late = "request_delayed = { by = { kind = 'constant', value_s = 2 }, of = { get = 1.0 } }"
    found = run(one(10, 4, faults=late))
    assert instants(found, Kind.RECEIVED, Operation.GET) == [6.0, 12.0]
    assert instants(found, Kind.RECEIVED, Operation.RESULT) == [12.0]
    twice = run(one(10, 4, faults="request_duplicated = { get = 1.0 }"))
    assert twice.tasks.polls_doubled[0] == 3
    assert {row[1] for row in rows(twice, Kind.DUPLICATED, Operation.RESULT)} == set()


def test_retention_without_end_forgets_nothing() -> None:
    found = run(one(10, 4, receiver="keep_alive = { unlimited = true }"))
    assert found.tasks.keep_alive_ns[0] == found.tasks.expired_at[0] == NEVER
    cut = run(one(10, 4, receiver="keep_alive = { unlimited = true, max_s = 50 }"))
    assert seconds(cut.tasks.expired_at[0]) == 60.0
