"""The answer as text: it reads, and it says what the numbers say."""

import dataclasses

from tasksim.engines import simulate
from tasksim.eventlog.run import run_of_log
from tasksim.metrics.summary import summarise
from tasksim.report.text import WIDTH, sentences, text_answer
from tasksim.scenario.loading import load
from tests.unit.eventlog.helpers import GOOD, log_from

ORIGIN = {
    "seed": 1,
    "replications": 2,
    "engine": "reference",
    "scenario_digest": "a" * 64,
    "log_digest": "b" * 64,
}


def test_three_sentences_say_what_a_planner_asks() -> None:
    summary = summarise([run_of_log(log_from(GOOD))], load("minimal"))
    assert " ".join(sentences(summary, load("minimal"))) == (
        "Of 1 tasks 100 % gave their result to the requester, 0 % failed and 0 % of the results "
        "were lost. A requester learned 3 s after the end of its task that it had ended (19 in 20 "
        "within 3 s), for 2 polls a task, 1 of them too early. The receiver answered 0.3077 "
        "requests a second, 1 in the busiest second."
    )


def test_nothing_to_tell_is_told() -> None:
    scenario = dataclasses.replace(load("minimal"), warmup_s=5.0)
    summary = summarise([run_of_log(log_from(GOOD))], scenario)
    assert sentences(summary, scenario) == [
        "No task arrived after the warm-up, so there is nothing to tell."
    ]
    assert "nothing to tell" in text_answer(summary, scenario, ORIGIN)


def test_the_whole_answer_fits_and_holds_table_counts_and_warnings() -> None:
    scenario = load("minimal")
    summary = summarise([run_of_log(log_from(GOOD))] * 2, scenario)
    text = text_answer(summary, scenario, ORIGIN)
    assert "95 % intervals of means and of p95" in text
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "detection delay, s" in text
    assert "3 ± 0" in text
    assert "tasks: 2 arrived" in text
    assert "warning: p99 rests on fewer than 10" in text
    assert "scenario aaaaaaaaaaaa, log bbbbbbbbbbbb" in " ".join(text.split())


def test_a_real_answer_with_intervals_fits_too() -> None:
    scenario = load("demo", ["horizon_s=400"])
    runs = [simulate(scenario, replication=r) for r in range(3)]
    text = text_answer(summarise(runs, scenario), scenario, ORIGIN)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert " ± " in text


def test_the_first_sentence_leaves_no_task_unsaid() -> None:
    from tasksim.report.text import _others

    counts = {"arrived": 200, "cancelled": 0, "gave_up": 3, "rejected": 1, "unknown": 0,
              "not_needed": 0, "censored": 0}  # fmt: skip
    assert _others(counts) == "; 1.5 % were given up by their requesters, 0.5 % were rejected"
    assert _others(dict.fromkeys(counts, 0) | {"arrived": 200}) == ""
