"""Work on a Dask cluster: points of a sweep, one a task of the cluster.

Rule 1: a cluster is only another set of processes: what it computes is what this process would.
Rule 2: what the cluster runs must be what runs here; another version of tasksim is refused.

Client and workers exchange pickled objects, as Dask does: an address is of a cluster that one
trusts. Files that a scenario names must be there for the workers too, under the same path.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from tasksim.planning.provenance import versions
from tasksim.scenario.problems import InputError

TIMEOUT_S: Final = 5  # of finding the scheduler


class ClusterError(InputError):
    """The cluster cannot be used."""


def require_cluster(address: str) -> None:
    """Raise ClusterError when the cluster is not there, has no workers, or runs something else."""
    with _connected(address):
        pass


def on_cluster(
    address: str, function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]
) -> Iterator[Any]:
    """What the function makes of each of the jobs, as they are finished.

    ClusterError as in require_cluster, or when the cluster is lost on the way. Whoever stops
    listening stops the jobs.
    """
    with _connected(address) as client:
        from distributed import CancelledError, KilledWorker, as_completed  # noqa: PLC0415

        futures = [client.submit(function, *job, pure=False) for job in jobs]
        try:
            for future in as_completed(futures, loop=client.loop):  # type: ignore[no-untyped-call]
                yield future.result()
        except (CancelledError, KilledWorker) as fault:
            raise ClusterError(
                f"--cluster {address}: was lost ({_first_line(fault)}); what is finished is kept, "
                "the same command goes on from there"
            ) from fault
        finally:
            client.cancel(futures)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client of the cluster, which is there and runs what runs here."""
    try:
        from distributed import Client  # noqa: PLC0415 - loads on use
    except ImportError as fault:
        raise ClusterError("--cluster needs the extra: pip install 'tasksim[cluster]'") from fault
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we say it, once
    try:
        kind = asyncio.run(_greeting(address))
    except TimeoutError as fault:
        raise ClusterError(
            f"--cluster {address}: no scheduler there (no answer within {TIMEOUT_S} s)"
        ) from fault
    except (OSError, ValueError, TypeError) as fault:  # TypeError: tls without certificates
        raise ClusterError(
            f"--cluster {address}: no scheduler there ({_first_line(fault)})"
        ) from fault
    if kind != "Scheduler":
        raise ClusterError(f"--cluster {address}: no scheduler there, but a {kind}")
    with Client(  # type: ignore[no-untyped-call]
        address, timeout=TIMEOUT_S, set_as_default=False
    ) as client:
        _require_alike(address, client)
        yield client


async def _greeting(address: str) -> str:
    """What answers there. Asked before there is a client, which would wait for ever for some."""
    from distributed import Security  # noqa: PLC0415
    from distributed.comm.core import connect  # noqa: PLC0415

    security: dict[str, Any] = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
    async with asyncio.timeout(TIMEOUT_S):
        comm: Any = await connect(  # type: ignore[no-untyped-call]
            address, timeout=TIMEOUT_S, deserialize=False, **security
        )
        try:
            await comm.write({"op": "identity", "reply": True})
            answer = await comm.read()
        finally:
            comm.abort()
    return str(answer.get("type"))


def _first_line(fault: BaseException) -> str:
    return (str(fault).splitlines() or [type(fault).__name__])[0]


def _require_alike(address: str, client: Any) -> None:
    """Raise ClusterError unless there are workers and all of them run what runs here."""
    found = client.run(_versions_there, on_error="return")
    if not found:
        raise ClusterError(f"--cluster {address}: it has no workers")
    own = versions()
    for worker, theirs in found.items():
        if isinstance(theirs, Exception):
            told = _first_line(theirs)
            raise ClusterError(f"--cluster {address}: {worker} cannot run tasksim ({told})")
        other = sorted(name for name in own if theirs.get(name) != own[name])
        if other:
            told = ", ".join(f"{name} {theirs.get(name)}, not {own[name]}" for name in other)
            raise ClusterError(f"--cluster {address}: {worker} has {told}")


def _versions_there() -> dict[str, str]:
    return versions()
