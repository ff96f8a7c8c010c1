"""The rules of the trained league, each tuned by the same number of questions.

Rules that promise something for data are tuned on the measured curve.  What the others do only shows in runs: rules
that exchange models, and payments by scores of updates, are tuned by short runs on data that nobody is judged on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from fedabm.auditing.arena import Arena, Ended, World
from fedabm.auditing.league import closed_rules, exchanging_rules
from fedabm.auditing.tuned import NO_PARAMETER, searched, tuned
from fedabm.common.bounds import bounds_of, written
from fedabm.knowledge import Knowledge
from fedabm.learning.knowledge.com_fed_sv import ComFedSV
from fedabm.learning.knowledge.fed_sv import FedSV
from fedabm.learning.knowledge.from_updates import FromUpdates
from fedabm.learning.knowledge.gtg_shapley import GTGShapley
from fedabm.learning.knowledge.update_norms import UpdateNorms
from fedabm.mechanisms import Mechanism, ScorePayments
from fedabm.strategies import Attacker, Honest, Strategy

__all__ = ["Contender", "contenders", "contending", "prepared"]

#: by how much owners' test parts may tell a model worse than the curve has it
_TOLERANCE = 0.1
#: the data on which rules are tuned by runs, and how much shorter these are
_TUNING, _SHORTER = 1_000_003, 2
#: what a unit of payments counts beside one of welfare
_SOME = 1e-3
_RANKS = "scores rank owners and do not price what they bring"


@dataclass(frozen=True)
class Contender:
    """A rule, and what the server knows; None: what is announced."""

    rule: Mechanism
    knowledge: Knowledge | None = None

    @property
    def foreseen(self) -> bool:
        """Whether owners are told what data bring them."""
        return self.rule.promises and self.knowledge is None

    def own(self, arena: Arena) -> Strategy:
        """What owners do anyway; where payments cannot be foreseen they give all, as those papers have it."""
        return arena.own(self.rule) if self.knowledge is None else Honest()


def contenders(rates: Sequence[float], total: float = 100.0) -> dict[str, Contender]:
    """Every rule of the trained league by name: those of `fedabm.mechanisms`, and payments by scores of updates.

    Before they are tuned, what a round takes from the loss is paid as if it were accuracy, and a cosine of 1 as a tenth
    of all accuracy.
    """
    made = {name: Contender(rule) for name, rule in {**closed_rules(rates, total), **exchanging_rules()}.items()}
    by_loss, by_cosine = ScorePayments(1.0), ScorePayments(0.1)
    return made | {
        "FedSV": Contender(by_loss, FedSV()),
        "GTGShapley": Contender(by_loss, GTGShapley()),
        "ComFedSV": Contender(by_loss, ComFedSV()),
        "CosineScores": Contender(by_cosine, FromUpdates("cosine")),
        "UpdateNorms": Contender(by_cosine, UpdateNorms()),
    }


def contending(arena: Arena) -> dict[str, Contender]:
    """The rules for the owners of an arena, untuned."""
    return contenders(arena.rates.tolist(), float(np.sum(arena.clean.capacities)))


def prepared(name: str, arena: Arena, tuning: int) -> tuple[Contender, str]:
    """A rule of the league, tuned, and a word on what was done; what a measurement is off by is no lie."""
    chosen = contending(arena)[name]
    rule = chosen.rule
    if rule.checks_claims and hasattr(rule, "tolerance"):
        chosen = replace(chosen, rule=written(rule, {"tolerance": _TOLERANCE}))
    if not bounds_of(chosen):
        return chosen, NO_PARAMETER
    if not tuning:
        found, words = chosen, "as its class has it"
    elif chosen.foreseen:
        best, words = tuned(chosen.rule, [arena.game], tuning, arena.seed)
        found = Contender(best)
    else:
        found, words = _by_runs(name, len(arena.rates), arena.world, tuning)
    return found, words if chosen.knowledge is None else f"{words}; {_RANKS}"


@cache
def _by_runs(name: str, owners: int, world: World, tuning: int) -> tuple[Contender, str]:
    """The contender for whom owners fare best in short runs, with its parameters in words; the same for every seed."""
    arena = Arena.of(_TUNING, owners, replace(world, rounds=max(2, -(-world.rounds // _SHORTER))))
    found, words = searched(contending(arena)[name], partial(_worth, arena=arena, known={}), tuning)
    return found, words.replace("rule.", "").replace("knowledge.", "knowledge's ")


def _worth(one: Contender, arena: Arena, known: dict[Contender, tuple[Ended, Ended]]) -> float:
    """Welfare per owner of an honest run, less what the owner with most data gains by a free ride.

    Nobody responds to payments that cannot be foreseen, so that in welfare alone these would not show.  Of rules under
    which a free ride does not pay the one with the largest payments is taken: else none would be as good.
    """
    rate = one.rule.rate if isinstance(one.rule, ScorePayments) else 1.0
    alike = replace(one, rule=replace(one.rule, rate=1.0)) if isinstance(one.rule, ScorePayments) else one
    if alike not in known:  # what is paid for a score changes no score
        known[alike] = _honest_and_ridden(alike, arena)
    honest, ridden = (replace(ended, payment=rate * ended.payment) for ended in known[alike])
    welfare = float(np.mean(honest.accuracy - honest.cost))
    gain = (ridden.utility - honest.utility)[_largest(arena)]
    return welfare - max(0.0, float(gain)) + _SOME * float(np.mean(np.abs(honest.payment)))


def _honest_and_ridden(one: Contender, arena: Arena) -> tuple[Ended, Ended]:
    own = one.own(arena)
    usual = dict.fromkeys(range(len(arena.rates)), own)
    play = partial(arena.run, one.rule, knowledge=one.knowledge)
    return play(usual), play(usual | {_largest(arena): Attacker(own, "free_ride", trains=False)})


def _largest(arena: Arena) -> int:
    return int(np.argmax(arena.clean.capacities))
