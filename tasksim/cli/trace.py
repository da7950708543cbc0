"""``tasksim trace``: one task's messages as a sequence diagram."""

import argparse
import sys
from typing import Any

from tasksim.cli.arguments import add_replication, add_scenario, not_negative


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("trace", help="print one task's messages as a Mermaid diagram")
    add_scenario(parser)
    parser.add_argument("--task", type=not_negative, default=0, metavar="K", help="which, from 0")
    add_replication(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Simulate, print the diagram; 2 when there is no such task."""
    from tasksim.engines import simulate  # noqa: PLC0415
    from tasksim.report.timeline import sequence_diagram  # noqa: PLC0415
    from tasksim.scenario.loading import load  # noqa: PLC0415

    scenario = load(args.scenario, args.set)
    run = simulate(scenario, replication=args.replication, level="events")
    assert run.events is not None, "asked for above"
    diagram = sequence_diagram(run.events, args.task)
    if not diagram:
        print(f"--task {args.task}: there are tasks 0 to {len(run.tasks) - 1}", file=sys.stderr)
        return 2
    print(diagram)
    return 0
