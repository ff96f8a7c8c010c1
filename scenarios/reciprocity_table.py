"""Who gives how much, and who gets back what it gave, without payments, with shared costs and with Shapley shares?

Table 1 of Murhekar et al. 2025 on the accuracy functions of their Appendix E: 30 owners in three groups whose images
are rotated differently (two owners for lumpy skin disease), costs per batch drawn from [0, 0.001].  The printed
numbers are not equilibria but iterates: preset `paper` takes 1000 steps of size 10 from s = 1, `active` owners at a
time, and `converged` solves the game.  In equilibrium Shapley shares make every image owner contribute all it may.

Owners of MNIST and FashionMNIST may give 100 of about 181 batches, so 55.1% is everything.  As stated, with 10 of 30
owners per step, the shares of CIFAR-10 come out as printed but those of MNIST and FashionMNIST at about half.  Two
settings were chosen here because they fit, not because the paper states them: active=30 (with rate=0.8, which is the
authors' code's beta) comes near the printed shares of MNIST and FashionMNIST, except 52% instead of 54.8% for Shapley
shares on the latter; and for lumpy skin disease, where neither costs nor capacities are given, 100 batches per owner
at the same costs come near M^0 but not M^Shap (78% instead of 81.3%).  Its printed reciprocity of 0.02 is not
explained by any setting tried.  The printed accuracy gains are those of trained networks, ours those of the accuracy
functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm.cli import run_script
from fedabm.common.errors import check_positive
from fedabm.common.random import generator
from fedabm.games.accuracy import GroupWeighted
from fedabm.mechanisms import CostSharing, Mechanism, NoPayments, ShapleyShare
from fedabm.shapley import shapley
from fedabm.solving.equilibrium import Equilibrium
from fedabm.solving.game import Game
from fedabm.solving.metrics import accuracy_gain, data_gain, reciprocity
from fedabm.study.study import Study

_MEASURES = {"share": "share %", "data": "data gain", "accuracy": "acc. gain", "reciprocity": "reciprocity"}
_TITLES = {
    "share": "data share (% of all batches)",
    "data": r"data gain over $\mathcal{M}^0$",
    "accuracy": r"accuracy gain over $\mathcal{M}^0$ (printed: trained networks)",
    "reciprocity": "reciprocity (least received per share given)",
}
_MECHANISMS = ("M^0", "M^BG", "M^Shap")


@dataclass(frozen=True)
class Dataset:
    """Weights of Appendix E, owners per group, batches an owner may give and has, and Table 1 as printed."""

    title: str
    weights: tuple[tuple[float, ...], ...]
    members: int
    capacity: float
    batches: float
    printed: dict[str, tuple[float, float, float]]


_DATASETS = {
    "mnist": Dataset(
        "MNIST",
        ((3.1e-3, 4.7e-4, 4.4e-4), (6.7e-4, 1.9e-3, 6.5e-4), (9.3e-4, 8.3e-4, 2.1e-3)),
        10,
        100.0,
        5440 / 30,
        {
            "share": (5.8, 7.6, 54.9),
            "data": (1.0, 1.32, 9.51),
            "accuracy": (1.0, 0.99, 1.02),
            "reciprocity": (0.61, 0.70, 1.0),
        },
    ),
    "fashion_mnist": Dataset(
        "FashionMNIST",
        ((1.3e-3, 3.1e-4, 5.7e-4), (1.0e-4, 1.5e-3, 2.6e-4), (4.9e-4, 4.4e-4, 1.6e-3)),
        10,
        100.0,
        5440 / 30,
        {
            "share": (4.1, 6.2, 54.8),
            "data": (1.0, 1.51, 13.43),
            "accuracy": (1.0, 1.02, 1.05),
            "reciprocity": (0.47, 0.75, 1.0),
        },
    ),
    "cifar10": Dataset(
        "CIFAR-10",
        ((5.8e-3, 1.4e-3, 7.9e-4), (2.5e-3, 6.1e-3, 7.4e-4), (4.2e-3, 3.0e-3, 1.8e-3)),
        10,
        27.0,
        27.0,
        {
            "share": (25.6, 28.9, 99.6),
            "data": (1.0, 1.13, 3.89),
            "accuracy": (1.0, 1.02, 1.11),
            "reciprocity": (0.50, 0.57, 1.0),
        },
    ),
    "lumpy_skin": Dataset(
        "Lumpy skin",
        ((1.2e-2, 9.1e-3), (1.4e-2, 1.6e-2)),
        1,
        100.0,
        100.0,
        {
            "share": (46.7, 46.7, 81.3),
            "data": (1.0, 1.0, 1.73),
            "accuracy": (1.0, 0.98, 1.01),
            "reciprocity": (0.92, 0.02, 1.0),
        },
    ),
}


def run(
    study: Study,
    preset: Literal["paper", "converged"] = "paper",
    dataset: Literal["all", "mnist", "fashion_mnist", "cifar10", "lumpy_skin"] = "all",
    rate: Literal["1-1/n", "0.8", "optimal"] = "1-1/n",
    active: int = 10,
    cost: float = 0.001,
) -> None:
    """Play or solve the three mechanisms on each dataset, beside the printed table."""
    check_positive("active", active)
    check_positive("cost", cost)
    rows = []
    for number, (name, data) in enumerate(_DATASETS.items()):
        if dataset in ("all", name):
            owners = data.members * len(data.weights)
            costs = generator(study.seed, "population", number).uniform(0.0, cost, owners)
            games = [_game(data, costs, mechanism) for mechanism in _mechanisms(rate, owners)]
            labels = [f"{data.title}, {mechanism}" for mechanism in _MECHANISMS]
            found = [_play(study, game, label, preset, active) for game, label in zip(games, labels, strict=True)]
            rows += _measure(data, games, found)
    table = pd.DataFrame(rows)
    study.table(table, f"Table 1, preset {preset}, beside the printed values")
    study.picture(_figure(table, preset), "reciprocity_table")


def _mechanisms(rate: str, owners: int) -> tuple[Mechanism, ...]:
    shared = {"1-1/n": CostSharing(1 - 1 / owners), "0.8": CostSharing(0.8), "optimal": CostSharing()}
    return NoPayments(), shared[rate], ShapleyShare()


def _game(data: Dataset, costs: np.ndarray, mechanism: Mechanism) -> Game:
    groups = np.repeat(np.arange(len(data.weights)), data.members)
    return Game(GroupWeighted(data.weights, groups), costs, data.capacity, mechanism)


def _play(study: Study, game: Game, label: str, preset: str, active: int) -> Equilibrium:
    """The iterate after 1000 steps as in the paper, or the equilibrium."""
    if preset == "converged":
        return study.solve(game, label)
    return study.solve(
        game,
        label,
        start=np.ones(game.owners),
        method="stochastic gradient",
        step=10.0,
        active=min(active, game.owners),
        rng=generator(study.seed, "activation"),
        limit=study.steps or 1000,
    )


def _measure(data: Dataset, games: list[Game], found: list[Equilibrium]) -> list[dict[str, object]]:
    """The columns of Table 1 for the three mechanisms on one dataset."""
    base, rows = found[0], []
    for k, (game, here) in enumerate(zip(games, found, strict=True)):
        measured = {
            "share": 100 * float(here.profile.sum()) / (data.batches * game.owners),
            "data": data_gain(here.profile, base.profile),
            "accuracy": accuracy_gain(here.accuracies, base.accuracies),
            "reciprocity": reciprocity(here.accuracies, here.payments, shapley(game.accuracy, here.profile)),
        }
        row: dict[str, object] = {"dataset": data.title, "mechanism": _MECHANISMS[k]}
        for name, title in _MEASURES.items():
            row |= {title: measured[name], f"{title} printed": data.printed[name][k]}
        rows.append(row | {"converged": here.converged, "gap": here.gap})
    return rows


def _figure(table: pd.DataFrame, preset: str) -> Figure:
    """One panel per column of Table 1; per dataset and mechanism our bar beside the printed one."""
    sns.set_theme(style="whitegrid", context="paper")
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 5.6), sharex=True, layout="constrained")
    for panel, name in zip(axes.flat, _MEASURES, strict=True):
        _bars(panel, table, _MEASURES[name])
        panel.set_title(_TITLES[name])
    axes[0, 1].set_yscale("log")
    axes[0, 1].set_yticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
    ours = "iterate" if preset == "paper" else "equilibrium"
    handles, labels = axes[0, 0].get_legend_handles_labels()
    labels = [label.replace("ours", ours) for label in labels]
    figure.legend(handles, labels, loc="outside lower center", ncol=6, frameon=False)
    return figure


def _bars(panel: Axes, table: pd.DataFrame, column: str) -> None:
    names, width = list(table["dataset"].unique()), 0.13
    for k, mechanism in enumerate(_MECHANISMS):
        rows, colour = table[table["mechanism"] == mechanism], sns.color_palette("colorblind")[k]
        place = np.arange(len(names)) + (2 * k - 2.5) * width
        symbol = f"$\\mathcal{{M}}^{{{mechanism[2:]}}}$"
        panel.bar(place, rows[column], width, color=colour, label=f"{symbol} ours")
        style = {"facecolor": "white", "edgecolor": colour, "hatch": "////", "linewidth": 1.0}
        panel.bar(place + width, rows[f"{column} printed"], width, label=f"{symbol} printed", **style)
    panel.set(xticks=np.arange(len(names)), xticklabels=names)
    panel.grid(visible=False, axis="x")


if __name__ == "__main__":
    run_script(__file__)
