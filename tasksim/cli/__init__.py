"""The command line: ``tasksim COMMAND``.

Rule 1: a command parses, calls, prints, and decides nothing. One module a command.
Rule 2: answers go to stdout, progress and messages to stderr.
Rule 3: exit codes: 0 fine; 1 the verdict is no; 2 bad input; 3 the target failed;
130 interrupted.
Rule 4: heavy packages load when a command needs them, not before.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final

from tasksim.cli import (
    compare,
    compare_live,
    drive,
    requirements,
    run,
    scenarios,
    schema,
    serve,
    sweep,
    trace,
    verify,
)
from tasksim.scenario.problems import InputError

FINE: Final = 0
VERDICT_NO: Final = 1
BAD_INPUT: Final = 2
TARGET_FAILED: Final = 3
INTERRUPTED: Final = 130

COMMANDS: Final = (
    run,
    compare,
    sweep,
    scenarios,
    schema,
    trace,
    verify,
    requirements,
    serve,
    drive,
    compare_live,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    parser = argparse.ArgumentParser(
        prog="tasksim",
        description="Simulate and load-test MCP tasks (SEP-1686).",
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add_to(subparsers)
    args = parser.parse_args(argv)
    act: Callable[[argparse.Namespace], int] = args.act
    try:
        return act(args)
    except InputError as problem:
        print(problem, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone; so does the message about it
        return FINE
