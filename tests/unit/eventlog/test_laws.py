"""Laws: silent on a good log, loud on each broken one."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from tasksim.eventlog.laws import ORDERS, TASK_LAWS, check_log, check_tasks, told
from tasksim.eventlog.recorder import fold
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.states import Status

from .helpers import CREATE, GET, GOOD, RESULT, S, changed, log_from


def broken(rows: list[tuple[Any, ...]]) -> set[str]:
    return {violation.law for violation in check_log(log_from(rows))}


def test_a_good_log_breaks_no_law() -> None:
    assert check_log(log_from(GOOD)) == []


def test_half_a_log_breaks_no_law() -> None:
    """One side's log, or a run that was cut short: absence is no violation."""
    receiver_side = [r for r in GOOD if r[1] in {Kind.RECEIVED, Kind.CREATED, Kind.FINISHED}]
    assert broken(receiver_side) == set()
    assert broken(GOOD[:7]) == set()


BROKEN = {
    "rows twice": (
        [*GOOD, (9, Kind.FINISHED, 0, NONE, 0, Status.COMPLETED)],
        "a task is created, started, finished, detected and closed once",
    ),
    "received first": (
        changed((6, (5, Kind.SENT, 0, GET, 0)), (7, (4, Kind.RECEIVED, 0, GET, 0, Status.WORKING))),
        "no request is received before it is sent",
    ),
    "never sent": (changed((6, None)), "no request is answered before it is sent"),
    "never received": (changed((7, None)), "no request is answered before it is received"),
    "told after expiry": (
        [*GOOD, (69, Kind.SENT, 0, GET, 2), (70, Kind.RECEIVED, 0, GET, 2, Status.COMPLETED)],
        "no status of a task is told after it was forgotten",
    ),
    "told after deletion": (
        [
            *GOOD[:-1],
            (14, Kind.DELETED, 0),
            (15, Kind.SENT, 0, GET, 2),
            (16, Kind.RECEIVED, 0, GET, 2, Status.COMPLETED),
        ],
        "no status of a task is told after it was forgotten",
    ),
    "result too early": (
        [*GOOD, (3, Kind.SENT, 0, RESULT, 1), (4, Kind.RECEIVED, 0, RESULT, 1, Status.COMPLETED)],
        "no end is told before it has come",
    ),
    "detected too early": (
        changed((13, (7, Kind.DETECTED, 0, GET, 0, Status.COMPLETED, Reason.POLL))),
        "terminal_at <= detected_at",
    ),
    "expired too early": (
        changed((19, (60, Kind.EXPIRED, 0))),
        "no expiry before the granted retention has passed",
    ),
    "expired before the retention that ran from the end": (
        changed((19, (65, Kind.EXPIRED, 0))),
        "retention runs from the end, or says so",
    ),
    "released and not held": (
        [*GOOD, (5, Kind.RELEASED, 0, GET, 0)],
        "a held request is let go once",
    ),
    "pushed too early": (
        [*GOOD, (5, Kind.PUSHED, 0, Operation.PUSH, 0, Status.COMPLETED)],
        "what is told unasked has happened",
    ),
    "more seen than there was": (
        [
            *GOOD,
            (5, Kind.MILESTONE, 0, NONE, 0, NONE, NONE, 1),
            (6, Kind.SEEN, 0, GET, 0, NONE, NONE, 2),
        ],
        "no intermediate result is known before it is there",
    ),
    "expired though unlimited": (
        changed((3, (1, Kind.CREATED, 0, CREATE, 0, Status.SUBMITTED, NONE, -1))),
        "no expiry before the granted retention has passed",
    ),
    "lost and heard": (
        [*GOOD, (1, Kind.LOST, 0, Operation.CREATED)],
        "a lost notification is not heard",
    ),
    "more answers than polls": (
        [*GOOD, (12, Kind.ANSWERED, 0, GET, 2, Status.COMPLETED)],
        "polls wasted <= answered <= sent, received <= sent",
    ),
    "result of a failed task": (
        changed((9, (8, Kind.FINISHED, 0, NONE, 0, Status.FAILED))),
        "a result is retrieved once, of a completed task",
    ),
    "retrieved without a result": (
        changed((17, None)),
        "a result is retrieved once, of a completed task",
    ),
}


@pytest.mark.parametrize(("rows", "law"), BROKEN.values(), ids=BROKEN)
def test_a_broken_log_breaks_its_law(rows: list[tuple[Any, ...]], law: str) -> None:
    assert law in broken(rows)


@pytest.mark.parametrize(("earlier", "later"), ORDERS)
def test_every_order_of_instants_is_watched(earlier: str, later: str) -> None:
    table, _ = fold(log_from(GOOD))
    swapped = dataclasses.replace(table, **{earlier: np.array([50 * S]), later: np.array([49 * S])})
    assert f"{earlier} <= {later}" in {violation.law for violation in check_tasks(swapped)}


@pytest.mark.parametrize(
    ("column", "value", "law"),
    [
        ("status", NONE, "a terminal status comes with its instant"),
        ("closed_at", NONE, "an outcome comes with its instant"),
        ("polls_wasted", 3, "polls wasted <= answered <= sent, received <= sent"),
        ("polls_received", 3, "polls wasted <= answered <= sent, received <= sent"),
    ],
)
def test_a_broken_table_breaks_its_law(column: str, value: int, law: str) -> None:
    table, _ = fold(log_from(GOOD))
    spoiled = dataclasses.replace(table, **{column: np.array([value])})
    assert law in {violation.law for violation in check_tasks(spoiled)}


def test_littles_law_is_computed_two_ways() -> None:
    """A task that ends before it begins leaves the number in system below zero."""
    table, _ = fold(log_from(GOOD))
    spoiled = dataclasses.replace(table, terminal_at=np.array([0]))
    law = TASK_LAWS["the sojourns sum to the integral of the number in system"]
    assert law(table).tolist() == []
    assert law(spoiled).tolist() == [NONE]


def test_a_log_out_of_order_is_told() -> None:
    log = log_from(GOOD)
    shuffled = dataclasses.replace(log, at=log.at[::-1].copy())
    assert "rows are in order" in {violation.law for violation in check_log(shuffled)}


def test_violations_are_told_by_law() -> None:
    violations = check_log(log_from(changed((7, None))))
    assert told(violations)[0] == (
        "no request is answered before it is received: broken 1 times, first by 0"
    )
