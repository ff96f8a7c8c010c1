"""Moves of one owner or of two together in federations that train: chosen with one seed, measured with others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedabm.auditing.deviations import LieLimits
from fedabm.auditing.runs import Interval, Move, Runs, Score, interval, moves
from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.mechanisms.base import Mechanism

__all__ = ["MeasuredExit", "MeasuredPlan", "Plan", "Plans"]

#: who does what instead
Plan = dict[int, Move]


class MeasuredPlan(NamedTuple):
    """A plan of one owner or a group, its gain over the best honest plan of the same, and what the others lose.

    `hoped` and `feared` are gain and loss with the seed that chose it, by which one of several is picked.
    """

    members: tuple[int, ...]
    words: str
    gain: Interval
    loss: Interval
    hoped: float
    feared: float


class MeasuredExit(NamedTuple):
    """A group that leaves together, and what each member gains by that."""

    members: tuple[int, ...]
    gains: tuple[Interval, ...]


@dataclass(frozen=True)
class Plans:
    """What owners can do under a rule: the runs, how far lies go, the seed that chooses, and those that measure."""

    rule: Mechanism
    runs: Runs
    limits: LieLimits
    chooses: int
    measures: Sequence[int]

    def who(self, row: int) -> str:
        """An owner by its name or number."""
        return self.runs.owners[row].name or f"owner {row}"

    @property
    def undisturbed(self) -> list[Score]:
        """Runs in which nobody deviates, with the seeds that measure."""
        return [self.runs.score(seed) for seed in self.measures]

    def surplus(self, seed: int, row: int) -> float:
        """What an owner has more than if it trained alone."""
        return float(self.runs.score(seed).utility[row] - self.runs.score(seed, among=(row,)).utility[row])

    def by_themselves(self, groups: Sequence[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], str]:
        """The groups of which there is a run without the others, and why there is none of the last that has none."""
        able, why = [], ""
        for group in groups:
            try:
                self._apart(self.chooses, group)
            except InputError as refused:  # of a rule or an oracle that does not take so few owners
                why = str(refused)
            else:
                able.append(group)
        return able, why

    def leaving(self, groups: Sequence[tuple[int, ...]]) -> MeasuredExit:
        """The group whose least gaining member gains most by leaving together, measured."""
        members = max(groups, key=lambda group: float(self._apart(self.chooses, group).min()))
        gains = np.array([self._apart(seed, members) for seed in self.measures])
        return MeasuredExit(members, tuple(interval(one) for one in gains.T.tolist()))

    def _apart(self, seed: int, group: tuple[int, ...]) -> Array:
        """What each member has more if these train among themselves, under the same rule."""
        rows = list(group)
        return self.runs.score(seed, among=group).utility[rows] - self.runs.score(seed).utility[rows]

    def of_each_kind(self, owners: Sequence[int]) -> dict[str, MeasuredPlan]:
        """The best move of each kind by one owner, measured."""
        found: dict[str, list[Plan]] = {}
        for owner in owners:
            for move in self._moves(owner):
                found.setdefault(move.kind, []).append({owner: move})
        best = {kind: max(plans, key=self._chosen) for kind, plans in found.items()}
        return {kind: self._measured(plan) for kind, plan in best.items()}

    def joint(self, pairs: Sequence[tuple[int, int]]) -> MeasuredPlan | None:
        """The best lie of two owners, measured: both tell the same one, or one of them its own best."""
        plans = [plan for pair in pairs for plan in self._together(pair)]
        return self._measured(max(plans, key=self._chosen)) if plans else None

    def _together(self, pair: tuple[int, int]) -> list[Plan]:
        lies = [move.words for move in self._moves(pair[0]) if not move.honest]
        plans: list[Plan] = [{row: self._same(row, words) for row in pair} for words in lies]
        for liar, other in (pair, pair[::-1]):
            ever = Move("contribution", "does as ever", self.runs.owners[other].strategy, honest=True)
            honest = self._best_honest((other,)).get(other, ever)
            plans.append({liar: self._best_lie(liar), other: honest})
        return plans

    def _best_lie(self, row: int) -> Move:
        lies = [move for move in self._moves(row) if not move.honest]
        return max(lies, key=lambda move: self._chosen({row: move}))

    def _moves(self, owner: int) -> list[Move]:
        return moves(self.runs.owners[owner], self.rule, self.limits)

    def _same(self, row: int, words: str) -> Move:
        """The move as this owner makes it, around its own strategy."""
        return next(one for one in self._moves(row) if one.words == words)

    def _score(self, seed: int, plan: Plan) -> Array:
        """What everybody has if some owners do something else."""
        return self.runs.score(seed, {row: move.strategy for row, move in plan.items()}).utility

    def _sum(self, seed: int, members: Sequence[int], plan: Plan) -> float:
        return float(self._score(seed, plan)[list(members)].sum())

    def _best_honest(self, members: tuple[int, ...]) -> Plan:
        """The best honest plan of some owners by the choosing seed: as ever, all the same, or what is best for each."""
        honest = [move.words for move in self._moves(members[0]) if move.honest]
        plans: list[Plan] = [{}, *({row: self._same(row, words) for row in members} for words in honest)]
        if len(members) > 1:
            plans.append({row: move for one in members for row, move in self._best_honest((one,)).items()})
        return max(plans, key=lambda plan: self._sum(self.chooses, members, plan))

    def _against(self, plan: Plan) -> Plan:
        """What a plan is measured against: the best honest one, or for an honest one what is done anyway.

        What is honest about the plan itself is tried, too, so that no lie is praised for what honesty brings.
        """
        honest = {row: move for row, move in plan.items() if move.honest}
        if len(honest) == len(plan):
            return {}
        members = tuple(sorted(plan))
        return max(self._best_honest(members), honest, key=lambda one: self._sum(self.chooses, members, one))

    def _chosen(self, plan: Plan) -> float:
        before = self._sum(self.chooses, list(plan), self._against(plan))
        return self._sum(self.chooses, list(plan), plan) - before

    def _measured(self, plan: Plan) -> MeasuredPlan:
        """Gain and loss with seeds that had no part in the choice."""
        members, against = tuple(sorted(plan)), self._against(plan)
        others = np.setdiff1d(np.arange(len(self.runs.owners)), members)

        def loss(seed: int) -> float:
            return float((self._score(seed, {}) - self._score(seed, plan))[others].sum())

        gains = [self._sum(seed, members, plan) - self._sum(seed, members, against) for seed in self.measures]
        losses = interval([loss(seed) for seed in self.measures])
        words = "; ".join(f"{self.who(row)} {plan[row].words}" for row in members)
        return MeasuredPlan(members, words, interval(gains), losses, self._chosen(plan), loss(self.chooses))
