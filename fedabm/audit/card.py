"""The card of a rule: all claims about it on one stage, what is wrong with it first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from fedabm.audit.claims import Claim
from fedabm.audit.deviations import KINDS, Limits
from fedabm.audit.efficiency import about_equilibria, about_harm, about_information, about_number, about_outcome
from fedabm.audit.fairness import about_budget, about_equals, about_rationality, about_reward
from fedabm.audit.kinds import Tried, skipped, try_kinds
from fedabm.audit.search import Effort, best_lies
from fedabm.audit.stage import Stage
from fedabm.audit.truthfulness import about_answers, about_groups, about_kinds, about_lies
from fedabm.common.names import brief
from fedabm.mechanisms.base import Mechanism
from fedabm.results.frames import shorten
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game

__all__ = ["Card", "Thoroughness", "audit"]


@dataclass(frozen=True)
class Thoroughness:
    """How much an audit does: search for lies, sizes of groups and how many of each, profiles, starts of the solver.

    `others_move` also asks what becomes of the best lie when the others answer it or learn, `fewer` how all changes
    with the number of owners.
    """

    effort: Effort = field(default_factory=Effort)
    sizes: tuple[int, ...] = (2, 3)
    groups: int = 12
    profiles: int = 24
    starts: int | None = 4
    others_move: bool = True
    fewer: bool = True

    @classmethod
    def quick(cls, seed: int = 0) -> Thoroughness:
        """Seconds for each rule, as in a league."""
        effort = Effort(questions=60, owners=4, seed=seed)
        return cls(effort, (2,), groups=2, profiles=8, starts=None, others_move=False, fewer=False)


@dataclass(frozen=True)
class Card:
    """What an audit found: claims, the best deviation of each kind, and which kinds mean nothing here."""

    rule: str
    accuracy: str
    owners: int
    profile: tuple[float, ...]
    claims: tuple[Claim, ...]
    tried: tuple[Tried, ...]
    skipped: dict[str, str]
    limits: Limits

    @property
    def flaws(self) -> list[Claim]:
        """What is wrong, the worst first: no equilibrium and broken promises, then by what an owner has at stake."""
        wrong = [claim for claim in self.claims if claim.flaw and claim.holds is False]
        return sorted(wrong, key=lambda claim: (not claim.broken, -claim.severity))

    def claim(self, name: str) -> Claim:
        """The claim of that name."""
        return next(claim for claim in self.claims if claim.name == name)

    def frame(self) -> pd.DataFrame:
        """One row per claim."""
        return pd.DataFrame([{"rule": self.rule, **claim.as_dict()} for claim in self.claims])

    def deviations(self) -> pd.DataFrame:
        """One row per kind of deviation; kinds that mean nothing have the reason and no numbers."""
        rows = [{"rule": self.rule, **vars(one)} for one in self.tried]
        rows += [{"rule": self.rule, "kind": kind, "words": f"skipped: {why}"} for kind, why in self.skipped.items()]
        table = pd.DataFrame(rows, columns=["rule", "kind", "owner", "gain", "loss", "bound", "words"])
        order = {kind: place for place, kind in enumerate(KINDS)}
        return table.sort_values("kind", key=lambda kinds: kinds.map(order), ignore_index=True)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        table = self.deviations().drop(columns="rule").astype(object)
        return {
            "rule": self.rule,
            "accuracy": self.accuracy,
            "owners": self.owners,
            "profile": list(self.profile),
            "flaws": [claim.flaw for claim in self.flaws],
            "claims": [claim.as_dict() for claim in self.claims],
            "deviations": table.where(_known(table), None).to_dict("records"),
            "limits": vars(self.limits),
        }


def _known(table: pd.DataFrame) -> pd.DataFrame:
    return table.map(lambda value: value == value and value not in (float("inf"), float("-inf")))


def audit(
    what: Scenario | Game,
    mechanism: Mechanism | None = None,
    limits: Limits | None = None,
    thoroughness: Thoroughness | None = None,
) -> Card:
    """Audit a rule, by default the scenario's own, on the owners and accuracies of a scenario or game.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import ContributionSubsidy
    >>> card = audit(Game(PowerLaw(), [0.1, 0.2], 10, ContributionSubsidy(0.05)), thoroughness=Thoroughness.quick())
    >>> card.flaws[0].flaw
    'rewards lying'
    """
    return card_of(Stage.of(what, mechanism), limits or Limits(), thoroughness or Thoroughness())


def card_of(stage: Stage, limits: Limits, how: Thoroughness) -> Card:
    """The card of a stage."""
    seed = how.effort.seed
    found = best_lies(stage, limits, how.effort)
    tried = try_kinds(stage, limits, how.effort)
    existence, known = about_equilibria(stage, how.starts)
    claims = [about_lies(stage, found, limits), *about_kinds(stage, tried)]
    claims += about_groups(stage, how.sizes, limits, how.effort, found, how.groups)[0]
    claims += about_answers(stage, found[0], how.effort) if how.others_move else []
    claims += [about_rationality(stage, how.profiles, seed), about_budget(stage, how.profiles, seed)]
    claims += [about_equals(stage, how.profiles, seed), about_reward(stage), existence]
    claims += [*about_outcome(stage, known), about_harm(stage, tried, limits)]
    claims += [about_information(stage, tried, limits, how.effort)]
    claims += [about_number(stage, limits, how.effort)] if how.fewer and stage.owners > 2 else []
    rule, accuracy = shorten(brief(stage.mechanism)), shorten(brief(stage.accuracy))
    profile = tuple(stage.profile.tolist())
    return Card(rule, accuracy, stage.owners, profile, tuple(claims), tuple(tried), skipped(stage), limits)
