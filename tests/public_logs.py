"""Public job and request logs, which are not part of the project.

They are looked for in the folder that PUBLIC_LOGS names, or else in ``shared/data`` beside the
checkout. What is read of their formats is tested without them; with them, that real ones hold it.
"""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("PUBLIC_LOGS", _BESIDE))
NASA = FOLDER / "NASA-iPSC-1993-3.1-cln.swf.gz"  # Parallel Workloads Archive
AZURE = FOLDER / "AzureLLMInferenceTrace_code.csv"  # Azure Public Dataset


def needs(log: Path) -> pytest.MarkDecorator:
    """Skip where a log is not at hand; its format is tested on small files all the same."""
    reason = f"{log.name} is public and not part of the project: set PUBLIC_LOGS to its folder"
    return pytest.mark.skipif(not log.exists(), reason=reason)
