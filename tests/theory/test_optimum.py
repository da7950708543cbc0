"""Optimal schedules: exact, within their limits, and never worse than a policy of the library."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.theory import InvalidModelError, inspection, laws, optimum
from tasksim.theory.inspection import Costs
from tasksim.theory.laws import Law
from tasksim.theory.optimum import best_policy, budgeted_schedule, judged, optimal_schedule
from tasksim.theory.programme import Limits, brute_force_cost, cheapest_path
from tests.theory.registry import BIMODAL, TIGHT

RNG = np.random.default_rng(11)
WORKS = {
    "exponential": laws.exponential(10),
    "uniform": laws.uniform(0, 20),
    "weibull-2": laws.weibull(2, 10),
    "weibull-half": laws.weibull(0.5, 10),
    "lognormal": laws.lognormal(10, 1),
    "near-certain": laws.lognormal(10, 0.05),
    "bimodal": BIMODAL,
    "tight": TIGHT,
    "constant": laws.constant(7.3),
    "lattice": laws.empirical([1, 1, 2, 2, 2, 5, 9, 9, 30]),
    "sample": laws.empirical(RNG.lognormal(2, 1, 400)),
    "heavy": laws.lomax(1.5, 10),
}


def cost_of_gaps(work: Law, gaps: np.ndarray, costs: Costs) -> float:
    """Cost of polling by gaps: written out here, not taken from the code under test."""
    at = np.cumsum(gaps) - gaps
    return float(((costs.poll + costs.delay_per_s * gaps) * work.survival(at)).sum()) - (
        costs.delay_per_s * work.mean_s
    )


def rivals(work: Law, ratio_s: float) -> Iterator[np.ndarray]:
    """Gaps of fixed, backed-off and quadratic polling, to well beyond the end of the work."""
    end_s = work.end_s(1e-13)
    unit = math.sqrt(2 * ratio_s * work.mean_s)
    for interval in unit * np.geomspace(0.2, 20, 80):
        yield np.full(math.ceil(end_s / interval) + 1, interval)
    for base, factor, reach in itertools.product((0.1, 0.5, 1.0), (1.1, 1.5, 2.0), (4.0, 1e9)):
        rising = unit * base * factor ** np.arange(math.log(min(reach, 1e9)) / math.log(factor) + 1)
        cap = unit * base * reach
        rest = np.full(math.ceil(end_s / cap) + 1, cap)
        yield np.concatenate((np.minimum(rising, cap), rest))
    for scale in ratio_s * np.geomspace(0.1, 10, 30):
        yield scale * (2 * np.arange(math.ceil(math.sqrt(end_s / scale)) + 1) + 1)


@pytest.mark.parametrize("ratio_s", [0.1, 2.0])
@pytest.mark.parametrize("name", [name for name in WORKS if name != "heavy"])
def test_nothing_of_the_library_is_better(name: str, ratio_s: float) -> None:
    work, costs = WORKS[name], Costs(poll=ratio_s)
    best = optimal_schedule(work, costs, grid=8_000)
    cheapest = min(cost_of_gaps(work, gaps, costs) for gaps in rivals(work, ratio_s))
    assert best.cost <= cheapest + 1e-9 * work.mean_s
    assert best.cost <= best_policy(work, costs).cost + 1e-12
    gaps = np.diff(np.concatenate(([0.0], best.instants_s)))
    assert best.cost == pytest.approx(cost_of_gaps(work, gaps, costs), rel=1e-6)


@pytest.mark.parametrize("grid", [100, 150, 300])
@pytest.mark.parametrize("name", ["tight", "near-certain", "exponential"])
def test_a_coarse_grid_is_no_excuse(name: str, grid: int) -> None:
    """A coarse grid once made the optimum nine times worse than fixed polling."""
    work, costs = WORKS[name], Costs(poll=0.05)
    best = optimal_schedule(work, costs, grid=grid)
    assert best.cost <= best_policy(work, costs).cost
    assert best.cost <= 1.3 * optimal_schedule(work, costs).cost


def test_where_the_given_instants_are_poor_the_policy_is_returned() -> None:
    work, costs = laws.exponential(10), Costs(poll=0.1)
    end_s = work.end_s(optimum.TAIL)
    best = optimal_schedule(work, costs, instants_s=np.asarray([100.0, end_s]))
    assert best.origin != "programme"
    assert best.cost == best_policy(work, costs).cost


def test_a_heavy_tail_is_cut_at_the_horizon_for_all_alike() -> None:
    best = optimal_schedule(WORKS["heavy"], Costs(poll=1.0), grid=4_000)
    assert best.instants_s[-1] == pytest.approx(optimum.HORIZON_MEANS * 10)
    assert best.origin == "programme"


@st.composite
def small_cases(draw: st.DrawFn) -> tuple[list[int], int, Limits]:
    atoms = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    least = draw(st.integers(0, 4))
    most = draw(st.one_of(st.just(math.inf), st.integers(max(1, least), 9)))
    poll = draw(st.integers(1, 8))
    return atoms, poll, Limits(gap_min_s=least, gap_max_s=most)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(small_cases())
def test_the_programme_is_exact_on_empirical_laws(case: tuple[list[int], int, Limits]) -> None:
    """Against every schedule on a lattice: whole atoms and gaps make an optimum a whole one."""
    atoms, poll, limits = case
    work = laws.empirical(atoms)
    lattice = np.arange(0.0, max(atoms) + limits.gap_min_s + 1)
    expected = brute_force_cost(lattice, work.survival(lattice), poll / 4, 1.0, limits)
    assert math.isfinite(expected)
    best = optimal_schedule(work, Costs(poll=poll / 4), limits=limits)
    assert best.cost == pytest.approx(expected - work.mean_s, abs=1e-9)
    gaps = np.diff(np.concatenate(([0.0], best.instants_s)))
    assert gaps.min() >= limits.gap_min_s - 1e-9
    assert gaps.max() <= limits.gap_max_s + 1e-9


@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(gap_min_s=1.5),
        Limits(gap_max_s=6.0),
        Limits(gap_min_s=1.5, gap_max_s=6.0),
    ],
    ids=["free", "least", "greatest", "both"],
)
@pytest.mark.parametrize("seed", range(4))
def test_lines_and_tree_find_what_brute_force_finds(limits: Limits, seed: int) -> None:
    rng = np.random.default_rng(seed)
    atoms = np.sort(rng.lognormal(2, 1, 400))
    instants = np.unique(np.concatenate(([0.0], atoms, np.arange(0.5, atoms[-1] + 2, 0.5))))
    alive = laws.empirical(atoms).survival(instants)
    path = cheapest_path(instants, alive, 0.5, 1.0, limits)
    assert path is not None
    edges = np.concatenate(([0], path))
    found = ((0.5 + np.diff(instants[edges])) * alive[edges[:-1]]).sum()
    expected = brute_force_cost(instants, alive, 0.5, 1.0, limits)
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_hull_equals_brute_force_on_1500_samples() -> None:
    """Oracle 3.29 on a sample that is recorded here: its own was not."""
    atoms = np.sort(np.random.default_rng(29).lognormal(2, 0.83, 1500))
    instants = np.concatenate(([0.0], atoms))
    alive = laws.empirical(atoms).survival(instants)
    path = cheapest_path(instants, alive, 0.5, 1.0, Limits())
    assert path is not None
    edges = np.concatenate(([0], path))
    found = ((0.5 + np.diff(instants[edges])) * alive[edges[:-1]]).sum()
    expected = brute_force_cost(instants, alive, 0.5, 1.0, Limits())
    assert found == pytest.approx(expected, abs=1e-9)


def test_limits_hold_for_continuous_work_too_and_cost_something() -> None:
    work, costs = laws.lognormal(10, 1), Costs(poll=0.5)
    free = optimal_schedule(work, costs)
    for limits in (Limits(gap_min_s=4.0), Limits(gap_max_s=2.0), Limits(gap_min_s=2, gap_max_s=3)):
        bound = optimal_schedule(work, costs, limits=limits, grid=4_000)
        gaps = np.diff(np.concatenate(([0.0], bound.instants_s)))
        assert gaps.min() >= limits.gap_min_s - 1e-4
        assert gaps.max() <= limits.gap_max_s + 1e-4
        assert bound.cost > free.cost


def test_the_programme_finds_the_closed_forms() -> None:
    costs = Costs(poll=2.0)
    found = optimal_schedule(laws.uniform(0, 100), costs)
    closed = inspection.uniform_optimal_instants_s(100, costs)
    assert found.instants_s == pytest.approx(closed, abs=0.01)
    weibull = laws.weibull(2, 443.1135)
    recursion = inspection.recursion_instants_s(weibull, Costs(poll=10.0))
    programme = optimal_schedule(weibull, Costs(poll=10.0))
    assert programme.instants_s[:8] == pytest.approx(recursion[:8], abs=0.05)
    gaps = np.diff(optimal_schedule(laws.exponential(10), Costs(poll=0.5)).instants_s[:8])
    expected = inspection.exponential_optimal_interval_s(10, Costs(poll=0.5))
    assert gaps == pytest.approx(np.full(7, expected), abs=0.01)


@pytest.mark.parametrize("name", ["exponential", "lognormal", "bimodal", "sample", "lattice"])
@pytest.mark.parametrize("budget", [1.5, 4.0])
def test_a_budget_is_kept_and_used_better_than_by_fixed_polling(name: str, budget: float) -> None:
    work = WORKS[name]
    best = budgeted_schedule(work, budget, grid=3_000)
    assert best.polls <= budget + 1e-9
    assert 0 <= best.often_share <= 1
    mixed = (1 - best.often_share) * best.seldom.polls + best.often_share * best.often.polls
    assert best.polls == pytest.approx(mixed)
    rival = optimum.fixed_within_budget(work, budget, Limits())
    assert rival is None or best.delay_s <= rival.delay_s


def test_a_budget_above_all_needs_ends_at_no_delay() -> None:
    work = laws.empirical([1, 2, 5])
    best = budgeted_schedule(work, 50.0)
    assert best.delay_s == pytest.approx(0.0, abs=1e-9)
    assert best.polls <= 50


def test_exponential_work_within_a_budget_is_polled_evenly() -> None:
    best = budgeted_schedule(laws.exponential(10), 3.0, grid=4_000)
    assert best.delay_s == pytest.approx(2.1640, abs=2e-3)  # -P + ..., E N = 3


def test_a_budgeted_lagrangian_optimum_is_at_most_a_grids_error_from_its_neighbours() -> None:
    """Delay falls, ever more slowly, with the budget: the hull is convex."""
    delays = [budgeted_schedule(BIMODAL, n, grid=2_000).delay_s for n in (2, 3, 4, 5)]
    assert delays == sorted(delays, reverse=True)
    assert (np.diff(delays, 2) >= -1e-3).all()


def test_what_cannot_be_is_refused_with_a_reason() -> None:
    work = laws.exponential(10)
    with pytest.raises(InvalidModelError, match="gaps from 3 to 2"):
        Limits(gap_min_s=3, gap_max_s=2)
    with pytest.raises(InvalidModelError, match="at least one poll"):
        budgeted_schedule(work, 0.5)
    with pytest.raises(InvalidModelError, match="outlives the last instant"):
        optimal_schedule(work, Costs(poll=1.0), instants_s=np.asarray([1.0, 2.0]))
    with pytest.raises(InvalidModelError, match="no schedule on these instants"):
        optimal_schedule(
            laws.empirical([5.0, 20.0]),
            Costs(poll=1.0),
            limits=Limits(gap_max_s=2.0),
            instants_s=np.asarray([5.0, 20.0]),
        )
    with pytest.raises(InvalidModelError, match="hand some in"):
        optimal_schedule(
            laws.empirical(np.linspace(1, 1000, 2000)),
            Costs(poll=1.0),
            limits=Limits(gap_min_s=0.01),
        )
    with pytest.raises(InvalidModelError, match="needs"):
        budgeted_schedule(work, 1.2, limits=Limits(gap_max_s=5.0), grid=500)
    with pytest.raises(InvalidModelError, match="must rise"):
        judged(work, np.asarray([2.0, 1.0]), Costs(poll=1.0), "x")
    with pytest.raises(InvalidModelError, match="poll must be positive"):
        Costs(poll=0.0)
