"""Do owners fare better if they may choose how much to contribute, and better still if they share their costs?

Table 1 of Murhekar et al. 2023: p-mean welfare of FedAvg, MWFed, FedBR and FedBR-BG on MNIST and CIFAR-10.  The server
measures a public accuracy curve once, at intervals of data; owners take gradient steps on its raw difference quotients,
in multiples of the interval (or, with envelope=true, respond exactly to the least concave curve above it); then a model
is trained from the start on what they end at.  An owner's utility is its accuracy on its own test part less its cost of
0.005 per sample, with FedBR-BG less its share of the others' costs.  The printed numbers are unnormalised,
(sum_i u_i^p)^(1/p), and fit 10 owners on both sets, though the text has 100 on CIFAR-10; both forms are shown.

MWFed (Blum et al. 2021) is not specified in the paper: here the model is trained in rounds in which all owners together
use `mw_share` of all data, and weights of owners whose accuracy is below `goal` grow by 10% a round.

A p-mean with p < 1 is not defined if an owner loses; such seeds are left out of that column, and the table says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fedabm import Frames, run_script
from fedabm.accuracy import Announced
from fedabm.checks import check_count, check_positive, check_range
from fedabm.figures import LINES, dress, last_step, panels, protocol_looks, seeds_of, shared_legend
from fedabm.learning import SGD, Learning, MeasuredCurve, Recipe, Trained
from fedabm.papers import Preset, Size, Sizes, choose, engine_for, fed_avg, murhekar2023, mw_fed, spread
from fedabm.solving import p_mean_welfare
from fedabm.strategies import Keep
from fedabm.study import Study, generator

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
    """Game steps, interval of the public curve, and step of the response."""

    game: int
    interval: int
    step: float = 3300.0


_PRESETS = {
    "quick": Steps(
        size=Size(10, 100, 40, "logistic"),
        rounds=30,
        seeds=3,
        recipe=Recipe(batch=10, optimiser=SGD(0.02, momentum=0.9)),
        game=40,
        interval=25,
    ),
    # The paper's owners, data, network and rates.  Utilities of neighbouring protocols differ by some hundredths, and
    # so does the mean accuracy over 500 test images from seed to seed: six paired seeds tell a gap of that size.
    "decisive": Steps(
        size=Size(10, 100, 50, "mnist_cnn"),
        rounds=40,
        seeds=6,
        recipe=Recipe(batch=10, optimiser=SGD(0.01, momentum=0.9)),
        game=100,
        interval=25,
    ),
    "paper": Steps(
        size=Size(10, 100, 10, "mnist_cnn"),
        rounds=50,
        seeds=10,
        recipe=Recipe(batch=10, optimiser=SGD(0.01, momentum=0.9)),
        game=100,
        interval=10,
    ),
}


def run(
    study: Study,
    preset: Sizes = "quick",
    data: Literal["auto", "mnist", "digits", "fashion_mnist", "cifar10"] = "auto",
    owners: int = 0,
    cost: float = 0.005,
    goal: float = 0.8,
    mw_share: float = 0.8,
    envelope: bool = False,
    interval: int = 0,
    seeds: int = 0,
) -> None:
    """The four protocols on the same owners and seeds; `owners` and `seeds` = 0 take the preset's numbers.

    That is 10 owners, but 100 for CIFAR-10 in the paper's preset.

    preset    size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
              sizes
    data      which data set (auto: the preset's own, or digits where its files are not at hand)
    owners    number of owners (0: as the preset says)
    cost      cost of a sample, in units of accuracy
    goal      accuracy below which MWFed gives an owner more weight
    mw_share  share of all data that MWFed uses in a round
    interval  samples between two points of the public curve (0: as the preset says)
    envelope  whether owners respond to the least concave curve above the measured points
    seeds     how often it is repeated with new draws (0: as often as the preset says)

    Takes some minutes with preset=quick.
    """
    check_positive("cost", cost)
    check_range("mw_share", mw_share, 1e-6, 1.0)
    check_count("interval", interval, 0)
    chosen, dataset = _PRESETS[preset], choose(data, study.note)
    chosen = replace(chosen, interval=interval or chosen.interval)
    size = _size(chosen.size, preset, data, owners)
    curve = None
    for seed in chosen.series(study.seed, seeds):
        engine = engine_for(dataset, size, seed)
        capacities = engine.data.capacities
        owned = ([cost] * len(capacities), capacities)
        model = Learning(engine, chosen.recipe, seed=seed, rounds=chosen.rounds)
        weighted = mw_fed(goal, mw_share * float(capacities.sum())).scenario(model, *owned, steps=chosen.rounds)
        study.simulate(weighted, "MWFed", seed)
        oracle = Trained(engine, chosen.rounds, chosen.recipe, seed, folder=study.scratch)
        curve = curve or _public_curve(study, oracle, chosen.interval, concave=envelope)
        unit, step = chosen.interval, None if envelope else chosen.step
        starts = unit * np.floor(generator(seed, "population").uniform(0, capacities / unit + 1))
        for rule in (fed_avg(), murhekar2023.fed_br(step, unit), murhekar2023.fed_br_bg(step, unit=unit)):
            game = rule.scenario(curve, *owned, starts, steps=chosen.game)
            ends = study.simulate(game, f"{rule.name} on the curve", seed).population.contribution
            # Only what owners end at is trained: nobody reads the accuracies on the way there.
            settled = replace(rule, strategy=Keep()).scenario(Announced(oracle, curve), *owned, ends, steps=1)
            study.simulate(settled, rule.name, seed)
    _show(study, curve, dataset.name, size.owners)


def _size(size: Size, preset: Sizes, data: str, owners: int) -> Size:
    """The preset's, with as many owners as asked for, and the paper's network and owners on CIFAR-10."""
    if preset != "quick" and data == "cifar10":
        size = replace(size, network="vgg11", owners=100 if preset == "paper" else size.owners)
    return replace(size, owners=owners) if owners else size


def _show(study: Study, curve: MeasuredCurve, data: str, owners: int) -> None:
    """Tables and picture."""
    frames = study.frames
    welfare = _welfare(frames)
    title = f"p-mean welfare on {data}, {owners} owners: mean over seeds, and as printed (unnormalised)"
    study.table(_table(welfare, _PRINTED.get(data, ())), title)
    study.table(
        _order(welfare), "Does the order FedBR-BG >= FedBR >= FedAvg hold? Paired over seeds, normalised", "order"
    )
    study.table(welfare, "Welfare by seed", "seeds", shown=False)
    study.table(_details(frames), "What each protocol ends at; gaps are those on the public curve", "details")
    study.table(_rounds(frames, curve, study.seed), "The public curve, and MWFed by round", "rounds", shown=False)
    study.picture(_figure(frames, welfare, curve, data), "p_mean_table")


def _public_curve(study: Study, oracle: Trained, interval: int, *, concave: bool) -> MeasuredCurve:
    """Accuracies of models trained on 0, ds, 2 ds, ... samples; a shortened study measures the first few of them."""
    capacities = oracle.engine.data.capacities
    wanted = range(0, int(capacities.sum()), interval)
    totals = np.unique([*wanted[: None if study.steps is None else study.steps + 1], capacities.sum()])
    return MeasuredCurve.measure(oracle, totals, concave=concave, track=study.track)


def _rounds(frames: Frames, curve: MeasuredCurve, seed: int) -> pd.DataFrame:
    """What was trained one after the other: totals of the curve, and rounds of MWFed."""
    points = {"label": "public curve", "seed": seed, "step": curve.totals.array, "accuracy": curve.accuracies.array}
    steps = frames.steps.merge(frames.runs[["run", "label", "seed"]], on="run")
    mw_fed = steps.loc[steps["label"] == "MWFed", ["label", "seed", "step", "accuracy"]]
    return pd.concat([pd.DataFrame(points), mw_fed], ignore_index=True)


def _welfare(frames: Frames) -> pd.DataFrame:
    """One row per run and power: both forms, nan where an owner's loss leaves the mean undefined."""
    utilities = {run: rows["utility"].to_numpy() for run, rows in last_step(frames.owners).groupby("run")}
    rows = []
    for one in frames.runs[frames.runs["label"].isin(_NAMES)].itertuples():
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
        for better, worse in (("FedBR-BG", "FedBR"), ("FedBR", "FedAvg"), ("FedBR", "MWFed"), ("MWFed", "FedAvg")):
            gains = (wide.loc[p, better] - wide.loc[p, worse]).dropna().to_numpy()
            row[f"{better} - {worse}"] = _cell(gains)
            row[f"{better} >= {worse}"] = _verdict(gains)
        rows.append(row)
    return pd.DataFrame(rows)


def _verdict(gains: np.ndarray) -> str:
    if not len(gains):
        return "undefined: an owner loses"
    mean, width = spread(gains)
    if len(gains) == 1:
        return "one seed decides nothing"
    if mean >= 0:
        return "holds" if not width > mean else "holds on average, within the spread over seeds"
    return "does not hold" + (", within the spread over seeds" if width > -mean else "")


def _details(frames: Frames) -> pd.DataFrame:
    """Data, accuracy, cost and utility of each protocol, means over owners and seeds."""
    final = last_step(frames.owners).merge(frames.runs[["run", "label", "gap"]], on="run")
    final["protocol"] = final["label"].str.removesuffix(" on the curve")
    gaps = final[final["label"] != final["protocol"]].groupby("protocol")["gap"].max()
    groups = (
        final[final["label"] == final["protocol"]]
        .groupby("protocol")
        .agg({"contribution": "sum", "capacity": "sum", "accuracy": "mean", "cost": "mean", "utility": ["mean", "min"]})
    )
    rows = [
        {
            "protocol": name,
            "data used %": 100 * groups.loc[name, ("contribution", "sum")] / groups.loc[name, ("capacity", "sum")],
            "accuracy": groups.loc[name, ("accuracy", "mean")],
            "cost": groups.loc[name, ("cost", "mean")],
            "utility": groups.loc[name, ("utility", "mean")],
            "worst utility": groups.loc[name, ("utility", "min")],
            "largest gap": gaps.get(name, np.nan),
        }
        for name in _NAMES
    ]
    return pd.DataFrame(rows)


def _figure(frames: Frames, welfare: pd.DataFrame, curve: MeasuredCurve, data: str) -> Figure:
    """The public curve with what each protocol ends at, and the normalised means against p."""
    figure, (left, right) = panels(2, width=4.4, height=3.3)
    left.plot(curve.totals.array, curve.accuracies.array, color="0.6", linewidth=1)
    final = last_step(frames.owners).merge(frames.runs[["run", "label"]], on="run")
    for turn, (name, look) in enumerate(protocol_looks(_NAMES).items()):
        runs = (
            final[final["label"] == name]
            .groupby("run")
            .agg(data=("contribution", "sum"), accuracy=("accuracy", "mean"))
        )
        left.plot(runs["data"], runs["accuracy"], look.marker, color=look.colour, label=name)
        mine = welfare[welfare["protocol"] == name].groupby("p")["normalised"].agg(lambda u: spread(u)[0])
        wide = welfare[welfare["protocol"] == name].groupby("p")["normalised"].agg(lambda u: spread(u)[1]).fillna(0.0)
        style = {"color": look.colour, "linestyle": LINES[turn], "marker": look.marker, "label": name}
        right.errorbar(mine.index + 0.008 * (turn - 1.5), mine, wide, capsize=3, **style)
    dress(left, f"public curve (grey) and outcomes, {data}", "samples of all owners", "mean test accuracy")
    seeds = seeds_of(welfare["seed"].nunique(), "95%")
    dress(right, f"p-mean welfare, normalised ({seeds})", "p", r"$W_p$ of utilities")
    right.set_xlim(_POWERS[0] - 0.05, _POWERS[-1] + 0.05)
    shared_legend(figure, right)
    return figure


if __name__ == "__main__":
    run_script(__file__)
