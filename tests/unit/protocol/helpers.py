"""A receiver and a requester within reach of a test: no clock, a list for a log."""

from typing import Any

from tasksim.policies import polling
from tasksim.protocol.messages import PLAIN_CALL, Call, Create, Get, GetResult
from tasksim.protocol.occurrences import Kind
from tasksim.protocol.outputs import Send, StartWork
from tasksim.protocol.receiver import Receiver
from tasksim.protocol.requester import Requester
from tasksim.protocol.rules import ReceiverRules, RequesterRules

S = 1_000_000_000
MS = 1_000_000


class Log(list[tuple[int, ...]]):
    """Rows as the machines report them."""

    def __call__(self, *row: int) -> None:
        self.append(row)

    def of(self, kind: Kind) -> list[tuple[int, ...]]:
        """Rows of a kind, with what they leave out."""
        defaults = (0, 0, 0, -1, 0, -1, -1, 0)
        return [row + defaults[len(row) :] for row in self if row[1] == kind]

    def kinds(self) -> list[Kind]:
        return [Kind(row[1]) for row in self]


def new_receiver(**rules: Any) -> tuple[Receiver, Log]:
    log = Log()
    return Receiver(ReceiverRules(**rules), log), log


def create(task_id: str = "t", *, request_id: int = 1, **rest: Any) -> Create:
    return Create(request_id=request_id, task_id=task_id, **rest)


def get(task_id: str = "t", *, request_id: int = 2) -> Get:
    return Get(request_id=request_id, task_id=task_id)


def fetch(task_id: str = "t", *, request_id: int = 3) -> GetResult:
    return GetResult(request_id=request_id, task_id=task_id)


def answer(receiver: Receiver, message: Any, now: int, session: str = "s") -> Any:
    """The one message that answers a get, a result request or a refused creation."""
    outputs = receiver.receive(session, message, now)
    assert len(outputs) == 1
    output = outputs[0]
    assert isinstance(output, Send)
    assert output.session == session
    return output.message


def admit(receiver: Receiver, now: int, task_id: str = "t", session: str = "s", **rest: Any) -> Any:
    """Create a task that is not refused; its work order."""
    outputs = receiver.receive(session, create(task_id, **rest), now)
    (order,) = [output for output in outputs if isinstance(output, StartWork)]
    return order


def new_requester(**rules: Any) -> tuple[Requester, Log]:
    rules.setdefault("polling", polling.hint(5 * S))
    log = Log()
    requester = Requester(
        task_id="t", number=0, rules=RequesterRules(**rules), observe=log, call=PLAIN_CALL
    )
    return requester, log


def call() -> Call:
    return PLAIN_CALL
