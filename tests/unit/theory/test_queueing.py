"""Queues, limits, retrials, sharing, the journey of a task: identities and refusals."""

import math

import numpy as np
import pytest
from scipy import integrate

from tasksim.theory import (
    InvalidModelError,
    journey,
    laws,
    limits,
    polling,
    queueing,
    retention,
    retrial,
    sharing,
)
from tasksim.theory.queueing import ConstantWork, Station

STATION = Station(workers=3, arrival_rate_per_s=0.5, work_mean_s=4.0)


def test_erlangs_formulas_where_they_are_known() -> None:
    assert queueing.erlang_b(0, 5.0) == 1.0
    assert queueing.erlang_b(1, 2.0) == pytest.approx(2 / 3)
    assert queueing.erlang_c(1, 0.7) == pytest.approx(0.7)
    assert queueing.erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert queueing.erlang_b(5000, 4500.0) < 1e-9


def test_loads_and_blocking_invert_each_other() -> None:
    load = queueing.load_for_blocking(40, 0.03)
    assert queueing.erlang_b(40, load) == pytest.approx(0.03)
    assert queueing.retried_blocking(40, 30.0, 0.0) == pytest.approx(queueing.erlang_b(40, 30.0))
    assert queueing.retried_blocking(40, 30.0, 0.5) > queueing.erlang_b(40, 30.0)


@pytest.mark.parametrize(
    "station",
    [STATION, Station(workers=2, arrival_rate_per_s=1.0, work_mean_s=1.0)],
    ids=["apart", "equal rates"],
)
def test_a_sojourn_is_work_and_waiting(station: Station) -> None:
    law = station.sojourn()
    assert law.mean_s == pytest.approx(station.work_mean_s + station.waiting_mean_s())
    assert float(law.survival(0.0)) == pytest.approx(1.0)
    area = integrate.quad(lambda t: float(law.survival(t)), 0, 400, limit=300)[0]
    assert area == pytest.approx(law.mean_s)
    second = 2 * integrate.quad(lambda t: t * float(law.survival(t)), 0, 400, limit=300)[0]
    assert law.variance_s2 == pytest.approx(second - law.mean_s**2)
    slope = (law.survival(1.0) - law.survival(1.0001)) / 0.0001
    assert float(laws.density_of(law)(1.0)) == pytest.approx(float(slope), rel=1e-3)
    levels = np.asarray([0.9, 0.5, 1e-3])
    assert law.survival(law.upper(levels)) == pytest.approx(levels)
    assert law.lower(0.5) == pytest.approx(law.upper(0.5))


def test_waiting_falls_off_from_the_chance_to_wait() -> None:
    assert STATION.waiting_tail(0.0) == pytest.approx(queueing.erlang_c(3, 2.0))
    area = integrate.quad(STATION.waiting_tail, 0, math.inf)[0]
    assert area == pytest.approx(STATION.waiting_mean_s())


@pytest.mark.parametrize("late_share", [0.5, 0.05, 1e-4])
def test_the_least_workers_are_enough_and_one_fewer_is_not(late_share: float) -> None:
    workers = queueing.workers_for_waiting(20.0, 3.0, 1.0, late_share)
    enough = Station(workers=workers, arrival_rate_per_s=20.0, work_mean_s=3.0)
    assert enough.waiting_tail(1.0) <= late_share
    if workers - 1 > 60:
        fewer = Station(workers=workers - 1, arrival_rate_per_s=20.0, work_mean_s=3.0)
        assert fewer.waiting_tail(1.0) > late_share


def test_a_bounded_queue_lies_between_loss_and_no_bound() -> None:
    none = queueing.bounded_queue(3, 3, 0.5, 4.0)
    assert none.refused_share == pytest.approx(queueing.erlang_b(3, 2.0))
    assert none.waiting_mean_s == 0.0
    long = queueing.bounded_queue(3, 300, 0.5, 4.0)
    assert long.waiting_mean_s == pytest.approx(STATION.waiting_mean_s())
    assert long.waiting_tasks == pytest.approx(0.5 * STATION.waiting_mean_s())


@pytest.mark.parametrize("load", [0.3, 0.9])
def test_constant_work_on_one_worker_is_pollaczek_and_khinchines(load: float) -> None:
    single = ConstantWork(workers=1, arrival_rate_per_s=load / 2, work_s=2.0)
    expected = queueing.single_worker_waiting_mean_s(load / 2, laws.constant(2.0))
    assert single.waiting_mean_s() == pytest.approx(expected)
    assert single.waiting_distribution(0.0) == pytest.approx(1 - load)


def test_the_law_of_waiting_behind_constant_work_has_its_mean() -> None:
    several = ConstantWork(workers=3, arrival_rate_per_s=2.4, work_s=1.0)
    edges = np.linspace(0, 12, 601)
    late = [1 - several.waiting_distribution(float(x)) for x in (edges[1:] + edges[:-1]) / 2]
    assert float(np.sum(late) * 0.02) == pytest.approx(several.waiting_mean_s(), rel=1e-3)


def test_exponential_work_makes_approximations_exact() -> None:
    work = laws.exponential(4.0)
    approximate = queueing.allen_cunneen_waiting_mean_s(3, 0.5, work)
    assert approximate == pytest.approx(STATION.waiting_mean_s())
    assert queueing.single_worker_waiting_mean_s(0.2, work) == pytest.approx(
        Station(workers=1, arrival_rate_per_s=0.2, work_mean_s=4.0).waiting_mean_s()
    )


def test_finite_populations() -> None:
    assert queueing.engset_blocking(5, 5, 0.6) == 0.0
    assert queueing.engset_blocking(100_000, 10, 7.0 / 100_000) == pytest.approx(
        queueing.erlang_b(10, 7.0), rel=1e-3
    )
    assert queueing.closed_sojourn_mean_s(4, 4, 0.3, 2.0) == pytest.approx(2.0)
    assert queueing.closed_sojourn_mean_s(9, 4, 0.3, 2.0) > 2.0


def test_caps_that_never_bind_leave_erlangs_formulas() -> None:
    assert limits.capped_blocking(4, 10, 10, 1.5) == pytest.approx(queueing.erlang_b(10, 6.0))
    assert limits.capped_blocking(1, 3, 9, 1.5) == pytest.approx(queueing.erlang_b(3, 1.5))
    refused, sojourn_s = limits.capped_queue(2, 60, 3, 0.25, 4.0)
    assert refused == pytest.approx(0, abs=1e-9)
    assert sojourn_s == pytest.approx(STATION.sojourn().mean_s)


def test_the_chain_of_retrials_is_exact_for_one_and_two_workers() -> None:
    one = retrial.retrial(1, 0.7, 1.0, 0.5, levels=300)
    closed = retrial.one_worker_retrial(0.7, 1.0, 0.5)
    assert one.busy_share == pytest.approx(closed.busy_share)
    assert one.orbit == pytest.approx(closed.orbit)
    two = retrial.retrial(2, 1.5, 1.0, 0.5)
    assert two.orbit == pytest.approx(retrial.two_worker_retrial(1.5, 1.0, 0.5).orbit)


def test_impatient_retries_come_near_to_a_queue() -> None:
    eager = retrial.retrial(2, 1.2, 1.0, 500.0, levels=200)
    assert eager.busy_share == pytest.approx(queueing.erlang_c(2, 1.2), rel=5e-3)


def test_polls_that_cost_nothing_slow_nobody() -> None:
    assert sharing.slowed_tasks_mean(0.5, 1.0, 4.0, 0.0, 200) == pytest.approx(1.0)
    assert sharing.polled_tasks_mean(0.5, 1.0, 1e6, 0.25, 40) == pytest.approx(1.0, rel=1e-3)
    slow = sharing.polled_tasks_mean(0.5, 1.0, 10.0, 1.0, 40)
    assert slow > sharing.polled_tasks_mean(0.5, 1.0, 10.0, 0.25, 40) > 1.0


def test_budgets_are_spent_and_alike_elements_are_treated_alike() -> None:
    shared = sharing.square_root_intervals([5.0, 5.0], [1.0, 2.0], 10.0)
    assert shared.intervals_s[0] == pytest.approx(shared.intervals_s[1])
    assert shared.delay_ratio == pytest.approx(1.0)
    assert shared.poll_rate_per_s == pytest.approx(10.0)
    for rates in (
        sharing.freshest_poll_rates_per_s([1, 2, 3, 90], 5),
        sharing.youngest_poll_rates_per_s([1, 2, 3, 90], 5),
        sharing.freshest_poll_rates_per_s([2, 2], 5),
    ):
        assert rates.sum() == pytest.approx(5)
    assert sharing.freshest_poll_rates_per_s([1, 2, 3, 90], 5)[-1] == 0.0


def test_urgent_work_overtakes_and_the_load_decides() -> None:
    urgent, patient = laws.constant(0.05), laws.exponential(1.0)
    first, second = queueing.priority_waiting_mean_s(4.0, urgent, 0.5, patient)
    assert first < second
    both = 0.2 * first + 0.5 * second  # the conservation law of waiting work
    residual_s = (4.0 * 0.05**2 + 0.5 * 2.0) / 2
    assert both == pytest.approx(0.7 * residual_s / 0.3)


PLAIN = journey.Journey(station=STATION, interval_s=3.0, retention_s=8.0, fallback_s=5.0)


def test_a_journey_without_network_and_drops_is_random_phase_polling() -> None:
    sojourn = STATION.sojourn()
    assert PLAIN.polls_mean() == pytest.approx(polling.random_phase_polls_mean(sojourn.mean_s, 3.0))
    assert PLAIN.detection_delay_mean_s() == pytest.approx(1.5)
    assert PLAIN.lost_share() == pytest.approx(0.0, abs=1e-12)
    assert PLAIN.poll_rate_per_s() == pytest.approx(
        queueing.poll_rate_per_s(0.5, sojourn.mean_s, 3.0)
    )
    short = journey.Journey(station=STATION, interval_s=3.0, retention_s=2.0, fallback_s=5.0)
    assert short.lost_share() == pytest.approx(retention.fixed_lost_share(2.0, 3.0))


def test_dropped_notices_delay_and_lose() -> None:
    late = journey.Journey(
        station=STATION,
        interval_s=3.0,
        retention_s=4.0,
        fallback_s=30.0,
        dropped_share=0.5,
    )
    assert late.lost_share() > 0.3
    assert late.detection_delay_mean_s() > PLAIN.detection_delay_mean_s()
    assert late.polls_mean() < PLAIN.polls_mean()


def test_a_cycle_for_a_quantile_meets_it() -> None:
    cycle = journey.cycle_for_delay_s(4.0, 0.95, one_way_s=0.1, failure_share=0.1)
    found = polling.random_phase_delay_quantile_s(cycle, 0.95, one_way_s=0.1, failure_share=0.1)
    assert found == pytest.approx(4.0)


REFUSED = [
    (lambda: queueing.erlang_b(-1, 1.0), "workers must be a whole number from 0"),
    (lambda: queueing.erlang_b(True, 1.0), "workers must be a whole number"),
    (lambda: queueing.erlang_c(2, 2.0), "no steady state"),
    (lambda: Station(workers=1, arrival_rate_per_s=2, work_mean_s=1), "no steady state"),
    (lambda: queueing.workers_for_waiting(1e9, 1.0, 0.0, 1e-9), "more than 1000000 workers"),
    (lambda: queueing.bounded_queue(3, 2, 1, 1), "places must be a whole number from 3"),
    (lambda: queueing.birth_death([1.0], []), "as many births"),
    (lambda: queueing.birth_death([1.0], [0.0]), "rates of death"),
    (lambda: queueing.birth_death([0.0], [1.0]), "rates of birth"),
    (
        lambda: ConstantWork(workers=1, arrival_rate_per_s=0.9999, work_s=1.0).states(),
        "needs over 2048 states",
    ),
    (lambda: queueing.single_worker_waiting_mean_s(0.2, laws.exponential(5)), "no steady state"),
    (lambda: queueing.single_worker_waiting_mean_s(0.1, laws.lomax(1.5, 5)), "finite variance"),
    (
        lambda: queueing.priority_waiting_mean_s(4, laws.constant(0.2), 0.5, laws.constant(1)),
        "no steady state",
    ),
    (lambda: retrial.one_worker_retrial(1.0, 1.0, 1.0), "no steady state"),
    (lambda: retrial.retrial(2, 1.9, 1.0, 0.1, levels=20), "too few"),
    (lambda: sharing.slowed_tasks_mean(0.5, 1, 1, 0.5, 2), "take the whole receiver"),
    (lambda: sharing.square_root_intervals([1.0], [2.0], 2.0), "no more than one poll"),
    (lambda: sharing.square_root_intervals([1.0], [], 2.0), "as many means"),
    (lambda: sharing.least_stable_cycle_s(1.0, 0.1), "load must lie"),
    (lambda: journey.cycle_for_delay_s(0.1, 0.95, one_way_s=0.1), "gone in the network"),
    (
        lambda: journey.Journey(
            station=STATION, interval_s=1, retention_s=0.1, fallback_s=1, one_way_s=0.1
        ),
        "shorter than a fetch",
    ),
]


@pytest.mark.parametrize(("compute", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_outside_its_model_a_formula_refuses(compute: object, message: str) -> None:
    assert callable(compute)
    with pytest.raises(InvalidModelError, match=message):
        compute()
