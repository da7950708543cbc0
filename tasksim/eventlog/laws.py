"""Laws: properties that every log has, simulated or measured.

Rule 1: a law is one small function that finds the tasks that break it; absence (-1) breaks none.
Rule 2: a law that cannot fail is no law: each has a test with a log that breaks it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tasksim.eventlog.log import SORT_KEY, EventLog
from tasksim.eventlog.recorder import fold
from tasksim.eventlog.schema import NEVER, Column
from tasksim.eventlog.tasks import TaskTable
from tasksim.protocol.occurrences import Kind, Operation, Reason
from tasksim.protocol.rules import RUNS_FROM
from tasksim.protocol.states import TERMINAL, Status


@dataclass(frozen=True, slots=True)
class Violation:
    """A task that breaks a law; task -1 where the law is about the whole log."""

    law: str
    task: int

    def __str__(self) -> str:
        return self.law if self.task == NEVER else f"{self.law} (task {self.task})"


def told(violations: Sequence[Violation]) -> tuple[str, ...]:
    """One line a law that is broken: how often, and by which tasks first."""
    by_law: dict[str, list[int]] = {}
    for violation in violations:
        by_law.setdefault(violation.law, []).append(violation.task)
    return tuple(
        f"{law}: broken {len(tasks):,} times, first by {', '.join(map(str, tasks[:5]))}"
        for law, tasks in by_law.items()
    )


TaskLaw = Callable[[TaskTable], Column]  # the tasks that break it
LogLaw = Callable[[EventLog], Column]

# Instants of a task that come in this order wherever both are there.
ORDERS: Final = (
    ("arrival_at", "sent_at"),
    ("sent_at", "created_at"),
    ("created_at", "started_at"),
    ("started_at", "terminal_at"),
    ("created_at", "terminal_at"),
    ("terminal_at", "expired_at"),
    ("started_at", "input_at"),
    ("started_at", "paused_at"),
    ("paused_at", "continued_at"),
    ("created_at", "deleted_at"),
    ("created_at", "wiped_at"),
    ("terminal_at", "evicted_at"),
    ("terminal_at", "freed_at"),
    ("created_at", "heard_at"),
    ("terminal_at", "detected_at"),
    ("sent_at", "detected_at"),
    ("detected_at", "retrieved_at"),
    ("retrieved_at", "closed_at"),
    ("detected_at", "closed_at"),
    ("sent_at", "closed_at"),
)


# Of them those between what the receiver did and what the requester learned.
BETWEEN_SIDES: Final = frozenset({("created_at", "heard_at"), ("terminal_at", "detected_at")})


def check_tasks(table: TaskTable) -> list[Violation]:
    """Violations of the laws about tasks."""
    found = []
    done_anew = table.task[table.task >= 1 << RUNS_FROM] & (1 << RUNS_FROM) - 1
    for earlier, later in ORDERS:
        first, second = getattr(table, earlier), getattr(table, later)
        broken = table.task[(first != NEVER) & (second != NEVER) & (first > second)]
        if (earlier, later) in BETWEEN_SIDES:
            broken = np.setdiff1d(broken, done_anew)  # the requester knows of another run of it
        found += [Violation(f"{earlier} <= {later}", int(task)) for task in broken]
    for name, law in TASK_LAWS.items():
        found += [Violation(name, int(task)) for task in law(table)]
    return found


def check_log(log: EventLog) -> list[Violation]:
    """Violations of the laws about events, and of those about the tasks that they tell of."""
    found = [
        Violation(name, int(task)) for name, law in LOG_LAWS.items() for task in np.unique(law(log))
    ]
    table, _ = fold(log)
    return found + check_tasks(table)


# Laws about tasks.


def _of(table: TaskTable, broken: Column) -> Column:
    """Numbers of the tasks that a boolean array chooses."""
    return np.asarray(table.task[broken])


def _status_without_end(table: TaskTable) -> Column:
    return _of(table, (table.status != NEVER) != (table.terminal_at != NEVER))


def _outcome_without_close(table: TaskTable) -> Column:
    return _of(table, (table.outcome != NEVER) != (table.closed_at != NEVER))


def _retrieved_without_result(table: TaskTable) -> Column:
    is_retrieved = (table.outcome == Reason.RETRIEVED) != (table.retrieved_at != NEVER)
    is_not_completed = (table.retrieved_at != NEVER) & (
        (table.status != Status.COMPLETED) & (table.status != NEVER)
    )
    is_over = table.closed_at != NEVER
    reruns = table.task[table.task >= 1 << RUNS_FROM] & (1 << RUNS_FROM) - 1
    is_done_anew = np.isin(table.task, reruns)  # the result may be that of another run
    return _of(table, ((is_retrieved & is_over) | is_not_completed) & ~is_done_anew)


def _polls_do_not_add_up(table: TaskTable) -> Column:
    arrivals = table.polls_sent + table.polls_doubled
    is_answered_more = table.polls_answered > arrivals
    is_wasted_more = table.polls_wasted > table.polls_answered
    is_seen_sending = table.polls_sent > 0  # else the log is the receiver's alone
    is_received_more = is_seen_sending & (table.polls_received > arrivals)
    return _of(table, is_answered_more | is_wasted_more | is_received_more)


def _expiry_before_retention(table: TaskTable) -> Column:
    is_expired = table.expired_at != NEVER
    is_early = table.expired_at < table.created_at + table.keep_alive_ns
    is_unlimited = table.keep_alive_ns == NEVER
    return _of(table, is_expired & (is_early | is_unlimited))


def _worked_longer_than_it_took(table: TaskTable) -> Column:
    """No task has more of a worker than the time from its start to its end."""
    ends = np.maximum.reduce(
        [
            table.terminal_at,
            table.freed_at,
            table.deleted_at,
            table.wiped_at,
            table.paused_at,
            table.expired_at,
        ]
    )
    is_over = (table.started_at != NEVER) & (ends != NEVER)
    return _of(table, (is_over & (table.worked_ns > ends - table.started_at)) | (
        (table.started_at == NEVER) & (table.worked_ns > 0)))  # fmt: skip


def _two_ends(table: TaskTable) -> Column:
    """A task is forgotten in one way only."""
    ways = [table.expired_at, table.deleted_at, table.wiped_at, table.evicted_at]
    return _of(table, sum((way != NEVER).astype(int) for way in ways) > 1)


def _lost_and_heard(table: TaskTable) -> Column:
    is_heard = (table.created_lost == 1) & (table.heard_at != NEVER)
    return _of(table, is_heard & (table.creations == 1))


def _littles_law(table: TaskTable) -> Column:
    """Sum of sojourns against the integral of the number in system, computed from its steps."""
    is_over = (table.created_at != NEVER) & (table.terminal_at != NEVER)
    created, terminal = table.created_at[is_over], table.terminal_at[is_over]
    if not len(created):
        return np.array([], dtype=np.int64)
    instants = np.concatenate([created, terminal])
    steps = np.concatenate([np.ones_like(created), -np.ones_like(terminal)])
    order = np.lexsort([-steps, instants])
    number = np.cumsum(steps[order])
    integral = int(np.sum(number[:-1] * np.diff(instants[order])))
    is_kept = integral == int(np.sum(terminal - created)) and number.min() >= 0
    return np.array([] if is_kept else [NEVER], dtype=np.int64)


TASK_LAWS: Final[dict[str, TaskLaw]] = {
    "a terminal status comes with its instant": _status_without_end,
    "an outcome comes with its instant": _outcome_without_close,
    "a result is retrieved once, of a completed task": _retrieved_without_result,
    "polls wasted <= answered <= sent, received <= sent": _polls_do_not_add_up,
    "a worker is at a task between its start and its end": _worked_longer_than_it_took,
    "a task is forgotten once": _two_ends,
    "no expiry before the granted retention has passed": _expiry_before_retention,
    "a lost notification is not heard": _lost_and_heard,
    "the sojourns sum to the integral of the number in system": _littles_law,
}


# Laws about events.


def _out_of_order(log: EventLog) -> Column:
    columns = log.columns()
    order = np.lexsort([columns[name] for name in reversed(SORT_KEY)])
    is_sorted = bool((order == np.arange(len(log))).all())
    return np.array([] if is_sorted else [NEVER], dtype=np.int64)


def _repeated(log: EventLog) -> Column:
    """Tasks with a second row of a kind that happens once."""
    once = (Kind.ARRIVED, Kind.CREATED, Kind.STARTED, Kind.FINISHED, Kind.EXPIRED, Kind.DETECTED,
            Kind.RETRIEVED, Kind.CLOSED, Kind.DELETED, Kind.WIPED, Kind.EVICTED)  # fmt: skip
    found = []
    for kind in once:
        tasks, counts = np.unique(log.task[log.kind == kind], return_counts=True)
        found.append(tasks[counts > 1])
    return np.concatenate(found)


def _before_its_cause(log: EventLog, effect: Kind, cause: Kind) -> Column:
    """Tasks with a row of *effect* that no row of *cause* of the same exchange comes before.

    What a receiver does a second time is on record under another number than the requester's.
    A log that has no such rows at all was kept by a side that cannot see them.
    """
    if not (log.kind == cause).any():
        return np.array([], dtype=np.int64)
    causes = _first_instants(log, cause)
    skipped = _done_anew(log)
    broken = []
    answered = (Operation.GET, Operation.RESULT, Operation.DELETE, Operation.INPUT)
    chosen = (log.kind == effect) & np.isin(log.operation, answered)
    for at, task, operation, ordinal in _exchanges(log, chosen):
        caused_at = causes.get((task, operation, ordinal))
        if task not in skipped and (caused_at is None or caused_at > at):
            broken.append(task)
    return np.array(broken, dtype=np.int64)


def _done_anew(log: EventLog) -> set[int]:
    """Tasks that a receiver did more than once, under all their numbers; and no task."""
    tasks = np.unique(log.task)
    reruns = tasks[tasks >= 1 << RUNS_FROM]
    return {*reruns.tolist(), *(reruns & (1 << RUNS_FROM) - 1).tolist(), NEVER}


def _first_instants(log: EventLog, kind: Kind) -> dict[tuple[int, int, int], int]:
    instants: dict[tuple[int, int, int], int] = {}
    for at, *exchange in _exchanges(log, log.kind == kind):
        instants.setdefault((exchange[0], exchange[1], exchange[2]), at)
    return instants


def _exchanges(log: EventLog, chosen: Column) -> "zip[tuple[int, int, int, int]]":
    columns = (log.at, log.task, log.operation, log.ordinal)
    return zip(*(column[chosen].tolist() for column in columns), strict=True)


def _received_before_sent(log: EventLog) -> Column:
    return _before_its_cause(log, Kind.RECEIVED, Kind.SENT)


def _answered_before_sent(log: EventLog) -> Column:
    return _before_its_cause(log, Kind.ANSWERED, Kind.SENT)


def _answered_before_received(log: EventLog) -> Column:
    return _before_its_cause(log, Kind.ANSWERED, Kind.RECEIVED)


def _instant_of(log: EventLog, kind: Kind) -> dict[int, int]:
    chosen = log.kind == kind
    return dict(zip(log.task[chosen].tolist(), log.at[chosen].tolist(), strict=True))


def _answered_after_expiry(log: EventLog) -> Column:
    """Who forgot a task has no status to tell; forgetting comes first at its instant."""
    expired = {
        **{task: at - 1 for task, at in _instant_of(log, Kind.EXPIRED).items()},
        **_instant_of(log, Kind.DELETED),  # by a request, which may come after others there
        **_instant_of(log, Kind.WIPED),
        **_instant_of(log, Kind.EVICTED),
    }
    is_told = (log.kind == Kind.RECEIVED) & (log.status != NEVER)
    is_about = is_told & np.isin(log.operation, (Operation.GET, Operation.RESULT))
    rows = zip(log.task[is_about].tolist(), log.at[is_about].tolist(), strict=True)
    late = [task for task, at in rows if task in expired and at > expired[task]]
    return np.array(late, dtype=np.int64)


def _expired_too_early(log: EventLog) -> Column:
    """Retention runs from the end, unless the row says that it ran from the creation (1)."""
    granted = _value_of(log, Kind.CREATED)
    finished = _instant_of(log, Kind.FINISHED)
    chosen = (log.kind == Kind.EXPIRED) & (log.value == 0)
    rows = zip(log.task[chosen].tolist(), log.at[chosen].tolist(), strict=True)
    early = [
        task
        for task, at in rows
        if task in granted and at < finished.get(task, at) + max(granted[task], 0)
    ]
    return np.array(early, dtype=np.int64)


def _value_of(log: EventLog, kind: Kind) -> dict[int, int]:
    chosen = log.kind == kind
    return dict(zip(log.task[chosen].tolist(), log.value[chosen].tolist(), strict=True))


def _released_without_hold(log: EventLog) -> Column:
    """A held request is let go once."""
    held: dict[tuple[int, int], int] = {}
    for kind, step in ((Kind.HELD, 1), (Kind.RELEASED, -1)):
        chosen = log.kind == kind
        rows = zip(log.task[chosen].tolist(), log.operation[chosen].tolist(), strict=True)
        for exchange in rows:
            held[exchange] = held.get(exchange, 0) + step
    return np.array([task for (task, _), left in held.items() if left < 0], dtype=np.int64)


def _pushed_before_the_end(log: EventLog) -> Column:
    """What is told unasked has happened."""
    finished = _instant_of(log, Kind.FINISHED)
    chosen = (log.kind == Kind.PUSHED) & np.isin(log.status, list(TERMINAL))
    rows = zip(log.task[chosen].tolist(), log.at[chosen].tolist(), strict=True)
    skipped = _done_anew(log)
    early = [t for t, at in rows if t not in skipped and finished and finished.get(t, at + 1) > at]
    return np.array(early, dtype=np.int64)


def _seen_before_it_was_there(log: EventLog) -> Column:
    """Nobody knows of more intermediate results than there are."""
    chosen = (log.kind == Kind.MILESTONE) | (log.kind == Kind.SEEN)
    reached: dict[int, int] = {}
    skipped, early = _done_anew(log), []
    columns = (log.kind[chosen].tolist(), log.task[chosen].tolist(), log.value[chosen].tolist())
    for kind, task, value in zip(*columns, strict=True):
        if kind == Kind.MILESTONE:
            reached[task] = max(reached.get(task, 0), value)
        elif reached and task not in skipped and value > reached.get(task, 0):
            early.append(task)
    return np.array(early, dtype=np.int64)


def _end_told_too_early(log: EventLog) -> Column:
    """Neither a get nor a result says that a task has ended before it has."""
    finished = _instant_of(log, Kind.FINISHED)
    is_given = (
        (log.kind == Kind.RECEIVED)
        & np.isin(log.operation, (Operation.GET, Operation.RESULT))
        & np.isin(log.status, list(TERMINAL))
    )
    rows = zip(log.task[is_given].tolist(), log.at[is_given].tolist(), strict=True)
    early = [task for task, at in rows if finished.get(task, at + 1) > at]
    return np.array(early, dtype=np.int64)


def _prompted_without_question(log: EventLog) -> Column:
    is_asked = log.kind == Kind.INPUT_ASKED
    tasks, first = np.unique(log.task[is_asked], return_index=True)
    asked = dict(zip(tasks.tolist(), log.at[is_asked][first].tolist(), strict=True))
    if not asked:
        return np.array([], dtype=np.int64)
    chosen = log.kind == Kind.PROMPTED
    rows = zip(log.task[chosen].tolist(), log.at[chosen].tolist(), strict=True)
    skipped = _done_anew(log)
    early = [task for task, at in rows if task not in skipped and asked.get(task, at) >= at]
    return np.array(early, dtype=np.int64)


LOG_LAWS: Final[dict[str, LogLaw]] = {
    "rows are in order": _out_of_order,
    "a task is created, started, finished, detected and closed once": _repeated,
    "no request is received before it is sent": _received_before_sent,
    "no request is answered before it is sent": _answered_before_sent,
    "no request is answered before it is received": _answered_before_received,
    "no status of a task is told after it was forgotten": _answered_after_expiry,
    "no end is told before it has come": _end_told_too_early,
    "no request for input arrives before it is sent": _prompted_without_question,
    "retention runs from the end, or says so": _expired_too_early,
    "a held request is let go once": _released_without_hold,
    "what is told unasked has happened": _pushed_before_the_end,
    "no intermediate result is known before it is there": _seen_before_it_was_there,
}
