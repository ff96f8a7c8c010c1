"""The card of a rule: all claims about it on one stage, what is wrong with it first."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from fedabm.auditing.claims import Claim
from fedabm.auditing.deviations import KINDS, LieLimits
from fedabm.auditing.efficiency import (
    about_equilibria,
    about_harm,
    about_information,
    about_number,
    about_outcome,
    about_sampling,
)
from fedabm.auditing.fairness import about_budget, about_equals, about_rationality, about_reward
from fedabm.auditing.kinds import Tried, skipped, try_kinds
from fedabm.auditing.plans import Plans
from fedabm.auditing.ranges import UncertainOwners, about_ranges
from fedabm.auditing.runs import Runs
from fedabm.auditing.search import SearchEffort, best_lies
from fedabm.auditing.secession import about_secession, leaving_groups
from fedabm.auditing.stage import Stage
from fedabm.auditing.trained_card import TrainedAudit
from fedabm.auditing.truthfulness import about_answers, about_groups, about_kinds, about_lies
from fedabm.common.names import brief
from fedabm.common.notebooks import as_html
from fedabm.common.texts import short_decimals
from fedabm.mechanisms.base import Mechanism
from fedabm.results.frames import shorten
from fedabm.simulation.scenario import Scenario
from fedabm.solving.game import Game

__all__ = ["Card", "Thoroughness", "audit"]


@dataclass(frozen=True)
class Thoroughness:
    """How much an audit does: search for lies, sizes of groups and how many of each, profiles, starts of the solver.

    `others_move` also asks what becomes of the best lie when the others answer it or learn, `fewer` how all changes
    with the number of owners.  Where models train, runs have at most this many `rounds`, and what was chosen with one
    seed is measured with this many other `seeds`.

    Parameters
    ----------
    effort : SearchEffort, optional
        How hard lies are searched for.
    sizes : tuple[int, ...], optional
        Sizes of groups that lie together.
    groups : int, optional
        How many groups of each size.
    profiles : int, optional
        At how many profiles fairness and truth are looked at.
    starts : int | None, optional
        Starts of the solver; None: its own choice.
    others_move : bool, optional
        Whether the others answer the best lie, or learn.
    fewer : bool, optional
        Whether the audit is repeated with fewer owners.
    rounds : int, optional
        The most rounds of a run in which models train.
    seeds : int, optional
        With how many fresh seeds a deviation that was chosen is measured.
    draws : int, optional
        In how many draws of what is not known lies are looked for, where nothing is proven of all of it.
    """

    effort: SearchEffort = field(default_factory=SearchEffort)
    sizes: tuple[int, ...] = (2, 3)
    groups: int = 12
    profiles: int = 24
    starts: int | None = 4
    others_move: bool = True
    fewer: bool = True
    rounds: int = 50
    seeds: int = 8
    draws: int = 20

    @classmethod
    def quick(cls, seed: int = 0) -> Thoroughness:
        """Seconds for each rule, as in a league."""
        effort = SearchEffort(questions=60, owners=4, seed=seed)
        return cls(
            effort,
            (2,),
            groups=2,
            profiles=8,
            starts=None,
            others_move=False,
            fewer=False,
            rounds=10,
            seeds=5,
            draws=5,
        )


@dataclass(frozen=True, repr=False)
class Card:
    """What an audit found: claims, the best deviation of each kind, and which kinds mean nothing here.

    Parameters
    ----------
    rule : str
        The audited mechanism, as text.
    accuracy : str
        The accuracy, as text.
    owners : int
        How many owners were looked at.
    profile : tuple[float, ...]
        Contributions of the owners that tell the truth.
    claims : tuple[Claim, ...]
        What holds, with evidence and how certain that is.
    tried : tuple[Tried, ...]
        The best deviation of each kind.
    skipped : dict[str, str]
        Kinds of deviation that mean nothing here, and why.
    limits : LieLimits
        How far lies went.
    """

    rule: str
    accuracy: str
    owners: int
    profile: tuple[float, ...]
    claims: tuple[Claim, ...]
    tried: tuple[Tried, ...]
    skipped: dict[str, str]
    limits: LieLimits

    @property
    def title(self) -> str:
        """The audited mechanism, without digits that nobody reads."""
        return short_decimals(self.rule)

    @property
    def stage(self) -> str:
        """Who was looked at: how many owners, and what accuracy."""
        return f"{self.owners} owners, {short_decimals(self.accuracy)}"

    @property
    def flaws(self) -> list[Claim]:
        """What is wrong, the worst first: no equilibrium and broken promises, then by what an owner has at stake."""
        wrong = [claim for claim in self.claims if claim.flaw and claim.holds is False]
        return sorted(wrong, key=lambda claim: (not claim.broken, -claim.severity))

    def __repr__(self) -> str:
        wrong = ", ".join(str(claim.flaw) for claim in self.flaws) or "no flaw found"
        return f"Card({self.rule}, {self.owners:,} owners: {wrong})"

    def _repr_html_(self) -> str:
        shown = ["name", "holds", "status", "words"]
        return as_html(repr(self), self.frame()[shown].astype(object).to_dict("records"))

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
    limits: LieLimits | None = None,
    thoroughness: Thoroughness | None = None,
    unknown: UncertainOwners | None = None,
) -> Card:
    """Audit a rule, by default the scenario's own, on the owners and accuracies of a scenario or game.

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import ContributionSubsidy
    >>> card = audit(Game(PowerLaw(), [0.1, 0.2], 10, ContributionSubsidy(0.05)), thoroughness=Thoroughness.quick())
    >>> card.flaws[0].flaw
    'rewards lying'

    Parameters
    ----------
    what : Scenario | Game
        The scenario or game whose owners and accuracies count.
    mechanism : Mechanism | None, optional
        The rule to audit; by default the scenario's own.
    limits : LieLimits | None, optional
        How far lies may go, as multiples of the truth.
    thoroughness : Thoroughness | None, optional
        How much is searched.
    unknown : UncertainOwners | None, optional
        What is not known of the owners, such as ranges of costs: the card says what holds wherever they lie.

    Returns
    -------
    Card
        What holds, what does not, and the best deviation of each kind.
    """
    limits, how = limits or LieLimits(), thoroughness or Thoroughness()
    if isinstance(what, Scenario) and what.accuracy.takes_updates:
        return trained_card(what if mechanism is None else replace(what, mechanism=mechanism), limits, how)
    return card_of(Stage.of(what, mechanism), limits, how, unknown)


def trained_card(scenario: Scenario, limits: LieLimits, how: Thoroughness) -> Card:
    """The card of a scenario in which models train."""
    seed, people, rule = how.effort.seed, scenario.owners, scenario.mechanism
    places = np.linspace(0, len(people) - 1, min(how.effort.owners, len(people))).round().astype(int)
    owners = np.unique(places).tolist()
    pairs = list(combinations(owners, 2))
    drawn = np.random.default_rng([seed, 2]).permutation(len(pairs))[: how.groups]
    plans = Plans(rule, Runs.of(scenario, how.rounds), limits, seed, range(seed + 1, seed + 1 + how.seeds))
    given = plans.runs.score(seed).contribution
    groups = leaving_groups(given, how.groups, seed, least=2)[0]
    made = TrainedAudit(plans, owners, [pairs[one] for one in sorted(drawn)], groups)
    tried = plans.of_each_kind(owners)
    facts = shorten(brief(rule)), shorten(brief(scenario.accuracy)), len(people), made.profile
    return Card(*facts, tuple(made.claims(tried)), made.rows(tried), made.skipped(tried), limits)


def card_of(stage: Stage, limits: LieLimits, how: Thoroughness, unknown: UncertainOwners | None = None) -> Card:
    """The card of a stage."""
    seed = how.effort.seed
    found = best_lies(stage, limits, how.effort)
    tried = try_kinds(stage, limits, how.effort)
    existence, known = about_equilibria(stage, how.starts)
    claims = [about_lies(stage, found, limits, tried), *about_kinds(stage, tried)]
    claims += about_groups(stage, how.sizes, limits, how.effort, found, how.groups)[0]
    claims += about_answers(stage, found[0], how.effort) if how.others_move else []
    claims += [about_rationality(stage, how.profiles, seed), about_budget(stage, how.profiles, seed)]
    claims += [about_secession(stage, 5 * how.groups, seed)]
    claims += [about_equals(stage, how.profiles, seed), about_reward(stage), existence]
    if unknown is not None and stage.plays_a_game:
        claims += about_ranges(stage, unknown, limits, how.draws, seed)
    claims += [*about_sampling(stage), *about_outcome(stage, known), about_harm(stage, tried, limits)]
    claims += [about_information(stage, tried, limits, how.effort)]
    claims += [about_number(stage, limits, how.effort)] if how.fewer and stage.owners > 2 else []
    rule, accuracy = shorten(brief(stage.mechanism)), shorten(brief(stage.accuracy))
    profile = tuple(stage.profile.tolist())
    return Card(rule, accuracy, stage.owners, profile, tuple(claims), tuple(tried), skipped(stage), limits)
