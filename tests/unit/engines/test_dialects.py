"""The three dialects side by side: the same trouble, the answer of each."""

import math

import numpy as np
import pytest

from tasksim.eventlog.schema import NEVER
from tasksim.protocol.manners import CORE_2025, SEP_1686, SEP_2663, Manners
from tasksim.protocol.messages import Acknowledged, Cancel, CancelTask, Delete, Get, GetResult, List
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.states import Status
from tests.unit.protocol.helpers import S, answer, create, new_receiver

from .test_cases import instants, one, rows, run

DIALECTS = ("sep-1686", "mcp-2025-11-25", "sep-2663")
ASKS = "input_required = { share = 1, think = { kind = 'constant', value_s = 20 } }"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_sees_a_task_through(dialect: str) -> None:
    found = run(one(12, 5, receiver=f"dialect = '{dialect}'"))
    table = found.tasks
    assert table.outcome[0] == Reason.RETRIEVED
    assert table.polls_sent[0] == 3
    fetched = found.counts.by_operation[Operation.RESULT]
    assert fetched == (0 if dialect == "sep-2663" else 1)
    assert (table.created_lost[0], table.creations[0]) == (0, 1)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gets_its_input(dialect: str) -> None:
    found = run(one(12, 5, work=ASKS, receiver=f"dialect = '{dialect}'"))
    assert found.tasks.outcome[0] == Reason.RETRIEVED
    assert len(rows(found, Kind.PROMPTED)) == 1
    # Asked at 6 s. D1 sends it then; D2 and D3 wait for the next poll, at 10 s at the latest.
    prompted = instants(found, Kind.PROMPTED)[0]
    assert prompted == (6.0 if dialect == "sep-1686" else 10.0)


def test_case_7_who_only_polls_is_never_asked() -> None:
    polls_only = "input_by = 'polls'\npolls_max = 50"
    text = one(10, 5, work=ASKS, requesters=polls_only, receiver="dialect = 'mcp-2025-11-25'")
    found = run(text)
    assert found.tasks.outcome[0] == Reason.GAVE_UP
    assert found.tasks.polls_sent[0] == 50
    assert len(rows(found, Kind.PROMPTED)) == 0
    asked = run(text, "requesters.0.input_by=result")
    assert asked.tasks.outcome[0] == Reason.RETRIEVED


@pytest.mark.parametrize("dialect", DIALECTS)
def test_case_10_retention_from_the_creation_evicts_what_runs(dialect: str) -> None:
    text = one(304, 7, receiver=f"dialect = '{dialect}'\nkeep_alive = {{ default_s = 300 }}")
    found = run(text)
    if dialect == "sep-1686":
        assert found.tasks.outcome[0] == Reason.RETRIEVED
        assert found.tasks.expired_at[0] == pytest.approx(604 * S, abs=100)
        return
    assert found.tasks.outcome[0] == Reason.RESULT_LOST
    assert instants(found, Kind.EXPIRED) == [300.0]
    assert instants(found, Kind.CLOSED) == [301.0]
    assert found.tasks.terminal_at[0] == NEVER
    assert found.tasks.worked_ns[0] == pytest.approx(300 * S, abs=10)  # all of it for nothing


def test_case_10_the_sdks_count_anew_from_the_end() -> None:
    text = one(290, 7, receiver="dialect = 'mcp-2025-11-25'\nkeep_alive = { default_s = 300 }")
    found = run(text, "receiver.keep_alive.anchor=both")
    assert found.tasks.expired_at[0] == pytest.approx(590 * S, abs=100)


@pytest.mark.parametrize("dialect", DIALECTS[1:])
def test_case_11_work_that_takes_long_is_lost(dialect: str) -> None:
    found = run(f"""
    tasks = 4000
    [arrivals]
    kind = "poisson"
    rate = 1
    [[requesters]]
    polling = {{ kind = "fixed", interval_s = 5, first = "random-phase" }}
    [[work]]
    duration = {{ kind = "exponential", mean_s = 240 }}
    [receiver]
    dialect = "{dialect}"
    keep_alive = {{ default_s = 300 }}
    """)
    lost = float(np.mean(found.tasks.outcome == Reason.RESULT_LOST))
    share = 0.2895  # at a random phase of polls
    assert math.exp(-300 / 240) == pytest.approx(0.2865, abs=1e-4)
    # Five standard errors: one false alarm in two million.
    assert lost == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 4000))


@pytest.mark.parametrize("manners", [SEP_1686, CORE_2025, SEP_2663])
def test_case_17_a_cancel_after_the_end(manners: Manners) -> None:
    receiver, _ = new_receiver(manners=manners)
    outputs = receiver.receive("s", create("t", request_id=7), 0)
    (order,) = [output for output in outputs if hasattr(output, "call")]
    receiver.work_succeeded(order.key, {"content": []}, 1)
    task_id = order.key[1]
    if manners is SEP_1686:
        assert receiver.receive("s", Cancel(request_id=7, task_id=task_id), 2) == []
    else:
        reply = answer(receiver, CancelTask(request_id=8, task_id=task_id), 2)
        if manners is SEP_2663:
            assert reply == Acknowledged(request_id=8, task_id=task_id, operation=Operation.CANCEL)
        else:
            assert (reply.code, reply.reason) == (-32602, Reason.ENDED)
    view = answer(receiver, Get(request_id=9, task_id=task_id), 3)
    assert view.status is Status.COMPLETED


def test_methods_that_a_dialect_has_not_are_unknown() -> None:
    for manners, message in (
        (SEP_1686, CancelTask(request_id=1, task_id="t")),
        (CORE_2025, Delete(request_id=1, task_id="t")),
        (SEP_2663, Delete(request_id=1, task_id="t")),
        (SEP_2663, List(request_id=1)),
        (SEP_2663, GetResult(request_id=1, task_id="t")),
    ):
        receiver, _ = new_receiver(manners=manners)
        assert answer(receiver, message, 0).code == -32601


@pytest.mark.parametrize(("dialect", "held"), [("sep-1686", 0), ("mcp-2025-11-25", 2000),
                                               ("sep-2663", 0)])  # fmt: skip
def test_case_24_waiting_for_input_pins_connections(dialect: str, held: int) -> None:
    found = run(f"""
    tasks = 2000
    [arrivals]
    kind = "constant"
    rate = 1000
    [[requesters]]
    polling = {{ kind = "fixed", interval_s = 5 }}
    request_timeout_s = 1000
    [[work]]
    duration = {{ kind = "constant", value_s = 10 }}
    [work.input_required]
    share = 1
    at_fraction = 0.1
    think = {{ kind = "constant", value_s = 300 }}
    [receiver]
    dialect = "{dialect}"
    keep_alive = {{ default_s = 1000 }}
    """)
    assert found.counts.held_peak == held
    assert (found.tasks.outcome == Reason.RETRIEVED).all()
    # What D1 keeps open are the original requests, one a task, until its end.
    assert (found.tasks.terminal_at - found.tasks.created_at > 300 * S).all()


def test_a_result_that_is_waited_for_takes_no_polls() -> None:
    text = one(50, 5, requesters="awaits = 'result'", receiver="dialect = 'mcp-2025-11-25'")
    found = run(text)
    assert found.tasks.polls_sent[0] == 0
    assert found.tasks.detected_at[0] == pytest.approx(50 * S, abs=100)
    assert found.tasks.held_ns[0] == pytest.approx(50 * S, abs=100)
    # A client whose requests time out before the end looks, and waits once more.
    impatient = run(text, "requesters.0.request_timeout_s=20")
    assert impatient.tasks.outcome[0] == Reason.RETRIEVED
    assert impatient.tasks.polls_sent[0] == 2


def test_a_lost_answer_to_a_creation_is_another_task_where_receivers_make_ids() -> None:
    text = one(5, 1, requesters="create_attempts = 3\ncreated_timeout_s = 2",
               faults="reply_lost = { create = 1 }")  # fmt: skip
    assert len(rows(run(text), Kind.CREATED)) == 1
    for dialect in DIALECTS[1:]:
        found = run(text, f"receiver.dialect={dialect}")
        assert len(rows(found, Kind.CREATED)) == 3
        assert found.tasks.outcome[0] == Reason.GAVE_UP
