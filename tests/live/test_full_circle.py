"""The bundled comparison at its full size; its bands are the project's own."""

import pytest

from tasksim.planning.compare_live import compare_live
from tasksim.scenario.loading import load


@pytest.mark.nightly
def test_five_hundred_tasks_are_foretold_to_the_band() -> None:
    comparison, _, _ = compare_live(load("live-smoke"))
    assert comparison.compared == 500
    assert comparison.broken_laws == ()
    assert comparison.is_close
    assert comparison.same_outcome_share > 0.995
