"""HTTP for load: raw gevent sockets, a C parser, one connection an exchange at a time.

Rule 1: no limit on descriptors (``select`` has one), no look-up of names, no hidden retries: a
request is repeated only where nothing of an answer had arrived and repeating is harmless.
Rule 2: every wait has a limit.
"""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import gevent
import gevent.socket
import httptools

from tasksim.live.sse import MEDIA_TYPE, EventReader, StreamTooLongError
from tasksim.scenario.problems import InputError
from tasksim.units import NS_PER_S

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
BLOCK: Final = 65_536
BODY_BYTES_MAX: Final = 16 << 20
CONNECT_LIMIT_S: Final = 10.0
Document = dict[str, Any]


class TransportError(Exception):
    """The exchange broke: no connection, no answer in time, or no HTTP."""


class TargetError(InputError):
    """The target is not one that load may be sent to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where load goes: loopback only."""

    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str) -> "Target":
        """Target of an URL; TargetError unless it is plain HTTP on loopback."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or 80
        except ValueError as fault:
            raise TargetError(f"target {url}: {fault}") from fault
        if parts.scheme != "http":
            raise TargetError(f"target {url}: must begin with http://")
        if host not in LOOPBACK:
            raise TargetError(f"target {url}: load goes to this machine only (127.0.0.1)")
        return cls(host="127.0.0.1" if host == "localhost" else host, port=port, path=parts.path)


@dataclass(slots=True)
class Answer:
    """One HTTP answer, filled by the parser as bytes come."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    is_headed: bool = False
    is_complete: bool = False

    # The parser's callbacks.

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header field."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The headers are complete."""
        self.is_headed = True

    def on_body(self, block: bytes) -> None:
        """A piece of the body."""
        self.body += block
        if len(self.body) > BODY_BYTES_MAX:
            raise TransportError(f"the answer is longer than {BODY_BYTES_MAX} bytes")

    def on_message_complete(self) -> None:
        """The answer is complete."""
        self.is_complete = True

    @property
    def is_stream(self) -> bool:
        """Whether the body is a stream of events."""
        return self.headers.get("content-type", "").startswith(MEDIA_TYPE)

    def document(self) -> Document:
        """The body as a JSON object."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError) as fault:
            raise TransportError(f"HTTP {self.status}, and the body is not JSON") from fault
        if not isinstance(document, dict):
            raise TransportError(f"HTTP {self.status}, and the body is not an object")
        return document


class Exchange:
    """One request and its answer on one connection."""

    def __init__(self, sock: Any, message: bytes) -> None:
        self.answer = Answer()
        self._sock = sock
        self._parser = httptools.HttpResponseParser(self.answer)
        self._message = message

    def send(self) -> None:
        """Write the request."""
        self._sock.sendall(self._message)

    def read(self, until_ns: int) -> None:
        """Read one block of the answer, before the instant given."""
        left_ns = until_ns - time.monotonic_ns()
        if left_ns <= 0:
            raise TransportError("no answer in time")
        self._sock.settimeout(left_ns / NS_PER_S)
        try:
            block = self._sock.recv(BLOCK)
        except TimeoutError as fault:
            raise TransportError("no answer in time") from fault
        if not block:
            raise TransportError("the connection was closed")
        try:
            self._parser.feed_data(block)
        except httptools.HttpParserError as fault:
            raise TransportError(f"not HTTP: {fault}") from fault
        if self.answer.is_headed and not self.answer.status:
            self.answer.status = self._parser.get_status_code()

    @property
    def keeps_alive(self) -> bool:
        """Whether the connection can be used again."""
        is_kept = self.answer.headers.get("connection", "").lower() != "close"
        return self.answer.is_complete and is_kept and self._parser.get_http_version() == "1.1"


class Client:
    """Connections to one target; used by the greenlets of one process."""

    def __init__(self, target: Target) -> None:
        self.target: Final = target
        self.connects = 0
        self._idle: list[Any] = []

    def post(self, document: Document, headers: Mapping[str, str], *, until_ns: int) -> Answer:
        """Answer to a request that may be repeated; read whole."""
        message = self._message("POST", headers, json.dumps(document, separators=(",", ":")))
        while True:
            is_fresh = not self._idle
            sock = self._connect(until_ns) if is_fresh else self._idle.pop()
            exchange = Exchange(sock, message)
            try:
                exchange.send()
                while not exchange.answer.is_complete:
                    exchange.read(until_ns)
            except (OSError, TransportError) as fault:
                sock.close()
                if is_fresh or exchange.answer.is_headed or time.monotonic_ns() >= until_ns:
                    raise TransportError(str(fault)) from fault
                continue  # a connection that the server had closed while it was idle
            self._release(sock, exchange)
            return exchange.answer

    def stream(self, document: Document, headers: Mapping[str, str], *, until_ns: int) -> "Stream":
        """A request on a connection of its own, whose answer may be a stream; headers are read."""
        message = self._message("POST", headers, json.dumps(document, separators=(",", ":")))
        sock = self._connect(until_ns)
        stream = Stream(self, sock, Exchange(sock, message))
        stream.open(until_ns)
        return stream

    def close(self) -> None:
        """Close idle connections."""
        for sock in self._idle:
            sock.close()
        self._idle.clear()

    def _connect(self, until_ns: int) -> Any:
        left_s = (until_ns - time.monotonic_ns()) / NS_PER_S
        limit_s = max(min(CONNECT_LIMIT_S, left_s), 0.001)
        try:
            sock = gevent.socket.create_connection((self.target.host, self.target.port), limit_s)
        except OSError as fault:
            raise TransportError(f"no connection: {fault}") from fault
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connects += 1
        return sock

    def _release(self, sock: Any, exchange: Exchange) -> None:
        if exchange.keeps_alive:
            self._idle.append(sock)
        else:
            sock.close()

    def _message(self, method: str, headers: Mapping[str, str], body: str) -> bytes:
        target = self.target
        lines = [
            f"{method} {target.path} HTTP/1.1",
            f"Host: {target.host}:{target.port}",
            "Content-Type: application/json",
            f"Accept: application/json, {MEDIA_TYPE}",
            f"Content-Length: {len(body.encode())}",
            *(f"{name}: {value}" for name, value in headers.items()),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


class Stream:
    """An answer that may go on for as long as the task does."""

    def __init__(self, client: Client, sock: Any, exchange: Exchange) -> None:
        self._client = client
        self._sock = sock
        self._exchange = exchange
        self._reader = EventReader()
        self._is_closed = False

    @property
    def answer(self) -> Answer:
        """Status and headers, and the body where it is no stream."""
        return self._exchange.answer

    def open(self, until_ns: int) -> None:
        """Send the request and read the head of the answer."""
        try:
            self._exchange.send()
            while not self.answer.is_headed:
                self._exchange.read(until_ns)
        except (OSError, TransportError) as fault:
            raise TransportError(str(fault)) from fault
        finally:
            if not self.answer.is_headed:  # also when whoever reads is stopped
                self.close()

    def documents(self, until_ns: int) -> Iterator[Document]:
        """JSON documents as they come: events of a stream, or the one answer.

        Events that hold no object are passed over; TransportError when one is not JSON.
        """
        while True:
            if self.answer.is_stream:
                block = bytes(self.answer.body)
                self.answer.body.clear()
                for data in self._events(block):
                    if (document := _document_of(data)) is not None:
                        yield document
            elif self.answer.is_complete:
                yield self.answer.document()
            if self.answer.is_complete:
                return
            try:
                self._exchange.read(until_ns)
            except OSError as fault:
                raise TransportError(str(fault)) from fault

    def close(self) -> None:
        """Give the connection back if the answer has ended, else close it."""
        if self._is_closed:
            return
        self._is_closed = True
        self._drain()
        if self._exchange.keeps_alive:
            self._client._release(self._sock, self._exchange)  # noqa: SLF001 - its own client
        else:
            self._sock.close()

    def _events(self, block: bytes) -> list[str]:
        try:
            return self._reader.feed(block)
        except StreamTooLongError as fault:
            raise TransportError(str(fault)) from fault

    def _drain(self) -> None:
        """Take what has already arrived, without waiting: often that is the end of the answer."""
        try:
            if self.answer.is_headed and not self.answer.is_complete:
                self._exchange.read(time.monotonic_ns() + 50_000)
        except (OSError, TransportError):
            return


def _document_of(data: str) -> Document | None:
    """The object that an event holds; None for another value, or for none at all.

    A stream may begin with an empty event, so that it can be resumed (MCP 2025-11-25, transports).
    """
    if not data:
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as fault:
        raise TransportError("an event is not JSON") from fault
    return document if isinstance(document, dict) else None
