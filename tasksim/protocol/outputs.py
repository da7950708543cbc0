"""What a receiver tells whoever drives it to do.

Rule: an output is carried out at the instant at which it is handed out.
"""

from dataclasses import dataclass
from typing import Any

from tasksim.protocol.messages import (
    Call,
    Created,
    Failure,
    InputRequest,
    Pushed,
    Reply,
    RequestId,
    Result,
)
from tasksim.protocol.records import Key


@dataclass(frozen=True, slots=True)
class Send:
    """Deliver *message* to *session*."""

    session: str
    message: Created | InputRequest | Pushed | Reply
    via: Any = None  # what the driver handed in with the request that it follows


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer the request that created the task of *key*."""

    key: Key
    message: Result | Failure


@dataclass(frozen=True, slots=True)
class StartWork:
    """Run *call*; report back with *key*. *number* is the task's number in the log."""

    key: Key
    call: Call
    number: int
    via: Any = None


@dataclass(frozen=True, slots=True)
class ResumeWork:
    """All input is there: go on with the work of *key*."""

    key: Key


@dataclass(frozen=True, slots=True)
class StopWork:
    """Stop the work of *key*, running or queued; nothing is to be reported of it any more."""

    key: Key


@dataclass(frozen=True, slots=True)
class RunPlain:
    """Run a call that is no task and answer its request; the receiver keeps nothing (R04)."""

    session: str
    request_id: RequestId
    call: Call


@dataclass(frozen=True, slots=True)
class Hold:
    """Nothing is answered yet; what follows comes with what the driver handed in."""

    takes_on: bool = False  # a creation waits for room, and will be taken on


Output = Hold | Send | Answer | StartWork | ResumeWork | StopWork | RunPlain
