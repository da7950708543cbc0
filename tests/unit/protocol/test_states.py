"""The lifecycle, retyped from SEP-1686 section 4.3 and compared with the table."""

import itertools

import pytest

from tasksim.protocol.states import TERMINAL, IllegalTransitionError, Status, require_move

# 4.3.2: from submitted: working, input_required, completed, failed, cancelled, unknown;
# from working: input_required, completed, failed, cancelled, unknown;
# from input_required: working, completed, failed, cancelled, unknown; from the rest: nothing.
LEGAL = {
    "submitted": "working input_required completed failed cancelled unknown",
    "working": "input_required completed failed cancelled unknown",
    "input_required": "working completed failed cancelled unknown",
    "completed": "",
    "failed": "",
    "cancelled": "",
    "unknown": "",
}
PAIRS = list(itertools.product(LEGAL, LEGAL))


def test_there_are_seven_statuses() -> None:
    assert [status.name.lower() for status in Status] == list(LEGAL)


def test_sixteen_of_the_49_moves_are_legal() -> None:
    assert sum(len(targets.split()) for targets in LEGAL.values()) == 16
    assert len(PAIRS) == 49


@pytest.mark.parametrize(("before", "after"), PAIRS)
@pytest.mark.requirement("R10", "R11")
def test_a_task_moves_as_the_text_says(before: str, after: str) -> None:
    current, new = Status[before.upper()], Status[after.upper()]
    if after in LEGAL[before].split():
        require_move(current, new)
    else:
        with pytest.raises(IllegalTransitionError, match=f"{before.upper()} -> {after.upper()}"):
            require_move(current, new)


def test_the_terminal_statuses_are_four() -> None:
    assert {status.name.lower() for status in TERMINAL} == {
        "completed",
        "failed",
        "cancelled",
        "unknown",
    }
