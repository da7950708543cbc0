"""``tasksim verify``: hold a log against the laws."""

import argparse
import json
from pathlib import Path
from typing import Any

from tasksim.cli.arguments import add_answer


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("verify", help="hold an event log or a task table to the laws")
    parser.add_argument("log", metavar="LOG", type=Path, help="a Parquet file that tasksim wrote")
    add_answer(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Print every law that is broken; 1 when there is one."""
    from tasksim.eventlog.laws import check_log, check_tasks, told  # noqa: PLC0415
    from tasksim.eventlog.log import EventLog  # noqa: PLC0415
    from tasksim.eventlog.store import read_any  # noqa: PLC0415

    log = read_any(args.log)
    broken = told(check_log(log) if isinstance(log, EventLog) else check_tasks(log))
    if args.format == "json":
        print(json.dumps({"rows": len(log), "broken": list(broken)}, indent=2))
    elif broken:
        print("\n".join(broken))
    else:
        what = "events" if isinstance(log, EventLog) else "tasks"
        print(f"{len(log):,} {what}: every law holds")
    return 1 if broken else 0
