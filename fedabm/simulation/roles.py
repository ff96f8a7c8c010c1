"""Why owners come to the market: traders, buyers, sellers and attackers, by their profiles.  iPFL 2025, Section 2.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from fedabm.common.errors import InputError, nearest
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.mechanisms.market.views import Profiles
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Honest, Strategy

__all__ = ["INCLUSIVE_MARKET", "PROHIBITIVE", "ROLES", "Role", "market_owners", "role_profiles"]

#: what it costs an owner of a federation to share its model if it never would
PROHIBITIVE = 1e9

Role = Literal["trader", "buyer", "seller", "attacker"]
ROLES: tuple[Role, ...] = ("trader", "buyer", "seller", "attacker")

#: the roles of the twelve owners of iPFL 2025, Figure 5
INCLUSIVE_MARKET: tuple[Role, ...] = (
    *("seller", "buyer", "buyer", "trader", "trader", "seller"),
    *("trader", "seller", "buyer", "buyer", "seller", "attacker"),
)


def role_profiles(
    roles: Sequence[str], size: Array, eagerness: float, unit_cost: float, rng: np.random.Generator
) -> Profiles:
    """Profiles by role: traders and buyers are eager, U(1/2, 1) of `eagerness`; sellers and attackers are not at all.

    Sharing costs traders U(1/2, 1) of `unit_cost`, buyers infinitely much, sellers and attackers nothing.
    """
    for role in roles:
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}; {nearest(role, ROLES)}")
    named = np.asarray(roles)
    # Both are drawn for everybody, so that changing one owner's role leaves the others as they are.
    eager, costly = eagerness * rng.uniform(0.5, 1.0, len(named)), unit_cost * rng.uniform(0.5, 1.0, len(named))
    eager = np.where(np.isin(named, ("trader", "buyer")), eager, 0.0)
    costly = np.where(named == "buyer", np.inf, np.where(named == "trader", costly, 0.0))
    return Profiles(size, costly, eager)


def market_owners(
    roles: Sequence[str], truth: Profiles, strategies: Mapping[int, Strategy] | None = None
) -> list[OwnerProfile]:
    """Owners of a federation in these roles, honest unless a strategy is given for their number.

    An infinite cost becomes `PROHIBITIVE`, a price at which nobody buys.
    """
    chosen = strategies or {}
    return [
        OwnerProfile(Linear(min(cost, PROHIBITIVE)), size, chosen.get(i, Honest()), eagerness=eager, role=role)
        for i, (role, size, cost, eager) in enumerate(
            zip(roles, truth.size.tolist(), truth.unit_cost.tolist(), truth.eagerness.tolist(), strict=True)
        )
    ]
