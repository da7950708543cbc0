"""Event streams: any cut of the bytes gives the same events."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.live.sse import EVENT_BYTES_MAX, EventReader, StreamTooLongError, event_of

DOCUMENTS = [{"id": 1, "text": "zwölf\nlines"}, {"method": "x"}, {}]
STREAM = b": comment\n\nid: 4\nretry: 10\n\n" + b"".join(event_of(d) for d in DOCUMENTS)


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_do_not_depend_on_how_the_bytes_come(cuts: list[int]) -> None:
    reader, found, start = EventReader(), [], 0
    for end in [*sorted(cuts), len(STREAM)]:
        found += reader.feed(STREAM[start:end])
        start = end
    assert [json.loads(data) for data in found] == DOCUMENTS


def test_lines_may_end_as_on_other_systems_and_data_may_span_lines() -> None:
    assert EventReader().feed(b"data: a\r\ndata:b\r\n\r\n") == ["a\nb"]


def test_an_endless_event_is_refused() -> None:
    reader = EventReader()
    with pytest.raises(StreamTooLongError):
        reader.feed(b"x" * (EVENT_BYTES_MAX + 1))


def test_an_event_of_endlessly_many_lines_is_refused() -> None:
    reader = EventReader()
    line = b"data: " + b"x" * 65_536 + b"\n"
    for _ in range(EVENT_BYTES_MAX // len(line)):
        reader.feed(line)
    with pytest.raises(StreamTooLongError):
        reader.feed(line)


def test_many_small_events_are_no_long_one() -> None:
    reader = EventReader()
    event = b"data: " + b"x" * 65_536 + b"\n\n"
    for _ in range(EVENT_BYTES_MAX // 65_536 + 1):
        assert len(reader.feed(event)) == 1
