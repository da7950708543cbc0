"""Retention: what is asked, what is the default, what is the most."""

import pytest

from tasksim.policies import ABSENT, UNLIMITED
from tasksim.policies.retention import granted_ns


@pytest.mark.parametrize(
    ("requested", "default", "longest", "granted"),
    [
        (60, 300, UNLIMITED, 60),
        (60, 300, 30, 30),
        (ABSENT, 300, UNLIMITED, 300),
        (ABSENT, 300, 100, 100),
        (ABSENT, UNLIMITED, UNLIMITED, UNLIMITED),
        (ABSENT, UNLIMITED, 100, 100),
        (0, 300, 100, 0),
    ],
)
def test_retention_is_what_was_asked_within_what_is_allowed(
    requested: int, default: int, longest: int, granted: int
) -> None:
    assert granted_ns(requested, default, longest) == granted
