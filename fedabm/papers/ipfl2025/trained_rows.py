"""iPFL 2025: the rows that need training, P08 to P16 and P19 to P28.

The quick runs take 300 samples per owner of large sets, or handwritten digits seen through noise, small networks and 12
rounds.  Where a claim is about the rule of the market (who earns, who is shut out, whether a lie pays) they can confirm
it; the paper shows those on CIFAR-10.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from fedabm.papers.ledger.rows import Finding, Play, not_run
from fedabm.papers.ledger.training import Tables, judged, paper, seeds, trained, undecided

__all__ = ["attacked", "best_of_all", "inclusive", "lying", "rational"]

#: how many points of accuracy count as comparable
_COMPARABLE = 1.0
_SEEDS = 3
_DIGITS = "digits (seen through noise)"
_PARTS = ("NIID", "Cluster", "Skew")


def best_of_all(found: Tables, name: str, part: str, command: str, decides: bool, owners: int = 10) -> Finding:
    """Figure 2: the market has the highest utility, and an accuracy that is best or within a point of the best."""
    table = found["summary"]
    rows = table[table["split"] == part.lower()].set_index("label")
    own, others = rows.loc["iPFL"], rows.drop("iPFL")
    first, best = others["utility"].idxmax(), others["accuracy"].idxmax()
    behind = 100 * (others.loc[best, "accuracy"] - own["accuracy"])
    owners = 9 if part == "Cluster" else owners
    ours = (
        f"{name}, {part}, {owners} owners, {seeds(own)}: "
        f"utility iPFL {own['utility']:.4g}, next {first} "
        f"{others.loc[first, 'utility']:.4g}; accuracy iPFL {100 * own['accuracy']:.1f} %, best other {best} "
        f"{100 * others.loc[best, 'accuracy']:.1f} %, alone {100 * rows.loc['Local', 'accuracy']:.1f} %"
    )
    richest = bool(own["utility"] > others.loc[first, "utility"])
    if not decides:
        return undecided(ours, "a small part of the set and a small network do not decide", command)
    note = (
        f"utility is {'' if richest else 'not '}highest, accuracy {behind:+.1f} points behind the best other "
        f"(up to {_COMPARABLE:g} counts as comparable); 300 samples per owner, lambda = 2 where the paper has 0.001"
    )
    return judged(ours, richest and bool(behind <= _COMPARABLE), note, command)


def _figure_2() -> None:
    sets = {
        "CIFAR-10": Play.of("market_comparison", data="cifar10", seeds=1),
        "Fashion-MNIST": Play.of("market_comparison", data="fashion_mnist"),
    }
    for first, (name, play) in zip((8, 11), sets.items(), strict=True):
        command = paper("market_comparison", data=play.data[0])
        for place, part in enumerate(_PARTS):
            trained(
                f"P{first + place:02d}",
                f"Fig. 2, {name}, {part}: utility and accuracy",
                "highest utility, accuracy comparable or better",
                (play,),
                lambda found, name=name, part=part, command=command: best_of_all(
                    found, name, part, command, decides=name != "CIFAR-10"
                ),
                command,
            )


def _not_shown(id: str, claim: str, published: str, why: str, command: str) -> None:
    """A row whose data set no quick run stands for."""
    trained(id, claim, published, (), lambda: not_run(f"{why}: {command}"), command)


def rational(found: Tables, name: str, command: str, decides: bool) -> Finding:
    """Figure 3: nobody loses in the market; who loses elsewhere stands beside it."""
    table = found["summary"].set_index("label")
    own, others = table.loc["iPFL"], table.drop(["iPFL", "Local"])
    worst = others["lose"].idxmax()
    ours = (
        f"{name}, {int(own['owners'])} owners over all seeds: iPFL from {own['least']:.4g} to {own['most']:.4g}, "
        f"{100 * own['lose']:.0f} % lose; most losers under {worst}: {100 * others.loc[worst, 'lose']:.0f} %"
    )
    if not decides:
        return undecided(ours, "a small part of the set and a small network do not decide", command)
    note = "criterion: nobody loses over all rounds, most gain; an owner that trades with nobody has 0"
    return judged(ours, bool(own["least"] > 0 or (own["least"] >= 0 and own["median"] > 0)), note, command)


def _figure_3() -> None:
    sets = (
        ("P19", "CIFAR-10 Cluster", Play.of("market_rationality", data="cifar10", split="cluster", owners=9, seeds=1)),
        ("P21", "Fashion-MNIST NIID", Play.of("market_rationality", data="fashion_mnist")),
    )
    for id, name, play in sets:
        settings = {key: str(value) for key, value in play.parameters if key != "seeds"}
        command = paper(play.scenario, **settings)
        trained(
            id,
            f"Fig. 3: utility distributions on {name}",
            "positive for every client",
            (play,),
            lambda found, name=name, command=command: rational(found, name, command, decides="Fashion" in name),
            command,
        )


def attacked(found: Tables, what: str, attack: str, command: str, decides: bool = False) -> Finding:
    """Figure 4: benign owners keep their accuracy, and the attacker has less than it had as an honest owner."""
    table = found["summary"].set_index(["rule", "attack"]).xs(attack, level="attack")
    own, others = table.loc["iPFL"], table.drop("iPFL")
    cases = "; ".join(f"{rule} {_harm(one)}" for rule, one in others.iterrows())
    ours = f"{what}, {seeds(own)}: iPFL {_harm(own)}; {cases}"
    alike = [rule for rule, one in others.iterrows() if _harmless(one)]
    also = f"so do {', '.join(alike)}, so that iPFL is not the only one" if alike else "no rival does both"
    note = (
        "criterion: the mean of benign owners changes by at most a point against the same run with an honest owner in "
        f"the attacker's place, and the attacker's utility falls in every seed; {also}"
    )
    return _verdict(ours, _harmless(own), note, command, decides)


def _harm(case: pd.Series) -> str:
    return (
        f"benign {case['points']:+.1f} points (worst seed {case['worst seed']:+.1f}), attacker's utility "
        f"{case['attacker utility before']:.3g} -> {case['attacker utility']:.3g}, sold {case['attacker exports']:.2g}"
    )


def _harmless(case: pd.Series) -> bool:
    """Accuracy kept within a point, and less for the attacker than before in every seed."""
    kept = case["points"] >= -_COMPARABLE
    return bool(kept and case["seeds in which the attacker loses"] == case["seeds"])


def _verdict(ours: str, claim: bool, note: str, command: str, decides: bool) -> Finding:
    """Either way where the run decides; else as for every quick run."""
    if decides:
        return Finding(ours, "reproduced" if claim else "not reproducible", note)
    return judged(ours, claim, note, command)


def _figure_4() -> None:
    names = {"shuffle": "shuffle", "sign_flip": "sign-flip", "constant": "same-value", "gaussian": "Gaussian"}
    play = Play.of("market_attacks", seeds=_SEEDS)
    command = paper("market_attacks", data="cifar10")
    what = f"{_DIGITS}, 9 owners in 3 groups"
    for place, (attack, name) in enumerate(names.items()):
        trained(
            f"P{22 + place}",
            f"Fig. 4: {name} attack",
            "benign accuracy kept, attacker's utility falls",
            (play,),
            lambda found, attack=attack: attacked(found, what, attack, command),
            command,
        )


def lying(
    found: Tables, what: str, lie: str, factors: tuple[float, ...], command: str, decides: bool = False
) -> Finding:
    """Table 2: the liar's utility and accuracy, for the printed factors."""
    table = found["summary"]
    told = table[(table["who"] == "alone") & (table["lie"] == lie)].set_index("factor")
    rows, beside = told.loc[list(factors)], told.drop(list(factors))
    honest = rows.iloc[0]
    cells = ", ".join(
        f"{factor:g}: {row['utility']:.4g} ({100 * row['accuracy']:.1f} %)" for factor, row in rows.iterrows()
    )
    true = honest["accuracy"] - honest["points"] / 100
    ours = f"{what}, {seeds(rows)}: honest {honest['honest']:.4g} ({100 * true:.1f} %); {cells}"
    paid = rows[rows["paid in seeds"] > 0]
    lost = bool(paid.empty and np.all(rows["change"] <= 1e-9))
    where = ", ".join(
        f"{factor:g} in {int(row['paid in seeds'])} of {int(row['seeds'])} seeds, at most {row['best seed']:+.3g}"
        for factor, row in paid.iterrows()
    )
    note = "the lie pays in no seed" if lost else f"the lie pays: {where}; P04 has counterexamples in closed form"
    pays = ", ".join(f"{factor:g}: {change:+.4g}" for factor, change in beside["change"].items() if change > 0)
    note += f"; other factors that pay on average: {pays}" if pays else ""
    return _verdict(ours, lost, note, command, decides)


def _table_2() -> None:
    play = Play.of("market_liars", factors=(0.1, 0.5, 2.0, 5.0, 10.0), seeds=_SEEDS)
    command = paper("market_liars", data="cifar10")
    printed = {
        "size": "honest 617.295 (75.4 %); 0.1: -513.41 (66.9 %), 0.5: -9.951 (75.3 %), 10: 0 (75.4 %)",
        "cost": "honest 617.295 (75.4 %); 2, 5, 10: 0 (75.4 %)",
    }
    cases = (("P26", "size", "data size", (0.1, 0.5, 10.0)), ("P27", "cost", "cost", (2.0, 5.0, 10.0)))
    for id, lie, name, factors in cases:
        trained(
            id,
            f"Table 2: lying about {name}",
            printed[lie],
            (play,),
            lambda found, lie=lie, factors=factors: lying(found, f"{_DIGITS}, NIID, 10 owners", lie, factors, command),
            command,
        )


def inclusive(found: Tables, what: str, command: str, decides: bool = False) -> Finding:
    """Figure 5: buyers pay and get better, sellers earn, nobody loses, and nobody buys from the attacker."""
    means = found["summary"].set_index("role")
    sold, least = means.loc["attacker", "exports a round"], means["least utility"].min()
    ours = (
        f"{what}, 12 owners, {seeds(means)}: buyers pay {-means.loc['buyer', 'payment']:.4g} for "
        f"{_points(means.loc['buyer'])}, sellers earn {means.loc['seller', 'payment']:.4g}, traders get "
        f"{_points(means.loc['trader'])}; the attacker sells {sold:.2g} models a round; least utility {least:.3g}"
    )
    roles = means.loc["buyer", "payment"] < 0 < means.loc["seller", "payment"] and means.loc["buyer", "points"] > 0
    claim = bool(roles and means.loc["trader", "points"] > 0 and sold == 0 and least >= -1e-9)
    note = (
        "criterion, in means by role: buyers pay and get better, sellers earn, traders get better; nobody loses, and "
        "nobody buys from the attacker, which sends random parameters as in the paper"
    )
    return _verdict(ours, claim, note, command, decides)


def _points(role: pd.Series) -> str:
    spread = role.get("points s.d.", np.nan)
    return f"{role['points']:+.2f}{f' +- {spread:.2f}' if np.isfinite(spread) else ''} points"


def _all() -> None:
    _figure_2()
    highest = "highest utility, accuracy comparable or better"
    why = "market_comparison has no owners of {}; Fig. 2 on CIFAR-10 at the paper's size"
    known = paper("market_comparison", data="cifar10")
    _not_shown("P14", "Fig. 2, PACS: utility and accuracy", highest, why.format("PACS"), known)
    writers = paper("market_comparison", data="femnist", splits="natural", owners="20")
    natural = Play.of("market_comparison", data="femnist_digits", splits=("natural",), owners=12, seeds=1)
    trained(
        "P15",
        "Fig. 2, FEMNIST: utility and accuracy",
        highest,
        (natural,),
        lambda found: best_of_all(found, "FEMNIST digits", "Natural", writers, decides=False, owners=12),
        writers,
    )
    _not_shown("P16", "Fig. 2, Shakespeare: utility and accuracy", highest, why.format("Shakespeare"), known)
    _figure_3()
    why = "market_rationality has no owners of PACS; Fig. 3 on CIFAR-10 at the paper's size"
    known = paper("market_rationality", data="cifar10", split="cluster", owners="9")
    _not_shown("P20", "Fig. 3: utility distributions on PACS", "positive for every client", why, known)
    _figure_4()
    _table_2()
    command, claim = paper("inclusive_market", data="cifar10"), "inclusive market, roles and isolation of the attacker"
    play = Play.of("inclusive_market", attack="gaussian", seeds=_SEEDS)
    judge = partial(inclusive, what=_DIGITS, command=command)
    trained("P28", f"Fig. 5: {claim}", "attacker isolated", (play,), judge, command)


_all()
