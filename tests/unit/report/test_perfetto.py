"""The Perfetto trace: what it says is what the log says."""

import itertools
import json
from typing import Any

from tasksim.engines import simulate
from tasksim.report.perfetto import RECEIVER, REQUESTERS, WORKERS, perfetto_trace
from tasksim.scenario.loading import load

MANY = ["tasks=60", "receiver.workers=3", "faults.restarts=[{ at_s = 40, down_s = 3 }]"]


def events(*overrides: str) -> list[dict[str, Any]]:
    run = simulate(load("demo", overrides), level="events")
    return json.loads(perfetto_trace(run))["traceEvents"]  # type: ignore[no-any-return]


def test_every_slice_that_begins_ends_and_not_before() -> None:
    open_: dict[Any, list[float]] = {}
    spans = [event for event in events(*MANY) if event["ph"] in "be"]
    assert spans
    spans.sort(key=lambda event: (event["ts"], event["ph"] == "b"))
    for event in spans:
        key = (event["id"], event["name"])
        if event["ph"] == "b":
            open_.setdefault(key, []).append(event["ts"])
    for event in spans:
        if event["ph"] == "e":
            starts = open_[event["id"], event["name"]]
            assert starts.pop(0) <= event["ts"]
    assert not any(open_.values())


def test_a_lane_is_a_worker_with_one_task_at_a_time() -> None:
    slices = [event for event in events(*MANY) if event["ph"] == "X"]
    assert {event["pid"] for event in slices} == {WORKERS}
    assert {event["tid"] for event in slices} == {1, 2, 3}
    for lane in (1, 2, 3):
        own = sorted((e["ts"], e["ts"] + e["dur"]) for e in slices if e["tid"] == lane)
        assert all(end <= start + 1e-3 for (_, end), (start, _) in itertools.pairwise(own))


def test_each_task_is_there_for_its_requester_and_for_the_receiver() -> None:
    begun = [event for event in events("tasks=20") if event["ph"] == "b"]
    names = {event["name"] for event in begun if event["pid"] == REQUESTERS}
    assert {f"task {number}" for number in range(20)} <= names
    stages = {event["name"] for event in begun if event["pid"] == RECEIVER}
    assert stages == {"submitted", "at work", "kept"}


def test_counters_end_at_nothing() -> None:
    found = [event for event in events("tasks=20") if event["ph"] == "C"]
    last = {event["name"]: event["args"]["tasks"] for event in found}
    assert last == {"tasks in system": 0, "tasks resident": 0}
