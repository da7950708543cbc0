"""What a requester keeps for all of its tasks: circuit breaker, budget of retries, its pace.

Rule 1: a guard stands between a task's machine and the network; a request that it does not let
out fails at once, and the machine decides what follows, as after any request that fails.
Rule 2: a guard that is told nothing lets everything pass.
"""

from dataclasses import dataclass

from tasksim.policies import retries
from tasksim.policies.retries import CLOSED, Params, State
from tasksim.protocol.occurrences import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRules:
    """Parameters of a population's guards; None where there is none."""

    breaker: Params | None = None
    budget: Params | None = None
    pace: Params | None = None

    @property
    def guards(self) -> bool:
        """Whether any of them does anything."""
        return (self.breaker, self.budget, self.pace) != (None, None, None)


class Guard:
    """What one requester lets out, and when."""

    __slots__ = ("_balance", "_breaker", "_paced", "_rules")

    def __init__(self, rules: GuardRules) -> None:
        self._rules = rules
        self._breaker: State = CLOSED
        self._paced: State = (0,)
        self._balance = 0 if rules.budget is None else rules.budget[1]

    def refuses(self, now: int, *, is_retry: bool) -> tuple[Reason, int] | None:
        """Why a request may not go, and for how long that is so; None when it may."""
        rules, balance, state = self._rules, self._balance, self._breaker
        if rules.breaker is not None:
            state, wait_ns = retries.breaker(rules.breaker, state, now)
            if wait_ns > 0:
                return Reason.BREAKER_OPEN, wait_ns
        if rules.budget is not None:
            balance, may_go = retries.budget(rules.budget, balance, is_retry=is_retry)
            if not may_go:
                return Reason.BUDGET_SPENT, 0
        self._balance, self._breaker = balance, state  # what is refused consumes nothing
        return None

    def hears(self, now: int, *, ok: bool) -> None:
        """Take note of what a request has come to."""
        if self._rules.breaker is not None:
            self._breaker = retries.noted(self._rules.breaker, self._breaker, now, ok=ok)

    def delay_ns(self, now: int) -> int:
        """How long what is due now waits for its turn, which is given out with this."""
        if self._rules.pace is None:
            return 0
        self._paced, delay_ns = retries.paced(self._rules.pace, self._paced, now)
        return delay_ns
