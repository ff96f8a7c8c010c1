"""The card of a rule on a federation that really trains: what was tried in paired runs, with intervals over seeds.

With one seed the best move of each kind is chosen; with others, which had no part in that, it is measured.  So an
interval is that of one comparison, not of the luckiest of many.  A claim holds or fails only if the whole interval is
on one side; else it is open.  Nothing is solved and nothing is certified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedabm.auditing.claims import Claim
from fedabm.auditing.deviations import KINDS
from fedabm.auditing.kinds import Tried
from fedabm.auditing.plans import MeasuredPlan, Plans
from fedabm.auditing.runs import Interval, interval
from fedabm.auditing.secession import group_count
from fedabm.common.confidence import LEAST
from fedabm.common.texts import readable

__all__ = ["TrainedAudit"]

#: what an owner has, at least, as the unit of flaws
_LEAST = 1e-9
#: what takes accuracies at every profile
_UNKNOWN = (
    "equal treatment",
    "more for more",
    "equilibria",
    "price of anarchy",
    "price of stability",
    "data gain",
    "reciprocity",
    "cost of information",
)
_WHY = "not known where models train: it takes what every profile is worth; audit the announced or a fitted curve"


@dataclass(frozen=True)
class TrainedAudit:
    """Claims about plans of some owners and pairs of owners, and about groups that leave."""

    plans: Plans
    owners: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    groups: Sequence[tuple[int, ...]] = ()

    @property
    def unit(self) -> float:
        """What an owner has, on average."""
        return max(float(np.mean([np.abs(one.utility) for one in self.plans.undisturbed])), _LEAST)

    @property
    def profile(self) -> tuple[float, ...]:
        """What owners contribute on average, if nobody deviates."""
        return tuple(np.mean([one.contribution for one in self.plans.undisturbed], axis=0).tolist())

    def claims(self, tried: dict[str, MeasuredPlan]) -> list[Claim]:
        """All claims of the card, given the best of each kind."""
        lies = {kind: one for kind, one in tried.items() if kind != "contribution"}
        best = max(lies.values(), key=lambda one: one.hoped)
        claims = [self._about("truthfulness", best, "rewards lying", list(lies.values()))]
        claims += [self._about(f"lies: {kind}", one) for kind, one in lies.items()]
        joint = self.plans.joint(self.pairs)
        claims += [] if joint is None else [self._about("groups of 2", joint, "rewards joint lies")]
        claims += [self._rationality(), self._secession(), self._budget(), self._harm(tried)]
        claims += [Claim(name, None, "unknown", np.nan, _WHY) for name in _UNKNOWN]
        return [*claims, Claim("training", None, "found", float(len(self.plans.runs)), self._done())]

    def skipped(self, tried: dict[str, MeasuredPlan]) -> dict[str, str]:
        """Kinds that were not tried, and why."""
        rule = type(self.plans.rule).__name__
        reasons = {
            "quality": "it takes other data; see the league with trained models",
            "away": "see individual rationality",
            "leaving": "see individual rationality",
            "names": "a second name would need data of its own",
            "merging": "owners' data are where they are",
            "side payments": "see the groups",
        }
        return {kind: reasons.get(kind, f"{rule} does not ask for it") for kind in KINDS if kind not in tried}

    @staticmethod
    def rows(tried: dict[str, MeasuredPlan]) -> tuple[Tried, ...]:
        """The best of each kind for the card's table; means of gains, at least 0, and nothing is proven."""
        return tuple(
            Tried(kind, one.members[0], max(one.gain.mean, 0.0), one.loss.mean, np.inf, f"{one.words}: {one.gain}")
            for kind, one in tried.items()
        )

    def _about(self, name: str, one: MeasuredPlan, flaw: str = "", every: Sequence[MeasuredPlan] = ()) -> Claim:
        """A lie gains if its interval lies above 0, does not if it and those of `every` other lie below, else: open."""
        gain, holds = one.gain, self._at_most_zero(one.gain)
        verdict = {False: "gains", True: "gains nothing", None: "cannot be told from chance"}[holds]
        if holds and not all(self._at_most_zero(other.gain) for other in every):
            holds, verdict = None, "gains nothing, but of other lies it cannot be told from chance"
        words = f"{one.words}: {verdict}, {gain}; {one.loss.lost}"
        severity = gain.mean / len(one.members) / self.unit
        value = max(gain.mean, 0.0)
        return Claim(name, holds, "found", value, words, flaw=flaw if holds is False else "", severity=severity)

    def _at_most_zero(self, *gains: Interval) -> bool | None:
        """False if all intervals lie above 0, True if one of them does not at all, None if neither can be told."""
        small = 1e-6 * self.unit
        if all(one.low > small for one in gains):
            return False
        return True if any(one.high <= small for one in gains) else None

    def _rationality(self) -> Claim:
        """Whether anybody has less than by training alone on its own data."""
        plans = self.plans
        worst = min(self.owners, key=lambda row: plans.surplus(plans.chooses, row))
        found = interval([plans.surplus(seed, worst) for seed in plans.measures])
        holds = False if found.high < 0 else True if found.low >= 0 else None
        words = f"{plans.who(worst)} has {found} more than by training alone on its data for as many rounds"
        flaw = "punishes joining" if holds is False else ""
        severity = max(-found.mean, 0.0) / self.unit
        name = "individual rationality"
        return Claim(name, holds, "found", found.mean, words, flaw=flaw, severity=severity)

    def _secession(self) -> Claim:
        """Whether some group was found whose members all have more if they train among themselves, by the same rule.

        One by one, who would leave is seen by individual rationality.  That all members gain is told from chance if the
        interval of each lies above 0 (intersection-union test, Berger 1982).
        """
        name, plans, count = "secession", self.plans, len(self.plans.runs.owners)
        if not self.groups:
            why = f"there are {count} owners, so that only one alone can leave; see individual rationality"
            return Claim(name, None, "unknown", np.nan, why)
        able, why = plans.by_themselves(self.groups)
        if not able:
            return Claim(name, None, "unknown", np.nan, f"no run of a group by itself could be made: {why}")
        found = plans.leaving(able)
        least = min(found.gains, key=lambda one: one.mean)
        holds = self._at_most_zero(*found.gains)
        who = ", ".join(plans.who(row) for row in found.members)
        verdict = {False: "all gain", True: "not all gain", None: "cannot be told from chance"}[holds]
        tried = f"tried: {len(able)} of {group_count(count, 2):,} groups of two or more"
        words = f"{who} leave together and keep the rule: {verdict}, who gains least {least} ({tried})"
        flaw, severity = "loses groups" if holds is False else "", max(least.mean, 0.0) / self.unit
        return Claim(name, holds, "found", least.mean, words, flaw=flaw, severity=severity)

    def _budget(self) -> Claim:
        """What the server paid or kept at most in a round, over the runs in which everybody is there."""
        scores = self.plans.runs.together
        worst = max((score.paid for score in scores), key=abs)
        rounding = 1e-9 * max(max(score.moved for score in scores), 1e-3)
        holds = abs(worst) <= rounding
        words = f"payments sum to zero in every round of {len(scores)} runs"
        if not holds:
            words = f"the server {'pays' if worst > 0 else 'keeps'} up to {readable(abs(worst))} in a round"
        flaw = "" if holds else "leaks money" if worst > 0 else "burns money"
        broken = self.plans.rule.budget_balanced and not holds
        severity = abs(worst) / len(self.plans.runs.owners) / self.unit
        return Claim("budget balance", holds, "found", worst, words, flaw=flaw, severity=severity, broken=broken)

    def _harm(self, tried: dict[str, MeasuredPlan]) -> Claim:
        """What the others lose by that move of one owner that harmed them most with the choosing seed."""
        worst = max(tried.values(), key=lambda one: one.feared)
        words = f"{worst.words}: {worst.loss.lost}"
        return Claim("harm of one owner", None, "found", max(worst.loss.mean, 0.0), words)

    def _done(self) -> str:
        """What was done, in words."""
        runs, plans = self.plans.runs, self.plans
        few = len(plans.measures) < LEAST
        return (
            f"{len(runs)} runs of {runs.rounds} rounds on the same data; utilities are means over the rounds; moves of "
            f"{len(self.owners)} of {len(runs.owners)} owners and of {len(self.pairs)} pairs, and which of "
            f"{len(self.groups)} groups leaves, were chosen with seed {plans.chooses} and measured with "
            f"{len(plans.measures)} others, while everybody else does what the scenario says"
            + (f"; intervals take the noise of fewer than {LEAST} seeds for normal" if few else "")
        )
