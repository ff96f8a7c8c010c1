"""A blend between no payments and Shapley shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np

from fedabm.common.bounds import within
from fedabm.common.errors import check_range
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.many import CurveTable
from fedabm.games.curves import Array, Line
from fedabm.games.offers import Offers, full_access, nothing
from fedabm.mechanisms.base import full_access_jacobian
from fedabm.mechanisms.shapley_share import ShapleyBased, shape_of_shares, tabled_offers
from fedabm.shapley.rows import row_curvatures
from fedabm.views import Reports

__all__ = ["PartialReciprocity"]


@dataclass(frozen=True)
class PartialReciprocity(ShapleyBased):
    """Pay the fraction r of what the Shapley share would pay.

        p_i(s) = r (phi_i(s) + a_i(0) - a_i(s)),     0 <= r <= 1

    r = 0 is M^0 and r = 1 is M^Shap of Murhekar et al. 2025, who name mechanisms in between as an open direction.  The
    payments sum to zero.  If accuracies are not negative, the reciprocity (Definition 3.3) is at least r, because
    a_i + p_i = r phi_i + (1 - r) a_i + r a_i(0) >= r phi_i.

    Parameters
    ----------
    r : float
        Which fraction of the Shapley payments is paid, from 0 to 1.
    method : str, optional
        How shares are found: "auto", "enumeration", "quadrature", "linear", "counting" or "monte carlo".
    permutations : int | None, optional
        How many orders are drawn where shares are sampled.
    seed : int, optional
        Seed of that draw.
    fresh : bool, optional
        Whether other orders are drawn at every question.
    """

    r: float = field(kw_only=False, metadata=within(0.0, 1.0))
    columns = ("r",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("reciprocity r", self.r, 0.0, 1.0)
        if self.r == 0:
            object.__setattr__(self, "needs", "nothing")

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and a part of the Shapley share's payment."""
        owners = len(reports.contribution)
        if self.r == 0:
            return full_access(accuracy, reports.contribution, nothing(owners))
        curves = accuracy.curves(reports.contribution)
        owed = self.shares(accuracy, reports) - curves + Line(accuracy.at_zero(owners), np.zeros(owners))
        return Offers(curves, curves, self.r * owed, accuracy.own_jumps(owners), shape_of_shares(accuracy, owners))

    def tabled(self, accuracy: Accuracy, owners: int) -> bool:
        """As shares are."""
        return type(self).offers is PartialReciprocity.offers and super().tabled(accuracy, owners)

    def table_offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The same for many games, by every coalition."""
        return tabled_offers(cast("CurveTable", accuracy), reports.contribution, self.r)

    def table_jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """Blended as below."""
        profiles, r = reports.contribution, np.asarray(self.r)[..., None]
        own = full_access_jacobian(accuracy, profiles)
        return None if own is None else r * row_curvatures(cast("CurveTable", accuracy), profiles) + (1.0 - r) * own

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """r times that of the shares plus 1 - r times that of the accuracies."""
        own = full_access_jacobian(accuracy, reports.contribution) if self.r < 1 else np.zeros(())
        shares = self.share_jacobian(accuracy, reports) if self.r > 0 else np.zeros(())
        return None if own is None or shares is None else self.r * shares + (1 - self.r) * own
