"""Golden traces: tiny scenarios and their whole logs, one occurrence a line.

``make golden`` rewrites the logs; the difference is reviewed like code.
"""

from pathlib import Path

from tasksim.engines import simulate
from tasksim.eventlog.log import EventLog
from tasksim.eventlog.schema import NEVER
from tasksim.protocol.occurrences import Kind, Operation, Reason, Side
from tasksim.protocol.states import Status
from tasksim.scenario.loading import load
from tasksim.units import s_from_ns

FOLDER = Path(__file__).parent


def scenarios() -> list[Path]:
    return sorted(FOLDER.glob("*.toml"))


def trace_of(scenario: Path) -> str:
    """The log of a scenario as text."""
    log = simulate(load(scenario), level="events").events
    assert log is not None
    return "\n".join(lines(log)) + "\n"


def lines(log: EventLog) -> list[str]:
    """One line a row: instant (s), side, kind, task, then what else is known."""
    found = []
    for i in range(len(log)):
        words = [
            f"{s_from_ns(int(log.at[i]))!r}",
            Side(int(log.side[i])).name.lower(),
            Kind(int(log.kind[i])).name.lower(),
            f"task={log.task[i]}",
        ]
        if log.operation[i] != NEVER:
            words.append(f"{Operation(int(log.operation[i])).name.lower()}#{log.ordinal[i]}")
        if log.status[i] != NEVER:
            words.append(Status(int(log.status[i])).name.lower())
        if log.reason[i] != NEVER:
            words.append(f"because={Reason(int(log.reason[i])).name.lower()}")
        if log.value[i]:
            words.append(f"value={log.value[i]}")
        found.append(" ".join(words))
    return found


if __name__ == "__main__":
    for path in scenarios():
        path.with_suffix(".txt").write_text(trace_of(path), encoding="utf-8")
        print(f"wrote {path.with_suffix('.txt').name}")
