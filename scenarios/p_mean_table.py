"""Do owners fare better if they may choose how much to contribute, and better still if they share their costs?

Table 1 of Murhekar et al. 2023: p-mean welfare of FedAvg, MWFed, FedBR and FedBR-BG on MNIST and CIFAR-10 (10 owners on
both: what is printed fits no other number).  The server measures a public accuracy curve at intervals of data; owners
respond to it; in each game step a model is trained from the start, and an owner's utility is its accuracy on its own
test part less its cost of 0.005 per sample, with FedBR-BG less its share of the others' costs.  The printed numbers are
unnormalised, (sum_i u_i^p)^(1/p); both forms are shown.

MWFed (Blum et al. 2021) is not specified in the paper: here all owners together use at most `mw_share` of all data per
step, an owner's share shrinks by 10% while its own accuracy is at least `goal`, and shares are renormalised one step
later: if all are content, they use a tenth less.

A p-mean with p < 1 is not defined if an owner loses; such seeds are left out of that column, and the table says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Frames
from fedabm.analysis.curves import COLOURS, LINES, dress, panels, shared_legend
from fedabm.analysis.figures import last_step
from fedabm.cli import run_script
from fedabm.common.errors import check_positive, check_range
from fedabm.common.random import generator
from fedabm.games.accuracy import Announced
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles import Curve, Trained
from fedabm.learning.oracles.curve import proportional
from fedabm.learning.rules.recipe import Recipe
from fedabm.papers.murhekar2023.protocols import fed_br, fed_br_bg
from fedabm.papers.presets import Preset, Size, choose, engine_for, spread
from fedabm.papers.protocols import fed_avg, mw_fed
from fedabm.solving.metrics import p_mean_welfare
from fedabm.study.study import Study

_POWERS = (0.2, 0.4, 0.6, 0.8, 1.0)
_NAMES = ("FedAvg", "MWFed", "FedBR", "FedBR-BG")
_PRINTED = {
    "mnist": (
        (48985.23, 154.99, 22.763, 8.726, 4.909),
        (51326.49, 158.92, 21.648, 8.803, 5.230),
        (53395.21, 168.85, 24.784, 9.495, 5.340),
        (54589.31, 172.63, 25.340, 9.708, 5.459),
    ),
    "cifar10": (
        (42386.21, 135.92, 23.528, 8.381, 4.582),
        (48178.29, 142.91, 23.981, 8.879, 4.891),
        (58297.23, 178.32, 26.187, 9.675, 5.681),
        (60385.32, 183.23, 27.958, 9.981, 5.891),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Steps(Preset):
    """Game steps, interval of the public curve, and step of the response (None: exact)."""

    game: int
    interval: int
    step: float | None


_PRESETS = {
    "quick": Steps(
        size=Size(10, 100, 40, "logistic"),
        rounds=30,
        seeds=3,
        recipe=Recipe(batch=10, optimiser=SGD(0.02, momentum=0.9)),
        game=12,
        interval=25,
        step=None,
    ),
    "paper": Steps(
        size=Size(10, 100, 10, "mnist_cnn"),
        rounds=50,
        seeds=10,
        recipe=Recipe(batch=10, optimiser=SGD(0.01, momentum=0.9)),
        game=100,
        interval=10,
        step=3300.0,
    ),
}


def run(
    study: Study,
    preset: Literal["quick", "paper"] = "quick",
    data: Literal["auto", "mnist", "digits", "fashion_mnist", "cifar10"] = "auto",
    cost: float = 0.005,
    goal: float = 0.8,
    mw_share: float = 0.8,
    seeds: int = 0,
) -> None:
    """The four protocols on the same owners and seeds; `seeds` = 0 takes the preset's number."""
    check_positive("cost", cost)
    check_range("mw_share", mw_share, 1e-6, 1.0)
    chosen, dataset = _PRESETS[preset], choose(data, study.note)
    size = replace(chosen.size, network="vgg11") if (preset, data) == ("paper", "cifar10") else chosen.size
    curves = []
    for seed in chosen.series(study.seed, seeds):
        engine = engine_for(dataset, size, seed)
        oracle = Trained(engine, chosen.shortened(study.steps), chosen.recipe, seed, folder=study.scratch)
        curves.append(_public_curve(study, oracle, chosen.interval if study.steps is None else 400))
        capacities = engine.data.capacities
        starts = 10 * np.floor(generator(seed, "population").uniform(0, capacities / 10 + 1))
        everything = float(capacities.sum())
        rules = (fed_avg(), mw_fed(goal, mw_share * everything), fed_br(chosen.step), fed_br_bg(chosen.step))
        for rule in rules:
            first = np.full(len(capacities), mw_share) * capacities if rule.name == "MWFed" else starts
            game = Announced(oracle, curves[-1])
            costs = [cost] * len(capacities)
            study.simulate(rule.scenario(game, costs, capacities, first, steps=chosen.game), rule.name, seed)
    frames = study.frames
    welfare = _welfare(frames)
    title = f"p-mean welfare on {dataset.name}: mean over seeds, and as printed (unnormalised)"
    study.table(_table(welfare, _PRINTED.get(dataset.name, ())), title)
    study.table(
        _order(welfare), "Does the order FedBR-BG >= FedBR >= FedAvg hold? Paired over seeds, normalised", "order"
    )
    study.table(_details(frames), "Last game step; the gap is that of the game on the public curve", "details")
    study.picture(_figure(frames, welfare, curves, dataset.name), "p_mean_table")


def _public_curve(study: Study, oracle: Trained, interval: int) -> Curve:
    """Accuracies of models trained on 0, ds, 2 ds, ... samples; the least concave curve above them is announced."""
    capacities = oracle.engine.data.capacities
    totals = np.unique([*range(0, int(capacities.sum()), interval), capacities.sum()])
    for total in study.track(totals, "public curve"):
        oracle.values(proportional(total, capacities)[None])  # which it remembers
    return Curve.measure(oracle, totals, concave=True)


def _welfare(frames: Frames) -> pd.DataFrame:
    """One row per run and power: both forms, nan where an owner's loss leaves the mean undefined."""
    utilities = {run: rows["utility"].to_numpy() for run, rows in last_step(frames.owners).groupby("run")}
    rows = []
    for one in frames.runs.itertuples():
        for p in _POWERS:
            known = p == 1 or np.all(utilities[one.run] >= 0)
            forms = [p_mean_welfare(utilities[one.run], p, norm) if known else np.nan for norm in (True, False)]
            rows.append((one.label, one.seed, p, *forms))
    return pd.DataFrame(rows, columns=["protocol", "seed", "p", "normalised", "unnormalised"])


def _table(welfare: pd.DataFrame, printed: tuple[tuple[float, ...], ...]) -> pd.DataFrame:
    """Rows as in the paper, a column for each power; nothing is printed for other sets than the paper's."""
    rows = []
    for place, name in enumerate(_NAMES):
        mine = welfare[welfare["protocol"] == name]
        for form in ("normalised", "unnormalised"):
            cells = [_cell(mine.loc[mine["p"] == p, form].to_numpy()) for p in _POWERS]
            rows.append([name, form, *cells])
        rows += [[name, "printed", *(f"{value:,.5g}" for value in row)] for row in printed[place : place + 1]]
    return pd.DataFrame(rows, columns=["protocol", "form", *(f"p = {p:g}" for p in _POWERS)])


def _cell(values: np.ndarray) -> str:
    """Mean and interval; says if seeds are left out."""
    known = values[np.isfinite(values)]
    if not len(known):
        return "undefined: an owner loses"
    mean, width = spread(known)
    left_out = f" ({len(values) - len(known)} of {len(values)} seeds undefined)" if len(known) < len(values) else ""
    return f"{mean:,.4g} +- {width:,.2g}{left_out}"


def _order(welfare: pd.DataFrame) -> pd.DataFrame:
    """Paired differences of neighbouring protocols for every power, and a verdict in words."""
    wide = welfare.pivot(index=["p", "seed"], columns="protocol", values="normalised")
    rows = []
    for p in _POWERS:
        row: dict[str, object] = {"p": p}
        for better, worse in (("FedBR-BG", "FedBR"), ("FedBR", "FedAvg"), ("FedBR", "MWFed")):
            gains = (wide.loc[p, better] - wide.loc[p, worse]).dropna().to_numpy()
            row[f"{better} - {worse}"] = _cell(gains)
            row[f"{better} >= {worse}"] = _verdict(gains)
        rows.append(row)
    return pd.DataFrame(rows)


def _verdict(gains: np.ndarray) -> str:
    if not len(gains):
        return "undefined: an owner loses"
    mean, width = spread(gains)
    if mean >= 0:
        return "holds" if not width > mean else "holds on average, within the spread over seeds"
    return "does not hold" + (", within the spread over seeds" if width > -mean else "")


def _details(frames: Frames) -> pd.DataFrame:
    """Data, accuracy, cost and utility of each protocol, means over owners and seeds."""
    final = last_step(frames.owners).merge(frames.runs[["run", "label", "gap", "status"]], on="run")
    groups = final.groupby("label", sort=False)
    return pd.DataFrame(
        {
            "protocol": list(groups.groups),
            "data used %": (100 * groups["contribution"].sum() / groups["capacity"].sum()).to_numpy(),
            "accuracy": groups["accuracy"].mean().to_numpy(),
            "cost": groups["cost"].mean().to_numpy(),
            "utility": groups["utility"].mean().to_numpy(),
            "worst utility": groups["utility"].min().to_numpy(),
            "largest gap": groups["gap"].max().to_numpy(),
            "runs": groups["status"].agg(lambda ended: ", ".join(sorted(set(ended)))).to_numpy(),
            "information": groups["information"].agg(lambda rests: ", ".join(sorted(set(rests)))).to_numpy(),
        }
    )


def _figure(frames: Frames, welfare: pd.DataFrame, curves: list[Curve], data: str) -> Figure:
    """The public curves with what each protocol ends at, and the normalised means against p."""
    figure, (left, right) = panels(2, width=4.4, height=3.3)
    for curve in curves:
        left.plot(curve.totals.array, curve.accuracies.array, color="0.6", linewidth=1)
    final = last_step(frames.owners).merge(frames.runs[["run", "label"]], on="run")
    for turn, name in enumerate(_NAMES):
        runs = (
            final[final["label"] == name]
            .groupby("run")
            .agg(data=("contribution", "sum"), accuracy=("accuracy", "mean"))
        )
        left.plot(runs["data"], runs["accuracy"], "os^D"[turn], color=COLOURS[turn], label=name)
        mine = welfare[welfare["protocol"] == name].groupby("p")["normalised"].agg(lambda u: spread(u)[0])
        wide = welfare[welfare["protocol"] == name].groupby("p")["normalised"].agg(lambda u: spread(u)[1]).fillna(0.0)
        style = {"color": COLOURS[turn], "linestyle": LINES[turn], "marker": "os^D"[turn], "label": name}
        right.errorbar(mine.index + 0.008 * (turn - 1.5), mine, wide, capsize=3, **style)
    dress(left, f"announced curves (grey) and outcomes, {data}", "samples of all owners", "mean test accuracy")
    seeds = welfare["seed"].nunique()
    dress(right, f"p-mean welfare, normalised ({seeds} seeds, 95%)", "p", r"$W_p$ of utilities")
    right.set_xlim(_POWERS[0] - 0.05, _POWERS[-1] + 0.05)
    shared_legend(figure, right)
    return figure


if __name__ == "__main__":
    run_script(__file__)
