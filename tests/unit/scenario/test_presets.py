"""Presets: each is a rule with a source, and polls as its client was seen to."""

import pytest

from tasksim.engines import simulate
from tasksim.eventlog.run import Run
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.scenario.loading import ScenarioError, parse
from tasksim.scenario.presets import PRESETS

S = 1_000_000_000


def run(polling: str, work_s: float = 3, hint_s: float = 2, **more: str) -> Run:
    text = f"""
    tasks = 1
    [arrivals]
    kind = "constant"
    rate = 1
    [[requesters]]
    polling = {polling}
    {more.get("requesters", "")}
    [[work]]
    duration = {{ kind = "constant", value_s = {work_s} }}
    {more.get("work", "")}
    [receiver]
    poll_frequency = {{ kind = "fixed", interval_s = {hint_s} }}
    """
    return simulate(parse(text, "f"), level="events")


def polls(found: Run) -> list[float]:
    log = found.events
    assert log is not None
    chosen = (log.kind == Kind.SENT) & (log.operation == Operation.GET)
    return [round(at / S, 2) for at in log.at[chosen].tolist()]


def preset(name: str) -> str:
    return f"{{ kind = 'preset', name = '{name}' }}"


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_runs_and_cites_its_source(name: str) -> None:
    assert PRESETS[name].source
    assert run(preset(name)).tasks.outcome[0] == Reason.RETRIEVED


# Measured on the clients themselves: 3 s of work, 2 s advertised.
MEASURED = {
    "mcp-1.30": [0.0, 2.0, 4.0],
    "typescript-sdk-1.32": [0.0, 2.0, 4.0],
    "fastmcp-tasks-4.1": [0.0, 0.04, 0.12, 0.28, 0.6, 1.24, 2.52, 4.52],
}


@pytest.mark.parametrize("name", MEASURED)
def test_a_preset_polls_as_its_client_was_seen_to(name: str) -> None:
    """But for the ramp's first step: the client was seen at 0.01, 0.05, 0.09, 0.18, ... 4.6 s."""
    assert polls(run(preset(name))) == MEASURED[name]


def test_an_unknown_preset_is_refused_with_the_nearest() -> None:
    with pytest.raises(ScenarioError, match=r"polling\.name: is no preset; did you mean fastmcp"):
        run(preset("fastmpc"))


def test_the_example_loop_wastes_an_interval_and_a_request() -> None:  # N12
    good = run("{ kind = 'reference-loop', default_s = 2 }")
    assert good.tasks.detected_at[0] == pytest.approx(4 * S, abs=100)
    assert good.tasks.retrieved_at[0] == pytest.approx(6 * S, abs=100)
    bad = run("{ kind = 'reference-loop', default_s = 2 }", work="failed_share = 1.0")
    assert bad.tasks.outcome[0] == Reason.FAILED
    assert bad.counts.by_operation[Operation.RESULT] == 1


def test_waiting_first_saves_polls() -> None:
    found = run("{ kind = 'wait-then-fixed', wait_s = 55, interval_s = 1 }", work_s=60, hint_s=1)
    assert polls(found) == [55.0, 56.0, 57.0, 58.0, 59.0, 60.0]


def test_hazard_polling_needs_laws_and_follows_them() -> None:
    text = """
    tasks = 50
    [arrivals]
    kind = "poisson"
    rate = 1
    [[requesters]]
    polling = { kind = "hazard", poll_cost = 2, delay_cost_per_s = 0.1 }
    [[work]]
    duration = { kind = "weibull", shape = 0.5, mean_s = 60 }
    """
    table = simulate(parse(text, "f")).tasks
    assert (table.outcome == Reason.RETRIEVED).all()
    # Long work is polled less often per second than short work.
    lasted_s = (table.terminal_at - table.created_at) / S
    often = table.polls_sent / (lasted_s + 1)
    assert often[lasted_s > 60].mean() < often[lasted_s < 20].mean()
