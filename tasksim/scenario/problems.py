"""Bad input, told once and completely."""


class InputError(Exception):
    """What a user gave cannot be used; the text says what, where, and what would do."""


class OutputError(InputError):
    """A result cannot be written where it was asked for."""
