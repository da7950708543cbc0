"""How a requester goes on: the next poll, another attempt, input, a cancel, the end.

Rule: what a step does, not when it is taken; that is decided in ``requester``.
"""

from bisect import insort
from typing import Final

from tasksim.policies import ABSENT
from tasksim.policies.learning import learned
from tasksim.policies.polling import First
from tasksim.protocol.exchanges import Exchanges, Phase
from tasksim.protocol.manners import Early
from tasksim.protocol.messages import InputRequest, Request, TaskView
from tasksim.protocol.occurrences import NONE, Kind, Operation, Reason
from tasksim.protocol.states import Status
from tasksim.protocol.ties import Tie

OUTCOME_OF: Final[dict[Status, Reason]] = {
    Status.FAILED: Reason.FAILED,
    Status.CANCELLED: Reason.CANCELLED,
    Status.UNKNOWN: Reason.UNKNOWN,
}


class Pursuit(Exchanges):
    """Steps of one task's requester."""

    __slots__ = ()

    # What is learned of the task.

    def _show(self, now: int) -> None:
        """The task has shown itself."""
        if not self._confirmed:
            self._heard_at = self._clear_at = now
            self._quickest_ns = now - self._sent_at
        self._confirmed = True
        self._limited = 0

    def _confirm(self, now: int) -> list[Request]:
        """The task has shown itself; a cancel that waited for that goes out."""
        self._show(now)
        return self._cancel(now) if self._cancel_waits else []

    def _end_known(self, status: Status, operation: Operation, channel: Reason, now: int) -> None:
        """Take note of the first evidence that the task has ended."""
        self._drop_asides()
        if self._detected:
            return
        self._detected = True
        self._observe(now, Kind.DETECTED, self.number, operation, 0, status, channel)
        if self._rules.polling.learns and status is Status.COMPLETED and self._heard_at:
            took_ns = (self._clear_at + now) // 2 - self._heard_at
            self._lore.row = learned(self._lore.row, took_ns)

    def _detect(self, view: TaskView, now: int, channel: Reason = Reason.POLL) -> list[Request]:
        """A view says that the task has ended: get what there is to be had."""
        status = view.status
        self._show(now)
        self._end_known(status, view.operation, channel, now)
        manners = self._rules.manners
        if status is Status.COMPLETED and manners.early is Early.INLINED:
            self._observe(now, Kind.RETRIEVED, self.number, view.operation, 0, NONE, channel)
            return self._settle(Reason.RETRIEVED, now)
        if self._rules.polling.tests_late and manners.early is not Early.INLINED:
            self._seen = status
            self._phase = Phase.FETCHING
            self._is_on_way = False
            self._wake(now + self._gap_ns(self._attempt, now, ABSENT), Tie.RETRY)
            return []
        if status is Status.COMPLETED:
            return self._fetch(now)
        return self._settle(OUTCOME_OF[status], now)

    def _notice(self, view: TaskView, now: int) -> None:
        """Take note of intermediate results and of tasks that the task needs."""
        if view.milestone > self._milestone:
            self._milestone = view.milestone
            self._observe(
                now, Kind.SEEN, self.number, view.operation, 0, view.status, NONE, view.milestone
            )
        for child in view.children:
            if child.task_id not in self._children:
                self._children.add(child.task_id)
                self.children_wanted.append(child)

    def _prompt(self, prompt: InputRequest, now: int) -> None:
        """The receiver asks for input: the user will think, and answer (4.4)."""
        if self._prompted >> prompt.ordinal & 1:
            return
        self._observe(now, Kind.PROMPTED, self.number, Operation.INPUT, prompt.ordinal)
        self._prompted |= 1 << prompt.ordinal
        if self._cancelled_at is None and self._phase is not Phase.DELETING:
            at = now + self._fate.think_ns(prompt.ordinal)
            insort(self._answers, (at, prompt.ordinal, prompt.request_id))
            self._set_aside()

    # Later again.

    def _on_not_yet(self, now: int) -> list[Request]:
        """A get came before the task, which is not fatal; but not for ever (N04, N16)."""
        patience_ns = self._rules.created_timeout_ns + self._rules.request_timeout_ns
        if now - self._sent_at >= patience_ns:
            return self._close(Reason.GAVE_UP, now)
        self._await_next_poll(now, ABSENT)
        return []

    def _on_limit(self, now: int, retry_after_ns: int) -> list[Request]:
        """Refused for coming too often: not a failure, but not for ever either."""
        self._limited += 1
        gap_ns = self._limited_gap_ns(self._attempt, now, retry_after_ns)
        return self._again(now, gap_ns, gives_up=self._limited >= self._rules.limited_max)

    def _limited_gap_ns(self, attempt: int, now: int, retry_after_ns: int) -> int:
        own_ns = self._rules.limited_gap_ns
        if own_ns == ABSENT:
            return self._gap_ns(attempt, now, retry_after_ns)
        return max(own_ns, retry_after_ns)

    def _on_setback(self, now: int, retry_after_ns: int) -> list[Request]:
        """The awaited exchange failed: later again."""
        self._failures += 1
        gap_ns = self._gap_ns(self._attempt, now, retry_after_ns)
        return self._again(now, gap_ns, gives_up=self._failures >= self._rules.failures_max)

    def _watch_on(self, now: int) -> list[Request]:
        """A result that is waited for did not come in time (D2): see how things stand."""
        self._is_on_way = False
        self._await_next_poll(now, ABSENT)
        return []

    def _again(self, now: int, gap_ns: int, *, gives_up: bool) -> list[Request]:
        """Repeat the exchange, unless it has failed too often; a delete is left to retention."""
        if self._phase is Phase.DELETING:
            return self._close(self._outcome, now)
        if gives_up:
            return self._close(Reason.GAVE_UP, now)
        self._is_on_way = False
        if self._phase is Phase.FETCHING:
            self._wake(now + gap_ns, Tie.RETRY)
        else:
            self._phase = Phase.WAITING
            self._wake(now + gap_ns, Tie.POLL_DUE)
        return []

    # Steps.

    def _await_first_poll(self, now: int) -> list[Request]:
        first = self._rules.polling.first
        if first is First.AT_ONCE:
            return self._poll(now)
        gap_ns = self._gap_ns(0, now, ABSENT)
        if first is First.RANDOM_PHASE:
            gap_ns = int(gap_ns * self._fate.phase_unit + 0.5)
        self._phase = Phase.WAITING
        self._wake(now + gap_ns, Tie.POLL_DUE)
        return []

    def _await_original(self, now: int) -> None:
        self._phase = Phase.AWAITING
        self._wake(now + self._rules.request_timeout_ns, Tie.REQUEST_TIMEOUT)

    def _await_next_poll(self, now: int, retry_after_ns: int) -> None:
        self._phase = Phase.WAITING
        self._wake(now + self._gap_ns(self._attempt, now, retry_after_ns), Tie.POLL_DUE)

    def _on_aside(self, tie: Tie, now: int) -> list[Request]:
        """The user has had enough, or has an answer; patience has ended; or all is gone."""
        if tie is Tie.GIVE_UP:
            return self._close(Reason.GAVE_UP, now)
        if tie is Tie.CRASH:
            return self._crash(now)
        if tie is Tie.ANSWER_DUE:
            _, _, request_id = self._answers.pop(0)
            self._set_aside()
            return self._answer(request_id, now)
        self._cancel_at = None
        if self._confirmed:
            return self._cancel(now)
        if not self._tries and self._refused == len(self._creation_ids) - 1:
            return self._close(Reason.CANCELLED, now)  # every creation was refused (R36)
        if self._phase is Phase.AWAITING:
            return self._cancel_unseen(now)
        self._cancel_waits = True  # a cancel must not overtake the creation
        self._set_aside()
        return []

    def _crash(self, now: int) -> list[Request]:
        """The requester is gone for a while; it comes back with the id of its task or without."""
        rules = self._rules
        self._crash_at = None
        self._set_aside()
        self._observe(now, Kind.CRASHED, self.number, NONE, 0, NONE, NONE, rules.back_ns)
        if self._phase is Phase.DELETING:
            return self._close(self._outcome, now)
        self._down_until = now + rules.back_ns
        is_known = rules.augmented and (self._confirmed or not rules.manners.mints_ids)
        if not is_known or not rules.remembers:
            return self._close(Reason.SUPERSEDED, now)
        for _, ordinal, _ in self._answers:
            self._prompted &= ~(1 << ordinal)  # asked again, it will be answered
        self._answers.clear()
        if self._cancel_at is not None:
            self._cancel_at = max(self._cancel_at, self._down_until)
        if self._gives_up_at is not None:
            self._gives_up_at = max(self._gives_up_at, self._down_until)
        self._set_aside()
        self._hint_ns = ABSENT
        self._is_on_way = False
        self._phase = Phase.WAITING
        self._wake(self._down_until, Tie.POLL_DUE)
        return []

    def _cancel_unseen(self, now: int) -> list[Request]:
        """Cancel what has not shown itself and only answers the original request.

        A task is polled from now on, to see it confirmed (R35); a plain call is over.
        """
        requests = self._cancel(now)
        if self._rules.augmented:
            return requests + self._await_first_poll(now)
        return requests + self._close(Reason.CANCELLED, now)

    def _repeat_answers(self, now: int) -> list[Request]:
        """Say again what was said, when the receiver still waits long after: it got lost."""
        is_all_said = self._given and not self._answers and self._cancelled_at is None
        if not is_all_said or self._answered_at >= self._polled_at:
            return []
        requests: list[Request] = []
        for request_id in dict.fromkeys(self._given):
            requests += self._answer(request_id, now)
        return requests

    def _is_cancel_ignored(self, now: int) -> bool:
        """Whether a cancel has not been confirmed for longer than is reasonable (R36)."""
        cancelled_at = self._cancelled_at
        return cancelled_at is not None and now - cancelled_at >= self._rules.cancel_patience_ns

    def _settle(self, outcome: Reason, now: int) -> list[Request]:
        """All is known: delete the task where that is wanted, and close."""
        rules = self._rules
        if not (self._deletes and rules.augmented and rules.manners.deletes):
            return self._close(outcome, now)
        self._drop_asides()
        self._outcome = outcome
        return self._delete(now)
