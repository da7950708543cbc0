"""Bad input, told once and completely."""

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """What a user gave cannot be used; the text says what, where, and what would do."""


class OutputError(InputError):
    """A result cannot be written where it was asked for."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """A hint at the nearest known word, or all of them when none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(names)}" if names else ""
