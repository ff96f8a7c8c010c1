"""iPFL 2025: what the figures and tables claim, as criteria on the tables of our studies.

All accuracies are those of the last round.  A mean over seeds decides nothing where seeds disagree: "highest" means
highest in every seed, "better" beyond the spread over seeds, and a lie must not pay in any.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from fedabm.common.confidence import half_width
from fedabm.papers.ipfl2025.evidence import (
    AHEAD_OF_FED_AMP,
    COMPARABLE,
    SETTLED,
    RunEvidence,
    ahead_of_fed_amp,
    best_rivals,
    highest,
    trade_moved,
    utilities,
)
from fedabm.papers.ledger.rows import ClaimInterval, Finding
from fedabm.papers.ledger.training import Tables, seeds
from fedabm.papers.presets import more_seeds

__all__ = ["at_length", "best_of_all", "improved", "inclusive", "languages", "lying", "lying_anew", "rational"]


def best_of_all(found: Tables, evidence: RunEvidence, part: str, owners: int) -> Finding:
    """Figure 2: the market has the highest utility, and an accuracy that is best or within a point of the best."""
    table = found["summary"]
    rows = table[table["split"] == part.lower()].set_index("label")
    own, others = rows.loc["iPFL"], rows.drop("iPFL")
    first, best = others["utility"].idxmax(), others["accuracy"].idxmax()
    behind = 100 * (others.loc[best, "accuracy"] - own["accuracy"])
    ours = (
        f"{evidence.what}, {part}, {owners} owners, {seeds(own)}: utility iPFL {_spread(own, 'utility')}, next {first} "
        f"{_spread(others.loc[first], 'utility')}; accuracy in % iPFL {_spread(own, 'accuracy', 100)}, best other "
        f"{best} {_spread(others.loc[best], 'accuracy', 100)}, alone {_spread(rows.loc['Local'], 'accuracy', 100)}"
    )
    if "FedAMP" in rows.index:
        points, utility = (own[name] - rows.loc["FedAMP", name] for name in ("accuracy", "utility"))
        printed = "{:+} points and {:+}".format(*AHEAD_OF_FED_AMP)
        ours += f"; ahead of FedAMP by {100 * points:+.2f} points and {utility:+.4g} in utility (printed: {printed})"
    richest = bool(own["utility"] > others.loc[first, "utility"])
    close = bool(behind <= COMPARABLE)
    criterion = (
        f"utility is {'' if richest else 'not '}highest, accuracy {behind:+.1f} points behind the best other "
        f"(up to {COMPARABLE:g} counts as comparable)"
    )
    within, moved = "", 0.0
    leads: tuple[ClaimInterval, ...] = ()
    if evidence.decisive:
        words, within = highest(found["rounds"], evidence.rounds, owners)
        leads = ahead_of_fed_amp(found["rounds"], evidence.rounds, owners)
        criterion += f"; {words}{_unsettled(others)}"
        rivals = best_rivals(utilities(found["rounds"], evidence.rounds))
        moved = trade_moved(found["rounds"], "iPFL", *rivals)
        criterion += f"; the best rivals of a seed: {', '.join(rivals)}"
    claim = richest and close
    finding = evidence.verdict(
        ours, claim, criterion, moved=moved, by_accuracy=richest, within=within, accuracy="unmeasured"
    )
    return replace(finding, intervals=leads)


def at_length(found: Tables, longer: Tables | None = None, *, evidence: RunEvidence, part: str, owners: int) -> Finding:
    """Figure 2, and beside it the market and training alone with the paper's local steps, for more of its rounds.

    It tells whether what accuracies lack after a few short rounds is a matter of their stage; it decides nothing.
    """
    finding = best_of_all(found, evidence, part, owners)
    if longer is None:
        return finding
    rows, rounds = longer["summary"].set_index("label"), int(longer["rounds"]["step"].max())
    own, alone = rows.loc["iPFL"], rows.loc["Local"]
    points = 100 * (own["accuracy"] - alone["accuracy"])
    words = (
        f"with the paper's local steps, after {rounds} rounds, {seeds(own)}: iPFL {_spread(own, 'accuracy', 100)}, "
        f"alone {_spread(alone, 'accuracy', 100)} ({points:+.1f} points)"
    )
    return replace(finding, ours=f"{finding.ours}; {words}")


def _unsettled(others: pd.DataFrame) -> str:
    """Rivals whose trade still moves, so that their last round says little about those left out."""
    moving = others[others["moved"] > SETTLED] if "moved" in others else others[:0]
    return f"; not settled: {', '.join(map(str, moving.index))}" if len(moving) else ""


def _spread(row: pd.Series, column: str, factor: float = 1.0) -> str:
    """A mean with its standard deviation over seeds, if there is one."""
    deviation = row.get(f"{column} s.d.", np.nan)
    return f"{factor * row[column]:.4g}{f' +- {factor * deviation:.2g}' if np.isfinite(deviation) else ''}"


def rational(table: pd.DataFrame, evidence: RunEvidence) -> Finding:
    """Figure 3: nobody loses in the market; who loses elsewhere stands beside it."""
    rules = table.set_index("label")
    own, others = rules.loc["iPFL"], rules.drop(["iPFL", "Local"], errors="ignore")
    worst = others["lose"].idxmax()
    ours = (
        f"{evidence.what}, {int(own['owners'])} owners over all seeds: iPFL from {own['least']:.4g} to "
        f"{own['most']:.4g}, {100 * own['lose']:.0f} % lose; most losers under {worst}: "
        f"{100 * others.loc[worst, 'lose']:.0f} %"
    )
    criterion = "criterion: nobody loses over all rounds, most gain; an owner that trades with nobody has 0"
    claim = bool(own["least"] >= -1e-9 and own["median"] > 0)
    return evidence.verdict(ours, claim, criterion, moved=own.get("moved", 0.0))


def lying(found: Tables, evidence: RunEvidence, lie: str, factors: tuple[float, ...]) -> Finding:
    """Table 2: the liar's utility and accuracy, for the printed factors.

    "The liar always achieves lower or the same accuracy, and significantly lower utility": one seed in which a lie pays
    refutes that, and so do accuracies that are better by more than a point on average, if training is long enough.
    """
    table = found["summary"]
    means = table[(table["who"] == "alone") & (table["lie"] == lie)].set_index("factor")
    rows, others = means.loc[list(factors)], means.drop(list(factors))
    honest = rows.iloc[0]
    accuracy = honest["accuracy"] - honest["points"] / 100
    cells = ", ".join(
        f"{factor:g}: {row['utility']:.4g} ({100 * row['accuracy']:.1f} %)" for factor, row in rows.iterrows()
    )
    ours = f"{evidence.what}, {seeds(rows)}: honest {honest['honest']:.4g} ({100 * accuracy:.1f} %); {cells}"
    paid = rows[rows["paid in seeds"] > 0]
    where = ", ".join(f"{factor:g} {_pays(row)}" for factor, row in paid.iterrows())
    criterion = f"the lie pays: {where}; P04 has counterexamples in closed form" if where else "the lie pays in no seed"
    pays = ", ".join(f"{factor:g}: {change:+.4g}" for factor, change in others["change"].items() if change > 0)
    criterion += f"; other factors that pay on average: {pays}" if pays else ""
    better = rows["points"].max()
    criterion += f"; the liar's accuracy changes by {rows['points'].min():+.1f} to {better:+.1f} points"
    same = bool(better <= COMPARABLE)
    moved = float(rows["moved"].max()) if "moved" in rows else 0.0
    return evidence.verdict(ours, paid.empty and same, criterion, moved=moved, by_accuracy=paid.empty)


def lying_anew(earlier: Tables, *fresh: Tables, evidence: RunEvidence, lie: str, factors: tuple[float, ...]) -> Finding:
    """Table 2 by seeds that were planned beforehand; what earlier ones had stands beside it and decides nothing."""
    before = lying(earlier, evidence, lie, factors)
    if not fresh:
        return before
    finding = lying(fresh[0], evidence, lie, factors)
    first, last = (fresh[0]["seeds"]["seed"].agg(end) for end in ("min", "max"))
    ours = f"{finding.ours} (fresh seeds {first} to {last}); earlier, unsettled seeds: {before.ours}"
    return replace(finding, ours=ours)


def _pays(row: pd.Series) -> str:
    """In how many seeds a lie pays, and how much at most."""
    share = 100 * row["best seed"] / abs(row["honest"]) if row["honest"] else np.inf
    seeds_paid = f"in {int(row['paid in seeds'])} of {int(row['seeds'])} seeds"
    return f"{seeds_paid}, at most {row['best seed']:+.3g} ({share:.2g} % of what honest owners have)"


def inclusive(found: Tables, evidence: RunEvidence) -> Finding:
    """Figure 5: buyers pay, sellers earn, nobody loses, and nobody buys from the attacker."""
    roles = found["summary"].set_index("role")
    paid, earned = -roles.loc["buyer", "payment"], roles.loc["seller", "payment"]
    sold, least = roles.loc["attacker", "exports a round"], roles["least utility"].min()
    trader = roles.loc["trader"]
    ours = (
        f"{evidence.what}, 12 owners, {seeds(roles)}: a buyer pays {paid:.4g}, a seller earns {earned:.4g}, a trader "
        f"imports {trader['imports a round']:.2g} and exports {trader['exports a round']:.2g} models a round; the "
        f"attacker sells {sold:.2g}; least utility {least:.3g}"
    )
    criterion = (
        "criterion, in means by role: buyers pay, sellers earn; nobody loses in any seed, and nobody buys from the "
        "attacker, which sends random parameters as in the paper; accuracies: row P28b"
    )
    claim = bool(paid > 0 and earned > 0 and sold == 0 and least >= -1e-9)
    return evidence.verdict(ours, claim, criterion, moved=trader.get("moved", 0.0))


def improved(found: Tables, evidence: RunEvidence) -> Finding:
    """Figure 5: who buys models, as buyer or as trader, gets a better one than by training alone."""
    roles = found["summary"].set_index("role")
    points = {role: _spread(roles.loc[role], "points") for role in ("buyer", "trader", "seller")}
    means = ", ".join(f"{role} {change}" for role, change in points.items())
    ours = f"{evidence.what}, 12 owners, {seeds(roles)}: points above training alone: {means}"
    buyers = roles.loc[["buyer", "trader"]]
    better, count = bool((buyers["points"] > 0).all()), int(roles["seeds"].max())
    widths = {role: half_width(row["points s.d."], count) for role, row in buyers.iterrows()}
    doubtful = [role for role, width in widths.items() if not buyers.loc[role, "points"] > width]
    within = "; ".join(f"{role}s: {more_seeds(buyers.loc[role, 'points'], widths[role], count)}" for role in doubtful)
    criterion = "criterion: buyers and traders get better on average, beyond the spread over seeds"
    within = within if better else ""
    return evidence.verdict(ours, better, criterion, by_accuracy=True, accuracy="unmeasured", within=within)


def languages(found: Tables, evidence: RunEvidence) -> Finding:
    """Table 1: the market has the highest utility, and an accuracy that is at least that of training alone."""
    rules = found["summary"].set_index("label")
    own, alone = rules.loc["iPFL"], rules.loc["Local"]
    others = rules.drop("iPFL")
    first = others["utility"].idxmax()
    sets = [name for name in ("fiqa", "tfns", "nwgi", "code") if name in rules]
    cells = "; ".join(
        f"{label} {', '.join(f'{100 * row[name]:.1f}' for name in sets)}" for label, row in rules.iterrows()
    )
    ours = (
        f"{evidence.what}, {seeds(own)}: {', '.join(sets)} in %: {cells}; utility iPFL {_spread(own, 'utility')}, next "
        f"{first} {_spread(others.loc[first], 'utility')}; {_yardsticks(found['yardsticks'])}"
    )
    richest, better = own["utility"] > others.loc[first, "utility"], own["accuracy"] >= alone["accuracy"]
    points = 100 * (own["accuracy"] - alone["accuracy"])
    criterion = f"utility is {'' if richest else 'not '}highest, mean accuracy {points:+.1f} points against Local"
    within = ""
    if evidence.decisive:
        words, within = highest(found["rounds"], evidence.rounds, found["owners"]["owner"].nunique())
        criterion += f"; {words}"
    claim, early = bool(richest and better), bool(richest)
    return evidence.verdict(ours, claim, criterion, by_accuracy=early, accuracy="unmeasured", within=within)


def _yardsticks(table: pd.DataFrame) -> str:
    """What the commonest answer, TF-IDF on an owner's own texts and the model without tuning get, by set."""
    marks = table.set_index("set")[["majority", "tf_idf", "zero_shot"]]
    each = "; ".join(f"{name} {', '.join(f'{100 * mark:.1f}' for mark in row)}" for name, row in marks.iterrows())
    return f"commonest answer, TF-IDF, zero-shot: {each}"
