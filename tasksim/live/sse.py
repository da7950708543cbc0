"""Server-sent events: written, and read as the bytes come.

Source: WHATWG HTML, section 9.2 (event streams).
"""

import json
from typing import Any, Final

MEDIA_TYPE: Final = "text/event-stream"
EVENT_BYTES_MAX: Final = 16 << 20


class StreamTooLongError(ValueError):
    """An event is longer than a reader takes."""


def event_of(document: dict[str, Any]) -> bytes:
    """One event that carries a JSON document."""
    data = json.dumps(document, separators=(",", ":"))
    return b"event: message\ndata: " + data.encode() + b"\n\n"


class EventReader:
    """Cuts a stream into the data of its events."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._held = 0  # bytes of the event so far

    def feed(self, block: bytes) -> list[str]:
        """Data of the events that the block completes."""
        self._rest += block
        if len(self._rest) + self._held > EVENT_BYTES_MAX:
            raise StreamTooLongError(f"an event is longer than {EVENT_BYTES_MAX} bytes")
        *lines, self._rest = self._rest.replace(b"\r\n", b"\n").split(b"\n")
        events = []
        for line in lines:
            if line:
                self._held += len(line)
                self._take(line.decode("utf-8", errors="replace"))
                continue
            if self._data:
                events.append("\n".join(self._data))
            self._data, self._held = [], 0
        return events

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
