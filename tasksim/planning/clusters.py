"""Work on a Dask cluster: points of a sweep, one a task of the cluster.

Rule 1: a cluster is only another set of processes: what it computes is what this process would.
Rule 2: what the cluster runs must be what runs here; another version of tasksim is refused.

Client and workers exchange pickled objects, as Dask does: an address is of a cluster that one
trusts. Files that a scenario names must be there for the workers too, under the same path.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tasksim.planning.provenance import versions
from tasksim.scenario.problems import InputError

TIMEOUT_S: Final = 5  # of finding the scheduler


class ClusterError(InputError):
    """The cluster cannot be used."""


def on_cluster(
    address: str, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]
) -> Iterator[Any]:
    """What the function makes of each of the jobs, as they are finished.

    ClusterError when the cluster is not there, has no workers, or runs something else. Whoever
    stops listening stops the jobs.
    """
    try:
        from distributed import Client, as_completed  # noqa: PLC0415 - loads on use
    except ImportError as fault:
        raise ClusterError("--cluster needs the extra: pip install 'tasksim[cluster]'") from fault
    try:
        client: Any = Client(  # type: ignore[no-untyped-call]
            address, timeout=TIMEOUT_S, set_as_default=False
        )
    except (OSError, ValueError, TimeoutError) as fault:
        raise ClusterError(f"--cluster {address}: no scheduler there ({fault})") from fault
    with client:
        _require_alike(address, client)
        futures = [client.submit(function, *job, pure=False) for job in jobs]
        try:
            for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
                yield future.result()
        finally:
            client.cancel(futures)


def _require_alike(address: str, client: Any) -> None:
    """Raise ClusterError unless there are workers and all of them run what runs here."""
    try:
        found = client.run(_versions_there)
    except ModuleNotFoundError as fault:
        raise ClusterError(f"--cluster {address}: its workers have no tasksim ({fault})") from fault
    if not found:
        raise ClusterError(f"--cluster {address}: it has no workers")
    own = versions()
    for worker, theirs in found.items():
        other = sorted(name for name in own if theirs.get(name) != own[name])
        if other:
            told = ", ".join(f"{name} {theirs.get(name)}, not {own[name]}" for name in other)
            raise ClusterError(f"--cluster {address}: {worker} has {told}")


def _versions_there() -> dict[str, str]:
    return versions()
