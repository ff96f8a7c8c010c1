"""What a run of the market can say about a claim of iPFL 2025, and what it leaves open.

What a run can do for a claim: "nothing" (too small for what is claimed), "confirm" it, but not refute it (where the
claim is about the rule of the market), or "decide" it, either way.  The recorded runs decide once trade has settled, by
the ledger's standard: the last round then counts for those left out.  Their models have had a few per cent of the
paper's local steps: a claim that holds by accuracies of that stage holds in part if they said the same after three
quarters of the rounds, and stays open if they had not been measured by then or if it fails by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pandas as pd

from fedabm.papers.ledger.rows import ClaimInterval, Finding, undecided
from fedabm.papers.ledger.standard import SETTLED, drift
from fedabm.papers.ledger.training import on_a_gpu, too_small
from fedabm.papers.presets import more_seeds, spread

__all__ = [
    "AHEAD_OF_FED_AMP",
    "COMPARABLE",
    "SETTLED",
    "RunEvidence",
    "Stage",
    "ahead_of_fed_amp",
    "best_rivals",
    "highest",
    "trade_moved",
    "utilities",
]

#: what three quarters of the rounds said of accuracies; nothing where a claim is not about them
Stage = Literal["", "same", "unmeasured"]
#: by how many points and how much utility the text has the market ahead of FedAMP, in a setting that it does not name
AHEAD_OF_FED_AMP = (1.75, 217.4)
#: how many points of accuracy count as comparable
COMPARABLE = 1.0


@dataclass(frozen=True)
class RunEvidence:
    """Which run speaks: on what, what it can do for a claim, the command for the paper's size, and what else to say.

    `decisive` says that it is one of the runs at that size; `rounds` is how many it stands for, if more than it has;
    `early` that its accuracies are of an early stage; `needs` is what would decide, if that is not a GPU.
    """

    what: str
    can: Literal["nothing", "confirm", "decide"]
    command: str
    note: str = ""
    decisive: bool = False
    rounds: int | None = None
    early: bool = True
    needs: str = ""

    def verdict(
        self,
        ours: str,
        claim: bool,
        criterion: str,
        *,
        moved: float = 0.0,
        by_accuracy: bool = False,
        within: str = "",
        accuracy: Stage = "",
    ) -> Finding:
        """What follows if the claim holds in the run, or does not.

        `moved` says by which share utilities moved at last, `by_accuracy` that nothing else fails, `within` how many
        seeds it takes where what the claim turns on is within the spread over seeds, `accuracy`, where it is about
        accuracies, too, what three quarters of the rounds said of them.
        """
        note = "; ".join(filter(None, (criterion, self.note)))
        if self.can == "nothing":
            small = self.note or "a small part of the set and a small network do not decide"
            return self._open(ours, f"{small} (here the claim {'holds' if claim else 'does not hold'}: {criterion})")
        if self.decisive and moved > SETTLED:
            return self._open(ours, f"trade has not settled: utilities moved by {100 * moved:.0f} % at last ({note})")
        if not claim and self.can == "confirm":
            return self._open(ours, f"the claim does not hold in this run, which is too small to refute it ({note})")
        if self.decisive and within and self.can == "confirm":
            return self._open(ours, f"within the spread over seeds, and too small to refute the claim ({note})")
        if self.decisive and within:
            return undecided(ours, f"within the spread over seeds ({note})", within)
        if not claim and by_accuracy:
            return self._open(ours, f"accuracies at this length cannot refute the claim ({note})")
        if claim and accuracy == "unmeasured" and self.decisive and self.early:
            early = (
                "utilities: reproduced; accuracies: undecided (at an early stage, not measured after three quarters)"
            )
            return self._open(ours, f"{early} ({note})")
        if claim and accuracy and self.decisive and self.early:
            parts = "utilities: reproduced; accuracies: reproduced in part (at an early stage, whose end was not run)"
            return Finding(ours, "reproduced in part", f"{parts}; {note}")
        return Finding(ours, "reproduced" if claim else "not reproducible", note)

    def _open(self, ours: str, why: str) -> Finding:
        """What only a longer run can decide."""
        if self.decisive:
            return undecided(ours, why, self.needs or on_a_gpu(self.command))
        return too_small(ours, why, self.command)


def highest(rounds: pd.DataFrame, length: int | None, owners: int) -> tuple[str, str]:
    """In how many seeds the market has the highest mean utility, and what would tell if seeds disagree.

    It must be so in the rounds that were run as well as in all that they stand for, `length`.
    """
    run, ahead = (_lead(rounds, counted) / owners for counted in (None, length))
    gap, width = spread(ahead.to_numpy())
    words = f"highest in {int((ahead > 0).sum())} of {len(ahead)} seeds, above the best other of a seed by {gap:+.4g}"
    if len(ahead) > 1:
        words += f" +- {width:.2g}"
    if not ((run > 0) == (ahead > 0)).all():
        return words, "more rounds: in those that were run another is ahead"
    alike = len(ahead) > 1 and (ahead > 0).nunique() == 1 and abs(gap) > width
    return words, "" if alike else more_seeds(gap, width, len(ahead))


def best_rivals(utility: pd.DataFrame) -> list[str]:
    """The rules that come nearest to the market on average or in a seed, on which the lead over them turns."""
    others = utility.drop(columns="iPFL")
    return sorted({str(others.mean().idxmax()), *map(str, others.idxmax(axis=1))})


def ahead_of_fed_amp(rounds: pd.DataFrame, length: int | None, owners: int) -> tuple[ClaimInterval, ...]:
    """By how many points, and how much utility, the market is ahead of FedAMP over seeds, beside what is printed."""
    utility = utilities(rounds, length) / owners
    if "FedAMP" not in utility:
        return ()
    last = rounds[rounds["step"] == rounds["step"].max()].pivot(index="seed", columns="label", values="accuracy")
    gaps = (100 * (last["iPFL"] - last["FedAMP"]), utility["iPFL"] - utility["FedAMP"])
    names = ("points ahead of FedAMP", "utility ahead of FedAMP")
    return tuple(
        ClaimInterval(name, *spread(gap.to_numpy()), printed)
        for name, gap, printed in zip(names, gaps, AHEAD_OF_FED_AMP, strict=True)
    )


def _lead(rounds: pd.DataFrame, length: int | None) -> pd.Series:
    """By how much the market's utility exceeds that of the best rival, by seed."""
    utility = utilities(rounds, length)
    return utility["iPFL"] - utility.drop(columns="iPFL").max(axis=1)


def trade_moved(rounds: pd.DataFrame, *labels: str) -> float:
    """By which share all owners' utility moved over the last quarter of the rounds: the largest of these rules."""
    wide = rounds.pivot_table(index=["label", "seed"], columns="step", values="welfare")
    return max(drift(wide.loc[label]) for label in labels)


def utilities(rounds: pd.DataFrame, length: int | None) -> pd.DataFrame:
    """All owners' utility over all rounds, a row per seed; the last round counts for those up to `length`."""
    wide = rounds.pivot_table(index=["seed", "label"], columns="step", values="welfare")
    left_out = max((length or 0) - wide.shape[1], 0)
    return (wide.sum(axis=1) + left_out * wide.iloc[:, -1]).unstack("label")
