"""A peer that answers as it is told to, whatever HTTP or MCP has to say to that."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gevent
from gevent.server import StreamServer

from tasksim.live.client import Target

Document = dict[str, Any]
Script = Callable[[Document], bytes]  # an empty answer closes the connection


def answer(document: Any, *, head: str = "") -> bytes:
    """A JSON answer as it goes over the wire."""
    body = json.dumps(document)
    return (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{head}"
        f"Content-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def stream(body: bytes) -> bytes:
    """The beginning of an answer by events, not ended."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    return head + b"\r\n%x\r\n%s\r\n" % (len(body), body)


@contextmanager
def peer(script: Script) -> Iterator[Target]:
    """A peer on loopback that answers each request by the script."""

    def talk(sock: Any, _: Any) -> None:
        reader = sock.makefile("rb")
        while reader.readline():
            length = 0
            while (line := reader.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            said = script(json.loads(reader.read(length)))
            if not said:
                break
            sock.sendall(said)
        sock.close()

    server = StreamServer(("127.0.0.1", 0), talk)
    server.start()
    try:
        with gevent.Timeout(10):
            yield Target(host="127.0.0.1", port=server.server_port, path="/mcp")
    finally:
        server.stop(timeout=0)
