"""Figures of market studies: looks that do not depend on who else is drawn, bands, and what flattens nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from fedabm import Federation, Scenario, population
from fedabm.analysis.looks import protocol_looks
from fedabm.analysis.market_runs import (
    banded,
    comparison_picture,
    moved,
    owner_sums,
    utility_picture,
    utility_spread,
)
from fedabm.games.accuracy import PowerLaw

RULES = ["Local", "FedAvg", "FedProx", "Ditto", "FedAMP", "CFL", "FedFomo", "pFedGraph", "iPFL"]


def test_a_protocol_looks_the_same_whoever_stands_beside_it():
    everybody = protocol_looks(RULES)
    assert len({look.colour for look in everybody.values()}) == len(RULES)
    for rule in RULES:
        assert protocol_looks([rule]) == {rule: everybody[rule]}


def test_comparison_and_rationality_colour_rules_alike():
    rng = np.random.default_rng(0)
    rows = [(rule, seed, "skew", rng.uniform(), rng.normal()) for rule in RULES for seed in range(2)]
    table = pd.DataFrame(rows, columns=["label", "seed", "split", "accuracy", "utility"])
    looks = protocol_looks(RULES)
    marks = comparison_picture(table, ["skew"], "words").axes[0].get_legend_handles_labels()
    drawn = {label: to_hex(handle[0].get_color()) for handle, label in zip(*marks, strict=True)}
    assert drawn == {rule: look.colour for rule, look in looks.items()}
    some = table[table["label"].isin(["iPFL", "CFL"])]
    panel = utility_picture(some, "words").axes[0]
    dots = [to_hex(part.get_facecolor()[0]) for part in panel.collections if len(part.get_offsets())]
    assert dots == [looks["CFL"].colour, looks["iPFL"].colour]


def test_a_band_is_the_mean_and_its_interval_over_seeds():
    """Two values 1 and 3: 2 +- t(0.975, 1 degree) * sqrt(2) / sqrt(2), and t is 12.706."""
    panel = Figure().subplots()
    rows = pd.DataFrame({"seed": [0, 1, 0, 1], "step": [1, 1, 2, 2], "value": [1.0, 3.0, 5.0, 5.0]})
    banded(panel, rows, "value", color="black")
    assert panel.lines[0].get_ydata().tolist() == [2.0, 5.0]
    edge = panel.collections[0].get_paths()[0].vertices[:, 1]
    assert (edge.min(), edge.max()) == pytest.approx((2 - 12.706, 2 + 12.706), rel=1e-4)
    banded(panel, rows[rows["seed"] == 0], "value", color="black")
    assert panel.lines[1].get_ydata().tolist() == [1.0, 5.0]


def test_the_spread_of_utilities_by_hand():
    owners = pd.DataFrame({"run": [0, 0, 1, 1], "label": ["A", "A", "B", "B"], "utility": [1.0, 3.0, -2.0, 4.0]})
    owners["moved"] = [0.1, 0.1, 0.2, 0.2]
    rounds = pd.DataFrame({"run": [0, 0, 1, 1], "utility": [0.5, 0.1, -3.0, 1.0]})
    table = utility_spread(owners, rounds).set_index("label")
    assert table["mean"].tolist() == [2.0, 1.0]
    assert table["lose"].tolist() == [0.0, 0.5]
    assert table["worst round"].tolist() == [0.1, -3.0]
    assert table["least"].tolist() == [1.0, -2.0]
    assert table["moved"].tolist() == [0.1, 0.2]


def test_a_run_that_has_settled_stands_for_a_longer_one():
    """Two rounds that stand for five: the second counts four times; owner 1 moved by 1 of 4 in all."""
    case = Scenario(population([0.1, 0.2], 1.0), PowerLaw(), steps=2)
    frames = Federation(case).run().frames()
    frames.owners["utility"] = [5.0, 2.0, 1.0, 3.0]
    assert frames.owners["step"].tolist() == [1, 1, 2, 2]
    assert owner_sums(frames)["utility"].tolist() == [6.0, 5.0]
    assert owner_sums(frames, 5)["utility"].tolist() == [9.0, 14.0]
    assert owner_sums(frames, 2)["utility"].tolist() == [6.0, 5.0]
    frames.owners["utility"] = [1.0, 2.0, 1.0, 3.0]
    assert moved(frames.owners).tolist() == [0.25]
    frames.owners["utility"] = 0.0
    assert moved(frames.owners).tolist() == [0.0]
