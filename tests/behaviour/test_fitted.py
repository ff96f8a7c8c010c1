"""Behaviour fitted to data holds the truth, predicts held-out rounds, and says where a model does not fit."""

import numpy as np
import pandas as pd
import pytest

from fedabm import InputError, Scenario
from fedabm.behaviour import SimulatedBehaviour, contributions_of, fit_behaviour, simulate_behaviour
from tests.behaviour.recovery import MIXTURES, OWNERS, STEPS, recovered, riders
from tests.conftest import run

MIXTURE = MIXTURES["free-riders among noisy responders"]


@pytest.fixture(scope="module")
def known() -> SimulatedBehaviour:
    return simulate_behaviour(MIXTURE.build, MIXTURE.bounds, 300)


def scenario(share: float = 0.5, seed: int = 7) -> Scenario:
    return riders({"riders": share, "temperature": 0.1}, seed)


def test_parameters_are_held_in_short(known):
    """20 cases; `python -m tests.behaviour.recovery` has a hundred, of two mixtures."""
    assert recovered(MIXTURE, known, 20)["all"].sum() >= 17


def test_frames_a_table_and_a_csv_are_fitted_alike(known, tmp_path):
    frames = run(scenario(), 7).frames()
    path = tmp_path / "given.csv"
    frames.owners[["step", "owner", "contribution"]].to_csv(path, index=False)
    first, *others = (fit_behaviour(one, known) for one in (frames, frames.owners, path))
    for other in others:
        pd.testing.assert_frame_equal(first.table, other.table)
    riding = first.table.set_index("parameter").loc["riders"]
    truth = float((contributions_of(frames).max(axis=0) == 0).mean())
    assert riding["low"] - 0.1 <= truth <= riding["high"] + 0.1
    assert first.held_out["round"].tolist() == list(range(STEPS - 5, STEPS + 1))
    assert first.held >= 0.8


def test_runs_are_those_of_the_scenario_bit_for_bit(known):
    alone = run(MIXTURE.build(dict(zip(known.names, known.drawn[3], strict=True)), SEEDS[3]), SEEDS[3]).frames()
    assert np.array_equal(contributions_of(alone), known.given[3])


SEEDS = [int(one) for one in np.random.default_rng(0).integers(2**53, size=300)]


def test_data_that_the_model_cannot_give_are_called_so(known):
    wild = np.random.default_rng(0).uniform(0.0, 10.0, (STEPS, OWNERS)) * (np.arange(STEPS) % 2)[:, None]
    assert "does not look like these data" in fit_behaviour(wild, known).judgement


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (np.ones((STEPS, OWNERS + 1)), "but the model has"),
        (np.full((STEPS, OWNERS), np.nan), "fill the gaps"),
        (np.ones((2, OWNERS)), "4 rounds and 2 owners"),
        (pd.DataFrame({"step": [1], "owner": [0]}), "no column 'contribution'"),
        (pd.DataFrame({"step": [1, 1], "owner": [0, 0], "contribution": [1, 1]}), "give one of each"),
        ("nowhere.csv", "cannot be read"),
        (3, "must be frames"),
    ],
)
def test_bad_data_are_refused_in_one_line(known, data, said):
    with pytest.raises(InputError, match=said):
        fit_behaviour(data, known)


def test_bad_bounds_are_refused():
    with pytest.raises(InputError, match="swap them"):
        simulate_behaviour(riders, {"riders": (0.5, 0.5)}, 100)
    with pytest.raises(InputError, match="no parameters"):
        fit_behaviour(np.ones((STEPS, OWNERS)), riders)
