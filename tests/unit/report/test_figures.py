"""Figures: drawn, labelled, the same bytes twice."""

from pathlib import Path

import pytest

from tasksim.engines import simulate
from tasksim.eventlog.run import Run
from tasksim.report.figures import save_figure, summary_figure
from tasksim.scenario.loading import load
from tasksim.scenario.model import Scenario


@pytest.fixture(scope="module")
def run() -> tuple[Run, Scenario]:
    scenario = load("demo", ["horizon_s=400"])
    return simulate(scenario), scenario


def test_every_axis_has_a_label_with_a_unit_and_a_title(run: tuple[Run, Scenario]) -> None:
    figure = summary_figure([run[0]], run[1])
    assert len(figure.axes) == 4
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_title()
    labels = " ".join(axes.get_xlabel() for axes in figure.axes)
    assert "seconds" in labels
    assert "minutes" in labels


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_same_run_draws_the_same_bytes(
    run: tuple[Run, Scenario], ending: str, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{name}.{ending}" for name in ("a", "b")]
    for path in paths:
        save_figure(summary_figure([run[0]], run[1]), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_run_without_tasks_is_drawn_too(tmp_path: Path) -> None:
    scenario = load("minimal", ["tasks=1", "horizon_s=1e-9"])
    save_figure(summary_figure([simulate(scenario)], scenario), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
