"""Work whose requester waits for it, and what it is answered with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tasksim.engines.reference.requesters import RequesterSide
from tasksim.protocol.errors import INTERNAL_ERROR
from tasksim.protocol.messages import Acknowledged, Deleted, Failure, Reply, Result, TaskView
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.scenario.model import WorkClass
from tasksim.scenario.plans import Stop, TaskPlan

PAYLOAD: Final[Mapping[str, Any]] = {"content": [], "isError": False}
FAILURE_TEXT: Final = "Tool execution failed"


@dataclass(slots=True)
class Open:
    """Work whose requester waits for it; *opened_at* None when its connection is gone."""

    peer: RequesterSide
    plan: TaskPlan
    opened_at: int | None
    plain: bool = False


def plain_answer(plan: TaskPlan) -> Result | Failure:
    """Answer to a call that was no task."""
    if plan.fails:
        return Failure(
            request_id=0,
            code=INTERNAL_ERROR,
            message=FAILURE_TEXT,
            operation=Operation.ORIGINAL,
            reason=Reason.EXECUTION,
        )
    return Result(request_id=0, task_id="", payload=PAYLOAD, operation=Operation.ORIGINAL)


def operation_of(reply: Reply) -> Operation:
    """The exchange that a reply ends."""
    if isinstance(reply, Result | Failure):
        return reply.operation
    if isinstance(reply, TaskView | Acknowledged):
        return reply.operation
    return Operation.DELETE if isinstance(reply, Deleted) else Operation.GET


def stops_held(work: WorkClass) -> frozenset[Stop]:
    """At which stops a worker stands by."""
    found = set()
    if work.input_required is None or work.input_required.holds_worker:
        found.add(Stop.INPUT)
    if work.children is not None and work.children.holds_worker:
        found.add(Stop.CHILDREN)
    return frozenset(found)
