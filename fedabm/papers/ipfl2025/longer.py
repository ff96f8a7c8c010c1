"""iPFL 2025, Figures 2 and 5 by longer runs that were planned before they were looked at.

Each record is one seed; `analysis/recorded/PLAN.md` has the rules, written before any of them was run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from fedabm.papers.ipfl2025.evidence import (
    COMPARABLE,
    SETTLED,
    RunEvidence,
    ahead_of_fed_amp,
    best_rivals,
    trade_moved,
    utilities,
)
from fedabm.papers.ipfl2025.judges import at_length, improved
from fedabm.papers.ledger.rows import Finding
from fedabm.papers.ledger.standard import ClaimPart, Course, joined, part_of
from fedabm.papers.ledger.training import Tables
from fedabm.papers.presets import more_seeds, spread

__all__ = ["at_full", "at_half"]

#: the share of the paper's rounds that the planned runs have
_HALF = 0.5
_MORE_ROUNDS = "more rounds, up to the paper's"


def at_half(found: Tables, longer: Tables, *fresh: Tables, evidence: RunEvidence, part: str, owners: int) -> Finding:
    """Figure 2 with the paper's local steps for half of its rounds, by fresh seeds; earlier records stand beside it."""
    before = at_length(found, longer, evidence=evidence, part=part, owners=owners)
    if not fresh:
        return before
    rounds = pd.concat([one["rounds"] for one in fresh])
    utility = utilities(rounds, evidence.rounds) / owners
    accuracy = rounds[rounds["step"] == rounds["step"].max()].pivot(index="seed", columns="label", values="accuracy")
    shown = ", ".join(
        f"{label} {utility[label].mean():.4g} ({100 * accuracy[label].mean():.2f} %)" for label in utility.columns
    )
    seeds, many = f"fresh seeds {rounds['seed'].min()} to {rounds['seed'].max()}", int(rounds["step"].max())
    ours = f"{evidence.what}, {part}, {owners} owners, {seeds}, {many} rounds: utility (accuracy) {shown}"
    leads = ahead_of_fed_amp(rounds, evidence.rounds, owners)
    said = ", ".join(f"{one.name} {one.mean:+.4g} +- {one.half:.2g} (printed {one.printed:+g})" for one in leads)
    richest = replace(_richest(rounds, utility), interval=spread(_lead(utility).to_numpy()))
    parts = (richest, _comparable(rounds, accuracy))
    finding = joined(f"{ours}; {said}; earlier: {before.ours}", parts, "planned beforehand", every=True)
    return replace(finding, intervals=(*finding.intervals, *leads))


def _richest(rounds: pd.DataFrame, utility: pd.DataFrame) -> ClaimPart:
    """Highest utility in every seed and beyond its interval, if trade has settled for the market and its best rivals.

    It must be so in the rounds that were run as well as in all that they stand for.
    """
    lead, run = _lead(utility), _lead(utilities(rounds, None))
    gap, width = spread(lead.to_numpy())
    moved = trade_moved(rounds, "iPFL", *best_rivals(utility))
    why = f"highest in {int((lead > 0).sum())} of {len(lead)} seeds, by {gap:+.4g} +- {width:.2g}; moved by {moved:.0%}"
    if moved > SETTLED:
        return ClaimPart("highest utility", "undecided", f"{why} over the last quarter", _MORE_ROUNDS)
    if not ((lead > 0) == (run > 0)).all():
        return ClaimPart("highest utility", "undecided", f"{why}; not in the rounds that were run", _MORE_ROUNDS)
    if 0 < (lead > 0).sum() < len(lead) or not abs(gap) > width:
        return ClaimPart("highest utility", "undecided", why, more_seeds(gap, width, len(lead)))
    return ClaimPart("highest utility", "reproduced" if gap > 0 else "not reproducible", why)


def _lead(utility: pd.DataFrame) -> pd.Series:
    """By how much the market's utility exceeds that of the best other, by seed."""
    return utility["iPFL"] - utility.drop(columns="iPFL").max(axis=1)


def _comparable(rounds: pd.DataFrame, accuracy: pd.DataFrame) -> ClaimPart:
    """Within a point of the best other on average, by the standard for half of the paper's length."""
    best = str(accuracy.drop(columns="iPFL").mean().idxmax())
    wide = rounds.pivot(index=["label", "seed"], columns="step", values="accuracy")
    course = Course(100 * (wide.loc["iPFL"] - wide.loc[best]) + COMPARABLE)
    part = part_of("accuracy comparable or better", course, _HALF)
    behind, width = course.end[0] - COMPARABLE, course.end[1]
    why = f"{behind:+.2f} +- {width:.2g} points against {best}, with {COMPARABLE:g} to spare: {part.why}"
    return replace(part, why=why)


def at_full(found: Tables, *fresh: Tables, evidence: RunEvidence) -> Finding:
    """Figure 5 at the paper's length: buyers and traders better than alone, each beyond its interval over seeds."""
    before = improved(found, evidence)
    if not fresh:
        return before
    points = pd.DataFrame([one["summary"].set_index("role")["points"] for one in fresh])
    parts = [_better(role, points[role].to_numpy()) for role in ("buyer", "trader")]
    changes = ", ".join(f"{role} {points[role].mean():+.3g}" for role in ("buyer", "trader", "seller"))
    ours = f"{evidence.what}, 12 owners, {len(points)} fresh seeds at the paper's length: points above alone: {changes}"
    return joined(f"{ours}; earlier, shorter: {before.ours}", parts, "planned beforehand", every=True)


def _better(role: str, points: np.ndarray) -> ClaimPart:
    gap, width = spread(points)
    why = f"{gap:+.3g} +- {width:.2g} points"
    if not abs(gap) > width:
        return ClaimPart(f"{role}s", "undecided", why, more_seeds(gap, width, len(points)), (gap, width))
    return ClaimPart(f"{role}s", "reproduced" if gap > 0 else "not reproducible", why, interval=(gap, width))
