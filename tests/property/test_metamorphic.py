"""What must happen to a run when its scenario is changed in a known way, exactly."""

from typing import Any

import numpy as np
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tasksim.engines import simulate
from tasksim.eventlog.schema import NEVER, log_digest
from tasksim.scenario.loading import parse

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def constant_worlds(draw: Any) -> dict[str, Any]:
    """Scenarios whose every time is a constant: whole milliseconds, so that doubling is exact."""

    def seconds(low: int, high: int) -> float:
        return draw(st.integers(low, high)) / 1000

    def constant(low: int, high: int) -> dict[str, Any]:
        return {"kind": "constant", "value_s": seconds(low, high)}

    return {
        "tasks": draw(st.integers(2, 12)),
        "arrivals": {"kind": "constant", "rate": 1 / draw(st.sampled_from([0.5, 1.0, 2.0]))},
        "requesters": [
            {
                "polling": {"kind": "fixed", "interval_s": seconds(100, 5000)},
                "created_timeout_s": seconds(100, 5000),
                "request_timeout_s": seconds(5000, 9000),
                "cancel_share": draw(st.sampled_from([0.0, 0.5])),
                "cancel_after": constant(100, 9000),
                "cancel_patience_s": 60.0,
            }
        ],
        "work": [{"duration": constant(0, 9000)}],
        "receiver": {
            "workers": draw(st.integers(1, 4)),
            "keep_alive": {"default_s": seconds(0, 9000)},
        },
        "network": {"request": constant(1, 900), "reply": constant(1, 900)},
        "faults": {"created_lost_share": draw(st.sampled_from([0.0, 0.3]))},
    }


def doubled(value: Any, key: str = "") -> Any:
    """The document with every time twice as long, and the rate half."""
    if isinstance(value, dict):
        return {name: doubled(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [doubled(item) for item in value]
    if key.endswith("_s"):
        return value * 2
    return value / 2 if key == "rate" else value


def tables(document: dict[str, Any]) -> Any:
    return simulate(parse(tomli_w.dumps(document), "f")).tasks


INSTANTS = ("arrival_at", "sent_at", "created_at", "started_at", "terminal_at", "expired_at",
            "heard_at", "detected_at", "retrieved_at", "closed_at")  # fmt: skip


@QUICK
@given(constant_worlds())
def test_twice_the_times_is_twice_every_instant(document: dict[str, Any]) -> None:
    one, two = tables(document), tables(doubled(document))
    for name in INSTANTS:
        single, double = getattr(one, name), getattr(two, name)
        is_there = single != NEVER
        assert np.array_equal(is_there, double != NEVER), name
        assert np.array_equal(single[is_there] * 2, double[is_there]), name
    for name in ("polls_sent", "outcome", "status"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name


@QUICK
@given(
    workers=st.integers(1, 5),
    seed=st.integers(0, 10_000),
    rate=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_one_more_worker_delays_nobody(workers: int, seed: int, rate: float) -> None:
    def ends(count: int) -> Any:
        document = {
            "seed": seed,
            "tasks": 40,
            "arrivals": {"kind": "poisson", "rate": rate},
            "work": [{"duration": {"kind": "exponential", "mean_s": 2.0}}],
            "receiver": {"workers": count},
        }
        return tables(document).terminal_at

    assert (ends(workers + 1) <= ends(workers)).all()


@QUICK
@given(constant_worlds(), st.integers(0, 1000))
def test_the_same_seed_gives_the_same_bytes(document: dict[str, Any], seed: int) -> None:
    scenario = parse(tomli_w.dumps({**document, "seed": seed}), "f")
    one, two = (simulate(scenario, level="events").events for _ in range(2))
    assert one is not None
    assert two is not None
    assert log_digest(one.columns()) == log_digest(two.columns())


@QUICK
@given(constant_worlds())
def test_polling_changes_nothing_at_the_receiver(document: dict[str, Any]) -> None:
    """Without limits and answering costs, how often is asked delays no work."""
    document["requesters"][0]["cancel_share"] = 0.0
    often = {**document, "requesters": [{**document["requesters"][0]}]}
    often["requesters"][0]["polling"] = {"kind": "fixed", "interval_s": 0.1}
    assert np.array_equal(tables(document).terminal_at, tables(often).terminal_at)
