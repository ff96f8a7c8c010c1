"""What a rule achieves: data, accuracy, welfare, budget, reciprocity, messages, and who had better leave."""

from __future__ import annotations

import numpy as np

from fedabm.auditing.deviations import with_deviations
from fedabm.auditing.search import BestDeviation
from fedabm.auditing.secession import best_secession, seceding_groups
from fedabm.auditing.stage import Stage
from fedabm.common.errors import FedabmError
from fedabm.games.collaboration import collaborative_fairness, share_as_well_as_alone
from fedabm.games.curves import Array
from fedabm.kernel import Receipt
from fedabm.shapley import shapley
from fedabm.solving.metrics import reciprocity

__all__ = ["ACHIEVED", "IDLE", "MEANINGS", "achieved", "measures_of"]

#: what is said of a rule that changed nothing
IDLE = "does nothing here: pays and rations nobody"

#: measures and what they mean, in the order of the table; utilities are in units of accuracy
ACHIEVED: dict[str, str] = {
    "data": "share of all data that is contributed",
    "accuracy": "mean accuracy that owners receive",
    "welfare": "sum of utilities less what the server pays, per owner",
    "welfare without costs": "the same before the costs of data",
    "worst off": "least utility of an owner",
    "budget": "what the server pays out, per owner",
    "reciprocity": "least that an owner gets per unit of its Shapley share",
    "models sent": "models that are sent to and fro in a round, per owner",
    "welfare after the lie": "welfare once the best lie is told",
    "secession": "the most that a group gains by leaving together: the gain of its member with the least",
    "fairness": "Pearson correlation of the accuracy that owners reach alone and the one that they receive",
    "as well as alone": "share of owners that receive at least the accuracy that they reach alone with all their data",
    "bytes sent": "bytes that are sent to and fro in a round, per owner",
}
#: what every column of the definitive table means
MEANINGS = ACHIEVED | {
    "best lie": "the most that one owner gains by saying something else, in units of what an owner has",
    "welfare, costs wrong": "welfare if the server believes twice the true costs",
    "welfare, curve wrong": "welfare if the server announces a curve that rises twice as fast",
    "welfare, prior wrong": "welfare if the server's prior over costs is twice too high",
}


def measures_of(contribution: Array, capacity: Array, accuracy: Array, payment: Array, cost: Array) -> dict[str, float]:
    """The measures that follow from a settled round, one entry per owner."""
    received = accuracy - cost
    return {
        "data": float(contribution.sum() / capacity.sum()),
        "accuracy": float(accuracy.mean()),
        "welfare": float(received.mean()),
        "welfare without costs": float(accuracy.mean()),
        "worst off": float((received + payment).min()),
        "budget": float(payment.mean()),
    }


def achieved(stage: Stage, lie: BestDeviation | None, groups: int, seed: int) -> dict[str, tuple[float, str]]:
    """Every measure of a stage, and why it is missing where it means nothing."""
    here = stage.settled
    found = {name: (value, "") for name, value in _of(stage, here).items()}
    if not stage.plays_a_game:
        given = "models are given here and worth what their imports gain: trained models are judged by accuracy"
        found |= {name: (np.nan, given) for name in found if name != "data"}
    found["reciprocity"] = _reciprocity(stage)
    found["models sent"] = _sent(stage), ""
    found |= _compared_alone(stage)
    found["bytes sent"] = np.nan, "closed forms send no models"
    found["welfare after the lie"] = _after(stage, lie)
    gain = best_secession(stage, seceding_groups(stage, groups, seed)[0])[0]
    found["secession"] = (gain, "") if np.isfinite(gain) else (np.nan, "there is only one owner")
    return {name: found[name] for name in ACHIEVED}


def _of(stage: Stage, settled: Receipt) -> dict[str, float]:
    return measures_of(*_facts(stage, settled))


def _facts(stage: Stage, settled: Receipt) -> tuple[Array, Array, Array, Array, Array]:
    cost = stage.costs.value(stage.profile)
    return stage.profile, stage.capacities, settled.accuracy, settled.payment, cost


def _reciprocity(stage: Stage) -> tuple[float, str]:
    if not stage.plays_a_game:
        return np.nan, "the rule promises nothing for a contribution"
    try:
        shares = np.asarray(shapley(stage.accuracy, stage.profile))
    except FedabmError as error:
        return np.nan, str(error)
    zero = stage.accuracy.at_zero(stage.owners)
    least = reciprocity(stage.settled.accuracy, stage.settled.payment, shares, zero)
    return (least, "") if np.isfinite(least) else (np.nan, "nobody's share is above what it has without data")


def _compared_alone(stage: Stage) -> dict[str, tuple[float, str]]:
    """What owners receive beside what each reaches alone with all its data."""
    if not stage.plays_a_game:
        return dict.fromkeys(("fairness", "as well as alone"), (np.nan, "models are given here: nobody trains alone"))
    alone = np.diag(stage.accuracy.values(np.diag(stage.capacities)))
    fairness = collaborative_fairness(alone, stage.settled.accuracy)
    same = "" if np.isfinite(fairness) else "all receive the same accuracy, or are alike alone"
    return {
        "fairness": (fairness, same),
        "as well as alone": (share_as_well_as_alone(alone, stage.settled.accuracy), ""),
    }


def _sent(stage: Stage) -> float:
    """One model up and one down where all share one; else one up and every import down."""
    outcome = stage.outcome(stage.truth, stage.accuracy)
    if outcome.adjacency is None:
        return 2.0
    linked = np.asarray(outcome.adjacency) != 0
    return 1.0 + float((linked & ~np.eye(stage.owners, dtype=bool)).sum()) / stage.owners


def _after(stage: Stage, lie: BestDeviation | None) -> tuple[float, str]:
    """Welfare once the best lie is told, the others doing what they did."""
    if not stage.plays_a_game:
        return np.nan, "utility is in the unit of imports here"
    if lie is None:  # no lie gains, and none is told
        return measures_of(*_facts(stage, stage.settled))["welfare"], ""
    settled = stage.settle(with_deviations(stage, [lie.owner], [lie.deviation]))
    return float((settled.utility - settled.payment).mean()), ""
