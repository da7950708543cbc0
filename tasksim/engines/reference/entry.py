"""The receiver's entry: what a request waits for before the receiver looks at it.

A shaper lets requests in one by one; a limit of requests in hand refuses what is too much; at the
desk each takes a server's time.
"""

from collections import Counter
from typing import Final

from tasksim.engines.reference.ranked import At, RankedEnvironment
from tasksim.engines.reference.workers import Begin, Desk, Pool
from tasksim.policies.limiters import FRESH, MILLI, TAKEN, State, adapted, shaped
from tasksim.protocol.occurrences import Operation
from tasksim.scenario.model import Scenario
from tasksim.scenario.receiving import Adaptive, InHand, LeakyBucket
from tasksim.scenario.rules import limits_in_hand, shapers
from tasksim.units import ns_from_s

AT_ONCE: Final = -1  # the request is looked at now
LATER: Final = -2  # it waits for its turn; any other answer is a refusal, and how long to wait


class Standing:
    """Requests that wait for a receiver that stands still."""

    def __init__(self, env: RankedEnvironment) -> None:
        self._env = env
        self._drops: dict[At, Begin] = {}

    def add(self, until: int, tie: int, go_on: Begin, drop: Begin) -> None:
        """Let a request go on then, unless it is dropped."""

        def go(_: object) -> None:
            del self._drops[event]
            go_on()

        event = At(self._env, until, tie, go)
        self._drops[event] = drop

    def drop_all(self) -> None:
        """Drop every request, as a restart does; who sent it is told."""
        drops, self._drops = self._drops, {}
        for event, drop in drops.items():
            self._env.cancel(event)
            drop()


class Entry:
    """Shapers, limits of requests in hand, and the desk of one receiver."""

    def __init__(self, env: RankedEnvironment, workers: Pool, scenario: Scenario) -> None:
        self._env = env
        receiver = scenario.receiver
        self._shapers = shapers(receiver.rate_limits)
        self._shaped: dict[tuple[Operation, str], State] = {}
        self._inside: dict[At, Begin] = {}  # requests inside shapers, and how to drop them
        self._stalled_until = 0
        self._limits = limits_in_hand(receiver.rate_limits)
        self._in_hand: Counter[tuple[Operation, str]] = Counter()
        self._adapted: dict[tuple[Operation, str], int] = {}  # thousandths
        self._desk: Desk | None = None
        self._is_open = receiver.handling is None and not self._shapers
        self._costs_ns: dict[Operation, int] = {}
        handling = receiver.handling
        if handling is not None:
            pool = workers if handling.shares_workers else Pool(handling.servers)
            self._desk = Desk(env, pool)
            self._costs_ns = {
                Operation.CREATE: ns_from_s(handling.create_s),
                Operation.GET: ns_from_s(handling.get_s),
                Operation.RESULT: ns_from_s(handling.result_s),
                Operation.DELETE: ns_from_s(handling.delete_s),
                Operation.CANCEL: ns_from_s(handling.cancel_s),
                Operation.INPUT: ns_from_s(handling.input_s),
            }

    @property
    def is_open(self) -> bool:
        """Whether nothing keeps a request from being looked at at once."""
        return self._is_open

    def leftovers(self) -> dict[str, int]:
        """What is still held; all 0 when every request has been looked at."""
        return {
            "requests being answered": 0 if self._desk is None else self._desk.busy,
            "requests in hand": len(self._in_hand),
            "requests in shapers": len(self._inside),
        }

    def enter(
        self, operation: Operation, requester: str, tie: int, *, act: Begin, drop: Begin
    ) -> int:
        """AT_ONCE, LATER (*act* or *drop* follows), or for how long the request is refused."""
        shaper = self._shapers.get(operation)
        if shaper is None:
            return self._to_desk(operation, requester, tie, act, drop)
        delay_ns = self._shape(shaper, operation, requester)
        if delay_ns < 0:
            return -delay_ns
        if delay_ns == 0:
            return self._to_desk(operation, requester, tie, act, drop)

        def let_in() -> None:
            if self._to_desk(operation, requester, tie, act, drop) == AT_ONCE:
                act()

        self._keep_inside(self._env.now + delay_ns, tie, drop, let_in)
        return LATER

    def _keep_inside(self, until: int, tie: int, drop: Begin, let_in: Begin) -> None:
        """Let a request in then, or when the receiver stands still no more."""

        def go(_: object) -> None:
            del self._inside[event]
            if self._env.now < self._stalled_until:
                self._keep_inside(self._stalled_until, tie, drop, let_in)
            else:
                let_in()

        event = At(self._env, until, tie, go)
        self._inside[event] = drop

    def _shape(self, shaper: LeakyBucket, operation: Operation, requester: str) -> int:
        """How long the request stays inside; negative: for how long there is no room."""
        key = (operation, "" if shaper.scope == "total" else requester)
        params = (max(ns_from_s(1.0 / shaper.rate), 1), shaper.room)
        state, wait_ns, delay_ns = shaped(params, self._shaped.get(key, FRESH), self._env.now)
        if wait_ns != TAKEN:
            return -wait_ns
        self._shaped[key] = state
        return delay_ns

    def _to_desk(
        self, operation: Operation, requester: str, tie: int, act: Begin, drop: Begin
    ) -> int:
        """Let a request wait for its turn, if there is room for one more of its kind."""
        if self._desk is None:
            return AT_ONCE
        limit = self._limits.get(operation)
        key = (operation, "" if limit is None or limit.scope == "total" else requester)
        if limit is not None and self._in_hand[key] * MILLI + MILLI > self._most(limit, key):
            return ns_from_s(limit.retry_after_s)
        self._in_hand[key] += 1
        since = self._env.now

        def let_go() -> None:
            if isinstance(limit, Adaptive):
                self._adapt(limit, key, self._env.now - since)
            self._in_hand[key] -= 1
            if not self._in_hand[key]:
                del self._in_hand[key]

        def taken() -> None:
            let_go()
            act()

        def dropped() -> None:
            let_go()
            drop()

        self._desk.take(self._costs_ns[operation], tie, taken, dropped)
        return LATER

    def _most(self, limit: InHand | Adaptive, key: tuple[Operation, str]) -> int:
        """How many requests may be in hand, in thousandths."""
        if isinstance(limit, InHand):
            return limit.limit * MILLI
        return self._adapted.get(key, limit.start * MILLI)

    def _adapt(self, limit: Adaptive, key: tuple[Operation, str], sojourn_ns: int) -> None:
        params = (limit.min, limit.max, ns_from_s(limit.target_s), int(limit.cut * MILLI))
        self._adapted[key] = adapted(params, self._most(limit, key), self._in_hand[key], sojourn_ns)

    def stall(self, until: int) -> None:
        """Nobody is let in or answered before *until*."""
        self._stalled_until = until
        if self._desk is not None:
            self._desk.stall(until)

    def stop_all(self) -> None:
        """Drop every request, as a restart does; who sent it is told."""
        inside, self._inside = self._inside, {}
        for event, drop in inside.items():
            self._env.cancel(event)
            drop()
        self._stalled_until = 0
        if self._desk is not None:
            self._desk.stop_all()
        self._shaped.clear()
        self._adapted.clear()
