"""Recorders and the fold: one row a task, however the occurrences come."""

import numpy as np

from tasksim.eventlog.log import merged
from tasksim.eventlog.recorder import BINS_MAX, RequestCounter, TaskRecorder, fold
from tasksim.eventlog.schema import NEVER
from tasksim.protocol.occurrences import Kind, Operation, Reason, Side
from tasksim.protocol.states import Status

from .helpers import GOOD, S, log_from


def test_every_occurrence_becomes_a_row_with_its_side_and_requester() -> None:
    log = log_from(GOOD)
    assert len(log) == len(GOOD)
    assert set(log.requester.tolist()) == {3}
    sides = dict(zip(log.kind.tolist(), log.side.tolist(), strict=True))
    assert sides[Kind.SENT] == Side.REQUESTER
    assert sides[Kind.RECEIVED] == Side.RECEIVER


def test_rows_are_sorted_whatever_their_order_of_coming() -> None:
    there, back = log_from(GOOD), log_from(GOOD[::-1])
    for name, column in there.columns().items():
        assert np.array_equal(column, back.columns()[name]), name


def test_a_task_that_goes_well_is_told_in_one_row() -> None:
    table, counts = fold(log_from(GOOD))
    row = {name: column[0].item() for name, column in table.columns().items()}
    assert row == {
        "task": 0,
        "requester": 3,
        "arrival_at": 0,
        "sent_at": 0,
        "created_at": 1 * S,
        "started_at": 1 * S,
        "input_at": NEVER,
        "paused_at": NEVER,
        "continued_at": NEVER,
        "terminal_at": 8 * S,
        "status": Status.COMPLETED,
        "expired_at": 68 * S,
        "deleted_at": NEVER,
        "wiped_at": NEVER,
        "evicted_at": NEVER,
        "freed_at": NEVER,
        "heard_at": 2 * S,
        "detected_at": 11 * S,
        "detected_by": Reason.POLL,
        "retrieved_at": 13 * S,
        "closed_at": 13 * S,
        "outcome": Reason.RETRIEVED,
        "polls_sent": 2,
        "polls_received": 2,
        "polls_answered": 2,
        "polls_wasted": 1,
        "polls_doubled": 0,
        "limited": 0,
        "worked_ns": 7 * S,
        "dictated_ns": 7 * S,
        "keep_alive_ns": 60 * S,
        "created_lost": 0,
        "creations": 1,
        "held_ns": 0,
        "milestones": 0,
        "milestones_seen": 0,
        "milestone_delay_ns": 0,
    }
    assert counts.by_operation[Operation.CREATE] == 1
    assert counts.by_operation[Operation.GET] == 2
    assert counts.total == 4


def test_what_did_not_happen_is_never() -> None:
    table, _ = fold(log_from(GOOD[:2]))
    assert table.created_at[0] == table.detected_at[0] == table.outcome[0] == NEVER


def test_a_lost_notification_is_marked() -> None:
    table, _ = fold(log_from([*GOOD[:5], (1, Kind.LOST, 0, Operation.CREATED)]))
    assert table.created_lost[0] == 1


def test_the_online_fold_is_the_offline_fold() -> None:
    recorder = TaskRecorder()
    recorder.meets(0, 3)
    for at, *rest in GOOD:
        recorder(at * S, *(int(x) for x in rest))
    online, _ = recorder.finish()
    offline, _ = fold(log_from(GOOD))
    for name, column in online.columns().items():
        assert np.array_equal(column, offline.columns()[name]), name


def test_a_request_about_no_known_task_is_counted_and_makes_no_row() -> None:
    recorder = TaskRecorder()
    recorder(5, Kind.RECEIVED, -1, Operation.GET, 0, -1, Reason.NOT_FOUND)
    table, counts = recorder.finish()
    assert len(table) == 0
    assert counts.by_operation[Operation.GET] == 1


def test_the_peak_is_the_most_in_one_whole_second() -> None:
    counter = RequestCounter()
    for at in (0, S - 1, S, S + 1, S + 2, 5 * S):
        counter.count(at, Operation.GET)
    assert counter.finish().peak == 3


def test_the_series_keeps_its_sum_when_bins_grow() -> None:
    counter = RequestCounter()
    for second in range(3 * BINS_MAX):
        counter.count(second * S, Operation.GET)
    counts = counter.finish()
    assert counts.bin_ns == 4 * S
    assert counts.bins.shape[1] == 3 * BINS_MAX // 4
    assert counts.bins[Operation.GET].tolist() == [4] * (3 * BINS_MAX // 4)


def test_logs_of_two_sides_merge_on_one_clock() -> None:
    requester_side = [row for row in GOOD if row[1] in {Kind.ARRIVED, Kind.SENT, Kind.ANSWERED}]
    receiver_side = [row for row in GOOD if row not in requester_side]
    theirs = log_from(receiver_side, requester=NEVER)
    both = merged([log_from(requester_side), theirs], epoch_ns=-10 * S)
    assert len(both) == len(GOOD)
    assert both.at[0] == 10 * S
    assert set(both.requester.tolist()) == {3}
