"""Why owners come to the market: traders, buyers, sellers and attackers, by their profiles.  iPFL 2025, Section 2.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from fedabm.common.errors import InputError, nearest
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.mechanisms.market.reports import PROHIBITIVE, eagerness_of, market_reports, unit_costs_of
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Honest, Strategy
from fedabm.views import Reports

__all__ = ["INCLUSIVE_MARKET", "ROLES", "Role", "market_owners", "role_reports"]

Role = Literal["trader", "buyer", "seller", "attacker"]
ROLES: tuple[Role, ...] = ("trader", "buyer", "seller", "attacker")

#: the roles of the twelve owners of iPFL 2025, Figure 5
INCLUSIVE_MARKET: tuple[Role, ...] = (
    *("seller", "buyer", "buyer", "trader", "trader", "seller"),
    *("trader", "seller", "buyer", "buyer", "seller", "attacker"),
)


def role_reports(
    roles: Sequence[str], size: Array, eagerness: float, unit_cost: float, rng: np.random.Generator
) -> Reports:
    """What owners report by their roles if they are honest.

    Traders and buyers are eager, U(1/2, 1) of `eagerness`; sellers and attackers are not at all.  Sharing costs traders
    U(1/2, 1) of `unit_cost`, buyers infinitely much, sellers and attackers nothing.

    Parameters
    ----------
    roles : Sequence[str]
        The role of each owner, such as "trader", "buyer", "seller" or "attacker".
    size : Array
        Data of each owner.
    eagerness : float
        The largest eagerness.
    unit_cost : float
        The largest cost of sharing.
    rng : np.random.Generator
        The generator that draws both.

    Returns
    -------
    Reports
        Honest reports.
    """
    for role in roles:
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}; {nearest(role, ROLES)}")
    named = np.asarray(roles)
    # Both are drawn for everybody, so that changing one owner's role leaves the others as they are.
    eager, costly = eagerness * rng.uniform(0.5, 1.0, len(named)), unit_cost * rng.uniform(0.5, 1.0, len(named))
    eager = np.where(np.isin(named, ("trader", "buyer")), eager, 0.0)
    costly = np.where(named == "buyer", np.inf, np.where(named == "trader", costly, 0.0))
    return market_reports(size, costly, eager)


def market_owners(
    roles: Sequence[str], truth: Reports, strategies: Mapping[int, Strategy] | None = None
) -> list[OwnerProfile]:
    """Owners of a federation in these roles, honest unless a strategy is given for their number.

    Parameters
    ----------
    roles : Sequence[str]
        The role of each owner, such as "trader", "buyer", "seller" or "attacker".
    truth : Reports
        What owners have.
    strategies : Mapping[int, Strategy] | None, optional
        What owners do, by number, if they are not honest.

    Returns
    -------
    list[OwnerProfile]
        The owners.
    """
    chosen = strategies or {}
    costs = np.minimum(unit_costs_of(truth), PROHIBITIVE)
    return [
        OwnerProfile(Linear(cost), size, chosen.get(i, Honest()), eagerness=eager, role=role)
        for i, (role, size, cost, eager) in enumerate(
            zip(roles, truth.size.tolist(), costs.tolist(), eagerness_of(truth).tolist(), strict=True)
        )
    ]
