"""What a closed form does outside its model: it refuses.

Rule: a formula is never extended in silence. Outside its validity a function raises
``InvalidModelError`` with one message that holds the value and the limit.
"""

import math


class InvalidModelError(ValueError):
    """The parameters lie outside the model that the formula describes."""


def require(condition: bool, message: str) -> None:
    """Raise ``InvalidModelError`` with *message* unless *condition* holds."""
    if not condition:
        raise InvalidModelError(message)


def require_positive(**values: float) -> None:
    """Every value is a finite number above zero."""
    for name, value in values.items():
        require(0 < value < math.inf, f"{name} must be positive and finite, not {value}")


def require_not_negative(**values: float) -> None:
    """Every value is a finite number, zero or above."""
    for name, value in values.items():
        require(0 <= value < math.inf, f"{name} must be zero or more and finite, not {value}")


def require_share(**values: float) -> None:
    """Every value lies in [0, 1): a share of which one is too much."""
    for name, value in values.items():
        require(0 <= value < 1, f"{name} must lie in [0, 1), not {value}")


def require_level(**values: float) -> None:
    """Every value lies in (0, 1): a level of a quantile or a small probability."""
    for name, value in values.items():
        require(0 < value < 1, f"{name} must lie strictly between 0 and 1, not {value}")


def require_count(least: int, **values: int) -> None:
    """Every value is a whole number of at least *least*."""
    for name, value in values.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        require(
            whole and value >= least, f"{name} must be a whole number from {least}, not {value}"
        )
