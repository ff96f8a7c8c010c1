"""With models that are really trained: who gives how much, and does everybody get back what it gave?

Tables 1 to 4 of Murhekar et al. 2025.  For each dataset models are trained on corners, nothing or `corner` batches of
each group, and the group-weighted accuracy function is fitted to them (Appendix E); the equilibria of M^0, M^BG and
M^Shap are found on it; then models are trained with the equilibrium contributions.  Accuracies, payments and Shapley
shares of the last part all come from trained models: shares from coalition models (the updates of the others left out),
payments from the ledger.

Contributions count batches as in the paper: 10 samples, on CIFAR-10 64, at most 100 batches of an owner's pictures.
The table of weights shows the fit beside Appendix E's, once as printed (no data, no accuracy) and once with the
accuracy of a guess as a free parameter, on which the game is played unless chance=zero.  What a bad fit (R^2 below
0.5) says about equilibria is nothing, and is marked.

Reciprocity is measured, not assumed: (a_i + p_i - a_i(0)) / phi_i.  For few owners all coalitions are looked at, so
that M^Shap has 1 exactly; for many phi is from sampled orders that are independent of those that the payments of M^Shap
were computed from, and the error of both samples stands beside it.  Minus infinity means that somebody gives nothing
and still loses: it pays, or its model is worse than one without any data.

Image owners form three groups with pictures turned by 10, 90 and 180 degrees, owners of tables two with 70% and 30%
positive samples.  The paper states costs for pictures only; tables have the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Equilibrium, Game, Scenario, population, run_script
from fedabm.checks import check_count, check_positive
from fedabm.data import Dataset, load_dataset, status
from fedabm.figures import dress, last_step, panels, protocol_looks, shared_legend
from fedabm.games import Array
from fedabm.learning import Coalition, Engine, Fit, Points, Trained, corners, measure_corners
from fedabm.mechanisms import CostSharing, Mechanism, NoPayments, ShapleyShare
from fedabm.papers import Sizes, engine_for, murhekar2025
from fedabm.solving import accuracy_gain, data_gain
from fedabm.strategies import Keep
from fedabm.study import Study, generator

#: a fit that explains less of the variance is called bad
_LEAST = 0.5


def run(
    study: Study,
    preset: Sizes = "quick",
    data: Literal["all", "digits", "mnist", "fashion_mnist", "cifar10", "lumpy_skin", "quadratic"] = "all",
    budget: Literal["converged", "paper"] = "converged",
    chance: Literal["free", "zero"] = "free",
    cost: float = 0.0,
    rounds: int = 0,
    seeds: int = 0,
) -> None:
    """Fit, solve (budget=paper: 1000 steps of size 10 from s = 1 instead), train, and measure.

    `data` = all takes what is there; `cost` (the highest, of a batch), `rounds` and `seeds` = 0 take the preset's.

    preset  size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
            sizes
    data    which data set; all takes those that are at hand
    budget  how contributions are found: to the equilibrium, or by the paper's 1000 steps
    chance  what no data are worth in the fit: a free parameter, or zero as printed
    cost    highest cost of a batch, in units of accuracy (0: as the preset says)
    rounds  rounds of training (0: as the preset says)
    seeds   how often it is repeated with new draws (0: as often as the preset says)

    Takes some minutes with preset=quick.
    """
    check_positive("cost", cost, zero=True)
    check_count("rounds", rounds, 0)
    chosen = replace(murhekar2025.GROUP_PRESETS[preset], rounds=rounds or murhekar2025.GROUP_PRESETS[preset].rounds)
    rows = []
    weights = []
    first = []
    for name in _present(study) if data == "all" else [data]:
        dataset = load_dataset(name)
        for seed in chosen.series(study.seed, seeds):
            made = _One(study, chosen, dataset, seed, cost or chosen.cost)
            points = made.points()
            first += made.first_rounds()
            fits = {
                word: murhekar2025.fit_in_batches(points, made.batch, made.groups, chance=word == "free")
                for word in _FORMS
            }
            weights += [_weights(name, seed, word, fit) for word, fit in fits.items()]
            _say(study, name, seed, fits[chance])
            rows += made.table(fits[chance], budget)
    table = pd.DataFrame(rows)
    means = _means(table)
    title = f"Table 1 from trained models, preset {preset}, budget {budget}: means over seeds (in brackets: printed)"
    study.table(_shown(means), title)
    study.table(_spreads(table), "Tables 2 to 4: average, median and standard deviation over seeds", "spread")
    study.table(pd.DataFrame(weights), "Appendix E: weights per batch (in brackets: printed)", "weights")
    study.table(pd.DataFrame(first), "The first rounds, when every group gives its batches", "rounds")
    study.picture(_figure(table, preset), "reciprocity_table_trained")


def _present(study: Study) -> list[str]:
    """The paper's sets that are there; says which are not, and falls back to digits if there is no picture at all."""
    states = {row.name: row.state for row in status()}
    there = [name for name in murhekar2025.PRINTED if states[name] != "missing"]
    missing = [name for name in murhekar2025.PRINTED if name not in there]
    if missing:
        study.note(f"Data: left out because their files are not there: {', '.join(missing)}; see `fedabm data list`")
    if all(name in murhekar2025.TABLES for name in there):
        study.note("Data: no set of pictures is there, so digits is used instead (FEDABM_DATA sets the folder)")
        there = ["digits", *there]
    return there[:1] + there[-1:] if study.steps else there


_FORMS = ("zero", "free")


def _say(study: Study, name: str, seed: int, fit: Fit) -> None:
    """A bad fit is said aloud."""
    if not fit.usable(_LEAST):
        study.note(
            f"BAD FIT on {name}, seed {seed}: R^2 = {fit.r_squared:.2f}. The accuracy function does not describe what "
            "was trained, so that the equilibria on it say nothing about these owners."
        )


def _weights(name: str, seed: int, form: str, fit: Fit) -> dict[str, object]:
    """One row: the fitted weights beside those of Appendix E, how well they fit, and the accuracy without data."""
    row: dict[str, object] = {"dataset": name, "seed": seed, "chance": form, "a(0)": fit.chance, "R^2": fit.r_squared}
    theirs = murhekar2025.PRINTED[name].weights if name in murhekar2025.PRINTED else ()
    for (g, h), value in np.ndenumerate(fit.accuracy.table):
        printed = f" ({theirs[g][h]:.2g})" if theirs else ""
        row[f"w{g + 1}{h + 1}"] = f"{value:.2g}{printed}"
    return row


class _One:
    """One dataset and seed: three equilibria and what they are worth in training."""

    def __init__(
        self, study: Study, preset: murhekar2025.GroupsPreset, dataset: Dataset, seed: int, cost: float
    ) -> None:
        self.study = study
        self.preset = preset
        self.seed = seed
        self.name = dataset.name
        partition, self.groups = preset.dealt(self.name)
        self.engine: Engine = engine_for(dataset, preset.sized(self.name), seed, partition)
        self.units, self.recipe = preset.units(self.name), preset.training(self.name)
        self.rounds = preset.shortened(study.steps)
        self.costs = generator(seed, "population").uniform(0.0, cost, len(self.groups))

    @property
    def batch(self) -> int:
        """Samples of a batch."""
        return self.units.batch

    def points(self) -> Points:
        """Corners: every group gives nothing or its batches, without strategic behaviour."""
        oracle = Trained(self.engine, self.rounds, self.recipe, self.seed, folder=self.study.scratch)
        profiles = corners(oracle, self.groups, self.preset.corner_samples(self.name, self.engine, self.groups))
        label = f"{self.name}: points to fit"
        found = [measure_corners(oracle, self.groups, one[None]) for one in self.study.track(profiles, label)]
        totals, accuracies = (np.vstack(part) for part in zip(*found, strict=True))
        return Points(totals, accuracies)

    def first_rounds(self, count: int = 2) -> list[dict[str, Any]]:
        """What the model of the fullest corner is worth after each of the first rounds: by this a record is checked."""
        rows = []
        for number in range(1, count + 1):
            oracle = Trained(self.engine, number, self.recipe, self.seed)
            amount = self.preset.corner_samples(self.name, self.engine, self.groups)
            profile = corners(oracle, self.groups, amount)[-1]
            row = {"label": self.name, "seed": self.seed, "step": number, "contribution": float(profile.sum())}
            rows.append({**row, "accuracy": float(oracle.values(profile[None]).mean())})
        return rows

    def table(self, fit: Fit, budget: str) -> list[dict[str, Any]]:
        """The columns of Table 1, from trained models."""
        rules = (NoPayments(), CostSharing(1 - 1 / len(self.groups)), ShapleyShare())
        capacities = self.units.capacities(self.engine.data.capacities)
        rows: list[dict[str, Any]] = []
        base: tuple[Array, Array] | None = None
        for label, rule in zip(murhekar2025.RULES, rules, strict=True):
            found = self._solve(Game(fit.accuracy, self.costs, capacities, rule), label, budget)
            samples = self.units.samples(found.profile, self.engine.data.capacities)
            oracle = Coalition(self.engine, samples, self.rounds, self.recipe, self.seed)
            paid = self._settle(oracle, rule, label)
            accuracies = paid["accuracy"].to_numpy()
            base = base or (found.profile, accuracies)
            gains = {
                "data gain": data_gain(found.profile, base[0]),
                "acc. gain": accuracy_gain(accuracies, base[1]),
            }
            rows.append(self._row(label, found, oracle, paid) | gains | self._quality(fit))
        return rows

    def _solve(self, game: Game, label: str, budget: str) -> Equilibrium:
        options = {} if budget == "converged" else murhekar2025.paper_budget(game.owners, self.seed)
        return self.study.solve(game, f"{self.name}, {label}, fitted", **options)

    def _settle(self, oracle: Coalition, rule: Mechanism, label: str) -> pd.DataFrame:
        """The trained model handed out and paid for: one step in which everybody contributes its equilibrium amount."""
        if isinstance(rule, ShapleyShare):
            rule = self.preset.payments(oracle.owners, self.seed)
        per_sample = self.costs / self.batch
        owners = population(per_sample, oracle.engine.data.capacities, Keep(), oracle.profile)
        made = self.study.simulate(Scenario(owners, oracle, rule, steps=1), f"{self.name}, {label}, trained", self.seed)
        return last_step(made.frames().owners)

    def _row(self, label: str, found: Equilibrium, oracle: Coalition, paid: pd.DataFrame) -> dict[str, Any]:
        accuracies, payments = paid["accuracy"].to_numpy(), paid["payment"].to_numpy()
        orders = None if self.preset.exact(oracle.owners) else self.preset.permutations
        rng, sampled = generator(self.seed, "server", 1), label == "M^Shap"
        returned = murhekar2025.measured_reciprocity(oracle, accuracies, payments, orders, rng, sampled)
        return {
            "dataset": self.name,
            "mechanism": label,
            "seed": self.seed,
            "accuracy %": 100 * float(accuracies.mean()),
            "share %": 100 * float(oracle.profile.sum() / oracle.engine.data.capacities.sum()),
            "batches": ", ".join(f"{value:.1f}" for value in found.profile[:: max(1, len(found.profile) // 3)]),
            "reciprocity": returned.reciprocity,
            "MC error": returned.error,
            "sum of payments": float(payments.sum()),
            "converged": found.converged,
            "gap": found.gap,
            "iterations": found.iterations,
        }

    def _quality(self, fit: Fit) -> dict[str, Any]:
        return {"R^2 of the fit": fit.r_squared, "fit": "good" if fit.usable(_LEAST) else "BAD"}


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds beside the printed values."""
    rows = []
    for (name, label), runs in table.groupby(["dataset", "mechanism"], sort=False):
        row: dict[str, object] = {"dataset": name, "mechanism": label, "seeds": len(runs)}
        for measure in murhekar2025.MEASURES:
            printed = (
                murhekar2025.PRINTED[name].table[measure][murhekar2025.RULES.index(label)]
                if name in murhekar2025.PRINTED
                else np.nan
            )
            row |= {measure: runs[measure].mean(), f"{measure} printed": printed}
        row |= {
            "MC error": runs["MC error"].max(),
            "1 within error": _fair(runs),
            "converged": bool(runs["converged"].all()),
            "gap": runs["gap"].max(),
            "fit": "BAD" if (runs["fit"] == "BAD").any() else "good",
            "batches": runs["batches"].iloc[0],
        }
        rows.append(
            row | {"|sum of payments|": runs["sum of payments"].abs().max(), "R^2": runs["R^2 of the fit"].mean()}
        )
    return pd.DataFrame(rows)


def _fair(runs: pd.DataFrame) -> bool:
    """Whether in every run a reciprocity of 1 is within the sampling error."""
    return bool(np.all((runs["reciprocity"] - 1).abs() <= runs["MC error"] + 1e-9))


def _shown(means: pd.DataFrame) -> pd.DataFrame:
    """Ours and the printed value in one cell, short enough for one line."""
    shown = means[["dataset", "mechanism", "seeds"]].copy()
    for measure in murhekar2025.MEASURES:
        pairs = zip(means[measure], means[f"{measure} printed"], strict=True)
        shown[measure] = [f"{ours:.4g}" + (f" ({theirs:g})" if theirs == theirs else "") for ours, theirs in pairs]
    for name, digits in (("MC error", 2), ("gap", 1), ("|sum of payments|", 1), ("R^2", 3)):
        shown[name] = [float(f"{value:.{digits}g}") for value in means[name]]
    return pd.concat([shown, means[["1 within error", "fit", "batches", "converged"]]], axis=1)


def _spreads(table: pd.DataFrame) -> pd.DataFrame:
    """One row per dataset, mechanism and column of Table 1."""
    long = table.melt(["dataset", "mechanism"], list(murhekar2025.MEASURES), "measure")
    found = long.groupby(["dataset", "mechanism", "measure"], sort=False)["value"].agg(["mean", "median", "std"])
    return found.rename(columns={"mean": "average", "std": "deviation"}).reset_index()


def _figure(table: pd.DataFrame, preset: str) -> Figure:
    """One panel per column of Table 1; per dataset and mechanism our bar beside the printed one."""
    figure, axes = panels(4, rows=2, width=5.0, height=2.9)
    seeds = table["seed"].nunique()
    for panel, measure in zip(axes, ("accuracy %", "share %", "acc. gain", "reciprocity"), strict=True):
        for k, label in enumerate(murhekar2025.RULES):
            _bars(panel, table[table["mechanism"] == label], measure, k)
        dress(panel, measure, "", "")
        names = list(table["dataset"].unique())
        panel.set(xticks=np.arange(len(names)), xticklabels=names)
        panel.grid(visible=False, axis="x")
    bands = "one seed" if seeds == 1 else f"bars: least and most of {seeds} seeds"
    axes[0].set_title(f"accuracy % (preset {preset}; {bands})")
    axes[3].set_title("reciprocity, measured on trained models")
    shared_legend(figure, axes[0])
    return figure


def _bars(panel: Axes, runs: pd.DataFrame, measure: str, k: int) -> None:
    """The bars of one mechanism: means over seeds with their band, beside the printed values."""
    names, width = list(runs["dataset"].unique()), 0.13
    several = runs.groupby("dataset", sort=False)[measure]
    mean, colour = several.mean(), protocol_looks(murhekar2025.RULES)[murhekar2025.RULES[k]].colour
    place, symbol = np.arange(len(names)) + (2 * k - 2.5) * width, f"$\\mathcal{{M}}^{{{murhekar2025.RULES[k][2:]}}}$"
    band = np.maximum([mean - several.min(), several.max() - mean], 0.0)
    band = np.where(np.isfinite(band) & (mean.to_numpy() >= -1), band, 0.0)
    panel.bar(place, mean.clip(-1, None), width, yerr=band, capsize=2, color=colour, label=f"{symbol} trained here")
    for where, value in zip(place, mean, strict=True):
        if value < -1:  # the bar is cut off there
            text = "$-\\infty$" if np.isinf(value) else f"{value:.1f}"
            panel.text(where, -0.06, text, ha="center", va="top", rotation=90, color="white")
    theirs = [
        murhekar2025.PRINTED[name].table[measure][k] if name in murhekar2025.PRINTED else np.nan for name in names
    ]
    style = {"facecolor": "white", "edgecolor": colour, "hatch": "////", "linewidth": 1.0}
    panel.bar(place + width, theirs, width, label=f"{symbol} printed", **style)


if __name__ == "__main__":
    run_script(__file__)
