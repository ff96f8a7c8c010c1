"""Owners that improve their own utility against the others' last reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedabm.common.errors import check_number, check_positive, check_range
from fedabm.strategies.announced import announced
from fedabm.strategies.base import Strategy
from fedabm.views import Action, OwnerView

__all__ = ["BestResponse", "GradientResponse"]


@dataclass(frozen=True)
class BestResponse(Strategy):
    """Move to the contribution that is best against the others' last reports, or part of the way.

        s_i <- s_i + rationality * (argmax_x u_i(x, s_-i) - s_i)

    rationality = 1 is the exact best response (Murhekar et al. 2023, Proposition 1); less is a bounded step, which
    also damps the overshooting of owners that all respond at once.

    Parameters
    ----------
    rationality : float, optional
        Which part of the way to the best response it goes.
    """

    rationality: float = 1.0
    stacks = True

    def __post_init__(self) -> None:
        check_positive("rationality", self.rationality)
        check_range("rationality", self.rationality, 0.0, 1.0)

    def act(self, view: OwnerView) -> Action:
        """Towards the best response."""
        best = announced(view).best().contribution
        if self.rationality < 1:
            best = view.last.contribution + self.rationality * (best - view.last.contribution)
        return view.truthful(best, used="offer")


@dataclass(frozen=True)
class GradientResponse(Strategy):
    """Take one projected gradient step: s_i <- clip(s_i + step * du_i/ds_i, 0, capacity).

    The best-response dynamics of Murhekar et al. 2023, eq. (4), and Murhekar et al. 2025, eq. (8), with the
    projection that the former omits; Doshi et al. 2025, eq. (3), calls `step` the owner's degree of rationality.  With
    a `unit` contributions are whole multiples of it, the nearest ones (Murhekar et al. 2023, Section 5.1).

    Parameters
    ----------
    step : float
        Size of the gradient step: the degree of rationality.
    unit : float | None, optional
        Contributions are whole multiples of it.
    """

    step: float
    unit: float | None = None
    stacks = True

    def __post_init__(self) -> None:
        check_number("gradient step", self.step)
        if self.unit is not None:
            check_positive("unit of contributions", self.unit)

    def act(self, view: OwnerView) -> Action:
        """One step uphill."""
        now = view.last.contribution
        wanted = np.clip(now + self.step * announced(view).slope(now), 0.0, view.capacity)
        if self.unit is not None:
            wanted = self.unit * np.minimum(np.rint(wanted / self.unit), np.floor(view.capacity / self.unit))
        return view.truthful(wanted, used="offer")
