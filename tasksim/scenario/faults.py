"""What a scenario lets go wrong.

Rule: shares are of messages or of tasks of a kind; what is left out goes well.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge

from tasksim.scenario.distributions import FORBID, Law
from tasksim.scenario.kinds import NotNegative, Positive, Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """The receiver goes down, and comes up with what was written or with nothing.

    What was under way is failed, or begun anew (*redone*), where the receiver is durable.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    at_s: NotNegative
    down_s: NotNegative = 0.0
    durable: bool = True
    interrupted: Literal["failed", "redone"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageShares:
    """A share for each kind of message, in place of the share for all of them."""

    __pydantic_config__: ClassVar[Any] = FORBID
    create: Share | None = None
    get: Share | None = None
    result: Share | None = None
    delete: Share | None = None
    cancel: Share | None = None
    input: Share | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time in which something does not work."""

    __pydantic_config__: ClassVar[Any] = FORBID
    at_s: NotNegative
    for_s: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowWork:
    """The share of the work that falls to slow workers takes *factor* times as long."""

    __pydantic_config__: ClassVar[Any] = FORBID
    share: Share
    factor: Annotated[float, Ge(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDeaths:
    """The share of the work whose worker dies half-way, unseen for *noticed_s*.

    Until then the task is working and its worker's place is taken; then the task has failed, or
    is unknown where nobody can tell what happened.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    share: Share
    noticed_s: Positive = 300.0
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCuts:
    """How long a task's stream stays open; when its requester has it back, absent: never.

    What the receiver sends in between waits for it, or is lost. The created notification, the
    requests for input, what is pushed and the original response go that way.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    after: Law
    resumes_s: NotNegative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Messages that travel longer, *by* so much: a share of all, or of single kinds."""

    __pydantic_config__: ClassVar[Any] = FORBID
    by: Law
    share: Share = 0.0
    of: MessageShares = field(default_factory=MessageShares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong, as shares of the messages of a kind, and when the receiver restarts.

    A lost request never reached the receiver; of a lost reply the receiver has done its part.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    created_lost_share: Share = 0.0
    request_lost_share: Share = 0.0
    reply_lost_share: Share = 0.0
    original_lost_share: Share = 0.0
    input_lost_share: Share = 0.0  # of the receiver's requests for input
    request_lost: MessageShares = field(default_factory=MessageShares)
    reply_lost: MessageShares = field(default_factory=MessageShares)
    request_duplicated_share: Share = 0.0
    reply_duplicated_share: Share = 0.0
    request_duplicated: MessageShares = field(default_factory=MessageShares)
    reply_duplicated: MessageShares = field(default_factory=MessageShares)
    request_delayed: Delays | None = None
    reply_delayed: Delays | None = None
    restarts: tuple[Restart, ...] = ()
    push_lost_share: Share = 0.0  # of what the receiver tells unasked
    stalls: tuple[Window, ...] = ()  # the receiver stands still; its work goes on, unseen
    outages: tuple[Window, ...] = ()  # the network loses whatever is sent
    slow_work: SlowWork | None = None
    worker_deaths: WorkerDeaths | None = None
    stream_cuts: StreamCuts | None = None
