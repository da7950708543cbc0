"""Parts of documents that the dialects have in common.

Rule: what more than one dialect writes stands here; what one alone writes stands in its module.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tasksim.protocol.dialects.fields import (
    RELATED_KEY,
    Document,
    draw_of,
    drawn,
    is_whole,
    meta_of,
    ns_of,
    object_of,
    related,
    request_id_of,
    shown,
    string_of,
    task_id_of,
    without_meta,
)
from tasksim.protocol.errors import (
    InvalidCursorError,
    InvalidMessageError,
    RateLimitedError,
    StoreFullError,
    TooManyConnectionsError,
    TooManyTasksError,
    UnknownMethodError,
)
from tasksim.protocol.messages import (
    Call,
    Failure,
    InputAnswer,
    InputRequest,
    List,
    Question,
    RequestId,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.units import whole_ms_up

CALL: Final = "tools/call"
GET: Final = "tasks/get"
RESULT: Final = "tasks/result"
LIST: Final = "tasks/list"
CANCEL: Final = "tasks/cancel"
STATUS: Final = "notifications/tasks/status"

CURSOR_LENGTH_MAX: Final = 1024  # characters
PROMPTS_END: Final = 1 << 12  # a requester keeps a bit for each of a task's prompts
PUSH_ID: Final = 0  # a view that nobody asked for answers no request
_LIMITS: Final = (TooManyTasksError, StoreFullError, TooManyConnectionsError, RateLimitedError)

# Envelopes.


def request(request_id: RequestId, method: str, params: Document) -> Document:
    """A request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def answer(request_id: RequestId, result: Document) -> Document:
    """A successful answer."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def notification(method: str, params: Document) -> Document:
    """A notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def unknown_method(method: Any) -> UnknownMethodError:
    """What to raise over a method that the dialect does not have."""
    return UnknownMethodError(
        f"Method not found: {method[:80] if isinstance(method, str) else shown(method)}"
    )


# Calls.


def call_params(call: Call) -> Document:
    """Parameters of the request that a task wraps."""
    if call.method == CALL:
        return {"name": call.tool, "arguments": dict(call.arguments)}
    return dict(call.arguments)


def call_of(method: Any, params: Mapping[str, Any]) -> Call:
    """What a task wraps: a tool call, or any other request with its parameters."""
    if method != CALL:
        arguments = without_meta(params, "params")
        return Call(method=string_of(method, "method"), tool="", arguments=arguments)
    return Call(
        tool=string_of(params.get("name"), "params.name"),
        arguments=object_of(params.get("arguments", {}), "arguments"),
    )


# Lists.


def list_request(message: List) -> Document:
    """A request for a page of tasks."""
    page: Document = {} if message.cursor is None else {"cursor": message.cursor}
    return request(message.request_id, LIST, page)


def cursor_of(params: Mapping[str, Any]) -> str | None:
    """A cursor as it came; whether it was issued is the receiver's question (R39)."""
    cursor = params.get("cursor")
    if cursor is None or (isinstance(cursor, str) and len(cursor) <= CURSOR_LENGTH_MAX):
        return cursor
    raise InvalidCursorError


def page_result(page: TaskPage, task_of: Callable[[TaskView], Document]) -> Document:
    """A page of tasks, each as *task_of* writes it."""
    result: Document = {"tasks": [task_of(view) for view in page.tasks]}
    if page.next_cursor is not None:
        result["nextCursor"] = page.next_cursor
    return result


def page_of(
    result: Mapping[str, Any],
    asked: List,
    view_of: Callable[[Mapping[str, Any], str], TaskView],
) -> TaskPage:
    """Page of tasks, each as *view_of* reads it, whom the page tells whose it is."""
    tasks, cursor = result.get("tasks"), result.get("nextCursor")
    if not isinstance(tasks, list) or not (cursor is None or isinstance(cursor, str)):
        raise InvalidMessageError(f"tasks is {shown(tasks)}, nextCursor is {shown(cursor)}")
    found = [object_of(item, "a task of the list") for item in tasks]
    return TaskPage(
        request_id=asked.request_id,
        tasks=tuple(view_of(task, task_id_of(task)) for task in found),
        next_cursor=cursor,
        attempt=asked.attempt,
    )


# Input.


def input_request(message: InputRequest, key: str = RELATED_KEY) -> Document:
    """The receiver's own request; *key* is that of related-task metadata."""
    params = {**message.params, "_meta": related(message.task_id, key)}
    return request(message.request_id, message.method, params)


def input_request_of(document: Mapping[str, Any], key: str = RELATED_KEY) -> InputRequest | None:
    """The receiver's request for input, or None when the document is something else (R15)."""
    params = document.get("params")
    about = meta_of(params).get(key)
    if document.get("method") is None or "id" not in document or about is None:
        return None
    request_id, task_id = request_id_of(document), task_id_of(object_of(about, key))
    return InputRequest(
        request_id=request_id,
        task_id=task_id,
        ordinal=ordinal_of(request_id, task_id, 0),
        method=string_of(document["method"], "method"),
        params=without_meta(params, "params"),
    )


def input_answer(message: InputAnswer, key: str = RELATED_KEY) -> Document:
    """Answer to the receiver's own request."""
    meta = {**related(message.task_id, key), **drawn(message.draw, message.attempt)}
    return answer(message.request_id, {**message.payload, "_meta": meta})


def input_answer_of(document: Mapping[str, Any], key: str = RELATED_KEY) -> InputAnswer | None:
    """The answer to a request for input, or None when the document is something else."""
    result = document.get("result")
    about = meta_of(result).get(key)
    if "method" in document or about is None:
        return None
    draw, attempt = draw_of(meta_of(result))
    return InputAnswer(
        request_id=request_id_of(document),
        task_id=task_id_of(object_of(about, key)),
        payload=without_meta(result, "result"),
        draw=draw,
        attempt=attempt,
    )


def ordinal_of(request_id: RequestId, task_id: str, otherwise: int) -> int:
    """Which of the task's prompts it is: our receivers put that behind the task's id."""
    if not isinstance(request_id, str):
        return otherwise
    head, mark, tail = request_id.rpartition("#")
    is_ours = mark and head == task_id and tail.isascii() and tail.isdigit() and len(tail) <= 4
    return int(tail) if is_ours and int(tail) < PROMPTS_END else otherwise


# Errors.


class Fault(NamedTuple):
    """What an error answer says."""

    code: int
    message: str
    retry_after_ns: int | None


def failure_document(message: Failure, meta: Mapping[str, Any]) -> Document:
    """An error answer, with metadata where there is any."""
    data: Document = {}
    if message.retry_after_ns is not None:
        data["retryAfter"] = whole_ms_up(message.retry_after_ns)
    if meta:
        data["_meta"] = dict(meta)
    error: Document = {"code": message.code, "message": message.message}
    if data:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": message.request_id, "error": error}


def fault_of(value: Any) -> Fault:
    """What stands under ``error``; a message that is no text is quoted."""
    error = object_of(value, "error")
    code, message, data = error.get("code"), error.get("message", ""), error.get("data")
    if not is_whole(code):
        raise InvalidMessageError(f"error.code is {shown(code)}")
    retry_after = data.get("retryAfter") if isinstance(data, dict) else None
    return Fault(
        code,
        message if isinstance(message, str) else shown(message),
        None if retry_after is None else ns_of(retry_after, "retryAfter"),
    )


def failure_of(asked: Question, fault: Fault, operation: Operation, reason: Reason) -> Failure:
    """The answer that a fault is."""
    return Failure(
        request_id=asked.request_id,
        code=fault.code,
        message=fault.message,
        operation=operation,
        reason=reason,
        task_id=None if isinstance(asked, List) else asked.task_id,
        retry_after_ns=fault.retry_after_ns,
        attempt=asked.attempt,
    )


def limit_reason(message: str) -> Reason:
    """Which limit an error speaks of, if it does."""
    for limit in _LIMITS:
        if limit.text in message:
            return limit.reason
    if "concurrent" in message:
        return Reason.CONCURRENCY
    return Reason.RATE_LIMITED if "Rate limit" in message else Reason.INTERNAL
