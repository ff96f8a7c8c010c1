"""The league with really trained models: what rules achieve where owners respond, free-ride, lie and attack.

Rules that settle on contributions share one model, learned by federated averaging, and so do rules that pay by what
each round's updates show; rules that exchange models train one per owner.  What a deviation does is the difference of
two runs with the same seed.  See `fedabm.auditing.arena` for the data, the curve and the costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd

from fedabm.auditing.achieved import IDLE
from fedabm.auditing.arena import DIGITS, Arena, Ended, World
from fedabm.auditing.contenders import contenders, contending, prepared
from fedabm.auditing.league import BEST, PAIR, League
from fedabm.auditing.play import BEHAVIOURS, LIES, ONCE, SKIPPED, TrainedPlay
from fedabm.common.errors import InputError, nearest

__all__ = [
    "IDLE",
    "MIXTURES",
    "SAME",
    "TRAINED",
    "one_rule",
    "trained_league",
]

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
#: rules that are another one where models train and all take part, and why
SAME = {
    ("RealFM", "ValueShaping"): "accuracy is its own payoff here",
    ("LeaveOneOut", "ScorePayments"): "the server knows worth itself, not scores of updates",
    ("ContributionSubsidy", "Verification"): "it wraps the subsidy, and fines nobody unless claims are seen through",
    ("FedAvgExchange", "FedProxExchange"): "its usual pull is so weak that test samples do not always show it",
    ("FedSV", "ComFedSV"): "everybody is seen in every round: nothing is to be completed",
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
_ELSEWHERE = "asked of the run in which nobody deviates"


def _one_seed(seed: int, owners: int, rules: Sequence[str] | None, tuning: int, world: World) -> tuple[Rows, Rows]:
    """All rules and deviations on the data of one seed."""
    arena = _arena(seed, owners, world)
    lies: Rows = []
    reached: Rows = []
    for name in contending(arena) if rules is None else rules:
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
    chosen, words = prepared(name, arena, tuning)
    play = TrainedPlay(arena, chosen)
    lies, after = tried(play)
    runs = {"trained": play.honest}
    for label, behaviours in MIXTURES.items():
        runs[f"trained, {label}"] = play.run({row: BEHAVIOURS[what](play.own) for row, what in enumerate(behaviours)})
    known = {"rule": name, "seed": arena.seed}
    reached = []
    for scheme, ended in runs.items():
        said = f"{words}; {IDLE}" if ended.idle and not arena.rations(chosen.rule, ended) else words
        more = play.asked_once(after, tuning) if scheme == "trained" else dict.fromkeys(ONCE, (np.nan, _ELSEWHERE))
        for measure, (value, note) in (play.measured(ended) | more).items():
            reached.append({**known, "scheme": scheme, "tuned": said, "measure": measure, "value": value, "note": note})
    return [known | row for row in lies], reached


def tried(play: TrainedPlay) -> tuple[Rows, Ended]:
    """What every deviation does, a row each, and how a run with the best lie ends: the honest one if none gains."""
    found = {label: play.tried(label) for label in dict.fromkeys((*TRAINED, *LIES))}
    rows = [{"deviation": label, **play.change(*found[label]), "words": found[label][1] or label} for label in TRAINED]
    gains = {label: play.change(after)["gain"] for label, (after, _) in found.items() if label in LIES and after}
    best = max(gains, key=lambda label: gains[label], default="")
    pays = bool(best) and gains[best] > 0
    said = (best if pays else "the truth") if best else f"{SKIPPED}the rule reads nothing that an owner states"
    gain = max(gains[best], 0.0) if best else np.nan
    rows.append({"deviation": BEST, **play.change(None), "gain": gain, "bound": np.inf, "words": said})
    rows.append(_pair(play, [*([best] if best else []), "free ride"]))
    ended = found[best][0] if pays else None
    return rows, ended or play.honest


def _pair(play: TrainedPlay, labels: Sequence[str]) -> dict[str, Any]:
    """The best of some deviations by the first two owners at once: what each gains on average."""
    rows = [{"deviation": PAIR, **play.change(play.with_(label, 2), "", 2), "words": label} for label in labels]
    best: dict[str, Any] = max(rows, key=lambda row: row["gain"])
    if best["gain"] <= 0:
        return best | {"gain": 0.0, "loss": 0.0, "words": "the truth"}
    return best | {"words": f"both: {best['words']}"}
