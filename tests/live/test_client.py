"""The client against peers that answer well, late, half, or nonsense."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tasksim.live.client import BODY_BYTES_MAX, Answer, Client, TransportError
from tests.live.scripted import Document, Script, answer, peer, stream

PING: Document = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PONG: Document = {"jsonrpc": "2.0", "id": 1, "result": {}}


def soon() -> int:
    return time.monotonic_ns() + 2_000_000_000


@contextmanager
def client_of(script: Script) -> Iterator[Client]:
    with peer(script) as target:
        client = Client(target)
        try:
            yield client
        finally:
            client.close()


def test_a_connection_serves_one_exchange_after_another() -> None:
    with client_of(lambda _: answer(PONG)) as client:
        assert [client.post(PING, {}, until_ns=soon()).document() for _ in range(3)] == [PONG] * 3
        assert client.connects == 1


def test_a_connection_that_the_peer_will_close_is_not_used_again() -> None:
    with client_of(lambda _: answer(PONG, head="Connection: close\r\n")) as client:
        for _ in range(2):
            client.post(PING, {}, until_ns=soon())
        assert client.connects == 2


def test_a_connection_that_was_closed_while_idle_is_replaced() -> None:
    said = iter([answer(PONG), b"", answer(PONG)])
    with client_of(lambda _: next(said)) as client:
        for _ in range(2):
            assert client.post(PING, {}, until_ns=soon()).document() == PONG
        assert client.connects == 2


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "closed"),
        (b"SMTP ready\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "not HTTP"),
        (answer([1]), "not an object"),
        (b"HTTP/1.1 502 Bad\r\nContent-Length: 1\r\n\r\n<", r"HTTP 502, and .* not JSON"),
        (answer(0).replace(b"Length: 1", b"Length: 8999") + b"[" * 8_998, "not JSON"),
    ],
    ids=["nothing", "no HTTP", "bad length", "no object", "no JSON", "broken JSON"],
)
def test_an_answer_that_is_none_is_a_fault_of_transport(said: bytes, why: str) -> None:
    with client_of(lambda _: said) as client, pytest.raises(TransportError, match=why):
        client.post(PING, {}, until_ns=soon()).document()


def test_an_answer_nested_too_deeply_is_a_fault_of_transport() -> None:
    found = Answer(status=200, body=bytearray(b"[" * 100_000 + b"]" * 100_000))
    with pytest.raises(TransportError, match="not JSON"):
        found.document()


def test_an_answer_that_does_not_end_in_time_is_given_up() -> None:
    half = answer(PONG)[:-1]
    with client_of(lambda _: half) as client, pytest.raises(TransportError, match="in time"):
        client.post(PING, {}, until_ns=time.monotonic_ns() + 50_000_000)


def test_an_answer_without_end_is_given_up() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (2 * BODY_BYTES_MAX)
    endless = head + b" " * (BODY_BYTES_MAX + 1)
    with client_of(lambda _: endless) as client, pytest.raises(TransportError):
        client.post(PING, {}, until_ns=soon())


def test_a_stream_gives_its_documents_and_passes_over_what_is_none() -> None:
    body = b': hello\n\nid: 1\ndata: \n\ndata: 5\n\ndata: {"id":\ndata: 1}\n\n'
    said = iter([stream(body) + b"0\r\n\r\n", answer(PONG)])
    with client_of(lambda _: next(said)) as client:
        events = client.stream(PING, {}, until_ns=soon())
        assert list(events.documents(soon())) == [{"id": 1}]
        events.close()
        assert client.post(PING, {}, until_ns=soon()).document() == PONG
        assert client.connects == 1  # an ended stream gives its connection back


@pytest.mark.parametrize("event", [b"data: {\n\n", b"data: " + b"[" * 50_000 + b"\n\n"])
def test_an_event_that_is_not_json_is_a_fault_of_transport(event: bytes) -> None:
    with client_of(lambda _: stream(event)) as client:
        events = client.stream(PING, {}, until_ns=soon())
        with pytest.raises(TransportError, match="not JSON"):
            list(events.documents(soon()))
        events.close()
