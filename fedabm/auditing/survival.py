"""Which rule survives which behaviour: a verdict for every pair, by intervals over seeds, and three sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedabm.auditing.league import BEST, COLUMNS, PAIR, League, exchanging_rules
from fedabm.auditing.parts import CLOSED, OWNERS
from fedabm.common.confidence import confidence

__all__ = ["ALONE", "TOLERATED", "UNREAD", "VERDICTS", "apart", "same_as_baseline", "sentences", "survival", "verdict"]

#: how much of what an owner has a behaviour may bring who behaves so, or cost each of the others
TOLERATED = 0.05
#: what is said of a behaviour that changes nothing under a rule: it is not read, so that nothing is survived
UNREAD = "cannot fail"
#: verdicts in words, from good to bad
VERDICTS = ("survives", "open", "pays", "harms", "pays and harms", UNREAD, "")
_BAD = ("pays", "harms", "pays and harms")
#: the rule without a federation: a baseline
ALONE = "LocalOnly"
#: rules that exchange models and hand the same one to all
_ONE_MODEL = ("FedAvgExchange", "FedProxExchange")
#: in the sentence on truth a lie that gains this share of what an owner has is one
_A_LIE = 0.01
#: measures of a rule with other parameters, as a server that is wrong would have them
_ELSEWHERE = " wrong"
#: smaller differences between rules are what recording and searching leave
_ROUNDING = 1e-7


def verdict(gains: pd.Series, losses: pd.Series) -> str:
    """What two samples over seeds say of a behaviour, by their 95% intervals.

    It pays if what the deviator gains is certainly above `TOLERATED`, harms if what each of the others loses is; a rule
    survives it if both are certainly below.  Everything else is open; empty text: it means nothing there.

    >>> verdict(pd.Series([0.2, 0.21, 0.2]), pd.Series([0.0, 0.01, 0.0]))
    'pays'
    """
    spans = [_interval(one) for one in (gains, losses) if one.notna().any()]
    if not spans or gains.dropna().empty:
        return ""
    bad = [low > TOLERATED for low, _ in spans]
    if any(bad):
        return " and ".join(word for word, is_bad in zip(("pays", "harms"), bad, strict=False) if is_bad)
    return "survives" if all(high <= TOLERATED for _, high in spans) else "open"


def _interval(values: pd.Series) -> tuple[float, float]:
    """The 95% interval by Student's t, which takes noise for normal; of a single seed nothing is known."""
    known = values.dropna()
    return confidence(known, noise="normal") if len(known) > 1 else (-np.inf, np.inf)


def survival(found: League) -> pd.DataFrame:
    """Verdicts, rules x behaviours that mean anything under some rule; rules that survive the most come first.

    Rules that are counted apart come last: those that are the rule without payments here, and no federation.
    """
    closed = _scheme(found) == CLOSED
    rows = _shares(found)
    rows["loss"] /= rows["deviation"].map(_others) if closed else 1
    searched = set(rows["deviation"]) if closed else {BEST, PAIR}
    said = {}
    for (rule, deviation), part in rows.groupby(["rule", "deviation"], sort=False):
        unread = deviation not in searched and (part[["gain", "loss"]] == 0).all(axis=None)
        said[(rule, deviation)] = UNREAD if unread else verdict(part["gain"], part["loss"])
    wide = pd.Series(said).unstack().fillna("")
    asked = dict.fromkeys(rows["deviation"])
    wide = wide[[*(name for name in COLUMNS if name in asked), *(name for name in asked if name not in COLUMNS)]]
    wide = wide.loc[:, (wide != "").any()]
    merit = (wide == "survives").sum(axis=1) - 1e-3 * wide.isin(_BAD).sum(axis=1) - 1e3 * wide.index.isin(apart(found))
    return wide.loc[merit.sort_values(ascending=False, kind="stable").index]


def _scheme(found: League) -> str:
    """The scheme in which deviations were tried: in closed form the best of each kind, trained as they are."""
    return str(found.achieved["scheme"].iloc[0]) if len(found.achieved) else CLOSED


def _shares(found: League) -> pd.DataFrame:
    """The rows with gains and losses in units of what an owner has."""
    rows = found.rows
    return rows.assign(gain=rows["gain"] / rows["stake"], loss=rows["loss"] / rows["stake"])


def _others(deviation: str) -> int:
    """How many others share a loss, which closed forms record as a sum."""
    return OWNERS - (2 if deviation in (PAIR, "merging") else 1)


def apart(found: League) -> dict[str, str]:
    """The rules that are not counted among the others, and why."""
    names = dict.fromkeys(same_as_baseline(found), f"is {found.baseline} here")
    return names | ({ALONE: "no federation"} if ALONE in set(found.rows["rule"]) else {})


def same_as_baseline(found: League) -> list[str]:
    """The rules that do what the rule without payments does: the same in all that is known of both, on every seed."""
    if not len(found.achieved):
        return []
    reached = found.achieved[~found.achieved["measure"].str.endswith(_ELSEWHERE)]
    measures = reached.pivot_table(index="rule", columns=["scheme", "measure", "seed"], values="value")
    tried = _shares(found).pivot_table(index="rule", columns=["deviation", "seed"], values=["gain", "loss"])
    same = [_equal(table, found.baseline) for table in (measures, tried)]
    return sorted(same[0] & same[1])


def _equal(table: pd.DataFrame, to: str) -> set[str]:
    """The other rows that have all that one row has, up to rounding."""
    if to not in table.index:
        return set()
    known = table.loc[:, table.loc[to].notna()]
    near = np.isclose(known, known.loc[to], rtol=_ROUNDING, atol=_ROUNDING).all(axis=1)
    return {str(rule) for rule in known.index[near]} - {to}


def sentences(leagues: Mapping[str, League]) -> list[str]:
    """What a reader may take from it, each with its interval: on truth, on attacks, on what survival costs.

    The questions were fixed before anything was recorded; a sentence whose data are missing says so.
    """
    enough = {name: one for name, one in leagues.items() if one.rows["seed"].nunique() > 1}  # else no interval
    closed, trained = enough.get("closed"), enough.get("mnist")
    return [
        _truth(closed) if closed is not None else "What lies gain is not recorded on two seeds yet.",
        _attacks(trained) if trained is not None else "What attacks cost is not recorded on two seeds yet.",
        _survivor(trained) if trained is not None else "What survival costs is not recorded on two seeds yet.",
    ]


def _truth(found: League) -> str:
    """How many rules the best lie beats, which it beats most, and which rules are none here."""
    gains, idle = _wide(found, BEST, "gain"), same_as_baseline(found)
    real = gains.drop(columns=[found.baseline, *idle], errors="ignore")
    if real.empty:
        return "What lies gain is not recorded of any rule that pays yet."
    spans = {rule: _interval(real[rule]) for rule in real}
    beaten = [rule for rule, (low, _) in spans.items() if low > _A_LIE]
    held = [rule for rule, (_, high) in spans.items() if high <= _A_LIE]
    worst = real.mean().idxmax()
    more = f"; under {_listed(held)} it certainly gains no more than that" if held else ""
    left = len(spans) - len(beaten) - len(held)
    more += f"; under {left} that is open" if left else ""
    more += f". Not counted: {found.baseline} itself" if found.baseline in gains else ""
    more += f", and what is {found.baseline} here, as tuned: {_listed(idle)}" if idle else ""
    return (
        f"In closed form the best lie certainly gains more than {_A_LIE:.0%} of what an owner has under {len(beaten)} "
        f"of {real.shape[1]} rules, most under {worst}: {_share(real[worst])}{more} ({len(real)} populations)."
    )


def _attacks(found: League) -> str:
    """What a flipped sign costs the others where all share a model, and where each is handed its own."""
    losses = _wide(found, "sign flip", "loss")
    own = [rule for rule in exchanging_rules() if rule in losses and rule not in (*_ONE_MODEL, ALONE)]
    if "NoPayments" not in losses or not own:
        return "What attacks cost is not recorded on two seeds yet."
    shared, mine = losses["NoPayments"], losses[own].mean(axis=1)
    means = losses[own].mean().sort_values(kind="stable")
    each = ", ".join(f"{rule} {_percent(value)}" for rule, value in means.items())
    alone = f"; alone ({ALONE}, no federation) {_share(losses[ALONE])}" if ALONE in losses else ""
    return (
        f"On MNIST, if one of six owners flips the sign of its update, each of the others loses {_share(shared)} of "
        f"what it has where all share a plain mean (NoPayments), and {_share(mine)} on average over the {len(own)} "
        f"rules that hand every owner a model of its own ({each}){alone}; the paired difference of the first two is "
        f"{_share(shared - mine)} ({len(losses)} seeds)."
    )


def _survivor(found: League) -> str:
    """The federated rules that survive most behaviours, what they cost in welfare, and what is survived alone."""
    verdicts, other = survival(found), apart(found)
    federated = verdicts.drop(index=[rule for rule in other if rule in verdicts.index])
    survived = (federated == "survives").sum(axis=1)
    best = survived.index[survived == survived.max()].tolist()
    reached = found.achieved
    mine = reached[(reached["scheme"] == "trained") & (reached["measure"] == "welfare")]
    welfare = mine.pivot(index="seed", columns="rule", values="value")
    if not {"NoPayments", *best} <= set(welfare):
        return "What survival costs is not recorded on two seeds yet."
    rest = [rule for rule in best if rule != "NoPayments"]
    change = [f"{_said(welfare[rule] - welfare['NoPayments'])} under {rule}" for rule in rest]
    counted = _listed([f"{rule} ({_counted(verdicts.loc[rule])})" for rule in best])
    cost = f"; beside no payments, welfare per owner in units of accuracy changes by {_listed(change)}" if rest else ""
    alone = f"; {ALONE}, which is no federation, survives {_counted(verdicts.loc[ALONE])}" if ALONE in other else ""
    return (
        f"On MNIST, of {len(federated)} federated rules most behaviours are survived by {counted}{cost}{alone} "
        f"({len(welfare)} seeds, which also chose {'the rules' if len(best) > 1 else 'the rule'})."
    )


def _counted(verdicts: pd.Series) -> str:
    """How many behaviours are survived, of those that mean something and change anything under a rule."""
    many = int((~verdicts.isin(("", UNREAD))).sum())
    unread = int((verdicts == UNREAD).sum())
    return f"{(verdicts == 'survives').sum()} of {many}{f', as {unread} change nothing there' if unread else ''}"


def _listed(words: list[str]) -> str:
    """Words with commas and an and."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _wide(found: League, deviation: str, column: str) -> pd.DataFrame:
    """Gains or losses by one deviation in units of what an owner has: seeds x rules."""
    rows = found.rows[found.rows["deviation"] == deviation]
    return rows.assign(value=rows[column] / rows["stake"]).pivot(index="seed", columns="rule", values="value")


def _said(values: pd.Series) -> str:
    """The mean and its 95% interval; leagues of one seed have no sentences."""
    low, high = _interval(values)
    return f"{values.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def _share(values: pd.Series) -> str:
    """The same of a share, in percent."""
    mean, low, high = map(_percent, (values.mean(), *_interval(values)))
    return f"{mean} [{low}, {high}]"


def _percent(value: float) -> str:
    """A share in percent; what rounding leaves of a loss has no sign."""
    return f"{value:,.0%}" if abs(value) >= 1 else f"{round(value, 3) + 0.0:.1%}"
