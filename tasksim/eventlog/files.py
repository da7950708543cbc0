"""Files that are whole or absent, and places that are asked before a run, not after it."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tasksim.scenario.problems import OutputError


def placed_by(path: Path, write_to: Callable[[Path], Any]) -> Path:
    """Let *write_to* fill a draft of the same ending, and move it into place when it is whole."""
    draft = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        write_to(draft)
        draft.replace(path)
    except OSError as fault:
        raise OutputError(f"{path}: cannot be written: {fault.strerror or fault}") from fault
    finally:
        draft.unlink(missing_ok=True)
    return path


def require_folder(folder: Path, *, shown: str) -> None:
    """OutputError, naming what was *shown* by the user, when no file could be written there."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as fault:
        raise OutputError(f"{shown}: cannot write there: {fault.strerror}") from fault


def require_place(path: Path) -> None:
    """OutputError when a log could not be written at *path*."""
    if path.is_dir():
        raise OutputError(f"--log {path}: is a folder")
    require_folder(path.parent, shown=f"--log {path}")
