"""Where a result comes from: scenario, seed, log, engine, versions.

Rule: a result without this is not a result. Two results with equal digests and versions are the
same result.
"""

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

from tasksim.eventlog.run import Run
from tasksim.eventlog.schema import log_digest
from tasksim.scenario.loading import scenario_digest
from tasksim.scenario.model import Scenario

PACKAGES: Final = ("tasksim", "numpy", "scipy", "simpy")
LIVE_PACKAGES: Final = ("locust", "gevent", "httptools", "starlette", "uvicorn")


def provenance(scenario: Scenario, runs: Sequence[Run]) -> dict[str, Any]:
    """Digests, seed, engine, versions and platform of a set of replications."""
    return {
        "scenario_digest": scenario_digest(scenario),
        "log_digest": combined_digest([run_digest(run) for run in runs]),
        "level": runs[0].level if runs else None,
        "seed": scenario.seed,
        "replications": len(runs),
        "engine": "/".join(dict.fromkeys(run.engine for run in runs)),
        "versions": versions(),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def run_digest(run: Run) -> str:
    """Digest of the event log at level ``events``, of the task table at ``tasks``.

    At level ``summary`` it is that of the summary's integers.
    """
    if run.digest is not None:
        return run.digest.digest()
    columns = run.tasks.columns() if run.events is None else run.events.columns()
    return log_digest(columns)


def combined_digest(digests: Sequence[str]) -> str:
    """The digest itself for one run; for several, the digest of their digests in order."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def versions(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of packages; by default of those that a simulation depends on."""
    found = {name: version(name) for name in packages}
    return {"python": platform.python_version(), **found}
