"""``tasksim compare``: scenarios, or polling policies on one, side by side."""

import argparse
import json
import sys
from typing import Any

from tasksim.cli.arguments import add_answer, add_force, positive
from tasksim.cli.progress import waiting


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "compare", help="compare scenarios, or policies on one, on common random numbers"
    )
    parser.add_argument(
        "scenarios", metavar="SCENARIO", nargs="+", help="files, or names of the catalogue"
    )
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="RULE",
        help="a preset's name, or a polling rule such as \"{ kind = 'fixed', interval_s = 2 }\"",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override a key of all"
    )
    parser.add_argument("--replications", type=positive, default=10, metavar="N")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes; all cores if absent")
    add_force(parser)
    add_answer(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Simulate all, print who is better on what."""
    from tasksim.planning.compare import compare, contenders_of  # noqa: PLC0415
    from tasksim.report.compare_text import comparison_text  # noqa: PLC0415
    from tasksim.scenario.cost import require_affordable  # noqa: PLC0415

    contenders = contenders_of(args.scenarios, args.policy, args.set)
    for each in contenders:
        require_affordable(each.scenario, "summary", args.replications, force=args.force)
    with waiting(f"{len(contenders)} scenarios, {args.replications} replications each"):
        comparison = compare(contenders, args.replications, jobs=args.jobs or -1)
    if not comparison.replications:
        print("interrupted before the first replication was finished", file=sys.stderr)
        return 130
    if args.format == "json":
        print(json.dumps(comparison.as_dict(), indent=2))
    else:
        print(comparison_text(comparison))
    if comparison.interrupted:
        kept = f"{comparison.replications} of {args.replications} replications"
        print(f"interrupted: the answer is from {kept}", file=sys.stderr)
        return 130
    return 0
