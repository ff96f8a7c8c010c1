"""Murhekar et al. 2023: utilities u_i(b_i, S) of Section 4, played by owners who know their own view only, row M14."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm import Federation, Scenario
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.games.curves import Array
from fedabm.mechanisms import CostSharing
from fedabm.mechanisms.cost_sharing import optimal_rate
from fedabm.papers.ledger.rows import Budget, Finding, holds, row
from fedabm.papers.ledger.trials import numbers, trials
from fedabm.papers.murhekar2023.theory import positive_equilibrium
from fedabm.simulation.scenario import OwnerProfile
from fedabm.simulation.stopping import Never
from fedabm.strategies import Strategy
from fedabm.views import Action, OwnerView

__all__ = ["SpendsBudget", "best_reply"]


@dataclass(frozen=True)
class SpendsBudget(Strategy):
    """Gives what maximises b^(1-w) S^w, or moves a part of the way there, where b is what is left of its budget:

        b_i = B_i - c_i s_i + p_i,     p_i = rate (c_i s_i - mean cost of the others)

    Murhekar et al. 2023, eq. (5).  What the others' data cost it knows from its own last payment, what they give from
    the published total.
    """

    budget: float
    weight: float
    rate: float
    part: float = 0.5

    def act(self, view: OwnerView) -> Action:
        """A part of the way to the best reply."""
        given = view.last.contribution
        unit = view.cost.unit(given)
        charged = self.rate * unit * given - view.last.payment
        best = best_reply(self.budget - charged, (1 - self.rate) * unit, self.weight, view.total - given)
        return view.truthful(given + self.part * (best - given))


def best_reply(left: Array, price: Array, weight: Any, others: Array) -> Array:
    """What maximises (left - price s)^(1-w) (s + others)^w: s = w left / price - (1 - w) others, as far as it can pay.

    >>> best_reply(np.array([8.0]), np.array([0.5]), 0.5, np.array([4.0]))
    array([6.])
    """
    most = np.maximum(left, 0.0) / price
    return np.clip(weight * most - (1 - weight) * others, 0.0, most)


def _played(costs: Array, budgets: Array, weights: Array, starts: Array, steps: int = 300) -> tuple[Array, float]:
    """What owners with these budgets give in the end, and by which share of that one of them would still move."""
    rate, n = optimal_rate(costs), len(costs)
    facts = zip(costs, budgets, weights, starts, strict=True)
    owners = [OwnerProfile(Linear(c), 1e6, SpendsBudget(b, w, rate, 1 / n), start=s) for c, b, w, s in facts]
    made = Federation(Scenario(tuple(owners), PowerLaw(), CostSharing(), steps=steps, stopping=Never()))
    made.run()
    given = made.population.contribution
    charged = rate * (np.sum(costs * given) - costs * given) / (n - 1)
    best = best_reply(budgets - charged, (1 - rate) * costs, weights, given.sum() - given)
    return given, float(np.max(np.abs(best - given)) / given.max())


@row(
    "M14",
    "Section 4: owners with utilities u_i(b_i, S) of what is left of their budgets reach the equilibrium of M_beta*",
    published="NE of M_beta with budgets",
)
def played(budget: Budget) -> Finding:
    """Random games of u = b^(1-w) S^w that have a positive equilibrium, played from elsewhere; and that of M05."""

    def game(rng: np.random.Generator, *, equal: bool) -> tuple[float, float]:
        """By how much an owner would still move, and how far the total is from that of the known equilibrium."""
        known, costs, budgets, weights = positive_equilibrium(rng, equal=equal)
        given, moves = _played(costs, budgets, weights, known * rng.uniform(0.5, 1.5, len(known)))
        return moves, float(abs(given.sum() / known.sum() - 1))

    found = trials(budget, lambda rng: game(rng, equal=bool(rng.random() < 0.5))[0], 1e-4, share=0.1)
    totals = trials(budget, lambda rng: game(rng, equal=True)[1], 1e-6, share=0.1)
    example, moves = _played(np.array([1.0, 2.0]), np.array([12.0, 20.0]), np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    ours = (
        f"nobody would move: {found}; the same total for equal costs: {totals}; c = (1, 2), B = (12, 20), "
        f"u = sqrt(b S): {numbers(example)}"
    )
    right = found.holds and totals.holds and moves < 1e-6 and bool(np.allclose(example, [4.0, 5.0], atol=1e-6))
    note = "each sees its own cost, contribution and payment and the published total; equal costs determine only that"
    return holds(ours, right, note)
