"""FedBR-Shap (Murhekar et al. 2025, Algorithm 1), and the steps that led to their Table 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.common.random import generator
from fedabm.mechanisms import Mechanism, ShapleyShare
from fedabm.papers.protocols import Protocol
from fedabm.simulation.activation import RandomSubset, Simultaneous
from fedabm.strategies import GradientResponse

__all__ = ["fed_br_shap", "paper_budget"]


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


def paper_budget(owners: int, seed: int, active: int | None = None, limit: int = 1000) -> dict[str, Any]:
    """How Table 1 was computed, as options of `solve`: 1000 steps of size 10 from one batch each.

    Murhekar et al. 2025, Appendix E; a third of the owners moves in each step, of two owners both.
    """
    moving = (owners // 3 if owners > 2 else owners) if active is None else min(active, owners)
    return {
        "start": np.ones(owners),
        "method": "stochastic gradient",
        "step": 10.0,
        "active": max(moving, 1),
        "rng": generator(seed, "activation"),
        "limit": limit,
    }
