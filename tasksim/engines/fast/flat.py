"""A scenario as flat arrays, for the compiled kernel."""

from typing import Any, Final

import numpy as np

from tasksim.engines.fast import layout as c
from tasksim.engines.fast.plans import draw_plans, poisson_instants
from tasksim.engines.fast.supports import ADVICE_OF, LIMIT_OF, RULE_OF
from tasksim.policies import ABSENT, UNLIMITED
from tasksim.policies.retention import granted_ns
from tasksim.protocol.occurrences import Operation
from tasksim.protocol.rules import ReceiverRules, RequesterRules
from tasksim.scenario import draws
from tasksim.scenario.model import Poisson, Scenario
from tasksim.scenario.rules import receiver_rules, requester_rules
from tasksim.scenario.workload import Workload

CHUNK: Final = 1 << 16  # arrivals that are drawn at a time


class Flat:
    """One replication of a scenario as arrays; ``supports`` had nothing to say."""

    def __init__(self, scenario: Scenario, replication: int) -> None:
        self.workload = Workload(scenario, replication)
        rules = receiver_rules(scenario)
        each = [requester_rules(population, scenario) for population in scenario.requesters]
        parts = self.workload.flat
        self.laws = np.array(parts.values, dtype=np.int64)
        self.params = np.array([x for r in each for x in r.polling.params], dtype=np.float64)
        self.populations = self._populations(scenario, rules, each)
        self.classes = np.zeros((len(scenario.work), 3), dtype=np.int64)
        for index in range(len(scenario.work)):
            self.classes[index, c.LAW] = parts.durations[index]
            self.classes[index, c.FAILED_SHARE] = parts.failed[index] >> 11
            self.classes[index, c.BAD_SHARE] = parts.ended_badly[index] >> 11
        self.settings = self._settings(scenario, rules)
        told = rules.advice
        self.advice = np.array([0] if told is None else told.params, dtype=np.int64)
        self.spread = np.array([0.0 if told is None else told.spread])
        self.lost = self._lost()
        self.plans, self.keys = self._plans(scenario, replication)
        self.settings[c.TASKS] = len(self.keys)

    def _populations(
        self, scenario: Scenario, rules: ReceiverRules, each: list[RequesterRules]
    ) -> Any:
        parts = self.workload.flat
        found = np.zeros((len(each), c.POPULATION_COLUMNS), dtype=np.int64)
        at = 0
        for index, (own, row) in enumerate(zip(each, found, strict=True)):
            rule = own.polling
            row[c.RULE], row[c.PARAMS_AT] = RULE_OF[rule.gap_ns], at
            row[c.PARAMS_COUNT] = len(rule.params)
            at += len(rule.params)
            row[c.FIRST], row[c.JITTERED] = int(rule.first), rule.jittered
            row[c.CREATED_TIMEOUT] = own.created_timeout_ns
            row[c.REQUEST_TIMEOUT] = own.request_timeout_ns
            row[c.FAILURES_MAX], row[c.LIMITED_MAX] = own.failures_max, own.limited_max
            row[c.LIMITED_GAP] = own.limited_gap_ns
            row[c.CANCEL_PATIENCE] = own.cancel_patience_ns
            asked = ABSENT if own.keep_alive_ns is None else own.keep_alive_ns
            row[c.KEEP_GRANTED] = granted_ns(
                asked, rules.keep_alive_default_ns, rules.keep_alive_max_ns
            )
            share, row[c.CANCEL_LAW] = parts.cancels[index]
            row[c.CANCEL_SHARE] = share >> 11
            row[c.REQUEST_LAW], row[c.REPLY_LAW] = parts.network_laws[index]
            row[c.COUNT], row[c.OFFSET] = parts.counts[index], parts.offsets[index]
            most = scenario.requesters[index].max_open
            row[c.MAX_OPEN] = UNLIMITED if most is None else most
            row[c.POLLS_MAX] = own.polls_max
        return found

    def _settings(self, scenario: Scenario, rules: ReceiverRules) -> Any:
        found = np.zeros(c.SETTINGS, dtype=np.int64)
        workers = scenario.receiver.workers
        found[c.WORKERS] = UNLIMITED if workers is None else workers
        found[c.SWEEP], found[c.KEEPS_UNKNOWN] = rules.sweep_ns, rules.keeps_unknown
        found[c.TOMBSTONES] = rules.tombstones
        if rules.advice is not None:
            found[c.ADVICE] = ADVICE_OF[rules.advice.interval_ns]
        limit = rules.limits.get(Operation.GET)
        if limit is not None:
            found[c.LIMIT] = LIMIT_OF[limit.take]
            found[c.LIMIT_A], found[c.LIMIT_B] = limit.params
            found[c.LIMIT_SCOPE] = limit.per_requester
        found[c.UNTIL] = -1 if scenario.drain else (self.workload.end_at or 0)
        return found

    def _lost(self) -> Any:
        requests, replies = self.workload.messages.thresholds
        found = np.zeros((2, len(Operation)), dtype=np.int64)
        for operation, threshold in requests.items():
            found[0, operation] = threshold >> 11
        for operation, threshold in replies.items():
            found[1, operation] = threshold >> 11
        self.settings[c.LOSES_REQUESTS] = found[0].any()
        return found

    def _plans(self, scenario: Scenario, replication: int) -> tuple[Any, Any]:
        parts, run = self.workload.flat, np.uint64(draws.run_key(scenario.seed, replication))
        instants, rows = self._arrivals(scenario, run)
        plans = np.full((len(instants), c.PLAN_COLUMNS), -1, dtype=np.int64)
        plans[:, c.ARRIVAL] = instants
        trace = parts.trace
        if trace is not None and rows is not None:
            for column, values in (
                (c.REQUESTER, trace.requester), (c.DURATION, trace.duration_ns),
                (c.CLASS, trace.work),
            ):  # fmt: skip
                if values is not None:
                    plans[:, column] = values[rows]
        bands = np.zeros((2, max(len(parts.populations), len(parts.classes), 1)), dtype=np.int64)
        for row, thresholds in zip(bands, (parts.populations, parts.classes), strict=True):
            row[: len(thresholds)] = [threshold >> 11 for threshold in thresholds]
        keys = np.zeros(len(plans), dtype=np.uint64)
        draw_plans(run, self.laws, bands, self.populations, self.classes, plans, keys)
        return plans, keys

    def _arrivals(self, scenario: Scenario, run: np.uint64) -> tuple[Any, Any]:
        """Instants of all arrivals, and their rows of the trace."""
        if not isinstance(scenario.arrivals, Poisson):
            found = list(self.workload.arrivals())
            instants = np.array([at for at, _ in found], dtype=np.int64)
            return instants, np.array([row for _, row in found], dtype=np.int64)
        limit, end_at = scenario.tasks, self.workload.end_at
        law = self.workload.flat.gap_law
        chunks, drawn, at = [], 0, 0
        while (limit is None or drawn < limit) and (end_at is None or at < end_at):
            size = CHUNK if limit is None else min(CHUNK, limit - drawn)
            chunk = np.zeros(size, dtype=np.int64)
            poisson_instants(run, self.laws, law, drawn, at, chunk)
            chunks.append(chunk)
            drawn, at = drawn + size, int(chunk[-1])
        instants = np.concatenate(chunks) if chunks else np.zeros(0, dtype=np.int64)
        return instants if end_at is None else instants[instants < end_at], None
