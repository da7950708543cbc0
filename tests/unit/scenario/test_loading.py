"""Loading: what is right is taken as it stands; what is wrong is told at once and in place."""

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest

from tasksim.scenario.distributions import Exponential
from tasksim.scenario.loading import (
    ScenarioError,
    catalogue_names,
    dump_toml,
    load,
    parse,
    scenario_digest,
    schema_json,
)
from tasksim.scenario.model import Poisson
from tasksim.scenario.polls import FixedPolling

GOOD = """
tasks = 10
[arrivals]
kind = "poisson"
rate = 2
[[requesters]]
name = "sdk"
polling = { kind = "fixed", interval_s = 5 }
[[work]]
duration = { kind = "exponential", mean_s = 30 }
"""


def complaints(text: str, *overrides: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "f.toml", overrides)
    assert str(caught.value).splitlines() == list(caught.value.problems)
    return list(caught.value.problems)


def test_a_scenario_is_what_its_file_says() -> None:
    scenario = parse(GOOD, "f.toml")
    assert scenario.arrivals == Poisson(rate=2.0)
    assert scenario.requesters[0].polling == FixedPolling(interval_s=5.0)
    assert scenario.work[0].duration == Exponential(mean_s=30.0)


def test_what_is_left_out_is_off() -> None:
    scenario = parse(GOOD, "f.toml")
    assert scenario.receiver.workers is None
    assert scenario.receiver.poll_frequency is None
    assert scenario.network.request is None
    assert scenario.faults.created_lost_share == 0
    assert scenario.receiver.keep_alive.default_s == 300


def test_every_problem_is_told_at_once_with_line_key_and_value() -> None:
    text = """title = 3
sed = 1
horizon_s = -1

[arrivals]
kind = "poison"
rate = -1

[[requesters]]
name = "sdk"
polling = { kind = "hint", default = 3, jitter = true }

[[work]]
failed_share = 1.5
duration = { kind = "mixture", weights = [1, 1], parts = [
  { kind = "exponential", mean_s = 0 },
  { kind = "lognormal", mean_s = 3 } ] }

[network]
reply = 4

[receiver]
queue = "x"
rate_limits = 4
quota = 4
workers = 2.5
keep_alive = { max_s = inf }
"""
    assert complaints(text) == [
        "f.toml:1: title: must be a string, not 3",
        "f.toml:2: sed: is not a key here; did you mean seed?",
        "f.toml:3: horizon_s: must be > 0, not -1",
        (
            "f.toml:6: arrivals.kind: must be 'poisson', 'constant', 'bursty', 'closed' or "
            "'trace', not 'poison'"
        ),
        "f.toml:11: requesters.sdk.polling.jitter: must be a number, not True",
        "f.toml:11: requesters.sdk.polling.default: is not a key here; did you mean default_s?",
        "f.toml:14: work.0.failed_share: must be <= 1, not 1.5",
        "f.toml:16: work.0.duration.parts.0.mean_s: must be > 0, not 0",
        (
            "f.toml:17: work.0.duration.parts.1: "
            "needs mean_s and cv or median_s and sigma, not mean_s"
        ),
        "f.toml:20: network.reply: must be a table, not 4",
        "f.toml:23: receiver.queue: must be 'unbounded', not 'x'",
        "f.toml:24: receiver.rate_limits: must be a table, not 4",
        (
            "f.toml:25: receiver.quota: is not a key here; there are concurrency, delete, dialect, "
            "duplicate_ids, forgotten_ids, handling, input_timeout_s, isolation, keep_alive, "
            "long_poll, original_after_cancel, page_size, pickup_s, poll_frequency, pushes, queue, "
            "rate_limits, related_task, stop_s, store, task_methods, tasks, tombstones, watch, "
            "workers"
        ),
        "f.toml:26: receiver.workers: must be a whole number, not 2.5",
        "f.toml:27: receiver.keep_alive.max_s: must be a finite number, not inf",
    ]


def test_a_missing_key_is_told_at_its_table() -> None:
    assert complaints("tasks = 1\n[arrivals]\nkind = 'poisson'\n[[work]]\n") == [
        "f.toml:2: arrivals.rate: is missing",
    ]
    assert complaints("[[work]]\n")[0] == "f.toml:1: arrivals: is missing"
    assert complaints("tasks = 1\n[arrivals]\nrate = 3\n")[0] == (
        "f.toml:2: arrivals.kind: is missing: must be one of 'poisson', 'constant', "
        "'bursty', 'closed', 'trace'"
    )


def test_a_syntax_error_is_told_with_its_line() -> None:
    (problem,) = complaints("title = 'x'\n[arrivals\n")
    assert problem.startswith("f.toml:2: not TOML: ")


CROSS = {
    "the arrivals never end": (GOOD.replace("tasks = 10", ""), "f.toml:1: the arrivals never end"),
    "warm-up": (
        GOOD.replace("tasks = 10", "horizon_s = 60\nwarmup_s = 60"),
        "f.toml:3: warmup_s: must be < horizon_s (60), not 60",
    ),
    "shares": (
        GOOD + "[[work]]\nname = 'b'\nduration = { kind = 'constant', value_s = 1 }\n",
        "f.toml:9: work: the shares must sum to 1, not 2",
    ),
    "names": (
        GOOD.replace("[[work]]", "[[requesters]]\nname = 'sdk'\nshare = 0\n[[work]]"),
        "f.toml:6: requesters: 2 tables have the name 'sdk': give each its own",
    ),
    "duration": (
        GOOD.replace('duration = { kind = "exponential", mean_s = 30 }', ""),
        "f.toml:9: work.0.duration: is missing: how long does the work take?",
    ),
    "law": (
        GOOD.replace('kind = "exponential", mean_s = 30', 'kind = "lomax", alpha = 1, scale_s = 9'),
        "f.toml:10: work.0.duration: has no mean for alpha <= 1 (1): give max_s",
    ),
    "backoff": (
        GOOD.replace(
            '{ kind = "fixed", interval_s = 5 }', '{ kind = "backoff", base_s = 5, cap_s = 1 }'
        ),
        "f.toml:8: requesters.sdk.polling.cap_s: must be >= base_s (5), not 1",
    ),
    "rate": (
        GOOD.replace("rate = 2", "rate = 1e-12"),
        "f.toml:5: arrivals.rate: is so low that a gap may pass 18 years: 1e-12",
    ),
    "trace": (
        "[arrivals]\nkind = 'trace'\nfile = 'nowhere.csv'\n",
        "f.toml:3: arrivals.file: ",
    ),
}


@pytest.mark.parametrize(("text", "expected"), CROSS.values(), ids=CROSS)
def test_what_parts_must_satisfy_together_is_checked(text: str, expected: str) -> None:
    (problem,) = complaints(text)
    assert problem.startswith(expected)


def test_checks_of_sound_sections_join_the_faults_of_others() -> None:
    text = GOOD.replace("rate = 2", "rate = 0").replace(
        'kind = "exponential", mean_s = 30', 'kind = "lomax", alpha = 1, scale_s = 9'
    )
    assert complaints(text) == [
        "f.toml:5: arrivals.rate: must be > 0, not 0",
        "f.toml:10: work.0.duration: has no mean for alpha <= 1 (1): give max_s",
    ]


def test_a_trace_that_gives_durations_leaves_none_to_the_work(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("arrival_s,requester,duration_s\n0,a,1\n")
    text = GOOD.replace('kind = "poisson"\nrate = 2', "kind = 'trace'\nfile = 't.csv'")
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(ScenarioError, match=r"work.0.duration: the trace gives durations"):
        load(tmp_path / "s.toml")


def test_files_are_relative_to_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("seconds\n1\n2\n")
    (tmp_path / "s.toml").write_text(
        GOOD.replace(
            'kind = "exponential", mean_s = 30',
            "kind = 'empirical', file = 'd.csv', column = 'seconds'",
        )
    )
    assert load(tmp_path / "s.toml").work[0].duration.file == tmp_path / "d.csv"  # type: ignore[union-attr]


def test_overrides_reach_every_key() -> None:
    scenario = parse(
        GOOD,
        "f.toml",
        [
            "seed=7",
            "requesters.sdk.count=5",
            "requesters.0.polling.interval_s=2.5",
            "receiver.workers=3",
            "title=two words",
            "work.0.duration={kind='constant', value_s=1}",
        ],
    )
    assert (scenario.seed, scenario.requesters[0].count) == (7, 5)
    assert scenario.requesters[0].polling.interval_s == 2.5  # type: ignore[union-attr]
    assert (scenario.receiver.workers, scenario.title) == (3, "two words")


def test_a_faulty_override_is_named_as_one() -> None:
    assert complaints(GOOD, "receiver.workers=0") == ["--set receiver.workers: must be >= 1, not 0"]
    assert complaints(GOOD, "requesters.sdkk.count=3") == [
        "--set requesters.sdkk.count: no table is named 'sdkk'; there are 'sdk'"
    ]
    assert complaints(GOOD, "workers") == ["--set workers: must be KEY=VALUE"]
    assert complaints(GOOD, "tasks.x.y=1") == [
        "--set tasks.x.y: 'x' is below a value that is no table"
    ]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ScenarioError, match=r"minimol: no such file.*did you mean minimal\?"):
        load("minimol")


@pytest.mark.parametrize("name", catalogue_names())
def test_the_catalogue_loads_and_has_titles(name: str) -> None:
    assert load(name).title


@pytest.mark.parametrize("name", catalogue_names())
def test_a_scenario_written_out_is_the_same_scenario(name: str) -> None:
    scenario = load(name)
    again = parse(dump_toml(scenario), "again.toml")
    assert again == scenario
    assert scenario_digest(again) == scenario_digest(scenario)


def test_the_digest_follows_the_seed_and_the_content_of_files(tmp_path: Path) -> None:
    scenario = load("minimal")
    other = dataclasses.replace(scenario, seed=2)
    assert scenario_digest(scenario) != scenario_digest(other)
    text = "[arrivals]\nkind = 'trace'\nfile = '{}'\n"
    digests = []
    for name, row in (("a.csv", "0,x,1"), ("b.csv", "0,x,1"), ("c.csv", "0,x,2")):
        (tmp_path / name).write_text(f"arrival_s,requester,duration_s\n{row}\n")
        digests.append(scenario_digest(parse(text.format(name), "f", folder=tmp_path)))
    assert digests[0] == digests[1] != digests[2]


def test_spelling_out_a_default_does_not_change_the_digest() -> None:
    plain, spelled = (
        parse(text, "f")
        for text in (GOOD, GOOD + "failed_share = 0.0\n[receiver]\ntombstones = 10000\n")
    )
    assert scenario_digest(plain) == scenario_digest(spelled)
    other = parse(GOOD + "failed_share = 0.1\n", "f")
    assert scenario_digest(plain) != scenario_digest(other)


def test_the_schema_takes_the_catalogue_and_refuses_what_loading_refuses() -> None:
    schema = schema_json()
    for name in catalogue_names():
        jsonschema.validate(json.loads(json.dumps(_document(name))), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"arrivals": {"kind": "poisson", "rate": -1}}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"arrivals": {"kind": "poisson", "rate": 1}, "x": 1}, schema)


def _document(name: str) -> dict[str, object]:
    import tomllib

    return tomllib.loads(dump_toml(load(name)))
