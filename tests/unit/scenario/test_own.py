"""A user's own polling rule: used when it can be, refused with a reason when not."""

from pathlib import Path

import pytest

from tasksim.engines import simulate
from tasksim.metrics.summary import summarise
from tasksim.metrics.verdicts import verdicts
from tasksim.scenario.loading import ScenarioError, dump_toml, parse, scenario_digest

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


def test_a_limiter_of_ones_own_refuses_and_says_for_how_long(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def take(params, state, now):\n"
        "    wait = state[0] - now\n"
        "    return (state, wait) if wait > 0 else ((now + params[0],), -1)\n",
        encoding="utf-8",
    )
    text = """
    tasks = 1
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = { kind = "fixed", interval_s = 1 }
    [[work]]
    duration = { kind = "constant", value_s = 9.5 }
    [receiver.rate_limits]
    get = { kind = "python", file = "mine.py", params = [2_500_000_000] }
    """
    found = simulate(parse(text, "f.toml", folder=tmp_path))
    assert found.counts.limited[1] > 0
    assert found.tasks.outcome[0] == 11  # retrieved


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 1", "must give ((whole numbers), wait in ns), not 1"),
        ("return (state[0] + 1,), 5", "refuses and changes its state"),
        ("return state, 0", "says no wait"),
    ],
)
def test_a_limiter_that_cannot_be_used_is_refused(tmp_path: Path, body: str, told: str) -> None:
    (tmp_path / "mine.py").write_text(f"def take(params, state, now):\n    {body}\n", "utf-8")
    text = """
    tasks = 1
    [arrivals]
    kind = "constant"
    rate = 1
    [[work]]
    duration = { kind = "constant", value_s = 1 }
    [receiver.rate_limits]
    get = { kind = "python", file = "mine.py" }
    """
    with pytest.raises(ScenarioError) as caught:
        parse(text, "f.toml", folder=tmp_path)
    assert told in str(caught.value)


MEASURED = """
tasks = 4000
[arrivals]
kind = "constant"
rate = 10
[[work]]
duration = { kind = "python", file = "mine.py", params = [4.0] }
[metrics.short_share]
file = "mine.py"
function = "short_share"
[objectives]
"own.short_share" = { min = 0.4, max = 0.6 }
"""


def test_a_law_and_a_metric_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def quantile_s(params, p, q):\n"
        "    return params[0] * p * p\n"
        "def short_share(tasks):\n"
        "    return (tasks['terminal_at'] - tasks['started_at'] < 1_000_000_000).mean()\n",
        encoding="utf-8",
    )
    scenario = parse(MEASURED, "f.toml", folder=tmp_path)
    found = summarise([simulate(scenario)], scenario)
    share = found.get("own.short_share")
    assert share is not None
    # P(4 U^2 < 1) = 1/2; five standard errors of 4,000 tasks.
    assert share.value == pytest.approx(0.5, abs=5 * 0.5 / 4000**0.5)
    assert verdicts(found, scenario.objectives)[0].as_dict()["judgement"] == "met"
    told = dump_toml(scenario)
    before = scenario_digest(scenario)
    assert parse(told, "again.toml") == scenario
    mine = tmp_path / "mine.py"
    mine.write_text(mine.read_text(encoding="utf-8") + "\n# another rule\n", encoding="utf-8")
    assert scenario_digest(scenario) != before  # a result says which code it came from


def test_a_law_of_ones_own_that_falls_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def quantile_s(params, p, q):\n    return q\ndef short_share(tasks):\n    return 1\n",
        "utf-8",
    )
    with pytest.raises(ScenarioError, match="seconds that rise"):
        parse(MEASURED, "f.toml", folder=tmp_path)
