"""The 55 requirements of SEP-1686, numbered in the order of its text.

Rule 1: what is required stands here once, in our words. Where it is kept is never typed: code says
``R20`` in a docstring or a comment, a test says it in its ``requirement`` mark, and
``report/requirements.json`` is gathered from both.
Rule 2: a MAY is kept by an option; its default is told with it.
"""

from dataclasses import dataclass
from typing import Final

RECEIVER: Final = "receiver"
REQUESTER: Final = "requester"
BOTH: Final = "both"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One statement of the SEP that says MUST, SHOULD or MAY."""

    name: str
    section: str
    keyword: str
    binds: str
    says: str


def _of(name: str, section: str, keyword: str, binds: str, says: str) -> Requirement:
    return Requirement(name, section, keyword, binds, says)


MUST, SHOULD, MAY = "MUST", "SHOULD", "MAY"
REQUIREMENTS: Final = (
    _of("R01", "2", MUST, BOTH, "declare the tasks capability where tasks are supported"),
    _of("R02", "3.1", MAY, REQUESTER, "ask for a retention at creation"),
    _of("R03", "3.4", MUST, RECEIVER, "send a created notification for each task"),
    _of("R04", "4.1.1", MUST, RECEIVER, "run what it cannot make a task as if no task was asked"),
    _of("R05", "4.1.2", MAY, RECEIVER, "choose which requests can be tasks"),
    _of("R06", "4.2.1", MUST, REQUESTER, "make task ids strings"),
    _of("R07", "4.2.2", SHOULD, BOTH, "keep ids unique among all tasks of the receiver"),
    _of("R08", "4.2.3", MAY, RECEIVER, "refuse an id that is in use"),
    _of("R09", "4.3.1", MUST, RECEIVER, "begin each task as submitted"),
    _of("R10", "4.3.2", MUST, RECEIVER, "make the sixteen legal moves only"),
    _of("R11", "4.3.2", "MUST NOT", RECEIVER, "move a task from a terminal status"),
    _of("R12", "4.3.3", MAY, RECEIVER, "complete a task that was never working"),
    _of("R13", "4.3.4", SHOULD, RECEIVER, "prefer failed with a message over unknown"),
    _of("R14", "4.4.1", MUST, RECEIVER, "set input_required when it asks the requester"),
    _of("R15", "4.4.2", MUST, RECEIVER, "relate what it asks to the task"),
    _of("R16", "4.4.3", MAY, RECEIVER, "leave input_required when all is answered"),
    _of("R17", "4.4.4", SHOULD, RECEIVER, "stay in input_required until all is answered"),
    _of("R18", "4.5.1", MAY, RECEIVER, "grant another retention than was asked for"),
    _of("R19", "4.5.2", MUST, RECEIVER, "tell the granted retention in every get"),
    _of("R20", "4.5.3", MAY, RECEIVER, "forget a task when it ended and its retention passed"),
    _of("R21", "4.5.4", MAY, RECEIVER, "advertise a polling interval"),
    _of("R22", "4.5.4", SHOULD, REQUESTER, "poll no faster than advertised"),
    _of("R23", "4.6.1", MUST, RECEIVER, "give results of completed tasks only"),
    _of("R24", "4.6.2", MUST, RECEIVER, "answer with an error otherwise"),
    _of("R25", "4.6.3", MAY, REQUESTER, "fetch a result more than once"),
    _of("R26", "4.7.1", MUST, BOTH, "relate every message about a task to it"),
    _of("R27", "4.7.2", MUST, RECEIVER, "ask for input under the task's own id"),
    _of("R28", "4.8.1", SHOULD, RECEIVER, "cancel at once and stop the work"),
    _of("R29", "4.8.2", MAY, RECEIVER, "take its time to stop"),
    _of("R30", "4.8.2", SHOULD, RECEIVER, "try to stop soon"),
    _of("R31", "4.8.3", SHOULD, RECEIVER, "ignore a cancel after the end"),
    _of("R32", "4.8.4", MAY, RECEIVER, "forget a cancelled task after its retention"),
    _of("R33", "4.8.5", MAY, REQUESTER, "cancel at any time, also while input is required"),
    _of("R34", "4.8.5", SHOULD, RECEIVER, "disregard answers that come after a cancel"),
    _of("R35", "4.8.6", SHOULD, REQUESTER, "poll on to see a cancel confirmed"),
    _of("R36", "4.8.6", MAY, REQUESTER, "give up a cancel that is not confirmed in time"),
    _of("R37", "4.9.1", SHOULD, RECEIVER, "page its lists by cursor"),
    _of("R38", "4.9.2", MUST, RECEIVER, "give a cursor while there is more"),
    _of("R39", "4.9.3", MUST, REQUESTER, "treat cursors as opaque"),
    _of("R40", "4.9.4", MUST, RECEIVER, "list what a get would find"),
    _of("R41", "4.10.1", MAY, RECEIVER, "accept or refuse a delete"),
    _of("R42", "4.10.2", SHOULD, RECEIVER, "forget all of a deleted task"),
    _of("R43", "4.10.3", MAY, RECEIVER, "not support delete, or in some statuses only"),
    _of("R44", "4.10.4", SHOULD, REQUESTER, "delete sensitive tasks promptly"),
    _of("R45", "6", MUST, BOTH, "carry the key of the related task in all its messages"),
    _of("R46", "7.1", MUST, RECEIVER, "use the JSON-RPC error codes of the SEP"),
    _of("R47", "7.1", SHOULD, RECEIVER, "say in an error what is wrong"),
    _of("R48", "7.2", SHOULD, RECEIVER, "tell the error of a failed task in its get"),
    _of("R49", "8.1.1", SHOULD, RECEIVER, "bind tasks to a session or a principal"),
    _of("R50", "8.1.2", SHOULD, RECEIVER, "document it where tasks are not bound"),
    _of("R51", "8.1.3", SHOULD, RECEIVER, "limit the rates of create, get, result and list"),
    _of("R52", "8.2.1", SHOULD, RECEIVER, "cap open tasks and retention, and clean up promptly"),
    _of("R53", "8.2.2", SHOULD, RECEIVER, "document its limits, and watch them"),
    _of("R54", "8.3.1", SHOULD, RECEIVER, "log the lives of tasks, and watch for abuse"),
    _of("R55", "8.3.2", SHOULD, REQUESTER, "log the lives of its tasks"),
)  # fmt: skip
