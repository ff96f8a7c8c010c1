"""The league with really trained models: what rules achieve where owners respond, free-ride, lie and attack.

Rules that settle on contributions share one model, learned by federated averaging, and so do rules that pay by what
each round's updates show; rules that exchange models train one per owner.  What a deviation does is the difference of
two runs with the same seed.  See `fedabm.auditing.arena` for the data, the curve and the costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from fedabm.auditing.achieved import measures_of
from fedabm.auditing.arena import DIGITS, Arena, Ended, World
from fedabm.auditing.league import League, closed_rules, exchanging_rules
from fedabm.auditing.tuned import games_of, tuned
from fedabm.common.bounds import written
from fedabm.common.errors import InputError, nearest
from fedabm.games.collaboration import collaborative_fairness, share_as_well_as_alone
from fedabm.knowledge import Knowledge
from fedabm.learning.knowledge.com_fed_sv import ComFedSV
from fedabm.learning.knowledge.fed_sv import FedSV
from fedabm.learning.knowledge.from_updates import FromUpdates
from fedabm.learning.knowledge.gtg_shapley import GTGShapley
from fedabm.learning.knowledge.update_norms import UpdateNorms
from fedabm.mechanisms import Mechanism, ScorePayments
from fedabm.solving.game import Game
from fedabm.strategies import AdaptiveAttacker, Attacker, FreeRider, Honest, Liar, Strategy

__all__ = [
    "BEHAVIOURS",
    "IDLE",
    "MIXTURES",
    "SAME",
    "TRAINED",
    "Contender",
    "change_of",
    "contenders",
    "one_rule",
    "trained_league",
]

#: what an owner does around what it would do anyway; the data of some have defects
BEHAVIOURS: Mapping[str, Callable[[Strategy], Strategy]] = {
    "gives nothing": lambda own: FreeRider(),
    "claims twice": lambda own: Liar(own, contribution_factor=2.0),
    "size x4": lambda own: Liar(own, size_factor=4.0),
    "cost x3": lambda own: Liar(own, cost_factor=3.0),
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
#: what the deviator does in the league; whose labels are noisy is honest about everything but that
TRAINED = (
    *("claims twice", "size x4", "cost x3", "free ride", "delta weights", "copy"),
    *("noisy labels", "noise", "sign flip", "little is enough", "min-max"),
)
#: mixtures of behaviours: what the first owners do, the others respond
MIXTURES: Mapping[str, tuple[str, ...]] = {
    "one free-rider and one liar": ("gives nothing", "claims twice"),
    "one free-rider, one liar, one attacker": ("gives nothing", "claims twice", "sign flip"),
}
#: what is said of a rule that changed nothing
IDLE = "does nothing here: pays and rations nobody"
#: rules that are another one where models train and all take part, and why
SAME = {
    ("RealFM", "ValueShaping"): "accuracy is its own payoff here",
    ("LeaveOneOut", "ScorePayments"): "the server knows worth itself, not scores of updates",
    ("ContributionSubsidy", "Verification"): "it wraps the subsidy, and fines nobody unless claims are seen through",
    ("FedAvgExchange", "FedProxExchange"): "its usual pull is so weak that test samples do not always show it",
    ("FedSV", "ComFedSV"): "everybody is seen in every round: nothing is to be completed",
}
#: by how much owners' test parts may tell a model worse than the curve has it
_TOLERANCE = 0.1


@dataclass(frozen=True)
class Contender:
    """A rule, and what the server knows; None: what is announced."""

    rule: Mechanism
    knowledge: Knowledge | None = None

    def own(self, arena: Arena) -> Strategy:
        """What owners do anyway; where payments cannot be foreseen they give all, as those papers have it."""
        return arena.own(self.rule) if self.knowledge is None else Honest()


def contenders(rates: Sequence[float]) -> dict[str, Contender]:
    """Every rule of the trained league by name: those of `fedabm.mechanisms`, and payments by scores of updates.

    Nobody can foresee what scores of updates will pay, so that owners give all and no rate is tuned: what a round takes
    from the loss is paid as if it were accuracy, and a cosine of 1 as a tenth of all accuracy.
    """
    made = {name: Contender(rule) for name, rule in {**closed_rules(rates), **exchanging_rules()}.items()}
    by_loss, by_cosine = ScorePayments(1.0), ScorePayments(0.1)
    return made | {
        "FedSV": Contender(by_loss, FedSV()),
        "GTGShapley": Contender(by_loss, GTGShapley()),
        "ComFedSV": Contender(by_loss, ComFedSV()),
        "CosineScores": Contender(by_cosine, FromUpdates("cosine")),
        "UpdateNorms": Contender(by_cosine, UpdateNorms()),
    }


def trained_league(
    seeds: int | Sequence[int] = 3,
    owners: int = 6,
    rules: Sequence[str] | None = None,
    workers: int = 1,
    tuning: int = 0,
    world: World = DIGITS,
) -> League:
    """What the deviator gains and each of the others loses in the last round, and what rules achieve.

    Parameters
    ----------
    seeds : int or sequence of int
        Divisions of the data, with models of their own, or how many.
    owners : int
        How many owners share them.
    rules : sequence of str, optional
        Some rules only.
    workers : int
        How many processes, one seed each.
    tuning : int
        How many parameters are tried of each rule on the measured curve.
    world : World
        The data, and how models learn.

    Returns
    -------
    League
        One row per rule, seed and deviation, and one per rule, seed and measure.
    """
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    _check_names(rules)
    one = partial(_one_seed, owners=owners, rules=rules, tuning=tuning, world=world)
    if workers == 1:
        parts = [one(seed) for seed in numbers]
    else:
        with ProcessPoolExecutor(workers) as pool:
            parts = list(pool.map(one, numbers))
    lies, reached = ([row for part in parts for row in part[place]] for place in (0, 1))
    return League(pd.DataFrame(lies), pd.DataFrame(reached))


def _check_names(rules: Sequence[str] | None) -> None:
    known = contenders([0.01, 0.1])
    for name in rules or ():
        if name not in known:
            raise InputError(f"no rule of the trained league is called {name!r}; {nearest(name, known)}")


Rows = list[dict[str, Any]]


def _one_seed(seed: int, owners: int, rules: Sequence[str] | None, tuning: int, world: World) -> tuple[Rows, Rows]:
    """All rules and deviations on the data of one seed."""
    arena = _arena(seed, owners, world)
    lies: Rows = []
    reached: Rows = []
    for name in contenders(arena.rates.tolist()) if rules is None else rules:
        more = one_rule(arena, name, tuning)
        lies += more[0]
        reached += more[1]
    return lies, reached


@lru_cache(maxsize=1)
def _arena(seed: int, owners: int, world: World) -> Arena:
    """The last one is kept: rules are recorded one by one."""
    return Arena.of(seed, owners, world)


def one_rule(arena: Arena, name: str, tuning: int) -> tuple[Rows, Rows]:
    """A rule against all deviations and under all mixtures on the data of one seed."""
    chosen, seed = contenders(arena.rates.tolist())[name], arena.seed
    rule, words = _prepared(chosen, games_of([arena.owners], arena.curve), tuning, seed)
    own, play = chosen.own(arena), partial(arena.run, rule, knowledge=chosen.knowledge)
    usual = dict.fromkeys(range(len(arena.rates)), own)
    honest, lies = play(usual), []
    for label in TRAINED:
        after = play(usual | {0: BEHAVIOURS[label](own)}, spoilt=label == "noisy labels")
        lies.append({"rule": name, "seed": seed, "deviation": label, **change_of(honest, after), "words": label})
    runs = {"trained": honest}
    for label, behaviours in MIXTURES.items():
        changes = {row: BEHAVIOURS[what](own) for row, what in enumerate(behaviours)}
        runs[f"trained, {label}"] = play(usual | changes)
    reached = []
    for scheme, ended in runs.items():
        said = f"{words}; {IDLE}" if ended.idle and not arena.rations(rule, ended) else words
        facts = {"rule": name, "scheme": scheme, "seed": seed, "tuned": said}
        reached += [facts | row for row in _measured(ended, arena, rule)]
    return lies, reached


def _prepared(chosen: Contender, games: Sequence[Game], tuning: int, seed: int) -> tuple[Mechanism, str]:
    """The rule, tuned to the measured curve; what a measurement is off by is no lie."""
    rule = chosen.rule
    if chosen.knowledge is not None:
        rate = ", ".join(f"{name} = {value:g}" for name, value in vars(rule).items())
        return rule, f"{rate}; scores rank owners and do not price what they bring"
    if rule.checks_claims and hasattr(rule, "tolerance"):
        rule = written(rule, {"tolerance": _TOLERANCE})
    return tuned(rule, games, tuning, seed) if tuning else (rule, "as its class has it")


def _measured(ended: Ended, arena: Arena, rule: Mechanism) -> Iterator[dict[str, Any]]:
    """The measures of a run, and why they mean nothing where they do not."""
    capacities = np.asarray(arena.clean.capacities, dtype=float)
    values = measures_of(ended.contribution, capacities, ended.accuracy, ended.payment, ended.cost)
    notes = {} if rule.promises else {"budget": "payments for models are in a unit of their own"}
    values["fairness"] = collaborative_fairness(arena.alone, ended.accuracy)
    values["as well as alone"] = share_as_well_as_alone(arena.alone, ended.accuracy)
    if np.isnan(values["fairness"]):
        notes["fairness"] = "all receive the same accuracy, or are alike alone"
    values["models sent"] = ended.models / len(capacities)
    values["bytes sent"] = ended.bytes / len(capacities)
    values |= dict.fromkeys(notes, np.nan)
    for name, value in values.items():
        yield {"measure": name, "value": value, "note": notes.get(name, "")}


def change_of(before: Ended, after: Ended, deviators: int = 1) -> dict[str, float]:
    """What the deviators, the first owners, gain and each of the others loses, on average."""
    gain = after.utility - before.utility
    return {
        "gain": float(np.mean(gain[:deviators])),
        "loss": float(-np.mean(gain[deviators:])),
        "stake": max(float(np.mean(np.abs(before.utility))), 1e-9),
    }
