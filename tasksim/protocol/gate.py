"""Who may pass: rate limits, caps on open tasks, and an eye on abuse (SEP-1686 8.1.3, 8.2, 8.3).

Rule 1: a limit is asked before anything is looked at; what it refuses changes nothing else.
Rule 2: what is kept of a requester is dropped when it says no more than its absence would.
"""

from collections import OrderedDict

from tasksim.policies import UNLIMITED
from tasksim.policies.limiters import FRESH, TAKEN, Limit, State
from tasksim.protocol.errors import RateLimitedError
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.rules import ReceiverRules, Watch


class Meter:
    """One operation's limit, and its state for all or for each requester."""

    def __init__(self, limit: Limit) -> None:
        self._limit = limit
        self._states: OrderedDict[str, State] = OrderedDict()  # the least lately used first

    def require(self, requester: str, now: int) -> None:
        """Let a request pass, or raise RateLimitedError."""
        who = requester if self._limit.per_requester else ""
        state, wait_ns = self._limit.take(self._limit.params, self._states.get(who, FRESH), now)
        if wait_ns != TAKEN:
            raise RateLimitedError(wait_ns)
        self._states[who] = state
        if len(self._states) > 1:
            self._states.move_to_end(who)
            while next(iter(self._states.values()))[0] <= now:  # says nothing any more
                self._states.popitem(last=False)

    def left(self, now: int) -> int:
        """How many requesters' states say something."""
        return sum(state[0] > now for state in self._states.values())


class Gate:
    """Limits and caps of one receiver."""

    def __init__(self, rules: ReceiverRules) -> None:
        self._rules = rules
        self._meters = {operation: Meter(limit) for operation, limit in rules.limits.items()}
        self._open: dict[str, int] = {}  # tasks that have not ended, by requester
        self._open_total = 0

    @property
    def open_total(self) -> int:
        """Tasks that have not ended."""
        return self._open_total

    @property
    def limits(self) -> bool:
        """Whether any operation has a rate limit."""
        return bool(self._meters)

    def require_rate(self, operation: Operation, requester: str, now: int) -> None:
        """Raise RateLimitedError when requests of this kind come too fast (R51)."""
        meter = self._meters.get(operation)
        if meter is not None:
            meter.require(requester, now)

    def has_room(self, requester: str) -> bool:
        """Whether one more task may be open (R52a)."""
        rules = self._rules
        own = self._open.get(requester, 0)
        is_full = own >= rules.open_per_requester != UNLIMITED
        return not is_full and not self._open_total >= rules.open_total != UNLIMITED

    def opened(self, requester: str) -> None:
        """A task of the requester was admitted."""
        self._open[requester] = self._open.get(requester, 0) + 1
        self._open_total += 1

    def closed(self, requester: str) -> None:
        """A task of the requester ended, or was forgotten before it had."""
        self._open_total -= 1
        left = self._open[requester] - 1
        if left:
            self._open[requester] = left
        else:
            del self._open[requester]

    def sizes(self, now: int) -> dict[str, int]:
        """Size of every table that must be empty when all is over."""
        meters = sum(meter.left(now) for meter in self._meters.values())
        return {"requesters with open tasks": len(self._open), "rate limits": meters}

    def wipe(self) -> None:
        """Drop everything, as a restart does."""
        self._meters = {name: Meter(limit) for name, limit in self._rules.limits.items()}
        self._open.clear()
        self._open_total = 0


class Sentry:
    """Counts strange requests of each requester in fixed windows; speaks up once a window."""

    def __init__(self, watch: Watch) -> None:
        self._limits = {
            Reason.FAILED_LOOKUPS: watch.failed_lookups,
            Reason.EARLY_POLLS: watch.early_polls,
        }
        self._window_ns = watch.window_ns
        self._window = 0
        self._counts: dict[tuple[str, Reason], int] = {}

    def notes(self, requester: str, what: Reason, now: int) -> bool:
        """Take note of a strange request; whether it is the one that makes it too many."""
        window = now // self._window_ns
        if window != self._window:
            self._window = window
            self._counts.clear()
        count = self._counts.get((requester, what), 0) + 1
        self._counts[requester, what] = count
        return count == self._limits[what]
