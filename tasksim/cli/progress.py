"""Progress on a terminal; silence in a pipe."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tasksim.scenario.model import Scenario

Progress = Callable[[int, int], None]


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say on a terminal what is being waited for."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415

    with Console(stderr=True).status(what):
        yield


@contextmanager
def replication_progress(scenario: Scenario, replications: int) -> Iterator[Progress | None]:
    """What to call with (replication, arrived tasks); None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    from tasksim.scenario.workload import Workload  # noqa: PLC0415

    expected = Workload(scenario, 0).expected_tasks()
    total = None if expected is None else expected * replications
    with Bar(console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("simulating", total=total)

        def show(replication: int, arrived: int) -> None:
            before = 0.0 if expected is None else expected * replication
            bar.update(line, completed=before + arrived)

        yield show


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """What to call with the number that is finished; None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    with Bar(console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task(what, total=total)
        yield lambda done: bar.update(line, completed=done)
