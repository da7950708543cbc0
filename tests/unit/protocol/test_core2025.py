"""The core2025 codec: the documents of MCP 2025-11-25, and what a peer may not send."""

import itertools
from typing import Any

import pytest

from tasksim.protocol.dialects.core2025 import CAPABILITIES, Codec, is_task_request
from tasksim.protocol.errors import InvalidCursorError, InvalidMessageError, UnknownMethodError
from tasksim.protocol.messages import (
    Call,
    CancelTask,
    Create,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    InputAnswer,
    InputRequest,
    List,
    Pushed,
    Question,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status

MS = 1_000_000
ID = "786512e2-9e0d-44bd-8f29-789f320fe840"
RELATED = {"io.modelcontextprotocol/related-task": {"taskId": ID}}
STAMP = "2025-11-25T10:30:00Z"
CODEC = Codec(stamp=lambda: STAMP)
WORKING = {
    "taskId": ID,
    "status": "working",
    "createdAt": STAMP,
    "lastUpdatedAt": STAMP,
    "ttl": 60000,
    "pollInterval": 5000,
}
CANCELLED = {**WORKING, "status": "cancelled"}
CONTENT = {"content": [{"type": "text", "text": "sunny"}], "isError": False}


def view(request_id: int, operation: Operation, status: Status = Status.WORKING) -> TaskView:
    return TaskView(
        request_id=request_id,
        task_id=ID,
        status=status,
        keep_alive_ns=60_000 * MS,
        poll_interval_ns=5_000 * MS,
        operation=operation,
    )


def envelope(request_id: int | str, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def answered(request_id: int | str, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


REQUESTS: list[tuple[str, Question, dict[str, Any]]] = [
    (
        "create",
        Create(request_id=1, task_id="", keep_alive_ns=60_000 * MS, call=Call(tool="get_weather")),
        envelope(1, "tools/call", {"name": "get_weather", "arguments": {}, "task": {"ttl": 60000}}),
    ),
    (
        "create, asking for no retention",
        Create(request_id=1, task_id=""),
        envelope(1, "tools/call", {"name": "work", "arguments": {}, "task": {}}),
    ),
    (
        "create by a receiver that samples",
        Create(
            request_id=2,
            task_id="",
            call=Call(method="sampling/createMessage", tool="", arguments={"maxTokens": 9}),
        ),
        envelope(2, "sampling/createMessage", {"maxTokens": 9, "task": {}}),
    ),
    (
        "plain call",
        Create(request_id=1, task_id="", augmented=False),
        envelope(1, "tools/call", {"name": "work", "arguments": {}}),
    ),
    ("get", Get(request_id=3, task_id=ID), envelope(3, "tasks/get", {"taskId": ID})),
    (
        "get that may be held, with a draw address",
        Get(request_id=3, task_id=ID, draw=DrawAddress(entity=7), attempt=2, hold_ns=500 * MS),
        envelope(
            3,
            "tasks/get",
            {
                "taskId": ID,
                "_meta": {
                    "tasksim/draw": {"entity": 7, "replication": 0, "ordinal": 2},
                    "tasksim/hold": {"ms": 500},
                },
            },
        ),
    ),
    ("result", GetResult(request_id=4, task_id=ID), envelope(4, "tasks/result", {"taskId": ID})),
    ("list", List(request_id=5, cursor="c"), envelope(5, "tasks/list", {"cursor": "c"})),
    ("cancel", CancelTask(request_id=6, task_id=ID), envelope(6, "tasks/cancel", {"taskId": ID})),
]


@pytest.mark.parametrize(
    ("message", "document"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS]
)
def test_requests_are_written_and_read_as_the_specification_has_them(
    message: Question, document: dict[str, Any]
) -> None:
    assert CODEC.encode(message) == document
    assert CODEC.decode_request(document) == message


PAYLOAD = {**CONTENT, "_meta": RELATED}
ANSWERS: list[tuple[str, Question, Any, dict[str, Any]]] = [
    (
        "create",
        Create(request_id=1, task_id="draft"),
        view(1, Operation.CREATE),
        answered(1, {"task": WORKING}),
    ),
    ("get", Get(request_id=3, task_id=ID), view(3, Operation.GET), answered(3, WORKING)),
    (
        "result",
        GetResult(request_id=4, task_id=ID),
        Result(request_id=4, task_id=ID, payload=PAYLOAD, operation=Operation.RESULT),
        answered(4, PAYLOAD),
    ),
    (
        "list",
        List(request_id=5),
        TaskPage(request_id=5, tasks=(view(5, Operation.GET),), next_cursor="next-page"),
        answered(5, {"tasks": [WORKING], "nextCursor": "next-page"}),
    ),
    (
        "cancel",
        CancelTask(request_id=6, task_id=ID),
        view(6, Operation.CANCEL, Status.CANCELLED),
        answered(6, CANCELLED),
    ),
    (
        "a plain call",
        Create(request_id=1, task_id="draft", augmented=False),
        Result(request_id=1, task_id="draft", payload=CONTENT, operation=Operation.ORIGINAL),
        answered(1, CONTENT),
    ),
]


@pytest.mark.parametrize(
    ("request_", "message", "document"), [row[1:] for row in ANSWERS], ids=[r[0] for r in ANSWERS]
)
def test_answers_are_written_and_read_as_the_specification_has_them(
    request_: Question, message: Any, document: dict[str, Any]
) -> None:
    assert CODEC.encode(message) == document
    assert CODEC.decode_reply(document, request_) == message


def test_a_failed_task_says_why_in_its_status_message() -> None:
    failed = TaskView(
        request_id=3, task_id=ID, status=Status.FAILED, keep_alive_ns=None, error="API rate limit"
    )
    document = answered(
        3,
        {
            "taskId": ID,
            "status": "failed",
            "createdAt": STAMP,
            "lastUpdatedAt": STAMP,
            "ttl": None,
            "statusMessage": "API rate limit",
        },
    )
    assert CODEC.encode(failed) == document
    assert CODEC.decode_reply(document, Get(request_id=3, task_id=ID)) == failed


def test_what_a_working_task_says_of_its_status_is_no_error() -> None:
    document = answered(3, {**WORKING, "statusMessage": "Gathering sources..."})
    reply = CODEC.decode_reply(document, Get(request_id=3, task_id=ID))
    assert reply == view(3, Operation.GET)


def test_a_status_notification_carries_the_full_task_and_no_related_task() -> None:
    pushed = Pushed(task_id=ID, view=view(0, Operation.PUSH))
    document = {"jsonrpc": "2.0", "method": "notifications/tasks/status", "params": WORKING}
    assert CODEC.encode(pushed) == document
    assert CODEC.decode_pushed(document) == pushed
    assert CODEC.decode_pushed({"jsonrpc": "2.0", "method": "notifications/message"}) is None


def test_input_is_asked_for_under_the_task_that_needs_it() -> None:
    asks = InputRequest(request_id=f"{ID}#1", task_id=ID, ordinal=1, params={"message": "Who?"})
    document = envelope(f"{ID}#1", "elicitation/create", {"message": "Who?", "_meta": RELATED})
    assert CODEC.encode(asks) == document
    assert CODEC.decode_input_request(document) == asks
    says = InputAnswer(request_id=f"{ID}#1", task_id=ID, payload={"action": "accept"})
    document = answered(f"{ID}#1", {"action": "accept", "_meta": RELATED})
    assert CODEC.encode(says) == document
    assert CODEC.decode_input_answer(document) == says


def test_other_documents_are_neither_requests_for_input_nor_their_answers() -> None:
    d1 = {"modelcontextprotocol.io/related-task": {"taskId": ID}}
    assert CODEC.decode_input_request(envelope(1, "elicitation/create", {"_meta": d1})) is None
    assert CODEC.decode_input_answer(answered(1, {"_meta": d1})) is None
    assert CODEC.decode_input_answer(answered(1, WORKING)) is None


def test_only_the_answer_to_a_result_request_is_related_when_it_is_an_error() -> None:
    failure = Failure(
        request_id=4, code=-32603, message="no", operation=Operation.RESULT,
        reason=Reason.EXECUTION, task_id=ID,
    )  # fmt: skip
    document = CODEC.encode(failure)
    assert document["error"] == {"code": -32603, "message": "no", "data": {"_meta": RELATED}}
    assert CODEC.decode_reply(document, GetResult(request_id=4, task_id=ID)) == failure
    lookup = Failure(
        request_id=4, code=-32602, message="no", operation=Operation.GET,
        reason=Reason.NOT_FOUND, task_id=ID,
    )  # fmt: skip
    assert CODEC.encode(lookup)["error"] == {"code": -32602, "message": "no"}


def test_a_task_is_stamped_once_a_document() -> None:
    ticks = itertools.count()
    result = Codec(stamp=lambda: str(next(ticks))).encode(view(3, Operation.GET))["result"]
    assert (result["createdAt"], result["lastUpdatedAt"]) == ("0", "0")
    assert Codec().encode(view(3, Operation.GET))["result"]["createdAt"] == "1970-01-01T00:00:00Z"


def test_intervals_round_up_and_granted_retention_rounds_down_to_milliseconds() -> None:
    result = CODEC.encode(
        TaskView(
            request_id=1, task_id=ID, status=Status.WORKING, keep_alive_ns=5 * MS - 1,
            poll_interval_ns=5 * MS + 1,
        )
    )["result"]  # fmt: skip
    assert (result["ttl"], result["pollInterval"]) == (4, 6)


def test_a_receiver_that_knows_no_tasks_answers_with_the_calls_own_result() -> None:
    reply = CODEC.decode_reply(answered(1, CONTENT), Create(request_id=1, task_id="draft"))
    assert reply == Result(
        request_id=1, task_id="draft", payload=CONTENT, operation=Operation.ORIGINAL
    )


CREATE = Create(request_id=1, task_id="draft")
PLAIN = Create(request_id=1, task_id="draft", augmented=False)
GET = Get(request_id=1, task_id=ID)
FETCH = GetResult(request_id=1, task_id=ID)
CANCEL = CancelTask(request_id=1, task_id=ID)


@pytest.mark.parametrize(
    ("asked", "code", "text", "operation", "reason"),
    [
        (GET, -32602, "Failed to retrieve task: Task not found", Operation.GET, Reason.NOT_FOUND),
        (GET, -32602, "Failed to retrieve task: Task has expired", Operation.GET, Reason.EXPIRED),
        (GET, -32602, "no", Operation.GET, Reason.NOT_FOUND),
        (GET, -32603, "oops", Operation.GET, Reason.INTERNAL),
        (GET, -32601, "Method not found", Operation.GET, Reason.UNSUPPORTED),
        (CANCEL, -32602, "Cannot cancel task: Task status is 'completed'", Operation.CANCEL,
         Reason.ENDED),
        (CANCEL, -32602, "Task is already in a terminal state", Operation.CANCEL, Reason.ENDED),
        (CANCEL, -32602, f"Task not found: {ID}", Operation.CANCEL, Reason.NOT_FOUND),
        (FETCH, -32602, "Task not completed yet (current state: working)", Operation.RESULT,
         Reason.NOT_COMPLETED),
        (FETCH, -32602, f"Invalid taskId: {ID} not found", Operation.RESULT, Reason.NOT_FOUND),
        (FETCH, -32602, "Task has expired", Operation.RESULT, Reason.EXPIRED),
        (FETCH, -32602, "The tool's own complaint", Operation.RESULT, Reason.EXECUTION),
        (FETCH, -32603, "Tool execution failed", Operation.RESULT, Reason.EXECUTION),
        (FETCH, -32000, "file not found", Operation.RESULT, Reason.EXECUTION),
        (FETCH, -32603, "Request was cancelled", Operation.RESULT, Reason.CANCELLED),
        (CREATE, -32602, "ttl must be a number", Operation.CREATE, Reason.INVALID),
        (CREATE, -32600, "Task augmentation required", Operation.CREATE, Reason.INVALID),
        (CREATE, -32601, "Task support is forbidden", Operation.CREATE, Reason.UNSUPPORTED),
        (CREATE, -32603, "oops", Operation.CREATE, Reason.INTERNAL),
        (CREATE, -32603, "Too many concurrent tasks", Operation.CREATE, Reason.CONCURRENCY),
        (PLAIN, -32603, "Tool execution failed", Operation.ORIGINAL, Reason.EXECUTION),
        (PLAIN, -32602, "Unknown tool", Operation.CREATE, Reason.INVALID),
        (List(request_id=1), -32602, "Invalid cursor", Operation.LIST, Reason.INVALID),
    ],
)  # fmt: skip
def test_an_error_tells_which_exchange_it_ends_and_why(
    asked: Question, code: int, text: str, operation: Operation, reason: Reason
) -> None:
    document = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": text}}
    reply = CODEC.decode_reply(document, asked)
    assert isinstance(reply, Failure)
    assert (reply.operation, reply.reason) == (operation, reason)


def creation(task: Any) -> dict[str, Any]:
    return envelope(1, "tools/call", {"name": "work", "task": task})


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (creation(None), "task must be an object, not None"),
        (creation("x"), "task must be an object, not 'x'"),
        (creation({"ttl": None}), "ttl must be a number of milliseconds >= 0, not None"),
        (creation({"ttl": -1}), "ttl must be a number of milliseconds >= 0, not -1"),
        (creation({"ttl": True}), "ttl must be a number of milliseconds >= 0, not True"),
        (envelope(1, "tools/call", {"task": {}}), "params.name must be a string, not None"),
        (envelope(1, "tasks/get", []), "params must be an object"),
        (envelope(1, "tasks/get", {}), "taskId must be a string, not None"),
        (envelope(1, "tasks/cancel", {"taskId": 5}), "taskId must be a string, not 5"),
        (envelope(1, "tasks/get", {"taskId": "x", "_meta": {"tasksim/hold": 5}}),
         "tasksim/hold must be an object, not 5"),
        (envelope(1, "tasks/get", {"taskId": "x", "_meta": {"tasksim/hold": {"ms": "5"}}}),
         "tasksim/hold.ms must be a number"),
        ({"jsonrpc": "2.0", "id": None, "method": "tasks/get"}, "id must be a string"),
    ],
)  # fmt: skip
def test_a_malformed_request_is_refused_with_the_reason(
    document: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidMessageError, match=complaint):
        CODEC.decode_request(document)


@pytest.mark.parametrize("method", ["tasks/delete", "tasks/update", "resources/read", None, {}])
def test_an_unknown_method_is_told_apart(method: Any) -> None:
    with pytest.raises(UnknownMethodError, match="Method not found: "):
        CODEC.decode_request(envelope(1, method, {"taskId": "x", "task": {}}))


def test_a_cursor_that_cannot_have_been_issued_is_invalid() -> None:
    with pytest.raises(InvalidCursorError):
        CODEC.decode_request(envelope(1, "tasks/list", {"cursor": 5}))


@pytest.mark.parametrize(
    ("asked", "result"),
    [
        (GET, None), (GET, {}), (GET, {**WORKING, "ttl": "x"}), (GET, {**WORKING, "status": []}),
        (GET, {**WORKING, "status": "submitted"}), (GET, {**WORKING, "status": "unknown"}),
        (GET, {**WORKING, "pollInterval": -1}), (CANCEL, {}), (CREATE, {"task": None}),
        (CREATE, {"task": {**WORKING, "taskId": 5}}), (CREATE, {"task": {"taskId": ID}}),
        (List(request_id=1), {}), (List(request_id=1), {"tasks": [5]}),
        (List(request_id=1), {"tasks": [{"taskId": ID, "status": "unknown"}]}),
    ],
)  # fmt: skip
def test_an_answer_without_the_form_of_one_is_refused(asked: Question, result: Any) -> None:
    with pytest.raises(InvalidMessageError):
        CODEC.decode_reply(answered(1, result), asked)


def test_requests_about_tasks_are_told_from_others() -> None:
    assert is_task_request(creation({}))
    assert all(
        is_task_request(envelope(1, f"tasks/{verb}", {}))
        for verb in ("get", "result", "list", "cancel")
    )
    assert not is_task_request(envelope(1, "tasks/delete", {}))
    assert not is_task_request(envelope(1, "tools/call", {"name": "work"}))
    assert not is_task_request(envelope(1, "tools/call", ["task"]))
    assert not is_task_request(envelope(1, "elicitation/create", {"task": {}}))
    assert is_task_request(envelope(1, "elicitation/create", {"task": {}}), ["elicitation/create"])


def test_what_the_receiver_can_do_has_empty_objects_for_leaves() -> None:
    assert CAPABILITIES == {
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    }
