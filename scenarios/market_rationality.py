"""Who had better stay away: how are utilities spread over owners under each way of sharing models?

The market iPFL beside training alone and the rivals of its paper on the same owners, data and draws: utilities of
single owners over all rounds (iPFL 2025, Figure 3).  Individual rationality means that nobody is left of zero.
"""

from __future__ import annotations

from fedabm import run_script
from fedabm.checks import check_count
from fedabm.figures import counted, owner_sums, utility_picture, utility_spread
from fedabm.papers import Sizes, ipfl2025
from fedabm.study import Study


def run(
    study: Study,
    preset: Sizes = "quick",
    data: ipfl2025.Data = "auto",
    split: ipfl2025.Split = "niid",
    owners: int = 10,
    seeds: int = 3,
) -> None:
    """Run every rule with every seed and show all owners.

    preset  size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the paper's own
            sizes
    data    which data set (auto: the preset's own)
    split   how data differ between owners
    owners  number of owners
    seeds   how often it is repeated with new draws

    Takes some minutes with preset=quick.
    """
    check_count("seeds", seeds)
    setting = ipfl2025.market_setting(preset, data, owners, split)
    for seed in range(study.seed, study.seed + seeds):
        owned = setting.federated(seed)
        people, accuracy = ipfl2025.honest_owners(setting, owned), setting.accuracy(owned)
        for label, rule in ipfl2025.market_rules(setting).items():
            study.simulate(setting.scenario(people, accuracy, rule), label, seed)
    found = owner_sums(study.frames, setting.length)
    what = f"{setting.data}, {split}"
    study.table(utility_spread(found, study.frames.owners), f"{what}: utilities of owners, {counted(seeds)}")
    words = f"{what}: {setting.owners} owners, {counted(seeds)}, one dot per owner"
    study.picture(utility_picture(found, words), "market_rationality")


if __name__ == "__main__":
    run_script(__file__)
