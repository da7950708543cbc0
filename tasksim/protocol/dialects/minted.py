"""What D2 and D3 have in common: receivers that make the ids, five statuses, time stamps.

Rule: a status that these dialects do not have cannot be written (TypeError) and is not read
(InvalidMessageError).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tasksim.protocol.dialects.fields import Document, shown
from tasksim.protocol.dialects.parts import Fault, failure_of, limit_reason
from tasksim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    InvalidMessageError,
)
from tasksim.protocol.messages import (
    OPERATION_OF,
    Create,
    Failure,
    GetResult,
    Question,
    TaskView,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status
from tasksim.units import whole_ms_down, whole_ms_up

MISSING_CAPABILITY: Final = frozenset({-32021, -32003})  # the latter in older texts of SEP-2663

_STATUS_OF: Final = {
    status.name.lower(): status
    for status in Status
    if status not in {Status.SUBMITTED, Status.UNKNOWN}
}


class Names(NamedTuple):
    """What a dialect calls the durations of a task, and how it reads them."""

    retention: str
    interval: str
    ns_of: Callable[[Any, str], int]


def epoch() -> str:
    """Time stamp of machines that have no clock."""
    return "1970-01-01T00:00:00Z"


def task_fields(view: TaskView, names: Names, stamp: Callable[[], str]) -> Document:
    """A task as both dialects write it; both its time stamps are the same."""
    if view.status.name.lower() not in _STATUS_OF:
        raise TypeError(f"The dialect has no status {view.status.name}")
    if view.parent_id is not None or view.children:
        raise TypeError(f"The dialect has no child tasks, as of {view.task_id!r}")
    stamped, keep_ns = stamp(), view.keep_alive_ns
    fields: Document = {
        "taskId": view.task_id,
        "status": view.status.name.lower(),
        "createdAt": stamped,
        "lastUpdatedAt": stamped,
        names.retention: None if keep_ns is None else whole_ms_down(keep_ns),
    }
    if view.poll_interval_ns is not None:
        fields[names.interval] = whole_ms_up(view.poll_interval_ns)
    if view.error is not None:
        fields["statusMessage"] = view.error
    return fields


def view_of(
    task: Mapping[str, Any], names: Names, asked: Question, operation: Operation, task_id: str
) -> TaskView:
    """A task as both dialects read it; what its status says is an error when it has failed."""
    name = task.get("status")
    status = _STATUS_OF.get(name) if isinstance(name, str) else None
    if status is None:
        raise InvalidMessageError(f"status is {shown(name)}")
    keep, interval, text = (
        task.get(key) for key in (names.retention, names.interval, "statusMessage")
    )
    has_error = status is Status.FAILED and isinstance(text, str)
    return TaskView(
        request_id=asked.request_id,
        task_id=task_id,
        status=status,
        keep_alive_ns=None if keep is None else names.ns_of(keep, names.retention),
        poll_interval_ns=None if interval is None else names.ns_of(interval, names.interval),
        error=text if has_error else None,
        attempt=asked.attempt,
        operation=operation,
    )


# Errors.


def decode_failure(fault: Fault, asked: Question) -> Failure:
    """The error that answers *asked*.

    A creation that was to be a task is refused by it, whatever it says; only a plain call can
    have failed with its work.
    """
    operation = OPERATION_OF[type(asked)]
    if isinstance(asked, Create) and not asked.augmented:
        is_refused = fault.retry_after_ns is not None or fault.code != INTERNAL_ERROR
        operation = Operation.CREATE if is_refused else Operation.ORIGINAL
    return failure_of(asked, fault, operation, _reason(operation, fault, asked))


def _reason(operation: Operation, fault: Fault, asked: Question) -> Reason:
    """Cause of an error, from its code and, where one code has several, its text."""
    code = fault.code
    if operation is Operation.ORIGINAL:
        return Reason.EXECUTION
    if code == METHOD_NOT_FOUND or code in MISSING_CAPABILITY:
        return Reason.UNSUPPORTED
    if operation in {Operation.CREATE, Operation.LIST} and code in {
        INVALID_PARAMS,
        INVALID_REQUEST,
    }:
        return Reason.INVALID
    if isinstance(asked, GetResult):
        return _result_reason(fault)
    if code != INVALID_PARAMS:
        return limit_reason(fault.message)
    return _lookup_reason(fault.message) or Reason.NOT_FOUND


def _result_reason(fault: Fault) -> Reason:
    """Why there is no result (D2): the task is gone, or that is how it ended."""
    if fault.retry_after_ns is not None:
        return limit_reason(fault.message)
    found = _lookup_reason(fault.message) if fault.code == INVALID_PARAMS else None
    if found is not None:
        return found
    return Reason.CANCELLED if "cancelled" in fault.message else Reason.EXECUTION


def _lookup_reason(message: str) -> Reason | None:
    """What is wrong with the task that was asked for; texts of SEP-1686 and of the SDKs."""
    for words, reason in (
        ("not found", Reason.NOT_FOUND),
        ("expired", Reason.EXPIRED),
        ("Cannot cancel", Reason.ENDED),
        ("terminal", Reason.ENDED),
        ("not completed", Reason.NOT_COMPLETED),
        ("not 'completed'", Reason.NOT_COMPLETED),
    ):
        if words in message:
            return reason
    return None
