"""What becomes of a market of models when owners leave after a loss and newcomers arrive?

Owners quit after a round with negative utility, strictly or with probability 1/2, and keep their best model so far;
some join between rounds (the limitation that iPFL 2025 names for itself).  The market beside rivals without payments,
on the same owners, data and draws.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fedabm import Frames, InputError, OwnerProfile, run_script
from fedabm.checks import check_count, check_range, check_whole, nearest
from fedabm.figures import LINES, banded, dress, panels, protocol_looks, run_summary, spread_words
from fedabm.papers import Sizes, ipfl2025
from fedabm.strategies import Honest, Quitter
from fedabm.study import Study

MODES = {"strict": 1.0, "half": 0.5}


def run(
    study: Study,
    preset: Sizes = "quick",
    data: ipfl2025.Data = "auto",
    split: ipfl2025.Split = "cluster",
    rules: tuple[str, ...] = ("iPFL", "FedAvg", "CFL", "pFedGraph"),
    newcomers: int = 3,
    joins: int = 5,
    seeds: int = 3,
) -> None:
    """Every rule with strict and with hesitant quitters; the last owner of each group joins late.

    preset     size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
               sizes
    data       which data set (auto: the preset's own)
    split      how data differ between owners
    rules      ways of sharing models, by name
    newcomers  how many of the twelve owners join late
    joins      round in which they join
    seeds      how often it is repeated with new draws

    Takes some minutes with preset=quick.
    """
    check_count("seeds", seeds)
    check_whole("joins", joins)
    setting = ipfl2025.market_setting(preset, data, 12, split)
    check_range("newcomers", newcomers, 0, setting.owners)
    known = ipfl2025.market_rules(setting)
    for rule in rules:
        if rule not in known:
            raise InputError(f"no rule is called {rule!r}; {nearest(rule, known)}")
    for seed in range(study.seed, study.seed + seeds):
        owned = setting.federated(seed)
        people, accuracy = ipfl2025.honest_owners(setting, owned), setting.accuracy(owned)
        for mode in MODES:
            owners = _owners(people, MODES[mode], newcomers, joins)
            for rule in rules:
                study.simulate(setting.scenario(owners, accuracy, known[rule]), f"{rule}, {mode}", seed)
    what = f"{setting.data}, {split}"
    study.table(_summary(study.frames), f"{what}: 12 owners, {newcomers} of them from round {joins} on")
    words = f"{what}: means, {spread_words(seeds, 'bands')}; dotted: newcomers arrive"
    study.picture(_figure(study.frames, words), "market_churn")


def _owners(people: list[OwnerProfile], chance: float, newcomers: int, joins: int) -> list[OwnerProfile]:
    """Quitters all; newcomers are spread over the owners, so that every group gets some."""
    stride = max(len(people) // max(newcomers, 1), 1)
    late = {len(people) - 1 - stride * k for k in range(newcomers)}
    patient = Quitter(Honest(), tolerance=1e-9, chance=chance)
    return [replace(one, strategy=patient, joins=joins if i in late else 1) for i, one in enumerate(people)]


def _summary(frames: Frames) -> pd.DataFrame:
    """Who is left, what owners have in the end (who left keeps its best model), and what they gained on the way."""
    table = run_summary(frames)
    last = frames.steps.groupby("run")["present"].last()
    table["left over"] = table["run"].map(last)
    groups = table.groupby("label", sort=False)
    columns = {
        "left over": "present at the end",
        "accuracy": "accuracy",
        "utility": "utility",
        "negative": "lost overall",
    }
    shown = groups[list(columns)].mean().rename(columns=columns)
    shown.insert(1, "s.d.", groups["left over"].std())
    return shown.reset_index()


def _figure(frames: Frames, words: str) -> Figure:
    """Owners present and mean utility of those present, round by round."""
    figure, (left, right) = panels(2, width=4.6, height=3.3)
    steps = frames.steps.merge(frames.runs[["run", "label"]], on="run")
    steps["mean utility"] = steps["welfare"] / steps["present"].clip(lower=1)
    looks = protocol_looks(dict.fromkeys(label.split(", ")[0] for label in steps["label"]))
    for label in dict.fromkeys(steps["label"]):
        rule, mode = label.split(", ")
        look = {"color": looks[rule].colour, "marker": looks[rule].marker, "linestyle": LINES[mode == "half"]}
        banded(left, steps[steps["label"] == label], "present", label=label, **look)
        banded(right, steps[steps["label"] == label], "mean utility", **look)
    arrivals = frames.owners[frames.owners["stayed"]].groupby(["run", "owner"])["step"].min()
    for panel in (left, right):
        for step in sorted(set(arrivals) - {1}):
            panel.axvline(step, color="0.4", linestyle=":", linewidth=1)
    right.axhline(0.0, color="0.3", linewidth=0.8)
    dress(left, "who stays", "round", "owners present (of 12)")
    dress(right, "what it is worth to them", "round", "utility per owner present")
    left.set_ylim(bottom=0)
    left.yaxis.set_major_locator(MaxNLocator(integer=True))
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=4, frameon=False)
    figure.suptitle(words, fontsize="medium")
    return figure


if __name__ == "__main__":
    run_script(__file__)
