"""Which rule a consortium should adopt: parameters tuned, candidates raced over draws, the best few audited.

Every candidate is judged in certified equilibria, over draws of what is not known.  First each kind of rule is tuned on
a few draws, then all meet on all draws, and those that are surely behind the best drop out; the rest are tuned again
around what was found, on all draws.  Conditions on lies are looked at in at least ten draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fedabm.advice.conditions import HOLDS, LIES, Condition, conditions_of
from fedabm.advice.consortium import Consortium
from fedabm.advice.families import RuleKind, fitting
from fedabm.advice.judging import GOALS, Judge, Outcomes
from fedabm.advice.lies import Liars, best_lies_of, best_pairs_of
from fedabm.advice.progress import FoundSteps
from fedabm.auditing.card import Card, Thoroughness, audit
from fedabm.common.arrays import Array
from fedabm.common.bounds import Bounds, written
from fedabm.common.confidence import confidence
from fedabm.common.errors import InputError
from fedabm.common.texts import readable
from fedabm.comparison.wanted import Wanted
from fedabm.comparison.written import Written
from fedabm.mechanisms import Mechanism
from fedabm.solving.game import Game
from fedabm.solving.tuning import tune

__all__ = ["Candidate", "Recommendation", "recommend"]

#: draws of the first look, and in which lies are looked at
_FEW, _LIARS = 12, 10
#: questions of the first search for a parameter, and of the one around it
_FIRST, _AGAIN = 44, 24
#: how far around the first answer the second search goes, as a share of all bounds
_NEAR = 0.05
#: what is left of a plateau by rounding
_FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule with its parameters, what it brings in all draws, and what is wrong with it.

    Attributes
    ----------
    name
        Of its kind.
    rule
        With its parameters.
    parameters
        Values of its parameters by name.
    outcomes
        Contributions, payments, utilities and accuracies in all draws.
    goal
        What is to be large, (draws,).
    alone, together
        The best lie of one owner and of two.
    broken
        The conditions that do not hold, in words; empty: all hold.
    """

    name: str
    rule: Mechanism
    parameters: dict[str, float]
    outcomes: Outcomes
    goal: Array
    alone: Liars
    together: Liars
    broken: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """The mean of the goal over the draws in which an equilibrium is certified."""
        return float(np.nanmean(self.goal)) if np.any(np.isfinite(self.goal)) else np.nan

    @property
    def spread(self) -> tuple[float, float]:
        """Between what the goal lies in 95 of 100 draws."""
        known = self.goal[np.isfinite(self.goal)]
        return tuple(np.quantile(known, [0.025, 0.975]).tolist()) if len(known) else (np.nan, np.nan)

    @property
    def moved(self) -> float:
        """Money that changes hands, on average."""
        return float(np.nanmean(np.maximum(self.outcomes.payments, 0.0).sum(axis=1)))

    @property
    def label(self) -> str:
        """Its kind and its parameters."""
        numbers = ", ".join(f"{name} {value:.4g}" for name, value in self.parameters.items())
        return f"{self.name} ({numbers})" if numbers else self.name


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The answer with its evidence.

    Attributes
    ----------
    wanted
        What was asked for.
    consortium
        Owners, games and draws.
    candidates
        Those that keep all conditions, the best first, and then the others.
    misfits
        Kinds of rules that were out of the question, and why.
    cards
        Audits of the best few where every number is in the middle, by label.
    equilibria
        How many equilibria the best have there, in words, by label.
    solved
        How many games were solved on the way.
    """

    wanted: Wanted
    consortium: Consortium
    candidates: tuple[Candidate, ...]
    misfits: dict[str, str]
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)
    equilibria: dict[str, str] = field(default_factory=dict)
    solved: int = 0

    @property
    def kept(self) -> list[Candidate]:
        """The candidates that keep all conditions, the best first."""
        return [one for one in self.candidates if not one.broken]

    @property
    def best(self) -> Candidate | None:
        """The answer; None: no rule keeps all conditions."""
        return self.kept[0] if self.kept else None

    @property
    def ties(self) -> list[Candidate]:
        """The others whose goal is within the stated tolerance of the best."""
        best = self.best
        if best is None:
            return []
        near = self.wanted.tie * max(abs(best.mean), 1e-12)
        return [one for one in self.kept[1:] if abs(one.mean - best.mean) <= near]

    @property
    def share(self) -> float:
        """In which share of the draws no other rule that keeps the conditions is better, beyond the tolerance."""
        if self.best is None:
            return np.nan
        better = [self._better(one) for one in self.kept[1:]]
        return 1.0 - float(np.mean(np.any(better, axis=0))) if better else 1.0

    def better(self, one: Candidate) -> float:
        """In which share of the draws a candidate is better than the answer, beyond the tolerance."""
        return float(np.mean(self._better(one)))

    def _better(self, one: Candidate) -> NDArray[np.bool_]:
        best = self.candidates[0]
        return one.goal > best.goal + self.wanted.tie * np.maximum(np.abs(best.goal), 1e-12)

    @property
    def sentence(self) -> str:
        """The answer with its evidence, in one sentence."""
        best = self.best
        if best is None:
            return f"No rule that fits keeps all conditions: {'; '.join(self.reasons)}."
        low, high = best.spread
        draws = f"{len(best.goal)} draws of what is not known" if len(best.goal) > 1 else "the game as stated"
        sure = f"in {100 * self.share:.0f}% of {draws} no other rule is better" if len(best.goal) > 1 else ""
        tied = ", ".join(one.label for one in self.ties)
        parts = [
            f"adopt {best.label}",
            *([f"it ties with {tied} (within {100 * self.wanted.tie:g}% of the goal)"] if tied else []),
            *([sure] if sure else []),
            f"{self._goal_words} {readable(best.mean, 5)}"
            + (f" (95% of draws: {readable(low, 5)} to {readable(high, 5)})" if len(best.goal) > 1 else ""),
            _lies_words(best),
        ]
        if self.only_unpaid:
            parts.append("only rules that pay nothing remain: under the others lies pay more than the condition allows")
        sentence = "; ".join(parts)
        return f"{sentence[0].upper()}{sentence[1:]}."

    @property
    def _goal_words(self) -> str:
        net = " net of outside money" if self.wanted.goal in ("welfare", "least served") else ""
        return f"{self.wanted.goal}{net} is"

    @property
    def only_unpaid(self) -> bool:
        """Whether all rules that pay were refused for what lies bring."""
        paying = [one for one in self.candidates if one.moved > 0]
        lied = [one for one in paying if any(text.startswith(LIES) for text in one.broken)]
        return bool(self.kept) and bool(lied) and all(one.moved == 0 for one in self.kept)

    @property
    def reasons(self) -> list[str]:
        """Why rules were refused, a line each."""
        refused = [f"{one.label}: {', '.join(one.broken)}" for one in self.candidates if one.broken]
        return refused + [f"{name}: {why}" for name, why in self.misfits.items()]

    def table(self) -> pd.DataFrame:
        """One row per candidate: goal with its interval over draws, lies, money, and what is broken."""
        rows = []
        for one in self.candidates:
            low, high = one.spread
            rows.append(
                {
                    "rule": one.label,
                    self.wanted.goal: one.mean,
                    "2.5%": low,
                    "97.5%": high,
                    "best lie": one.alone.worst,
                    "pairs": one.together.worst,
                    "money moved": one.moved,
                    "outside money": float(np.nanmean(one.outcomes.outside)),
                    "certified": float(one.outcomes.certified.mean()),
                    "broken": ", ".join(one.broken),
                }
            )
        return pd.DataFrame(rows)

    def owners(self, candidate: Candidate | None = None) -> pd.DataFrame:
        """One row per owner under a candidate (none: the best): gives, gets, gains, with 95% of draws in between."""
        one = candidate or self.best
        if one is None:
            return pd.DataFrame()
        outside = self.consortium.outside
        columns = {
            "gives": _given(one.outcomes.contributions, self.consortium),
            "gets (pays if negative)": one.outcomes.payments,
            "gains against staying alone": one.outcomes.utilities - outside,
        }
        table = pd.DataFrame({"owner": self.consortium.names})
        for name, values in columns.items():
            table[name] = np.nanmean(values, axis=0)
            if len(values) > 1:
                table[f"{name}, 2.5%"], table[f"{name}, 97.5%"] = np.nanquantile(values, [0.025, 0.975], axis=0)
        return table

    def __repr__(self) -> str:
        return f"Recommendation({self.sentence})"


def recommend(
    what: Written | Consortium | Game,
    wanted: Wanted | None = None,
    *,
    seed: int = 0,
    audits: int = 3,
    lies: bool = True,
    progress: FoundSteps | None = None,
) -> Recommendation:
    """Search the rule that a consortium should adopt.

    Parameters
    ----------
    what
        A study as read from a file, a consortium, or a game in which everything is known.
    wanted
        Goal, conditions, and what may be asked, verified, paid and degraded (none: what the study says).
    seed
        Of the draws.
    audits
        How many of the best are audited in full.
    lies
        Whether lies are looked for.
    progress
        What is known from an interrupted search.

    Returns
    -------
    Recommendation
        The answer as a sentence, with its evidence.

    Examples
    --------
    >>> from fedabm import Game
    >>> from fedabm.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> game = Game(PowerLaw(), [0.01, 0.01, 0.02], 100.0, NoPayments())
    >>> found = recommend(game, Wanted(families=("no payments", "cost sharing")), audits=0)
    >>> round(found.best.parameters["rate"], 3)  # 1 - 1/n
    0.667
    """
    wanted = wanted or (what.recommend if isinstance(what, Written) else Wanted())
    return _Search(_consortium(what, wanted, seed), wanted, seed, progress or FoundSteps.nowhere()).answer(audits, lies)


def _consortium(what: Any, wanted: Wanted, seed: int) -> Consortium:
    if isinstance(what, Consortium):
        return what
    if isinstance(what, Game):
        return Consortium.of_game(what)
    if isinstance(what, Written):
        return Consortium.of_study(what, wanted.draws, seed)
    raise InputError(f"a recommendation needs a study, a Consortium or a Game, got {what!r}; give one of them")


class _Search:
    """One search, step by step."""

    def __init__(self, consortium: Consortium, wanted: Wanted, seed: int, progress: FoundSteps) -> None:
        self.consortium, self.wanted, self.seed = consortium, wanted, seed
        self.judge = Judge(consortium)
        self.conditions = conditions_of(wanted.conditions)
        self.cheap = [one for one in self.conditions if one.name not in LIES]
        self.progress = progress

    def answer(self, audits: int, lies: bool) -> Recommendation:
        """All steps."""
        families, misfits = fitting(self.consortium, self.wanted)
        if not families:
            why = "; ".join(f"{name}: {reason}" for name, reason in misfits.items())
            raise InputError(f"no kind of rule fits ({why}); allow more under [recommend]")
        few = range(min(_FEW, self.consortium.draws))
        tuned = {family.name: self._tuned(family, rule, few) for family, rule in families}
        if self.consortium.draws > len(few):
            tuned |= {family.name: self._again(family, tuned[family.name]) for family in self._leaders(families, tuned)}
        found = [self._candidate(family, tuned[family.name], lies) for family, _ in families]
        order = _ordered(found, self.wanted.tie)
        answer = Recommendation(self.wanted, self.consortium, tuple(order), misfits, solved=self.judge.solved)
        return self._audited(answer, audits)

    def _goal(self, rule: Mechanism, draws: Sequence[int]) -> float:
        """The mean goal, if the conditions that are quickly judged hold; else no number."""
        outcomes = self.judge.outcomes(rule, draws)
        if outcomes.certified.mean() < HOLDS or self._broken(rule, outcomes):
            return np.nan
        return float(np.nanmean(GOALS[self.wanted.goal](outcomes)))

    def _broken(self, rule: Mechanism, outcomes: Outcomes) -> list[str]:
        kept = [(one, one.holds(rule, outcomes, self.consortium)) for one in self.cheap]
        return [f"{one} holds in {100 * share:.0f}% of draws" for one, share in kept if share < HOLDS]

    def _tuned(self, family: RuleKind, rule: Mechanism, draws: Sequence[int]) -> dict[str, float]:
        """Parameters by a search on a few draws; of a plateau the least."""
        bounds = family.bounds(self.consortium)
        if not bounds:
            return {}
        known = self.progress.get("tuned", family.name)
        return known or self.progress.put("tuned", family.name, self._search(rule, bounds, draws, _FIRST))

    def _again(self, family: RuleKind, before: dict[str, float]) -> dict[str, float]:
        """The same around what was found, on all draws."""
        if not before:
            return before
        known = self.progress.get("again", family.name)
        if known:
            return known
        rule, bounds = written(family.start(self.consortium), before), family.bounds(self.consortium)
        near = {name: _around(one, before[name]) for name, one in bounds.items()}
        found = self._search(rule, near, range(self.consortium.draws), _AGAIN)
        return self.progress.put("again", family.name, found)

    def _search(self, rule: Any, bounds: dict[str, Bounds], draws: Sequence[int], budget: int) -> dict[str, float]:
        start = {name: getattr(rule, name) for name in bounds}
        try:
            found = tune(rule, lambda one: self._goal(one, draws), budget, self.seed, bounds=bounds)
        except InputError:  # no trial keeps the conditions: the candidate says which it breaks
            return start
        if len(bounds) > 1:
            return found.parameters
        (name,) = bounds
        least = self._least(found, name, bounds[name], draws)
        return {name: least}

    def _least(self, found: Any, name: str, bounds: Bounds, draws: Sequence[int]) -> float:
        """Of a plateau the least parameter, so that no more money moves than it takes."""
        best, here = found.value, float(found.parameters[name])
        floor = best - _FLAT * max(abs(best), 1e-12)
        trials = found.trials.sort_values(name)
        below = trials[(trials[name] < here) & ~(trials["value"] >= floor)]
        plateau = trials[(trials[name] < here) & (trials["value"] >= floor)]
        low = float(below[name].max()) if len(below) else bounds.low
        high = min([here, *plateau.loc[plateau[name] > low, name].tolist()])
        if not len(plateau.loc[plateau[name] > low]) and here - low < 1e-3 * (bounds.high - bounds.low):
            return here  # a peak, not a plateau
        for _ in range(16):
            middle = 0.5 * (low + high)
            if high - low <= 2e-4 * max(abs(high), 1e-12):
                break
            low, high = (
                (low, middle) if self._goal(written(found.rule, {name: middle}), draws) >= floor else (middle, high)
            )
        return high

    def _leaders(self, families: list[tuple[RuleKind, Any]], tuned: dict[str, dict[str, float]]) -> list[RuleKind]:
        """The kinds that are not surely behind the best on all draws."""
        every = range(self.consortium.draws)
        rules = {family.name: written(rule, tuned[family.name]) for family, rule in families}
        goals = {
            name: GOALS[self.wanted.goal](self.judge.outcomes(rule, every)) if self._fits(rule, every) else None
            for name, rule in rules.items()
        }
        known = {name: goal for name, goal in goals.items() if goal is not None}
        if not known:
            return [family for family, _ in families]
        top = max(known.values(), key=lambda goal: float(np.nanmean(goal)))
        return [family for family, _ in families if family.name in known and _may_win(known[family.name] - top)]

    def _fits(self, rule: Mechanism, draws: Sequence[int]) -> bool:
        outcomes = self.judge.outcomes(rule, draws)
        return outcomes.certified.mean() >= HOLDS and not self._broken(rule, outcomes)

    def _candidate(self, family: RuleKind, parameters: dict[str, float], lies: bool) -> Candidate:
        rule = written(family.start(self.consortium), parameters)
        outcomes = self.judge.outcomes(rule)
        broken = self._broken(rule, outcomes)
        if outcomes.certified.mean() < HOLDS:
            share = 100 * outcomes.certified.mean()
            broken.append(f"an equilibrium is certified in {share:.0f}% of draws only")
        none = Liars(np.zeros(0), (0,), "")
        alone = together = none
        if lies and np.any(outcomes.certified):
            some = self.judge.outcomes(rule, range(min(_LIARS, self.consortium.draws)))
            alone = best_lies_of(rule, some, self.consortium, self.wanted.verified)
            if self.consortium.owners > 1:
                together = best_pairs_of(rule, some, self.consortium, self.wanted.verified)
        for one in self.conditions:
            if one.name in LIES:
                broken += _lied(one, alone if one.name == "best_lie" else together)
        goal = GOALS[self.wanted.goal](outcomes)
        return Candidate(family.name, rule, parameters, outcomes, goal, alone, together, tuple(broken))

    def _audited(self, answer: Recommendation, audits: int) -> Recommendation:
        """Full audits of the best few, and all their equilibria, where every number is in the middle."""
        cards, equilibria = {}, {}
        for one in (answer.kept or list(answer.candidates))[:audits]:
            known = self.progress.get("audits", one.label)
            if known is None:
                card = audit(self.consortium.central.under(one.rule), thoroughness=Thoroughness.quick(self.seed))
                value, words = self.judge.worst(one.rule, one.outcomes, self.wanted.goal)
                text = f"{self.wanted.goal} {readable(value, 5)} at the worst equilibrium; {words}"
                known = self.progress.put("audits", one.label, {"card": _evidence(card), "equilibria": text})
            cards[one.label], equilibria[one.label] = known["card"], known["equilibria"]
        return replace(answer, cards=cards, equilibria=equilibria)


def _ordered(found: list[Candidate], tie: float) -> list[Candidate]:
    """Those that keep all conditions first, the best goal first; of those that tie with it the least lie first."""
    order = sorted(found, key=lambda one: (bool(one.broken), -_order(one.mean)))
    kept = [one for one in order if not one.broken]
    if not kept:
        return order
    near = tie * max(abs(kept[0].mean), 1e-12)
    tied = [one for one in kept if kept[0].mean - one.mean <= near]
    tied.sort(key=lambda one: (round(float(np.nan_to_num(max(one.alone.worst, one.together.worst))), 6), one.moved))
    return [*tied, *order[len(tied) :]]


def _evidence(card: Card) -> dict[str, Any]:
    """What an audit says, as plain values."""
    return card.as_dict()


def _lied(condition: Condition, liars: Liars) -> list[str]:
    if len(liars.gains) and liars.worst <= condition.limit:
        return []
    if not len(liars.gains):
        return [f"{condition}: lies were not looked for"]
    return [f"{condition}: {_share(liars.worst)} found ({liars.words})"]


def _given(contributions: Array, consortium: Consortium) -> Array:
    """Contributions without what a solver leaves of nothing."""
    least = 1e-6 * np.array([one.capacities for one in consortium.games])
    return np.where(contributions < least, 0.0, contributions)


def _around(bounds: Bounds, value: float) -> Bounds:
    """A part of the bounds around a value."""
    width = _NEAR * (bounds.high - bounds.low)
    low, high = max(bounds.low, value - width), min(bounds.high, value + width)
    return Bounds(low, high) if low < high else bounds


def _may_win(gap: Array) -> bool:
    """Whether a paired difference to the best may be none."""
    known = gap[np.isfinite(gap)]
    if len(known) < 2 or not np.any(known):
        return True
    return not confidence(known)[1] < 0.0  # too few draws give no interval, and deny nothing


def _order(value: float) -> float:
    return value if np.isfinite(value) else -np.inf


def _lies_words(one: Candidate) -> str:
    """What was found of lies, of one owner and of two."""
    every = {"one owner": one.alone, "two together": one.together}
    searched = {who: liars for who, liars in every.items() if len(liars.gains)}
    if not searched:
        return "lies were not looked for"
    if not any(liars.worst for liars in searched.values()):
        return f"no lie was found by which {' or '.join(searched)} would gain"
    gains = [f"{who} {_share(liars.worst)}" for who, liars in searched.items()]
    return f"the best lie found brings {', '.join(gains)} of what an owner has"


def _share(value: float) -> str:
    return "nothing" if value == 0 else "an unknown part" if not np.isfinite(value) else f"{100 * value:.3g}%"
