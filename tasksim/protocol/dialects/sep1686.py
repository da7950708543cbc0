"""D1: tasks as SEP-1686 proposed them.

Rule 1: milliseconds are known here only. Advertised intervals round up, granted retention rounds
down, a requested retention rounds up.
Rule 2: everything about one task carries related-task metadata (R26, R45); error answers carry it
in ``error.data``. The SEP's own examples leave it out of creation and of errors: ``strict`` writes
exactly those (C6).

Source: SEP-1686 sections 3, 6 and 7; shapes in full, texts to the letter.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

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
    Call,
    Cancel,
    Create,
    Created,
    Delete,
    Deleted,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    List,
    Message,
    Question,
    Reply,
    RequestId,
    Result,
    TaskPage,
    TaskView,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status
from tasksim.protocol.ties import TASK_BITS
from tasksim.units import ns_from_ms, whole_ms_down, whole_ms_up

Document = dict[str, Any]

CALL: Final = "tools/call"
GET: Final = "tasks/get"
RESULT: Final = "tasks/result"
LIST: Final = "tasks/list"
DELETE: Final = "tasks/delete"
CREATED: Final = "notifications/tasks/created"
CANCELLED: Final = "notifications/cancelled"
TASK_KEY: Final = "modelcontextprotocol.io/task"
RELATED_KEY: Final = "modelcontextprotocol.io/related-task"
DRAW_KEY: Final = "tasksim/draw"

# C1: capabilities by request category, boolean leaves.
CAPABILITIES: Final[Document] = {"tasks": {"requests": {"tools": {"call": True}}}}

ORDINAL_END: Final = 1 << 31
CURSOR_LENGTH_MAX: Final = 1024  # characters
TASK_ID_LENGTH_MAX: Final = 1024  # characters
KEEP_ALIVE_MS_MAX: Final = 1 << 42  # 139 years
METHOD_OF: Final[dict[type[Get | GetResult | Delete], str]] = {
    Get: GET,
    GetResult: RESULT,
    Delete: DELETE,
}
_STATUS_OF: Final = {status.name.lower(): status for status in Status}


def is_task_request(document: Mapping[str, Any]) -> bool:
    """Whether a request is about tasks: augmented, or one of the tasks/* methods."""
    method = document.get("method")
    if method in (GET, RESULT, LIST, DELETE):  # a peer may send what no set can hold
        return True
    return TASK_KEY in _meta_of(document.get("params"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """Messages to JSON documents and back."""

    strict: bool = False

    # Outwards.

    def encode(self, message: Message) -> Document:
        """JSON-RPC document of any message."""
        match message:
            case Created():
                params: Document = {"_meta": _related(message.task_id)}
                return {"jsonrpc": "2.0", "method": CREATED, "params": params}
            case Cancel():
                meta = {**_related(message.task_id), **_drawn(message.draw, message.attempt)}
                params = {"requestId": message.request_id, "_meta": meta}
                return {"jsonrpc": "2.0", "method": CANCELLED, "params": params}
            case Create():
                return self._encode_create(message)
            case Get() | GetResult() | Delete() | List():
                return _encode_question(message)
            case Failure():
                return self._encode_failure(message)
            case _:
                return _answer(message.request_id, _result_of(message))

    def _encode_create(self, message: Create) -> Document:
        task: Document = {"taskId": message.task_id}
        if message.keep_alive_ns is not None:
            task["keepAlive"] = whole_ms_up(message.keep_alive_ns)
        meta: Document = {TASK_KEY: task}
        if not self.strict:
            meta |= _related(message.task_id)
        meta |= _drawn(message.draw, message.attempt)
        call = message.call
        params = {"name": call.tool, "arguments": dict(call.arguments), "_meta": meta}
        return _request(message.request_id, CALL, params)

    def _encode_failure(self, message: Failure) -> Document:
        data: Document = {}
        if message.retry_after_ns is not None:
            data["retryAfter"] = whole_ms_up(message.retry_after_ns)
        if message.task_id is not None and not self.strict:
            data["_meta"] = _related(message.task_id)
        error: Document = {"code": message.code, "message": message.message}
        if data:
            error["data"] = data
        return {"jsonrpc": "2.0", "id": message.request_id, "error": error}

    # Inwards.

    def decode_request(self, document: Mapping[str, Any]) -> Question:
        """Request about a task; InvalidMessageError or UnknownMethodError when it is none."""
        request_id = _request_id(document)
        method = document.get("method")
        params = _object(document.get("params", {}), "params")
        if method == CALL:
            return _decode_create(request_id, params)
        if method == LIST:
            return List(request_id=request_id, cursor=_cursor(params))
        if method not in (GET, RESULT, DELETE):
            raise UnknownMethodError(f"Method not found: {method}")
        draw, attempt = _draw(_meta_of(params))
        kind: type[Get | GetResult | Delete] = Get
        if method != GET:
            kind = GetResult if method == RESULT else Delete
        return kind(request_id=request_id, task_id=_task_id(params), draw=draw, attempt=attempt)

    def decode_cancel(self, document: Mapping[str, Any]) -> Cancel | None:
        """The cancellation of a request, or None when the document is something else.

        The request's id is what counts; the related task, if it is told, is only noted (N11).
        """
        if document.get("method") != CANCELLED:
            return None
        params = _object(document.get("params"), "params")
        meta = _meta_of(params)
        related = meta.get(RELATED_KEY)
        draw, attempt = _draw(meta)
        return Cancel(
            request_id=_request_id({"id": params.get("requestId")}),
            task_id=_task_id(related) if isinstance(related, dict) else "",
            draw=draw,
            attempt=attempt,
        )

    def decode_created(self, document: Mapping[str, Any]) -> Created | None:
        """The created notification, or None when the document is something else."""
        if document.get("method") != CREATED:
            return None
        related = _meta_of(document.get("params")).get(RELATED_KEY)
        return Created(task_id=_task_id(_object(related, RELATED_KEY)))

    def decode_reply(self, document: Mapping[str, Any], request: Question) -> Reply:
        """Answer to *request*; InvalidMessageError when it has not the form of one.

        A successful answer to a creation is the original request's own result (N09).
        """
        if "error" in document:
            return _decode_failure(_object(document["error"], "error"), request)
        result = _object(document.get("result"), "result")
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
    meta = {**_related(message.task_id), **_drawn(message.draw, message.attempt)}
    params: Document = {"taskId": message.task_id, "_meta": meta}
    return _request(message.request_id, METHOD_OF[type(message)], params)


def _result_of(message: TaskView | TaskPage | Deleted | Result) -> Document:
    """What stands under ``result``; a page is about many tasks and so related to none (C6)."""
    match message:
        case TaskView():
            return {**_view(message), "_meta": _related(message.task_id)}
        case TaskPage():
            page: Document = {"tasks": [_view(view) for view in message.tasks]}
            if message.next_cursor is not None:
                page["nextCursor"] = message.next_cursor
            return page
        case Deleted():
            return {"_meta": _related(message.task_id)}
        case Result():
            meta = {**_meta_of(message.payload), **_related(message.task_id)}
            return {**message.payload, "_meta": meta}


def _request(request_id: RequestId, method: str, params: Document) -> Document:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def _answer(request_id: RequestId, result: Document) -> Document:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _related(task_id: str) -> Document:
    return {RELATED_KEY: {"taskId": task_id}}


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


def _decode_create(request_id: RequestId, params: Mapping[str, Any]) -> Create:
    meta = _meta_of(params)
    task = _object(meta.get(TASK_KEY), TASK_KEY)
    keep_alive_ns = None
    if "keepAlive" in task:
        keep_alive_ns = _duration_ns(task["keepAlive"], "keepAlive")
    tool = params.get("name")
    if not isinstance(tool, str):
        raise InvalidMessageError(f"params.name must be a string, not {_shown(tool)}")
    draw, attempt = _draw(meta)
    return Create(
        request_id=request_id,
        task_id=_task_id(task),
        keep_alive_ns=keep_alive_ns,
        call=Call(tool=tool, arguments=_object(params.get("arguments", {}), "arguments")),
        draw=draw,
        attempt=attempt,
    )


def _drawn(draw: DrawAddress | None, attempt: int) -> Document:
    """Metadata that tells a receiver of ours where the draws of this message stand."""
    if draw is None:
        return {}
    address = {"entity": draw.entity, "replication": draw.replication, "ordinal": attempt}
    return {DRAW_KEY: address}


def _draw(meta: Mapping[str, Any]) -> tuple[DrawAddress | None, int]:
    """Draw address and attempt that a message tells; (None, 0) when it tells none."""
    if DRAW_KEY not in meta:
        return None, 0
    address = _object(meta[DRAW_KEY], DRAW_KEY)
    draw = DrawAddress(
        entity=_draw_number(address.get("entity")),
        replication=_draw_number(address.get("replication", 0)),
    )
    return draw, _draw_number(address.get("ordinal", 0), ORDINAL_END)


def _draw_number(number: Any, end: int = 1 << TASK_BITS) -> int:
    if _is_whole(number) and 0 <= number < end:
        return number
    raise InvalidMessageError(f"{DRAW_KEY} must hold whole numbers >= 0, not {_shown(number)}")


def _cursor(params: Mapping[str, Any]) -> str | None:
    """A cursor as it came; whether it was issued is the receiver's question (R39)."""
    cursor = params.get("cursor")
    if cursor is None or (isinstance(cursor, str) and len(cursor) <= CURSOR_LENGTH_MAX):
        return cursor
    raise InvalidCursorError


def _decode_page(result: Mapping[str, Any], request: List) -> TaskPage:
    tasks, cursor = result.get("tasks"), result.get("nextCursor")
    if not isinstance(tasks, list) or not (cursor is None or isinstance(cursor, str)):
        raise InvalidMessageError(f"tasks is {_shown(tasks)}, nextCursor is {_shown(cursor)}")
    views = []
    for item in tasks:
        view = _object(item, "a task of the list")
        get = Get(request_id=request.request_id, task_id=_task_id(view))
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
        raise InvalidMessageError(f"status is {_shown(result.get('status'))}")
    keep_alive = result.get("keepAlive")
    interval = result.get("pollFrequency")
    error = result.get("error")
    return TaskView(
        request_id=request.request_id,
        task_id=request.task_id,
        status=status,
        keep_alive_ns=None if keep_alive is None else _duration_ns(keep_alive, "keepAlive"),
        poll_interval_ns=None if interval is None else _duration_ns(interval, "pollFrequency"),
        error=error if isinstance(error, str) else None,
        attempt=request.attempt,
    )


def _decode_failure(error: Mapping[str, Any], request: Question) -> Failure:
    code, message = error.get("code"), str(error.get("message", ""))
    if not _is_whole(code):
        raise InvalidMessageError(f"error.code is {_shown(code)}")
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
        retry_after_ns=None if retry_after is None else _duration_ns(retry_after, "retryAfter"),
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
        return Reason.INTERNAL
    if operation is Operation.CREATE:
        return Reason.DUPLICATE if "already exists" in message else Reason.INVALID
    if operation is Operation.LIST or "Cannot delete" in message:
        return Reason.INVALID
    if "expired" in message:
        return Reason.EXPIRED
    if "not 'completed'" in message:
        return Reason.NOT_COMPLETED
    return Reason.NOT_FOUND


def _request_id(document: Mapping[str, Any]) -> RequestId:
    request_id = document.get("id")
    if isinstance(request_id, str) or _is_whole(request_id):
        return request_id
    raise InvalidMessageError(f"id must be a string or a whole number, not {_shown(request_id)}")


def _task_id(holder: Mapping[str, Any]) -> str:
    task_id = holder.get("taskId")
    if not isinstance(task_id, str):  # R06
        raise InvalidMessageError(f"taskId must be a string, not {_shown(task_id)}")
    if len(task_id) > TASK_ID_LENGTH_MAX:
        raise InvalidMessageError(f"taskId is longer than {TASK_ID_LENGTH_MAX} characters")
    return task_id


def _duration_ns(value: Any, name: str) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:  # whole numbers of any size are compared
        raise InvalidMessageError(
            f"{name} must be a number of milliseconds >= 0, not {_shown(value)}"
        )
    return ns_from_ms(min(value, KEEP_ALIVE_MS_MAX))


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidMessageError(f"{name} must be an object, not {_shown(value)}")
    return value


def _meta_of(params: Any) -> Mapping[str, Any]:
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return meta if isinstance(meta, Mapping) else {}


def _shown(value: Any) -> str:
    """The value as a message may quote it."""
    return repr(value)[:80]
