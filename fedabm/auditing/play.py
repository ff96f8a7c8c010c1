"""A rule played on the data of one seed: as owners would anyway, and with what some of them do instead.

Measures are those of the closed half, by what the models really reach; Shapley shares are by the measured curve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedabm.auditing.achieved import measures_of
from fedabm.auditing.arena import Arena, Ended
from fedabm.auditing.contenders import Contender
from fedabm.auditing.evaluate import reads
from fedabm.auditing.mistaken import MISLED, NO_PROMISE, Belief, beliefs
from fedabm.auditing.stage import Stage
from fedabm.auditing.tuned import asks, games_of, tuned
from fedabm.common.errors import FedabmError, in_one_line
from fedabm.games.collaboration import collaborative_fairness, share_as_well_as_alone
from fedabm.games.curves import Array
from fedabm.shapley import shapley
from fedabm.solving.metrics import reciprocity
from fedabm.strategies import AdaptiveAttacker, Attacker, FreeRider, Liar, Strategy

__all__ = ["BEHAVIOURS", "LIES", "ONCE", "SKIPPED", "TrainedPlay", "change_of"]

#: what an owner does around what it would do anyway; the data of some have defects
BEHAVIOURS: Mapping[str, Callable[[Strategy], Strategy]] = {
    "gives nothing": lambda own: FreeRider(),
    "claims twice": lambda own: Liar(own, contribution_factor=2.0),
    "size x4": lambda own: Liar(own, size_factor=4.0),
    "cost x3": lambda own: Liar(own, cost_factor=3.0),
    "claims half": lambda own: Liar(own, contribution_factor=0.5),
    "cost / 3": lambda own: Liar(own, cost_factor=1.0 / 3.0),
    "free ride": lambda own: Attacker(own, "free_ride", trains=False),
    "delta weights": lambda own: Attacker(own, "delta_weights", trains=False),
    "disguised noise": lambda own: Attacker(own, "disguised_noise", trains=False),
    "copy": lambda own: Attacker(own, "copycat", trains=False),
    "noisy labels": lambda own: own,
    "backdoor": lambda own: own,
    "noise": lambda own: Attacker(own, "noise", 0.1),
    "nan": lambda own: Attacker(own, "nan"),
    "sign flip": lambda own: Attacker(own, "sign_flip"),
    "adaptive sign flip": lambda own: AdaptiveAttacker(own),
    "scaled": lambda own: Attacker(own, "scaled"),
    "inner product": lambda own: Attacker(own, "inner_product"),
    "little is enough": lambda own: Attacker(own, "little_is_enough"),
    "min-max": lambda own: Attacker(own, "min_max"),
    "sybils": lambda own: Attacker(own, "sybils"),
}
#: what is stated falsely, and which part of the report it is; the best lie is the best of these
LIES: Mapping[str, str] = {
    "claims twice": "claim",
    "claims half": "claim",
    "size x4": "size",
    "cost x3": "cost",
    "cost / 3": "cost",
}
#: measures that compare several runs, and are asked where nobody deviates
ONCE = ("welfare after the lie", "secession", *(f"welfare, {what} wrong" for what in MISLED))
#: how words begin of what is not played
SKIPPED = "skipped: "
_ALL = "owners give all anyway, as the rule promises nothing for data"
_SAME = "nothing changes, to the last digit: the rule does not read it"

Measures = dict[str, tuple[float, str]]


@dataclass(frozen=True)
class TrainedPlay:
    """A contender on the data of one seed."""

    arena: Arena
    chosen: Contender

    @cached_property
    def own(self) -> Strategy:
        """What owners do anyway."""
        return self.chosen.own(self.arena)

    @property
    def owners(self) -> int:
        """How many there are."""
        return len(self.arena.rates)

    @cached_property
    def honest(self) -> Ended:
        """How it ends if nobody deviates."""
        return self.run({})

    def run(self, changes: Mapping[int, Strategy], **how: Any) -> Ended:
        """How it ends with what some owners do instead."""
        usual = dict.fromkeys(range(self.owners), self.own)
        return self.arena.run(self.chosen.rule, {**usual, **changes}, knowledge=self.chosen.knowledge, **how)

    def with_(self, label: str, deviators: int = 1) -> Ended:
        """How it ends if the first owners do that."""
        changes = dict.fromkeys(range(deviators), BEHAVIOURS[label](self.own))
        return self.run(changes, spoilt=label == "noisy labels")

    def tried(self, label: str) -> tuple[Ended | None, str]:
        """How it ends if the first owner does that, or why that means nothing under this rule."""
        why = self.unread.get(LIES.get(label, ""), "")
        if why:
            return None, SKIPPED + why
        after = self.with_(label)
        unseen = label in LIES and not self.chosen.rule.promises and np.array_equal(after.utility, self.honest.utility)
        return (None, SKIPPED + _SAME) if unseen else (after, "")

    @cached_property
    def unread(self) -> dict[str, str]:
        """What the rule declares or is seen not to read of what owners state, and why."""
        rule = self.chosen.rule
        found = {} if rule.asks_cost else {"cost": "the rule does not ask for it: cost"}
        if not rule.promises:
            return found | {"claim": _ALL}
        game = self.arena.game
        seen = reads(Stage.of(game, rule, 0.5 * game.capacities))
        if "cost" not in seen:
            found.setdefault("cost", "the rule does not look at it: cost")
        return found if "size" in seen or asks(rule, game) else found | {"size": "the rule does not look at sizes"}

    def change(self, after: Ended | None, why: str = "", deviators: int = 1) -> dict[str, float]:
        """What the deviators gain and each of the others loses; no numbers without a run."""
        change = change_of(self.honest, self.honest if after is None else after, deviators)
        return change if after is not None else change | {"gain": np.nan, "loss": np.nan}

    def measured(self, ended: Ended) -> Measures:
        """The measures of one run, and why they mean nothing where they do not."""
        arena = self.arena
        capacities = np.asarray(arena.clean.capacities, dtype=float)
        values = measures_of(ended.contribution, capacities, ended.accuracy, ended.payment, ended.cost)
        found = {name: (value, "") for name, value in values.items()}
        if not self.chosen.rule.promises:
            found["budget"] = np.nan, "payments for models are in a unit of their own"
        found["reciprocity"] = self._reciprocity(ended)
        fairness = collaborative_fairness(arena.alone, ended.accuracy)
        same = "all receive the same accuracy, or are alike alone"
        found["fairness"] = fairness, same if np.isnan(fairness) else ""
        found["as well as alone"] = share_as_well_as_alone(arena.alone, ended.accuracy), ""
        found["models sent"] = ended.models / self.owners, ""
        found["bytes sent"] = ended.bytes / self.owners, ""
        return found

    def _reciprocity(self, ended: Ended) -> tuple[float, str]:
        """By the measured curve, which says what a coalition without somebody would have reached."""
        curve = self.arena.curve
        shares = np.asarray(shapley(curve, ended.contribution))
        least = reciprocity(ended.accuracy, ended.payment, shares, curve.at_zero(self.owners))
        return (least, "") if np.isfinite(least) else (np.nan, "nobody gives anything")

    def asked_once(self, after: Ended, tuning: int) -> Measures:
        """What compares several runs: with the best lie, of groups that left, under a server that is wrong."""
        found: Measures = {"welfare after the lie": (_welfare(after), ""), "secession": self._secession()}
        return found | self._misled(tuning)

    def _secession(self) -> tuple[float, str]:
        """The half with most data and the other half, each among themselves: whose least member gains most."""
        order = np.argsort(-np.asarray(self.arena.clean.capacities), kind="stable")
        middle = self.owners // 2
        try:
            return max(self._apart(np.sort(rows)) for rows in (order[:middle], order[middle:])), ""
        except FedabmError as error:
            return np.nan, f"half of the owners cannot play it: {in_one_line(error)}"

    def _apart(self, rows: Array) -> float:
        """What the member that gains least gains if these owners leave together."""
        left = TrainedPlay(self.arena.among(rows.tolist()), self.chosen).honest
        return float(np.min(left.utility - self.honest.utility[rows]))

    def _misled(self, tuning: int) -> Measures:
        """Welfare under a server that believes what is wrong by a factor of 2."""
        found: Measures = {}
        for what, belief in self._beliefs(tuning).items():
            name = f"welfare, {what} wrong"
            found[name] = (np.nan, belief) if isinstance(belief, str) else (_welfare(self._under(belief)), "")
        return found

    def _beliefs(self, tuning: int) -> dict[str, Belief | str]:
        arena = self.arena
        if not self.chosen.foreseen:
            return dict.fromkeys(MISLED, NO_PROMISE)
        people = [arena.owners]
        return beliefs(
            self.chosen.rule,
            arena.curve,
            lambda rule, games: tuned(rule, games, tuning, arena.seed)[0] if tuning else rule,
            lambda curve, factor: games_of(people, curve, factor),
        )

    def _under(self, belief: Belief) -> Ended:
        if belief == Belief(self.chosen.rule, self.arena.curve):
            return self.honest
        return TrainedPlay(self.arena, Contender(belief.rule)).run({}, announced=belief.curve)


def _welfare(ended: Ended) -> float:
    return float(np.mean(ended.accuracy - ended.cost))


def change_of(before: Ended, after: Ended, deviators: int = 1) -> dict[str, float]:
    """What the deviators, the first owners, gain and each of the others loses, on average."""
    gain = after.utility - before.utility
    return {
        "gain": float(np.mean(gain[:deviators])),
        "loss": float(-np.mean(gain[deviators:])),
        "stake": max(float(np.mean(np.abs(before.utility))), 1e-9),
    }
