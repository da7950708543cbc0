"""Tools for tests of engines: strict ties, lattice scenarios, tiny scenarios."""

from typing import Any

from simpy.events import Timeout

from tasksim.engines.reference import model as reference
from tasksim.engines.reference.ranked import ABOVE_SIMPY, At, RankedEnvironment
from tasksim.eventlog.run import Run
from tasksim.scenario.loading import parse
from tasksim.scenario.model import Scenario

S = 1_000_000_000


class StrictEnvironment(RankedEnvironment):
    """Refuses what would leave a tie to the order of scheduling."""

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[Any, int] | None = None

    def step(self) -> None:
        if self._queue:
            at, rank, _, event = self._queue[0]
            assert not isinstance(event, Timeout), "a plain Timeout has no rank"
            if rank >= ABOVE_SIMPY and not getattr(event, "cancelled", False):
                assert isinstance(event, At), f"{event} has no rank"
                assert (at, rank) != self._last, f"rank {rank - ABOVE_SIMPY:#x} twice at {at}"
                self._last = (at, rank)
        super().step()


def strict_run(scenario: Scenario, level: Any = "events") -> Run:
    """A run in which no two events may share instant and rank."""
    env = StrictEnvironment()
    return reference.Model(scenario, replication=0, level=level, env=env).run()


def lattice(**changes: Any) -> Scenario:
    """All times are multiples of a quarter of a second, so that ties abound."""
    values = {
        "tasks": 400,
        "seed": 1,
        "workers": 3,
        "lost": 0.1,
        "original": "ignored",
        "cancelled": 0.0,
        "sensitive": "false",
        "delete": "terminal",
        "polling": "{ kind = 'fixed', interval_s = 1 }",
        **changes,
    }
    return parse(
        """
tasks = {tasks}
seed = {seed}
[arrivals]
kind = "constant"
rate = 4
[[requesters]]
count = 5
polling = {polling}
created_timeout_s = 0.75
original_response = "{original}"
cancel_share = {cancelled}
cancel_after = {{ kind = "mixture", weights = [1, 1, 1], parts = [
  {{ kind = "constant", value_s = 0 }},
  {{ kind = "constant", value_s = 0.5 }},
  {{ kind = "constant", value_s = 1 }} ] }}
[[work]]
failed_share = 0.1
sensitive = {sensitive}
duration = {{ kind = "mixture", weights = [1, 1, 1], parts = [
  {{ kind = "constant", value_s = 0.25 }},
  {{ kind = "constant", value_s = 0.5 }},
  {{ kind = "constant", value_s = 1.25 }} ] }}
[receiver]
workers = {workers}
delete = "{delete}"
keep_alive = {{ default_s = 1.5 }}
[network]
request = {{ kind = "constant", value_s = 0.25 }}
reply = {{ kind = "constant", value_s = 0.25 }}
[faults]
created_lost_share = {lost}
""".format(**values),
        "lattice.toml",
    )


def tiny(text: str) -> Scenario:
    """A scenario from a few lines; one task at 0 unless they say otherwise."""
    return parse(text, "tiny.toml")
