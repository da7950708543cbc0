"""``tasksim run``: simulate a scenario and print the answer."""

import argparse
import json
import sys
from typing import Any

from tasksim.cli.arguments import add_answer, add_force, add_out, add_scenario, positive
from tasksim.cli.progress import replication_progress


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("run", help="simulate a scenario and print the answer")
    add_scenario(parser)
    parser.add_argument("--replications", type=positive, default=1, metavar="N")
    parser.add_argument("--level", choices=("summary", "tasks", "events"), default="tasks")
    add_force(parser)
    add_out(parser)
    add_answer(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Simulate, judge by the laws, print, write."""
    from tasksim.metrics.summary import summarise  # noqa: PLC0415
    from tasksim.metrics.verdicts import verdicts  # noqa: PLC0415
    from tasksim.planning.provenance import provenance  # noqa: PLC0415
    from tasksim.planning.replicate import replicate  # noqa: PLC0415
    from tasksim.report import results  # noqa: PLC0415
    from tasksim.report.text import text_answer  # noqa: PLC0415
    from tasksim.scenario.cost import require_affordable  # noqa: PLC0415
    from tasksim.scenario.loading import load  # noqa: PLC0415

    scenario = load(args.scenario, args.set)
    require_affordable(scenario, args.level, args.replications, force=args.force)
    if args.out is not None:
        results.require_writable(args.out)
    with replication_progress(scenario, args.replications) as progress:
        done = replicate(scenario, args.replications, level=args.level, progress=progress)
    if not done.runs:
        print("interrupted before the first replication was finished", file=sys.stderr)
        return 130
    results.require_lawful(done.runs)
    summary, origin = summarise(done.runs, scenario), provenance(scenario, done.runs)
    judged = verdicts(summary, scenario.objectives)
    if args.format == "json":
        objectives = [verdict.as_dict() for verdict in judged]
        answer = {**summary.as_dict(), "objectives": objectives, "provenance": origin}
        print(json.dumps(answer, indent=2))
    else:
        print(text_answer(summary, scenario, origin))
    sys.stdout.flush()
    if args.out is not None:
        for path in results.write(args.out, scenario, done.runs, summary, origin):
            print(f"wrote {path}", file=sys.stderr)
    if done.interrupted:
        kept = f"{len(done.runs)} of {done.asked} replications"
        print(f"interrupted: the answer is from {kept}", file=sys.stderr)
        return 130
    return 1 if any(verdict.judgement == "missed" for verdict in judged) else 0
