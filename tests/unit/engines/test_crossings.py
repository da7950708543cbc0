"""Where two features meet: batches and doors, crashes and questions, stalls and restarts."""

import itertools
from pathlib import Path

import pytest

from tasksim.engines.reference.model import Model
from tasksim.eventlog.run import Run
from tasksim.protocol.guards import Guard, GuardRules
from tasksim.protocol.manners import CORE_2025, Anchor
from tasksim.protocol.messages import Call, Failure, InputAnswer, InputRequest
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.outputs import Hold, Send
from tasksim.protocol.states import Status
from tasksim.scenario.loading import load, parse
from tasksim.scenario.own_files import OwnRuleError
from tasksim.scenario.problems import InputError
from tests.unit.protocol.helpers import S, admit, create, get, new_receiver

from .test_cases import instants, run


def text(
    tasks: int, work: str, requesters: str = "", receiver: str = "", more: str = "", top: str = ""
) -> str:
    return f"""
    tasks = {tasks}
    {top}
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = {{ kind = "fixed", interval_s = 1 }}
    {requesters}
    [[work]]
    {work}
    [receiver]
    {receiver}
    {more}
    """


def polled(document: str, rule: str) -> str:
    return document.replace('{ kind = "fixed", interval_s = 1 }', f"{{ {rule} }}")


def lasting(seconds: float) -> str:
    return f'duration = {{ kind = "constant", value_s = {seconds} }}'


ANY = 'waits_for = "any"\nrest = "cancelled"'


def outcomes(found: Run) -> list[Reason]:
    return [Reason(outcome) for outcome in found.tasks.outcome]


@pytest.mark.parametrize("dialect", ["mcp-2025-11-25", "sep-2663"])
@pytest.mark.parametrize(("failed", "outcome"), [(0.0, Reason.RETRIEVED), (1.0, Reason.FAILED)])
def test_a_call_that_the_receiver_takes_for_no_task_is_answered(
    dialect: str, failed: float, outcome: Reason
) -> None:
    found = run(text(1, f"{lasting(2)}\nfailed_share = {failed}", receiver=f"""
    dialect = "{dialect}"
    tasks = false"""))  # fmt: skip
    assert outcomes(found) == [outcome]
    assert instants(found, Kind.CLOSED) == [2.0]


def test_who_needs_one_of_a_batch_asks_for_no_other() -> None:
    found = run(text(3, lasting(10), f"{ANY}\nmax_open = 1", top="batch = 3"))
    assert outcomes(found) == [Reason.RETRIEVED, Reason.NOT_NEEDED, Reason.NOT_NEEDED]
    assert instants(found, Kind.CREATED) == [0.0]


@pytest.mark.parametrize("dialect", ["sep-1686", "mcp-2025-11-25"])
def test_the_rest_of_a_batch_is_cancelled_also_where_it_waits_for_room(dialect: str) -> None:
    found = run(text(3, lasting(10), f"{ANY}\ncreated_timeout_s = 30", f"""
    dialect = "{dialect}"
    concurrency = {{ total = 1, queue = 5 }}""", top="batch = 3"))  # fmt: skip
    assert found.tasks.outcome.tolist().count(Reason.NOT_NEEDED) == 2
    assert found.tasks.worked_ns.sum() < 10.5 * S


def test_a_task_that_was_asked_for_anew_satisfies_its_batch() -> None:
    crash = "crash = { share = 1, after = { kind = 'constant', value_s = 2 }, back_s = 1, "
    found = run(text(2, lasting(10), f"{ANY}\n{crash} remembers = false }}", top="batch = 2"))
    renewed = found.tasks.where(found.tasks.task > 1 << 30)
    assert sorted(renewed.outcome.tolist()) == [Reason.RETRIEVED, Reason.NOT_NEEDED]


@pytest.mark.parametrize("waits_for", ["each", "any"])
def test_nothing_is_left_of_batches_that_are_over(waits_for: str) -> None:
    own = f'waits_for = "{waits_for}"'
    scenario = parse(text(40, f"{lasting(1)}\nfailed_share = 0.5", own, top="batch = 2"), "x.toml")
    model = Model(scenario, replication=0, level="tasks")
    model.run()
    assert model._batches == {}


@pytest.mark.parametrize("dialect", ["mcp-2025-11-25", "sep-2663"])
def test_a_requester_that_comes_back_answers_what_it_is_asked_again(dialect: str) -> None:
    crash = "crash = { share = 1, after = { kind = 'constant', value_s = 8 }, back_s = 2 }"
    asks = "input_required = { share = 1, think = { kind = 'constant', value_s = 5 } }"
    found = run(text(1, f"{lasting(10)}\n{asks}", crash, f"""
    dialect = "{dialect}"
    input_timeout_s = 100"""))  # fmt: skip
    assert outcomes(found) == [Reason.RETRIEVED]
    assert len(instants(found, Kind.PROMPTED)) == 2


def test_who_is_gone_neither_cancels_nor_gives_up() -> None:
    crash = "crash = { share = 1, after = { kind = 'constant', value_s = 2 }, back_s = 60 }"
    cancel = "cancel_share = 1\ncancel_after = { kind = 'constant', value_s = 5 }"
    found = run(text(1, lasting(300), f"{crash}\n{cancel}"))
    assert instants(found, Kind.SENT, Operation.CANCEL) == [62.0]
    found = run(text(1, lasting(300), f"{crash}\npatience_s = 20"))
    assert instants(found, Kind.CLOSED) == [62.0]


CHILDREN = """
    name = "parent"
    share = 1.0
    duration = { kind = "constant", value_s = 100 }
    children = { count = 1, work = "child" }
    [[work]]
    name = "child"
    share = 0.0
"""


def restarted(child: str, receiver: str) -> Run:
    more = 'faults.restarts = [{ at_s = 80, interrupted = "redone" }]'
    return run(text(1, f"{CHILDREN}{child}", receiver=receiver).replace("[receiver]",
               f"[faults]\nrestarts = [{more.split('[', 1)[1]}\n[receiver]"))  # fmt: skip


def test_a_child_that_was_done_before_a_restart_counts_after_it() -> None:
    found = restarted(lasting(3), "keep_alive = { default_s = 10 }")
    assert found.tasks.outcome.tolist()[0] == Reason.RETRIEVED
    assert found.tasks.terminal_at[0] <= 181 * S


def test_a_restart_ends_the_wait_for_children() -> None:
    found = restarted(lasting(60), "input_timeout_s = 70")
    assert found.tasks.outcome.tolist()[0] == Reason.RETRIEVED


def test_a_long_way_is_not_taken_for_a_held_answer() -> None:
    document = text(1, lasting(30), receiver="poll_frequency = { kind = 'fixed', interval_s = 10 }",
                    more="""
    [network]
    request = { kind = "constant", value_s = 0.3 }
    reply = { kind = "constant", value_s = 0.3 }
    """)  # fmt: skip
    found = run(polled(document, 'kind = "long-poll", wait_s = 30, default_s = 5'))
    sent = instants(found, Kind.SENT, Operation.GET)
    assert all(later - earlier >= 10 for earlier, later in itertools.pairwise(sent))


def test_a_deadline_that_was_taken_back_does_not_come_with_another() -> None:
    receiver, _ = new_receiver(
        sweep_ns=60 * S, keep_alive_default_ns=30 * S, input_timeout_ns=50 * S
    )
    for name, request_id in (("b", 1), ("a", 9)):
        admit(receiver, 0, name, request_id=request_id)
        receiver.work_started(("s", name), 0)
    receiver.work_needs_input(("s", "b"), 5 * S)
    sent = receiver.work_needs_input(("s", "a"), 10 * S)
    (prompt,) = [o.message for o in sent if isinstance(o, Send)]
    assert isinstance(prompt, InputRequest)
    receiver.receive("s", InputAnswer(request_id=prompt.request_id, task_id="a"), 20 * S)
    receiver.work_succeeded(("s", "a"), {}, 30 * S)
    receiver.on_time(55 * S)
    receiver.on_time(60 * S)
    assert receiver.status_of(("s", "a")) is None
    assert receiver.status_of(("s", "b")) is Status.FAILED


def test_a_shaper_lets_nobody_in_while_the_receiver_stands_still() -> None:
    found = run(text(3, lasting(30), more="""
    [receiver.rate_limits]
    create = { kind = "leaky-bucket", rate = 0.5, room = 10 }
    [faults]
    stalls = [{ at_s = 1.5, for_s = 20 }]"""))  # fmt: skip
    assert instants(found, Kind.CREATED) == [0.0, 21.5, 21.5]


def test_a_restart_takes_what_waited_out_a_stall() -> None:
    found = run(text(1, lasting(100), more="""
    [faults]
    stalls = [{ at_s = 2.5, for_s = 28 }]
    restarts = [{ at_s = 5, down_s = 1, interrupted = "redone" }]""").replace(
        "interval_s = 1 ", "interval_s = 3 "))  # fmt: skip
    assert instants(found, Kind.LOST, Operation.GET) == [5.0]
    assert min(instants(found, Kind.RECEIVED, Operation.GET)) < 10


@pytest.mark.parametrize("body", ["10**9 + 1 // (attempt - 3)", "-5 if attempt == 3 else 10**9"])
def test_a_rule_of_the_users_own_that_fails_half_through_is_bad_input(
    body: str, tmp_path: Path
) -> None:
    rule = "def gap_ns(params, state, attempt, age_ns, hint_ns, retry_after_ns, u):\n"
    (tmp_path / "own.py").write_text(f"{rule}    return max({body}, retry_after_ns)\n")
    file = tmp_path / "own.py"
    document = polled(text(1, lasting(30)), f"kind = 'python', file = '{file}'")
    scenario = parse(document, str(tmp_path / "x.toml"))
    with pytest.raises(OwnRuleError, match="gap_ns"):
        Model(scenario, replication=0, level="tasks").run()
    assert issubclass(OwnRuleError, InputError)


def test_a_failure_is_a_failure_also_to_a_loop_that_tests_late() -> None:
    document = text(1, f"{lasting(10)}\nfailed_share = 1", receiver="dialect = 'sep-2663'")
    found = run(polled(document, 'kind = "reference-loop"'))
    assert outcomes(found) == [Reason.FAILED]


def test_nothing_is_deleted_where_there_are_no_deletes() -> None:
    found = run(text(1, f"{lasting(5)}\nsensitive = true", receiver="dialect = 'mcp-2025-11-25'"))
    assert instants(found, Kind.SENT, Operation.DELETE) == []


def test_two_calls_that_wait_for_room_are_two_where_the_receiver_makes_the_ids() -> None:
    receiver, _ = new_receiver(manners=CORE_2025, open_total=1, queue_max=5)
    admit(receiver, 0, "")
    for request_id in (11, 12, 11):
        call = Call(tool=f"tool-{request_id}")
        found = receiver.receive("s", create("", request_id=request_id, call=call), 1 * S)
        assert isinstance(found[0], Hold)
    assert len(receiver._holds.queue) == 2


@pytest.mark.parametrize("anchor", [Anchor.BOTH, Anchor.CREATION])
def test_what_has_expired_does_not_come_back(anchor: Anchor) -> None:
    receiver, _ = new_receiver(
        sweep_ns=60 * S, keep_alive_default_ns=30 * S, manners=CORE_2025, anchor=anchor
    )
    key = admit(receiver, 0, "a").key
    receiver.work_started(key, 0)
    receiver.work_succeeded(key, {}, 40 * S)
    answer = receiver.receive("s", get(key[1]), 41 * S)[0]
    assert isinstance(answer, Send)
    assert isinstance(answer.message, Failure)
    assert answer.message.reason is Reason.EXPIRED


def test_what_the_breaker_keeps_back_costs_the_budget_nothing() -> None:
    guard = Guard(GuardRules(breaker=(1, 100 * S), budget=(0, 2000)))
    guard.hears(0, ok=False)
    reasons = [(guard.refuses(at, is_retry=True) or (None,))[0] for at in range(4)]
    assert reasons == [Reason.BREAKER_OPEN] * 4


def test_a_cancel_withdraws_what_was_refused_and_not_asked_for_again() -> None:
    own = "cancel_share = 1\ncancel_after = { kind = 'constant', value_s = 5 }\nlimited_gap_s = 20"
    limits = "[receiver.rate_limits]\ncreate = { kind = 'token-bucket', rate = 0.05 }"
    found = run(text(2, lasting(30), own, more=limits))
    assert outcomes(found)[1] is Reason.CANCELLED
    assert len(instants(found, Kind.SENT, Operation.CREATE)) == 2


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("requesters=[{ rest = 'cancelled' }]", "each is waited for"),
        ("receiver.keep_alive={ unlimited = true, default_s = 5 }", "drop one"),
    ],
)
def test_keys_that_would_do_nothing_are_refused(override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load("minimal", [override])
