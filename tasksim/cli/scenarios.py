"""``tasksim scenarios``: the catalogue."""

import argparse
import json
from typing import Any


def add_to(subparsers: Any) -> None:
    """Add the command and its options."""
    parser = subparsers.add_parser("scenarios", help="list the scenarios that come along")
    parser.add_argument("--format", choices=("text", "names", "json"), default="text")
    parser.set_defaults(act=act)


def act(args: argparse.Namespace) -> int:
    """Print names, with titles where the format has room."""
    from tasksim.scenario.loading import catalogue_names, load  # noqa: PLC0415

    titles = {name: load(name).title for name in catalogue_names()}
    if args.format == "json":
        print(json.dumps(titles, indent=2))
    elif args.format == "names":
        print("\n".join(titles))
    else:
        width = max(map(len, titles))
        print("\n".join(f"{name:{width}}  {title}" for name, title in titles.items()))
    return 0
