"""What a scenario says of its receiver.

Rule: keys and units are those of the file; what is left out is off.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Len, Lt
from pydantic import Discriminator

from tasksim.scenario.distributions import FORBID
from tasksim.scenario.kinds import Count, Name, NotNegative, Positive, Share


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedAdvice:
    """The receiver advertises one interval, always."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["fixed"] = "fixed"
    interval_s: Positive
    spread: Share = 0.0  # tasks are told up to so much more, each another part of it


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadAdvice:
    """The receiver advertises what keeps all polls together below *polls_per_s*, within limits."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["load-dependent"] = "load-dependent"
    polls_per_s: Positive
    min_s: Positive = 1.0
    max_s: Positive = 300.0
    spread: Share = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeAdvice:
    """The receiver advertises sqrt(2 c1 / (c2 h)): h is the hazard of the work at a task's age.

    A poll costs c1 = *poll_cost*, a second of delay c2 = *delay_cost_per_s*.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["age-dependent"] = "age-dependent"
    poll_cost: Positive = 1.0
    delay_cost_per_s: Positive
    min_s: Positive = 1.0
    max_s: Positive = 300.0
    spread: Share = 0.0


AdviceSettings = Annotated[FixedAdvice | LoadAdvice | AgeAdvice, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAlive:
    """Retention: what is granted without asking, and the most that is granted.

    *unlimited* grants without asking that a task is never forgotten, or for *max_s*.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    default_s: NotNegative = 300.0
    unlimited: bool = False
    max_s: NotNegative | None = None
    sweep_s: NotNegative = 0.0  # ended tasks are forgotten at multiples of it
    unknown: Literal["expires", "kept"] = "expires"
    anchor: Literal["end", "creation", "both"] | None = None  # absent: as the dialect says


@dataclass(frozen=True, slots=True, kw_only=True)
class Concurrency:
    """Tasks that may be open at once, and what a requester over that is told to wait.

    *queue* creations over the limit are not refused but wait for room.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    per_requester: Count | None = None
    total: Count | None = None
    retry_after_s: NotNegative = 1.0
    queue: Annotated[int, Ge(0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Tasks that are remembered, ended ones included, and what becomes of one more."""

    __pydantic_config__: ClassVar[Any] = FORBID
    limit: Count
    when_full: Literal["refuses", "evicts"] = "refuses"  # the task that ended first goes


@dataclass(frozen=True, slots=True, kw_only=True)
class LongPolls:
    """Gets that ask for it are held until there is news, each on a connection of its own.

    When as many are held as there are *connections*, they are answered at once.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    max_s: Positive = 30.0
    connections: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucket:
    """At most *rate* requests a second, *burst* of them at once."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["token-bucket"] = "token-bucket"
    rate: Positive
    burst: Count = 1
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRate:
    """Requests as even as 1 / *rate* apart, but for a *tolerance_s* of coming early."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["gcra"] = "gcra"
    rate: Positive
    tolerance_s: NotNegative = 0.0
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedWindow:
    """At most *limit* requests in each window of the clock; at its edge twice as many may pass."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["fixed-window"] = "fixed-window"
    window_s: Positive
    limit: Count
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingLog:
    """At most *limit* requests in any window of that length."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["sliding-log"] = "sliding-log"
    window_s: Positive
    limit: Annotated[int, Ge(1), Le(10_000)]
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class InHand:
    """At most *limit* requests of the kind wait or are being answered at once."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["concurrency"] = "concurrency"
    limit: Count
    retry_after_s: NotNegative = 1.0
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTokens:
    """A bucket of *burst* tokens that gains one whole token at each tick of 1 / *rate*."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["whole-tokens"] = "whole-tokens"
    rate: Positive
    burst: Count = 1
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingCounter:
    """About *limit* requests in any window of that length, estimated from two counts."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["sliding-counter"] = "sliding-counter"
    window_s: Positive
    limit: Count
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakyBucket:
    """Requests are let in one by one, *rate* a second; *room* of them may be inside."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["leaky-bucket"] = "leaky-bucket"
    rate: Positive
    room: Count
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """A limit of requests in hand that adapts to how long answering takes.

    It grows while answers come within *target_s*, and is cut to the share *cut* of itself when
    one took longer.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["aimd"] = "aimd"
    start: Count = 10
    min: Count = 1
    max: Count = 1000
    target_s: Positive
    cut: Annotated[float, Gt(0), Lt(1)] = 0.5
    retry_after_s: NotNegative = 1.0
    scope: Literal["total", "requester"] = "total"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLimit:
    """A limiter of the user's own: see ``tasksim.scenario.own``."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["python"] = "python"
    file: Path
    function: Name = "take"
    params: tuple[int, ...] = ()
    scope: Literal["total", "requester"] = "total"


LimitSettings = Annotated[
    TokenBucket
    | WholeTokens
    | CellRate
    | FixedWindow
    | SlidingLog
    | SlidingCounter
    | LeakyBucket
    | InHand
    | Adaptive
    | OwnLimit,
    Discriminator("kind"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimits:
    """Limits of requests by operation."""

    __pydantic_config__: ClassVar[Any] = FORBID
    create: LimitSettings | None = None
    get: LimitSettings | None = None
    result: LimitSettings | None = None
    list: LimitSettings | None = None
    delete: LimitSettings | None = None
    cancel: LimitSettings | None = None
    input: LimitSettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    """What answering costs the receiver: time of one of *servers*, or of one of its workers."""

    __pydantic_config__: ClassVar[Any] = FORBID
    servers: Count = 1
    shares_workers: bool = False
    create_s: NotNegative = 0.0
    get_s: NotNegative = 0.0
    result_s: NotNegative = 0.0
    delete_s: NotNegative = 0.0
    cancel_s: NotNegative = 0.0
    input_s: NotNegative = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """When a requester becomes suspect: so many strange requests within a window."""

    __pydantic_config__: ClassVar[Any] = FORBID
    window_s: Positive = 60.0
    failed_lookups: Count = 20
    early_polls: Count = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings:
    """The receiver. Without *workers* it has as many as it needs."""

    __pydantic_config__: ClassVar[Any] = FORBID
    dialect: Literal["sep-1686", "mcp-2025-11-25", "sep-2663"] = "sep-1686"
    workers: Count | None = None
    queue: Literal["unbounded"] = "unbounded"
    handling: Handling | None = None
    pickup_s: NotNegative = 0.0  # a worker that is free looks for work as often; 0: it is told
    stop_s: NotNegative = 0.0  # how long a worker takes to stop after a cancel
    isolation: Literal["session", "principal", "none"] = "session"
    tasks: bool = True  # whether it supports tasks, and says so
    task_methods: Annotated[tuple[Name, ...], Len(1)] | None = None  # absent: all
    poll_frequency: AdviceSettings | None = None
    keep_alive: KeepAlive = field(default_factory=KeepAlive)
    concurrency: Concurrency = field(default_factory=Concurrency)
    rate_limits: RateLimits = field(default_factory=RateLimits)
    input_timeout_s: Positive = 3600.0  # input that does not come in time fails the task
    duplicate_ids: Literal["rejected", "accepted"] = "rejected"
    forgotten_ids: Literal["rejected", "accepted"] = "rejected"
    tombstones: Annotated[int, Ge(0)] = 10_000
    delete: Literal["terminal", "always", "never", "unsupported"] = "terminal"
    original_after_cancel: Literal["none", "error"] = "none"
    related_task: Literal["everywhere", "examples"] = "everywhere"  # on the wire
    page_size: Count = 50
    store: Store | None = None
    long_poll: LongPolls | None = None
    pushes: tuple[Literal["ended", "input", "milestone"], ...] = ()  # what it tells unasked
    watch: WatchSettings | None = None


def shortest_advice_s(receiver: ReceiverSettings) -> float | None:
    """The shortest interval that it advertises, in seconds; None where it advertises none."""
    advice = receiver.poll_frequency
    if advice is None or isinstance(advice, FixedAdvice):
        return None if advice is None else advice.interval_s
    return advice.min_s
