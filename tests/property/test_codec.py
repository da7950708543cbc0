"""Whatever a machine can say survives the wire, to whole milliseconds."""

from hypothesis import given
from hypothesis import strategies as st

from tasksim.protocol.dialects.sep1686 import Codec
from tasksim.protocol.messages import Call, Create, Created, DrawAddress, Get, TaskView
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
