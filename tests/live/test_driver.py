"""One task driven against peers whose stream says more than the task needs."""

import json
import time
from typing import Any

import gevent
import pytest

from tasksim.eventlog.log import EventLog
from tasksim.eventlog.recorder import EventRecorder
from tasksim.live.client import Client
from tasksim.live.driver import Surroundings, TaskDriver
from tasksim.protocol.occurrences import Kind, Reason
from tasksim.scenario.loading import load
from tasksim.scenario.rules import requester_rules
from tasksim.scenario.workload import Workload
from tests.live.scripted import Document, answer, peer, stream

OVERRIDES = [
    "tasks=1",
    "requesters.sdk.created_timeout_s=0.3",
    "requesters.sdk.polling.default_s=0.05",
]


def event(**document: Any) -> bytes:
    return b"data: " + json.dumps({"jsonrpc": "2.0", **document}).encode() + b"\n\n"


def created(task_id: str) -> bytes:
    related = {"modelcontextprotocol.io/related-task": {"taskId": task_id}}
    return event(method="notifications/tasks/created", params={"_meta": related})


def driven(first: bytes, *overrides: str, then: bytes = b"") -> EventLog:
    """Log of a task whose stream begins with *first*, says created, and goes on with *then*."""

    def script(document: Document) -> bytes:
        request_id, params = document["id"], document["params"]
        if document["method"] == "tools/call":
            return stream(
                first + created(params["_meta"]["modelcontextprotocol.io/task"]["taskId"]) + then
            )
        if document["method"] == "tasks/result":
            return answer({"jsonrpc": "2.0", "id": request_id, "result": {"content": []}})
        view = {"taskId": params["taskId"], "status": "completed", "keepAlive": None}
        return answer({"jsonrpc": "2.0", "id": request_id, "result": view})

    scenario = load("live-smoke", [*OVERRIDES, *overrides])
    workload = Workload(scenario)
    (plan,) = workload.tasks()
    recorder = EventRecorder()
    with peer(script) as target:
        around = Surroundings(
            client=Client(target),
            workload=workload,
            recorder=recorder,
            rules={0: requester_rules(scenario.requesters[0], scenario)},
            task_id_of=lambda _: "t",
            epoch_ns=time.monotonic_ns() - plan.arrival_at,
        )
        driver = gevent.spawn(TaskDriver(plan, {}, around).run)
        driver.join(5)
        assert driver.successful()
        around.client.close()
    return recorder.finish()


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"id: 1\ndata: \n\n",
        b": comment\n\n",
        b"data: 5\n\n",
        event(method="notifications/progress", params={"progress": 1}),
        event(method="ping", id=77),
        event(id=77, result={}),
        created("another"),
    ],
    ids=["nothing", "priming", "comment", "number", "progress", "request", "answer", "other task"],
)
def test_created_is_heard_whatever_else_the_stream_says_first(first: bytes) -> None:
    log = driven(first)
    assert (log.kind == Kind.CREATED_HEARD).sum() == 1
    assert not set(log.kind) & {Kind.CREATED_TIMED_OUT, Kind.REQUEST_TIMED_OUT}
    assert log.reason[log.kind == Kind.CLOSED].tolist() == [Reason.RETRIEVED]


def test_a_racing_requester_takes_the_answer_to_its_own_request() -> None:
    own = event(id=0, result={"content": []})  # the first request of the first task
    log = driven(
        b"",
        "requesters.sdk.original_response='raced'",
        "requesters.sdk.polling.default_s=5",
        then=event(id=1, result={}) + own,
    )
    assert log.reason[log.kind == Kind.DETECTED].tolist() == [Reason.RESPONSE]


def test_a_stream_that_says_nonsense_costs_the_notification_only() -> None:
    log = driven(b"data: {\n\n")
    assert (log.kind == Kind.CREATED_TIMED_OUT).sum() == 1
    assert log.reason[log.kind == Kind.CLOSED].tolist() == [Reason.RETRIEVED]
