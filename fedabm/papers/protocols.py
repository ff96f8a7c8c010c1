"""The papers' training protocols: a mechanism, a schedule and what owners are expected to do, for any accuracy.

| protocol | owners | mechanism | weights are trained |
|---|---|---|---|
| FedAvg | honest | none | in every step |
| FedAvgStrategic | gradient | none | once contributions have settled |
| UPBReD | gradient | none | together with contributions |
| 2P-UPBReD | gradient | contribution subsidy | once everybody contributes everything |
| MWFed | multiplicative shares | none | in every step |
| FedBR | best response | none | in every step |
| FedBR-BG | best response | cost sharing | in every step |
| FedBR-Shap | gradient, a random few | Shapley share, paid in stages | in every step |

The accuracy is a closed form or comes from training: one model that learns on (`Learning`), models trained from the
start for every profile (`Trained`), coalition models (`Rounds`); what owners are told is part of it (`Announced`).
Any owner can do anything else instead: give `strategies` of your own to `Protocol.scenario`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.phased import Schedule
from fedabm.games.curves import Array
from fedabm.mechanisms import ContributionSubsidy, CostSharing, Mechanism, NoPayments, ShapleyShare
from fedabm.simulation.activation import Activation, RandomSubset, Sequential, Simultaneous
from fedabm.simulation.scenario import Scenario, population
from fedabm.strategies import BestResponse, GradientResponse, Honest, MeasuredResponse, MultiplicativeShare, Strategy

__all__ = [
    "Protocol",
    "fed_avg",
    "fed_avg_strategic",
    "fed_br",
    "fed_br_bg",
    "fed_br_shap",
    "mw_fed",
    "two_phase_upbred",
    "upbred",
]


@dataclass(frozen=True)
class Protocol:
    """Who is expected to do what, under which rule, in which order, and when weights are trained."""

    name: str
    strategy: Strategy
    mechanism: Mechanism = field(default_factory=NoPayments)
    schedule: Schedule = field(default_factory=Schedule)
    activation: Activation = field(default_factory=Simultaneous)
    pay_every: int = 1

    def scenario(
        self,
        accuracy: Accuracy,
        costs: Sequence[Any] | Array,
        capacities: Any,
        starts: Any = 0.0,
        strategies: Sequence[Strategy | None] | None = None,
        **changes: Any,
    ) -> Scenario:
        """The protocol on an accuracy with owners; `strategies` names those who do something else (None: as expected).

        >>> from fedabm.games.accuracy import JointQuadratic
        >>> two = upbred(0.25, least=0.0).scenario(JointQuadratic(), [0.04, 0.02], 5.0, starts=5.0, steps=200)
        >>> from fedabm import Federation
        >>> Federation(two).run().population.contribution.round(6).tolist()
        [3.124825, 4.096473]
        """
        chosen = [other or self.strategy for other in strategies or [None] * len(costs)]
        owners = population(list(costs), capacities, chosen, starts)
        trained = self.schedule.over(accuracy, [owner.capacity for owner in owners])
        rules: dict[str, Any] = {"mechanism": self.mechanism, "activation": self.activation}
        rules |= {"pay_every": self.pay_every, "name": self.name}
        return Scenario(owners, trained, **(rules | changes))


def fed_avg() -> Protocol:
    """FedAvg: everybody contributes everything.  McMahan et al. 2017."""
    return Protocol("FedAvg", Honest())


def upbred(gamma: float, least: float = 1.0) -> Protocol:
    """UPBReD: contributions and weights take their steps together.  Doshi et al. 2025, Algorithm 1 and eq. (10)."""
    return Protocol("UPBReD", MeasuredResponse(gamma, least), schedule=Schedule(early=True))


def fed_avg_strategic(
    gamma: float, least: float = 1.0, tolerance: float = 0.01, at_most: int | None = None
) -> Protocol:
    """FedAvgStrategic: contributions settle on frozen weights, then FedAvg.  Doshi et al. 2025, Algorithm 3.

    As printed phase 1 ends at once if all want to reduce; here it ends when nobody moves by more than `tolerance`.
    """
    schedule = Schedule(until_still=tolerance, at_most=at_most)
    return Protocol("FedAvgStrategic", MeasuredResponse(gamma, least), schedule=schedule)


def two_phase_upbred(
    gamma: float, subsidy: float, least: float = 1.0, tolerance: float = 0.01, at_most: int | None = None
) -> Protocol:
    """2P-UPBReD: a subsidy until everybody contributes everything, then pure learning.  Doshi 2025, Algorithm 2.

    As printed phase 1 never ends if somebody's cost exceeds the subsidy; here it also ends when nobody moves by more
    than `tolerance`, or after `at_most` steps.
    """
    schedule = Schedule(until_full=True, until_still=tolerance, at_most=at_most)
    return Protocol("2P-UPBReD", MeasuredResponse(gamma, least), ContributionSubsidy(subsidy), schedule)


def mw_fed(goal: float, data: float, factor: float = 1.1) -> Protocol:
    """MWFed: shares of `data` samples move to owners below their accuracy goal.  Blum et al. 2021.

    Start owners with `data` in equal shares: a weight of nothing stays nothing.  Their code has factor 4.
    """
    return Protocol("MWFed", MultiplicativeShare(goal, data, factor))


def fed_br(step: float | None = None) -> Protocol:
    """FedBR: owners respond to what the server announced.  Murhekar et al. 2023, Algorithm 2.

    With a `step` all take a projected gradient step at once; without, one after the other moves to its best response.
    """
    return Protocol("FedBR", _responds(step), activation=_order(step))


def fed_br_bg(step: float | None = None, rate: float | Literal["optimal"] = "optimal") -> Protocol:
    """FedBR-BG: the same with cost sharing at `rate` beta (optimal: beta*).  Murhekar et al. 2023, Algorithm 1."""
    return Protocol("FedBR-BG", _responds(step), CostSharing(rate), activation=_order(step))


def fed_br_shap(
    step: float, active: int | None = None, window: int = 1, mechanism: Mechanism | None = None
) -> Protocol:
    """FedBR-Shap: gradient steps on Shapley shares by `active` owners at a time, paid every `window` steps.

    Murhekar et al. 2025, Algorithm 1 with eq. (11).  `mechanism` is `ShapleyShare()` unless given, for instance with
    sampled orders, or `BanzhafShare()`, which is what their Appendix F prints.
    """
    order = Simultaneous() if active is None else RandomSubset(active)
    rule = ShapleyShare() if mechanism is None else mechanism
    return Protocol("FedBR-Shap", GradientResponse(step), rule, activation=order, pay_every=window)


def _responds(step: float | None) -> Strategy:
    return BestResponse() if step is None else GradientResponse(step)


def _order(step: float | None) -> Activation:
    return Sequential() if step is None else Simultaneous()
