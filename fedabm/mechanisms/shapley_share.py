"""Everyone gets what its data are worth to all: the Shapley share of the total accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from fedabm.common.errors import InputError, check_whole, nearest
from fedabm.common.random import check_seed
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.many import CurveTable, common_curve
from fedabm.games.curves import Array, Curve, Line, ScaledEach
from fedabm.games.offers import Offers, Shape
from fedabm.mechanisms.base import Mechanism
from fedabm.shapley import METHODS, choose_method, counting, rows, shapley_curves, shapley_jacobian
from fedabm.views import Reports, ServerView
from fedabm.views.known import Need

__all__ = ["ShapleyBased", "ShapleyShare", "shape_of_shares"]

#: relative error of the Jacobian: it only guides Newton's method, which corrects itself, and a rough one is cheaper
_NEWTON = 1e-4
#: up to this many owners Newton's method takes differences of slopes
_LONG = 16


@dataclass(frozen=True, kw_only=True)
class ShapleyBased(Mechanism):
    """A mechanism that needs Shapley shares, and how to get them.

    `method` is one of `fedabm.shapley.METHODS` or "auto".  For oracles without an exact method `permutations` orders
    are sampled from `seed` (by default as many as a standard error of 2% takes where owners are equal), the same ones
    at every question, so that offers are consistent; then payments still balance, but equal owners are treated equally
    on average only, and nothing is certified.  With `fresh` every round has orders of its own, as
    in Murhekar et al. 2025, Algorithm 1, so that errors average out over rounds.
    """

    method: str = "auto"
    permutations: int | None = None
    seed: int = 0
    fresh: bool = False
    ignores_size: ClassVar[bool] = True
    needs: ClassVar[Need] = "coalitions"

    def __post_init__(self) -> None:
        if self.method not in ("auto", *METHODS):
            raise InputError(f"unknown Shapley method {self.method!r}; {nearest(self.method, ('auto', *METHODS))}")
        if self.permutations is not None:
            check_whole("permutations", self.permutations)
        check_seed(self.seed)
        if self.method == "monte_carlo":
            object.__setattr__(self, "equal_treatment", False)

    @property
    def samples(self) -> bool:  # type: ignore[override]
        """Whether the method is Monte Carlo by choice."""
        return self.method == "monte_carlo"

    def shares(self, accuracy: Accuracy, reports: Reports) -> Curve:
        """phi_i as a function of the own contribution."""
        rng = np.random.default_rng([self.seed, self._turn(reports)] if self.fresh else self.seed)
        return shapley_curves(
            accuracy, reports.contribution, self.method, reach=reports.size, permutations=self.permutations, rng=rng
        )

    def remembered(self, view: ServerView) -> Any:
        """If orders are to be fresh, how many rounds there were."""
        return {"rounds": self._turn(view.reports) + 1} if self.fresh else None

    def tabled(self, accuracy: Accuracy, owners: int) -> bool:
        """Where every coalition of few owners is looked at, and each model is worth something from the start."""
        curve = common_curve(accuracy)
        exact = self.method in ("auto", "enumeration", "quadrature", "counting") and not self.fresh
        usual = type(self).shares is ShapleyBased.shares and owners <= rows.MOST_OWNERS
        return exact and usual and curve is not None and curve.traits.concave and curve.viable <= 0

    @staticmethod
    def _turn(reports: Reports) -> int:
        """How many rounds were settled before."""
        return int((reports.memory or {}).get("rounds", 0))

    def share_jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """d(d phi_i / d s_i) / d s_j where it is known exactly."""
        profile = reports.contribution
        method = choose_method(accuracy, profile) if self.method == "auto" else self.method
        known = method in ("quadrature", "linear") or (method == "counting" and _is_long(profile))
        return shapley_jacobian(accuracy, profile, _NEWTON) if known else None


@dataclass(frozen=True)
class ShapleyShare(ShapleyBased):
    """Everyone ends up with its Shapley share phi_i(s) of all accuracies, on top of what no data at all would give.

        p_i(s) = phi_i(s) + a_i(0) - a_i(s)

    M^Shap of Murhekar et al. 2025, Definition 4.1, eq. (7).  Shares add up to A(s) - A(0), so these payments sum to
    zero.  As printed, p_i = phi_i - a_i, they sum to -A(0), which is zero only if an empty federation is worth nothing
    (Lemma 4.2 needs it; random coverage and a power law with scale < 1 violate it): `printed=True`.

    Without minimum viability the share is concave in the own contribution, as a mean of concave gains.  With it, it
    has a kink wherever some coalition becomes viable, and only its monotonicity is used.

    Parameters
    ----------
    printed : bool, optional
        Whether the rule is taken as the paper prints it, with its mistakes.
    method : str, optional
        How shares are found: "auto", or one method by name.
    permutations : int | None, optional
        How many orders are drawn where shares are sampled.
    seed : int, optional
        Seed of that draw.
    fresh : bool, optional
        Whether other orders are drawn at every question.
    """

    printed: bool = False

    @property
    def potential(self) -> bool:  # type: ignore[override]
        """Whether shares are to be exact where they can be."""
        return self.method != "monte_carlo"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.printed:
            object.__setattr__(self, "budget_balanced", False)

    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The full model, and money up to the Shapley share."""
        owners = len(reports.contribution)
        base = np.zeros(1) if self.printed else _without_data(accuracy, owners)
        curves = accuracy.curves(reports.contribution)
        payment = self.shares(accuracy, reports) - curves
        if np.any(base):
            payment = payment + Line(base, np.broadcast_to(0.0, owners))
        return Offers(curves, curves, payment, accuracy.own_jumps(owners), shape_of_shares(accuracy, owners))

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """That of the shares."""
        return self.share_jacobian(accuracy, reports)

    def tabled(self, accuracy: Accuracy, owners: int) -> bool:
        """As shares are; a subclass with offers of its own must say itself."""
        return type(self).offers is ShapleyShare.offers and super().tabled(accuracy, owners)

    def table_offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The same for many games, by every coalition."""
        table, profiles = cast("CurveTable", accuracy), reports.contribution
        return tabled_offers(table, profiles, 1.0, printed=self.printed)

    def table_jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """That of the shares."""
        return rows.row_curvatures(cast("CurveTable", accuracy), reports.contribution)


def tabled_offers(table: CurveTable, profiles: Array, part: Any, *, printed: bool = False) -> Offers:
    """The full model, and `part` of what is missing to the Shapley share, for the owners of many games.

    `part` is a number, or one per game, (games, 1).
    """
    places: Any = np.unravel_index(np.arange(profiles.size), profiles.shape)
    curves = table.curves(profiles).take(places)
    parts = np.broadcast_to(part, profiles.shape).ravel()
    base = np.zeros(profiles.size) if printed else table.at_zero(profiles.shape[1]).ravel()
    owed = rows.row_curves(table, profiles) - curves + Line(base, np.zeros(profiles.size))
    whole = np.ndim(part) == 0 and part == 1.0
    payment = owed if whole else ScaledEach(parts, owed)
    return Offers(curves, curves, payment, np.empty((profiles.size, 0)), "concave")


def _is_long(profile: Array) -> bool:
    """Whether differences of slopes would take longer than one look at all subset sums."""
    return 2**_LONG < 2.0 ** len(profile) <= counting.MOST_TERMS


def _without_data(accuracy: Accuracy, owners: int) -> Array:
    """a_i(0); one number for all who learn from the same total."""
    return np.broadcast_to(accuracy.at_zero(1), owners) if accuracy.traits.of_total else accuracy.at_zero(owners)


def shape_of_shares(accuracy: Accuracy, owners: int) -> Shape:
    """What is known of phi_i along the own contribution.

    It is concave if *every* owner's accuracy is concave in owner i's contribution at any contribution of the others:
    then a curve of exposures must not have a kink anywhere.
    """
    known = accuracy.as_common(owners)
    accuracy = accuracy if known is None else known[0]
    traits, exposure = accuracy.traits, accuracy.as_exposure()
    if traits.of_exponentials:
        return "concave"
    if exposure is not None and traits.concave and exposure.viable <= 0:
        kinks = accuracy.kinks(np.zeros(owners))
        if not np.any(np.isfinite(kinks)):
            return "concave"
    return "monotone" if traits.monotone else "unknown"
