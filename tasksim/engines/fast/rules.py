"""The functions of ``policies``, compiled as they stand.

A function's globals are replaced by compiled ones of the same names; its code is not touched.
"""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from numba import njit
from numba.core.registry import CPUDispatcher

from tasksim.policies import advice, limiters, polling


def compiled(module: ModuleType, names: tuple[str, ...], **known: Any) -> dict[str, Any]:
    """Compiled functions of a module, each seeing those before it."""
    found: dict[str, Any] = dict(known)
    for name in names:
        source: Callable[..., Any] = getattr(module, name)
        assert isinstance(source, FunctionType), f"{name} is a function"
        clone = FunctionType(
            source.__code__, {**source.__globals__, **found}, source.__name__,
            source.__defaults__, source.__closure__,
        )  # fmt: skip
        clone.__qualname__, clone.__module__ = source.__qualname__, source.__module__
        found[name] = njit(cache=True)(clone)
    return found


_POLLING = compiled(
    polling,
    (
        "lengthened_ns", "grown_ns", "fixed_gap_ns", "hint_gap_ns", "backoff_gap_ns",
        "spread_backoff_gap_ns", "decorrelated_gap_ns", "ramp_gap_ns", "scheduled_gap_ns",
        "quadratic_gap_ns", "aged_place", "aged_gap_ns", "tabled_gap_ns",
    ),
)  # fmt: skip
_LIMITERS = compiled(limiters, ("token_bucket", "cell_rate"))
_ADVICE = compiled(advice, ("fixed_interval_ns", "load_interval_ns", "aged_place",
                            "age_interval_ns", "spread_ns"))  # fmt: skip

fixed_gap_ns: CPUDispatcher = _POLLING["fixed_gap_ns"]
hint_gap_ns: CPUDispatcher = _POLLING["hint_gap_ns"]
backoff_gap_ns: CPUDispatcher = _POLLING["backoff_gap_ns"]
spread_backoff_gap_ns: CPUDispatcher = _POLLING["spread_backoff_gap_ns"]
decorrelated_gap_ns: CPUDispatcher = _POLLING["decorrelated_gap_ns"]
ramp_gap_ns: CPUDispatcher = _POLLING["ramp_gap_ns"]
scheduled_gap_ns: CPUDispatcher = _POLLING["scheduled_gap_ns"]
quadratic_gap_ns: CPUDispatcher = _POLLING["quadratic_gap_ns"]
aged_gap_ns: CPUDispatcher = _POLLING["aged_gap_ns"]
tabled_gap_ns: CPUDispatcher = _POLLING["tabled_gap_ns"]
token_bucket: CPUDispatcher = _LIMITERS["token_bucket"]
cell_rate: CPUDispatcher = _LIMITERS["cell_rate"]
spread_ns: CPUDispatcher = _ADVICE["spread_ns"]
age_interval_ns: CPUDispatcher = _ADVICE["age_interval_ns"]
