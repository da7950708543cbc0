"""A user's own polling rule: used when it can be, refused with a reason when not."""

from pathlib import Path

import pytest

from tasksim.engines import simulate
from tasksim.scenario.loading import ScenarioError, parse

SIGNATURE = "params, state, attempt, age_ns, hint_ns, retry_after_ns, u"


FICKLE = f"""
calls = []
def gap_ns({SIGNATURE}):
    calls.append(1)
    return 10**10 + len(calls)
"""


def scenario(folder: Path, source: str, extra: str = "") -> str:
    (folder / "mine.py").write_text(source, encoding="utf-8")
    return f"""
    tasks = 1
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = {{ kind = "python", file = "mine.py", params = [2e9] {extra} }}
    [[work]]
    duration = {{ kind = "constant", value_s = 13 }}
    """


def test_a_rule_of_ones_own_decides_when_to_poll(tmp_path: Path) -> None:
    source = (
        f"def gap_ns({SIGNATURE}):\n"
        "    return max(int(params[0]) * (attempt + 1), retry_after_ns)\n"
    )
    found = simulate(parse(scenario(tmp_path, source), "f.toml", folder=tmp_path))
    assert found.tasks.polls_sent[0] == 4  # at 2, 6, 12 and 20 s
    assert found.tasks.detected_at[0] == pytest.approx(20e9, abs=100)


def test_a_rule_may_learn_and_draw(tmp_path: Path) -> None:
    source = (
        f"def gap_ns({SIGNATURE}):\n"
        "    count = state[2]\n"
        "    return max(int(params[0] * (1 + u) + count), retry_after_ns)\n"
    )
    text = scenario(tmp_path, source, ", learns = true, draws = true")
    assert simulate(parse(text, "f.toml", folder=tmp_path)).tasks.polls_sent[0] > 2


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("x = (", "SyntaxError"),
        ("x = 1", "has no function gap_ns"),
        ("def gap_ns(a, b):\n    return 1", "must take (params, state, attempt"),
        (f"def gap_ns({SIGNATURE}):\n    return 1 / 0", "ZeroDivisionError"),
        (f"def gap_ns({SIGNATURE}):\n    return 2.5", "must give whole ns, not 2.5"),
        (f"def gap_ns({SIGNATURE}):\n    return 0", "gives 0 ns at attempt 0"),
        (f"def gap_ns({SIGNATURE}):\n    return 5", "a Retry-After (7000000000)"),
        (
            FICKLE,
            "answers the same question in two ways",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(
    tmp_path: Path, source: str, told: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(scenario(tmp_path, source), "f.toml", folder=tmp_path)
    assert told in str(caught.value)
    assert "requesters.0.polling.file" in str(caught.value) or "polling.file" in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    text = scenario(tmp_path, "").replace("mine.py", "missing.py")
    with pytest.raises(ScenarioError, match="is no Python file"):
        parse(text, "f.toml", folder=tmp_path)
