"""Whatever a machine can say survives the wire, to whole milliseconds, in all three dialects.

What a dialect has no place for is told apart: ids that the receiver makes, retention that nobody
asks for in D3. And whatever a peer sends is read or refused, never anything else.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.protocol.dialects import core2025, sep1686, sep2663
from tasksim.protocol.errors import InvalidCursorError, InvalidMessageError, UnknownMethodError
from tasksim.protocol.messages import (
    Acknowledged,
    Call,
    Cancel,
    CancelTask,
    Child,
    Create,
    Created,
    Delete,
    Deleted,
    DrawAddress,
    Failure,
    Get,
    GetResult,
    InputAnswer,
    InputRequest,
    List,
    Message,
    Pushed,
    Question,
    Result,
    TaskPage,
    TaskView,
    Update,
)
from tasksim.protocol.occurrences import Operation, Reason
from tasksim.protocol.states import Status

MS = 1_000_000
D1, D2, D3 = sep1686.Codec(), core2025.Codec(), sep2663.Codec()
AnyCodec = sep1686.Codec | core2025.Codec | sep2663.Codec
CODECS = pytest.mark.parametrize("codec", [D1, D2, D3], ids=["D1", "D2", "D3"])

DURATIONS = st.integers(0, 1 << 40).map(lambda ms: ms * MS)
IDS = st.text(max_size=40)
REQUEST_IDS = st.integers(-(2**53), 2**53) | st.text(max_size=10)
MEMBERS = st.dictionaries(
    st.text(max_size=5).filter(lambda name: name not in {"_meta", "task"}),  # the wire's own
    st.integers(),
    max_size=3,
)
DRAWS = st.none() | st.builds(
    DrawAddress, entity=st.integers(0, (1 << 47) - 1), replication=st.integers(0, 99)
)
CALLS = st.builds(Call, tool=st.text(max_size=8), arguments=MEMBERS)
CHILDREN = st.lists(st.builds(Child, task_id=IDS, call=CALLS), max_size=2).map(tuple)
FIVE = [status for status in Status if status not in {Status.SUBMITTED, Status.UNKNOWN}]


def wired(document: dict[str, Any]) -> dict[str, Any]:
    """What arrives at the other side."""
    arrived: dict[str, Any] = json.loads(json.dumps(document))
    return arrived


# Requests.


@CODECS
@given(
    create=st.builds(
        Create,
        request_id=REQUEST_IDS,
        task_id=IDS,
        keep_alive_ns=st.none() | DURATIONS,
        call=CALLS,
        draw=DRAWS,
    ),
    parent_id=st.none() | IDS,
)
def test_a_creation_survives(codec: AnyCodec, create: Create, parent_id: str | None) -> None:
    if codec is D1:
        create = replace(create, parent_id=parent_id)
    expected = create if codec is D1 else replace(create, task_id="")
    if codec is D3:
        expected = replace(expected, keep_alive_ns=None)
    assert codec.decode_request(wired(codec.encode(create))) == expected


@pytest.mark.parametrize("codec", [D2, D3])
@given(request_id=REQUEST_IDS, call=CALLS, draw=DRAWS)
def test_a_plain_call_survives(
    codec: AnyCodec, request_id: int | str, call: Call, draw: DrawAddress | None
) -> None:
    create = Create(request_id=request_id, task_id="", augmented=False, call=call, draw=draw)
    assert codec.decode_request(wired(codec.encode(create))) == create


@given(
    request_id=REQUEST_IDS,
    task_id=IDS,
    method=st.sampled_from(["sampling/createMessage", "elicitation/create", "resources/read"]),
    arguments=MEMBERS,
)
def test_any_request_can_ask_to_be_a_task(
    request_id: int | str, task_id: str, method: str, arguments: dict[str, int]
) -> None:
    """But in D2 only what it lists, and in D3 only a tool call."""
    call = Call(method=method, tool="", arguments=arguments)
    create = Create(request_id=request_id, task_id=task_id, call=call)
    assert D1.decode_request(wired(D1.encode(create))) == create
    with pytest.raises(TypeError):
        D3.encode(create)
    if method == "resources/read":
        with pytest.raises(TypeError):
            D2.encode(create)
    else:
        assert D2.decode_request(wired(D2.encode(create))) == replace(create, task_id="")


GETS = st.builds(Get, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS, hold_ns=DURATIONS)
RESULTS = st.builds(GetResult, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS)
DELETES = st.builds(Delete, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS)
LISTS = st.builds(List, request_id=REQUEST_IDS, cursor=st.none() | st.text(max_size=20))
CANCELS = st.builds(CancelTask, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS)
UPDATES = st.builds(
    Update,
    request_id=REQUEST_IDS,
    task_id=IDS,
    answers=st.dictionaries(st.text(max_size=8), MEMBERS, max_size=3),
    draw=DRAWS,
)


@given(question=GETS | RESULTS | DELETES | LISTS)
def test_a_question_survives_in_d1(question: Question) -> None:
    assert D1.decode_request(wired(D1.encode(question))) == question


@given(question=GETS | RESULTS | CANCELS | LISTS)
def test_a_question_survives_in_d2(question: Question) -> None:
    assert D2.decode_request(wired(D2.encode(question))) == question


@given(question=GETS | CANCELS | UPDATES)
def test_a_question_survives_in_d3(question: Question) -> None:
    assert D3.decode_request(wired(D3.encode(question))) == question


@CODECS
@given(task_id=IDS, draw=DRAWS, attempt=st.integers(0, (1 << 31) - 1))
def test_an_attempt_survives_with_a_draw_address(
    codec: AnyCodec, task_id: str, draw: DrawAddress | None, attempt: int
) -> None:
    get = Get(request_id=1, task_id=task_id, draw=draw, attempt=attempt)
    expected = replace(get, attempt=0) if draw is None else get
    assert codec.decode_request(wired(codec.encode(get))) == expected


@given(cancel=st.builds(Cancel, request_id=REQUEST_IDS, task_id=IDS, draw=DRAWS))
def test_a_cancel_survives(cancel: Cancel) -> None:
    assert D1.decode_cancel(wired(D1.encode(cancel))) == cancel


# What is said of a task.


def views(statuses: list[Status], **more: Any) -> st.SearchStrategy[TaskView]:
    """Views without an error but where a task has failed."""
    plain = st.builds(
        TaskView,
        request_id=REQUEST_IDS,
        task_id=IDS,
        status=st.sampled_from(statuses),
        keep_alive_ns=st.none() | DURATIONS,
        poll_interval_ns=st.none() | DURATIONS,
        **more,
    )
    errors = st.none() | st.text(min_size=1, max_size=20)
    return st.tuples(plain, errors).map(
        lambda pair: replace(pair[0], error=pair[1] if pair[0].status is Status.FAILED else None)
    )


VIEWS_1 = views(
    list(Status),
    milestone=st.integers(0, (1 << 31) - 1),
    parent_id=st.none() | IDS,
    children=CHILDREN,
)
VIEWS_2 = views(FIVE)


@st.composite
def detailed(draw: st.DrawFn) -> TaskView:
    """A view with what D3 puts into it."""
    view = draw(VIEWS_2)
    if view.status is Status.COMPLETED:
        return replace(view, payload=draw(MEMBERS))
    if view.status is not Status.INPUT_REQUIRED:
        return view
    ordinals = sorted(draw(st.sets(st.integers(0, 4095), max_size=4)))
    prompts = tuple(
        InputRequest(
            request_id=f"{view.task_id}#{ordinal}",
            task_id=view.task_id,
            ordinal=ordinal,
            method=draw(st.sampled_from(["elicitation/create", "sampling/createMessage"])),
            params=draw(MEMBERS),
        )
        for ordinal in ordinals
    )
    return replace(view, prompts=prompts)


VIEWS_3 = detailed()


def survives_a_get(codec: AnyCodec, view: TaskView) -> None:
    request = Get(request_id=view.request_id, task_id=view.task_id)
    assert codec.decode_reply(wired(codec.encode(view)), request) == view


@given(view=VIEWS_1)
def test_a_view_survives_in_d1(view: TaskView) -> None:
    survives_a_get(D1, view)


@given(view=VIEWS_2)
def test_a_view_survives_in_d2(view: TaskView) -> None:
    survives_a_get(D2, view)


@given(view=VIEWS_3)
def test_a_view_survives_in_d3(view: TaskView) -> None:
    survives_a_get(D3, view)


@pytest.mark.parametrize("codec", [D2, D3])
@given(view=VIEWS_2)
def test_the_answer_to_a_creation_survives(codec: AnyCodec, view: TaskView) -> None:
    accepted = replace(view, operation=Operation.CREATE)
    request = Create(request_id=view.request_id, task_id="draft")
    assert codec.decode_reply(wired(codec.encode(accepted)), request) == accepted


@given(view=VIEWS_2)
def test_the_answer_to_a_cancel_survives_in_d2(view: TaskView) -> None:
    cancelled = replace(view, operation=Operation.CANCEL)
    request = CancelTask(request_id=view.request_id, task_id=view.task_id)
    assert D2.decode_reply(wired(D2.encode(cancelled)), request) == cancelled


def survives_a_push(codec: AnyCodec, view: TaskView) -> None:
    view = replace(view, request_id=0, operation=Operation.PUSH)
    pushed = Pushed(task_id=view.task_id, view=view)
    assert codec.decode_pushed(wired(codec.encode(pushed))) == pushed


@given(view=VIEWS_1)
def test_a_push_survives_in_d1(view: TaskView) -> None:
    survives_a_push(D1, view)


@given(view=VIEWS_2)
def test_a_push_survives_in_d2(view: TaskView) -> None:
    survives_a_push(D2, view)


@given(view=VIEWS_3)
def test_a_push_survives_in_d3(view: TaskView) -> None:
    survives_a_push(D3, view)


@pytest.mark.parametrize("codec", [D1, D2])
@given(
    tasks=st.lists(VIEWS_2, max_size=3),
    cursor=st.none() | st.text(max_size=20),
    request_id=REQUEST_IDS,
)
def test_a_page_survives(
    codec: AnyCodec, tasks: list[TaskView], cursor: str | None, request_id: int | str
) -> None:
    found = tuple(replace(view, request_id=request_id) for view in tasks)
    page = TaskPage(request_id=request_id, tasks=found, next_cursor=cursor)
    assert codec.decode_reply(wired(codec.encode(page)), List(request_id=request_id)) == page


# Other answers and notifications.


@CODECS
@given(payload=MEMBERS, request_id=REQUEST_IDS)
def test_the_own_result_of_a_call_survives(
    codec: AnyCodec, payload: dict[str, int], request_id: int | str
) -> None:
    """But for what the dialect adds to it."""
    result = Result(
        request_id=request_id, task_id="t", payload=payload, operation=Operation.ORIGINAL
    )
    create = Create(request_id=request_id, task_id="t", augmented=False)
    reply = codec.decode_reply(wired(codec.encode(result)), create)
    assert isinstance(reply, Result)
    assert reply.payload.items() >= payload.items()
    assert replace(reply, payload=payload) == result


@pytest.mark.parametrize("codec", [D1, D2])
@given(payload=MEMBERS, request_id=REQUEST_IDS, task_id=IDS)
def test_a_result_survives(
    codec: AnyCodec, payload: dict[str, int], request_id: int | str, task_id: str
) -> None:
    """But for its related-task metadata."""
    result = Result(
        request_id=request_id, task_id=task_id, payload=payload, operation=Operation.RESULT
    )
    reply = codec.decode_reply(
        wired(codec.encode(result)), GetResult(request_id=request_id, task_id=task_id)
    )
    assert isinstance(reply, Result)
    own = {name: item for name, item in reply.payload.items() if name != "_meta"}
    assert replace(reply, payload=own) == result


@given(request=CANCELS | UPDATES)
def test_an_acknowledgement_survives(request: CancelTask | Update) -> None:
    is_cancel = isinstance(request, CancelTask)
    ack = Acknowledged(
        request_id=request.request_id,
        task_id=request.task_id,
        operation=Operation.CANCEL if is_cancel else Operation.INPUT,
    )
    assert D3.decode_reply(wired(D3.encode(ack)), request) == ack


@given(task_id=IDS)
def test_a_notification_survives(task_id: str) -> None:
    assert D1.decode_created(wired(D1.encode(Created(task_id=task_id)))) == Created(task_id=task_id)


@pytest.mark.parametrize("codec", [D1, D2])
@given(
    ordinal=st.integers(0, 4095),
    task_id=IDS,
    method=st.sampled_from(["elicitation/create", "sampling/createMessage"]),
    params=MEMBERS,
)
def test_a_request_for_input_survives(
    codec: sep1686.Codec | core2025.Codec,
    ordinal: int,
    task_id: str,
    method: str,
    params: dict[str, int],
) -> None:
    ask = InputRequest(
        request_id=f"{task_id}#{ordinal}", task_id=task_id, ordinal=ordinal, method=method,
        params=params,
    )  # fmt: skip
    assert codec.decode_input_request(wired(codec.encode(ask))) == ask


@pytest.mark.parametrize("codec", [D1, D2])
@given(
    answer=st.builds(InputAnswer, request_id=REQUEST_IDS, task_id=IDS, payload=MEMBERS, draw=DRAWS)
)
def test_an_answer_to_it_survives(
    codec: sep1686.Codec | core2025.Codec, answer: InputAnswer
) -> None:
    assert codec.decode_input_answer(wired(codec.encode(answer))) == answer


LIMITS = {
    "Rate limit exceeded": Reason.RATE_LIMITED,
    "Too many concurrent tasks": Reason.CONCURRENCY,
    "Too many open requests": Reason.CONCURRENCY,
    "Too many tasks are kept": Reason.STORE_FULL,
}


@CODECS
@pytest.mark.parametrize("text", LIMITS)
@pytest.mark.parametrize("asked", [Get, Create])
@given(wait=DURATIONS, request_id=REQUEST_IDS)
def test_a_refusal_over_a_limit_survives(
    codec: AnyCodec, text: str, asked: type[Get | Create], wait: int, request_id: int | str
) -> None:
    operation = Operation.GET if asked is Get else Operation.CREATE
    failure = Failure(
        request_id=request_id, code=-32603, message=text, operation=operation, reason=LIMITS[text],
        task_id="t", retry_after_ns=wait,
    )  # fmt: skip
    request = asked(request_id=request_id, task_id="t")
    assert codec.decode_reply(wired(codec.encode(failure)), request) == failure


# Whatever a peer sends.

VIEW = TaskView(
    request_id=1, task_id="t", status=Status.WORKING, keep_alive_ns=MS, poll_interval_ns=MS
)
FULL = replace(VIEW, children=(Child(task_id="u"),), parent_id="p", milestone=2)
ASKING = replace(
    VIEW,
    status=Status.INPUT_REQUIRED,
    prompts=(InputRequest(request_id="t#0", task_id="t", params={"message": "?"}),),
)
DONE = replace(VIEW, status=Status.COMPLETED, payload={"content": []})
FAILED = replace(VIEW, status=Status.FAILED, error="no")
ADDRESS = DrawAddress(entity=3)
CREATE = Create(request_id=1, task_id="t", keep_alive_ns=MS, draw=ADDRESS)
GET = Get(request_id=1, task_id="t", draw=ADDRESS, hold_ns=MS)
CANCEL = CancelTask(request_id=1, task_id="t", draw=ADDRESS)
UPDATE = Update(request_id=1, task_id="t", answers={"t#0": {"action": "accept"}})
LIST = List(request_id=1, cursor="c")
RESULT = Result(request_id=1, task_id="t", payload={}, operation=Operation.RESULT)
ORIGINAL = replace(RESULT, operation=Operation.ORIGINAL)
REFUSAL = Failure(
    request_id=1, code=-32603, message="Rate limit exceeded", operation=Operation.GET,
    reason=Reason.RATE_LIMITED, task_id="t", retry_after_ns=MS,
)  # fmt: skip
PAGE = TaskPage(request_id=1, tasks=(VIEW,), next_cursor="n")
ACCEPTED = replace(VIEW, operation=Operation.CREATE)
ASK = InputRequest(request_id="t#0", task_id="t", params={"message": "?"})
SAID = InputAnswer(request_id="t#0", task_id="t", draw=ADDRESS)

Reader = Callable[[dict[str, Any]], Any]


def answering(codec: AnyCodec, request: Question) -> Reader:
    return lambda document: codec.decode_reply(document, request)


DELETE = Delete(request_id=1, task_id="t")
FETCH = GetResult(request_id=1, task_id="t")
READERS: list[tuple[AnyCodec, Message, Reader]] = [
    *((D1, message, D1.decode_request) for message in (
        replace(CREATE, parent_id="p"), GET, FETCH, LIST, DELETE)),
    (D1, Cancel(request_id=1, task_id="t", draw=ADDRESS), D1.decode_cancel),
    (D1, Created(task_id="t"), D1.decode_created),
    (D1, ASK, D1.decode_input_request),
    (D1, SAID, D1.decode_input_answer),
    (D1, Pushed(task_id="t", view=FULL), D1.decode_pushed),
    (D1, FULL, answering(D1, GET)),
    (D1, PAGE, answering(D1, LIST)),
    (D1, RESULT, answering(D1, FETCH)),
    (D1, ORIGINAL, answering(D1, CREATE)),
    (D1, Deleted(request_id=1, task_id="t"), answering(D1, DELETE)),
    *((D2, message, D2.decode_request) for message in (CREATE, GET, FETCH, LIST, CANCEL)),
    (D2, ASK, D2.decode_input_request),
    (D2, SAID, D2.decode_input_answer),
    (D2, Pushed(task_id="t", view=VIEW), D2.decode_pushed),
    (D2, ACCEPTED, answering(D2, CREATE)),
    (D2, VIEW, answering(D2, GET)),
    (D2, replace(VIEW, operation=Operation.CANCEL), answering(D2, CANCEL)),
    (D2, PAGE, answering(D2, LIST)),
    (D2, RESULT, answering(D2, FETCH)),
    *((D3, message, D3.decode_request) for message in (CREATE, GET, CANCEL, UPDATE)),
    *((D3, Pushed(task_id="t", view=view), D3.decode_pushed) for view in (ASKING, DONE, FAILED)),
    *((D3, view, answering(D3, GET)) for view in (VIEW, ASKING, DONE, FAILED)),
    (D3, ACCEPTED, answering(D3, CREATE)),
    (D3, ORIGINAL, answering(D3, CREATE)),
    (D3, Acknowledged(request_id=1, task_id="t", operation=Operation.INPUT),
     answering(D3, UPDATE)),
    *((codec, REFUSAL, answering(codec, request))
      for codec in (D1, D2, D3) for request in (GET, CREATE)),
    (D2, replace(REFUSAL, operation=Operation.RESULT), answering(D2, FETCH)),
]  # fmt: skip

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["task", "complete", "completed", "failed", "input_required", "tasks/get"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner,
                                                                max_size=3),
    max_leaves=6,
)  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) of a document."""
    if isinstance(value, dict):
        own = [(value, key) for key in value]
        return own + [place for item in value.values() for place in places(item)]
    if isinstance(value, list):
        own = [(value, index) for index in range(len(value))]
        return own + [place for item in value for place in places(item)]
    return []


@pytest.mark.parametrize(("codec", "message", "read"), READERS)
@given(data=st.data())
def test_a_mutated_document_is_read_or_refused(
    codec: AnyCodec, message: Message, read: Reader, data: st.DataObject
) -> None:
    document = copy.deepcopy(wired(codec.encode(message)))
    for _ in range(data.draw(st.integers(1, 3))):
        found = places(document)
        if not found:
            break
        holder, key = data.draw(st.sampled_from(found))
        if data.draw(st.booleans()):
            holder[key] = data.draw(JSON)
        else:
            del holder[key]
    complaint = "none"
    try:
        read(document)
    except (InvalidMessageError, UnknownMethodError, InvalidCursorError) as fault:
        complaint = str(fault)
    assert 0 < len(complaint) < 300


@pytest.mark.parametrize(("codec", "message", "read"), READERS)
def test_an_unmutated_document_is_read(codec: AnyCodec, message: Message, read: Reader) -> None:
    assert read(wired(codec.encode(message))) is not None


NOT_IN: list[tuple[AnyCodec, Message]] = [
    (D1, CANCEL), (D1, UPDATE), (D1, ACCEPTED), (D1, replace(VIEW, operation=Operation.CANCEL)),
    (D1, Acknowledged(request_id=1, task_id="t", operation=Operation.CANCEL)),
    (D1, replace(VIEW, children=(Child(task_id="u", call=Call(method="resources/read")),))),
    (D2, Cancel(request_id=1, task_id="t")), (D2, Created(task_id="t")), (D2, DELETE),
    (D2, Deleted(request_id=1, task_id="t")), (D2, UPDATE), (D2, FULL),
    (D2, replace(CREATE, parent_id="p")),
    (D2, Acknowledged(request_id=1, task_id="t", operation=Operation.CANCEL)),
    (D3, Cancel(request_id=1, task_id="t")), (D3, Created(task_id="t")), (D3, DELETE),
    (D3, Deleted(request_id=1, task_id="t")), (D3, FETCH), (D3, LIST), (D3, PAGE), (D3, RESULT),
    (D3, ASK), (D3, SAID), (D3, FULL), (D3, replace(CREATE, parent_id="p")),
    (D3, replace(VIEW, operation=Operation.CANCEL)), (D3, replace(DONE, payload=None)),
    *((codec, replace(VIEW, status=status, operation=operation))
      for codec in (D2, D3) for status in (Status.SUBMITTED, Status.UNKNOWN)
      for operation in (Operation.GET, Operation.CREATE)),
]  # fmt: skip


@pytest.mark.parametrize(("codec", "message"), NOT_IN)
def test_what_a_dialect_does_not_have_cannot_be_written(codec: AnyCodec, message: Message) -> None:
    with pytest.raises(TypeError):
        codec.encode(message)
