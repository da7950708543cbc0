"""The receiver over Streamable HTTP.

Rule 1: what arrives is checked here as HTTP and JSON-RPC, by the codec as a dialect, and only then
reaches the service. Nothing that a peer sends makes a 5xx.
Rule 2: work is not tied to the stream that asked for it: a closed stream loses an answer, no task.

Source: MCP 2025-11-25, transports; sessions by ``Mcp-Session-Id``. No GET stream is offered, which
the transport allows (405).
"""

import asyncio
import json
import secrets
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tasksim.live.service import FAILURE_TEXT, OUTCOMES, RESULT, TOOL, Admission, TaskService
from tasksim.live.sse import MEDIA_TYPE, event_of
from tasksim.protocol.dialects.sep1686 import CAPABILITIES, Codec, is_task_request
from tasksim.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    InvalidMessageError,
    ProtocolError,
)
from tasksim.protocol.messages import Call, Cancel, Failure, Reply
from tasksim.units import NS_PER_S

BODY_BYTES_MAX: Final = 1 << 20
SESSIONS_MAX: Final = 100_000
PROTOCOL_VERSION: Final = "2025-11-25"
SESSION_HEADER: Final = "Mcp-Session-Id"
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
TOOL_SCHEMA: Final[dict[str, Any]] = {
    "name": TOOL,
    "description": "Works for a while.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "duration_ms": {"type": "number", "minimum": 0},
            "outcome": {"enum": list(OUTCOMES)},
        },
    },
}
Document = dict[str, Any]


class HttpError(Exception):
    """A request that HTTP refuses; carries a JSON-RPC error in its body."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def make_app(service: TaskService) -> Starlette:
    """ASGI application of a receiver."""
    routes = [Route("/mcp", Endpoint(service), methods=["POST", "GET", "DELETE"])]
    return Starlette(routes=routes)


class EventStream:
    """An answer as a stream: the notification now, the original response at completion.

    A stream that closes before completion ends without it.
    """

    def __init__(self, codec: Codec, admission: Admission) -> None:
        self._codec = codec
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the events. A peer that has gone makes sending a no-op."""
        headers = [(b"content-type", MEDIA_TYPE.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        created = self._admission.created
        first = b"" if created is None else event_of(self._codec.encode(created))
        await send({"type": "http.response.body", "body": first, "more_body": True})
        original = await self._original()
        last = b"" if original is None else event_of(self._codec.encode(original))
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _original(self) -> Reply | None:
        waiter, limit_s = self._admission.original, self._admission.stream_s
        if limit_s is None:
            return await waiter
        await asyncio.wait({waiter}, timeout=limit_s)
        return waiter.result() if waiter.done() else None


class Endpoint:
    """POST, GET and DELETE on one path."""

    def __init__(self, service: TaskService) -> None:
        self._service = service
        self._codec = Codec(strict=service.strict)
        self._sessions: dict[str, None] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        request = HttpRequest(scope, receive)
        try:
            response = await self._answer(request)
        except HttpError as fault:
            response = _json(_error(None, fault.code, str(fault)), fault.status)
        await response(scope, receive, send)

    async def _answer(self, request: HttpRequest) -> Response | EventStream:
        _require_loopback_origin(request)
        if request.method == "POST":
            return await self._post(request)
        if request.method == "DELETE":
            del self._sessions[self._session_of(request)]
            return Response(status_code=204)
        return Response(status_code=405, headers={"Allow": "POST, DELETE"})

    async def _post(self, request: HttpRequest) -> Response | EventStream:
        document = await _document_of(request)
        request_id = document.get("id")
        if document.get("method") == "initialize" and request_id is not None:
            return self._open_session(document)
        session = self._session_of(request)
        if "method" not in document and ("result" in document or "error" in document):
            return Response(status_code=202)  # an answer, and this party asked for nothing
        if request_id is None:
            self._take_notification(session, document)
            return Response(status_code=202)
        try:
            return await self._reply(session, request, document)
        except ProtocolError as fault:
            return _json(_error(request_id, fault.code, str(fault)))

    async def _reply(
        self, session: str, request: HttpRequest, document: Document
    ) -> Response | EventStream:
        if is_task_request(document):
            return await self._reply_about_task(session, request, document)
        request_id, method = document["id"], document.get("method")
        match method:
            case "ping":
                return _json(_result(request_id, {}))
            case "tools/list":
                return _json(_result(request_id, {"tools": [TOOL_SCHEMA]}))
            case "tools/call":
                if await self._service.call(_plain_call(document)):
                    return _json(_result(request_id, dict(RESULT)))
                return _json(_error(request_id, INTERNAL_ERROR, FAILURE_TEXT))
            case _:
                message = f"Method not found: {str(method)[:80]}"
                return _json(_error(request_id, METHOD_NOT_FOUND, message))

    async def _reply_about_task(
        self, session: str, request: HttpRequest, document: Document
    ) -> Response | EventStream:
        streams = MEDIA_TYPE in request.headers.get("accept", "").lower()
        message = self._codec.decode_request(document)
        assert not isinstance(message, Cancel), "that is a notification"
        outcome = self._service.receive(session, message, streams=streams)
        if not isinstance(outcome, Admission):
            return self._json_of(outcome)
        if streams:
            return EventStream(self._codec, outcome)
        return self._json_of(await outcome.original)

    def _take_notification(self, session: str, document: Document) -> None:
        """Act on a cancellation; a notification is never answered, not even a faulty one."""
        with suppress(ProtocolError):
            if (cancel := self._codec.decode_cancel(document)) is not None:
                self._service.cancel(session, cancel)

    def _json_of(self, reply: Reply | None) -> Response:
        """The answer; 202 without a body where a cancelled request has none (C13)."""
        if reply is None:
            return Response(status_code=202)
        document = self._codec.encode(reply)
        if not isinstance(reply, Failure) or reply.retry_after_ns is None:
            return _json(document)
        seconds = -(-reply.retry_after_ns // NS_PER_S)  # whole seconds, rounded up
        return _json(document, 429, {"Retry-After": str(seconds)})

    def _open_session(self, document: Document) -> Response:
        if len(self._sessions) >= SESSIONS_MAX:
            raise HttpError(429, INVALID_REQUEST, "Too many sessions")
        session = secrets.token_urlsafe(24)
        self._sessions[session] = None
        result = {
            "protocolVersion": PROTOCOL_VERSION,
            "capabilities": {"tools": {}, **CAPABILITIES},
            "serverInfo": {"name": "tasksim", "version": "0.1"},
        }
        if limits := " ".join(self._service.told):
            result["instructions"] = limits  # R50, R53
        return _json(_result(document.get("id"), result), headers={SESSION_HEADER: session})

    def _session_of(self, request: HttpRequest) -> str:
        session = request.headers.get(SESSION_HEADER)
        if session is None:
            raise HttpError(400, INVALID_REQUEST, f"{SESSION_HEADER} is missing")
        if session not in self._sessions:
            raise HttpError(404, INVALID_REQUEST, "Session not found")
        return session


async def _document_of(request: HttpRequest) -> Document:
    """The request's body as one JSON object."""
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > BODY_BYTES_MAX:
            raise HttpError(413, INVALID_REQUEST, f"Body is longer than {BODY_BYTES_MAX} bytes")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise HttpError(400, PARSE_ERROR, "Body is not JSON") from fault
    if not isinstance(document, dict):
        what = "Batches are not supported" if isinstance(document, list) else "Not an object"
        raise HttpError(400, INVALID_REQUEST, what)
    request_id = document.get("id")
    is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    if "id" in document and not is_id:
        raise HttpError(400, INVALID_REQUEST, "id must be a string or a whole number")
    return document


def _require_loopback_origin(request: HttpRequest) -> None:
    """Refuse what a web page of somewhere else sends (DNS rebinding)."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    try:
        host = urlsplit(origin).hostname
    except ValueError:
        host = None
    if host not in LOOPBACK:
        raise HttpError(403, INVALID_REQUEST, "Origin is not allowed")


def _plain_call(document: Document) -> Call:
    params = document.get("params")
    arguments = params.get("arguments", {}) if isinstance(params, dict) else None
    name = params.get("name") if isinstance(params, dict) else None
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise InvalidMessageError("params must have a name and, if any, an object of arguments")
    return Call(tool=name, arguments=arguments)


def _result(request_id: Any, result: Document) -> Document:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def _error(request_id: Any, code: int, message: str) -> Document:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def _json(document: Document, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = json.dumps(document, separators=(",", ":"))
    return Response(body, status, headers, media_type="application/json")
