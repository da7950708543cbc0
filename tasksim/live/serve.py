"""A receiver as a process: one port on loopback, until a signal.

Rule: a signal while it starts or serves does not take the log away. It is written here and not by
the server's own shutdown, which a signal during its start, or a second Ctrl-C, leaves out.
"""

import gc
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn

from tasksim.eventlog.files import require_place
from tasksim.eventlog.store import write_log
from tasksim.live.app import make_app
from tasksim.live.launch import ended_in_order
from tasksim.live.service import TaskService
from tasksim.scenario.loading import scenario_digest
from tasksim.scenario.model import Scenario
from tasksim.scenario.problems import InputError, OutputError

HOST: Final = "127.0.0.1"
BACKLOG: Final = 4096
COLLECT_EVERY: Final = 50_000  # allocations; a young collection of the default size stalls polls


class PortError(InputError):
    """The port cannot be listened on."""


def serve(
    scenario: Scenario, *, port: int = 0, log: Path | None = None, replication: int = 0
) -> None:
    """Serve the scenario's receiver; its URL is the first line on stdout.

    Port 0 is any free port. SIGTERM and Ctrl-C stop it; then the log, if asked for, is written.
    OutputError when it could not be, PortError when nothing can listen there.
    """
    if log is not None:
        require_place(log)
    listener = _listener(port)
    url = f"http://{HOST}:{listener.getsockname()[1]}/mcp"
    service = TaskService(scenario, replication=replication)

    def keep_log() -> None:
        if log is None:
            return
        about = {"scenario_digest": scenario_digest(scenario), "side": "receiver", "url": url}
        try:
            write_log(log, service.recorder.finish(), provenance=about)
        except OutputError as fault:  # the folder has gone, the disk is full
            print(f"--log {fault}", file=sys.stderr, flush=True)

    config = uvicorn.Config(
        make_app(service),
        log_level="critical",  # streams that a stop cuts are no news
        access_log=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        backlog=BACKLOG,
    )
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY, 50, 100)
    with ended_in_order(), suppress(KeyboardInterrupt):  # Ctrl-C is how a person stops it
        try:
            print(url, flush=True)
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            keep_log()


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as fault:
        listener.close()
        raise PortError(f"--port {port}: cannot listen there: {fault}") from fault
    listener.listen(BACKLOG)
    return listener
