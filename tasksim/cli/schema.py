"""``tasksim schema``: the JSON Schema of scenario files."""

import argparse
import json
from typing import Any


def add_to(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser("schema", help="print the JSON Schema of scenario files")
    parser.set_defaults(act=act)


def act(_: argparse.Namespace) -> int:
    """Print the schema."""
    from tasksim.scenario.loading import schema_json  # noqa: PLC0415

    print(json.dumps(schema_json(), indent=2))
    return 0
