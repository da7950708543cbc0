"""How the kernel is compiled.

``inlined`` functions become part of whoever calls them: the arrays of a run are some two hundred
words, and handing them over costs more than most functions do. Numba's counting of references,
which costs as much again, is switched off: nothing here makes or keeps an array.
"""

from collections.abc import Callable
from typing import Any, Final

from numba import njit

OPTIONS: Final[dict[str, Any]] = {"cache": True, "error_model": "numpy", "_nrt": False}


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into its callers."""
    return njit(forceinline=True, **OPTIONS)(function)


def outlined(function: Callable[..., Any]) -> Any:
    """Compile a function to be called: what is rare, or stands at the top."""
    return njit(**OPTIONS)(function)
