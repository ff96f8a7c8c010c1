"""Which rule survives which behaviour: a verdict for every pair, by intervals over seeds, and three sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedabm.auditing.league import BEST, COLUMNS, League
from fedabm.common.confidence import confidence

__all__ = ["TOLERATED", "VERDICTS", "sentences", "survival", "verdict"]

#: how much of what an owner has a behaviour may bring who behaves so, or cost each of the others
TOLERATED = 0.05
#: verdicts in words, from good to bad
VERDICTS = ("survives", "open", "pays", "harms", "pays and harms", "")
#: in the sentence on truth a lie that gains this share of what an owner has is one
_A_LIE = 0.01


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
    """Verdicts, rules x behaviours that mean anything under some rule; rules that survive the most come first."""
    rows = found.rows.assign(
        gain=found.rows["gain"] / found.rows["stake"], loss=found.rows["loss"] / found.rows["stake"]
    )
    said = {}
    for (rule, deviation), part in rows.groupby(["rule", "deviation"], sort=False):
        said[(rule, deviation)] = verdict(part["gain"], part["loss"])
    wide = pd.Series(said).unstack().fillna("")
    asked = dict.fromkeys(rows["deviation"])
    wide = wide[[*(name for name in COLUMNS if name in asked), *(name for name in asked if name not in COLUMNS)]]
    wide = wide.loc[:, (wide != "").any()]
    best = (wide == "survives").sum(axis=1) - 1e-3 * wide.isin(("pays", "harms", "pays and harms")).sum(axis=1)
    return wide.loc[best.sort_values(ascending=False, kind="stable").index]


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
    """How many rules the best lie beats, and which it beats most."""
    gains = _wide(found, BEST, "gain")
    lows = {rule: _interval(gains[rule])[0] for rule in gains}
    beaten = [rule for rule, low in lows.items() if low > _A_LIE]
    worst = gains.mean().idxmax()
    held = [rule for rule in gains if _interval(gains[rule])[1] <= _A_LIE]
    return (
        f"In closed form the best lie certainly gains more than {_A_LIE:.0%} of what an owner has under {len(beaten)} "
        f"of {gains.shape[1]} rules, most under {worst}: {_share(gains[worst])}; under {len(held)} it certainly gains "
        f"no more than that{': ' + ', '.join(held) if held else ''} ({len(gains)} populations)."
    )


def _attacks(found: League) -> str:
    """What a flipped sign costs the others where all share a model, and where each keeps its own."""
    losses = _wide(found, "sign flip", "loss")
    own = [rule for rule in ("LocalOnly", "FedAMP", "FedFomo", "Ditto", "ModelMarket") if rule in losses]
    if "NoPayments" not in losses or not own:
        return "What attacks cost is not recorded on two seeds yet."
    shared, apart = losses["NoPayments"], losses[own].mean(axis=1)
    return (
        f"On MNIST, if one of six owners flips the sign of its update, each of the others loses {_share(shared)} of "
        f"what it has where all share a plain mean, and {_share(apart)} where owners keep models of their own (mean of "
        f"{', '.join(own)}); the paired difference is {_share(shared - apart)} ({len(losses)} seeds)."
    )


def _survivor(found: League) -> str:
    """The rules that survive most behaviours, and what they cost in welfare beside no payments."""
    verdicts = survival(found)
    survived = (verdicts == "survives").sum(axis=1)
    best = survived.index[survived == survived.max()].tolist()
    reached = found.achieved
    mine = reached[(reached["scheme"] == "trained") & (reached["measure"] == "welfare")]
    welfare = mine.pivot(index="seed", columns="rule", values="value")
    if not {"NoPayments", *best} <= set(welfare):
        return "What survival costs is not recorded on two seeds yet."
    apart = [f"{_said(welfare[rule] - welfare['NoPayments'])} under {rule}" for rule in best]
    return (
        f"On MNIST most behaviours are survived by {_listed(best)}: {survived.max()} of {verdicts.shape[1]}; beside no "
        f"payments, welfare per owner in units of accuracy changes by {_listed(apart)} ({len(welfare)} seeds, which "
        f"also chose {'the rules' if len(best) > 1 else 'the rule'})."
    )


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
    mean, low, high = (f"{one:,.0%}" if abs(one) >= 1 else f"{one:.1%}" for one in (values.mean(), *_interval(values)))
    return f"{mean} [{low}, {high}]"
