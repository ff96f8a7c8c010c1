"""Do owners that send spoiled models hurt the others, and do they earn by it?

One of nine owners attacks (iPFL 2025, Figure 4), or one of the given owners of PACS, Shakespeare or Sent140.  Every run
is compared with the same federation, data and draws in which that owner is honest, or (against=absent) is not there:
what the attack changes for the benign owners, and for the attacker itself.  As in the authors' code attackers that
shuffle or flip the sign of their parameters train first, want nobody's model and ask no price; those that send ones or
noise do not train, keep their eagerness, and ask the price of the others, though it costs them nothing.  With
full=false they tamper with updates, as the paper's text has it.

A weakness of the market: with the paper's weight of similarity, 2, a free-rider that returns the centre it was sent
beneath a little noise (attacks=free_ride scale=0.01 full=false) sells what the others have made; with 4 it does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from fedabm import Frames, InputError, OwnerProfile, run_script
from fedabm.checks import check_count, check_positive, check_range, nearest
from fedabm.costs import Linear
from fedabm.figures import confidence, counted, owner_sums, panels, protocol_looks, spread_words, styled, utility_spread
from fedabm.papers import Sizes, ipfl2025
from fedabm.strategies import ATTACKS, Attacker, Honest
from fedabm.study import Study

#: attackers that train before they spoil what they send, and want no model
TRAIN = ("shuffle", "sign_flip", "noise", "scaled")
#: attacks as the paper calls them
TITLES = {"sign_flip": "sign flip", "constant": "same value", "gaussian": "Gaussian"}
#: attackers that ask what everybody asks
PRICED = ("constant", "gaussian")
#: the rules of the paper's figure
RULES = ("iPFL", "Ditto", "FedAMP", "CFL", "pFedGraph")
Against = Literal["honest", "absent"]


def run(
    study: Study,
    preset: Sizes = "quick",
    data: ipfl2025.Data = "auto",
    attacks: tuple[str, ...] = ("shuffle", "sign_flip", "constant", "gaussian"),
    rules: tuple[str, ...] = (),
    attacker: int = 0,
    against: Against = "honest",
    full: bool = True,
    scale: float = 0.0,
    similarity_weight: float = 0.0,
    unit_cost: float = 0.0,
    rounds: int | None = None,
    seeds: int = 3,
) -> None:
    """Every attack under every rule, beside the same federation without it; `full`: on whole parameters.

    A `scale` of 0 stands for that of the attack, a `similarity_weight` or `unit_cost` of 0 for that of the preset.

    preset             size of the study: quick takes minutes, decisive an hour or so on the paper's data, paper the
                       paper's own sizes
    data               which data set (auto: the preset's own)
    attacks            what the attacker does to the model it sends, each in runs of its own
    rules              ways of sharing models, by name (none: those of the paper's figure)
    attacker           number of the owner that attacks, from 0
    against            what the attack is compared with: the same owner honest, or absent
    full               whether whole parameters are tampered with, or updates only
    scale              how strong the attack is (0: as the attack says)
    similarity_weight  how much the market weighs that models are alike (0: as the preset says)
    unit_cost          cost of a sample (0: as the preset says)
    rounds             how many rounds (none: the preset's)
    seeds              how often it is repeated with new draws

    Takes some minutes with preset=quick.
    """
    check_count("seeds", seeds)
    rules = rules or RULES
    setting = ipfl2025.market_setting(preset, data, *ipfl2025.at_home(data, 9, "cluster")).lasting(rounds)
    setting = _setting(setting, similarity_weight, unit_cost)
    check_range("attacker", attacker, 0, setting.owners - 1)
    _check(attacks, ATTACKS, "attack")
    known = ipfl2025.market_rules(setting)
    _check(rules, known, "rule")
    for seed in range(study.seed, study.seed + seeds):
        owned = setting.federated(seed)
        people, accuracy = ipfl2025.honest_owners(setting, owned), setting.accuracy(owned)
        for rule in rules:
            for attack in ("none", *attacks):
                owners = _quiet(people, attacker, against, study.steps or setting.rounds)
                if attack != "none":
                    owners = _attacked(people, attacker, _villain(attack, full, scale, setting.unit_cost))
                study.simulate(setting.scenario(owners, accuracy, known[rule]), f"{rule}, {attack}", seed)
    sums = owner_sums(study.frames, setting.length)
    found = _changes(sums, attacker)
    who = f"one attacker of {setting.owners}, against the same run with it {against}"
    words = f"{setting.data}: changes by {who}, {counted(seeds)}"
    study.table(_summary(found), words)
    early = _changes(owner_sums(_before(study.frames, 3 * setting.rounds // 4), setting.length), attacker)
    study.table(
        _by_seed(found, early), "The same by seed, and from the first three quarters alone", "seeds", shown=False
    )
    quiet = sums[sums["attack"] == "none"].assign(label=sums["rule"])
    study.table(utility_spread(quiet, study.frames.owners), "Utilities of owners where nobody attacks", "honest")
    _say(study)
    study.picture(_figure(found, setting, against, seeds), "market_attacks")


def _say(study: Study) -> None:
    """Under which rules an attack does no harm and pays not, beside what the paper says."""
    for attack, rows in study.tables["summary"].groupby("attack", sort=False):
        held = rows[(rows["points"] >= -1) & (rows["attacker change"] < 0)]["rule"]
        under = f"under {', '.join(held)}" if len(held) else "under no rule"
        line = "benign owners keep their accuracy within a point and the attacker has less, on average over seeds,"
        study.note(f"{attack}: {line} {under}; in the paper's Figure 4 under iPFL only.")


def _setting(setting: ipfl2025.MarketSetting, similarity_weight: float, unit_cost: float) -> ipfl2025.MarketSetting:
    check_positive("unit_cost", unit_cost, zero=True)
    rule = replace(setting.rule, similarity_weight=similarity_weight or setting.rule.similarity_weight)
    return replace(setting, rule=rule, unit_cost=unit_cost or setting.unit_cost)


def _check(given: tuple[str, ...], known: dict, what: str) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"no {what} is called {name!r}; {nearest(name, known)}")


def _villain(attack: str, full: bool, scale: float, unit_cost: float) -> Attacker:
    """Who sends ones or noise asks what everybody asks; the others ask nothing."""
    asks = unit_cost if attack in PRICED else 0.0
    return Attacker(Honest(), attack, scale or None, full=full, trains=attack in TRAIN, asks=asks)


def _quiet(people: list[OwnerProfile], attacker: int, against: Against, rounds: int) -> list[OwnerProfile]:
    """Without an attack: its place is taken by an honest owner, or empty, as if it joined after the last round."""
    if against == "honest":
        return people
    return [replace(one, joins=rounds + 1) if owner == attacker else one for owner, one in enumerate(people)]


def _attacked(people: list[OwnerProfile], attacker: int, strategy: Attacker) -> list[OwnerProfile]:
    """With the attacker, which bears no cost."""
    eager = 0.0 if strategy.trains else people[attacker].eagerness
    villain = replace(people[attacker], strategy=strategy, cost=Linear(0.0), eagerness=eager, role="attacker")
    return [villain if owner == attacker else person for owner, person in enumerate(people)]


def _changes(owners: pd.DataFrame, attacker: int) -> pd.DataFrame:
    """One row per run with an attack: the benign owners' change, and what attacker and benign owners got."""
    owners[["rule", "attack"]] = owners["label"].str.split(", ", expand=True)
    benign, villain = owners[owners["owner"] != attacker], owners[owners["owner"] == attacker]
    means = benign.groupby(["rule", "seed", "attack"], sort=False)[["accuracy", "utility"]].mean()
    quiet = means.xs("none", level="attack")
    changes = (means - quiet).add_suffix(" change").join(means)
    mine = villain.set_index(["rule", "seed", "attack"])[["utility", "payment", "exports"]].add_prefix("attacker ")
    before = mine["attacker utility"].xs("none", level="attack").rename("attacker utility before")
    unsettled = villain.set_index(["rule", "seed", "attack"])["moved"]
    table = changes.join(mine).join(before).join(unsettled).reset_index().query("attack != 'none'")
    for name in ("rule", "attack"):  # in the order in which they were run
        table[name] = pd.Categorical(table[name], list(dict.fromkeys(owners[name])))
    return table.sort_values(["rule", "attack", "seed"]).astype({"rule": str, "attack": str})


def _before(frames: Frames, last: int) -> Frames:
    """The frames as they were after this many rounds."""
    return replace(frames, owners=frames.owners[frames.owners["step"] <= max(last, 1)])


def _by_seed(found: pd.DataFrame, early: pd.DataFrame) -> pd.DataFrame:
    """One row per rule, attack and seed; what ends in "at 3/4" is what three quarters of the rounds would have said."""
    table = found[["rule", "attack", "seed"]].copy()
    for name, rows in (("", found), (" at 3/4", early)):
        table[f"points{name}"] = 100 * rows["accuracy change"].to_numpy()
        table[f"attacker before{name}"] = rows["attacker utility before"].to_numpy()
        table[f"attacker{name}"] = rows["attacker utility"].to_numpy()
    return table.assign(moved=found["moved"].to_numpy())


def _summary(found: pd.DataFrame) -> pd.DataFrame:
    """Means over seeds, with the deviation of what the attack changes; accuracy in points."""
    changed = found["attacker utility"] - found["attacker utility before"]
    points = found.assign(**{"accuracy change": 100 * found["accuracy change"], "attacker change": changed})
    groups = points.groupby(["rule", "attack"], sort=False)
    table = groups["accuracy change"].agg(["mean", "std", "min"])
    table.columns = pd.Index(["points", "s.d.", "worst seed"])
    others = ["accuracy", "utility change", "utility", "attacker utility before", "attacker utility"]
    table = table.join(groups[[*others, "attacker payment", "attacker exports"]].mean())
    table[["attacker change", "attacker change s.d."]] = groups["attacker change"].agg(["mean", "std"])
    table["moved"] = groups["moved"].max()
    fell = (found["attacker utility"] < found["attacker utility before"]).groupby([found["rule"], found["attack"]])
    return table.join(fell.sum().rename("seeds in which the attacker loses")).assign(seeds=groups.size()).reset_index()


def _figure(found: pd.DataFrame, setting: ipfl2025.MarketSetting, against: Against, seeds: int) -> Figure:
    """Change of accuracy for benign owners, and of the attacker's utility."""
    figure, (left, right) = panels(2, width=5.4, height=3.4)
    gained = found["attacker utility"] - found["attacker utility before"]
    shown = found.assign(points=100 * found["accuracy change"], gained=gained)
    shown["attack"] = shown["attack"].map(lambda name: TITLES.get(name, name))
    palette = styled(protocol_looks(shown["rule"]), "palette")["palette"]
    bars = {"errorbar": confidence, "capsize": 0.08, "err_kws": {"linewidth": 1}}
    shared = {"x": "attack", "hue": "rule", "hue_order": list(dict.fromkeys(shown["rule"])), "palette": palette, **bars}
    sns.barplot(shown, y="points", ax=left, **shared)
    sns.barplot(shown, y="gained", ax=right, legend=False, **shared)
    for panel in (left, right):
        panel.axhline(0.0, color="0.2", linewidth=0.8)
        panel.set_xlabel("")
    left.set(title="benign owners", ylabel="accuracy change (points; log beyond 1)")
    right.set(title="the attacker", ylabel=f"utility, less that when {against}")
    handles, labels = left.get_legend_handles_labels()
    left.get_legend().remove()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
    who = f"one attacker of {setting.owners}, against the same run with it {against}"
    figure.suptitle(f"{setting.data}: {who}; {spread_words(seeds)}", fontsize="medium")
    left.set_yscale("symlog", linthresh=1.0)
    left.set_yticks([-50, -20, -10, -5, -2, -1, 0, 1])
    left.yaxis.set_major_formatter("{x:g}")
    left.minorticks_off()
    return figure


if __name__ == "__main__":
    run_script(__file__)
