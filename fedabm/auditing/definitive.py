"""The definitive table of a league: what every rule achieves, what lies gain and what attacks do, with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fedabm.auditing.league import BEST, PAIR, League
from fedabm.common.confidence import confidence
from fedabm.common.texts import readable

__all__ = ["WIDE", "alike", "definitive", "printed", "unexplained"]

#: with fewer seeds a 95% interval says little, and is marked
WIDE = 5
_NOT_HARM = (BEST, PAIR)


def definitive(found: League, against: str | None = None) -> pd.DataFrame:
    """One row per scheme, rule and measure: mean, 95% interval, and the paired difference to another rule.

    Parameters
    ----------
    found : League
        The league.
    against : str, optional
        The rule from which differences are taken, on the same populations; by default the league's `baseline`.

    Returns
    -------
    pandas.DataFrame
        Columns scheme, rule, measure, mean, low, high, difference, from, to, seeds, wide and note; where a measure
        means nothing the numbers are nan, and the note says why.
    """
    against = found.baseline if against is None else against
    rows = pd.concat([found.achieved, _deviations(found)], ignore_index=True)
    wide = rows.pivot_table(index=["scheme", "measure", "seed"], columns="rule", values="value", dropna=False)
    made = []
    for (scheme, rule, measure), part in rows.groupby(["scheme", "rule", "measure"], sort=False):
        values = part["value"].dropna()
        note = next((one for one in part["note"] if one), "")
        made.append({"scheme": scheme, "rule": rule, "measure": measure, **_mean(values)})
        other = wide.loc[(scheme, measure)].get(against)
        apart = pd.Series(dtype=float) if other is None else (part.set_index("seed")["value"] - other).dropna()
        middle, low, high = _mean(apart).values()
        made[-1] |= {"difference": middle, "from": low, "to": high, "seeds": len(values)}
        made[-1] |= {"wide": 0 < len(values) < WIDE, "note": note if values.empty else ""}
    return pd.DataFrame(made)


def _mean(values: pd.Series) -> dict[str, float]:
    """The mean and its 95% interval by Student's t, which takes noise for normal: trained seeds are few."""
    if values.empty:
        return {"mean": np.nan, "low": np.nan, "high": np.nan}
    low, high = confidence(values, noise="normal") if len(values) > 1 else (np.nan, np.nan)
    return {"mean": float(values.mean()), "low": float(low), "high": float(high)}


def _deviations(found: League) -> pd.DataFrame:
    """What lies gain, their bounds, and the harm by each deviation, in units of what an owner has."""
    rows = found.rows
    scheme = found.achieved["scheme"].iloc[0] if len(found.achieved) else "closed"
    made = []
    for one in rows.itertuples(index=False):
        facts = {"rule": one.rule, "scheme": scheme, "seed": one.seed}
        skipped = one.words if str(one.words).startswith("skipped: ") else ""
        if one.deviation in _NOT_HARM or not np.isnan(one.gain) or skipped:
            made.append(facts | {"measure": f"gain: {one.deviation}", "value": one.gain / one.stake, "note": skipped})
        if one.deviation == BEST:
            bound = one.bound / one.stake if np.isfinite(one.bound) else np.nan
            unproven = "" if np.isfinite(one.bound) else "no bound is proven"
            made.append(facts | {"measure": "bound of the best lie", "value": bound, "note": unproven})
        else:
            made.append(facts | {"measure": f"harm: {one.deviation}", "value": one.loss / one.stake, "note": skipped})
    return pd.DataFrame(made)


def printed(table: pd.DataFrame, scheme: str) -> pd.DataFrame:
    """Rules x measures of a scheme as text: the mean and half its interval; '~' marks wide ones, '·' no meaning."""
    mine = table[table["scheme"] == scheme]
    text = [_text(one) for one in mine.itertuples(index=False)]
    wide = mine.assign(text=text).pivot(index="rule", columns="measure", values="text")
    return wide.reindex(index=mine["rule"].unique(), columns=mine["measure"].unique()).fillna("·")


def _text(one: object) -> str:
    mean, low, high = one.mean, one.low, one.high  # type: ignore[attr-defined]
    if np.isnan(mean):
        return "·"
    shown = readable(mean, 3) if abs(mean) >= 5e-4 else "0"
    if np.isnan(low):
        return f"{shown} ~"
    half = (high - low) / 2.0
    mark = "~" if one.wide else ""  # type: ignore[attr-defined]
    return f"{shown} ±{readable(float(f'{half:.1g}'))}{mark}" if half >= 5e-4 else shown


def unexplained(found: League, scheme: str, same: Mapping[tuple[str, ...], str], idle: str) -> list[tuple[str, ...]]:
    """Groups of `alike` rules for which neither a pair that is the same rule here nor idleness is the reason."""
    mine = found.achieved[found.achieved["scheme"] == scheme]
    still = {str(rule) for rule, part in mine.groupby("rule") if part["tuned"].str.contains(idle, regex=False).all()}
    left = []
    for group in alike(found, scheme):
        rest = [one for one in group if one not in still]
        rest = [one for one in rest if not any(one == pair[1] and pair[0] in group for pair in same)]
        if len(rest) + (len(still & set(group)) > 0) > 1:
            left.append(group)
    return left


def alike(found: League, scheme: str) -> list[tuple[str, ...]]:
    """Groups of rules with the same numbers wherever both have one: in every such measure and on every seed."""
    mine = found.achieved[found.achieved["scheme"] == scheme]
    wide = mine.pivot_table(index="rule", columns=["measure", "seed"], values="value", dropna=False).round(12)
    groups: list[dict[str, np.ndarray]] = []
    for rule, row in wide.iterrows():
        numbers = row.to_numpy(dtype=float)
        home = next((one for one in groups if all(_same(numbers, other) for other in one.values())), None)
        if home is None:
            groups.append({str(rule): numbers})
        else:
            home[str(rule)] = numbers
    return [tuple(group) for group in groups if len(group) > 1]


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    both = ~np.isnan(one) & ~np.isnan(other)
    return bool(both.any()) and bool(np.array_equal(one[both], other[both]))
