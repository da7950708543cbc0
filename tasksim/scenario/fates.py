"""What becomes of messages: how long they travel, which are lost, which arrive twice.

Rule 1: a message is addressed by its task's key, its operation and its ordinal within the task,
so that every engine and a live run see the same fate.
Rule 2: the laws of the network are those of MCP's sides: ``request`` is client to server. Where
the requester is the server, its requests travel as replies do.
"""

from bisect import bisect_right
from typing import Final

from tasksim.protocol.occurrences import Operation
from tasksim.scenario import draws
from tasksim.scenario.distributions import Law
from tasksim.scenario.draws import Stream, draw_u64
from tasksim.scenario.faults import Delays, MessageShares
from tasksim.scenario.model import Scenario
from tasksim.scenario.quantiles import LawTables
from tasksim.scenario.variates import LONGEST_NS, variate_ns
from tasksim.units import ns_from_s

ABSENT: Final = -1
OPERATION_BIT: Final = 24  # of an ordinal: above it stands the operation
SECOND_COPY: Final = 1 << 31  # of an ordinal: the leg of a duplicate

REQUEST_LEG: Final = {
    Operation.CREATE: Stream.CREATE_REQUEST_LEG,
    Operation.GET: Stream.GET_REQUEST_LEG,
    Operation.RESULT: Stream.RESULT_REQUEST_LEG,
    Operation.CANCEL: Stream.CANCEL_LEG,
    Operation.DELETE: Stream.DELETE_REQUEST_LEG,
    Operation.INPUT: Stream.ANSWER_LEG,
}
REPLY_LEG: Final = {
    Operation.CREATE: Stream.CREATE_REPLY_LEG,
    Operation.CREATED: Stream.CREATED_LEG,
    Operation.GET: Stream.GET_REPLY_LEG,
    Operation.RESULT: Stream.RESULT_REPLY_LEG,
    Operation.ORIGINAL: Stream.ORIGINAL_LEG,
    Operation.DELETE: Stream.DELETE_REPLY_LEG,
    Operation.INPUT: Stream.INPUT_LEG,
    Operation.CANCEL: Stream.CANCEL_REPLY_LEG,
    Operation.PUSH: Stream.PUSH_LEG,
}
CUTS_MAX: Final = 10_000  # of one task's stream, after which it counts as gone


class MessageFates:
    """Delays, losses and duplicates of one scenario's messages."""

    def __init__(self, scenario: Scenario, tables: LawTables) -> None:
        network, faults = scenario.network, scenario.faults
        laws = (_add(tables, network.request), _add(tables, network.reply))
        # By population: (law of its requests, law of what it is sent).
        self._laws = [
            laws if population.side == "client" else (laws[1], laws[0])
            for population in scenario.requesters
        ]
        self._values = tables.values
        threshold = draws.threshold_from_share
        self._created_lost = threshold(faults.created_lost_share)
        self._request_lost = _by_operation(faults.request_lost, faults.request_lost_share)
        self._reply_lost = {
            Operation.CREATED: (self._created_lost, Stream.CREATED_LOST),
            Operation.ORIGINAL: (threshold(faults.original_lost_share), Stream.ORIGINAL_LOST),
            Operation.INPUT: (threshold(faults.input_lost_share), Stream.INPUT_LOST),
            Operation.PUSH: (threshold(faults.push_lost_share), Stream.PUSH_LOST),
        }
        for operation, lost in _by_operation(faults.reply_lost, faults.reply_lost_share).items():
            self._reply_lost.setdefault(operation, (lost, Stream.REPLY_LOST))
        self._request_twice = _by_operation(
            faults.request_duplicated, faults.request_duplicated_share
        )
        self._reply_twice = _by_operation(faults.reply_duplicated, faults.reply_duplicated_share)
        for operation in REPLY_LEG:
            common = threshold(faults.reply_duplicated_share)
            self._reply_twice.setdefault(operation, common)
        self.loses_requests: Final = any(self._request_lost.values())
        self.doubles_requests: Final = any(self._request_twice.values())
        self.loses_replies: Final = any(lost for lost, _ in self._reply_lost.values())
        self.doubles_replies: Final = any(self._reply_twice.values())
        self._requests_late = _delays(tables, faults.request_delayed)
        self._replies_late = _delays(tables, faults.reply_delayed)
        self._outages = [
            (ns_from_s(window.at_s), ns_from_s(window.at_s + window.for_s))
            for window in faults.outages
        ]
        self.has_outages: Final = bool(self._outages)
        cuts = faults.stream_cuts
        self.cuts_streams: Final = cuts is not None
        self._cut_law = ABSENT if cuts is None else tables.add(cuts.after)
        resumes_s = None if cuts is None else cuts.resumes_s
        self._resumes_ns = None if resumes_s is None else ns_from_s(resumes_s)

    @property
    def laws(self) -> list[tuple[int, int]]:
        """By population: (law of its requests, law of what it is sent)."""
        return self._laws

    @property
    def thresholds(self) -> tuple[dict[Operation, int], dict[Operation, int]]:
        """Of losing requests and what the receiver sends, by operation."""
        return self._request_lost, {op: lost for op, (lost, _) in self._reply_lost.items()}

    def is_out(self, at: int) -> bool:
        """Whether the network loses what is sent at that instant."""
        place = bisect_right(self._outages, (at, LONGEST_NS)) - 1
        return place >= 0 and at < self._outages[place][1]

    def stream_open_at(self, key: int, opened_at: int, now: int) -> int | None:
        """From when on a task's stream, open since *opened_at*, carries what is sent now.

        None when it is cut and does not come back.
        """
        start = opened_at
        for ordinal in range(CUTS_MAX):
            word = draw_u64(key, Stream.STREAM_CUT, ordinal)
            cut_at = start + max(variate_ns(self._values, self._cut_law, word), 1)
            if now < cut_at:
                return max(now, start)
            if self._resumes_ns is None:
                return None
            start = cut_at + self._resumes_ns
            if now <= start:
                return start
        return None

    def request_leg_ns(
        self, key: int, population: int, operation: Operation, ordinal: int, *, copy: bool = False
    ) -> int:
        """Delay of a request on its way to the receiver, at least 1 ns."""
        law = self._laws[population][0]
        leg_ns = self._leg_ns(law, key, REQUEST_LEG[operation], ordinal, copy=copy)
        if self._requests_late is None:
            return leg_ns
        streams = (Stream.REQUEST_LATE, Stream.REQUEST_LATE_BY)
        return leg_ns + self._late_ns(self._requests_late, streams, key, operation, ordinal)

    def reply_leg_ns(
        self, key: int, population: int, operation: Operation, ordinal: int, *, copy: bool = False
    ) -> int:
        """Delay of an answer, a notification or a request for input, at least 1 ns."""
        law = self._laws[population][1]
        leg_ns = self._leg_ns(law, key, REPLY_LEG[operation], ordinal, copy=copy)
        if self._replies_late is None:
            return leg_ns
        streams = (Stream.REPLY_LATE, Stream.REPLY_LATE_BY)
        return leg_ns + self._late_ns(self._replies_late, streams, key, operation, ordinal)

    def _late_ns(
        self,
        late: tuple[int, dict[Operation, int]],
        streams: tuple[Stream, Stream],
        key: int,
        operation: Operation,
        ordinal: int,
    ) -> int:
        """How much longer a message travels: most of them not at all."""
        law, shares = late
        place = operation << OPERATION_BIT | ordinal
        if draw_u64(key, streams[0], place) >= shares.get(operation, 0):
            return 0
        return variate_ns(self._values, law, draw_u64(key, streams[1], place))

    def is_request_lost(self, key: int, operation: Operation, ordinal: int) -> bool:
        """Whether a request does not reach the receiver."""
        place = operation << OPERATION_BIT | ordinal
        return draw_u64(key, Stream.REQUEST_LOST, place) < self._request_lost[operation]

    def is_reply_lost(self, key: int, operation: Operation, ordinal: int) -> bool:
        """Whether what the receiver sends is lost; notifications have shares of their own."""
        threshold, stream = self._reply_lost[operation]
        if stream is Stream.REPLY_LOST:
            ordinal |= operation << OPERATION_BIT
        return draw_u64(key, stream, ordinal) < threshold

    def is_created_lost(self, key: int, ordinal: int = 0) -> bool:
        """Whether the network drops the task's created notification."""
        return draw_u64(key, Stream.CREATED_LOST, ordinal) < self._created_lost

    def is_request_doubled(self, key: int, operation: Operation, ordinal: int) -> bool:
        """Whether a request arrives twice."""
        place = operation << OPERATION_BIT | ordinal
        return draw_u64(key, Stream.REQUEST_TWICE, place) < self._request_twice[operation]

    def is_reply_doubled(self, key: int, operation: Operation, ordinal: int) -> bool:
        """Whether what the receiver sends arrives twice."""
        place = operation << OPERATION_BIT | ordinal
        return draw_u64(key, Stream.REPLY_TWICE, place) < self._reply_twice[operation]

    def _leg_ns(self, law: int, key: int, stream: Stream, ordinal: int, *, copy: bool) -> int:
        if law == ABSENT:
            return 1
        if copy:
            ordinal |= SECOND_COPY
        return max(variate_ns(self._values, law, draw_u64(key, stream, ordinal)), 1)


def _by_operation(shares: MessageShares, common: float) -> dict[Operation, int]:
    """Thresholds of loss by operation: its own share, else the common one."""
    found = {}
    for operation in REQUEST_LEG:
        share = getattr(shares, operation.name.lower())
        found[operation] = draws.threshold_from_share(common if share is None else share)
    return found


def _delays(tables: LawTables, settings: Delays | None) -> tuple[int, dict[Operation, int]] | None:
    """Law of what is added, and thresholds by operation; None where nothing is delayed."""
    if settings is None:
        return None
    shares = _by_operation(settings.of, settings.share)
    for operation in REPLY_LEG:
        shares.setdefault(operation, draws.threshold_from_share(settings.share))
    return tables.add(settings.by), shares


def _add(tables: LawTables, law: Law | None) -> int:
    return ABSENT if law is None else tables.add(law)
