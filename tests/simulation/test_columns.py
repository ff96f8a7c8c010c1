"""A column of one's own in the frames, from a script: one line in the scenario."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fedabm
from fedabm import Federation, InputError
from fedabm.results.columns import COLUMNS, Column
from fedabm.simulation import checkpoint
from fedabm.sweep import Grid, Sweep
from tests.conftest import assert_equal_frames, mixed


def inequality(model: Federation) -> float:
    """The largest less the smallest utility."""
    return float(np.ptp(model.population.utility))


def doubled(model: Federation) -> np.ndarray:
    """Twice what everybody contributes."""
    return 2.0 * model.population.contribution


OWN = (Column("steps", "inequality", inequality), Column("owners", "doubled", doubled))


def target(rate: float = 0.01) -> fedabm.Scenario:
    """What a sweep runs."""
    return mixed(columns=OWN, steps=3)


@pytest.mark.parametrize("record", [1, 5, None])
def test_columns_of_ones_own_stand_behind_ours_and_are_saved(record, tmp_path):
    frames = Federation(mixed(columns=OWN, record=record), 1).run().frames()
    assert list(frames.steps) == [*COLUMNS["steps"], "inequality"]
    assert list(frames.owners) == [*COLUMNS["owners"], "doubled"]
    np.testing.assert_array_equal(frames.owners["doubled"], 2.0 * frames.owners["contribution"])
    spread = frames.owners.groupby("step")["utility"].agg(np.ptp)
    np.testing.assert_allclose(frames.steps["inequality"], spread)
    fedabm.save(frames, tmp_path / "run")
    again = fedabm.load(tmp_path / "run")
    np.testing.assert_array_equal(again.steps["inequality"], frames.steps["inequality"])
    assert "doubled" in fedabm.load(tmp_path / "run", columns=["step", "doubled"]).owners


def test_runs_without_them_change_in_nothing_else():
    with_, without = Federation(mixed(columns=OWN), 1).run().frames(), Federation(mixed(), 1).run().frames()
    assert_equal_frames(
        replace(with_, steps=with_.steps.drop(columns="inequality"), owners=with_.owners.drop(columns="doubled")),
        without,
    )


def test_they_survive_a_checkpoint(tmp_path):
    model = Federation(mixed(columns=OWN), 1)
    model.step()
    checkpoint.save(model, tmp_path / "run")
    assert_equal_frames(checkpoint.restore(tmp_path / "run", mixed(columns=OWN)).run().frames(), model.run().frames())


def test_they_are_in_the_frames_of_a_sweep(tmp_path):
    found = Sweep(target, Grid(rate=[0.01, 0.02]), [1, 2]).run(tmp_path / "sweep", executor="serial", quiet=True)
    frames = found if hasattr(found, "steps") else fedabm.load(tmp_path / "sweep")
    assert frames.steps["inequality"].notna().all()
    np.testing.assert_array_equal(frames.owners["doubled"], 2.0 * frames.owners["contribution"])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (lambda: Column("runs", "x", inequality), "belongs to steps or owners"),
        (lambda: Column("steps", "welfare", inequality), "has a column 'welfare' already"),
    ],
)
def test_bad_columns_are_refused(column, message):
    with pytest.raises(InputError, match=message):
        column()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (Column("steps", "x", doubled), "give one number"),
        (Column("owners", "x", inequality), "numbers, one per owner"),
    ],
)
def test_columns_of_the_wrong_shape_are_refused_with_the_step(column, message):
    with pytest.raises(InputError, match=rf"column 'x' has shape .* in step 1; give .*{message.split()[-1]}"):
        Federation(mixed(columns=(column,))).step()
