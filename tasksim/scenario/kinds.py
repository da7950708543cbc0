"""Kinds of numbers and names that keys of a scenario hold."""

from typing import Annotated

from annotated_types import Ge, Gt, Le, Len

Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(1)]
Name = Annotated[str, Len(1, 100)]
