"""Which way of sharing models is best for accuracy, and which for the owners' utility?

The market iPFL beside training alone and the seven rivals of its paper, on the same owners, data and draws: accuracy in
the last round against utility over all rounds (iPFL 2025, Figure 2), for several partitions of the data, over several
seeds.  FedAvg and FedProx are judged by the mean model, all others by what owners have after local training.  No round
is chosen by its test accuracy; the best round stands beside the last in the table.  `moved` says by which share of
them owners' utilities changed in the last round, in the seed in which that was most.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from fedabm import InputError, run_script
from fedabm.checks import check_count, nearest
from fedabm.figures import by_label, comparison_picture, counted, owner_sums, run_summary, spread_words, utility_spread
from fedabm.mechanisms import Mechanism
from fedabm.papers import Sizes, ipfl2025
from fedabm.study import Study

SPLITS = ("niid", "cluster", "skew", "natural")


def run(
    study: Study,
    preset: Sizes = "quick",
    data: ipfl2025.Data = "auto",
    splits: tuple[str, ...] = ("niid", "cluster", "skew"),
    rules: tuple[str, ...] = (),
    owners: int = 10,
    rounds: int | None = None,
    seeds: int = 3,
) -> None:
    """Run every rule on every partition with every seed.

    preset  size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
            sizes
    data    which data set (auto: the preset's own)
    splits  how data differ between owners, each in runs of its own: niid, cluster, skew, or natural where owners
            are given (data=pacs, shakespeare, sent140, femnist)
    rules   ways of sharing models, by name, beside Local and iPFL (none: all rivals of the paper)
    owners  number of owners
    rounds  how many rounds, where the preset is not decisive (none: the preset's)
    seeds   how often it is repeated with new draws

    Takes some minutes with preset=quick.
    """
    check_count("seeds", seeds)
    _check_rounds(rounds, preset)
    tables = []
    used = []
    sizes = []
    for split in splits:
        if split not in SPLITS:
            raise InputError(f"no partition is called {split!r}; {nearest(split, SPLITS)}")
        first = len(study.frames.runs)
        setting = ipfl2025.market_setting(preset, data, owners, split, rounds)  # type: ignore[arg-type]
        used.append(setting.data)
        sizes.append(f"{setting.owners} in {split}")
        _split(study, setting, _chosen(ipfl2025.market_rules(setting), rules), seeds)
        table = run_summary(study.frames, setting.length)
        tables.append(table[table["run"] >= first].assign(split=split))
    found = pd.concat(tables)
    what = " and ".join(dict.fromkeys(used))
    study.table(_summary(found), f"{what}: last round's accuracy and utility over all rounds, {counted(seeds)}")
    study.table(_spread(study, found, setting.length), f"{what}: utilities of single owners over all rounds", "spread")
    _say(study)
    words = f"{what}; owners: {', '.join(sizes)}; {spread_words(seeds)}"
    study.picture(comparison_picture(found, splits, words), "market_comparison")


def _check_rounds(rounds: int | None, preset: Sizes) -> None:
    if rounds is not None:
        check_count("rounds", rounds)
        if preset == "decisive":
            raise InputError(f"preset=decisive has rounds of its own, got rounds={rounds}; leave them out")


def _chosen(known: dict[str, Mechanism], names: tuple[str, ...]) -> dict[str, Mechanism]:
    """The rules of these names, and the two that everything is held against."""
    for name in names:
        if name not in known:
            raise InputError(f"no rule is called {name!r}; {nearest(name, known)}")
    return {label: rule for label, rule in known.items() if not names or label in ("Local", "iPFL", *names)}


def _split(study: Study, setting: ipfl2025.MarketSetting, rules: dict[str, Mechanism], seeds: int) -> None:
    """All rules on one partition."""
    for seed in range(study.seed, study.seed + seeds):
        owned = setting.federated(seed)
        people, accuracy = ipfl2025.honest_owners(setting, owned), setting.accuracy(owned)
        for label, rule in rules.items():
            study.simulate(setting.scenario(people, accuracy, rule), label, seed)


def _summary(found: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation over seeds, by partition and rule."""
    parts = []
    for split, table in found.groupby("split", sort=False):
        columns = ["accuracy", "best", "utility", "final", "imports"]
        shown = by_label(table, columns).drop(columns=["best s.d.", "final s.d.", "imports s.d."])
        unsettled = table.groupby("label", sort=False)["moved"].max()
        parts.append(shown.assign(split=split, moved=shown["label"].map(unsettled)))
    table = pd.concat(parts, ignore_index=True)
    table.insert(0, "split", table.pop("split"))
    return table.rename(columns={"best": "best round", "final": "utility in the last round"})


def _spread(study: Study, runs: pd.DataFrame, length: int | None) -> pd.DataFrame:
    """Who gains and who loses, by partition and rule (Figure 3)."""
    owners, parts = owner_sums(study.frames, length), []
    for split, some in runs.groupby("split", sort=False):
        chosen = owners[owners["run"].isin(some["run"])]
        parts.append(utility_spread(chosen, study.frames.owners).assign(split=split))
    table = pd.concat(parts, ignore_index=True)
    table.insert(0, "split", table.pop("split"))
    return table


def _say(study: Study) -> None:
    """Where the market stands."""
    table = study.tables["summary"]
    for split, rows in table.groupby("split", sort=False):
        rows = rows.set_index("label")
        first = rows["utility"].idxmax()
        study.note(f"{split}: most utility {first} ({rows['utility'].max():.3g}); {_standing(rows['accuracy'])}")
        if {"iPFL", "FedAMP"} <= set(rows.index):
            points, utility = (rows.loc["iPFL", name] - rows.loc["FedAMP", name] for name in ("accuracy", "utility"))
            against = f"iPFL against FedAMP {100 * points:+.2f} points of accuracy and {utility:+.4g} in utility"
            study.note(f"{split}: {against}; the paper's text has +1.75 and +217.4, in a setting not named.")


def _standing(accuracy: pd.Series) -> str:
    """How good the market's models are beside those of other rules."""
    if accuracy.nunique() == 1:
        return f"all rules have the same accuracy, {accuracy.iloc[0]:.3g}: too early to tell them apart."
    rank = int(np.sum(accuracy > accuracy["iPFL"])) + 1
    better = 100 * (accuracy["iPFL"] - accuracy["Local"])
    return f"iPFL's accuracy is number {rank} of {len(accuracy)}, {better:+.2f} points against training alone."


if __name__ == "__main__":
    run_script(__file__)
