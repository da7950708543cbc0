"""D1: tasks as SEP-1686 proposed them.

Rule 1: milliseconds are known here only. Advertised intervals round up, granted retention rounds
down, a requested retention rounds up.
Rule 2: everything about one task carries related-task metadata (R26, R45); error answers carry it
in ``error.data``. The SEP's own examples leave it out of creation and of errors: ``strict`` writes
exactly those (C6).
Rule 3: what the SEP leaves to the future is written as its examples have it (parents and children)
or under keys of our own (milestones, how long a get may be held); a peer may ignore all of it.

Source: SEP-1686 sections 3, 6 and 7; shapes in full, texts to the letter.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tasksim.protocol.dialects.fields import (
    ORDINAL_END,
    RELATED_KEY,
    Document,
    draw_of,
    drawn,
    held,
    hold_of,
    is_whole,
    meta_of,
    ns_of,
    object_of,
    related,
    request_id_of,
    shown,
    string_of,
    task_id_of,
)
from tasksim.protocol.dialects.parts import (
    CALL,
    GET,
    LIST,
    PUSH_ID,
    RESULT,
    STATUS,
    Fault,
    answer,
    call_of,
    call_params,
    cursor_of,
    failure_document,
    failure_of,
    fault_of,
    input_answer,
    input_answer_of,
    input_request,
    input_request_of,
    limit_reason,
    list_request,
    notification,
    page_of,
    page_result,
    request,
    unknown_method,
)
from tasksim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    InvalidMessageError,
)
from tasksim.protocol.messages import (
    OPERATION_OF,
    Call,
    Cancel,
    Child,
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
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status
from tasksim.units import whole_ms_down, whole_ms_up

DELETE: Final = "tasks/delete"
CREATED: Final = "notifications/tasks/created"
CANCELLED: Final = "notifications/cancelled"
TASK_KEY: Final = "modelcontextprotocol.io/task"
MILESTONE_KEY: Final = "tasksim/milestone"

# C1: capabilities by request category, boolean leaves.
CAPABILITIES: Final[Document] = {"tasks": {"requests": {"tools": {"call": True}}}}

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
                return notification(CREATED, params)
            case Cancel():
                meta = {**related(message.task_id), **drawn(message.draw, message.attempt)}
                return notification(CANCELLED, {"requestId": message.request_id, "_meta": meta})
            case InputRequest():
                return input_request(message)
            case InputAnswer():
                return input_answer(message)
            case Create():
                return self._encode_create(message)
            case Get() | GetResult() | Delete() | List():
                return _encode_question(message)
            case Failure():
                is_related = message.task_id is not None and not self.strict
                return failure_document(
                    message, related(message.task_id or "") if is_related else {}
                )
            case Pushed():
                return notification(STATUS, _told(message.view))
            case TaskView(operation=Operation.GET) | TaskPage() | Deleted() | Result():
                return answer(message.request_id, _result_of(message))
            case _:
                raise TypeError(f"SEP-1686 has no message {message}")

    def _encode_create(self, message: Create) -> Document:
        meta: Document = {}
        if message.augmented:
            task: Document = {"taskId": message.task_id}
            if message.keep_alive_ns is not None:
                task["keepAlive"] = whole_ms_up(message.keep_alive_ns)
            if message.parent_id is not None:
                task["parentTaskId"] = message.parent_id
            meta[TASK_KEY] = task
            if not self.strict:
                meta |= related(message.task_id)
        meta |= drawn(message.draw, message.attempt)
        params = call_params(message.call)
        if meta:
            params["_meta"] = meta
        return request(message.request_id, message.call.method, params)

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
            return _decode_create(request_id, method, params)
        if method == LIST:
            return List(request_id=request_id, cursor=cursor_of(params))
        if method not in (GET, RESULT, DELETE):
            raise unknown_method(method)
        task_id, meta = task_id_of(params), meta_of(params)
        draw, attempt = draw_of(meta)
        if method == GET:
            return Get(
                request_id=request_id, task_id=task_id, draw=draw, attempt=attempt,
                hold_ns=hold_of(meta),
            )  # fmt: skip
        kind: type[GetResult | Delete] = GetResult if method == RESULT else Delete
        return kind(request_id=request_id, task_id=task_id, draw=draw, attempt=attempt)

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
        return input_request_of(document)

    def decode_input_answer(self, document: Mapping[str, Any]) -> InputAnswer | None:
        """The answer to a request for input, or None when the document is something else."""
        return input_answer_of(document)

    def decode_created(self, document: Mapping[str, Any]) -> Created | None:
        """The created notification, or None when the document is something else."""
        if document.get("method") != CREATED:
            return None
        about = meta_of(document.get("params")).get(RELATED_KEY)
        return Created(task_id=task_id_of(object_of(about, RELATED_KEY)))

    def decode_pushed(self, document: Mapping[str, Any]) -> Pushed | None:
        """What the receiver says of a task unasked, or None when the document is something else."""
        if document.get("method") != STATUS:
            return None
        params = object_of(document.get("params"), "params")
        asked = Get(request_id=PUSH_ID, task_id=task_id_of(params))
        view = _decode_view(params, asked, Operation.PUSH)
        return Pushed(task_id=view.task_id, view=view)

    def decode_reply(self, document: Mapping[str, Any], request: Question) -> Reply:
        """Answer to *request*; InvalidMessageError when it has not the form of one.

        A successful answer to a creation is the original request's own result (N09).
        """
        if "error" in document:
            return _decode_failure(fault_of(document["error"]), request)
        result = object_of(document.get("result"), "result")
        if isinstance(request, Get):
            return _decode_view(result, request)
        if isinstance(request, List):
            return page_of(result, request, lambda task, task_id: _decode_view(
                task, Get(request_id=request.request_id, task_id=task_id)
            ))  # fmt: skip
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
        return list_request(message)
    meta = {**related(message.task_id), **drawn(message.draw, message.attempt)}
    if isinstance(message, Get):
        meta |= held(message.hold_ns)
    params: Document = {"taskId": message.task_id, "_meta": meta}
    return request(message.request_id, METHOD_OF[type(message)], params)


def _result_of(message: TaskView | TaskPage | Deleted | Result) -> Document:
    """What stands under ``result``; a page is about many tasks and so related to none (C6)."""
    match message:
        case TaskView():
            return _told(message)
        case TaskPage():
            return page_result(message, _view)
        case Deleted():
            return {"_meta": related(message.task_id)}
        case Result():
            meta = {**meta_of(message.payload), **related(message.task_id)}
            return {**message.payload, "_meta": meta}


def _told(message: TaskView) -> Document:
    """What a get is answered with, and what is told unasked."""
    meta = related(message.task_id)
    if message.milestone:
        meta[MILESTONE_KEY] = message.milestone
    return {**_view(message), "_meta": meta}


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
    if message.parent_id is not None:
        view["parentTaskId"] = message.parent_id
    if message.children:
        view["childTasks"] = [_child(child) for child in message.children]
    return view


def _child(child: Child) -> Document:
    if child.call.method != CALL:
        raise TypeError(f"SEP-1686 knows children that are tool calls only, not {child.call}")
    arguments = dict(child.call.arguments)
    return {"taskId": child.task_id, "toolName": child.call.tool, "arguments": arguments}


def _decode_child(value: Any) -> Child:
    child = object_of(value, "a child task")
    return Child(
        task_id=task_id_of(child),
        call=Call(
            tool=string_of(child.get("toolName"), "toolName"),
            arguments=object_of(child.get("arguments", {}), "arguments"),
        ),
    )


def _parent_of(holder: Mapping[str, Any]) -> str | None:
    return task_id_of(holder, "parentTaskId") if "parentTaskId" in holder else None


def _decode_create(request_id: RequestId, method: Any, params: Mapping[str, Any]) -> Create:
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
        call=call_of(method, params),
        draw=draw,
        attempt=attempt,
        parent_id=_parent_of(task),
    )


def _decode_view(
    result: Mapping[str, Any], request: Get, operation: Operation = Operation.GET
) -> TaskView:
    name = result.get("status")
    status = _STATUS_OF.get(name) if isinstance(name, str) else None
    if status is None:
        raise InvalidMessageError(f"status is {shown(name)}")
    keep_alive, interval = result.get("keepAlive"), result.get("pollFrequency")
    error, children = result.get("error"), result.get("childTasks", [])
    if not isinstance(children, list):
        raise InvalidMessageError(f"childTasks is {shown(children)}")
    return TaskView(
        request_id=request.request_id,
        task_id=request.task_id,
        status=status,
        keep_alive_ns=None if keep_alive is None else ns_of(keep_alive, "keepAlive"),
        poll_interval_ns=None if interval is None else ns_of(interval, "pollFrequency"),
        error=error if isinstance(error, str) else None,
        attempt=request.attempt,
        operation=operation,
        milestone=_milestone_of(meta_of(result)),
        parent_id=_parent_of(result),
        children=tuple(_decode_child(child) for child in children),
    )


def _milestone_of(meta: Mapping[str, Any]) -> int:
    milestone = meta.get(MILESTONE_KEY, 0)
    if is_whole(milestone) and 0 <= milestone < ORDINAL_END:
        return milestone
    raise InvalidMessageError(f"{MILESTONE_KEY} must be a whole number, not {shown(milestone)}")


def _decode_failure(fault: Fault, request: Question) -> Failure:
    is_refused = fault.retry_after_ns is not None
    operation = _operation_failed(request, fault.code, refused=is_refused)
    return failure_of(request, fault, operation, _reason(operation, fault.code, fault.message))


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
        return limit_reason(message)
    if operation is Operation.CREATE:
        return Reason.DUPLICATE if "already exists" in message else Reason.INVALID
    if operation is Operation.LIST or "Cannot delete" in message:
        return Reason.INVALID
    if "expired" in message:
        return Reason.EXPIRED
    if "not 'completed'" in message:
        return Reason.NOT_COMPLETED
    return Reason.NOT_FOUND
