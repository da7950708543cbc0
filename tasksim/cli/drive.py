"""``tasksim drive``: load a receiver on this machine with a scenario."""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tasksim.cli.arguments import add_answer, add_replication, add_scenario
from tasksim.cli.progress import waiting


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("drive", help="load a receiver with a scenario, by Locust")
    add_scenario(parser)
    parser.add_argument("--target", required=True, metavar="URL", help="http://127.0.0.1:PORT/mcp")
    add_replication(parser)
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep the requesters' event log")
    add_answer(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Drive, print what the requesters saw."""
    from tasksim.eventlog.files import require_place  # noqa: PLC0415
    from tasksim.live.client import Target  # noqa: PLC0415
    from tasksim.live.launch import TargetFailedError  # noqa: PLC0415
    from tasksim.planning.compare_live import live_run_s  # noqa: PLC0415
    from tasksim.planning.drive import drive  # noqa: PLC0415
    from tasksim.report.text import text_answer  # noqa: PLC0415
    from tasksim.scenario.loading import load  # noqa: PLC0415

    scenario = load(args.scenario, args.set)
    Target.of(args.target)
    if args.log is not None:
        require_place(args.log)
    with tempfile.TemporaryDirectory(prefix="tasksim-") as folder:
        try:
            with waiting(f"a live run of about {live_run_s(scenario, args.replication):.0f} s"):
                summary, origin, interrupted = drive(
                    scenario, args.target, Path(folder), log=args.log, replication=args.replication
                )
        except TargetFailedError as fault:
            print(fault, file=sys.stderr)
            return 3
    if args.format == "json":
        print(json.dumps({**summary.as_dict(), "provenance": origin}, indent=2))
    else:
        print(text_answer(summary, scenario, origin))
    if interrupted:
        print("interrupted: the answer is from what was seen until then", file=sys.stderr)
        return 130
    return 0
