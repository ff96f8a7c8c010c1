"""FedBR-Shap: Murhekar et al. 2025, Algorithm 1."""

from __future__ import annotations

from fedabm.mechanisms import Mechanism, ShapleyShare
from fedabm.papers.protocols import Protocol
from fedabm.simulation.activation import RandomSubset, Simultaneous
from fedabm.strategies import GradientResponse

__all__ = ["fed_br_shap"]


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
