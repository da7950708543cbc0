"""``tasksim requirements``: what SEP-1686 requires, and where each point is kept and tested."""

import argparse
import json
from typing import Any

from tasksim.cli.arguments import add_answer


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser(
        "requirements", help="print where each requirement of SEP-1686 is kept and tested"
    )
    add_answer(parser)
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Print the table."""
    from tasksim.report.requirements import evidence  # noqa: PLC0415

    found = evidence()
    if args.format == "json":
        print(json.dumps([each.as_dict() for each in found], indent=2))
        return 0
    for each in found:
        asked = each.requirement
        print(f"{asked.name}  {asked.section:7} {asked.binds} {asked.keyword} {asked.says}")
        for place in each.code:
            print(f"       in  {place}")
        for test in each.tests:
            print(f"       by  {test}")
    return 0
