"""``tasksim serve``: a live receiver that behaves as the scenario's does."""

import argparse
from pathlib import Path
from typing import Any

from tasksim.cli.arguments import add_replication, add_scenario


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("serve", help="serve the scenario's receiver on 127.0.0.1")
    add_scenario(parser)
    parser.add_argument("--port", type=int, default=0, help="0, the default, is any free port")
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the event log at the end")
    add_replication(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Serve until a signal."""
    from tasksim.live.serve import serve  # noqa: PLC0415
    from tasksim.scenario.loading import load  # noqa: PLC0415

    scenario = load(args.scenario, args.set)
    serve(scenario, port=args.port, log=args.log, replication=args.replication)
    return 0
