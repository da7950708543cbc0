"""Locust entry: ``locust -f loadtests/locustfile.py --scenario SCENARIO --host URL``."""

from typing import Any

from locust import events

from loadtests.users import ScenarioDriver as ScenarioDriver  # noqa: PLC0414 - found by Locust


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]
def add_options(parser: Any) -> None:
    """Add what a scenario needs to Locust's own options."""
    parser.add_argument("--scenario", default="live-smoke", help="file, or name of the catalogue")
    parser.add_argument("--set", action="append", default=[], help="override KEY=VALUE")
    parser.add_argument("--replication", type=int, default=0, help="whose draws to use")
    parser.add_argument("--log", default=None, help="write the event log here (Parquet)")
    parser.add_argument("--plain-pacing", action="store_true", help="carry lateness along")
