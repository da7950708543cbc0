"""Options that several commands share, worded once."""

import argparse
from pathlib import Path


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """The scenario and its overrides."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a file, or a name of the catalogue")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key, e.g. receiver.workers=20 or requesters.sdk.count=5",
    )


def add_replication(parser: argparse.ArgumentParser) -> None:
    """Which replication's draws a live run uses."""
    parser.add_argument(
        "--replication", type=not_negative, default=0, metavar="R", help="whose draws to use"
    )


def add_force(parser: argparse.ArgumentParser) -> None:
    """Whether a run of any size is made."""
    parser.add_argument(
        "--force", action="store_true", help="run even what would take very long or much memory"
    )


def add_answer(parser: argparse.ArgumentParser) -> None:
    """How the answer is given."""
    parser.add_argument("--format", choices=("text", "json"), default="text")


def add_out(parser: argparse.ArgumentParser) -> None:
    """Where results are written."""
    parser.add_argument("--out", type=Path, metavar="DIR", help="write tables and a figure there")


def positive(text: str) -> int:
    """A whole number from 1 on."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """A whole number from 0 on."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"must be a whole number >= {least}, not {text}")
    return int(text)
