"""What receivers and requesters are set to: the options of the protocol, frozen.

Rule 1: what SEP-1686 leaves open (MAY, and its contradictions C1-C14) is a field here, with the
reading that this project takes as its default.
Rule 2: times are nanoseconds, ``UNLIMITED`` (-1) is no end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from tasksim.policies import ABSENT, UNLIMITED
from tasksim.policies.advice import Advice
from tasksim.policies.limiters import Limit
from tasksim.policies.polling import Polling
from tasksim.protocol.manners import SEP_1686, Anchor, Manners
from tasksim.protocol.occurrences import Operation
from tasksim.protocol.states import TERMINAL, Status
from tasksim.units import s_from_ns


class Binding(IntEnum):
    """What a task belongs to, and so who may see it (8.1.1, R49)."""

    SESSION = 0
    PRINCIPAL = 1
    NOTHING = 2  # everybody sees every task: to be documented (R50)


class Push(IntEnum):
    """What a receiver may tell unasked."""

    ENDED = 0
    INPUT = 1
    MILESTONE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """When a requester becomes suspect (R54c): so many strange requests within a window."""

    window_ns: int = 60_000_000_000
    failed_lookups: int = 20  # of ids that are not there
    early_polls: int = 60  # sooner than advertised after the last get of the task


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverRules:
    """What a receiver grants, advertises, limits and refuses."""

    keep_alive_default_ns: int = 300_000_000_000  # UNLIMITED or a duration
    keep_alive_max_ns: int = UNLIMITED
    sweep_ns: int = 0  # ended tasks are forgotten at multiples of it; 0: at once
    keeps_unknown: bool = False  # C3: by the letter, an unknown task never expires
    anchor: Anchor = Anchor.END  # from when on retention runs
    store_max: int = UNLIMITED  # tasks that are remembered, ended ones included
    evicts: bool = False  # whether a full store forgets the task that ended first
    advice: Advice | None = None  # None: no pollFrequency is advertised (R21)
    tool_advice: Mapping[str, Advice] = field(default_factory=dict)  # of single tools
    tombstones: int = 10_000  # forgotten ids remembered, the oldest dropped first
    reuses_forgotten: bool = False  # C2: whether an id may come back while its tombstone lives
    reuses_live: bool = False  # C2: a duplicate is taken as a repetition, not as an error (R08)
    deletable: frozenset[Status] | None = TERMINAL  # None: deletion is not supported (R43)
    answers_cancelled: bool = False  # C13: a cancelled original request gets an error answer
    page_size: int = 50  # tasks in one answer to a list (R37)
    cursor_key: bytes = b"tasksim"  # a live receiver takes a secret one
    binding: Binding = Binding.SESSION
    supports_tasks: bool = True  # the tasks capability (R01); without it tasks are ignored (R04)
    task_methods: frozenset[str] | None = None  # requests that can be tasks (R05); None: any
    open_per_requester: int = UNLIMITED  # R52a
    open_total: int = UNLIMITED
    queue_max: int = 0  # creations over a limit that wait for room instead of being refused
    hold_max_ns: int = 0  # how long a get is held at most; 0: not at all
    holds_max: int = UNLIMITED  # requests that are held open at once
    pushes: frozenset[Push] = frozenset()  # what requesters are told unasked
    manners: Manners = SEP_1686
    retry_after_ns: int = 1_000_000_000  # what a requester over a task limit is told
    limits: Mapping[Operation, Limit] = field(default_factory=dict)  # R51
    input_timeout_ns: int = UNLIMITED  # how long input is waited for; then the task fails
    watch: Watch | None = None  # R54c


def told(rules: ReceiverRules) -> tuple[str, ...]:
    """What a receiver says of its limits to whoever connects (R50, R53), a sentence each."""
    found = []
    if rules.keep_alive_max_ns != UNLIMITED:
        longest_s = s_from_ns(rules.keep_alive_max_ns)
        found.append(f"Tasks are kept for at most {longest_s:g} s after they ended.")
    if rules.open_per_requester != UNLIMITED:
        found.append(f"A requester may have {rules.open_per_requester} open tasks.")
    if rules.open_total != UNLIMITED:
        found.append(f"{rules.open_total} tasks may be open in all.")
    if rules.binding is Binding.NOTHING:
        found.append("Tasks belong to no session: every session can see every task.")
    return tuple(found)


class PushUse(IntEnum):
    """What a requester does with what it is told unasked."""

    IGNORED = 0
    WAKES = 1  # it polls at once
    TRUSTED = 2  # it believes it


class Fallback(IntEnum):
    """What a requester does when the created notification does not come (N03, N04)."""

    POLL = 0  # poll as it always does
    ORIGINAL = 1  # wait for the original response
    BACKOFF = 2  # poll at gaps that double until the task has shown itself


@dataclass(frozen=True, slots=True, kw_only=True)
class RequesterRules:
    """How a requester behaves."""

    polling: Polling
    keep_alive_ns: int | None = None  # None: it asks for none
    created_timeout_ns: int = 10_000_000_000
    fallback: Fallback = Fallback.POLL
    backoff: Polling | None = None  # the gaps of Fallback.BACKOFF
    create_attempts: int = 1  # how often the task is asked for before the fallback (N05)
    renews_id: bool = False  # a fault to study: each attempt is another task
    request_timeout_ns: int = 60_000_000_000
    raced: bool = False  # whether the original response counts (N01)
    augmented: bool = True  # False: plain calls, no tasks at all
    failures_max: int = 5  # unanswered or refused requests in a row before it gives up
    limited_gap_ns: int = ABSENT  # after a refusal over a limit; ABSENT: as the polling rule says
    limited_max: int = 100  # refusals over a limit in a row before it gives up
    cancel_patience_ns: int = 60_000_000_000  # from the cancel on it polls to see it confirmed
    patience_ns: int = UNLIMITED  # from asking for the task on, whatever happens
    polls_max: int = UNLIMITED  # gets of a task before it gives up
    push: PushUse = PushUse.WAKES
    manners: Manners = SEP_1686
    blocks: bool = False  # D2: asks for the result at once, which waits for the end
    answers_on_result: bool = True  # D2: asks for the result when input is needed
    back_ns: int = 0  # how long a requester that crashes is gone
    remembers: bool = True  # whether it knows its task then

    @property
    def listens(self) -> bool:
        """Whether the original response can matter to it."""
        if self.manners.mints_ids or not self.augmented:
            return True  # what is no task is answered, whatever was asked for
        return self.raced or self.fallback is Fallback.ORIGINAL


# Bits of a task's number: its place; above that which renewal of its id it is; above that which
# run of a task that the receiver did more than once.
RENEWALS_FROM: Final = 36
RUNS_FROM: Final = 41
RENEWALS_MAX: Final = 31
RUNS_MAX: Final = 63


def renewed(number: int, renewal: int) -> int:
    """Number of a task that was asked for again under another id."""
    assert 0 < renewal <= RENEWALS_MAX, f"renewal {renewal} does not fit a task number"
    return renewal << RENEWALS_FROM | number & (1 << RENEWALS_FROM) - 1


CHILDREN_FROM: Final = 16  # renewals from which on the bits say which child of the task it is
CHILDREN_MAX: Final = RENEWALS_MAX - CHILDREN_FROM + 1


def child(number: int, place: int) -> int:
    """Number of the child *place* of a task."""
    assert 0 <= place < CHILDREN_MAX, f"child {place} does not fit a task number"
    return renewed(number, CHILDREN_FROM + place)


def rerun(number: int, run: int) -> int:
    """Number of what a receiver does anew that was done before under the same id."""
    assert 0 < run <= RUNS_MAX, f"run {run} does not fit a task number"
    return run << RUNS_FROM | number
