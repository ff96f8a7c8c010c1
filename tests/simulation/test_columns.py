"""A column of one's own in the frames, from a script: one line in the scenario."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from operator import attrgetter

import numpy as np
import pytest

import fedabm
from fedabm import Federation, InputError
from fedabm.common.errors import UserCodeError
from fedabm.results.columns import COLUMNS, Column
from fedabm.results.round import Round
from fedabm.simulation import checkpoint
from fedabm.simulation.stacking import why_alone
from fedabm.sweep import Grid, Sweep
from tests.conftest import assert_equal_frames, mixed
from tests.simulation.test_stack import draw


def inequality(round: Round) -> np.ndarray:
    """The largest less the smallest utility."""
    return np.ptp(round.utility, axis=-1)


def doubled(round: Round) -> np.ndarray:
    """Twice what everybody contributes."""
    return 2.0 * round.contribution


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
        (Column("runs", "x", inequality), "belongs to steps or owners"),
        (Column("steps", "welfare", inequality), "has a column 'welfare' already"),
        (Column("steps", "x", None), "has no value"),
        (Column("steps", "x", inequality, kind=dict), "choose float, int, bool or str"),
    ],
)
def test_bad_columns_are_refused(column, message):
    with pytest.raises(InputError, match=message):
        mixed(columns=(column,))


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


def _power(exponent, weights=None):
    """A function that holds what it was made with."""
    return lambda round: (round.contribution**exponent).sum(axis=-1)


@pytest.mark.parametrize(
    ("make", "other"),
    [
        (lambda: _power(2.0), lambda: _power(3.0)),
        (lambda: _power(np.arange(3.0)), lambda: _power(np.ones(3))),
        (lambda: partial(doubled, more=1), lambda: partial(doubled, more=2)),
        (lambda: attrgetter("balance"), lambda: attrgetter("moved")),
        (lambda: inequality, lambda: doubled),
    ],
    ids=["number", "array", "partial", "attribute", "function"],
)
def test_functions_made_anew_for_every_run_are_known_to_be_the_same(make, other):
    """So that runs of a sweep, whose scenarios are made one by one, are stacked."""
    keys = [Column("steps", "x", value).key for value in (make(), make(), other())]
    assert keys[0] == keys[1] != keys[2]
    assert hash(keys[0]) == hash(keys[1])


def test_a_function_that_cannot_be_compared_is_stepped_by_itself():
    held = open(os.devnull)  # noqa: SIM115
    column = Column("steps", "x", lambda round: round.same(float(held.closed)))
    assert column.key is None
    assert why_alone(draw(0, columns=(column,))) == "column 'x', as what its function holds cannot be compared,"
    held.close()


def test_a_function_that_fails_is_told_with_column_and_step():
    """Also one that expects a federation, as columns did before there were rounds."""
    column = Column("steps", "x", lambda model: model.population.contribution.max())
    with pytest.raises(
        UserCodeError, match=r"column 'x' in step 1: .* no 'population'; the federation is round\.model"
    ):
        Federation(mixed(columns=(column,))).step()
