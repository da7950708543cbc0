"""The sep2663 codec: the documents of SEP-2663, and what a peer may not send."""

from typing import Any

import pytest

from tasksim.protocol.dialects.sep2663 import CAPABILITIES, Codec, is_task_request
from tasksim.protocol.errors import InvalidMessageError, UnknownMethodError
from tasksim.protocol.messages import (
    Acknowledged,
    Call,
    CancelTask,
    Create,
    DrawAddress,
    Failure,
    Get,
    InputRequest,
    Pushed,
    Question,
    Result,
    TaskView,
    Update,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status

MS = 1_000_000
ID = "ff12a2139a464f5797d0520f43f0e664"
STAMP = "2026-12-01T03:39:56Z"
CODEC = Codec(stamp=lambda: STAMP)
KNOWING = {
    "io.modelcontextprotocol/clientCapabilities": {
        "extensions": {"io.modelcontextprotocol/tasks": {}}
    }
}
TASK = {
    "taskId": ID,
    "status": "working",
    "createdAt": STAMP,
    "lastUpdatedAt": STAMP,
    "ttlMs": 4000,
    "pollIntervalMs": 250,
}
WORKING = {"resultType": "complete", **TASK}
CONTENT = {"content": [{"type": "text", "text": "slept"}], "isError": False}
ASK = {"method": "elicitation/create", "params": {"message": "Who?"}}


def view(status: Status = Status.WORKING, **more: Any) -> TaskView:
    fields: dict[str, Any] = {
        "request_id": 4,
        "task_id": ID,
        "keep_alive_ns": 4_000 * MS,
        "poll_interval_ns": 250 * MS,
        **more,
    }
    return TaskView(status=status, **fields)


def envelope(method: Any, params: Any, request_id: int = 4) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def answered(result: Any, request_id: int = 4) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


REQUESTS: list[tuple[str, Question, dict[str, Any]]] = [
    (
        "create",
        Create(request_id=4, task_id="", call=Call(tool="sleepy", arguments={"duration": 1.2})),
        envelope(
            "tools/call", {"name": "sleepy", "arguments": {"duration": 1.2}, "_meta": KNOWING}
        ),
    ),
    (
        "plain call",
        Create(request_id=4, task_id="", augmented=False),
        envelope("tools/call", {"name": "work", "arguments": {}}),
    ),
    (
        "get",
        Get(request_id=4, task_id=ID),
        envelope("tasks/get", {"taskId": ID, "_meta": KNOWING}),
    ),
    (
        "get that may be held, with a draw address",
        Get(request_id=4, task_id=ID, draw=DrawAddress(entity=7), attempt=2, hold_ns=500 * MS),
        envelope(
            "tasks/get",
            {
                "taskId": ID,
                "_meta": {
                    **KNOWING,
                    "tasksim/draw": {"entity": 7, "replication": 0, "ordinal": 2},
                    "tasksim/hold": {"ms": 500},
                },
            },
        ),
    ),
    (
        "update",
        Update(request_id=4, task_id=ID, answers={f"{ID}#0": {"action": "accept"}}),
        envelope(
            "tasks/update",
            {
                "taskId": ID,
                "inputResponses": {f"{ID}#0": {"action": "accept"}},
                "_meta": KNOWING,
            },
        ),
    ),
    (
        "cancel",
        CancelTask(request_id=4, task_id=ID),
        envelope("tasks/cancel", {"taskId": ID, "_meta": KNOWING}),
    ),
]


@pytest.mark.parametrize(
    ("message", "document"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS]
)
def test_requests_are_written_and_read_as_the_sep_has_them(
    message: Question, document: dict[str, Any]
) -> None:
    assert CODEC.encode(message) == document
    assert CODEC.decode_request(document) == message


CREATE = Create(request_id=4, task_id="draft")
GET = Get(request_id=4, task_id=ID)
CANCEL = CancelTask(request_id=4, task_id=ID)
UPDATE = Update(request_id=4, task_id=ID)

ASKED = InputRequest(request_id=f"{ID}#0", task_id=ID, params={"message": "Who?"})
DETAILED: list[tuple[TaskView, dict[str, Any]]] = [
    (view(), TASK),
    (view(Status.CANCELLED), {**TASK, "status": "cancelled"}),
    (
        view(Status.COMPLETED, payload=CONTENT),
        {**TASK, "status": "completed", "result": CONTENT},
    ),
    (
        view(Status.FAILED, error="Disk full"),
        {
            **TASK,
            "status": "failed",
            "statusMessage": "Disk full",
            "error": {"code": -32603, "message": "Disk full"},
        },
    ),
    (
        view(Status.INPUT_REQUIRED, prompts=(ASKED,)),
        {**TASK, "status": "input_required", "inputRequests": {f"{ID}#0": ASK}},
    ),
]


@pytest.mark.parametrize(("seen", "task"), DETAILED)
def test_a_get_carries_what_belongs_to_the_status(seen: TaskView, task: dict[str, Any]) -> None:
    document = answered({"resultType": "complete", **task})
    assert CODEC.encode(seen) == document
    assert CODEC.decode_reply(document, GET) == seen


@pytest.mark.parametrize(("seen", "task"), DETAILED)
def test_a_notification_carries_the_same(seen: TaskView, task: dict[str, Any]) -> None:
    told = view(
        seen.status, request_id=0, operation=Operation.PUSH, payload=seen.payload,
        error=seen.error, prompts=seen.prompts,
    )  # fmt: skip
    pushed = Pushed(task_id=ID, view=told)
    document = {"jsonrpc": "2.0", "method": "notifications/tasks", "params": task}
    assert CODEC.encode(pushed) == document
    assert CODEC.decode_pushed(document) == pushed


def test_other_notifications_are_none() -> None:
    document = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}
    assert CODEC.decode_pushed(document) is None


def test_a_creation_is_answered_with_the_flat_task() -> None:
    document = answered({"resultType": "task", **TASK})
    accepted = view(operation=Operation.CREATE)
    assert CODEC.encode(accepted) == document
    assert CODEC.decode_reply(document, CREATE) == accepted


@pytest.mark.parametrize("result", [{**CONTENT, "resultType": "complete"}, CONTENT])
def test_or_with_the_calls_own_result(result: dict[str, Any]) -> None:
    """Without a result type it is complete."""
    own = Result(request_id=4, task_id="draft", payload=result, operation=Operation.ORIGINAL)
    assert CODEC.decode_reply(answered(result), CREATE) == own
    assert CODEC.encode(own) == answered({**CONTENT, "resultType": "complete"})


@pytest.mark.parametrize(
    ("asked", "operation"), [(CANCEL, Operation.CANCEL), (UPDATE, Operation.INPUT)]
)
def test_cancels_and_updates_are_acknowledged(asked: Question, operation: Operation) -> None:
    assert isinstance(asked, CancelTask | Update)
    ack = Acknowledged(request_id=4, task_id=ID, operation=operation)
    document = answered({"resultType": "complete"})
    assert CODEC.encode(ack) == document
    assert CODEC.decode_reply(document, asked) == ack
    assert CODEC.decode_reply(answered({}), asked) == ack


def test_the_slip_of_the_seps_examples_is_tolerated() -> None:
    """Some show a get answered with the result type of a creation."""
    assert CODEC.decode_reply(answered({"resultType": "task", **TASK}), GET) == view()


def test_a_legacy_task_parameter_says_nothing() -> None:
    params = {"name": "work", "arguments": {}, "task": {"ttl": 5}}
    plain = CODEC.decode_request(envelope("tools/call", params))
    assert plain == Create(request_id=4, task_id="", augmented=False)
    knowing = CODEC.decode_request(envelope("tools/call", {**params, "_meta": KNOWING}))
    assert knowing == Create(request_id=4, task_id="")


def test_a_requester_cannot_ask_for_retention() -> None:
    asking = Create(request_id=4, task_id="draft", keep_alive_ns=MS)
    assert CODEC.encode(asking) == CODEC.encode(CREATE)


def test_what_a_failed_task_says_may_stand_in_its_status_message_alone() -> None:
    task = {**WORKING, "status": "failed", "statusMessage": "Disk full"}
    assert CODEC.decode_reply(answered(task), GET) == view(Status.FAILED, error="Disk full")


def test_keys_of_other_receivers_count_by_their_place() -> None:
    inputs = {"b": ASK, "a": {"method": "sampling/createMessage"}, "other#7": ASK}
    task = {**WORKING, "status": "input_required", "inputRequests": inputs}
    reply = CODEC.decode_reply(answered(task), GET)
    assert isinstance(reply, TaskView)
    assert [(ask.request_id, ask.ordinal, ask.method) for ask in reply.prompts] == [
        ("a", 0, "sampling/createMessage"),
        ("b", 1, "elicitation/create"),
        ("other#7", 2, "elicitation/create"),
    ]


def test_our_own_keys_tell_their_ordinal_also_when_others_are_answered() -> None:
    inputs = {f"{ID}#10": ASK, f"{ID}#2": ASK}
    task = {**WORKING, "status": "input_required", "inputRequests": inputs}
    reply = CODEC.decode_reply(answered(task), GET)
    assert isinstance(reply, TaskView)
    assert [ask.ordinal for ask in reply.prompts] == [2, 10]


@pytest.mark.parametrize("tail", ["4096", "99999", "-1", "x", "", "٣", "1_0"])
def test_an_ordinal_of_no_sense_counts_by_its_place(tail: str) -> None:
    inputs = {f"{ID}#{tail}": ASK}
    task = {**WORKING, "status": "input_required", "inputRequests": inputs}
    reply = CODEC.decode_reply(answered(task), GET)
    assert isinstance(reply, TaskView)
    assert [ask.ordinal for ask in reply.prompts] == [0]


@pytest.mark.parametrize(
    ("asked", "code", "text", "operation", "reason"),
    [
        (GET, -32602, "Failed to retrieve task: Task not found", Operation.GET, Reason.NOT_FOUND),
        (UPDATE, -32602, "Task no-such-task not found", Operation.INPUT, Reason.NOT_FOUND),
        (CANCEL, -32602, "Task has expired", Operation.CANCEL, Reason.EXPIRED),
        (GET, -32601, "Method not found", Operation.GET, Reason.UNSUPPORTED),
        (GET, -32021, "Missing capability", Operation.GET, Reason.UNSUPPORTED),
        (CREATE, -32021, "Missing capability", Operation.CREATE, Reason.UNSUPPORTED),
        (CREATE, -32003, "Missing capability", Operation.CREATE, Reason.UNSUPPORTED),
        (CREATE, -32602, "Unknown tool", Operation.CREATE, Reason.INVALID),
        (CREATE, -32603, "oops", Operation.CREATE, Reason.INTERNAL),
        (GET, -32603, "oops", Operation.GET, Reason.INTERNAL),
    ],
)
def test_an_error_tells_which_exchange_it_ends_and_why(
    asked: Question, code: int, text: str, operation: Operation, reason: Reason
) -> None:
    document = {"jsonrpc": "2.0", "id": 4, "error": {"code": code, "message": text}}
    reply = CODEC.decode_reply(document, asked)
    assert isinstance(reply, Failure)
    assert (reply.operation, reply.reason) == (operation, reason)


def test_errors_carry_no_related_task() -> None:
    failure = Failure(
        request_id=4, code=-32602, message="no", operation=Operation.GET,
        reason=Reason.NOT_FOUND, task_id=ID,
    )  # fmt: skip
    assert CODEC.encode(failure)["error"] == {"code": -32602, "message": "no"}


def call(meta: Any) -> dict[str, Any]:
    return envelope("tools/call", {"name": "work", "_meta": meta})


CLIENT_KEY = "io.modelcontextprotocol/clientCapabilities"


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (call({CLIENT_KEY: 5}), "clientCapabilities must be an object, not 5"),
        (call({CLIENT_KEY: {"extensions": []}}), r"extensions must be an object, not \[\]"),
        (envelope("tools/call", {}), "params.name must be a string, not None"),
        (envelope("tasks/get", {}), "taskId must be a string, not None"),
        (envelope("tasks/update", {"taskId": ID}), "inputResponses must be an object, not None"),
        (envelope("tasks/update", {"taskId": ID, "inputResponses": {"k": 5}}),
         "an input response must be an object, not 5"),
        (envelope("tasks/cancel", None), "params must be an object"),
    ],
)  # fmt: skip
def test_a_malformed_request_is_refused_with_the_reason(
    document: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidMessageError, match=complaint):
        CODEC.decode_request(document)


@pytest.mark.parametrize("verb", ["result", "list", "delete"])
def test_methods_of_other_dialects_are_unknown(verb: str) -> None:
    document = envelope(f"tasks/{verb}", {"taskId": ID, "_meta": KNOWING})
    assert not is_task_request(document)
    with pytest.raises(UnknownMethodError, match=f"Method not found: tasks/{verb}"):
        CODEC.decode_request(document)


@pytest.mark.parametrize(
    ("asked", "result", "complaint"),
    [
        (GET, None, "result must be an object"),
        (GET, {**WORKING, "resultType": "frob"}, "resultType is 'frob'"),
        (GET, {**WORKING, "resultType": []}, r"resultType is \[\]"),
        (GET, {**WORKING, "status": "submitted"}, "status is 'submitted'"),
        (GET, {**WORKING, "status": "unknown"}, "status is 'unknown'"),
        (GET, {**WORKING, "ttlMs": 1.5}, "ttlMs must be whole milliseconds, not 1.5"),
        (GET, {**WORKING, "pollIntervalMs": "5"}, "pollIntervalMs must be a number"),
        (GET, {**WORKING, "status": "completed"}, "a completed task's result must be an object"),
        (GET, {**WORKING, "status": "failed", "error": "x"}, "error must be an object"),
        (GET, {**WORKING, "status": "failed", "error": {"code": "x"}}, "error.code is 'x'"),
        (GET, {**WORKING, "status": "input_required", "inputRequests": []}, "inputRequests must"),
        (GET, {**WORKING, "status": "input_required", "inputRequests": {"k": 5}},
         "an input request must be an object"),
        (GET, {**WORKING, "status": "input_required", "inputRequests": {"k": {}}},
         "method must be a string"),
        (CREATE, {"resultType": "task"}, "taskId must be a string"),
        (CREATE, {"resultType": "input_required"}, "resultType is 'input_required'"),
        (Create(request_id=4, task_id="draft", augmented=False), {"resultType": "task", **TASK},
         "resultType is 'task'"),
        (CANCEL, {"resultType": "task", **TASK}, "resultType is 'task'"),
        (UPDATE, [], "result must be an object"),
    ],
)  # fmt: skip
def test_an_answer_without_the_form_of_one_is_refused(
    asked: Question, result: Any, complaint: str
) -> None:
    with pytest.raises(InvalidMessageError, match=complaint):
        CODEC.decode_reply(answered(result), asked)


def test_whole_milliseconds_may_be_written_with_a_point() -> None:
    assert CODEC.decode_reply(answered({**WORKING, "ttlMs": 4000.0}), GET) == view()


def test_requests_about_tasks_are_told_from_others() -> None:
    assert is_task_request(call(KNOWING))
    assert all(is_task_request(envelope(f"tasks/{v}", {})) for v in ("get", "update", "cancel"))
    assert not is_task_request(call({}))
    assert not is_task_request(call({CLIENT_KEY: 5}))
    assert not is_task_request(
        call({CLIENT_KEY: {"extensions": ["io.modelcontextprotocol/tasks"]}})
    )
    assert not is_task_request(envelope("prompts/get", {"_meta": KNOWING}))
    assert not is_task_request(envelope({}, {"_meta": KNOWING}))


def test_what_the_receiver_can_do_is_an_extension() -> None:
    assert CAPABILITIES == {"extensions": {"io.modelcontextprotocol/tasks": {}}}
