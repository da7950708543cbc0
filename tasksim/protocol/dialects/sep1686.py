"""D1: tasks as SEP-1686 proposed them.

Rule 1: milliseconds are known here only. Advertised intervals round up, granted retention rounds
down, a requested retention rounds up.
Rule 2: everything about one task carries related-task metadata (R26, R45); error answers carry it
in ``error.data``. The SEP's own examples leave it out of creation and of errors: ``strict`` writes
exactly those (C6).

Source: SEP-1686 sections 3, 6 and 7; shapes in full, texts to the letter.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

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
    task_id_of,
    without_meta,
)
from tasksim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    InvalidCursorError,
    InvalidMessageError,
    UnknownMethodError,
)
from tasksim.protocol.messages import (
    OPERATION_OF,
    Acknowledged,
    Call,
    Cancel,
    CancelTask,
    Create,
    Created,
    Delete,
    Deleted,
    Failure,
    Get,
    GetResult,
    InputAnswer,
    InputRequest,
    List,
    Message,
    Pushed,
    Question,
    Reply,
    RequestId,
    Result,
    TaskPage,
    TaskView,
    Update,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status
from tasksim.units import whole_ms_down, whole_ms_up

CALL: Final = "tools/call"
GET: Final = "tasks/get"
RESULT: Final = "tasks/result"
LIST: Final = "tasks/list"
DELETE: Final = "tasks/delete"
CREATED: Final = "notifications/tasks/created"
CANCELLED: Final = "notifications/cancelled"
TASK_KEY: Final = "modelcontextprotocol.io/task"

# C1: capabilities by request category, boolean leaves.
CAPABILITIES: Final[Document] = {"tasks": {"requests": {"tools": {"call": True}}}}

CURSOR_LENGTH_MAX: Final = 1024  # characters
METHOD_OF: Final[dict[type[Get | GetResult | Delete], str]] = {
    Get: GET,
    GetResult: RESULT,
    Delete: DELETE,
}
_STATUS_OF: Final = {status.name.lower(): status for status in Status}


def is_task_request(document: Mapping[str, Any], methods: Collection[str] = (CALL,)) -> bool:
    """Whether a request is about tasks: one of the tasks/* methods, or one of *methods*, augmented.

    A request of another method is run as if it were not augmented (R04).
    """
    method = document.get("method")
    if method in (GET, RESULT, LIST, DELETE):  # a peer may send what no set can hold
        return True
    return method in tuple(methods) and TASK_KEY in meta_of(document.get("params"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """Messages to JSON documents and back."""

    strict: bool = False

    # Outwards.

    def encode(self, message: Message) -> Document:
        """JSON-RPC document of any message."""
        match message:
            case Created():
                params: Document = {"_meta": related(message.task_id)}
                return {"jsonrpc": "2.0", "method": CREATED, "params": params}
            case Cancel():
                meta = {**related(message.task_id), **drawn(message.draw, message.attempt)}
                params = {"requestId": message.request_id, "_meta": meta}
                return {"jsonrpc": "2.0", "method": CANCELLED, "params": params}
            case InputRequest():
                params = {**message.params, "_meta": related(message.task_id)}
                return _request(message.request_id, message.method, params)
            case InputAnswer():
                meta = {**related(message.task_id), **drawn(message.draw, message.attempt)}
                return _answer(message.request_id, {**message.payload, "_meta": meta})
            case Create():
                return self._encode_create(message)
            case Get() | GetResult() | Delete() | List():
                return _encode_question(message)
            case Failure():
                return self._encode_failure(message)
            case CancelTask() | Update() | Acknowledged() | Pushed():
                raise TypeError(f"SEP-1686 has no message {type(message).__name__}")
            case _:
                return _answer(message.request_id, _result_of(message))

    def _encode_create(self, message: Create) -> Document:
        meta: Document = {}
        if message.augmented:
            task: Document = {"taskId": message.task_id}
            if message.keep_alive_ns is not None:
                task["keepAlive"] = whole_ms_up(message.keep_alive_ns)
            meta[TASK_KEY] = task
            if not self.strict:
                meta |= related(message.task_id)
        meta |= drawn(message.draw, message.attempt)
        call = message.call
        if call.method == CALL:
            params: Document = {"name": call.tool, "arguments": dict(call.arguments)}
        else:
            params = dict(call.arguments)
        if meta:
            params["_meta"] = meta
        return _request(message.request_id, call.method, params)

    def _encode_failure(self, message: Failure) -> Document:
        data: Document = {}
        if message.retry_after_ns is not None:
            data["retryAfter"] = whole_ms_up(message.retry_after_ns)
        if message.task_id is not None and not self.strict:
            data["_meta"] = related(message.task_id)
        error: Document = {"code": message.code, "message": message.message}
        if data:
            error["data"] = data
        return {"jsonrpc": "2.0", "id": message.request_id, "error": error}

    # Inwards.

    def decode_request(self, document: Mapping[str, Any]) -> Question:
        """Request about a task; InvalidMessageError or UnknownMethodError when it is none.

        Any request that asks to be run as a task is one (R05); whether the receiver does so is
        the receiver's question.
        """
        request_id = request_id_of(document)
        method = document.get("method")
        params = object_of(document.get("params", {}), "params")
        if method == CALL or TASK_KEY in meta_of(params):
            return _decode_create(request_id, str(method), params)
        if method == LIST:
            return List(request_id=request_id, cursor=_cursor(params))
        if method not in (GET, RESULT, DELETE):
            raise UnknownMethodError(f"Method not found: {method}")
        draw, attempt = draw_of(meta_of(params))
        kind: type[Get | GetResult | Delete] = Get
        if method != GET:
            kind = GetResult if method == RESULT else Delete
        return kind(request_id=request_id, task_id=task_id_of(params), draw=draw, attempt=attempt)

    def decode_cancel(self, document: Mapping[str, Any]) -> Cancel | None:
        """The cancellation of a request, or None when the document is something else.

        The request's id is what counts; the related task, if it is told, is only noted (N11).
        """
        if document.get("method") != CANCELLED:
            return None
        params = object_of(document.get("params"), "params")
        meta = meta_of(params)
        about = meta.get(RELATED_KEY)
        draw, attempt = draw_of(meta)
        return Cancel(
            request_id=request_id_of({"id": params.get("requestId")}),
            task_id=task_id_of(about) if isinstance(about, dict) else "",
            draw=draw,
            attempt=attempt,
        )

    def decode_input_request(self, document: Mapping[str, Any]) -> InputRequest | None:
        """The receiver's request for input, or None when the document is something else (R15)."""
        params = document.get("params")
        about = meta_of(params).get(RELATED_KEY)
        if document.get("method") is None or "id" not in document or about is None:
            return None
        return InputRequest(
            request_id=request_id_of(document),
            task_id=task_id_of(object_of(about, RELATED_KEY)),
            method=str(document["method"]),
            params=without_meta(params, "params"),
        )

    def decode_input_answer(self, document: Mapping[str, Any]) -> InputAnswer | None:
        """The answer to a request for input, or None when the document is something else."""
        result = document.get("result")
        about = meta_of(result).get(RELATED_KEY)
        if "method" in document or about is None:
            return None
        draw, attempt = draw_of(meta_of(result))
        return InputAnswer(
            request_id=request_id_of(document),
            task_id=task_id_of(object_of(about, RELATED_KEY)),
            payload=without_meta(result, "result"),
            draw=draw,
            attempt=attempt,
        )

    def decode_created(self, document: Mapping[str, Any]) -> Created | None:
        """The created notification, or None when the document is something else."""
        if document.get("method") != CREATED:
            return None
        about = meta_of(document.get("params")).get(RELATED_KEY)
        return Created(task_id=task_id_of(object_of(about, RELATED_KEY)))

    def decode_reply(self, document: Mapping[str, Any], request: Question) -> Reply:
        """Answer to *request*; InvalidMessageError when it has not the form of one.

        A successful answer to a creation is the original request's own result (N09).
        """
        if "error" in document:
            return _decode_failure(object_of(document["error"], "error"), request)
        result = object_of(document.get("result"), "result")
        if isinstance(request, Get):
            return _decode_view(result, request)
        if isinstance(request, List):
            return _decode_page(result, request)
        if isinstance(request, Delete):
            return Deleted(
                request_id=request.request_id, task_id=request.task_id, attempt=request.attempt
            )
        is_creation = isinstance(request, Create)
        return Result(
            request_id=request.request_id,
            task_id=request.task_id,
            payload=result,
            operation=Operation.ORIGINAL if is_creation else Operation.RESULT,
            attempt=request.attempt,
        )


def _encode_question(message: Get | GetResult | Delete | List) -> Document:
    if isinstance(message, List):
        page: Document = {} if message.cursor is None else {"cursor": message.cursor}
        return _request(message.request_id, LIST, page)
    meta = {**related(message.task_id), **drawn(message.draw, message.attempt)}
    params: Document = {"taskId": message.task_id, "_meta": meta}
    return _request(message.request_id, METHOD_OF[type(message)], params)


def _result_of(message: TaskView | TaskPage | Deleted | Result) -> Document:
    """What stands under ``result``; a page is about many tasks and so related to none (C6)."""
    match message:
        case TaskView():
            return {**_view(message), "_meta": related(message.task_id)}
        case TaskPage():
            page: Document = {"tasks": [_view(view) for view in message.tasks]}
            if message.next_cursor is not None:
                page["nextCursor"] = message.next_cursor
            return page
        case Deleted():
            return {"_meta": related(message.task_id)}
        case Result():
            meta = {**meta_of(message.payload), **related(message.task_id)}
            return {**message.payload, "_meta": meta}


def _request(request_id: RequestId, method: str, params: Document) -> Document:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def _answer(request_id: RequestId, result: Document) -> Document:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _view(message: TaskView) -> Document:
    keep_alive_ns = message.keep_alive_ns
    view: Document = {
        "taskId": message.task_id,
        "status": message.status.name.lower(),
        "keepAlive": None if keep_alive_ns is None else whole_ms_down(keep_alive_ns),  # R19
    }
    if message.poll_interval_ns is not None:
        view["pollFrequency"] = whole_ms_up(message.poll_interval_ns)
    if message.error is not None:
        view["error"] = message.error
    return view


def _decode_create(request_id: RequestId, method: str, params: Mapping[str, Any]) -> Create:
    meta = meta_of(params)
    task = object_of(meta.get(TASK_KEY), TASK_KEY)
    keep_alive_ns = None
    if "keepAlive" in task:
        keep_alive_ns = ns_of(task["keepAlive"], "keepAlive")
    draw, attempt = draw_of(meta)
    return Create(
        request_id=request_id,
        task_id=task_id_of(task),
        keep_alive_ns=keep_alive_ns,
        call=_call(method, params),
        draw=draw,
        attempt=attempt,
    )


def _call(method: str, params: Mapping[str, Any]) -> Call:
    """What a task wraps: a tool call, or any other request with its parameters."""
    if method != CALL:
        return Call(method=method, tool="", arguments=without_meta(params, "params"))
    tool = params.get("name")
    if not isinstance(tool, str):
        raise InvalidMessageError(f"params.name must be a string, not {shown(tool)}")
    return Call(tool=tool, arguments=object_of(params.get("arguments", {}), "arguments"))


def _cursor(params: Mapping[str, Any]) -> str | None:
    """A cursor as it came; whether it was issued is the receiver's question (R39)."""
    cursor = params.get("cursor")
    if cursor is None or (isinstance(cursor, str) and len(cursor) <= CURSOR_LENGTH_MAX):
        return cursor
    raise InvalidCursorError


def _decode_page(result: Mapping[str, Any], request: List) -> TaskPage:
    tasks, cursor = result.get("tasks"), result.get("nextCursor")
    if not isinstance(tasks, list) or not (cursor is None or isinstance(cursor, str)):
        raise InvalidMessageError(f"tasks is {shown(tasks)}, nextCursor is {shown(cursor)}")
    views = []
    for item in tasks:
        view = object_of(item, "a task of the list")
        get = Get(request_id=request.request_id, task_id=task_id_of(view))
        views.append(_decode_view(view, get))
    return TaskPage(
        request_id=request.request_id,
        tasks=tuple(views),
        next_cursor=cursor,
        attempt=request.attempt,
    )


def _decode_view(result: Mapping[str, Any], request: Get) -> TaskView:
    status = _STATUS_OF.get(str(result.get("status")))
    if status is None:
        raise InvalidMessageError(f"status is {shown(result.get('status'))}")
    keep_alive = result.get("keepAlive")
    interval = result.get("pollFrequency")
    error = result.get("error")
    return TaskView(
        request_id=request.request_id,
        task_id=request.task_id,
        status=status,
        keep_alive_ns=None if keep_alive is None else ns_of(keep_alive, "keepAlive"),
        poll_interval_ns=None if interval is None else ns_of(interval, "pollFrequency"),
        error=error if isinstance(error, str) else None,
        attempt=request.attempt,
    )


def _decode_failure(error: Mapping[str, Any], request: Question) -> Failure:
    code, message = error.get("code"), str(error.get("message", ""))
    if not is_whole(code):
        raise InvalidMessageError(f"error.code is {shown(code)}")
    data = error.get("data")
    retry_after = data.get("retryAfter") if isinstance(data, dict) else None
    operation = _operation_failed(request, code, refused=retry_after is not None)
    return Failure(
        request_id=request.request_id,
        code=code,
        message=message,
        operation=operation,
        reason=_reason(operation, code, message),
        task_id=None if isinstance(request, List) else request.task_id,
        retry_after_ns=None if retry_after is None else ns_of(retry_after, "retryAfter"),
        attempt=request.attempt,
    )


def _operation_failed(request: Question, code: int, *, refused: bool) -> Operation:
    """Which exchange an error ends; a creation that was admitted fails with its work (C4)."""
    if not isinstance(request, Create):
        return OPERATION_OF[type(request)]
    is_refusal = refused or code != INTERNAL_ERROR
    return Operation.CREATE if is_refusal else Operation.ORIGINAL


def _reason(operation: Operation, code: int, message: str) -> Reason:
    """Cause of an error, from its code and, where the SEP gives several to one code, its text."""
    if operation is Operation.ORIGINAL:
        return Reason.EXECUTION
    if code == METHOD_NOT_FOUND:
        return Reason.UNSUPPORTED
    if code != INVALID_PARAMS:
        return _limit_reason(message)
    if operation is Operation.CREATE:
        return Reason.DUPLICATE if "already exists" in message else Reason.INVALID
    if operation is Operation.LIST or "Cannot delete" in message:
        return Reason.INVALID
    if "expired" in message:
        return Reason.EXPIRED
    if "not 'completed'" in message:
        return Reason.NOT_COMPLETED
    return Reason.NOT_FOUND


def _limit_reason(message: str) -> Reason:
    """Which limit an error with an internal code speaks of, if it does."""
    if "concurrent" in message:
        return Reason.CONCURRENCY
    if "tasks are kept" in message:
        return Reason.STORE_FULL
    return Reason.RATE_LIMITED if "Rate limit" in message else Reason.INTERNAL
