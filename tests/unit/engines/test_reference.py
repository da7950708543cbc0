"""The reference engine: laws, ties, determinism, and runs small enough to do by hand."""

import dataclasses
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tasksim.engines import simulate
from tasksim.engines.reference.model import Model
from tasksim.eventlog.laws import check_log, check_tasks
from tasksim.eventlog.run import Run
from tasksim.eventlog.schema import NEVER, log_digest
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.scenario.loading import catalogue_names, load, parse
from tasksim.scenario.model import Scenario

from .helpers import S, lattice, strict_run, tiny

ONE = """
tasks = {tasks}
[arrivals]
kind = "constant"
rate = 0.001
[[requesters]]
polling = {polling}
{requester}
[[work]]
duration = {{ kind = "constant", value_s = {work} }}
[receiver]
{receiver}
[network]
{network}
[faults]
{faults}
"""


def one(**changes: Any) -> Run:
    values = {
        "tasks": 1,
        "polling": "{ kind = 'fixed', interval_s = 5 }",
        "requester": "",
        "work": 12,
        "receiver": "",
        "network": "",
        "faults": "",
        **changes,
    }
    run = simulate(tiny(ONE.format(**values)), level="events")
    assert check_log(run.events) == []  # type: ignore[arg-type]
    return run


def get_instants_s(run: Run) -> list[float]:
    """Whole seconds at which gets were sent."""
    log = run.events
    assert log is not None
    is_get = (log.kind == Kind.SENT) & (log.operation == Operation.GET)
    return [round(at / S, 6) for at in log.at[is_get].tolist()]


def outcome(run: Run) -> Reason:
    return Reason(int(run.tasks.outcome[0]))


# Runs that can be done by hand (network legs take 1 ns where none are given).


def test_a_job_of_12_s_is_polled_at_5_10_and_15() -> None:
    run = one()
    assert get_instants_s(run) == [5, 10, 15]
    assert run.tasks.polls_wasted[0] == 2
    assert outcome(run) is Reason.RETRIEVED


@pytest.mark.parametrize(("interval", "gets"), [(1, 60), (5, 12), (30, 2)])
def test_a_job_of_60_s_takes_60_over_interval_gets(interval: int, gets: int) -> None:
    run = one(work=60, polling=f"{{ kind = 'fixed', interval_s = {interval} }}")
    assert run.tasks.polls_sent[0] == gets


def test_a_get_at_the_instant_of_completion_sees_it() -> None:
    """The tie: completion before poll. All legs are 1 s: created at 1, heard at 2."""
    legs = (
        "request = { kind = 'constant', value_s = 1 }\nreply = { kind = 'constant', value_s = 1 }"
    )
    run = one(work=7, network=legs)  # completes at 8; the get sent at 7 arrives at 8
    assert get_instants_s(run) == [7]
    assert run.tasks.detected_at[0] == 9 * S


def test_hints_set_the_next_gap() -> None:
    run = one(
        polling="{ kind = 'hint', default_s = 2 }",
        receiver="poll_frequency = { kind = 'fixed', interval_s = 4 }",
    )
    assert get_instants_s(run) == [2, 6, 10, 14]


def test_backoff_grows_to_its_cap() -> None:
    run = one(work=30, polling="{ kind = 'backoff', base_s = 1, cap_s = 8 }")
    assert get_instants_s(run) == [1, 3, 7, 15, 23, 31]


def test_the_first_poll_may_come_at_once() -> None:
    run = one(work=3, polling="{ kind = 'fixed', interval_s = 5, first = 'at-once' }")
    assert get_instants_s(run) == [0, 5]


def test_a_random_phase_lies_within_the_first_interval() -> None:
    run = one(work=3, polling="{ kind = 'fixed', interval_s = 5, first = 'random-phase' }")
    first = get_instants_s(run)[0]
    assert 0 <= first < 5
    assert first != round(first)


def test_a_lost_notification_is_made_up_for_by_the_time_out() -> None:
    run = one(work=30, requester="created_timeout_s = 7", faults="created_lost_share = 1")
    assert get_instants_s(run) == [7, 12, 17, 22, 27, 32]
    assert run.tasks.created_lost[0] == 1
    assert run.tasks.heard_at[0] == NEVER


def test_a_get_before_creation_is_not_fatal() -> None:
    slow = "request = { kind = 'constant', value_s = 8 }"
    run = one(work=1, requester="created_timeout_s = 3", network=slow)
    assert outcome(run) is Reason.RETRIEVED


def test_retention_shorter_than_the_interval_loses_the_result() -> None:
    run = one(work=1, receiver="keep_alive = { default_s = 2 }")
    assert outcome(run) is Reason.RESULT_LOST
    assert run.tasks.detected_at[0] == NEVER
    assert run.tasks.expired_at[0] - run.tasks.terminal_at[0] == 2 * S


@pytest.mark.parametrize(("keep_alive_s", "is_seen"), [(5, False), (5.000000001, True)])
def test_a_get_at_the_instant_of_expiry_finds_nothing(keep_alive_s: float, is_seen: bool) -> None:
    """Created at 1 s, heard at 2 s; work ends at 3 s. The get sent at 7 s arrives at 8 s."""
    run = one(
        work=2,
        receiver=f"keep_alive = {{ default_s = {keep_alive_s} }}",
        network="request = { kind = 'constant', value_s = 1 }\n"
        "reply = { kind = 'constant', value_s = 1 }",
    )
    assert (run.tasks.detected_at[0] != NEVER) == is_seen
    assert outcome(run) is Reason.RESULT_LOST  # even when seen, it is gone before the fetch


def test_keep_alive_is_asked_for_and_clamped() -> None:
    run = one(requester="keep_alive_s = 100", receiver="keep_alive = { max_s = 60 }")
    assert run.tasks.keep_alive_ns[0] == 60 * S


def test_work_that_fails_is_told_and_not_fetched() -> None:
    scenario = tiny(
        "tasks = 1\n[arrivals]\nkind = 'constant'\nrate = 1\n[[work]]\nfailed_share = 1\n"
        "duration = { kind = 'constant', value_s = 1 }\n"
    )
    run = simulate(scenario, level="events")
    assert outcome(run) is Reason.FAILED
    assert run.counts.by_operation[Operation.RESULT] == 0


def test_a_raced_original_response_beats_the_poll() -> None:
    run = one(requester="original_response = 'raced'")
    assert run.tasks.detected_by[0] == Reason.RESPONSE
    assert run.tasks.detected_at[0] - run.tasks.terminal_at[0] == 1
    assert run.tasks.polls_sent[0] == 2


def test_a_stream_that_closed_carries_no_original_response() -> None:
    run = one(requester="original_response = 'raced'", network="stream_lifetime_s = 10")
    assert run.tasks.detected_by[0] == Reason.POLL
    log = run.events
    assert log is not None
    is_lost = (log.kind == Kind.LOST) & (log.operation == Operation.ORIGINAL)
    assert is_lost.sum() == 1


def test_one_worker_serves_in_order_of_arrival() -> None:
    scenario = tiny(
        "tasks = 3\n[arrivals]\nkind = 'constant'\nrate = 1\n"
        "[[work]]\nduration = { kind = 'constant', value_s = 10 }\n[receiver]\nworkers = 1\n"
    )
    table = simulate(scenario).tasks
    assert (np.diff(table.started_at) == 10 * S).all()
    assert (table.started_at[1:] == table.terminal_at[:-1]).all()


def test_a_cancelled_task_frees_its_worker_for_the_next() -> None:
    scenario = tiny(
        "tasks = 2\n[arrivals]\nkind = 'constant'\nrate = 1\n[[requesters]]\n"
        "cancel_share = 1\ncancel_after = { kind = 'constant', value_s = 3 }\n"
        "[[work]]\nduration = { kind = 'constant', value_s = 10 }\n[receiver]\nworkers = 1\n"
    )
    table = simulate(scenario).tasks
    assert (table.outcome == Reason.CANCELLED).all()
    assert table.started_at[1] == table.terminal_at[0] == 3 * S + 1


def test_of_a_cancel_and_a_completion_at_one_instant_the_completion_counts() -> None:
    """Created at 1 s, done at 4 s; the cancel sent at 3 s arrives at 4 s."""
    run = one(
        work=3,
        requester="cancel_share = 1\ncancel_after = { kind = 'constant', value_s = 3 }",
        network="request = { kind = 'constant', value_s = 1 }",
    )
    assert outcome(run) is Reason.RETRIEVED


def test_a_sensitive_task_is_forgotten_when_its_requester_has_it() -> None:
    scenario = tiny(
        "tasks = 1\n[arrivals]\nkind = 'constant'\nrate = 1\n[[work]]\nsensitive = true\n"
        "duration = { kind = 'constant', value_s = 1 }\n"
    )
    run = simulate(scenario, level="events")
    assert check_log(run.events) == []  # type: ignore[arg-type]
    tasks = run.tasks
    assert tasks.retrieved_at[0] < tasks.deleted_at[0] < tasks.closed_at[0]
    assert tasks.expired_at[0] == NEVER
    assert run.counts.by_operation[Operation.DELETE] == 1


@pytest.mark.parametrize("name", ["one worker", "cancelled, one worker", "cancelled", "sensitive"])
def test_after_the_last_expiry_nothing_is_left(name: str) -> None:
    model = Model(lattice(**LATTICES[name]), replication=0, level="tasks")
    model.run()
    receiver = model.receiver
    assert receiver._machine.resident_tasks == 0
    assert set(receiver.leftovers().values()) == {0}


# Properties of every run.


@pytest.mark.parametrize("name", catalogue_names())
def test_every_scenario_of_the_catalogue_keeps_the_laws(name: str) -> None:
    scenario = load(name, ["tasks=150"])
    run = simulate(scenario, level="events")
    assert run.events is not None
    assert check_log(run.events) == []
    assert not (run.tasks.outcome == NEVER).any()


LATTICES = {
    "plain": {},
    "raced": {"original": "raced"},
    "one worker": {"workers": 1, "tasks": 100},
    "hint": {"polling": "{ kind = 'hint', default_s = 0.5, first = 'at-once' }"},
    "all lost": {"lost": 1.0},
    "cancelled": {"cancelled": 0.5},
    "cancelled, one worker": {"cancelled": 0.5, "workers": 1, "original": "raced"},
    "sensitive": {"sensitive": "true", "cancelled": 0.3},
    "sensitive, raced": {"sensitive": "true", "cancelled": 0.3, "original": "raced"},
    "sensitive, refused": {"sensitive": "true", "delete": "never"},
    "backoff": {"polling": "{ kind = 'backoff', base_s = 0.25, cap_s = 1 }"},
}


@pytest.mark.parametrize("changes", LATTICES.values(), ids=LATTICES)
def test_ties_are_decided_by_rank_alone(changes: dict[str, Any]) -> None:
    """No two events share instant and rank, and instants do coincide."""
    run = strict_run(lattice(**changes))
    log = run.events
    assert log is not None
    assert check_log(log) == []
    is_tie = np.diff(log.at) == 0
    assert is_tie.mean() > 0.3


@pytest.mark.parametrize("name", catalogue_names())
def test_levels_see_the_same_tasks(name: str) -> None:
    scenario = load(name, ["tasks=60"])
    events, tasks = (simulate(scenario, level=level) for level in ("events", "tasks"))
    assert log_digest(events.tasks.columns()) == log_digest(tasks.tasks.columns())
    assert events.counts.by_operation == tasks.counts.by_operation
    assert events.counts.peak == tasks.counts.peak
    assert events.end_at == tasks.end_at


SCRIPT = """
from tasksim.engines import simulate
from tasksim.eventlog.schema import log_digest
from tasksim.scenario.loading import load
run = simulate(load("demo", ["tasks=300"]), level="events")
print(log_digest(run.events.columns()))
"""


def test_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    digests = set()
    for seed in ("0", "1", "31337"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        digests.add(
            subprocess.run(
                [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, check=True
            ).stdout
        )
    assert len(digests) == 1


def test_seeds_and_replications_give_other_runs() -> None:
    scenario = load("demo", ["tasks=100"])
    other = dataclasses.replace(scenario, seed=2)
    digests = {
        log_digest(run.tasks.columns())
        for run in (simulate(scenario), simulate(scenario, replication=1), simulate(other))
    }
    assert len(digests) == 3


def scaled(factor: float) -> Scenario:
    """The same constant scenario with every time multiplied."""
    return parse(
        f"""
tasks = 50
[arrivals]
kind = "constant"
rate = {0.5 / factor}
[[requesters]]
polling = {{ kind = "fixed", interval_s = {1.5 * factor} }}
created_timeout_s = {10 * factor}
request_timeout_s = {60 * factor}
[[work]]
duration = {{ kind = "constant", value_s = {3.25 * factor} }}
[receiver]
workers = 1
keep_alive = {{ default_s = {100 * factor} }}
[network]
request = {{ kind = "constant", value_s = {0.125 * factor} }}
reply = {{ kind = "constant", value_s = {0.25 * factor} }}
""",
        "scaled.toml",
    )


def test_doubling_every_time_doubles_every_instant() -> None:
    one_, two = simulate(scaled(1)).tasks, simulate(scaled(2)).tasks
    for name, column in one_.columns().items():
        other = two.columns()[name]
        is_time = name.endswith(("_at", "_ns"))
        assert np.array_equal(np.where(column >= 0, column * (2 if is_time else 1), column), other)


def test_one_more_worker_delays_nobody() -> None:
    """First in, first out, without limits: more capacity starts every task at least as early."""
    starts = [
        simulate(load("demo", ["tasks=800", f"receiver.workers={count}"])).tasks.started_at
        for count in (20, 21, 40)
    ]
    assert (starts[0] >= starts[1]).all()
    assert (starts[1] >= starts[2]).all()
    assert (starts[0] > starts[2]).any()


def test_policies_are_compared_on_the_same_world() -> None:
    """Arrivals and durations do not depend on who polls how."""
    base = load("demo", ["tasks=200"])
    slow = load("demo", ["tasks=200", "requesters.sdk.polling.default_s=60"])
    for name in ("arrival_at", "dictated_ns", "requester", "created_lost", "created_at"):
        first, second = (getattr(simulate(s).tasks, name) for s in (base, slow))
        assert np.array_equal(first, second), name


def test_progress_is_told_and_changes_nothing() -> None:
    scenario = load("minimal", ["engine=reference"])
    told: list[int] = []
    watched = simulate(scenario, progress=told.append)
    assert told == [0, 500]
    assert log_digest(watched.tasks.columns()) == log_digest(simulate(scenario).tasks.columns())


def test_a_run_without_tasks_is_a_run() -> None:
    run = simulate(load("minimal", ["horizon_s=1e-9"]))
    assert len(run.tasks) == 0
    assert check_tasks(run.tasks) == []
