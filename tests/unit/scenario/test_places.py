"""Lines of keys in a TOML text."""

import pytest

from tasksim.scenario.places import outline_of

TEXT = '''# a comment with [brackets] and = signs
title = "a # that is no comment"
"quoted.key" = 1

[arrivals] # another
kind = "poisson"
rate = 2.5

[[requesters]]
name = "a"
polling = { kind = "hint", default_s = 1.0 }

[[requesters]]
name = "b"
polling.kind = "fixed"
polling.interval_s = 1e-3

[[work]]
duration = { kind = "mixture", weights = [1, 2], parts = [
  { kind = "constant", value_s = 1 },
  { kind = "exponential",
    mean_s = 2 } ] }
text = """
[not_a_table]
x = 1
"""
[work.inner]
z = 1979-05-27T07:32:00Z
'''.replace('"exponential",\n    mean_s', '"exponential", mean_s')

LINES = {
    ("title",): 2,
    ("quoted.key",): 3,
    ("arrivals",): 5,
    ("arrivals", "rate"): 7,
    ("requesters",): 9,
    ("requesters", 0): 9,
    ("requesters", 0, "polling", "default_s"): 11,
    ("requesters", 1): 13,
    ("requesters", 1, "name"): 14,
    ("requesters", 1, "polling", "interval_s"): 16,
    ("work", 0, "duration", "weights"): 19,
    ("work", 0, "duration", "weights", 1): 19,
    ("work", 0, "duration", "parts", 0, "value_s"): 20,
    ("work", 0, "duration", "parts", 1, "mean_s"): 21,
    ("work", 0, "text"): 22,
    ("work", 0, "inner", "z"): 27,
}


@pytest.mark.parametrize(("path", "line"), LINES.items())
def test_a_key_stands_on_its_line(path: tuple[str | int, ...], line: int) -> None:
    assert outline_of(TEXT).line_of(path) == line


def test_a_missing_key_is_placed_at_the_table_around_it() -> None:
    outline = outline_of(TEXT)
    assert outline.line_of(("arrivals", "nowhere", "deep")) == 5
    assert outline.line_of(("nowhere",)) == 1


def test_what_stands_in_a_string_is_no_key() -> None:
    assert ("not_a_table",) not in outline_of(TEXT).lines
