"""``tasksim trace``: one task's messages as a sequence diagram, or a whole run for Perfetto."""

import argparse
import sys
from pathlib import Path
from typing import Any

from tasksim.cli.arguments import add_force, add_replication, add_scenario, not_negative


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "trace", help="print one task's messages as a diagram, or a run as a Perfetto trace"
    )
    add_scenario(parser)
    parser.add_argument(
        "--format",
        choices=("mermaid", "perfetto"),
        default="mermaid",
        help="mermaid: one task; perfetto: the run, for ui.perfetto.dev or chrome://tracing",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead")
    parser.add_argument("--task", type=not_negative, default=0, metavar="K", help="which, from 0")
    add_replication(parser)
    add_force(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Simulate, print the diagram; 2 when there is no such task."""
    from tasksim.engines import simulate  # noqa: PLC0415
    from tasksim.eventlog.files import placed_by, require_place  # noqa: PLC0415
    from tasksim.report.perfetto import perfetto_trace  # noqa: PLC0415
    from tasksim.report.timeline import sequence_diagram  # noqa: PLC0415
    from tasksim.scenario.cost import require_affordable  # noqa: PLC0415
    from tasksim.scenario.loading import load  # noqa: PLC0415

    scenario = load(args.scenario, args.set)
    require_affordable(scenario, "events", force=args.force)
    if args.out is not None:
        require_place(args.out)
    run = simulate(scenario, replication=args.replication, level="events")
    assert run.events is not None, "asked for above"
    if args.format == "perfetto":
        diagram = perfetto_trace(run)
    else:
        diagram = sequence_diagram(run.events, args.task)
    if not diagram:
        print(f"--task {args.task}: there are tasks 0 to {len(run.tasks) - 1}", file=sys.stderr)
        return 2
    if args.out is None:
        print(diagram)
    else:
        placed_by(args.out, lambda draft: draft.write_text(diagram + "\n", encoding="utf-8"))
        print(f"wrote {args.out}", file=sys.stderr)
    return 0
