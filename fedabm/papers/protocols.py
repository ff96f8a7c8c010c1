"""A training protocol: a mechanism, a schedule and what owners are expected to do, for any accuracy.

| protocol | in | owners | mechanism | weights are trained |
|---|---|---|---|---|
| FedAvg | here | honest | none | in every step |
| MWFed | here | as asked | multiplicative weights | in every step |
| FedAvgStrategic | `doshi2025` | gradient | none | once contributions have settled |
| UPBReD | `doshi2025` | gradient | none | together with contributions |
| 2P-UPBReD | `doshi2025` | gradient | contribution subsidy | once everybody contributes everything |
| FedBR | `murhekar2023` | best response | none | in every step |
| FedBR-BG | `murhekar2023` | best response | cost sharing | in every step |
| FedBR-Shap | `murhekar2025` | gradient, a random few | Shapley share, paid in stages | in every step |

The accuracy is a closed form or comes from training: one model that learns on (`Learning`), models trained from the
start for every profile (`Trained`), coalition models (`Rounds`); what owners are told is part of it (`Announced`).
Any owner can do anything else instead: give `strategies` of your own to `Protocol.scenario`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fedabm.games.accuracy.base import Oracle
from fedabm.games.accuracy.phased import Schedule
from fedabm.games.curves import Array
from fedabm.mechanisms import Mechanism, MultiplicativeWeights, NoPayments
from fedabm.simulation.activation import Activation, Simultaneous
from fedabm.simulation.scenario import Scenario, population
from fedabm.strategies import AsAsked, Honest, Strategy

__all__ = ["Protocol", "fed_avg", "mw_fed"]


@dataclass(frozen=True)
class Protocol:
    """Who is expected to do what, under which rule, in which order, and when weights are trained.

    Parameters
    ----------
    name : str
        What the paper calls it.
    strategy : Strategy
        What owners do.
    mechanism : Mechanism, optional
        The rule that decides who gets which model and who pays whom.
    schedule : Schedule, optional
        When weights are trained.
    activation : Activation, optional
        In which order owners decide.
    pay_every : int, optional
        After how many steps money is settled.
    """

    name: str
    strategy: Strategy
    mechanism: Mechanism = field(default_factory=NoPayments)
    schedule: Schedule = field(default_factory=Schedule)
    activation: Activation = field(default_factory=Simultaneous)
    pay_every: int = 1

    def scenario(
        self,
        accuracy: Oracle,
        costs: Sequence[Any] | Array,
        capacities: Any,
        starts: Any = 0.0,
        strategies: Sequence[Strategy | None] | None = None,
        **changes: Any,
    ) -> Scenario:
        """The protocol on an accuracy with owners; `strategies` names those who do something else (None: as expected).

        >>> from fedabm.games.accuracy import JointQuadratic
        >>> from fedabm.papers.doshi2025.protocols import upbred
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
    """FedAvg: everybody contributes everything.  McMahan et al. 2017.

    Returns
    -------
    Protocol
        The protocol.
    """
    return Protocol("FedAvg", Honest())


def mw_fed(goal: float, data: float, factor: float = 1.1) -> Protocol:
    """MWFed: shares of `data` samples move to owners below their accuracy goal.  Blum et al. 2021 (factor 4).

    Parameters
    ----------
    goal : float
        The accuracy that every owner should reach.
    data : float
        How many samples all owners together use in a step.
    factor : float, optional
        By how much the weight of an owner below its goal grows.

    Returns
    -------
    Protocol
        The protocol.
    """
    return Protocol("MWFed", AsAsked(), MultiplicativeWeights(goal, data, factor))
