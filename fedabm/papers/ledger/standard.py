"""One standard of proof for all rows that were trained: how long and how many, whether it has settled, what follows.

What a claim turns on is a quantity with a sign: it holds above zero.  It is told from the 95% interval of its mean over
seeds, after the last round and after three quarters of the rounds.

    share     rounds times local steps, as a share of the paper's
    settled   the mean over seeds moved by at most 5% of itself over the last quarter of the rounds
    outlasts  at the pace of its last quarter it would keep its sign for as many rounds again as were run

    beyond its interval and (share 1 or settled)                                  reproduced or not reproducible
    else, the same after three quarters, share from 1/2, has not come closer      reproduced or not reproducible
    else, the same after three quarters, above zero, and outlasts                 reproduced in part: at this stage
    all else                                                                      undecided

So an early stage refutes nothing.  A claim of several parts is reproduced if all of them are, and in part if some are
and none is undecided; where they are cases of one statement, one case refutes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from fedabm.papers.ledger.rows import ClaimInterval, Finding, Verdict, undecided
from fedabm.papers.presets import more_seeds, spread

__all__ = [
    "EXCEPTIONS",
    "RULES",
    "SETTLED",
    "ClaimPart",
    "Course",
    "Length",
    "Proof",
    "drift",
    "joined",
    "part_of",
    "three_quarters",
]

#: by which share a quantity may move over the last quarter of a run and count as settled
SETTLED = 0.05
#: from which share of the paper's length on a run that has not settled can refute
_LONG = 0.5
_QUARTERS = 4

Tables = dict[str, pd.DataFrame]
#: tables of a run, and whether it is like the paper in all but its rounds
Study = tuple[Tables, bool]
#: what is shown about a part: what the standard says, or that what was run is no evidence about it
Proof = Literal["reproduced", "reproduced in part", "not reproducible", "undecided", "no evidence"]

#: what the plan of runs has instead of the standard, by rows
EXCEPTIONS = {
    "P22, P23, P24, P25": "settled is how far utilities moved in the last round, by seed, then the mean over seeds, "
    "and not how far the mean over seeds moved over the last quarter",
    "P26, P27": "one seed in which a lie pays refutes, and that it pays in none of three confirms, without an interval",
    "P08, P09, P10": "utility must also be highest in every seed, and trade under the market and its best rivals of a "
    "seed have settled",
    "P28b": "the planned runs have the paper's length, so that nothing needs to have settled",
    "M12, M13": "utilities after the last round alone, as only what owners settle at is trained; seeds of one "
    "record share a public curve, so that records must agree in the sign, or each counts once",
    "R19": "orders by unpaired differences of means over five seeds after half of the paper's rounds, sizes within a "
    "factor of two or by 0.5, without a course by round",
    "R23": "settled is how far contributions moved from the last stage but one to the last, in each of two seeds",
}

#: the same for readers, at the head of the page
RULES = (
    "**One standard.** *Length*: every row that was trained says which share of the paper's rounds (with the local",
    "steps of a round), owners and seeds it has.  *Settled*: what the claim turns on moved, on average over seeds,",
    f"by at most {SETTLED:.0%} of itself over the last quarter of the rounds.  *Verdict*, from 95% intervals over",
    "paired seeds: a run of the paper's length, or one that has settled, decides either way.  One that has not",
    f"settled decides either way from {_LONG:.0%} of the paper's length on, if three quarters of its rounds say the",
    "same and the distance has not shrunk since.  A shorter one refutes nothing; it says *reproduced in part*,",
    "which is at this stage, if three quarters of the rounds say the same and the distance would outlast as many",
    "rounds again at the pace of its last quarter, and *undecided* otherwise.  What follows from a theorem for any",
    "models, and what only grows with training and is beyond the printed value already, needs no length.",
    "",
    "*Reproduced in part* also says which parts of a claim hold, where others do not or where what was run is no",
    "evidence about them: what is equal by construction, a curve of fewer than three points, a criterion or a",
    "number of seeds that was chosen after a run (*chosen after the run* marks these; only fresh seeds decide). A",
    "part that more of the same would decide leaves the row *undecided*. Runs that were planned before they were",
    "looked at are in `analysis/recorded/PLAN.md`; while some of a row's are missing those that are there decide",
    "nothing. The standard was written when the records of the plan of P22 to P27, D13 and M12 and all earlier ones",
    "had been seen.",
    "",
    "**Rules that were fixed beforehand go first**, where they are not the standard above, in these rows.",
    *(f"*{ids}*: {rule}." for ids, rule in EXCEPTIONS.items()),
    "",
    "**Without rows.** Wang et al. 2025 (Paid with Models: Optimal Contract Design for Collaborative Machine",
    "Learning): of its text only the abstract was to be had, which prints no number, and its authors' code shows",
    "results as pictures.",
)


@dataclass(frozen=True)
class Length:
    """How long a run is beside the paper's: its rounds, ours and theirs of local steps and owners, its seeds.

    Seeds 0: the paper does not say; `run` is how many rounds were run where the table of rounds is of something else.
    Of several studies `decides` says how many count, from the first, before planned ones are there (0: all); with
    `fresh` these count alone, and of them seeds from `first` on.
    """

    rounds: int
    owners: tuple[int, int]
    seeds: int = 0
    steps: tuple[int, int] = (1, 1)
    run: int = 0
    unit: str = "rounds"
    decides: int = 0
    fresh: bool = False
    first: int = 0

    def counted(self, known: Sequence[Study], planned: Sequence[Study]) -> list[Study]:
        """Which of them a verdict rests on: those that stand beside it say nothing about its length."""
        earlier = list(known)[: self.decides or None]
        return list(planned) if planned and self.fresh else [*earlier, *planned]

    def times(self, study: Study, seeds: int) -> float:
        """How many times a run's training the paper's has: rounds and local steps, owners, and seeds if it says."""
        found, like_paper = study
        owners = self.owners[1] / self.owners[0]
        return owners * max(self.seeds / seeds, 1.0) / self.share(found, like_paper=like_paper)

    def share(self, found: Tables, *, like_paper: bool = False) -> float:
        """Of the paper's rounds and local steps, of which a run like the paper has all in a round."""
        done, theirs = (1, 1) if like_paper else self.steps
        return self._run(found) * done / (self.rounds * theirs)

    def _run(self, found: Tables) -> int:
        return self.run or _rounds(found["rounds"])

    def words(self, studies: Sequence[Study]) -> str:
        """In words, for the shortest of the studies that count, each with whether it is like the paper; their seeds."""
        shortest, like_paper = min(studies, key=lambda one: self.share(one[0], like_paper=one[1]))
        same = like_paper or self.steps[0] == self.steps[1]
        local = "" if same else f" of {self.steps[0]} local steps for {self.steps[1]}"
        share = self.share(shortest, like_paper=like_paper)
        each = f"{self._run(shortest)} of the paper's {self.rounds} {self.unit}{local} ({share:.0%})"
        every = set().union(*(set(one["rounds"]["seed"]) for one, _ in studies))
        seeds = sum(seed >= self.first for seed in every)
        theirs = f" (the paper: {self.seeds})" if self.seeds else ""
        return f"length: {each}, {self.owners[0]} of {self.owners[1]} owners, {seeds} seeds{theirs}"


def _rounds(table: pd.DataFrame) -> int:
    """Rounds of training: steps of the label that has fewest, as a first phase without training comes on top."""
    return int(table.groupby("label")["step"].max().min())


def three_quarters(rounds: int) -> int:
    """The last of the first three quarters of the rounds.

    >>> [three_quarters(rounds) for rounds in (4, 5, 8, 14, 25)]
    [3, 4, 6, 11, 19]
    """
    return math.ceil((1 - 1 / _QUARTERS) * rounds)


def drift(by_round: pd.DataFrame) -> float:
    """By which share of itself the mean over seeds (rows) moved over the last quarter of the rounds (columns)."""
    means = by_round.mean(axis=0).to_numpy()
    end, early = means[-1], means[three_quarters(len(means)) - 1]
    if end == early:
        return 0.0
    return float(abs(end - early) / abs(end)) if end else math.inf


@dataclass(frozen=True)
class Course:
    """A quantity over seeds (rows) and rounds (columns); the claim is that it is above zero."""

    by_round: pd.DataFrame

    @property
    def end(self) -> tuple[float, float]:
        """Mean and half its interval after the last round."""
        return spread(self.by_round.iloc[:, -1].to_numpy())

    @property
    def early(self) -> tuple[float, float]:
        """The same after three quarters."""
        return spread(self.by_round.iloc[:, three_quarters(self.by_round.shape[1]) - 1].to_numpy())

    @property
    def settled(self) -> bool:
        """Whether the mean moved by at most 5% of itself over the last quarter."""
        return drift(self.by_round) <= SETTLED

    @property
    def closer(self) -> bool:
        """Whether the distance from zero has shrunk over the last quarter."""
        return abs(self.end[0]) < abs(self.early[0])

    @property
    def outlasts(self) -> bool:
        """Whether it keeps its sign for as many rounds again, at the pace of its last quarter."""
        end, pace = self.end[0], self.end[0] - self.early[0]
        return bool(end * (end + _QUARTERS * pace) > 0)

    @property
    def words(self) -> str:
        """Where it ends, where it was, and how far that is."""
        (end, width), (early, narrow) = self.end, self.early
        share = drift(self.by_round)
        moved = "settled" if self.settled else f"moved by {share:.0%} of itself over the last quarter"
        return f"{end:+.3g} +- {width:.2g}, after three quarters {early:+.3g} +- {narrow:.2g}: {moved}"


@dataclass(frozen=True)
class ClaimPart:
    """One part of a claim: which, what is shown about it, why, and what would decide it if that is open.

    `interval` is what it turns on, where that is one number: mean and half of its 95% interval over seeds; `printed`
    is what the paper has for it.
    """

    name: str
    proof: Proof
    why: str
    remedy: str = ""
    interval: tuple[float, float] | None = None
    printed: float | None = None


def part_of(name: str, course: Course, share: float) -> ClaimPart:
    """What the standard says about a part of a claim whose quantity took this course in a run of this length."""
    return replace(_judged(name, course, share), interval=course.end)


def _judged(name: str, course: Course, share: float) -> ClaimPart:
    now, before = _sign(course.end), _sign(course.early)
    if now is None:
        seeds = len(course.by_round)
        return ClaimPart(
            name, "undecided", f"{course.words}; within the spread over seeds", more_seeds(*course.end, seeds)
        )
    decided: Proof = "reproduced" if now else "not reproducible"
    if share >= 1 or course.settled:
        return ClaimPart(name, decided, course.words)
    longer = "more rounds, up to the paper's"
    if before is not now:
        return ClaimPart(name, "undecided", f"{course.words}; three quarters of the rounds say otherwise", longer)
    if share >= _LONG and not course.closer:
        return ClaimPart(name, decided, f"{course.words}; no closer than before")
    if not now:
        return ClaimPart(name, "undecided", f"{course.words}; an early stage refutes nothing", longer)
    if course.outlasts:
        stage = f"{course.words}; at this stage, and at this pace for as long again"
        return ClaimPart(name, "reproduced in part", stage, longer)
    return ClaimPart(
        name, "undecided", f"{course.words}; at this pace it would be gone in as many rounds again", longer
    )


def _sign(quantity: tuple[float, float]) -> bool | None:
    """Whether it is above zero, beyond its interval; None if that cannot be told."""
    mean, width = quantity
    if np.isfinite(width) and width == 0:
        return bool(mean > 0) if mean else None
    return bool(mean > 0) if abs(mean) > width else None


def joined(ours: str, parts: Sequence[ClaimPart], note: str = "", *, every: bool = False) -> Finding:
    """The verdict on a claim of several parts, with what is shown about each, those that make the verdict first.

    With `every` they are cases of one statement, which one of them refutes.
    """
    proofs = {one.proof for one in parts}
    verdict: Verdict = "not reproducible" if every and "not reproducible" in proofs else _whole(proofs)
    parts = sorted(parts, key=lambda one: one.proof != verdict)
    said = "; ".join(f"{one.name}: {one.proof} ({one.why})" for one in parts)
    reason = "; ".join(filter(None, (said, note)))
    remedies = "; ".join(f"{one.name}: {one.remedy}" for one in parts if one.remedy)
    intervals = tuple(ClaimInterval(one.name, *one.interval, one.printed) for one in parts if one.interval is not None)
    if verdict == "undecided":
        return replace(undecided(ours, reason, remedies or "evidence about these parts"), intervals=intervals)
    return Finding(ours, verdict, "; the rest needs: ".join(filter(None, (reason, remedies))), intervals)


def _whole(proofs: set[Proof]) -> Verdict:
    """Reproduced if every part is, in part if some are and no part is open; refuted if none is and one is refuted."""
    some = bool(proofs & {"reproduced", "reproduced in part"})
    if proofs == {"reproduced"}:
        return "reproduced"
    if "not reproducible" in proofs and not some:
        return "not reproducible"
    return "reproduced in part" if some and "undecided" not in proofs else "undecided"
