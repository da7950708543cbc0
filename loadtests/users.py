"""The driver: one Locust user that lets a scenario's tasks arrive at their drawn instants.

Rule 1: open model. Arrivals start whatever the receiver does; who is late is logged as late.
Rule 2: the exact record is our own log; Locust's statistics (rounded to two digits) are fed so
that its console, files and web page stay useful.
Rule 3: whatever ends a run early is told on stderr and by the exit code: 1 our own fault, 2 bad
input, 3 the target failed.
"""

import gc
import json
import sys
import time
import traceback
import uuid
from pathlib import Path
from typing import Any, Final

import gevent
from gevent.pool import Group
from locust import User, constant, task

from loadtests.pacing import wait_s
from tasksim.eventlog.files import placed_by, require_place
from tasksim.eventlog.recorder import EventRecorder
from tasksim.eventlog.store import write_log
from tasksim.live.client import Client, Target, TransportError
from tasksim.live.driver import Surroundings, TaskDriver
from tasksim.live.reach import require_live
from tasksim.scenario.loading import load, scenario_digest
from tasksim.scenario.plans import TaskPlan
from tasksim.scenario.problems import InputError
from tasksim.scenario.rules import requester_rules
from tasksim.scenario.workload import Workload
from tasksim.units import NS_PER_S, ms_from_ns

LEAD_NS: Final = 500_000_000  # between set-up and the first arrival
PING_EVERY_S: Final = 0.1
EXCHANGE_LIMIT_NS: Final = 10 * NS_PER_S
COLLECT_EVERY: Final = 50_000
SESSION_HEADER: Final = "Mcp-Session-Id"
VERSION_HEADER: Final = {"MCP-Protocol-Version": "2025-11-25"}


class TaskBrokeError(Exception):
    """A task's driver ended by a fault of its own."""


class ScenarioDriver(User):
    """All requesters of a scenario in one greenlet each; one such user a process."""

    wait_time = constant(0)
    fixed_count = 1  # whatever -u says: a second one would be the same requesters again

    @task
    def drive(self) -> None:
        """Run the scenario once, write the log, stop Locust."""
        try:
            self._drive()
        except InputError as fault:
            self._give_up(str(fault), 2)
        except TransportError as fault:
            self._give_up(f"target {self.host}: {fault}", 3)
        except Exception:  # noqa: BLE001 - Locust, told to quit, would not tell of it
            self._give_up(traceback.format_exc(), 1)
        finally:
            self.environment.runner.quit()

    def _give_up(self, why: str, exit_code: int) -> None:
        print(why, file=sys.stderr, flush=True)
        self.environment.process_exit_code = exit_code

    def _drive(self) -> None:
        options = self.environment.parsed_options
        if options.log is not None:
            require_place(Path(options.log))
        scenario = load(options.scenario, options.set or [])
        require_live(scenario)
        workload = Workload(scenario, options.replication)
        plans = list(workload.tasks())
        client = Client(Target.of(self.host or ""))
        sessions = {who: open_session(client) for who in sorted({p.requester for p in plans})}
        self._recorder = EventRecorder()
        pings: list[tuple[int, int]] = []
        quiet_collector()
        around = Surroundings(
            client=client,
            workload=workload,
            recorder=self._recorder,
            rules={
                place: requester_rules(population, scenario)
                for place, population in enumerate(scenario.requesters)
            },
            task_id_of=lambda _: str(uuid.uuid4()),
            epoch_ns=time.monotonic_ns() + LEAD_NS,
            report=self._report,
            paced=not options.plain_pacing,
        )
        pinger = gevent.spawn(ping, client, next(iter(sessions.values()), VERSION_HEADER), pings)
        try:
            arrive(plans, sessions, around)
        finally:
            pinger.kill()
            client.close()
            about = {
                "scenario_digest": scenario_digest(scenario),
                "side": "requester",
                "epoch_ns": around.epoch_ns,
                "rtt_ns": [end - start for start, end in pings],
                "connects": client.connects,
                "cpu_s": time.process_time(),
            }
            keep(options.log, self._recorder, about)

    def _report(self, operation: str, duration_ns: int, broke: Exception | None) -> None:
        """Feed Locust's statistics."""
        self.environment.events.request.fire(
            request_type="tasks",
            name=operation,
            response_time=ms_from_ns(duration_ns),
            response_length=0,
            exception=broke,
            context={},
        )


def arrive(plans: list[TaskPlan], sessions: dict[int, Any], around: Surroundings) -> None:
    """Start each task at its instant, in a greenlet of its own; until all are through.

    TaskBrokeError, in the end, when a driver broke: the others are not its victims.
    """
    tasks, broken = Group(), list[Any]()
    try:
        for plan in plans:
            delay_s = wait_s(around.epoch_ns + plan.arrival_at, time.monotonic_ns())
            gevent.sleep(delay_s)
            driver = tasks.spawn(TaskDriver(plan, sessions[plan.requester], around).run)
            driver.link_exception(broken.append)
        tasks.join()
    finally:
        tasks.kill()
    if broken:
        raise TaskBrokeError(f"{len(broken)} of {len(plans)} tasks broke") from broken[0].exception


def open_session(client: Client) -> dict[str, str]:
    """Headers of a new MCP session."""
    params = {
        "protocolVersion": VERSION_HEADER["MCP-Protocol-Version"],
        "capabilities": {},
        "clientInfo": {"name": "tasksim", "version": "0.1"},
    }
    document = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    answer = client.post(document, {}, until_ns=time.monotonic_ns() + EXCHANGE_LIMIT_NS)
    if answer.status != 200 or "result" not in answer.document():
        raise TransportError(f"initialize was answered with HTTP {answer.status}")
    session = answer.headers.get(SESSION_HEADER.lower())
    headers = (
        dict(VERSION_HEADER) if session is None else {**VERSION_HEADER, SESSION_HEADER: session}
    )
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    client.post(ready, headers, until_ns=time.monotonic_ns() + EXCHANGE_LIMIT_NS)
    return headers


def ping(client: Client, headers: Any, pings: list[tuple[int, int]]) -> None:
    """Measure round trips while the load runs."""
    number = 0
    while True:
        start = time.monotonic_ns()
        document = {"jsonrpc": "2.0", "id": f"ping-{number}", "method": "ping"}
        try:
            client.post(document, headers, until_ns=start + EXCHANGE_LIMIT_NS)
            pings.append((start, time.monotonic_ns()))
        except TransportError:
            pass  # the tasks' own exchanges tell of it
        number += 1
        gevent.sleep(PING_EVERY_S)


def quiet_collector() -> None:
    """Keep the collector from stalling polls: it leaves the set-up alone and comes seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_EVERY, 50, 100)


def keep(path: str | None, recorder: EventRecorder, about: dict[str, Any]) -> None:
    """Write the log, and beside it what is not an occurrence."""
    if path is None:
        return
    write_log(Path(path), recorder.finish(), provenance={"side": "requester"})
    beside = Path(path).with_suffix(".json")
    placed_by(beside, lambda draft: draft.write_text(json.dumps(about), encoding="utf-8"))
