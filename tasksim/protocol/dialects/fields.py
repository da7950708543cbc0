"""Fields of JSON-RPC documents: read with every doubt, written the one way.

Rule: whatever a peer sends becomes a value of the expected type or an InvalidMessageError that
quotes at most eighty characters of it.
"""

import math
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from tasksim.protocol.errors import InvalidMessageError
from tasksim.protocol.messages import DrawAddress, RequestId
from tasksim.protocol.ties import TASK_BITS
from tasksim.units import ns_from_ms, whole_ms_up

Document = dict[str, Any]

RELATED_KEY: Final = "modelcontextprotocol.io/related-task"
DRAW_KEY: Final = "tasksim/draw"
HOLD_KEY: Final = "tasksim/hold"
ORDINAL_END: Final = 1 << 31
TASK_ID_LENGTH_MAX: Final = 1024  # characters
KEEP_ALIVE_MS_MAX: Final = 1 << 42  # 139 years


def related(task_id: str, key: str = RELATED_KEY) -> Document:
    """Metadata that says which task a message is about (R26)."""
    return {key: {"taskId": task_id}}


def drawn(draw: DrawAddress | None, attempt: int) -> Document:
    """Metadata that tells a receiver of ours where the draws of this message stand."""
    if draw is None:
        return {}
    address = {"entity": draw.entity, "replication": draw.replication, "ordinal": attempt}
    return {DRAW_KEY: address}


def draw_of(meta: Mapping[str, Any]) -> tuple[DrawAddress | None, int]:
    """Draw address and attempt that a message tells; (None, 0) when it tells none."""
    if DRAW_KEY not in meta:
        return None, 0
    address = object_of(meta[DRAW_KEY], DRAW_KEY)
    draw = DrawAddress(
        entity=draw_number(address.get("entity")),
        replication=draw_number(address.get("replication", 0)),
    )
    return draw, draw_number(address.get("ordinal", 0), ORDINAL_END)


def draw_number(number: Any, end: int = 1 << TASK_BITS) -> int:
    """A whole number of a draw address, below *end*."""
    if is_whole(number) and 0 <= number < end:
        return number
    raise InvalidMessageError(f"{DRAW_KEY} must hold whole numbers >= 0, not {shown(number)}")


def held(hold_ns: int) -> Document:
    """Metadata that tells a receiver of ours how long it may hold a get; rounded up."""
    return {HOLD_KEY: {"ms": whole_ms_up(hold_ns)}} if hold_ns else {}


def hold_of(meta: Mapping[str, Any]) -> int:
    """How long a get may be held; 0 when it does not tell."""
    if HOLD_KEY not in meta:
        return 0
    return ns_of(object_of(meta[HOLD_KEY], HOLD_KEY).get("ms"), f"{HOLD_KEY}.ms")


def request_id_of(document: Mapping[str, Any]) -> RequestId:
    """The id of a request or of its answer."""
    request_id = document.get("id")
    if isinstance(request_id, str) or is_whole(request_id):
        return request_id
    raise InvalidMessageError(f"id must be a string or a whole number, not {shown(request_id)}")


def task_id_of(holder: Mapping[str, Any], name: str = "taskId") -> str:
    """A task's id: a string of bounded length."""
    task_id = string_of(holder.get(name), name)  # R06
    if len(task_id) > TASK_ID_LENGTH_MAX:
        raise InvalidMessageError(f"{name} is longer than {TASK_ID_LENGTH_MAX} characters")
    return task_id


def ns_of(value: Any, name: str) -> int:
    """Nanoseconds of a number of milliseconds, cut at 139 years."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:  # whole numbers of any size are compared
        raise InvalidMessageError(
            f"{name} must be a number of milliseconds >= 0, not {shown(value)}"
        )
    return ns_from_ms(min(value, KEEP_ALIVE_MS_MAX))


def whole_ns_of(value: Any, name: str) -> int:
    """Nanoseconds of a whole number of milliseconds; 5.0 is one, for JSON knows one kind only."""
    duration_ns = ns_of(value, name)
    if isinstance(value, float) and not value.is_integer():
        raise InvalidMessageError(f"{name} must be whole milliseconds, not {shown(value)}")
    return duration_ns


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether it is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def string_of(value: Any, name: str) -> str:
    """The value, which must be a string."""
    if not isinstance(value, str):
        raise InvalidMessageError(f"{name} must be a string, not {shown(value)}")
    return value


def object_of(value: Any, name: str) -> Mapping[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise InvalidMessageError(f"{name} must be an object, not {shown(value)}")
    return value


def meta_of(params: Any) -> Mapping[str, Any]:
    """The metadata of parameters or of a result; empty where there is none."""
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return meta if isinstance(meta, Mapping) else {}


def shown(value: Any) -> str:
    """The value as a message may quote it; its type where it cannot be written out."""
    try:
        return repr(value)[:80]
    except (RecursionError, ValueError):  # nested too deep, a number of too many digits
        return type(value).__name__


def without_meta(value: Any, name: str) -> dict[str, Any]:
    """An object's own members, without its metadata."""
    return {key: item for key, item in object_of(value, name).items() if key != "_meta"}


def with_meta(members: Document, meta: Mapping[str, Any]) -> Document:
    """The members, and the metadata where there is any."""
    return {**members, "_meta": dict(meta)} if meta else members
