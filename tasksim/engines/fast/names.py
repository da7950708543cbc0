"""Codes of the protocol as plain whole numbers, which compiled code takes for constants."""

from typing import Final

import numpy as np

from tasksim.policies.polling import First
from tasksim.protocol.exchanges import Phase
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.states import Status
from tasksim.protocol.ties import ORDINAL_BITS, TASK_BITS, Tie
from tasksim.scenario.draws import Stream
from tasksim.scenario.fates import OPERATION_BIT

NONE: Final = -1
ABSENT: Final = -1
NEVER: Final = -1
K: Final = {kind.name: int(kind) for kind in Kind}
SUBMITTED, WORKING, COMPLETED, FAILED, CANCELLED, UNKNOWN = (
    int(Status.SUBMITTED), int(Status.WORKING), int(Status.COMPLETED), int(Status.FAILED),
    int(Status.CANCELLED), int(Status.UNKNOWN),
)  # fmt: skip
IDLE, CREATING, WAITING, POLLING, FETCHING, CLOSED = (
    int(Phase.IDLE), int(Phase.CREATING), int(Phase.WAITING), int(Phase.POLLING),
    int(Phase.FETCHING), int(Phase.CLOSED),
)  # fmt: skip
CREATE, GET, RESULT, CANCEL, NOTICE = (
    int(Operation.CREATE), int(Operation.GET), int(Operation.RESULT), int(Operation.CANCEL),
    int(Operation.CREATED),
)  # fmt: skip
NOT_FOUND, EXPIRED, NOT_COMPLETED, RATE_LIMITED = (
    int(Reason.NOT_FOUND), int(Reason.EXPIRED), int(Reason.NOT_COMPLETED), int(Reason.RATE_LIMITED),
)  # fmt: skip
BY_POLL, RETRIEVED, RESULT_LOST, GAVE_UP, NO_ANSWER, REQUEST_LOST, REPLY_LOST = (
    int(Reason.POLL), int(Reason.RETRIEVED), int(Reason.RESULT_LOST), int(Reason.GAVE_UP),
    int(Reason.NO_ANSWER), int(Reason.REQUEST_LOST), int(Reason.REPLY_LOST),
)  # fmt: skip
OUTCOMES = np.array(
    [NONE, NONE, NONE, NONE, int(Reason.FAILED), int(Reason.CANCELLED), int(Reason.UNKNOWN)]
)
AT_ONCE, RANDOM_PHASE = int(First.AT_ONCE), int(First.RANDOM_PHASE)
SHIFT: Final = TASK_BITS + ORDINAL_BITS
ORDINAL_MASK: Final = (1 << ORDINAL_BITS) - 1
T_CREATED_TIMEOUT, T_REQUEST_TIMEOUT, T_RETRY, T_POLL_DUE, T_CANCEL_DUE = (
    int(Tie.CREATED_TIMEOUT), int(Tie.REQUEST_TIMEOUT), int(Tie.RETRY), int(Tie.POLL_DUE),
    int(Tie.CANCEL_DUE),
)  # fmt: skip
T_COMPLETION, T_EXPIRY, T_SWEEP = int(Tie.COMPLETION), int(Tie.EXPIRY), int(Tie.SWEEP)
T_CREATE, T_GET, T_RESULT, T_CANCEL = (
    int(Tie.CREATE_TO_RECEIVER), int(Tie.GET_TO_RECEIVER), int(Tie.RESULT_TO_RECEIVER),
    int(Tie.CANCEL_TO_RECEIVER),
)  # fmt: skip
T_HEARD, T_VIEW, T_FETCHED = (
    int(Tie.CREATED_TO_REQUESTER), int(Tie.VIEW_TO_REQUESTER), int(Tie.RESULT_TO_REQUESTER),
)  # fmt: skip
S_JITTER, S_PHASE = int(Stream.POLL_JITTER), int(Stream.FIRST_PHASE)
S_REQUEST_LOST, S_REPLY_LOST, S_CREATED_LOST = (
    int(Stream.REQUEST_LOST), int(Stream.REPLY_LOST), int(Stream.CREATED_LOST),
)  # fmt: skip
S_CREATE_LEG, S_GET_LEG, S_RESULT_LEG, S_CANCEL_LEG = (
    int(Stream.CREATE_REQUEST_LEG), int(Stream.GET_REQUEST_LEG), int(Stream.RESULT_REQUEST_LEG),
    int(Stream.CANCEL_LEG),
)  # fmt: skip
S_CREATED_LEG, S_VIEW_LEG, S_FETCHED_LEG = (
    int(Stream.CREATED_LEG), int(Stream.GET_REPLY_LEG), int(Stream.RESULT_REPLY_LEG),
)  # fmt: skip
BIT: Final = OPERATION_BIT
SENT, ANSWERED, RECEIVED, LOST = K["SENT"], K["ANSWERED"], K["RECEIVED"], K["LOST"]
CREATED, STARTED_KIND, FINISHED, EXPIRED_KIND = (
    K["CREATED"], K["STARTED"], K["FINISHED"], K["EXPIRED"],
)  # fmt: skip
HEARD, DETECTED_KIND, RETRIEVED_KIND, CLOSED_KIND, ARRIVED = (
    K["CREATED_HEARD"], K["DETECTED"], K["RETRIEVED"], K["CLOSED"], K["ARRIVED"],
)  # fmt: skip
CREATED_TIMED_OUT, REQUEST_TIMED_OUT = K["CREATED_TIMED_OUT"], K["REQUEST_TIMED_OUT"]
