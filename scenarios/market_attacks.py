"""Do owners that send spoiled models hurt the others, and do they earn by it?

One of nine owners attacks (iPFL 2025, Figure 4).  Every run is compared with the same federation, data and draws
without that owner: what the attack changes for the benign owners, and what the attacker gets.  Attackers that shuffle
or flip the sign of their update train first and want nobody's model; those that send ones or noise do not train, keep
their eagerness, and it costs them nothing.

Attackers ask no price.  In the quick preset similarity counts twice as much as elsewhere (4, not 2), which shuts them
all out; with similarity_weight=2 they sell to owners that know nobody better, and a flipped model looks like a friend's
to owners of other classes.  So does that of a free-rider that returns the centre it was sent beneath a little noise
(attacks=free_ride scale=0.01 similarity_weight=2): it sells what the others have made.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm.analysis.curves import COLOURS, panels
from fedabm.analysis.market_runs import owner_sums
from fedabm.cli import run_script
from fedabm.common.errors import InputError, check_positive, check_range, check_whole, nearest
from fedabm.games.costs import Linear
from fedabm.papers.ipfl2025.settings import Data, MarketSetting, Preset, honest_owners, market_rules, market_setting
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Attacker, Honest
from fedabm.strategies.attackers import ATTACKS
from fedabm.study.study import Study

#: the weight of similarity in the quick preset
QUICK_WEIGHT = 4.0
#: attackers that train before they spoil what they send
TRAIN = ("shuffle", "sign_flip", "noise", "scaled")


def run(
    study: Study,
    preset: Preset = "quick",
    data: Data = "auto",
    attacks: tuple[str, ...] = ("shuffle", "sign_flip", "constant", "gaussian", "nan"),
    rules: tuple[str, ...] = ("iPFL", "FedAvg", "Ditto", "FedAMP", "pFedGraph"),
    attacker: int = 0,
    full: bool = False,
    scale: float = 0.0,
    similarity_weight: float = 0.0,
    unit_cost: float = 0.0,
    seeds: int = 3,
) -> None:
    """Every attack under every rule, beside the same federation without the attacker; `full`: on whole parameters.

    A `scale` of 0 stands for that of the attack, a `similarity_weight` or `unit_cost` of 0 for that of the preset.
    """
    check_whole("seeds", seeds)
    setting = _setting(market_setting(preset, data, 9, "cluster"), similarity_weight, unit_cost)
    check_range("attacker", attacker, 0, setting.owners - 1)
    _check(attacks, ATTACKS, "attack")
    known = market_rules(setting)
    _check(rules, known, "rule")
    for seed in range(study.seed, study.seed + seeds):
        owned = setting.federated(seed)
        people, accuracy = honest_owners(setting, owned), setting.accuracy(owned)
        for rule in rules:
            for attack in ("none", *attacks):
                villain = None if attack == "none" else _villain(attack, full, scale)
                owners = _owners(people, attacker, villain, study.steps or setting.rounds)
                study.simulate(setting.scenario(owners, accuracy, known[rule]), f"{rule}, {attack}", seed)
    found = _changes(owner_sums(study.frames), attacker)
    study.table(_summary(found), f"{setting.data}: changes for benign owners by one attacker of 9, {seeds} seeds")
    study.picture(_figure(found, setting, seeds), "market_attacks")


def _setting(setting: MarketSetting, similarity_weight: float, unit_cost: float) -> MarketSetting:
    check_positive("unit_cost", unit_cost, zero=True)
    usual = QUICK_WEIGHT if setting.preset == "quick" else setting.rule.similarity_weight
    rule = replace(setting.rule, similarity_weight=similarity_weight or usual)
    return replace(setting, rule=rule, unit_cost=unit_cost or setting.unit_cost)


def _check(given: tuple[str, ...], known: dict, what: str) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"no {what} is called {name!r}; {nearest(name, known)}")


def _villain(attack: str, full: bool, scale: float) -> Attacker:
    return Attacker(Honest(), attack, scale or None, full=full, trains=attack in TRAIN)


def _owners(people: list[OwnerProfile], attacker: int, strategy: Attacker | None, rounds: int) -> list[OwnerProfile]:
    """With the attacker, or without: then it would join after the last round."""
    villain = people[attacker]
    if strategy is None:
        villain = replace(villain, joins=rounds + 1)
    else:
        eager = 0.0 if strategy.trains else villain.eagerness
        villain = replace(villain, strategy=strategy, cost=Linear(0.0), eagerness=eager, role="attacker")
    return [villain if owner == attacker else person for owner, person in enumerate(people)]


def _changes(owners: pd.DataFrame, attacker: int) -> pd.DataFrame:
    """One row per run with an attack: the benign owners' change, and what attacker and benign owners got."""
    owners[["rule", "attack"]] = owners["label"].str.split(", ", expand=True)
    benign, villain = owners[owners["owner"] != attacker], owners[owners["owner"] == attacker]
    means = benign.groupby(["rule", "seed", "attack"], sort=False)[["accuracy", "utility"]].mean()
    quiet = means.xs("none", level="attack")
    changes = (means - quiet).add_suffix(" change").join(means)
    mine = villain.set_index(["rule", "seed", "attack"])[["utility", "payment", "exports"]].add_prefix("attacker ")
    table = changes.join(mine).reset_index().query("attack != 'none'")
    for name in ("rule", "attack"):  # in the order in which they were run
        table[name] = pd.Categorical(table[name], list(dict.fromkeys(owners[name])))
    return table.sort_values(["rule", "attack", "seed"]).astype({"rule": str, "attack": str})


def _summary(found: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds; the worst seed beside the mean change of accuracy, in points."""
    points = found.assign(**{"accuracy change": 100 * found["accuracy change"]})
    groups = points.groupby(["rule", "attack"], sort=False)
    table = groups["accuracy change"].agg(["mean", "std", "min"])
    table.columns = pd.Index(["points", "s.d.", "worst seed"])
    others = ["accuracy", "utility change", "utility", "attacker utility", "attacker payment", "attacker exports"]
    return table.join(groups[others].mean()).reset_index()


def _figure(found: pd.DataFrame, setting: MarketSetting, seeds: int) -> Figure:
    """Change of accuracy for benign owners, and the attacker's utility less that of a benign owner."""
    figure, (left, right) = panels(2, width=5.4, height=3.4)
    shown = found.assign(points=100 * found["accuracy change"], ahead=found["attacker utility"] - found["utility"])
    palette = {rule: COLOURS[k % len(COLOURS)] for k, rule in enumerate(dict.fromkeys(shown["rule"]))} | {
        "iPFL": "black"
    }
    bars = {"errorbar": "sd", "capsize": 0.08, "err_kws": {"linewidth": 1}}
    shared = {"x": "attack", "hue": "rule", "hue_order": list(dict.fromkeys(shown["rule"])), "palette": palette, **bars}
    sns.barplot(shown, y="points", ax=left, **shared)
    sns.barplot(shown, y="ahead", ax=right, legend=False, **shared)
    for panel in (left, right):
        panel.axhline(0.0, color="0.2", linewidth=0.8)
        panel.set_xlabel("")
    left.set(title="benign owners", ylabel="accuracy change (points; log beyond 1)")
    right.set(title="the attacker", ylabel="utility above a benign owner's")
    handles, labels = left.get_legend_handles_labels()
    left.get_legend().remove()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
    words = f"{setting.data}: one attacker of 9, against the same run without it; bars: one s.d. over {seeds} seeds"
    figure.suptitle(words, fontsize="medium")
    left.set_yscale("symlog", linthresh=1.0)
    left.set_yticks([-50, -20, -10, -5, -2, -1, 0, 1])
    left.yaxis.set_major_formatter("{x:g}")
    left.minorticks_off()
    return figure


if __name__ == "__main__":
    run_script(__file__)
