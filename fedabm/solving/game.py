"""A game of contributions: accuracies, private costs, capacities and a mechanism.

Owner i chooses s_i in [0, capacity_i] and reports truthfully; its utility is

    u_i(s) = received_i(s) + p_i(s) - c_i(s_i).

Murhekar et al. 2023, Section 2; Murhekar et al. 2025, Section 2.  A profile is a Nash equilibrium if no owner gains by
changing its own contribution; `gap` is a proven upper bound on the largest such gain.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedabm.common.errors import MOST, InputError, check_kind, check_number, check_positive, check_range, finite_vector
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.best import best_response
from fedabm.games.certificate import certified_gains
from fedabm.games.costs import Cost, check_costs, costs_of
from fedabm.games.curves import Array
from fedabm.games.intervals import ProofLimits
from fedabm.games.offers import Offers
from fedabm.games.slopes import check_accuracy_slopes
from fedabm.mechanisms.base import Mechanism
from fedabm.solving import jacobian
from fedabm.views import Reports, TermsCache

__all__ = ["Game"]


@dataclass(frozen=True, eq=False)
class Game:
    """Owners with costs and capacities under one mechanism; all methods take a profile, one contribution per owner.

    `costs` is one `Cost` per owner, one stacked `Cost`, or numbers: the rates of linear costs.  `capacities` is one
    number per owner, or one for all.  `reported` is what owners say their data cost, where that is not the truth: they
    gain by their true costs and are offered what the reported ones bring (`fedabm.solving.truth`).

    >>> from fedabm.games.accuracy import PowerLaw
    >>> from fedabm.mechanisms import NoPayments
    >>> game = Game(PowerLaw(), [0.1, 0.25], 100, NoPayments())
    >>> game.utilities([1.0, 1.0]).round(4)
    array([0.5667, 0.4167])
    >>> bool(game.gap([10**0.5 - 1, 0.0]) < 1e-12)
    True

    Parameters
    ----------
    accuracy : Accuracy
        What models are worth to owners at a profile of contributions.
    costs : Any
        What contributions cost: one `Cost` per owner, one stacked `Cost`, or numbers (rates of linear costs).
    capacities : Any
        How much data each owner has: one number per owner, or one for all.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    reported : Any, optional
        What owners say their data cost, where that is not the truth.
    """

    accuracy: Accuracy
    costs: Any
    capacities: Any
    mechanism: Mechanism
    reported: Any = None
    cache: TermsCache = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_kind("accuracy", self.accuracy, Accuracy)
        self._check_rule()
        given = finite_vector("capacities", self.capacities)
        check_positive("capacity", given)
        costs = costs_of(self.costs, len(given))
        check_range("smallest capacity", np.min(given, initial=1.0), 1.0 / MOST, 1.0)
        check_number("largest capacity", np.max(given, initial=0.0), zero=True)
        check_number("largest number in a cost", np.max(costs.figures(), initial=0.0), zero=True)
        owners = costs.owners or 0
        if np.ndim(self.capacities) and len(given) != owners:
            raise InputError(f"{len(given)} capacities but {owners} costs; give one of each per owner")
        capacities = np.broadcast_to(given, owners).copy()
        check_costs(costs, capacities)
        known = self.accuracy.owners
        if known is not None and known != owners:
            raise InputError(f"{owners} owners with costs but an accuracy of {known} owners; give one cost per owner")
        check_accuracy_slopes(self.accuracy, capacities)
        if self.reported is not None:
            stated_costs = costs_of(self.reported, owners)
            if stated_costs.owners != owners:
                raise InputError(f"{stated_costs.owners} reported costs but {owners} owners; give one per owner")
            object.__setattr__(self, "reported", stated_costs)
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "capacities", capacities)
        object.__setattr__(self, "cache", TermsCache())

    @property
    def owners(self) -> int:
        """How many owners play."""
        return len(self.capacities)

    def under(self, rule: Mechanism) -> Game:
        """The same owners under another rule; what has been checked of them is not checked again."""
        made = copy(self)
        object.__setattr__(made, "mechanism", rule)
        object.__setattr__(made, "cache", TermsCache())
        made._check_rule()
        return made

    def _check_rule(self) -> None:
        check_kind("mechanism", self.mechanism, Mechanism)
        if not self.mechanism.promises:
            raise InputError(
                f"no game to solve under {type(self.mechanism).__name__}: it exchanges models and promises nothing for "
                "a contribution; run it as a scenario (fedabm run inclusive_market, or Federation(Scenario(...)))"
            )

    def profile(self, contributions: Any) -> Array:
        """Check a profile: one finite contribution per owner, each within [0, capacity]."""
        vector = finite_vector("contributions", contributions)
        if len(vector) != self.owners:
            raise InputError(f"{len(vector)} contributions but {self.owners} owners; give one per owner")
        outside = (vector < 0) | (vector > self.capacities * (1 + 1e-12))
        if np.any(outside):
            owner = int(np.argmax(outside))
            room = f"between 0 and {self.capacities[owner]:g}"
            raise InputError(f"contribution of owner {owner} must lie {room}, got {vector[owner]:g}; move it there")
        return np.minimum(vector, self.capacities)

    @property
    def stated_costs(self) -> Cost:
        """What owners say their data cost: the truth, but for `reported` costs."""
        return self.costs if self.reported is None else self.reported

    def reports(self, contributions: Array) -> Reports:
        """What owners report: the truth, but for `reported` costs."""
        return Reports(
            contributions, self.capacities, self.stated_costs if self.mechanism.asks_cost else None, cache=self.cache
        )

    def offers(self, contributions: Any) -> Offers:
        """The curves that owners face."""
        return self.mechanism.offers(self.accuracy, self.reports(np.asarray(contributions, dtype=float)))

    def utilities(self, contributions: Any) -> Array:
        """u_i at the profile."""
        profile = self.profile(contributions)
        return self.offers(profile).benefit.value(profile) - self.costs.value(profile)

    def payments(self, contributions: Any) -> Array:
        """Money to each owner at the profile."""
        profile = self.profile(contributions)
        return self.offers(profile).payment.value(profile)

    def accuracies(self, contributions: Any) -> Array:
        """The accuracy that each owner receives at the profile."""
        profile = self.profile(contributions)
        return self.offers(profile).received.value(profile)

    def welfare(self, contributions: Any) -> float:
        """The sum of utilities."""
        return float(self.utilities(contributions).sum())

    def slopes(self, contributions: Any) -> Array:
        """d u_i / d s_i at the profile."""
        profile = np.asarray(contributions, dtype=float)
        return self.offers(profile).benefit.slope(profile) - self.costs.slope(profile)

    def typical(self, profile: Array) -> float:
        """How large contributions are, for what is small beside them: the largest, else 1 or the least capacity."""
        return float(np.max(profile, initial=0.0)) or min(1.0, float(np.min(self.capacities, initial=1.0)))

    def jacobian(self, contributions: Any) -> Array:
        """d^2 u_i / d s_i d s_j, exact where the mechanism knows it, else by differences of the slopes."""
        profile = np.asarray(contributions, dtype=float)
        exact = self.known_jacobian(profile)
        return jacobian.by_differences(self.slopes, profile, self.typical(profile)) if exact is None else exact

    def known_jacobian(self, profile: Array) -> Array | None:
        """The Jacobian if the mechanism knows it."""
        facts = self.mechanism, self.accuracy, self.reports(profile)
        return jacobian.known(*facts, self.costs, self.capacities)

    def best_responses(self, contributions: Any) -> Array:
        """Each owner's best contribution against the others' in the profile."""
        return best_response(self.offers(self.profile(contributions)), self.costs, self.capacities).contribution

    def gains(self, contributions: Any, tolerance: float = 1e-10) -> Array:
        """A proven upper bound on what each owner could gain by any unilateral change over its whole range.

        Infinite where the mechanism promises nothing about the shape of its offers.
        """
        profile = self.profile(contributions)
        limits = ProofLimits(tolerance)
        return certified_gains(self.offers(profile), self.costs, self.capacities, profile, limits)

    def gap(self, contributions: Any, tolerance: float = 1e-10) -> float:
        """The certified Nash gap: the largest of the owners' `gains`."""
        return float(np.max(self.gains(contributions, tolerance)))
