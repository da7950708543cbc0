"""Ranks: the order that the design states, and keys that fit int64."""

import itertools

from tasksim.protocol.ties import LAST_RANK, ORDINAL_BITS, TASK_BITS, Tie, rank


def test_kinds_come_in_the_stated_order() -> None:
    stated = [
        {Tie.RESTART, Tie.STALL},
        {Tie.EXPIRY},
        {Tie.WORKER_DEATH, Tie.COMPLETION, Tie.MILESTONE},
        {Tie.CREATED_TIMEOUT, Tie.REQUEST_TIMEOUT, Tie.RETRY, Tie.SWEEP, Tie.POLL_DUE,
         Tie.CANCEL_DUE, Tie.INPUT_TIMEOUT, Tie.ANSWER_DUE, Tie.GIVE_UP, Tie.HOLD_END, Tie.PICKUP,
         Tie.CRASH},
        {Tie.CREATED_TO_REQUESTER, Tie.ORIGINAL_TO_REQUESTER,
         Tie.REFUSAL_TO_REQUESTER, Tie.VIEW_TO_REQUESTER,
         Tie.RESULT_TO_REQUESTER, Tie.PAGE_TO_REQUESTER, Tie.DELETED_TO_REQUESTER,
         Tie.PROMPT_TO_REQUESTER, Tie.PUSH_TO_REQUESTER, Tie.CANCELLED_TO_REQUESTER,
         Tie.UPDATED_TO_REQUESTER},
        {Tie.CANCEL_TO_RECEIVER},
        {Tie.DELETE_TO_RECEIVER, Tie.GET_TO_RECEIVER, Tie.RESULT_TO_RECEIVER,
         Tie.ANSWER_TO_RECEIVER, Tie.LIST_TO_RECEIVER, Tie.CREATE_TO_RECEIVER},
        {Tie.ARRIVAL},
    ]  # fmt: skip
    assert set().union(*stated) == set(Tie)
    for earlier, later in itertools.pairwise(stated):
        assert max(earlier) < min(later)


def test_kind_decides_before_task_and_task_before_ordinal() -> None:
    last_task, last_ordinal = (1 << TASK_BITS) - 1, (1 << ORDINAL_BITS) - 1
    assert rank(Tie.EXPIRY, last_task, last_ordinal) < rank(Tie.COMPLETION)
    assert rank(Tie.EXPIRY, 1, last_ordinal) < rank(Tie.EXPIRY, 2)
    assert rank(Tie.EXPIRY, 1, 1) < rank(Tie.EXPIRY, 1, 2)


def test_every_rank_fits_int64_with_room_above() -> None:
    assert rank(max(Tie), (1 << TASK_BITS) - 1, (1 << ORDINAL_BITS) - 1) < LAST_RANK < 2**63 - 2
