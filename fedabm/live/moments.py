"""What is kept of every step of a run that is watched: what owners did and got, and what each saw when it decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.results.links import Links
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario
from fedabm.views import INFORMATION, OwnerView, Transfers

__all__ = ["MEASURES", "SHARES", "Moment", "Sights", "WatchedFederation"]

#: columns that are shown over time: the mean over the owners of a strategy, of welfare their sum
MEASURES = {
    "contribution": "data given, mean",
    "accuracy": "accuracy received, mean",
    "payment": "payment received, mean",
    "utility": "utility, mean",
    "welfare": "welfare: sum of utilities",
}
#: the contributions, as shares of what an owner has, at which its expected utility is kept
SHARES = np.linspace(0.0, 1.0, 17)

_INFORMATION = tuple(INFORMATION)


@dataclass(frozen=True, eq=False)
class Sights:
    """What every owner saw in a step when it decided, one entry each; nothing of it is anybody else's secret.

    total, present  what all who took part said they contributed, and how many they were
    quota           what the mechanism asked it for (nan: nothing)
    others          what its neighbours said they contributed, on average (nan: it sees nobody)
    curve           its utility at each of `SHARES` of its data, if the others' reports stand (nan: not known)
    """

    acted: Flags
    total: Array
    present: Array
    quota: Array
    others: Array
    curve: Array

    @classmethod
    def none(cls, owners: int) -> Sights:
        """Nobody has decided yet."""
        total, present, quota, others = np.full((4, owners), np.nan)
        curve = np.full((owners, len(SHARES)), np.nan)
        return cls(np.zeros(owners, dtype=bool), total, present, quota, others, curve)

    def note(self, view: OwnerView, *, with_curve: bool) -> None:
        """Keep what those whose turn it is see."""
        rows = view.owner
        self.acted[rows] = True
        self.total[rows], self.present[rows] = view.total, view.present
        if view.quota is not None:
            self.quota[rows] = view.quota
        if view.neighbours is not None:
            self.others[rows] = view.neighbours.mean(view.neighbours.contribution)
        if with_curve:
            values = [view.payoff.value(share * view.capacity) for share in SHARES]
            self.curve[rows] = np.stack(values, axis=1)


class WatchedFederation(Federation):
    """A federation that keeps what its owners see; nothing else is different."""

    def __init__(self, scenario: Scenario, seed: int = 0) -> None:
        super().__init__(scenario, seed)
        self.sights = Sights.none(len(self.population))

    def step(self) -> None:
        """One round."""
        self.sights = Sights.none(len(self.population))
        super().step()

    def note(self, view: OwnerView) -> None:
        """Look at what they see before they act on it; a payoff that takes training to know stays unknown."""
        costly = self.accuracy.costly or not self.scenario.mechanism.promises
        self.sights.note(view, with_curve=not costly)


@dataclass(frozen=True, eq=False)
class Moment:
    """One step of a run: what every owner did, said and got, who paid whom, and who imported whose model.

    means  by measure and strategy (None: nobody of that strategy is there)
    """

    step: int
    contribution: Array
    claimed: Array
    claimed_size: Array
    #: what it said a unit costs, over what it really costs (nan: the mechanism does not ask)
    claimed_cost: Array
    accuracy: Array
    payment: Array
    utility: Array
    money: Array
    stayed: Flags
    rejected: Flags
    tampered: Flags
    information: tuple[str, ...]
    transfers: Transfers
    links: Links | None
    sights: Sights
    means: Mapping[str, Mapping[str, float | None]]
    totals: Mapping[str, float]

    @classmethod
    def of(cls, model: WatchedFederation) -> Moment:
        """The step that the model has just completed."""
        people = model.population
        tampered = np.zeros(len(people), dtype=bool)
        for group in people.tampering(model.steps):
            tampered[group.members] = True
        links = model.links[-1] if model.links and model.links[-1].step == model.steps else None
        return cls(
            step=model.steps,
            contribution=people.contribution.copy(),
            claimed=people.claimed.copy(),
            claimed_size=people.claimed_size.copy(),
            claimed_cost=_overstatement(model),
            accuracy=people.accuracy.copy(),
            payment=people.payment.copy(),
            utility=people.utility.copy(),
            money=people.money.copy(),
            stayed=people.stayed.copy(),
            rejected=people.unusable.copy(),
            tampered=tampered,
            information=tuple(_INFORMATION[code] for code in people.information),
            transfers=model.recorder.latest[1],
            links=links,
            sights=model.sights,
            means=_means(people),
            totals={
                "data": model.total_contribution,
                "accuracy": model.mean_accuracy,
                "welfare": model.welfare,
                "paid": model.transferred,
                "present": model.present,
            },
        )


def _overstatement(model: WatchedFederation) -> Array:
    """Reported over true unit cost, where the mechanism asks for it."""
    people = model.population
    if not model.scenario.mechanism.asks_cost:
        return np.full(len(people), np.nan)
    said, true = people.claimed_cost.unit(people.claimed), people.cost.unit(people.claimed)
    return np.divide(said, true, out=np.ones(len(people)), where=true > 0)


def _means(people: Any) -> dict[str, dict[str, float | None]]:
    """Every measure by strategy, over the owners that are there."""
    found: dict[str, dict[str, float | None]] = {name: {} for name in MEASURES}
    for code, label in enumerate(people.labels):
        mine = people.codes == code
        there = mine & people.stayed
        for name in MEASURES:
            column = people.utility if name == "welfare" else getattr(people, name)
            value = column[mine].sum() if name == "welfare" else column[there].mean() if there.any() else None
            found[name][label] = None if value is None or not np.isfinite(value) else float(value)
    return found
