"""Who had better stay away: how are utilities spread over owners under each way of sharing models?

The market iPFL beside training alone and the rivals of its paper on the same owners, data and draws: utilities of
single owners over all rounds (iPFL 2025, Figure 3).  Individual rationality means that nobody is left of zero.
"""

from __future__ import annotations

import pandas as pd

from fedabm.analysis.market_runs import owner_sums, utility_picture
from fedabm.cli import run_script
from fedabm.common.errors import check_whole
from fedabm.papers.ipfl2025.settings import Data, Preset, Split, honest_owners, market_rules, market_setting
from fedabm.study.study import Study


def run(
    study: Study,
    preset: Preset = "quick",
    data: Data = "auto",
    split: Split = "niid",
    owners: int = 10,
    seeds: int = 3,
) -> None:
    """Run every rule with every seed and show all owners."""
    check_whole("seeds", seeds)
    setting = market_setting(preset, data, owners, split)
    for seed in range(study.seed, study.seed + seeds):
        owned = setting.federated(seed)
        people, accuracy = honest_owners(setting, owned), setting.accuracy(owned)
        for label, rule in market_rules(setting).items():
            study.simulate(setting.scenario(people, accuracy, rule), label, seed)
    found = owner_sums(study.frames)
    what = f"{setting.data}, {split}"
    study.table(_summary(found, study.frames.owners), f"{what}: utilities of owners, {seeds} seeds")
    words = f"{what}: {setting.owners} owners x {seeds} seeds, one dot per owner"
    study.picture(utility_picture(found, words), "market_rationality")


def _summary(found: pd.DataFrame, rounds: pd.DataFrame) -> pd.DataFrame:
    """Quantiles of utilities over all rounds, who loses, and the worst single round of any owner."""
    groups = found.groupby("label", sort=False)["utility"]
    table = pd.DataFrame({"owners": groups.size(), "mean": groups.mean(), "s.d.": groups.std(), "least": groups.min()})
    table["median"], table["most"] = groups.median(), groups.max()
    table["lose"] = (found["utility"] < -1e-9).groupby(found["label"], sort=False).mean()
    worst = rounds.groupby("run")["utility"].min().rename("worst round")
    by_run = found.drop_duplicates("run").set_index("run")["label"]
    table["worst round"] = worst.groupby(by_run, sort=False).min()
    return table.reset_index()


if __name__ == "__main__":
    run_script(__file__)
