"""Messages between requester and receiver, in no dialect.

Rule 1: names of the wire do not occur here; ``dialects`` translates.
Rule 2: times are nanoseconds; ``None`` means unlimited for a granted retention and *not asked
for* in a request (R02, R19: a request's keepAlive is absent or a number, never null).

Request ids are the JSON-RPC ids. In a simulation they are the task's running exchange number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tasksim.protocol.occurrences import Operation
from tasksim.protocol.states import Status

RequestId = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What the task wraps: the request as it would be without a task.

    *method* is that of MCP; *tool* names the tool of a tool call and says nothing for others,
    whose parameters are *arguments*.
    """

    method: str = "tools/call"
    tool: str = "work"
    arguments: Mapping[str, Any] = field(default_factory=dict)


PLAIN_CALL: Final = Call()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawAddress:
    """Where a task's draws stand, when the requester tells; the ordinal is the attempt.

    *run* counts how often the receiver took the task on before: a simulation knows.
    """

    entity: int
    replication: int = 0
    run: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """A request that asks to be run as a task (SEP-1686 3.1).

    Not *augmented* it is the plain call that it wraps, whatever ``task_id`` says.
    """

    request_id: RequestId
    task_id: str
    augmented: bool = True
    keep_alive_ns: int | None = None
    call: Call = PLAIN_CALL
    draw: DrawAddress | None = None
    attempt: int = 0
    parent_id: str | None = None  # of the task that this one is a child of


@dataclass(frozen=True, slots=True, kw_only=True)
class Get:
    """Ask for a task's status (3.2); the receiver may hold it until that changes."""

    request_id: RequestId
    task_id: str
    draw: DrawAddress | None = None
    attempt: int = 0
    hold_ns: int = 0  # how long it may be held


@dataclass(frozen=True, slots=True, kw_only=True)
class GetResult:
    """Ask for a completed task's result (3.3)."""

    request_id: RequestId
    task_id: str
    draw: DrawAddress | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Notification: stop the task that the request *request_id* created (4.8, N11).

    It names the original request, not the task, and is not answered.
    """

    request_id: RequestId
    task_id: str
    draw: DrawAddress | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class List:
    """Ask for the tasks of this requester, page by page (3.5)."""

    request_id: RequestId
    cursor: str | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Ask for a task to be forgotten now (3.6)."""

    request_id: RequestId
    task_id: str
    draw: DrawAddress | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class InputAnswer:
    """What the user said to the receiver's request *request_id* (4.4); it is not answered."""

    request_id: RequestId  # of the receiver's request
    task_id: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    draw: DrawAddress | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelTask:
    """Ask for a task to be cancelled, by its own id (D2, D3)."""

    request_id: RequestId
    task_id: str
    draw: DrawAddress | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What the user said, under the keys of the questions that a get carried (D3)."""

    request_id: RequestId
    task_id: str
    answers: Mapping[RequestId, Mapping[str, Any]] = field(default_factory=dict)
    draw: DrawAddress | None = None
    attempt: int = 0


Question = Create | Get | GetResult | List | Delete | CancelTask | Update  # what is answered
Notice = Cancel | InputAnswer  # what is not
Request = Question | Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """Notification: the task exists and can be polled (3.4, R03)."""

    task_id: str
    attempt: int = 0  # of the creation that it follows; the wire does not tell


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequest:
    """The receiver asks the task's requester for input (4.4, R14, R15).

    It goes under the task's own id, as everything that the task depends on (R27).
    *request_id* is the receiver's; *ordinal* says which of the task's requests it is.
    """

    request_id: RequestId
    task_id: str
    ordinal: int = 0
    method: str = "elicitation/create"
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A task that another one needs: its requester is to ask for it under that id."""

    task_id: str
    call: Call = PLAIN_CALL


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """What the receiver says of a task (6, R19): to a get, or to what *operation* says.

    D2 and D3 answer creations with it, D2 also cancels; D3 puts into it what a task ended with
    (*payload*) and what it asks (*prompts*).
    """

    request_id: RequestId
    task_id: str
    status: Status
    keep_alive_ns: int | None
    poll_interval_ns: int | None = None
    error: str | None = None
    attempt: int = 0
    operation: Operation = Operation.GET
    payload: Mapping[str, Any] | None = None
    prompts: tuple[InputRequest, ...] = ()
    milestone: int = 0  # intermediate results so far
    parent_id: str | None = None
    children: tuple[Child, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """Notification: what became of a task, before anybody asked."""

    task_id: str
    view: TaskView


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """Answer to a cancel or an update that says only that it came (D3)."""

    request_id: RequestId
    task_id: str
    operation: Operation
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Answer with the wrapped request's own result (3.3, or to the original request, N09)."""

    request_id: RequestId
    task_id: str
    payload: Mapping[str, Any]
    operation: Operation
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Answer to a list: some tasks, and where to go on, None at the end (R38)."""

    request_id: RequestId
    tasks: tuple[TaskView, ...]
    next_cursor: str | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """Answer to a delete: the task is forgotten (3.6)."""

    request_id: RequestId
    task_id: str
    attempt: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error answer (7.1). ``task_id`` is the task it is about, where there is one."""

    request_id: RequestId
    code: int
    message: str
    operation: Operation
    reason: int
    task_id: str | None = None
    retry_after_ns: int | None = None
    attempt: int = 0


Reply = TaskView | TaskPage | Deleted | Acknowledged | Result | Failure
Message = Request | Created | InputRequest | Pushed | Reply

OPERATION_OF: Final[dict[type[Request], Operation]] = {
    Create: Operation.CREATE,
    Get: Operation.GET,
    GetResult: Operation.RESULT,
    Cancel: Operation.CANCEL,
    InputAnswer: Operation.INPUT,
    List: Operation.LIST,
    Delete: Operation.DELETE,
    CancelTask: Operation.CANCEL,
    Update: Operation.INPUT,
}
