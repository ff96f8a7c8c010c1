"""FedBR and FedBR-BG: Murhekar et al. 2023, Algorithms 1 and 2."""

from __future__ import annotations

from typing import Literal

from fedabm.mechanisms import CostSharing
from fedabm.papers.protocols import Protocol
from fedabm.simulation.activation import Activation, Sequential, Simultaneous
from fedabm.strategies import BestResponse, GradientResponse, Strategy

__all__ = ["fed_br", "fed_br_bg"]


def fed_br(step: float | None = None, unit: float | None = None) -> Protocol:
    """FedBR: owners respond to what the server announced.  Murhekar et al. 2023, Algorithm 2.

    With a `step` all take a projected gradient step at once, to whole multiples of `unit` if there is one; without, one
    after the other moves to its best response.
    """
    return Protocol("FedBR", _responds(step, unit), activation=_order(step))


def fed_br_bg(
    step: float | None = None, rate: float | Literal["optimal"] = "optimal", unit: float | None = None
) -> Protocol:
    """FedBR-BG: the same with cost sharing at `rate` beta (optimal: beta*).  Murhekar et al. 2023, Algorithm 1."""
    return Protocol("FedBR-BG", _responds(step, unit), CostSharing(rate), activation=_order(step))


def _responds(step: float | None, unit: float | None) -> Strategy:
    return BestResponse() if step is None else GradientResponse(step, unit)


def _order(step: float | None) -> Activation:
    return Sequential() if step is None else Simultaneous()
