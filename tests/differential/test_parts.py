"""Parts of the compiled engine: words, durations, arrays that grow, the same source uncompiled."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tasksim.engines import EngineError, simulate
from tasksim.engines.fast import engine, words
from tasksim.engines.fast.kernel import run_some
from tasksim.engines.fast.supports import supports
from tasksim.eventlog.schema import log_digest
from tasksim.scenario import draws, variates
from tasksim.scenario.distributions import (
    Constant,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Lomax,
    Mixture,
    Uniform,
    Weibull,
)
from tasksim.scenario.loading import load
from tasksim.scenario.quantiles import LawTables

LAWS: list[Law] = [
    Constant(value_s=3),
    Uniform(low_s=1, high_s=2),
    Exponential(mean_s=30),
    Lognormal(mean_s=1, cv=2),
    Gamma(shape=0.5, mean_s=4),
    Weibull(shape=1.5, mean_s=4),
    Lomax(alpha=2.5, scale_s=3),
    Mixture(weights=(1, 2), parts=(Exponential(mean_s=1), Uniform(low_s=1, high_s=2))),
]


def differing(law: Law, count: int) -> int:
    tables = LawTables()
    place = tables.add(law)
    values = np.array(tables.values, dtype=np.int64)
    key = draws.entity_key(draws.run_key(7, 0), 0)
    found = 0
    for ordinal in range(count):
        word = draws.draw_u64(key, 5, ordinal)
        exact = variates.variate_ns(tables.values, place, word)
        found += exact != words.variate_ns(values, place, np.uint64(word))
    for word in (0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1):
        exact = variates.variate_ns(tables.values, place, word)
        found += exact != words.variate_ns(values, place, np.uint64(word))
    return found


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_laws_give_the_same_durations(law: Law) -> None:
    assert differing(law, 20_000) == 0


@pytest.mark.nightly
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_laws_give_the_same_million_durations(law: Law) -> None:
    assert differing(law, 1_000_000) == 0


def test_words_are_those_of_the_draws() -> None:
    run = draws.run_key(3, 2)
    for entity in (0, 1, 77, 1 << 40):
        key = draws.entity_key(run, entity)
        assert int(words.entity_key(np.uint64(run), entity)) == key
        for stream, ordinal in ((0, 0), (48, 5), (17, 1 << 24 | 3)):
            word = draws.draw_u64(key, stream, ordinal)
            assert int(words.draw(np.uint64(key), stream, ordinal)) == word
            assert words.unit(np.uint64(word)) == draws.unit_from_u64(word)
            assert words.below(1000, np.uint64(word)) == draws.below(1000, word)


@pytest.mark.parametrize("some", [1, 7, 1000])
def test_a_run_in_small_steps_is_the_same_run(some: int) -> None:
    scenario = load("limited-service", ["tasks=300"])
    flat = engine.Flat(scenario, 0)
    w = engine.world(flat, keeps_rows=True)
    steps = 0
    while not run_some(w, some):
        w = engine.grown(w)
        steps += 1
    whole = engine.simulate(scenario, replication=0, level="events")
    assert whole.events is not None
    again = engine._log_of(flat, w)
    assert log_digest(again.columns()) == log_digest(whole.events.columns())
    assert steps > 10


def test_progress_is_told_and_ends_with_all_tasks() -> None:
    told: list[int] = []
    simulate(load("minimal", ["tasks=3000"]), progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 3000


def test_auto_takes_the_fast_engine_where_that_is_worth_while() -> None:
    assert simulate(load("minimal", ["tasks=600"])).engine == "fast"
    assert simulate(load("minimal", ["tasks=20"])).engine == "reference"
    assert simulate(load("minimal", ["tasks=600", "engine=reference"])).engine == "reference"


def test_what_the_fast_engine_cannot_do_is_told() -> None:
    overrides = ["tasks=600", "receiver.pushes=['ended']"]
    scenario = load("minimal", overrides)
    assert supports(scenario) == ("receiver.pushes",)
    run = simulate(scenario)
    assert run.engine == "reference"
    assert any("the fast one cannot do receiver.pushes yet" in note for note in run.notes)
    with pytest.raises(EngineError, match=r"fast cannot do this yet: receiver\.pushes"):
        simulate(load("minimal", [*overrides, "engine=fast"]))
    with pytest.raises(EngineError, match="level summary"):
        simulate(load("minimal", ["engine=fast"]), level="summary")


PLAIN = """
import warnings
warnings.simplefilter("ignore")
from tasksim.engines.fast import engine
from tasksim.eventlog.schema import log_digest
from tasksim.scenario.loading import load
run = engine.simulate(load("demo", ["tasks=60"]), replication=0, level="events")
print(log_digest(run.events.columns()))
"""


def test_without_compilation_the_same_source_gives_the_same_run() -> None:
    plain = subprocess.run(
        [sys.executable, "-c", PLAIN],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    run = engine.simulate(load("demo", ["tasks=60"]), replication=0, level="events")
    assert run.events is not None
    assert plain.stdout.strip() == log_digest(run.events.columns())
