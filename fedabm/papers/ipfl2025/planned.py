"""iPFL 2025, Figure 4 by runs that were planned before they were looked at, see `analysis/recorded/PLAN.md`.

Fresh seeds decide about the rules that were run with them; rivals that were not are judged by the earlier records.
Trade has settled if utilities moved by at most 5% in the last round, on average over seeds, for every rule that the
verdict turns on.  What three quarters of the rounds would have said must be the same verdict.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pandas as pd

from fedabm.papers.ipfl2025.attacks import CRITERION, Weighed, attacked, intervals, rules_under, weigh
from fedabm.papers.ipfl2025.evidence import SETTLED, RunEvidence, Stage
from fedabm.papers.ledger.rows import Finding, Verdict, undecided
from fedabm.papers.ledger.training import Tables

__all__ = ["PlannedAttack", "attacked_anew"]

_EARLY = " at 3/4"


@dataclass(frozen=True)
class PlannedAttack:
    """Which attack, from which seed on, and what else to say."""

    attack: str
    first: int
    note: str = ""


def attacked_anew(found: Tables, more: Tables, *fresh: Tables, evidence: RunEvidence, plan: PlannedAttack) -> Finding:
    """Figure 4 by fresh seeds; `found` and `more` are the earlier records."""
    if not fresh:
        return attacked(found, more, evidence=evidence, attack=plan.attack)
    by_seed = pd.concat([one["seeds"] for one in fresh])
    rows = by_seed[(by_seed["attack"] == plan.attack) & (by_seed["seed"] >= plan.first)]
    earlier = rules_under(plan.attack, found, more)
    earlier["moved"] = [_at_most(str(rule), one, plan.attack, (found, more)) for rule, one in earlier.iterrows()]
    late, early = (_with_rivals(_over_seeds(rows, when), earlier) for when in ("", _EARLY))
    weighed, before = weigh(late), weigh(early)
    again = ", ".join(rows["rule"].unique())
    said = weigh(earlier).words
    ours = f"{evidence.what}, fresh seeds {rows['seed'].min()} to {rows['seed'].max()} of {again}: {weighed.words}; "
    ours += f"earlier seeds, which do not count for {again}: {said}"
    note = f"{CRITERION}; {weighed.also}; {_three_quarters(rows, before)}; {plan.note}"
    doubts = dict(_open(late, weighed, before, evidence))
    if doubts:
        why, needed = f"{'; '.join(doubts)} ({note}; {evidence.note})", "; ".join(filter(None, doubts.values()))
        return replace(undecided(ours, why, needed), intervals=intervals(late))
    stage: Stage = "same" if _measured(rows) else "unmeasured"
    return replace(evidence.verdict(ours, weighed.claim, note, accuracy=stage), intervals=intervals(late))


def _open(table: pd.DataFrame, weighed: Weighed, before: Weighed, evidence: RunEvidence) -> Iterator[tuple[str, str]]:
    """What leaves the claim open, each with what would decide."""
    moving = {rule: table.loc[rule, "moved"] for rule in _turns_on(table, weighed)}
    moving = {rule: share for rule, share in moving.items() if share > SETTLED}
    if moving:
        shares = ", ".join(f"{rule} by {100 * share:.0f} %" for rule, share in moving.items())
        words = f"trade has not settled: utilities moved at last, on average over seeds, under {shares}"
        yield words, "more rounds, up to the paper's"
    if weighed.within:
        yield "within the spread over seeds", weighed.within
    elif weighed.refuted and weighed.by_accuracy:
        yield "accuracies at this length cannot refute the claim", "more rounds, up to the paper's"
    if _verdict(before) != _verdict(weighed):
        yield "three quarters of the rounds say otherwise", "more rounds"


def _turns_on(table: pd.DataFrame, weighed: Weighed) -> list[str]:
    """The rules that a verdict turns on: one settled rival that does as well suffices to refute, else all of them."""
    if weighed.agreeing:
        return [min(weighed.agreeing, key=lambda rule: float(table.loc[rule, "moved"]))]
    return ["iPFL"] if weighed.refuted else [str(rule) for rule in table.index]


def _verdict(weighed: Weighed) -> Verdict:
    """What intervals say, whatever else is open."""
    if weighed.refuted:
        return "not reproducible"
    return "reproduced" if weighed.claim else "undecided"


def _three_quarters(rows: pd.DataFrame, before: Weighed) -> str:
    """What would have been said earlier, and whether accuracies had been measured by then."""
    by = "" if _measured(rows) else " by utilities alone, as accuracies had not been measured by then"
    return f"after three quarters of the rounds: {_verdict(before)}{by}"


def _measured(rows: pd.DataFrame) -> bool:
    """Whether accuracies were measured after three quarters of the rounds."""
    return bool((rows[f"points{_EARLY}"] != 0).any())


def _over_seeds(rows: pd.DataFrame, when: str) -> pd.DataFrame:
    """Means and deviations by rule, as a study's summary has them, but for `moved`: the mean over seeds."""
    change = rows[f"attacker{when}"] - rows[f"attacker before{when}"]
    groups = rows.assign(change=change).groupby("rule", sort=False)
    columns = {
        "points": groups[f"points{when}"].mean(),
        "s.d.": groups[f"points{when}"].std(),
        "attacker utility before": groups[f"attacker before{when}"].mean(),
        "attacker change": groups["change"].mean(),
        "attacker change s.d.": groups["change"].std(),
        "moved": groups["moved"].mean(),
        "seeds": groups.size(),
    }
    return pd.DataFrame(columns)


def _with_rivals(fresh: pd.DataFrame, earlier: pd.DataFrame) -> pd.DataFrame:
    rivals = earlier.drop(fresh.index, errors="ignore")
    return pd.concat([fresh, rivals[fresh.columns]]).sort_index(key=lambda names: names != "iPFL", kind="stable")


def _at_most(rule: str, case: pd.Series, attack: str, studies: tuple[Tables, ...]) -> float:
    """At most so much did utilities move in the last round, on average over seeds, in a record that has the largest.

    The largest share times the share of seeds in which the sum of utilities moved at all.
    """
    rounds = next(one["rounds"] for one in reversed(studies) if (one["rounds"]["label"] == f"{rule}, {attack}").any())
    wide = rounds[rounds["label"] == f"{rule}, {attack}"].pivot_table(index="seed", columns="step", values="welfare")
    return float(case["moved"] * (wide.iloc[:, -1] != wide.iloc[:, -2]).mean())
