"""What is known of a profile: who could still gain how much, and whether that is proven."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fedabm.common.notebooks import as_html, number
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.certificate import weigh
from fedabm.games.costs import Cost
from fedabm.games.curves import Array
from fedabm.games.intervals import ProofLimits
from fedabm.games.money import net_welfare, outside_money
from fedabm.games.offers import Offers
from fedabm.mechanisms.base import Mechanism, balanced
from fedabm.solving.game import Game
from fedabm.solving.search import Path

__all__ = ["Equilibrium", "Verdict", "certify", "gain_found", "outcome", "unseen"]

Verdict = Literal["certified", "found", "cycle", "open"]


@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium:
    """A profile, what it brings the owners, and what any of them could still gain.

    `gap` is the proven bound on that; it is infinite where a mechanism promises nothing about the shape of its offers.
    `gain` is the largest gain that a search has found, infinite if there was no time for one.  The `verdict` is

        certified  gap <= tolerance: an equilibrium, proven; then and only then `converged`
        found      gain <= tolerance: nobody was found to gain, but that is not proven
        cycle      best responses repeat the profiles (rows) of `cycle` for ever, and nothing better was found
        open       somebody gains

    `time_up` says whether a time limit ended the search or the proof.  Where shares are means over orders that were
    drawn, `standard_errors` are those of the payments (n,), and nothing about the rule itself is certified.

    Parameters
    ----------
    profile : Array
        Contribution of each owner, shape (owners,).
    utilities : Array
        Utility of each owner.
    payments : Array
        Money to each owner; negative: it pays.
    accuracies : Array
        Accuracy of the model that each owner receives.
    gap : float
        The proven bound on what any owner could gain by another contribution.
    gain : float
        The most that a search found anybody could gain.
    verdict : Verdict
        "certified", "found", "cycle" or "open".
    iterations : int
        Steps that were taken.
    method : str
        How it was found.
    cycle : Array | None, optional
        The profiles (rows) that best responses repeat for ever.
    time_up : bool, optional
        Whether a time limit ended the search.
    standard_errors : Array | None, optional
        Of sampled shares, per owner.
    """

    profile: Array
    utilities: Array
    payments: Array
    accuracies: Array
    gap: float
    gain: float
    verdict: Verdict
    iterations: int
    method: str
    cycle: Array | None = None
    time_up: bool = False
    standard_errors: Array | None = None

    @property
    def converged(self) -> bool:
        """Whether it is a certified equilibrium."""
        return self.verdict == "certified"

    @property
    def outside_money(self) -> float:
        """Money that owners are paid from outside, less what they leave there."""
        return float(outside_money(self.payments))

    @property
    def net_welfare(self) -> float:
        """The sum of utilities without money from outside."""
        return float(net_welfare(self.utilities, self.payments))

    def __repr__(self) -> str:
        left = f"nobody gains more than {self.gap:.2g}" if np.isfinite(self.gap) else f"gain found {self.gain:.2g}"
        data = f"{len(self.profile):,} owners give {number(float(np.sum(self.profile)))}"
        return f"Equilibrium({self.verdict}: {data}, {left}; {self.method})"

    def _repr_html_(self) -> str:
        return as_html(repr(self), self.rows())

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, ready for JSON; an infinite gap becomes None."""
        plain = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}
        plain["converged"] = self.converged
        absent = [name for name in ("cycle", "standard_errors") if getattr(self, name) is None]
        return {name: value for name, value in plain.items() if name not in absent}

    def rows(self) -> list[dict[str, float]]:
        """One row per owner, for tables."""
        columns = {
            "contribution": self.profile,
            "accuracy": self.accuracies,
            "payment": self.payments,
            "utility": self.utilities,
        }
        if self.standard_errors is not None:
            columns["standard error of payment"] = self.standard_errors
        return [
            {"owner": owner, **dict(zip(columns, map(float, row), strict=True))}
            for owner, row in enumerate(zip(*columns.values(), strict=True))
        ]


def certify(
    game: Game,
    found: Path | Equilibrium,
    tolerance: float,
    budget: int = 2**20,
    aim: float | None = None,
) -> Equilibrium:
    """Evaluate a candidate and prove its gap, tight to the share `aim` of the tolerance if budget and time allow.

    By default that is a tenth where offers are concave, and half where a proof takes so much longer the tighter it is.
    """
    # A look at the candidate is always granted, the proof only while there is time.
    until = getattr(game, "until", math.inf)
    profile, offers = found.profile, Game.offers(game, found.profile)
    if aim is None:
        aim = 0.1 if offers.shape == "concave" else 0.5
    gains = weigh(offers, game.costs, game.capacities, profile, ProofLimits(aim * tolerance, budget, until))
    gap, gain = (float(np.max(part, initial=0.0)) for part in (gains.bound, gains.found))
    verdict: Verdict = "certified" if gap <= tolerance else "found" if gain <= tolerance else "open"
    cycle = found.cycle if verdict == "open" else None
    return Equilibrium(
        profile,
        *outcome(game.mechanism, game.accuracy, offers, game.costs, profile),
        gap,
        gain,
        verdict if cycle is None else "cycle",
        found.iterations,
        found.method if cycle is None else "best response cycle",
        cycle,
        time_up=verdict != "certified" and time.perf_counter() > until,
        standard_errors=offers.payment.errors(profile) if offers.payment.sampled else None,
    )


def unseen(game: Game, found: Path) -> Equilibrium:
    """What a profile brings, if there is no time to look who gains: that may be anything."""
    profile, offers = found.profile, Game.offers(game, found.profile)
    brought = outcome(game.mechanism, game.accuracy, offers, game.costs, profile)
    errors = offers.payment.errors(profile) if offers.payment.sampled else None
    facts = found.iterations, found.method
    return Equilibrium(
        profile, *brought, math.inf, math.inf, "open", *facts, cycle=None, time_up=True, standard_errors=errors
    )


def outcome(
    rule: Mechanism, oracle: Accuracy, offers: Offers, costs: Cost, profiles: Array
) -> tuple[Array, Array, Array]:
    """Utilities, payments and accuracies at a profile, or at those of a table; curves have one row per owner."""
    x = profiles.ravel()
    full, accuracies, payments, spent = (
        curve.value(x).reshape(profiles.shape) for curve in (offers.accuracy, offers.received, offers.payment, costs)
    )
    return accuracies + payments - spent, balanced(rule, payments, full, oracle), accuracies


def gain_found(game: Game, profile: Array) -> float:
    """The largest gain that best responses find, without a proof that there is no larger one."""
    return float(np.max(weigh(game.offers(profile), game.costs, game.capacities, profile, None).found, initial=0.0))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if isinstance(value, float) and not math.isfinite(value) else value
