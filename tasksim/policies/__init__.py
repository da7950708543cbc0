"""Rules that requesters and receivers follow, as plain arithmetic on frozen parameters.

Rule 1: standard library only; no clock, no randomness (a uniform is handed in), no state beyond
what is handed in. Compiled engines compile these functions as they stand.
Rule 2: numbers only. ``ABSENT`` (-1) stands for what was not said, ``UNLIMITED`` (-1) for no end.
"""

from typing import Final

ABSENT: Final = -1
UNLIMITED: Final = -1
