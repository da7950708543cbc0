"""Load on a receiver that already runs, and what its requesters saw."""

from pathlib import Path
from typing import Any

from tasksim.eventlog.log import merged
from tasksim.eventlog.run import run_of_log
from tasksim.eventlog.store import write_log
from tasksim.live.launch import run_load, save_scenario
from tasksim.metrics.summary import Summary, summarise
from tasksim.planning.compare_live import limit_s
from tasksim.planning.provenance import provenance
from tasksim.scenario.model import Scenario


def drive(
    scenario: Scenario, url: str, folder: Path, *, log: Path | None, replication: int = 0
) -> tuple[Summary, dict[str, Any], bool]:
    """Summary of what the requesters saw, its provenance, and whether Ctrl-C cut it short.

    The log is kept in *log*, if that is given, also of a run that was cut short.

    The receiver's own instants are not in it: what it did between two polls is not known.
    """
    done = run_load(
        save_scenario(folder, scenario),
        url,
        folder / "requesters.parquet",
        replication=replication,
        limit_s=limit_s(scenario, replication),
    )
    events = merged([done.log], epoch_ns=done.epoch_ns)
    run = run_of_log(events, replication=replication)
    origin = {**provenance(scenario, [run]), "engine": "live", "target": url}
    if log is not None:
        write_log(log, events, provenance=origin)
    return summarise([run], scenario), origin, done.interrupted
