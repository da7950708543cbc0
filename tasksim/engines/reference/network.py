"""The network between a requester and the receiver: what is lost, what waits, when it arrives.

Rule 1: a message's fate is its own draw (``scenario.fates``); outages are of everybody.
Rule 2: whoever loses or doubles a message puts that on record.
"""

from collections.abc import Callable
from typing import Final

from tasksim.engines.reference.ranked import At, RankedEnvironment
from tasksim.protocol.occurrences import NONE, Kind, Observer, Operation, Reason
from tasksim.protocol.ties import Tie, rank
from tasksim.scenario.fates import MessageFates
from tasksim.scenario.plans import TaskPlan

REPLY_TIE_OF: Final = {
    Operation.CREATE: Tie.REFUSAL_TO_REQUESTER,
    Operation.CREATED: Tie.CREATED_TO_REQUESTER,
    Operation.GET: Tie.VIEW_TO_REQUESTER,
    Operation.RESULT: Tie.RESULT_TO_REQUESTER,
    Operation.DELETE: Tie.DELETED_TO_REQUESTER,
    Operation.ORIGINAL: Tie.ORIGINAL_TO_REQUESTER,
    Operation.INPUT: Tie.PROMPT_TO_REQUESTER,
    Operation.CANCEL: Tie.CANCELLED_TO_REQUESTER,
    Operation.PUSH: Tie.PUSH_TO_REQUESTER,
}
Deliver = Callable[[], None]


class Network:
    """Both ways between requesters and receiver."""

    def __init__(self, env: RankedEnvironment, observe: Observer, fates: MessageFates) -> None:
        self._env = env
        self._observe = observe
        self._fates = fates

    def to_receiver(
        self, plan: TaskPlan, operation: Operation, attempt: int, tie: Tie, deliver: Deliver
    ) -> int | None:
        """Send a request; when it arrives first, None when it does not."""
        fates, now, index = self._fates, self._env.now, plan.index
        if fates.has_outages and fates.is_out(now):
            return self._lost(plan, operation, attempt, Reason.NETWORK_DOWN)
        if fates.loses_requests and fates.is_request_lost(plan.key, operation, attempt):
            return self._lost(plan, operation, attempt, Reason.REQUEST_LOST)
        arrives_at = now + fates.request_leg_ns(plan.key, plan.population, operation, attempt)
        key = rank(tie, index, attempt)
        At(self._env, arrives_at, key, lambda _: deliver())
        if fates.doubles_requests and fates.is_request_doubled(plan.key, operation, attempt):
            leg_ns = fates.request_leg_ns(plan.key, plan.population, operation, attempt, copy=True)
            self._observe(now, Kind.DUPLICATED, index, operation, attempt)
            At(self._env, now + leg_ns, key, lambda _: deliver())
        return arrives_at

    def to_requester(
        self,
        plan: TaskPlan,
        operation: Operation,
        ordinal: int,
        deliver: Deliver,
        *,
        tie: Tie | None = None,
        stream_from: int | None = None,
    ) -> int | None:
        """Send what the receiver says; when it arrives first, None when it does not.

        *stream_from* says since when the stream is open that carries it, where one does.
        """
        fates, now = self._fates, self._env.now
        leaves_at: int | None = now
        if fates.has_outages and fates.is_out(now):
            return self._lost(plan, operation, ordinal, Reason.NETWORK_DOWN)
        if fates.loses_replies and fates.is_reply_lost(plan.key, operation, ordinal):
            return self._lost(plan, operation, ordinal, Reason.REPLY_LOST)
        if fates.cuts_streams and stream_from is not None:
            leaves_at = fates.stream_open_at(plan.key, stream_from, now)
        if leaves_at is None:
            return self._lost(plan, operation, ordinal, Reason.STREAM_CUT)
        leg_ns = fates.reply_leg_ns(plan.key, plan.population, operation, ordinal)
        key = rank(REPLY_TIE_OF[operation] if tie is None else tie, plan.index, ordinal)
        At(self._env, leaves_at + leg_ns, key, lambda _: deliver())
        if fates.doubles_replies and fates.is_reply_doubled(plan.key, operation, ordinal):
            copy_ns = fates.reply_leg_ns(plan.key, plan.population, operation, ordinal, copy=True)
            self._observe(now, Kind.DUPLICATED, plan.index, operation, ordinal)
            At(self._env, leaves_at + copy_ns, key, lambda _: deliver())
        return leaves_at + leg_ns

    def _lost(self, plan: TaskPlan, operation: Operation, ordinal: int, why: Reason) -> int | None:
        """Put it on record that a message does not arrive."""
        self._observe(self._env.now, Kind.LOST, plan.index, operation, ordinal, NONE, why)
        return None
