"""Where logs are kept: asked before a run, not after it."""

import tempfile
from pathlib import Path

from tasksim.scenario.problems import OutputError


def require_place(path: Path) -> None:
    """OutputError when a log could not be written at *path*."""
    if path.is_dir():
        raise OutputError(f"--log {path}: is a folder")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as fault:
        raise OutputError(f"--log {path}: cannot write there: {fault.strerror}") from fault
