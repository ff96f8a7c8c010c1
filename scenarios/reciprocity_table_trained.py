"""With models that are really trained: who gives how much, and does everybody get back what it gave?

Tables 1 to 4 of Murhekar et al. 2025.  For each dataset models are trained on random shares of each group's data and
the group-weighted accuracy function is fitted to them; the equilibria of M^0, M^BG and M^Shap are found on it; then
models are trained with the equilibrium contributions.  Accuracies, payments and Shapley shares of the last part all
come from trained models: shares from coalition models (the updates of the others left out), payments from the ledger.

Reciprocity is measured, not assumed: (a_i + p_i - a_i(0)) / phi_i with phi from sampled orders that are independent of
those that the payments of M^Shap were computed from.  So M^Shap comes out at 1 up to the error of both samples, which
stands beside it.  Minus infinity means that somebody gives nothing and still loses: it pays, or its model is worse than
one without any data.

Image owners form three groups with pictures turned by 10, 90 and 180 degrees, owners of tables two with 70% and 30%
positive samples.  One unit of data is one sample here, a batch in the paper, so costs are not theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Scenario, population
from fedabm.analysis.curves import COLOURS, dress, panels, shared_legend
from fedabm.analysis.figures import last_step
from fedabm.cli import run_script
from fedabm.common.errors import check_positive
from fedabm.common.random import generator
from fedabm.data.datasets import Dataset, load, status
from fedabm.data.partitions import IID, LabelMix, Partition, Rotated
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Coalition, Fit, Trained, fit_groups, measure_groups
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import CostSharing, Mechanism, NoPayments, ShapleyShare
from fedabm.papers.murhekar2025.reciprocity import measured_reciprocity
from fedabm.papers.presets import Preset, Size, engine_for
from fedabm.solving.equilibrium import Equilibrium
from fedabm.solving.game import Game
from fedabm.solving.metrics import accuracy_gain, data_gain
from fedabm.strategies import Keep
from fedabm.study.study import Study

_RULES = ("M^0", "M^BG", "M^Shap")
_MEASURES = ("accuracy %", "share %", "data gain", "acc. gain", "reciprocity")
_TABLES = ("lumpy_skin", "quadratic")
_PRINTED = {
    "mnist": ((88.3, 87.6, 90.4), (5.8, 7.6, 54.9), (1, 1.32, 9.51), (1, 0.99, 1.02), (0.61, 0.70, 1)),
    "fashion_mnist": ((60.9, 61.5, 63.3), (4.1, 6.2, 54.8), (1, 1.51, 13.43), (1, 1.02, 1.05), (0.47, 0.75, 1)),
    "cifar10": ((43.6, 44.7, 48.5), (25.6, 28.9, 99.6), (1, 1.13, 3.89), (1, 1.02, 1.11), (0.50, 0.57, 1)),
    "lumpy_skin": ((94.2, 94.0, 95.2), (46.7, 46.7, 81.3), (1, 1, 1.73), (1, 0.98, 1.01), (0.92, 0.02, 1)),
    "quadratic": ((67.2, 65.8, 90.8), (3.3, 4.0, 99.6), (1, 1.25, 31.18), (1, 0.98, 1.36), (0.93, 0.95, 1)),
}


@dataclass(frozen=True, kw_only=True)
class Groups(Preset):
    """Size for tables (`size` is for pictures), other networks, points to fit and the highest cost per sample."""

    permutations: int
    tables: Size
    networks: dict[str, str] = field(default_factory=dict)
    points: int
    cost: float


_PRESETS = {
    "quick": Groups(
        size=Size(6, 220, 60, "logistic"),
        rounds=35,
        seeds=2,
        recipe=Recipe(optimiser=SGD(0.03)),
        permutations=4000,
        tables=Size(2, 150, 150, "tiny_mlp"),
        points=14,
        cost=0.003,
    ),
    "paper": Groups(
        size=Size(30, 1800, 170, "mnist_cnn"),
        rounds=100,
        seeds=3,
        recipe=Recipe(batch=64, optimiser=SGD(0.1)),
        permutations=102,
        tables=Size(2, 1500, 400, "resmlp"),
        networks={"cifar10": "resnet18", "quadratic": "quadratic"},
        points=40,
        cost=0.0001,
    ),
}


def run(
    study: Study,
    preset: Literal["quick", "paper"] = "quick",
    data: Literal["all", "digits", "mnist", "fashion_mnist", "cifar10", "lumpy_skin", "quadratic"] = "all",
    budget: Literal["converged", "paper"] = "converged",
    cost: float = 0.0,
    seeds: int = 0,
) -> None:
    """Fit, solve (budget=paper: 1000 steps of size 10 from s = 1 instead), train, and measure.

    `data` = all takes what is there; `cost` and `seeds` = 0 take the preset's.
    """
    check_positive("cost", cost, zero=True)
    chosen, rows = _PRESETS[preset], []
    for name in _present(study) if data == "all" else [data]:
        dataset = load(name)
        for seed in chosen.series(study.seed, seeds):
            rows += _one(study, chosen, dataset, seed, cost or chosen.cost, budget)
    table = pd.DataFrame(rows)
    means = _means(table)
    title = f"Table 1 from trained models, preset {preset}, budget {budget}: means over seeds (in brackets: printed)"
    study.table(_shown(means), title)
    study.table(_spreads(table), "Tables 2 to 4: average, median and standard deviation over seeds", "spread")
    study.picture(_figure(means, preset), "reciprocity_table_trained")


def _present(study: Study) -> list[str]:
    """The paper's sets that are there; says which are not, and falls back to digits if there is no picture at all."""
    states = {row.name: row.state for row in status()}
    there = [name for name in _PRINTED if states[name] != "missing"]
    missing = [name for name in _PRINTED if name not in there]
    if missing:
        study.note(f"Data: left out because their files are not there: {', '.join(missing)}; see `fedabm data list`")
    if all(name in _TABLES for name in there):
        study.note("Data: no set of pictures is there, so digits is used instead (FEDABM_DATA sets the folder)")
        there = ["digits", *there]
    return there[:1] + there[-1:] if study.steps else there


def _one(study: Study, preset: Groups, dataset: Dataset, seed: int, cost: float, budget: str) -> list[dict[str, Any]]:
    """One dataset and seed: three equilibria and what they are worth in training."""
    size, partition, groups = _dealt(preset, name := dataset.name)
    engine = engine_for(dataset, size, seed, partition)
    rounds = preset.shortened(study.steps)
    trained = Trained(engine, rounds, preset.recipe, seed, folder=study.scratch)
    fit = _fit(study, trained, groups, preset.points, seed)
    costs = generator(seed, "population").uniform(0.0, cost, len(groups))
    results = []
    for label, rule in zip(_RULES, (NoPayments(), CostSharing(1 - 1 / len(groups)), ShapleyShare()), strict=True):
        game = Game(fit.accuracy, costs, engine.data.capacities, rule)
        found = _solve(study, game, f"{name}, {label}, fitted", budget, seed)
        oracle = Coalition(engine, np.rint(found.profile), rounds, preset.recipe, seed)
        results.append((found, oracle, _settle(study, oracle, rule, costs, f"{name}, {label}, trained", preset, seed)))
    return _measured(results, engine, fit, preset, name, seed)


def _dealt(preset: Groups, name: str) -> tuple[Size, Partition, list[int]]:
    """How a set is dealt, and the group of every owner."""
    size = preset.tables if name in _TABLES else preset.size
    size = replace(size, network=preset.networks.get(name, size.network))
    if name in _TABLES:
        return size, LabelMix(((0.3, 0.7), (0.7, 0.3))), [0, 1]
    each = size.owners // 3
    return size, Rotated(IID(3 * each)), np.repeat([0, 1, 2], each).tolist()


def _fit(study: Study, oracle: Trained, groups: list[int], points: int, seed: int) -> Fit:
    rng, label = generator(seed, "server"), f"{oracle.engine.data.name}: points to fit"
    found = [measure_groups(oracle, groups, 1, rng) for _ in study.track(range(points), label)]
    totals, accuracies = (np.vstack(part) for part in zip(*found, strict=True))
    return fit_groups(totals, accuracies, groups)


def _solve(study: Study, game: Game, label: str, budget: str, seed: int) -> Equilibrium:
    if budget == "converged":
        return study.solve(game, label)
    steps = {"step": 10.0, "active": max(game.owners // 3, 1), "rng": generator(seed, "activation"), "limit": 1000}
    return study.solve(game, label, start=np.ones(game.owners), method="stochastic gradient", **steps)


def _settle(
    study: Study, oracle: Coalition, rule: Mechanism, costs: Array, label: str, preset: Groups, seed: int
) -> pd.DataFrame:
    """The trained model handed out and paid for: one step in which everybody contributes its equilibrium amount."""
    if isinstance(rule, ShapleyShare):
        rule = preset.shares(seed)
    owners = population(costs, oracle.engine.data.capacities, Keep(), oracle.profile)
    made = study.simulate(Scenario(owners, oracle, rule, steps=1), label, seed)
    return last_step(made.frames().owners)


def _measured(
    results: list[tuple[Equilibrium, Coalition, pd.DataFrame]],
    engine: Engine,
    fit: Fit,
    preset: Groups,
    name: str,
    seed: int,
) -> list[dict[str, object]]:
    """The columns of Table 1, from trained models."""
    base, rows = results[0], []
    for label, (found, oracle, paid) in zip(_RULES, results, strict=True):
        accuracies, payments = paid["accuracy"].to_numpy(), paid["payment"].to_numpy()
        rng, sampled = generator(seed, "server", 1), label == "M^Shap"
        returned = measured_reciprocity(oracle, accuracies, payments, preset.permutations, rng, sampled)
        rows.append(
            {
                "dataset": name,
                "mechanism": label,
                "seed": seed,
                "accuracy %": 100 * float(accuracies.mean()),
                "share %": 100 * float(oracle.profile.sum() / engine.data.capacities.sum()),
                "data gain": data_gain(oracle.profile, base[1].profile),
                "acc. gain": accuracy_gain(accuracies, base[2]["accuracy"].to_numpy()),
                "reciprocity": returned.reciprocity,
                "MC error": returned.error,
                "sum of payments": float(payments.sum()),
                "converged": found.converged,
                "gap": found.gap,
                "iterations": found.iterations,
                "R^2 of the fit": fit.r_squared,
            }
        )
    return rows


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds beside the printed values."""
    rows = []
    for (name, label), runs in table.groupby(["dataset", "mechanism"], sort=False):
        row: dict[str, object] = {"dataset": name, "mechanism": label, "seeds": len(runs)}
        for place, measure in enumerate(_MEASURES):
            printed = _PRINTED[name][place][_RULES.index(label)] if name in _PRINTED else np.nan
            row |= {measure: runs[measure].mean(), f"{measure} printed": printed}
        row |= {
            "MC error": runs["MC error"].max(),
            "1 within error": _fair(runs),
            "converged": bool(runs["converged"].all()),
            "gap": runs["gap"].max(),
        }
        rows.append(
            row | {"|sum of payments|": runs["sum of payments"].abs().max(), "R^2": runs["R^2 of the fit"].mean()}
        )
    return pd.DataFrame(rows)


def _fair(runs: pd.DataFrame) -> bool:
    """Whether in every run a reciprocity of 1 is within the sampling error."""
    return bool(np.all((runs["reciprocity"] - 1).abs() <= runs["MC error"]))


def _shown(means: pd.DataFrame) -> pd.DataFrame:
    """Ours and the printed value in one cell, short enough for one line."""
    shown = means[["dataset", "mechanism", "seeds"]].copy()
    for measure in _MEASURES:
        pairs = zip(means[measure], means[f"{measure} printed"], strict=True)
        shown[measure] = [f"{ours:.4g}" + (f" ({theirs:g})" if theirs == theirs else "") for ours, theirs in pairs]
    for name, digits in (("MC error", 2), ("gap", 1), ("|sum of payments|", 1), ("R^2", 3)):
        shown[name] = [float(f"{value:.{digits}g}") for value in means[name]]
    return pd.concat([shown, means[["1 within error", "converged"]]], axis=1)


def _spreads(table: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset, mechanism and column of Table 1."""
    long = table.melt(["dataset", "mechanism"], list(_MEASURES), "measure")
    found = long.groupby(["dataset", "mechanism", "measure"], sort=False)["value"].agg(["mean", "median", "std"])
    return found.rename(columns={"mean": "average", "std": "deviation"}).reset_index()


def _figure(table: pd.DataFrame, preset: str) -> Figure:
    """One panel per column of Table 1; per dataset and mechanism our bar beside the printed one."""
    figure, axes = panels(4, rows=2, width=5.0, height=2.9)
    names, width = list(table["dataset"].unique()), 0.13
    for panel, measure in zip(axes, ("accuracy %", "share %", "acc. gain", "reciprocity"), strict=True):
        for k, label in enumerate(_RULES):
            rows = table[table["mechanism"] == label]
            place, symbol = np.arange(len(names)) + (2 * k - 2.5) * width, f"$\\mathcal{{M}}^{{{label[2:]}}}$"
            error = rows["MC error"].fillna(0.0).where(rows[measure] >= -1, 0.0) if measure == "reciprocity" else None
            panel.bar(
                place,
                rows[measure].clip(-1, None),
                width,
                yerr=error,
                capsize=2,
                color=COLOURS[k],
                label=f"{symbol} trained here",
            )
            for where, value in zip(place, rows[measure], strict=True):
                if value < -1:  # the bar is cut off there
                    text = "$-\\infty$" if np.isinf(value) else f"{value:.1f}"
                    panel.text(where, -0.06, text, ha="center", va="top", rotation=90, color="white")
            style = {"facecolor": "white", "edgecolor": COLOURS[k], "hatch": "////", "linewidth": 1.0}
            panel.bar(place + width, rows[f"{measure} printed"], width, label=f"{symbol} printed", **style)
        dress(panel, measure, "", "")
        panel.set(xticks=np.arange(len(names)), xticklabels=names)
        panel.grid(visible=False, axis="x")
    seeds = int(table["seeds"].max())
    axes[3].set_title(f"reciprocity, measured (preset {preset}, n = {seeds}; bars: 95% sampling error)")
    shared_legend(figure, axes[0])
    return figure


if __name__ == "__main__":
    run_script(__file__)
