"""Faults of a peer, with the codes and the texts of SEP-1686 7.1 (R46, R47).

Rule 1: whatever a peer does wrong is a ``ProtocolError``; our own faults are not, and are never
caught. Rule 2: the receiver turns a ``ProtocolError`` into an answer in exactly one place.
"""

from typing import ClassVar, Final

from tasksim.protocol.occurrences import Reason
from tasksim.protocol.states import Status

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
PARSE_ERROR: Final = -32700


class ProtocolError(Exception):
    """A peer's fault; becomes a JSON-RPC error with ``code``."""

    code: ClassVar[int] = INVALID_PARAMS
    reason: ClassVar[Reason] = Reason.INVALID


class InvalidMessageError(ProtocolError):
    """The message has not the form that the dialect asks for."""


class UnknownMethodError(ProtocolError):
    """The method does not exist at this party."""

    code = METHOD_NOT_FOUND
    reason = Reason.UNSUPPORTED


class TaskNotFoundError(ProtocolError):
    """No such task for this requester; says nothing of other requesters' tasks (R49)."""

    reason = Reason.NOT_FOUND

    def __init__(self) -> None:
        super().__init__("Failed to retrieve task: Task not found")


class TaskExpiredError(ProtocolError):
    """The task existed and its retention has passed (N15)."""

    reason = Reason.EXPIRED

    def __init__(self) -> None:
        super().__init__("Failed to retrieve task: Task has expired")


class DuplicateTaskError(ProtocolError):
    """The id is in use, or its tombstone still lives (R08, C2)."""

    reason = Reason.DUPLICATE

    def __init__(self, task_id: str) -> None:
        super().__init__(f"Task ID already exists: {task_id}")


class InvalidCursorError(ProtocolError):
    """A cursor that this receiver did not issue to this requester (R46b)."""

    def __init__(self) -> None:
        super().__init__("Invalid cursor")


class DeleteRefusedError(ProtocolError):
    """The receiver does not delete tasks in this status (R41, R43)."""

    def __init__(self, status: Status) -> None:
        super().__init__(f"Cannot delete task: Task status is '{status.name.lower()}'")


class CancelRefusedError(ProtocolError):
    """The task has ended: there is nothing to cancel (D2)."""

    reason = Reason.ENDED

    def __init__(self, status: Status) -> None:
        super().__init__(f"Cannot cancel task: Task status is '{status.name.lower()}'")


class OverLimitError(ProtocolError):
    """The requester asks for more than the receiver gives at once (R51, R52)."""

    code = INTERNAL_ERROR
    text: ClassVar[str]

    def __init__(self, retry_after_ns: int) -> None:
        super().__init__(self.text)
        self.retry_after_ns: Final = retry_after_ns


class TooManyTasksError(OverLimitError):
    """As many tasks are open as are allowed (R52a)."""

    reason = Reason.CONCURRENCY
    text = "Too many concurrent tasks"


class StoreFullError(OverLimitError):
    """As many tasks are remembered as there is room for, and none may be forgotten."""

    reason = Reason.STORE_FULL
    text = "Too many tasks are kept"


class TooManyConnectionsError(OverLimitError):
    """As many requests are held open as are allowed."""

    reason = Reason.CONCURRENCY
    text = "Too many open requests"


class RateLimitedError(OverLimitError):
    """Requests of this kind come faster than is allowed (R51)."""

    reason = Reason.RATE_LIMITED
    text = "Rate limit exceeded"


class ResultNotReadyError(ProtocolError):
    """A result was asked for in a status other than completed (R23, R24)."""

    reason = Reason.NOT_COMPLETED

    def __init__(self, status: Status) -> None:
        super().__init__(
            f"Cannot retrieve result: Task status is '{status.name.lower()}', not 'completed'"
        )
