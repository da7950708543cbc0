"""The sep1686 codec: the SEP's own examples to the letter, and what a peer may not send."""

from typing import Any

import pytest

from tasksim.protocol.dialects.sep1686 import Codec, is_task_request
from tasksim.protocol.errors import InvalidCursorError, InvalidMessageError, UnknownMethodError
from tasksim.protocol.messages import (
    Call,
    Cancel,
    Child,
    Create,
    Created,
    Delete,
    Deleted,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    InputRequest,
    List,
    Pushed,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status

MS = 1_000_000
ID = "786512e2-9e0d-44bd-8f29-789f320fe840"
RELATED = {"modelcontextprotocol.io/related-task": {"taskId": ID}}
CODEC = Codec()
STRICT = Codec(strict=True)
WEATHER = {
    "content": [
        {
            "type": "text",
            "text": "Current weather in New York:\nTemperature: 72°F\nConditions: Partly cloudy",
        }
    ],
    "isError": False,
}


def failure(code: int, message: str, request_id: int, operation: Operation) -> Failure:
    return Failure(
        request_id=request_id,
        code=code,
        message=message,
        operation=operation,
        reason=Reason.NOT_FOUND,
        task_id=ID,
    )


# Documents copied from SEP-1686, by section; the creation's method and arguments are ours.
EXAMPLES: list[tuple[str, Any, dict[str, Any]]] = [
    (
        "3.1 create",
        Create(request_id=1, task_id=ID, keep_alive_ns=60_000 * MS, call=Call(tool="some_tool")),
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": "some_tool",
                "arguments": {},
                "_meta": {"modelcontextprotocol.io/task": {"taskId": ID, "keepAlive": 60000}},
            },
        },
    ),
    (
        "3.2 get",
        Get(request_id=3, task_id=ID),
        {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tasks/get",
            "params": {"taskId": ID, "_meta": RELATED},
        },
    ),
    (
        "3.2 get, the answer",
        TaskView(
            request_id=3,
            task_id=ID,
            status=Status.SUBMITTED,
            keep_alive_ns=30_000 * MS,
            poll_interval_ns=5_000 * MS,
        ),
        {
            "jsonrpc": "2.0",
            "id": 3,
            "result": {
                "taskId": ID,
                "keepAlive": 30000,
                "pollFrequency": 5000,
                "status": "submitted",
                "_meta": RELATED,
            },
        },
    ),
    (
        "3.3 result",
        GetResult(request_id=4, task_id=ID),
        {
            "jsonrpc": "2.0",
            "id": 4,
            "method": "tasks/result",
            "params": {"taskId": ID, "_meta": RELATED},
        },
    ),
    (
        "3.3 result, the answer",
        Result(request_id=4, task_id=ID, payload=WEATHER, operation=Operation.RESULT),
        {"jsonrpc": "2.0", "id": 4, "result": {**WEATHER, "_meta": RELATED}},
    ),
    (
        "3.4 created",
        Created(task_id=ID),
        {
            "jsonrpc": "2.0",
            "method": "notifications/tasks/created",
            "params": {"_meta": RELATED},
        },
    ),
    (
        "3.5 list",
        List(request_id=5, cursor="optional-cursor-value"),
        {
            "jsonrpc": "2.0",
            "id": 5,
            "method": "tasks/list",
            "params": {"cursor": "optional-cursor-value"},
        },
    ),
    (
        "3.5 list, the answer",
        TaskPage(
            request_id=5,
            tasks=(
                TaskView(
                    request_id=5,
                    task_id=ID,
                    status=Status.WORKING,
                    keep_alive_ns=30_000 * MS,
                    poll_interval_ns=5_000 * MS,
                ),
                TaskView(
                    request_id=5,
                    task_id="abc123-def456-ghi789",
                    status=Status.COMPLETED,
                    keep_alive_ns=60_000 * MS,
                ),
            ),
            next_cursor="next-page-cursor",
        ),
        {
            "jsonrpc": "2.0",
            "id": 5,
            "result": {
                "tasks": [
                    {
                        "taskId": ID,
                        "status": "working",
                        "keepAlive": 30000,
                        "pollFrequency": 5000,
                    },
                    {"taskId": "abc123-def456-ghi789", "status": "completed", "keepAlive": 60000},
                ],
                "nextCursor": "next-page-cursor",
            },
        },
    ),
    (
        "3.6 delete",
        Delete(request_id=6, task_id=ID),
        {
            "jsonrpc": "2.0",
            "id": 6,
            "method": "tasks/delete",
            "params": {"taskId": ID, "_meta": RELATED},
        },
    ),
    (
        "3.6 delete, the answer",
        Deleted(request_id=6, task_id=ID),
        {"jsonrpc": "2.0", "id": 6, "result": {"_meta": RELATED}},
    ),
    (
        "7.1 not found",
        failure(-32602, "Failed to retrieve task: Task not found", 70, Operation.GET),
        {
            "jsonrpc": "2.0",
            "id": 70,
            "error": {"code": -32602, "message": "Failed to retrieve task: Task not found"},
        },
    ),
    (
        "7.1 duplicate",
        failure(-32602, f"Task ID already exists: {ID}", 73, Operation.CREATE),
        {
            "jsonrpc": "2.0",
            "id": 73,
            "error": {"code": -32602, "message": f"Task ID already exists: {ID}"},
        },
    ),
]


@pytest.mark.parametrize(
    ("message", "document"), [row[1:] for row in EXAMPLES], ids=[row[0] for row in EXAMPLES]
)
def test_a_strict_codec_writes_the_examples_of_the_sep(
    message: Any, document: dict[str, Any]
) -> None:
    assert STRICT.encode(message) == document


def test_a_failed_task_shows_its_error_as_in_7_2() -> None:
    view = TaskView(
        request_id=4,
        task_id=ID,
        status=Status.FAILED,
        keep_alive_ns=30_000 * MS,
        error="Tool execution failed: API rate limit exceeded",
    )
    result = CODEC.encode(view)["result"]
    assert {key: result[key] for key in result if key != "_meta"} == {
        "taskId": ID,
        "status": "failed",
        "keepAlive": 30000,
        "error": "Tool execution failed: API rate limit exceeded",
    }


@pytest.mark.requirement("R26", "R45")
def test_by_default_creation_and_errors_carry_related_task_metadata_too() -> None:
    creation = CODEC.encode(Create(request_id=1, task_id=ID))
    assert RELATED.items() <= creation["params"]["_meta"].items()
    refusal = CODEC.encode(failure(-32602, "no", 1, Operation.GET))
    assert refusal["error"]["data"]["_meta"] == RELATED


def test_an_unlimited_retention_is_null_and_an_absent_interval_is_absent() -> None:
    view = TaskView(request_id=1, task_id=ID, status=Status.WORKING, keep_alive_ns=None)
    result = CODEC.encode(view)["result"]
    assert result["keepAlive"] is None
    assert "pollFrequency" not in result
    assert "error" not in result


def test_intervals_round_up_and_granted_retention_rounds_down_to_milliseconds() -> None:
    view = TaskView(
        request_id=1,
        task_id=ID,
        status=Status.WORKING,
        keep_alive_ns=5 * MS - 1,
        poll_interval_ns=5 * MS + 1,
    )
    result = CODEC.encode(view)["result"]
    assert (result["keepAlive"], result["pollFrequency"]) == (4, 6)


def test_a_creation_survives_the_wire_with_its_draw_address() -> None:
    create = Create(
        request_id="a",
        task_id=ID,
        keep_alive_ns=1500 * MS,
        call=Call(tool="work", arguments={"duration_ms": 12.5}),
        draw=DrawAddress(entity=7, replication=2),
    )
    assert CODEC.decode_request(CODEC.encode(create)) == create


@pytest.mark.parametrize(
    "message", [Get(request_id=1, task_id=ID), GetResult(request_id=1, task_id=ID)]
)
def test_a_request_survives_the_wire(message: Get | GetResult) -> None:
    assert CODEC.decode_request(CODEC.encode(message)) == message


def test_a_notification_survives_the_wire_and_others_are_none() -> None:
    assert CODEC.decode_created(CODEC.encode(Created(task_id=ID))) == Created(task_id=ID)
    assert CODEC.decode_created({"jsonrpc": "2.0", "method": "notifications/message"}) is None


def test_an_answer_to_the_creation_is_the_original_response() -> None:
    request = Create(request_id=1, task_id=ID)
    reply = CODEC.decode_reply({"jsonrpc": "2.0", "id": 1, "result": WEATHER}, request)
    assert reply == Result(request_id=1, task_id=ID, payload=WEATHER, operation=Operation.ORIGINAL)


@pytest.mark.parametrize(
    ("request_", "code", "message", "operation", "reason"),
    [
        (Get, -32602, "Failed to retrieve task: Task not found", Operation.GET, Reason.NOT_FOUND),
        (Get, -32602, "Failed to retrieve task: Task has expired", Operation.GET, Reason.EXPIRED),
        (Get, -32601, "Method not found", Operation.GET, Reason.UNSUPPORTED),
        (GetResult, -32602, "Cannot retrieve result: Task status is 'working', not 'completed'",
         Operation.RESULT, Reason.NOT_COMPLETED),
        (GetResult, -32603, "oops", Operation.RESULT, Reason.INTERNAL),
        (Create, -32602, f"Task ID already exists: {ID}", Operation.CREATE, Reason.DUPLICATE),
        (Create, -32602, "taskId must be a string", Operation.CREATE, Reason.INVALID),
        (Create, -32603, "Tool execution failed", Operation.ORIGINAL, Reason.EXECUTION),
    ],
)  # fmt: skip
def test_an_error_tells_which_exchange_it_ends_and_why(
    request_: type, code: int, message: str, operation: Operation, reason: Reason
) -> None:
    document = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}
    reply = CODEC.decode_reply(document, request_(request_id=1, task_id=ID))
    assert isinstance(reply, Failure)
    assert (reply.operation, reply.reason) == (operation, reason)


def test_an_overloaded_receiver_refuses_a_creation_and_says_when_to_come_back() -> None:
    document = {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32603, "message": "busy", "data": {"retryAfter": 1500}},
    }
    reply = CODEC.decode_reply(document, Create(request_id=1, task_id=ID))
    assert isinstance(reply, Failure)
    assert reply.operation is Operation.CREATE
    assert reply.retry_after_ns == 1500 * MS


def envelope(params: Any, method: str = "tools/call") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def creation(**task: Any) -> dict[str, Any]:
    return envelope({"name": "work", "_meta": {"modelcontextprotocol.io/task": task}})


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (creation(taskId=123), "taskId must be a string, not 123"),
        (creation(taskId=None), "taskId must be a string, not None"),
        (creation(taskId={}), "taskId must be a string, not {}"),
        (creation(), "taskId must be a string, not None"),
        (creation(taskId="x" * 1025), "taskId is longer than 1024 characters"),
        (creation(taskId="x", keepAlive=None), "keepAlive must be a number of milliseconds"),
        (creation(taskId="x", keepAlive=-1), "keepAlive must be a number of milliseconds"),
        (creation(taskId="x", keepAlive=True), "keepAlive must be a number of milliseconds"),
        (creation(taskId="x", keepAlive=float("nan")), "keepAlive must be a number"),
        (creation(taskId="x", keepAlive=float("inf")), "keepAlive must be a number"),
        (envelope({"_meta": {"modelcontextprotocol.io/task": "x"}}), "must be an object"),
        (envelope([], "tasks/get"), "params must be an object"),
        (envelope({"taskId": 5}, "tasks/get"), "taskId must be a string, not 5"),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "tasks/get"}, "id must be a string"),
        ({"jsonrpc": "2.0", "id": True, "method": "tasks/get"}, "id must be a string"),
    ],
)
@pytest.mark.requirement("R06")
def test_a_malformed_request_is_refused_with_the_reason(
    document: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidMessageError, match=complaint):
        CODEC.decode_request(document)


@pytest.mark.parametrize("entity", [-1, 1 << 47, 1.5, True, "1", None])
def test_a_draw_address_outside_its_range_is_refused(entity: Any) -> None:
    document = creation(taskId="x")
    document["params"]["_meta"]["tasksim/draw"] = {"entity": entity}
    with pytest.raises(InvalidMessageError, match="tasksim/draw must hold whole numbers"):
        CODEC.decode_request(document)


def test_an_unknown_method_is_told_apart() -> None:
    with pytest.raises(UnknownMethodError, match="Method not found: tasks/frobnicate"):
        CODEC.decode_request(envelope({}, "tasks/frobnicate"))


@pytest.mark.parametrize(
    "result", [None, 5, {}, {"status": "done"}, {"status": "working", "keepAlive": "x"}]
)
def test_an_answer_without_the_form_of_one_is_refused(result: Any) -> None:
    with pytest.raises(InvalidMessageError):
        CODEC.decode_reply(
            {"jsonrpc": "2.0", "id": 1, "result": result}, Get(request_id=1, task_id=ID)
        )


def test_requests_about_tasks_are_told_from_others() -> None:
    assert is_task_request(creation(taskId="x"))
    assert is_task_request(envelope({}, "tasks/get"))
    assert not is_task_request(envelope({"name": "work"}))
    assert not is_task_request(envelope(None, "ping"))


def test_a_cancel_names_the_request_and_survives_the_wire() -> None:
    cancel = Cancel(request_id=42, task_id=ID, draw=DrawAddress(entity=3))
    document = CODEC.encode(cancel)
    assert document["method"] == "notifications/cancelled"
    assert "id" not in document
    assert document["params"]["requestId"] == 42
    assert CODEC.decode_cancel(document) == cancel


def test_a_cancel_of_a_plain_client_is_taken_and_other_notifications_are_none() -> None:
    plain = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}}
    assert CODEC.decode_cancel(plain) == Cancel(request_id="a", task_id="")
    assert CODEC.decode_cancel({"jsonrpc": "2.0", "method": "notifications/initialized"}) is None


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": None}, {"requestId": 1.5}])
def test_a_malformed_cancel_is_refused(params: Any) -> None:
    document = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    with pytest.raises(InvalidMessageError):
        CODEC.decode_cancel(document)


@pytest.mark.parametrize(
    "message", [List(request_id=1), List(request_id=1, cursor=""), Delete(request_id=1, task_id=ID)]
)
@pytest.mark.requirement("R39")
def test_lists_and_deletes_survive_the_wire(message: List | Delete) -> None:
    assert CODEC.decode_request(CODEC.encode(message)) == message


@pytest.mark.requirement("R39")
def test_a_page_survives_the_wire_and_ends_without_a_cursor() -> None:
    view = TaskView(request_id=1, task_id=ID, status=Status.FAILED, keep_alive_ns=None, error="x")
    page = TaskPage(request_id=1, tasks=(view,))
    document = CODEC.encode(page)
    assert "nextCursor" not in document["result"]
    assert CODEC.decode_reply(document, List(request_id=1)) == page


@pytest.mark.parametrize("cursor", [5, {}, True, "x" * 1025])
def test_a_cursor_that_cannot_have_been_issued_is_invalid(cursor: Any) -> None:
    with pytest.raises(InvalidCursorError):
        CODEC.decode_request(envelope({"cursor": cursor}, "tasks/list"))


@pytest.mark.parametrize("result", [{}, {"tasks": 3}, {"tasks": [3]}, {"tasks": [{"taskId": 1}]}])
def test_a_page_without_the_form_of_one_is_refused(result: Any) -> None:
    with pytest.raises(InvalidMessageError):
        CODEC.decode_reply({"id": 1, "result": result}, List(request_id=1))


def test_a_keep_alive_of_any_size_is_capped() -> None:
    request = Codec().decode_request(creation(taskId="x", keepAlive=10**400))
    assert isinstance(request, Create)
    assert request == Codec().decode_request(creation(taskId="x", keepAlive=1e300))


# What the SEP leaves to the future, and what only we tell.


def test_a_child_names_its_parent_beside_its_own_id() -> None:
    create = Create(request_id=1, task_id="build-456", parent_id="deploy-123")
    document = STRICT.encode(create)
    assert document["params"]["_meta"] == {
        "modelcontextprotocol.io/task": {"taskId": "build-456", "parentTaskId": "deploy-123"}
    }
    assert CODEC.decode_request(document) == create


def test_a_get_tells_of_parent_and_children_as_the_sep_sketches_them() -> None:
    view = TaskView(
        request_id=1,
        task_id=ID,
        status=Status.WORKING,
        keep_alive_ns=None,
        parent_id="release-1",
        children=(Child(task_id="build-456", call=Call(tool="run_build", arguments={"x": 1})),),
    )
    document = CODEC.encode(view)
    assert document["result"] == {
        "taskId": ID,
        "status": "working",
        "keepAlive": None,
        "parentTaskId": "release-1",
        "childTasks": [{"taskId": "build-456", "toolName": "run_build", "arguments": {"x": 1}}],
        "_meta": RELATED,
    }
    assert CODEC.decode_reply(document, Get(request_id=1, task_id=ID)) == view
    del document["result"]["childTasks"][0]["arguments"]  # they are optional
    reply = CODEC.decode_reply(document, Get(request_id=1, task_id=ID))
    assert isinstance(reply, TaskView)
    assert reply.children == (Child(task_id="build-456", call=Call(tool="run_build")),)


def test_intermediate_results_are_counted_in_metadata_of_our_own() -> None:
    view = TaskView(
        request_id=1, task_id=ID, status=Status.WORKING, keep_alive_ns=None, milestone=2
    )
    document = CODEC.encode(view)
    assert document["result"]["_meta"] == {**RELATED, "tasksim/milestone": 2}
    assert CODEC.decode_reply(document, Get(request_id=1, task_id=ID)) == view


def test_a_get_says_how_long_it_may_be_held_unless_it_may_not() -> None:
    get = Get(request_id=1, task_id=ID, hold_ns=1500 * MS)
    document = CODEC.encode(get)
    assert document["params"]["_meta"] == {**RELATED, "tasksim/hold": {"ms": 1500}}
    assert CODEC.decode_request(document) == get
    assert CODEC.encode(Get(request_id=1, task_id=ID))["params"]["_meta"] == RELATED


def test_a_status_notification_is_the_view_of_a_task_and_related_to_it() -> None:
    view = TaskView(
        request_id=0,
        task_id=ID,
        status=Status.COMPLETED,
        keep_alive_ns=30_000 * MS,
        operation=Operation.PUSH,
    )
    pushed = Pushed(task_id=ID, view=view)
    document = {
        "jsonrpc": "2.0",
        "method": "notifications/tasks/status",
        "params": {"taskId": ID, "status": "completed", "keepAlive": 30000, "_meta": RELATED},
    }
    assert CODEC.encode(pushed) == document
    assert CODEC.decode_pushed(document) == pushed
    assert CODEC.decode_pushed({"jsonrpc": "2.0", "method": "notifications/message"}) is None


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        ({"childTasks": {}}, "childTasks is {}"),
        ({"childTasks": [5]}, "a child task must be an object, not 5"),
        ({"childTasks": [{"taskId": 5}]}, "taskId must be a string, not 5"),
        ({"childTasks": [{"taskId": "x"}]}, "toolName must be a string, not None"),
        ({"childTasks": [{"taskId": "x", "toolName": "y", "arguments": 5}]}, "arguments must be"),
        ({"parentTaskId": None}, "parentTaskId must be a string, not None"),
        ({"_meta": {"tasksim/milestone": -1}}, "tasksim/milestone must be a whole number"),
        ({"_meta": {"tasksim/milestone": 1.5}}, "tasksim/milestone must be a whole number"),
    ],
)
def test_malformed_additions_to_a_view_are_refused(part: dict[str, Any], complaint: str) -> None:
    document = {"id": 1, "result": {"status": "working", "keepAlive": None, **part}}
    with pytest.raises(InvalidMessageError, match=complaint):
        CODEC.decode_reply(document, Get(request_id=1, task_id=ID))


def test_the_prompts_of_our_receivers_tell_their_ordinal() -> None:
    ask = InputRequest(request_id=f"{ID}#3", task_id=ID, ordinal=3)
    assert CODEC.decode_input_request(CODEC.encode(ask)) == ask
    other = InputRequest(request_id="elsewhere#3", task_id=ID)
    assert CODEC.decode_input_request(CODEC.encode(other)) == other


def test_what_cannot_be_written_out_is_quoted_by_its_type() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidMessageError, match="taskId must be a string, not list"):
        CODEC.decode_request(envelope({"taskId": deep}, "tasks/get"))
    with pytest.raises(UnknownMethodError, match="Method not found: list"):
        CODEC.decode_request({"id": 1, "method": deep})
