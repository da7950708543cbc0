"""What a scenario says of polling: one class of settings a rule.

Rule: keys and units are those of the file; what is left out is off.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Len
from pydantic import Discriminator

from tasksim.scenario.distributions import FORBID, Law
from tasksim.scenario.kinds import Name, NotNegative, Positive, Share

First = Literal["after-interval", "at-once", "random-phase"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPolling:
    """Poll when the agent has a turn, and it has one when somebody speaks to it: every *turn*."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["agent"] = "agent"
    turn: Law
    jitter: ClassVar[float] = 0.0
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningPolling:
    """Poll by what the tasks that ended took, every *default_s* until *enough* have.

    *fit* says what is made of them: their mean, or the lognormal law that fits. A poll costs
    c1 = *poll_cost*, a second of delay c2 = *delay_cost_per_s*.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["learning"] = "learning"
    fit: Literal["mean", "lognormal"] = "mean"
    default_s: Positive = 5.0
    enough: Annotated[int, Ge(2)] = 5
    poll_cost: Positive = 1.0
    delay_cost_per_s: Positive
    min_s: Positive = 0.1
    max_s: Positive = 300.0
    jitter: ClassVar[float] = 0.0
    first: First = "after-interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class LongPolling:
    """Ask the receiver to hold each poll for *wait_s*, until there is news; at once again then.

    Where it does not hold it, poll as it advertises, else every *default_s*.
    """

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["long-poll"] = "long-poll"
    wait_s: Positive = 30.0
    default_s: Positive = 5.0
    jitter: Share = 0.0
    first: Literal["at-once"] = "at-once"


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPolling:
    """Poll by a function of the user's own: see ``tasksim.scenario.own``."""

    __pydantic_config__: ClassVar[Any] = FORBID
    kind: Literal["python"] = "python"
    file: Path
    function: Name = "gap_ns"
    params: tuple[float, ...] = ()
    draws: bool = False  # whether it looks at its uniform
    learns: bool = False  # whether its state goes on with what ended tasks have taught
    jitter: ClassVar[float] = 0.0
    first: First = "after-interval"


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
    | AgentPolling
    | LearningPolling
    | LongPolling
    | PythonPolling
)
Polling = Annotated[PlainPolling | PresetPolling, Discriminator("kind")]
