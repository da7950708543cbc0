"""``tasksim compare-live``: a live run and its simulation, task by task."""

import argparse
import json
import sys
from typing import Any

from tasksim.cli.arguments import add_answer, add_out, add_replication, add_scenario
from tasksim.cli.progress import waiting


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "compare-live", help="serve, drive and simulate a scenario; compare task by task"
    )
    add_scenario(parser)
    add_replication(parser)
    add_out(parser)
    add_answer(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Run both, print the comparison; 1 when the simulation was too far off."""
    from tasksim.live.launch import TargetFailedError  # noqa: PLC0415
    from tasksim.planning.compare_live import compare_live, live_run_s  # noqa: PLC0415
    from tasksim.report import live_results, results  # noqa: PLC0415
    from tasksim.report.live_text import comparison_text  # noqa: PLC0415
    from tasksim.scenario.loading import load  # noqa: PLC0415

    scenario = load(args.scenario, args.set)
    if args.out is not None:
        results.require_writable(args.out)
    try:
        with waiting(f"a live run of about {live_run_s(scenario, args.replication):.0f} s"):
            comparison, live, simulated = compare_live(scenario, replication=args.replication)
    except TargetFailedError as fault:
        print(fault, file=sys.stderr)
        return 3
    if args.format == "json":
        print(json.dumps(comparison.as_dict(), indent=2))
    else:
        print(comparison_text(comparison, scenario))
    sys.stdout.flush()
    if args.out is not None:
        for path in live_results.write(args.out, scenario, comparison, live.run, simulated):
            print(f"wrote {path}", file=sys.stderr)
    return 0 if comparison.is_close else 1
