"""D3: tasks as the extension of SEP-2663 has them.

Rule 1: milliseconds are whole, and round as in D1: intervals up, granted retention down.
Rule 2: a request asks for nothing but says what its sender understands; the receiver alone makes
tasks and ids. So a requester cannot ask for retention: what it would ask for is not written.
Rule 3: a get carries what a task ended with and what it asks; no related-task metadata.
Rule 4: intermediate results are not told; what cannot do without parents and children raises
TypeError.

Source: SEP-2663, extension io.modelcontextprotocol/tasks.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tasksim.protocol.dialects.fields import (
    Document,
    draw_of,
    drawn,
    held,
    hold_of,
    meta_of,
    object_of,
    request_id_of,
    shown,
    string_of,
    task_id_of,
    whole_ns_of,
    with_meta,
)
from tasksim.protocol.dialects.minted import Names, decode_failure, epoch, task_fields, view_of
from tasksim.protocol.dialects.parts import (
    CALL,
    CANCEL,
    GET,
    PUSH_ID,
    answer,
    call_of,
    call_params,
    failure_document,
    fault_of,
    notification,
    ordinal_of,
    request,
    unknown_method,
)
from tasksim.protocol.errors import INTERNAL_ERROR, InvalidMessageError
from tasksim.protocol.messages import (
    OPERATION_OF,
    Acknowledged,
    CancelTask,
    Create,
    Failure,
    Get,
    InputRequest,
    Message,
    Pushed,
    Question,
    Reply,
    RequestId,
    Result,
    TaskView,
    Update,
)
from tasksim.protocol.occurrences import Operation
from tasksim.protocol.states import Status

UPDATE: Final = "tasks/update"
PUSHED: Final = "notifications/tasks"
EXTENSION: Final = "io.modelcontextprotocol/tasks"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
NAMES: Final = Names("ttlMs", "pollIntervalMs", whole_ns_of)

CAPABILITIES: Final[Document] = {"extensions": {EXTENSION: {}}}

KIND: Final = "resultType"
COMPLETE: Final = "complete"
TASK: Final = "task"

_METHOD_OF: Final[dict[type[Get | CancelTask | Update], str]] = {
    Get: GET,
    CancelTask: CANCEL,
    Update: UPDATE,
}


def is_task_request(document: Mapping[str, Any], methods: Collection[str] = (CALL,)) -> bool:
    """Whether a request is about tasks: a tasks/* method, or one of *methods* from who knows them.

    What is malformed is none; decoding says what is wrong with it.
    """
    method = document.get("method")
    if method in (GET, UPDATE, CANCEL):  # a peer may send what no set can hold
        return True
    told = meta_of(document.get("params")).get(CLIENT_KEY)
    extensions = told.get("extensions") if isinstance(told, dict) else None
    is_told = isinstance(extensions, dict) and EXTENSION in extensions
    return method in tuple(methods) and is_told


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
            case Get() | CancelTask() | Update():
                return _encode_question(message)
            case Pushed():
                return notification(PUSHED, self._detailed(message.view))
            case Failure():
                return failure_document(message, {})
            case Acknowledged():
                return answer(message.request_id, {KIND: COMPLETE})
            case TaskView(operation=Operation.CREATE):
                task = task_fields(message, NAMES, self.stamp)
                return answer(message.request_id, {KIND: TASK, **task})
            case TaskView(operation=Operation.GET):
                task = self._detailed(message)
                return answer(message.request_id, {KIND: COMPLETE, **task})
            case Result(operation=Operation.ORIGINAL):
                return answer(message.request_id, {**message.payload, KIND: COMPLETE})
            case _:
                raise TypeError(f"SEP-2663 has no message {message}")

    def _detailed(self, view: TaskView) -> Document:
        """A task with what belongs to its status."""
        task = task_fields(view, NAMES, self.stamp)
        if view.status is Status.COMPLETED:
            if view.payload is None:
                raise TypeError(f"SEP-2663 shows the result of {view.task_id!r}: there is none")
            task["result"] = dict(view.payload)
        elif view.status is Status.FAILED:
            task["error"] = {"code": INTERNAL_ERROR, "message": view.error or ""}
        elif view.status is Status.INPUT_REQUIRED:
            task["inputRequests"] = {
                str(prompt.request_id): {"method": prompt.method, "params": dict(prompt.params)}
                for prompt in view.prompts
            }
        return task

    # Inwards.

    def decode_request(self, document: Mapping[str, Any]) -> Question:
        """Request about a task; InvalidMessageError or UnknownMethodError when it is none.

        A tool call of who does not know tasks is a creation that is not augmented.
        """
        request_id = request_id_of(document)
        method = document.get("method")
        params = object_of(document.get("params", {}), "params")
        if method == CALL:
            return _decode_create(request_id, params)
        if method not in (GET, CANCEL, UPDATE):
            raise unknown_method(method)
        task_id, meta = task_id_of(params), meta_of(params)
        draw, attempt = draw_of(meta)
        if method == GET:
            return Get(
                request_id=request_id, task_id=task_id, draw=draw, attempt=attempt,
                hold_ns=hold_of(meta),
            )  # fmt: skip
        if method == CANCEL:
            return CancelTask(request_id=request_id, task_id=task_id, draw=draw, attempt=attempt)
        said = object_of(params.get("inputResponses"), "inputResponses")
        answers: dict[RequestId, Mapping[str, Any]] = {
            key: object_of(item, "an input response") for key, item in said.items()
        }
        return Update(
            request_id=request_id, task_id=task_id, answers=answers, draw=draw, attempt=attempt
        )

    def decode_pushed(self, document: Mapping[str, Any]) -> Pushed | None:
        """A notification about a task, or None when the document is something else."""
        if document.get("method") != PUSHED:
            return None
        params = object_of(document.get("params"), "params")
        task_id = task_id_of(params)
        asked = Get(request_id=PUSH_ID, task_id=task_id)
        return Pushed(task_id=task_id, view=_detailed_of(params, asked, Operation.PUSH))

    def decode_reply(self, document: Mapping[str, Any], request: Question) -> Reply:
        """Answer to *request*; InvalidMessageError when it has not the form of one.

        A creation may be answered with the call's own result: the receiver decides.
        """
        if "error" in document:
            return decode_failure(fault_of(document["error"]), request)
        result = object_of(document.get("result"), "result")
        kind = result.get(KIND, COMPLETE)
        if isinstance(request, Create) and request.augmented and kind == TASK:
            return view_of(result, NAMES, request, Operation.CREATE, task_id_of(result))
        if isinstance(request, Get) and kind in (COMPLETE, TASK):  # the SEP's examples have both
            return _detailed_of(result, request, Operation.GET)
        if kind != COMPLETE:
            raise InvalidMessageError(f"{KIND} is {shown(kind)}")
        match request:
            case Create():
                return Result(
                    request_id=request.request_id,
                    task_id=request.task_id,
                    payload=result,
                    operation=Operation.ORIGINAL,
                    attempt=request.attempt,
                )
            case CancelTask() | Update():
                return Acknowledged(
                    request_id=request.request_id,
                    task_id=request.task_id,
                    operation=OPERATION_OF[type(request)],
                    attempt=request.attempt,
                )
            case _:
                raise TypeError(f"SEP-2663 has no message {request}")


def _knowing(meta: Document) -> Document:
    """Metadata of a request whose sender knows tasks."""
    return {CLIENT_KEY: {"extensions": {EXTENSION: {}}}, **meta}


def _encode_create(message: Create) -> Document:
    call = message.call
    if message.parent_id is not None:
        raise TypeError(f"SEP-2663 has no child tasks, as of {message.parent_id!r}")
    if message.augmented and call.method != CALL:
        raise TypeError(f"SEP-2663 makes no task of {call.method}")
    meta = drawn(message.draw, message.attempt)
    params = with_meta(call_params(call), _knowing(meta) if message.augmented else meta)
    return request(message.request_id, call.method, params)


def _encode_question(message: Get | CancelTask | Update) -> Document:
    meta = _knowing(drawn(message.draw, message.attempt))
    params: Document = {"taskId": message.task_id}
    if isinstance(message, Get):
        meta |= held(message.hold_ns)
    if isinstance(message, Update):
        params["inputResponses"] = {str(key): dict(said) for key, said in message.answers.items()}
    return request(message.request_id, _METHOD_OF[type(message)], with_meta(params, meta))


def _decode_create(request_id: RequestId, params: Mapping[str, Any]) -> Create:
    """A tool call; a legacy ``task`` among its parameters says nothing."""
    meta = meta_of(params)
    told = object_of(meta.get(CLIENT_KEY, {}), CLIENT_KEY)
    extensions = object_of(told.get("extensions", {}), "extensions")
    draw, attempt = draw_of(meta)
    return Create(
        request_id=request_id,
        task_id="",
        augmented=EXTENSION in extensions,
        call=call_of(CALL, params),
        draw=draw,
        attempt=attempt,
    )


def _detailed_of(task: Mapping[str, Any], asked: Get, operation: Operation) -> TaskView:
    view = view_of(task, NAMES, asked, operation, asked.task_id)
    if view.status is Status.COMPLETED:
        return replace(view, payload=object_of(task.get("result"), "a completed task's result"))
    if view.status is Status.FAILED and "error" in task:
        return replace(view, error=fault_of(task["error"]).message or None)
    if view.status is Status.INPUT_REQUIRED:
        return replace(view, prompts=_prompts_of(task.get("inputRequests", {}), asked.task_id))
    return view


def _prompts_of(value: Any, task_id: str) -> tuple[InputRequest, ...]:
    """What a task asks, in order; a key that does not tell counts by its place among the keys."""
    asked = object_of(value, "inputRequests")
    prompts = []
    for place, key in enumerate(sorted(asked)):
        ask = object_of(asked[key], "an input request")
        prompt = InputRequest(
            request_id=key,
            task_id=task_id,
            ordinal=ordinal_of(key, task_id, place),
            method=string_of(ask.get("method"), "method"),
            params=object_of(ask.get("params", {}), "params"),
        )
        prompts.append(prompt)
    return tuple(sorted(prompts, key=lambda prompt: prompt.ordinal))
