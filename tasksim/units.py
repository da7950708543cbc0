"""Nanoseconds inside, seconds in files and reports, milliseconds on the wire.

Rule 1: these are the only conversions in the package.
Rule 2: rounding has a direction. What is advertised rounds up, what is granted rounds down,
and a quantity read from a file rounds to the nearest nanosecond, once.
"""

from typing import Final

NS_PER_S: Final = 1_000_000_000
NS_PER_MS: Final = 1_000_000


def ns_from_s(seconds: float) -> int:
    """Nanoseconds nearest to a non-negative number of seconds."""
    assert seconds >= 0, f"a duration cannot be {seconds} s"
    return int(seconds * NS_PER_S + 0.5)


def s_from_ns(duration_ns: int) -> float:
    """Seconds, correctly rounded to a float."""
    return duration_ns / NS_PER_S


def ns_from_ms(milliseconds: float) -> int:
    """Nanoseconds nearest to a non-negative number of milliseconds, whole or not."""
    assert milliseconds >= 0, f"a duration cannot be {milliseconds} ms"
    if isinstance(milliseconds, int):
        return milliseconds * NS_PER_MS
    return int(milliseconds * NS_PER_MS + 0.5)


def ms_from_ns(duration_ns: int) -> float:
    """Milliseconds as a float, for our own tools' arguments and for reports.

    Nanoseconds survive the way there and back up to 2**51 ns (26 days).
    """
    return duration_ns / NS_PER_MS


def whole_ms_up(duration_ns: int) -> int:
    """Whole milliseconds, never less: an advertised interval invites nobody to poll early."""
    return -(-duration_ns // NS_PER_MS)


def whole_ms_down(duration_ns: int) -> int:
    """Whole milliseconds, never more: a receiver promises no more retention than it grants."""
    return duration_ns // NS_PER_MS
