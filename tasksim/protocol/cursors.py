"""Cursors of lists: opaque, sealed, bound to a session.

Rule: a cursor names a place in the order of admission, not a task, so it stays good when the task
that it was issued behind is deleted or expires (R38, R39). What was not issued is refused (R46b).
"""

from hashlib import blake2s
from hmac import compare_digest

from tasksim.protocol.errors import InvalidCursorError


class Cursors:
    """Issues cursors under a key, and takes back only those."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def issue(self, session: str, sequence: int) -> str:
        """Cursor of the session for what was admitted after *sequence*."""
        return f"{sequence:x}-{self._seal(session, sequence)}"

    def sequence_of(self, session: str, cursor: str) -> int:
        """The place that a cursor names; InvalidCursorError unless the session was given it."""
        digits, _, seal = cursor.partition("-")
        try:
            sequence = int(digits, 16)
            given = seal.encode("ascii")
        except ValueError:
            raise InvalidCursorError from None
        if sequence < 0 or not compare_digest(given, self._seal(session, sequence).encode()):
            raise InvalidCursorError
        return sequence

    def _seal(self, session: str, sequence: int) -> str:
        text = f"{sequence:x}-{session}".encode("utf-8", "surrogatepass")
        return blake2s(text, key=self._key, digest_size=12).hexdigest()
