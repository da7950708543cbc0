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
from tasksim.scenario.kinds import Count, Name, NotNegative, Positive, Share
from tasksim.scenario.objectives import Objective
from tasksim.scenario.receiving import ReceiverSettings

First = Literal["after-interval", "at-once", "random-phase"]

SEED_END: Final = 1 << 63
USERS_MAX: Final = 1 << 16


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
class Bursty:
    """Tasks arrive at *rates*, one after the other, each for a time of exponential law.

    A Markov-modulated Poisson process whose states follow in a ring: state i lasts *mean_s[i]*
    on average and lets *rates[i]* tasks a second come.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["bursty"] = "bursty"
    rates: Annotated[tuple[NotNegative, ...], Len(2, 100)]
    mean_s: Annotated[tuple[Positive, ...], Len(2, 100)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """Each of *users* asks for a task, sees it through, thinks, and asks for the next.

    The first task comes after the first thought. Users belong to populations by share.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["closed"] = "closed"
    users: Annotated[int, Ge(1), Le(USERS_MAX)]
    think: Law


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Names of a trace's columns; ``false`` says that the trace has no such column.

    Without an arrival column tasks arrive by ``arrivals.rate``; without a requester column each
    task's requester is drawn; without a duration column the work lasts as ``work.duration`` says;
    without a class column the class is drawn by share.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    arrival: Name | Literal[False] = "arrival_s"
    requester: Name | Literal[False] = "requester"
    duration: Name | Literal[False] = "duration_s"
    work: Name | Literal[False] = False  # names of the [[work]] tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Tasks arrive as a log says: CSV, Parquet, or Standard Workload Format (.swf, .swf.gz).

    An arrival is a number of seconds or a time stamp such as 2023-11-16 18:17:03.9799600.
    *speed_up* divides the log's arrival times, not its durations; *duration_scale* multiplies the
    durations, whatever their unit, into seconds; *first* skips rows and *tasks* limits how many
    are used; *keep_share* keeps each row with that probability; *rate* lets the rows arrive as a
    Poisson process where they have no times of their own.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["trace"] = "trace"
    file: Path
    columns: Columns | None = None
    speed_up: Positive = 1.0
    first: Annotated[int, Ge(0)] = 0
    tasks: Count | None = None
    duration_scale: Positive = 1.0
    keep_share: Annotated[float, Gt(0), Le(1)] = 1.0
    rate: Positive | None = None


Arrivals = Annotated[Poisson | ConstantRate | Bursty | Closed | Trace, Discriminator("kind")]


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
    """Poll as the receiver advertises; every *default_s* until it has.

    No faster than *floor_s* nor than the user's *own_s*; what is advertised beyond *ceiling_s* is
    cut to it.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["hint"] = "hint"
    default_s: Positive = 5.0
    jitter: Share = 0.0
    first: First = "after-interval"
    ceiling_s: Positive | None = None
    floor_s: NotNegative = 0.0
    own_s: NotNegative = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffPolling:
    """Poll at gaps that grow by *factor* from *base_s* up to *cap_s*.

    *spread* says what chance does to them: lengthen by up to the share *jitter* (proportional),
    pick below the gap (full), in its upper half (equal), or up to thrice the last (decorrelated).
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["backoff"] = "backoff"
    base_s: Positive
    cap_s: Positive
    factor: Annotated[float, Ge(1)] = 2.0
    jitter: Share = 0.0
    spread: Literal["proportional", "full", "equal", "decorrelated"] = "proportional"
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class RampPolling:
    """Poll at gaps that grow from *base_s* to what is advertised; *default_s* until that is."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["ramp"] = "ramp"
    base_s: Positive
    default_s: Positive
    factor: Annotated[float, Ge(1)] = 2.0
    jitter: Share = 0.0
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledPolling:
    """Poll after each of *gaps_s*, the last of which repeats."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["schedule"] = "schedule"
    gaps_s: Annotated[tuple[Positive, ...], Len(1, 1000)]
    jitter: Share = 0.0
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitThenFixed:
    """Wait as long as the work takes at least, then poll every *interval_s*."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["wait-then-fixed"] = "wait-then-fixed"
    wait_s: Positive
    interval_s: Positive
    jitter: Share = 0.0
    first: Literal["after-interval"] = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuadraticPolling:
    """Poll at ages (c1 / c2)(k + U)**2: needs to know nothing of the work.

    A poll costs c1 = *poll_cost*, a second of delay c2 = *delay_cost_per_s*.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["quadratic"] = "quadratic"
    poll_cost: Positive = 1.0
    delay_cost_per_s: Positive
    jitter: ClassVar[float] = 0.0
    first: Literal["after-interval"] = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class HazardPolling:
    """Poll by the task's age: sqrt(2 c1 / (c2 h)) at hazard h of the scenario's work."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["hazard"] = "hazard"
    poll_cost: Positive = 1.0
    delay_cost_per_s: Positive
    min_s: Positive = 1.0
    max_s: Positive = 300.0
    jitter: ClassVar[float] = 0.0
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceLoop:
    """The SEP's example loop: get, sleep, only then look; then ask for a result, come what may."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["reference-loop"] = "reference-loop"
    default_s: Positive = 5.0
    jitter: Share = 0.0
    first: First = "at-once"


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetPolling:
    """Poll as a real client does; ``tasksim.scenario.presets`` names them with their sources."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["preset"] = "preset"
    name: Name


PlainPolling = (
    FixedPolling
    | HintPolling
    | BackoffPolling
    | RampPolling
    | ScheduledPolling
    | WaitThenFixed
    | QuadraticPolling
    | HazardPolling
    | ReferenceLoop
)
Polling = Annotated[PlainPolling | PresetPolling, Discriminator("kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Requesters of one kind."""

    __pydantic_config__: ClassVar[Any] = FORBID
    name: Name = "default"
    share: Share = 1.0
    count: Count = 1
    side: Literal["client", "server"] = "client"  # of MCP: which leg of the network is whose
    augmented: Literal["always", "if-declared", "never"] = "always"  # whether it asks for tasks
    polling: Polling = field(default_factory=HintPolling)
    created_timeout_s: Positive = 10.0
    created_fallback: Literal["poll", "original", "backoff"] = "poll"
    create_attempts: Annotated[int, Ge(1), Le(31)] = 1
    retry_id: Literal["same", "new"] = "same"
    original_response: Literal["ignored", "raced"] = "ignored"
    keep_alive_s: NotNegative | None = None
    request_timeout_s: Positive = 60.0
    attempts: Count = 5  # failures in a row before it gives up
    limited_gap_s: Positive | None = None  # after a refusal over a limit; absent: as it polls
    limited_attempts: Count = 100  # refusals over a limit in a row before it gives up
    cancel_patience_s: Positive = 60.0
    patience_s: Positive | None = None  # from asking for the task on, whatever happens
    session_s: Positive | None = None  # it opens a new session as often; absent: never
    max_open: Count | None = None  # tasks that each keeps open; the rest wait on its side
    cancel_share: Share = 0.0
    cancel_after: Law | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequired:
    """Work that stops to ask the requester: how often, how far in, and how long users think."""

    __pydantic_config__: ClassVar[Any] = FORBID
    share: Share
    at_fraction: Share = 0.5  # of the work that is done by then
    holds_worker: bool = True
    requests: Annotated[int, Ge(1), Le(100)] = 1  # asked at once; the work waits for them all
    think: Law


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkClass:
    """A class of tools: how long its work takes, how often it fails."""

    __pydantic_config__: ClassVar[Any] = FORBID
    name: Name = "work"
    share: Share = 1.0
    method: Name = "tools/call"  # the request that the task wraps
    duration: Law | None = None
    failed_share: Share = 0.0
    unknown_share: Share = 0.0  # of the work that is lost without a known cause
    input_required: InputRequired | None = None
    sensitive: bool = False  # its requesters delete a task as soon as all is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Delay of a message each way; none where no law is given."""

    __pydantic_config__: ClassVar[Any] = FORBID
    request: Law | None = None
    reply: Law | None = None
    stream_lifetime_s: NotNegative | None = None


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
    restarts: tuple[Restart, ...] = ()


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
    drain: bool = True  # after the last arrival what is open finishes; else the horizon cuts
    arrivals: Arrivals
    requesters: Annotated[tuple[Population, ...], Len(1)] = (Population(),)
    work: Annotated[tuple[WorkClass, ...], Len(1)] = (WorkClass(),)
    receiver: ReceiverSettings = field(default_factory=ReceiverSettings)
    network: Network = field(default_factory=Network)
    faults: Faults = field(default_factory=Faults)
    objectives: Mapping[str, Objective] = field(default_factory=dict)
