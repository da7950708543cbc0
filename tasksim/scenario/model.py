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
from tasksim.scenario.faults import Faults
from tasksim.scenario.kinds import Count, Name, NotNegative, Positive, Share
from tasksim.scenario.objectives import Objective
from tasksim.scenario.polls import HintPolling, Polling
from tasksim.scenario.receiving import AdviceSettings, ReceiverSettings

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
class Crash:
    """A share of the requesters is gone for a while, some time after asking for a task.

    One that comes back with its list of ids goes on polling; one without asks anew.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    share: Share
    after: Law
    back_s: NotNegative = 10.0
    remembers: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """A requester sends nothing for *open_s* after *failures* in a row; then it tries with one."""

    __pydantic_config__: ClassVar[Any] = FORBID
    failures: Count = 5
    open_s: Positive = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryBudget:
    """A requester's retries: at most *share* of its other requests, and *reserve* besides."""

    __pydantic_config__: ClassVar[Any] = FORBID
    share: Share = 0.1
    reserve: Count = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A requester asks for tasks and polls no faster: a token bucket on its own side.

    What it sends because of what it has just heard, as a poll at once, goes with that.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    rate: Positive
    burst: Count = 1


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
    create_attempts: Annotated[int, Ge(1), Le(30)] = 1
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
    polls_max: Count | None = None  # gets of a task before it gives up
    push: Literal["ignored", "wakes", "trusted"] = "wakes"  # what it does when told unasked
    awaits: Literal["polls", "result"] = "polls"  # where a result request waits for the end
    input_by: Literal["result", "polls"] = "result"  # where a result request carries questions
    waits_for: Literal["each", "any"] = "each"  # of the tasks of a batch
    rest: Literal["left", "cancelled"] = "left"  # of a batch when one is enough
    crash: Crash | None = None
    breaker: Breaker | None = None
    retry_budget: RetryBudget | None = None
    pace: Pace | None = None


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
class Children:
    """Work that stops until child tasks are done, which its requester is to ask for.

    *work* names their class. A child that ends otherwise than completed makes its parent fail;
    one that never comes to be does when the receiver's input_timeout_s has passed.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    count: Annotated[int, Ge(1), Le(16)]
    work: Name
    at_fraction: Share = 0.5  # of the work that is done by then
    holds_worker: bool = False


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
    poll_frequency: AdviceSettings | None = None  # in place of the receiver's
    milestones: Annotated[int, Ge(0), Le(1000)] = 0  # intermediate results, evenly spaced
    children: Children | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Delay of a message each way; none where no law is given."""

    __pydantic_config__: ClassVar[Any] = FORBID
    request: Law | None = None
    reply: Law | None = None
    stream_lifetime_s: NotNegative | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMetric:
    """A metric of the user's own: a function of the task table in a Python file.

    ``metric(tasks) -> float`` gets the columns of the table by name, as NumPy arrays.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    file: Path
    function: Name = "metric"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything that a run depends on."""

    __pydantic_config__: ClassVar[Any] = FORBID
    title: str = ""
    seed: Annotated[int, Ge(0), Lt(SEED_END)] = 1
    engine: Literal["auto", "reference", "fast"] = "auto"
    horizon_s: Positive | None = None
    tasks: Count | None = None
    batch: Annotated[int, Ge(1), Le(1000)] = 1  # tasks that come with each arrival
    warmup_s: NotNegative = 0.0
    drain: bool = True  # after the last arrival what is open finishes; else the horizon cuts
    arrivals: Arrivals
    requesters: Annotated[tuple[Population, ...], Len(1)] = (Population(),)
    work: Annotated[tuple[WorkClass, ...], Len(1)] = (WorkClass(),)
    receiver: ReceiverSettings = field(default_factory=ReceiverSettings)
    network: Network = field(default_factory=Network)
    faults: Faults = field(default_factory=Faults)
    objectives: Mapping[str, Objective] = field(default_factory=dict)
    metrics: Mapping[Name, OwnMetric] = field(default_factory=dict)
