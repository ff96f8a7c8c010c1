"""What every mechanism shares: from offers to a settled outcome."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array
from fedabm.games.offers import Offers
from fedabm.games.traits import Declaring, record
from fedabm.games.varied import Joinable
from fedabm.mechanisms.traits import RuleTraits
from fedabm.views import Outcome, Reports, ServerView, Transfers
from fedabm.views.known import Need

__all__ = ["Mechanism", "balanced", "full_access_jacobian", "mean_of_others", "on_diagonal"]


#: what is lost to rounding, as a share of the amounts that are added
_ROUNDING = 1e-12


class Mechanism(Joinable, Declaring, ABC):
    """A rule from reports to models and money; pure: the same view gives the same outcome.

    A subclass states the rule once, as `offers`; settling, best responses, equilibria and the certified gap follow.
    Rules that hand every owner a model of its own state `exchange` instead (`Personalised`).

    It may remember: whatever `settle` returns as the outcome's `memory` is in the reports of the next round, those it
    makes offers on and those it settles.  There `owners` tells who is who, when some have come or gone.
    """

    _kind_of_traits: ClassVar[type[RuleTraits]] = RuleTraits
    # Flags: `RuleTraits` says what they mean.
    budget_balanced: ClassVar[bool] = True
    equal_treatment: ClassVar[bool] = True
    asks_cost: ClassVar[bool] = False
    asks_eagerness: ClassVar[bool] = False
    asks_losses: ClassVar[bool] = False
    ignores_size: ClassVar[bool] = False
    reveals_bids: ClassVar[bool] = False
    promises: ClassVar[bool] = True
    stacks: ClassVar[bool] = False
    separable: ClassVar[bool] = False
    affine_in_cost: ClassVar[bool] = False
    potential: ClassVar[bool] = False
    #: what the server must know of the worth of data; with less the rule pays nothing and rations nobody
    needs: ClassVar[Need] = "curve"
    #: decides by single owners' updates, models or rejections, which secure aggregation hides
    reads_updates: ClassVar[bool] = False
    #: compares what claims promise with what the model is worth
    checks_claims: ClassVar[bool] = False
    #: is told to estimate from samples, whether or not there is an exact way
    samples: ClassVar[bool] = False

    @property
    def traits(self) -> RuleTraits:
        """All that is known of it beyond its offers."""
        return record(RuleTraits, self)

    @abstractmethod
    def offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The curves that each owner faces while the others' reports stay as they are."""

    def terms(self, accuracy: Accuracy, types: Reports) -> Any:
        """What the offers need that depends on reported sizes, costs and eagerness only, never on contributions.

        `offers` gets it by `standing_terms`, which computes it again only when types have changed.  The
        contributions in `types` are not a number.
        """
        raise NotImplementedError(f"{type(self).__name__} has no terms; state them, or do without standing_terms")

    def standing_terms(self, accuracy: Accuracy, reports: Reports) -> Any:
        """The `terms` for the types in these reports."""
        if reports.cache is None:
            return self.terms(accuracy, reports.types)
        return reports.cache.terms(self.terms, accuracy, reports)

    def jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """d(benefit slope of i) / d(contribution of j), (n, n), where the mechanism knows it; speeds up the solver."""
        return None

    def tabled(self, accuracy: Accuracy, owners: int) -> bool:
        """Whether it can state its offers for many games at once, (games, owners), with accuracies of this kind."""
        return self.traits.stacks

    def table_offers(self, accuracy: Accuracy, reports: Reports) -> Offers:
        """The curves of the owners of many games, one game after the other; reports are tables (games, owners)."""
        shape = reports.contribution.shape
        places: Any = np.unravel_index(np.arange(reports.contribution.size), shape)
        return self.offers(accuracy, reports).take(places)

    def table_jacobian(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """`jacobian` of many games, (games, owners, owners)."""
        return self.jacobian(accuracy, reports)

    def table_guess(self, accuracy: Accuracy, reports: Reports) -> Array | None:
        """Where equilibria of many games are to be looked for, (games, owners); None: the rule knows no better."""
        return None

    def quotas(self, reports: Reports) -> Array | None:
        """How much the rule asks each owner to contribute next; None: that is up to them."""
        return None

    def forfeits(self, view: ServerView) -> Array:
        """What owners lose of their payments by the evidence that the server has seen: here nothing."""
        return np.zeros(view.reports.contribution.shape)

    def settle(self, view: ServerView) -> Outcome:
        """Evaluate the offers at the reports, and take what is forfeited."""
        offers = self.offers(view.oracle, view.reports)
        claimed = view.reports.contribution
        full = offers.accuracy.value(claimed)
        payments = balanced(self, offers.payment.value(claimed), full, view.oracle) - self.forfeits(view)
        transfers = Transfers.central(payments, reason=type(self).__name__)
        return Outcome(offers.access(claimed, full), payments, transfers, offers, memory=self.remembered(view))

    def remembered(self, view: ServerView) -> Any:
        """What to have in mind in the next round; by default nothing."""
        return None


def balanced(mechanism: Mechanism, payments: Array, accuracies: Array, oracle: Accuracy) -> Array:
    """Payments that sum to zero where the mechanism promises it: what rounding left over is shared by all.

    Payments are differences of accuracies, so that a trillionth of those, also of those without any data, may be
    rounding.  More is left as it is: then the promise is broken, and a run says so.
    """
    left, owners = payments.sum(axis=-1, keepdims=True), payments.shape[-1]
    if not mechanism.budget_balanced or not np.any(left):
        return payments
    amounts = np.abs(payments).sum(axis=-1, keepdims=True) + np.abs(accuracies).sum(axis=-1, keepdims=True)
    much = np.abs(left) > _ROUNDING * amounts
    if np.any(much):
        amounts = np.where(much, amounts + np.abs(oracle.at_zero(owners)).sum(axis=-1, keepdims=True), amounts)
    rounding = (left != 0) & (np.abs(left) <= _ROUNDING * amounts)
    return payments - np.where(rounding, left / owners, 0.0)


def mean_of_others(x: Array) -> Array:
    """The mean of everybody else's value, 0 for an owner that is alone.

    >>> mean_of_others(np.array([1.0, 2.0, 6.0]))
    array([4. , 3.5, 1.5])
    """
    return sum_of_others(x) / max(x.shape[-1] - 1, 1)


def full_access_jacobian(accuracy: Accuracy, profile: Array) -> Array | None:
    """d^2 a_i / d s_i d s_j = W_ii v''(exposure_i) W_ij: the Jacobian where payments are affine in contributions."""
    exposure, owners = accuracy.as_exposure(), profile.shape[-1]
    if exposure is None:
        return _valued_jacobian(accuracy, profile)
    exposures = exposure.exposures(np.atleast_2d(profile)).reshape(profile.shape)
    bend = exposure.own_weights(owners) * exposure.curve_curvature(exposures)
    return bend[..., None] * exposure.weight_matrix(owners)


def _valued_jacobian(accuracy: Accuracy, profile: Array) -> Array | None:
    """The same where owners value a common curve of the total differently."""
    known = accuracy.as_common(profile.shape[-1])
    if known is None:
        return None
    curve, factors = known
    total = profile.sum(axis=-1, keepdims=True)
    return (factors * curve.curve_curvature(total))[..., None] * np.ones(profile.shape[-1])


def on_diagonal(entries: Array) -> Array:
    """Matrices (..., n, n) with these entries (..., n) on their diagonals."""
    matrices = np.zeros((*entries.shape, entries.shape[-1]))
    np.einsum("...ii->...i", matrices)[...] = entries
    return matrices
