"""D2: tasks as the specification of 2025-11-25 has them.

Rule 1: milliseconds round as in D1: advertised intervals and requested retention up, granted
retention down.
Rule 2: a creation carries no id; the receiver makes it and answers with the task.
Rule 3: related-task metadata goes with input requests, their answers and answers to
``tasks/result``; not with get, list, cancel and status notifications, whose parameters tell.
Rule 4: intermediate results are not told; what cannot do without parents and children raises
TypeError.

Source: MCP specification 2025-11-25, basic/utilities/tasks.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tasksim.protocol.dialects.fields import (
    Document,
    draw_of,
    drawn,
    held,
    hold_of,
    meta_of,
    ns_of,
    object_of,
    related,
    request_id_of,
    task_id_of,
    with_meta,
)
from tasksim.protocol.dialects.minted import Names, decode_failure, epoch, task_fields, view_of
from tasksim.protocol.dialects.parts import (
    CALL,
    CANCEL,
    GET,
    LIST,
    PUSH_ID,
    RESULT,
    STATUS,
    answer,
    call_of,
    call_params,
    cursor_of,
    failure_document,
    fault_of,
    input_answer,
    input_answer_of,
    input_request,
    input_request_of,
    list_request,
    notification,
    page_of,
    page_result,
    request,
    unknown_method,
)
from tasksim.protocol.messages import (
    CancelTask,
    Create,
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
from tasksim.protocol.occurrences import Operation
from tasksim.units import whole_ms_up

TASK: Final = "task"
RELATED_KEY: Final = "io.modelcontextprotocol/related-task"
TASK_METHODS: Final = (CALL, "sampling/createMessage", "elicitation/create")
NAMES: Final = Names("ttl", "pollInterval", ns_of)

CAPABILITIES: Final[Document] = {
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
}

_METHOD_OF: Final[dict[type[Get | GetResult | CancelTask], str]] = {
    Get: GET,
    GetResult: RESULT,
    CancelTask: CANCEL,
}


def is_task_request(document: Mapping[str, Any], methods: Collection[str] = (CALL,)) -> bool:
    """Whether a request is about tasks: one of the tasks/* methods, or one of *methods*, augmented.

    A request of another method is run as if it were not augmented.
    """
    method, params = document.get("method"), document.get("params")
    if method in (GET, RESULT, LIST, CANCEL):  # a peer may send what no set can hold
        return True
    return method in tuple(methods) and isinstance(params, dict) and TASK in params


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """Messages to JSON documents and back; *stamp* says what time it is."""

    stamp: Callable[[], str] = epoch

    # Outwards.

    def encode(self, message: Message) -> Document:
        """JSON-RPC document of any message that the dialect has."""
        match message:
            case Create():
                return _encode_create(message)
            case Get() | GetResult() | CancelTask():
                return _encode_question(message)
            case List():
                return list_request(message)
            case InputRequest():
                return input_request(message, RELATED_KEY)
            case InputAnswer():
                return input_answer(message, RELATED_KEY)
            case Pushed():
                return notification(STATUS, self._task(message.view))
            case Failure():
                is_related = message.operation is Operation.RESULT and message.task_id is not None
                meta = related(message.task_id or "", RELATED_KEY) if is_related else {}
                return failure_document(message, meta)
            case (
                TaskView(operation=Operation.CREATE | Operation.GET | Operation.CANCEL)
                | TaskPage()
                | Result(operation=Operation.RESULT | Operation.ORIGINAL)
            ):
                return answer(message.request_id, self._result_of(message))
            case _:
                raise TypeError(f"MCP 2025-11-25 has no message {message}")

    def _result_of(self, message: TaskView | TaskPage | Result) -> Document:
        """What stands under ``result``."""
        match message:
            case TaskView(operation=Operation.CREATE):
                return {TASK: self._task(message)}
            case TaskView():
                return self._task(message)
            case TaskPage():
                return page_result(message, self._task)
            case Result(operation=Operation.RESULT):
                meta = {**meta_of(message.payload), **related(message.task_id, RELATED_KEY)}
                return {**message.payload, "_meta": meta}
            case Result():
                return dict(message.payload)

    def _task(self, view: TaskView) -> Document:
        return task_fields(view, NAMES, self.stamp)

    # Inwards.

    def decode_request(self, document: Mapping[str, Any]) -> Question:
        """Request about a task; InvalidMessageError or UnknownMethodError when it is none.

        A request that asks for no task is a creation that is not augmented.
        """
        request_id = request_id_of(document)
        method = document.get("method")
        params = object_of(document.get("params", {}), "params")
        if method in TASK_METHODS:
            return _decode_create(request_id, method, params)
        if method == LIST:
            return List(request_id=request_id, cursor=cursor_of(params))
        if method not in (GET, RESULT, CANCEL):
            raise unknown_method(method)
        task_id, meta = task_id_of(params), meta_of(params)
        draw, attempt = draw_of(meta)
        if method == GET:
            return Get(
                request_id=request_id, task_id=task_id, draw=draw, attempt=attempt,
                hold_ns=hold_of(meta),
            )  # fmt: skip
        kind: type[GetResult | CancelTask] = GetResult if method == RESULT else CancelTask
        return kind(request_id=request_id, task_id=task_id, draw=draw, attempt=attempt)

    def decode_input_request(self, document: Mapping[str, Any]) -> InputRequest | None:
        """The receiver's request for input, or None when the document is something else."""
        return input_request_of(document, RELATED_KEY)

    def decode_input_answer(self, document: Mapping[str, Any]) -> InputAnswer | None:
        """The answer to a request for input, or None when the document is something else."""
        return input_answer_of(document, RELATED_KEY)

    def decode_pushed(self, document: Mapping[str, Any]) -> Pushed | None:
        """A status notification, or None when the document is something else."""
        if document.get("method") != STATUS:
            return None
        params = object_of(document.get("params"), "params")
        task_id = task_id_of(params)
        asked = Get(request_id=PUSH_ID, task_id=task_id)
        view = view_of(params, NAMES, asked, Operation.PUSH, task_id)
        return Pushed(task_id=task_id, view=view)

    def decode_reply(self, document: Mapping[str, Any], request: Question) -> Reply:
        """Answer to *request*; InvalidMessageError when it has not the form of one.

        A receiver that knows no tasks answers a creation with the request's own result.
        """
        if "error" in document:
            return decode_failure(fault_of(document["error"]), request)
        result = object_of(document.get("result"), "result")
        if isinstance(request, Create) and request.augmented and TASK in result:
            task = object_of(result[TASK], TASK)
            return view_of(task, NAMES, request, Operation.CREATE, task_id_of(task))
        if isinstance(request, Get | CancelTask):
            is_get = isinstance(request, Get)
            operation = Operation.GET if is_get else Operation.CANCEL
            return view_of(result, NAMES, request, operation, request.task_id)
        if isinstance(request, List):
            return page_of(
                result,
                request,
                lambda task, task_id: view_of(task, NAMES, request, Operation.GET, task_id),
            )
        if not isinstance(request, Create | GetResult):
            raise TypeError(f"MCP 2025-11-25 has no message {request}")
        is_creation = isinstance(request, Create)
        return Result(
            request_id=request.request_id,
            task_id=request.task_id,
            payload=result,
            operation=Operation.ORIGINAL if is_creation else Operation.RESULT,
            attempt=request.attempt,
        )


def _encode_create(message: Create) -> Document:
    call = message.call
    if message.parent_id is not None:
        raise TypeError(f"MCP 2025-11-25 has no child tasks, as of {message.parent_id!r}")
    if message.augmented and call.method not in TASK_METHODS:
        raise TypeError(f"MCP 2025-11-25 makes no task of {call.method}")
    params = call_params(call)
    if message.augmented:
        asked_ns = message.keep_alive_ns
        params[TASK] = {} if asked_ns is None else {NAMES.retention: whole_ms_up(asked_ns)}
    params = with_meta(params, drawn(message.draw, message.attempt))
    return request(message.request_id, call.method, params)


def _encode_question(message: Get | GetResult | CancelTask) -> Document:
    meta = drawn(message.draw, message.attempt)
    if isinstance(message, Get):
        meta |= held(message.hold_ns)
    params = with_meta({"taskId": message.task_id}, meta)
    return request(message.request_id, _METHOD_OF[type(message)], params)


def _decode_create(request_id: RequestId, method: Any, params: Mapping[str, Any]) -> Create:
    keep_alive_ns = None
    if TASK in params:
        task = object_of(params[TASK], TASK)
        if NAMES.retention in task:
            keep_alive_ns = ns_of(task[NAMES.retention], NAMES.retention)
    draw, attempt = draw_of(meta_of(params))
    own = {name: item for name, item in params.items() if name != TASK}
    return Create(
        request_id=request_id,
        task_id="",
        augmented=TASK in params,
        keep_alive_ns=keep_alive_ns,
        call=call_of(method, own),
        draw=draw,
        attempt=attempt,
    )
