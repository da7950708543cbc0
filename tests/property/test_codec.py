"""Whatever a machine can say survives the wire, to whole milliseconds."""

from hypothesis import given
from hypothesis import strategies as st

from tasksim.protocol.dialects.sep1686 import Codec
from tasksim.protocol.messages import (
    Call,
    Cancel,
    Create,
    Created,
    Delete,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    InputAnswer,
    InputRequest,
    List,
    Question,
    TaskView,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status

MS = 1_000_000
CODEC = Codec()
DURATIONS = st.integers(0, 1 << 40).map(lambda ms: ms * MS)
IDS = st.text(max_size=40)
REQUEST_IDS = st.integers(-(2**53), 2**53) | st.text(max_size=10)


@given(
    create=st.builds(
        Create,
        request_id=REQUEST_IDS,
        task_id=IDS,
        keep_alive_ns=st.none() | DURATIONS,
        call=st.builds(
            Call,
            tool=st.text(max_size=8),
            arguments=st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
        ),
        draw=st.none()
        | st.builds(
            DrawAddress, entity=st.integers(0, (1 << 36) - 1), replication=st.integers(0, 99)
        ),
    )
)
def test_a_creation_survives(create: Create) -> None:
    assert CODEC.decode_request(CODEC.encode(create)) == create


@given(
    view=st.builds(
        TaskView,
        request_id=REQUEST_IDS,
        task_id=IDS,
        status=st.sampled_from(Status),
        keep_alive_ns=st.none() | DURATIONS,
        poll_interval_ns=st.none() | DURATIONS,
        error=st.none() | st.text(max_size=20),
    )
)
def test_a_view_survives(view: TaskView) -> None:
    request = Get(request_id=view.request_id, task_id=view.task_id)
    assert CODEC.decode_reply(CODEC.encode(view), request) == view


@given(task_id=IDS)
def test_a_notification_survives(task_id: str) -> None:
    assert CODEC.decode_created(CODEC.encode(Created(task_id=task_id))) == Created(task_id=task_id)


MEMBERS = st.dictionaries(
    st.text(max_size=5).filter(lambda name: name != "_meta"), st.integers(), max_size=3
)
DRAWS = st.none() | st.builds(
    DrawAddress, entity=st.integers(0, (1 << 47) - 1), replication=st.integers(0, 99)
)


@given(
    ask=st.builds(
        InputRequest,
        request_id=REQUEST_IDS,
        task_id=IDS,
        method=st.sampled_from(["elicitation/create", "sampling/createMessage"]),
        params=MEMBERS,
    )
)
def test_a_request_for_input_survives(ask: InputRequest) -> None:
    """But for its ordinal, which the wire does not carry."""
    assert CODEC.decode_input_request(CODEC.encode(ask)) == ask


@given(
    answer=st.builds(InputAnswer, request_id=REQUEST_IDS, task_id=IDS, payload=MEMBERS, draw=DRAWS)
)
def test_an_answer_to_it_survives(answer: InputAnswer) -> None:
    assert CODEC.decode_input_answer(CODEC.encode(answer)) == answer


@given(
    request_id=REQUEST_IDS,
    task_id=IDS,
    method=st.sampled_from(["sampling/createMessage", "resources/read"]),
    arguments=MEMBERS,
)
def test_any_request_can_ask_to_be_a_task(
    request_id: int | str, task_id: str, method: str, arguments: dict[str, int]
) -> None:
    call = Call(method=method, tool="", arguments=arguments)
    create = Create(request_id=request_id, task_id=task_id, call=call)
    assert CODEC.decode_request(CODEC.encode(create)) == create


@given(
    question=st.builds(Get, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS)
    | st.builds(GetResult, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS)
    | st.builds(Delete, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS)
    | st.builds(List, request_id=REQUEST_IDS, cursor=st.none() | st.text(max_size=20))
)
def test_a_question_survives(question: Question) -> None:
    assert CODEC.decode_request(CODEC.encode(question)) == question


@given(cancel=st.builds(Cancel, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS))
def test_a_cancel_survives(cancel: Cancel) -> None:
    assert CODEC.decode_cancel(CODEC.encode(cancel)) == cancel


@given(
    reason=st.sampled_from([Reason.RATE_LIMITED, Reason.CONCURRENCY]),
    wait=DURATIONS,
    request_id=REQUEST_IDS,
)
def test_a_refusal_over_a_limit_survives(reason: Reason, wait: int, request_id: int | str) -> None:
    text = "Rate limit exceeded" if reason is Reason.RATE_LIMITED else "Too many concurrent tasks"
    failure = Failure(
        request_id=request_id, code=-32603, message=text, operation=Operation.GET, reason=reason,
        task_id="t", retry_after_ns=wait,
    )  # fmt: skip
    request = Get(request_id=request_id, task_id="t")
    assert CODEC.decode_reply(CODEC.encode(failure), request) == failure
