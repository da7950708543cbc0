"""A scenario: the complete, immutable description of a run.

Rule 1: keys and units are those of the file: seconds, shares, counts. What is left out is off.
Rule 2: what a field may hold stands in its type; what several fields must satisfy together stands
in ``checks``. An object of these classes that came out of ``loading`` can be run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from annotated_types import Ge, Gt, Le, Len, Lt
from pydantic import Discriminator

from tasksim.scenario.distributions import FORBID, Law
from tasksim.scenario.objectives import Objective

Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(1)]
Name = Annotated[str, Len(1, 100)]
First = Literal["after-interval", "at-once", "random-phase"]

SEED_END: Final = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisson:
    """Tasks arrive independently, at *rate* a second on average."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["poisson"] = "poisson"
    rate: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantRate:
    """Tasks arrive every 1 / *rate* seconds, the first at 0."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["constant"] = "constant"
    rate: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of a trace's columns; ``false`` says that the trace has no such column.

    A missing requester column makes every task its own draw; a missing duration column leaves
    the work to ``work.duration``.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    arrival: Name = "arrival_s"
    requester: Name | Literal[False] = "requester"
    duration: Name | Literal[False] = "duration_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Tasks arrive as a log says: CSV, Parquet, or Standard Workload Format (.swf, .swf.gz).

    *speed_up* divides the log's arrival times, not its durations; *first* skips rows and *tasks*
    limits how many are used.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["trace"] = "trace"
    file: Path
    columns: Columns | None = None
    speed_up: Positive = 1.0
    first: Annotated[int, Ge(0)] = 0
    tasks: Count | None = None


Arrivals = Annotated[Poisson | ConstantRate | Trace, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPolling:
    """Poll every *interval_s*, deaf to what the receiver advertises."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["fixed"] = "fixed"
    interval_s: Positive
    jitter: Share = 0.0
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class HintPolling:
    """Poll as the receiver advertises; every *default_s* until it has."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["hint"] = "hint"
    default_s: Positive = 5.0
    jitter: Share = 0.0
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffPolling:
    """Poll at gaps that grow by *factor* from *base_s* up to *cap_s*."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["backoff"] = "backoff"
    base_s: Positive
    cap_s: Positive
    factor: Annotated[float, Ge(1)] = 2.0
    jitter: Share = 0.0
    first: First = "after-interval"


Polling = Annotated[FixedPolling | HintPolling | BackoffPolling, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Requesters of one kind."""

    __pydantic_config__: ClassVar[Any] = FORBID
    name: Name = "default"
    share: Share = 1.0
    count: Count = 1
    polling: Polling = field(default_factory=HintPolling)
    created_timeout_s: Positive = 10.0
    original_response: Literal["ignored", "raced"] = "ignored"
    keep_alive_s: NotNegative | None = None
    request_timeout_s: Positive = 60.0
    cancel_share: Share = 0.0
    cancel_after: Law | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkClass:
    """A class of tools: how long its work takes, how often it fails."""

    __pydantic_config__: ClassVar[Any] = FORBID
    name: Name = "work"
    share: Share = 1.0
    duration: Law | None = None
    failed_share: Share = 0.0
    sensitive: bool = False  # its requesters delete a task as soon as all is known


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedAdvice:
    """The receiver advertises one interval, always."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["fixed"] = "fixed"
    interval_s: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepAlive:
    """Retention: what is granted without asking, and the most that is granted."""

    __pydantic_config__: ClassVar[Any] = FORBID
    default_s: NotNegative = 300.0
    max_s: NotNegative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverSettings:
    """The receiver. Without *workers* it has as many as it needs."""

    __pydantic_config__: ClassVar[Any] = FORBID
    dialect: Literal["sep-1686"] = "sep-1686"
    workers: Count | None = None
    queue: Literal["unbounded"] = "unbounded"
    poll_frequency: FixedAdvice | None = None
    keep_alive: KeepAlive = field(default_factory=KeepAlive)
    tombstones: Annotated[int, Ge(0)] = 10_000
    delete: Literal["terminal", "always", "never", "unsupported"] = "terminal"
    page_size: Count = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Delay of a message each way; none where no law is given."""

    __pydantic_config__: ClassVar[Any] = FORBID
    request: Law | None = None
    reply: Law | None = None
    stream_lifetime_s: NotNegative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong, as shares of the messages of a kind."""

    __pydantic_config__: ClassVar[Any] = FORBID
    created_lost_share: Share = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that a run depends on."""

    __pydantic_config__: ClassVar[Any] = FORBID
    title: str = ""
    seed: Annotated[int, Ge(0), Lt(SEED_END)] = 1
    engine: Literal["auto", "reference"] = "auto"
    horizon_s: Positive | None = None
    tasks: Count | None = None
    warmup_s: NotNegative = 0.0
    arrivals: Arrivals
    requesters: Annotated[tuple[Population, ...], Len(1)] = (Population(),)
    work: Annotated[tuple[WorkClass, ...], Len(1)] = (WorkClass(),)
    receiver: ReceiverSettings = field(default_factory=ReceiverSettings)
    network: Network = field(default_factory=Network)
    faults: Faults = field(default_factory=Faults)
    objectives: Mapping[str, Objective] = field(default_factory=dict)
