"""A receiver as a process: one port on loopback, until a signal."""

import gc
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvicorn

from tasksim.eventlog.store import write_log
from tasksim.live.app import make_app
from tasksim.live.service import TaskService
from tasksim.scenario.loading import scenario_digest
from tasksim.scenario.model import Scenario
from tasksim.scenario.problems import InputError

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
    """
    listener = _listener(port)
    url = f"http://{HOST}:{listener.getsockname()[1]}/mcp"
    service = TaskService(scenario, replication=replication)

    def keep_log() -> None:
        if log is not None:
            about = {"scenario_digest": scenario_digest(scenario), "side": "receiver", "url": url}
            write_log(log, service.recorder.finish(), provenance=about)

    app = make_app(service, on_stop=keep_log)
    config = uvicorn.Config(
        app,
        log_level="critical",  # streams that a stop cuts are no news
        access_log=False,
        timeout_keep_alive=120,
        timeout_graceful_shutdown=1,
        backlog=BACKLOG,
    )
    print(url, flush=True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY, 50, 100)
    with suppress(KeyboardInterrupt):  # Ctrl-C is how a person stops it
        uvicorn.Server(config).run(sockets=[listener])


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
