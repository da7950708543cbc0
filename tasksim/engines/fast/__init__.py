"""The fast engine: the same run as the reference, compiled.

Rule 1: it decides nothing of its own: its rows are those of the reference engine, bit for bit, and
tests hold them to that. What it cannot do yet ``supports`` says, and the reference does it.
Rule 2: whole numbers in flat arrays; one function a kind of event; the arithmetic of ``policies``
is compiled as it stands.
Rule 3: compiled code is cached under the digest of all sources that it was made from, for Numba
looks at the file of a function and not at those of the functions that it calls.
"""

import hashlib
import os
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[2]
SOURCES: Final = ("engines/fast", "policies", "protocol", "scenario", "eventlog", "units.py")


def sources_digest() -> str:
    """Digest of everything that compiled code may depend on."""
    found = hashlib.sha256()
    for name in SOURCES:
        place = PACKAGE / name
        for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            found.update(path.name.encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def cache_folder() -> Path:
    """Where compiled code is kept: beside the sources, or the user's own cache."""
    name = f"kernel-{sources_digest()}"
    beside = PACKAGE / "engines" / "fast" / "__pycache__"
    try:
        beside.mkdir(exist_ok=True)
        is_writable = os.access(beside, os.W_OK)
    except OSError:
        is_writable = False
    base = beside if is_writable else Path.home() / ".cache" / "tasksim"
    return base / name


# Before Numba is loaded, which reads it then; whoever sets it has a reason.
os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))
