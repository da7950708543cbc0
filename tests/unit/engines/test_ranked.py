"""Ranked events: rank decides, cancelled events happen to nobody, a wake-up has one instant."""

import pytest

from tasksim.engines.reference.ranked import COMPACT_FROM, At, RankedEnvironment, Wakeup


def test_rank_decides_at_one_instant_and_not_the_order_of_scheduling() -> None:
    env, seen = RankedEnvironment(), []
    for rank in (3, 1, 2):
        At(env, 5, rank, lambda _, rank=rank: seen.append(rank))
    env.run()
    assert seen == [1, 2, 3]


def test_what_an_event_causes_at_its_instant_happens_before_later_ranks() -> None:
    env, seen = RankedEnvironment(), []
    At(env, 5, 7, lambda _: seen.append("late"))
    At(env, 5, 1, lambda _: At(env, 5, 3, lambda _: seen.append("caused")))
    env.run()
    assert seen == ["caused", "late"]


def test_an_event_in_the_past_is_our_own_error() -> None:
    env = RankedEnvironment()
    At(env, 5, 0, lambda _: At(env, 4, 0))
    with pytest.raises(AssertionError, match="lies 1 ns in the past"):
        env.run()


def test_a_cancelled_event_happens_to_nobody() -> None:
    env, seen = RankedEnvironment(), []
    event = At(env, 5, 0, lambda _: seen.append("cancelled"))
    env.cancel(event)
    env.cancel(event)
    env.run()
    assert seen == []


def test_a_queue_full_of_cancelled_events_is_cleaned() -> None:
    env = RankedEnvironment()
    for at in range(4 * COMPACT_FROM):
        env.cancel(At(env, at, 0, lambda _: None))
    assert len(env._queue) <= COMPACT_FROM + 1


def test_a_wakeup_fires_at_its_last_instant_only() -> None:
    env, seen = RankedEnvironment(), []
    wakeup = Wakeup(env, lambda: seen.append(env.now))
    wakeup.arm((5, 0))
    wakeup.arm((9, 0))
    wakeup.arm((7, 0))
    env.run()
    assert seen == [7]


def test_a_disarmed_wakeup_sleeps() -> None:
    env, seen = RankedEnvironment(), []
    wakeup = Wakeup(env, lambda: seen.append(env.now))
    wakeup.arm((5, 0))
    wakeup.arm(None)
    env.run()
    assert seen == []
