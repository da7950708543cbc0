"""What a receiver remembers: tasks, whose they are, and for a while the ids of forgotten ones.

Rule 1: every table has the lifetime of a task. When the last one is forgotten all are empty, but
for tombstones, whose number is bounded.
Rule 2: a task has one deadline at a time: input that is waited for, or its retention.
"""

from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Any, Final

from tasksim.protocol.errors import ProtocolError, TaskExpiredError, TaskNotFoundError
from tasksim.protocol.messages import Call, Child, InputRequest, RequestId
from tasksim.protocol.states import Status
from tasksim.protocol.ties import ORDINAL_BITS, TASK_BITS, Tie, rank

Key = tuple[str, str]  # (whom the task belongs to, task id)


class TaskRecord:
    """What a receiver remembers of a task."""

    __slots__ = (
        "advised_ns",
        "asked",
        "call",
        "children",
        "children_done",
        "children_left",
        "created_at",
        "deadline",
        "error",
        "expires_at",
        "fetches",
        "gets",
        "input_until",
        "keep_alive_ns",
        "key",
        "milestone",
        "number",
        "parent",
        "payload",
        "pending",
        "polled_at",
        "prompts",
        "request_id",
        "requester",
        "sequence",
        "session",
        "started",
        "status",
        "via",
    )

    def __init__(  # noqa: PLR0913 - what a record is made of
        self,
        *,
        key: Key,
        session: str,
        requester: str,
        number: int,
        sequence: int,
        request_id: RequestId,
        keep_alive_ns: int,
        call: Call,
        created_at: int,
        status: Status = Status.SUBMITTED,
        via: Any = None,
        parent: Key | None = None,
    ) -> None:
        self.key: Final = key
        self.via: Final = via  # what its driver wants back with what is sent to its requester
        self.parent: Final = parent  # the task that waits for this one
        self.session: Final = session  # that it was created in
        self.requester: Final = requester  # whom limits act on
        self.number: Final = number  # in the log
        self.sequence: Final = sequence  # of its admission
        self.request_id: Final = request_id
        self.keep_alive_ns: Final = keep_alive_ns  # UNLIMITED or a duration
        self.call: Final = call
        self.created_at: Final = created_at
        self.advised_ns: int | None = None  # interval that its requester was told last
        self.status = status  # R09: submitted
        self.started = False
        self.deadline: tuple[int, int] | None = None  # the one that it has in the queue
        self.expires_at: int | None = None
        self.input_until: int | None = None  # until when what it waits for must have come
        self.payload: Mapping[str, Any] | None = None
        self.error: str | None = None
        self.pending: set[RequestId] = set()  # requests for input that are not answered
        self.prompts: list[InputRequest] = []  # those of them that wait to be fetched
        self.milestone = 0  # intermediate results so far
        self.children: tuple[Child, ...] = ()  # that its requester is to create
        self.children_left: set[str] = set()
        self.children_done: dict[str, bool] = {}  # whether those that have ended completed
        self.asked = 0  # requests for input so far
        self.gets = 0  # answered with a status
        self.polled_at: int | None = None  # the last of them
        self.fetches = 0  # answered with the result

    def is_over(self, now: int) -> bool:
        """Whether its retention has passed, swept or not."""
        return self.expires_at is not None and self.expires_at <= now


class Records:
    """The tables of one receiver."""

    def __init__(self, tombstones_max: int) -> None:
        self._tombstones_max = tombstones_max
        self._tasks: dict[Key, TaskRecord] = {}
        self._owners: dict[str, dict[str, TaskRecord]] = {}  # in order of admission
        self._tombstones: dict[Key, type[ProtocolError]] = {}  # and what to say of them
        self._originals: dict[tuple[str, RequestId], TaskRecord] = {}  # by what created them
        self._ended: dict[Key, None] = {}  # in order of ending
        self._deadlines: list[tuple[int, int, Key]] = []
        self._admitted = 0

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def tombstones(self) -> int:
        """How many forgotten ids are remembered."""
        return len(self._tombstones)

    @property
    def sequence(self) -> int:
        """Place of the next task in the order of admission."""
        return self._admitted

    def sizes(self) -> dict[str, int]:
        """Size of every table that must be empty when no task is left."""
        return {
            "tasks": len(self._tasks),
            "owners": len(self._owners),
            "originals": len(self._originals),
            "ended": len(self._ended),
            "deadlines": len(self._deadlines),
        }

    def get(self, key: Key) -> TaskRecord | None:
        """The task of that key, over or not."""
        return self._tasks.get(key)

    def of(self, owner: str) -> Iterator[TaskRecord]:
        """An owner's tasks in order of admission."""
        return iter(self._owners.get(owner, {}).values())

    def all(self) -> list[TaskRecord]:
        """Every task, in order of admission."""
        return sorted(self._tasks.values(), key=lambda record: record.sequence)

    def created_by(self, session: str, request_id: RequestId) -> TaskRecord | None:
        """The task that a session's request created."""
        return self._originals.get((session, request_id))

    def ended(self, record: TaskRecord) -> None:
        """A task has become terminal."""
        self._ended[record.key] = None

    def first_ended(self) -> TaskRecord | None:
        """Of the tasks that have ended, the one that did so first."""
        key = next(iter(self._ended), None)
        return None if key is None else self._tasks[key]

    def is_buried(self, key: Key) -> bool:
        """Whether the id belonged to a task that was forgotten not long ago."""
        return key in self._tombstones

    def find(self, key: Key, now: int) -> TaskRecord:
        """The task, if it is to be seen; else TaskNotFoundError or TaskExpiredError (N15)."""
        record = self._tasks.get(key)
        if record is None:
            raise self._tombstones.get(key, TaskNotFoundError)
        if record.is_over(now):
            raise TaskExpiredError  # a late sweep is never visible
        return record

    def add(self, record: TaskRecord) -> None:
        """Remember a new task under a key of its own (R07); a tombstone of its id is gone."""
        owner, task_id = record.key
        self._admitted += 1
        self._tasks[record.key] = record
        self._owners.setdefault(owner, {})[task_id] = record
        self._originals[record.session, record.request_id] = record
        self._tombstones.pop(record.key, None)

    def forget(self, record: TaskRecord, epitaph: type[ProtocolError] | None) -> None:
        """Drop a task from every table; for a while its id is answered with *epitaph*."""
        owner, task_id = record.key
        del self._tasks[record.key]
        self._ended.pop(record.key, None)
        own = self._owners[owner]
        del own[task_id]
        if not own:
            del self._owners[owner]
        original = (record.session, record.request_id)
        if self._originals.get(original) is record:
            del self._originals[original]
        if epitaph is not None:
            self._tombstones[record.key] = epitaph
            while len(self._tombstones) > self._tombstones_max:
                del self._tombstones[next(iter(self._tombstones))]
        self._drop_stale()

    def wipe(self) -> None:
        """Drop everything, tombstones as well."""
        for table in (self._tasks, self._owners, self._tombstones, self._originals, self._ended):
            table.clear()
        self._deadlines.clear()

    # Deadlines.

    @property
    def next_deadline(self) -> tuple[int, int] | None:
        """(instant, rank) of the next one."""
        return self._deadlines[0][:2] if self._deadlines else None

    def arm(self, record: TaskRecord, at: int, tie: Tie) -> None:
        """Give a task its one deadline."""
        record.deadline = (at, rank(tie, record.number))
        heappush(self._deadlines, (*record.deadline, record.key))
        self._drop_stale()

    def disarm(self, record: TaskRecord) -> None:
        """Take a task's deadline away."""
        record.deadline = None
        self._drop_stale()

    def due(self, now: int) -> tuple[TaskRecord, int, Tie] | None:
        """The one task whose deadline is next, if it has come, when that was and what for.

        The deadline is used up.
        """
        if not self._deadlines or self._deadlines[0][0] > now:
            return None
        at, rank_, key = heappop(self._deadlines)
        record = self._tasks[key]
        record.deadline = None
        self._drop_stale()
        return record, at, Tie(rank_ >> (TASK_BITS + ORDINAL_BITS))

    def _drop_stale(self) -> None:
        """Keep the head of the queue a deadline that a task still has."""
        queue = self._deadlines
        while queue:
            record = self._tasks.get(queue[0][2])
            if record is not None and record.deadline == queue[0][:2]:
                return
            heappop(queue)
