"""Karimireddy et al. 2022: what the text says besides its theorems and figures, rows K23 to K27."""

from __future__ import annotations

import numpy as np

from fedabm.games.accuracy import PacBound, PowerLaw
from fedabm.games.costs import Linear, PowerCost
from fedabm.games.curves import Array
from fedabm.games.individual import individual_optimum, viability_cost
from fedabm.mechanisms import Screening, ValueShaping
from fedabm.mechanisms.value_shaping import shaped_equilibrium
from fedabm.papers.ledger.rows import Budget, Finding, corrected, holds, row
from fedabm.papers.ledger.standard import ClaimPart, joined
from fedabm.papers.ledger.trials import close, numbers, trials
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game

Value = PacBound | PowerLaw

#: 100 equal owners with the cost of Figure 4, of whom nobody would begin alone
_MANY, _COST = 100, 0.1
#: what a platform that takes part commits to
_PLATFORM, _LITTLE = 5000.0, 30.0
#: by how much the line of value shaping is steeper than the cost
_SLACK = 0.001


def _shaped(rng: np.random.Generator) -> tuple[Value, PowerCost, Array]:
    """A value function, costs of two to five owners, and what they give under value shaping."""
    accuracy: Value = PowerLaw(rng.uniform(0.3, 3.0), rng.uniform(0.2, 2.0), rng.uniform(0.5, 2.0))
    if rng.random() < 0.5:
        accuracy = PacBound(rng.uniform(0.5, 1.0), rng.uniform(0.5, 20.0))
    rates = rng.uniform(0.02, 1.5, int(rng.integers(2, 6))) * viability_cost(accuracy)
    costs = Linear(rates).each(len(rates))
    return accuracy, costs, shaped_equilibrium(accuracy, costs)


def _alone(accuracy: Value, costs: PowerCost) -> tuple[Array, Array]:
    """What every owner would give alone, and its utility then."""
    return individual_optimum(accuracy, costs, 3 * accuracy.ceiling / costs.rate)


@row(
    "K23",
    "Remark 2: at equilibrium everybody gives at least what it would alone and receives the full model",
    published="m_max >= m*; the deterrent is never invoked",
    preset="fedabm run value_shaping",
)
def remark_2(budget: Budget) -> Finding:
    """Random games: contributions against optima alone, and what is received against the value of all data."""

    def violation(rng: np.random.Generator) -> float:
        accuracy, costs, profile = _shaped(rng)
        game = Game(accuracy, costs, 3 * accuracy.ceiling / costs.rate, ValueShaping())
        received = game.utilities(profile) + costs.rate * profile
        less = np.max((_alone(accuracy, costs)[0] - profile) / max(profile.sum(), 1.0))
        return max(float(less), float(np.max(np.abs(received - accuracy.curve(profile.sum())))), game.gap(profile))

    found = trials(budget, violation, 1e-7)
    return holds(f"no less than alone, full value, gap: {found}", found.holds)


@row(
    "K24",
    "Remark 3: no data at all remains an equilibrium of value shaping, with lower utility",
    published="0 is an equilibrium; unlikely, since it has lower utility",
)
def zero_equilibrium(budget: Budget) -> Finding:
    """100 owners, none of whom begins alone: both equilibria certified, and what they are worth to an owner."""
    game = Game(PacBound(), Linear(np.full(_MANY, _COST)), PacBound().ceiling / _COST, ValueShaping())
    most, none = shaped_equilibrium(PacBound(), Linear(np.full(_MANY, _COST))), np.zeros(_MANY)
    gaps = [game.gap(profile) for profile in (none, most)]
    worth = [float(game.utilities(profile).max()) for profile in (none, most)]
    ours = (
        f"{_MANY} owners with c = {_COST}: totals 0 (gap {gaps[0]:.1g}) and {most.sum():.2f} (gap {gaps[1]:.1g}); "
        f"an owner's utility {worth[0]:.3g} and {worth[1]:.3g}"
    )
    parts = (
        ClaimPart(
            "0 is an equilibrium",
            "reproduced" if max(gaps) < 1e-9 and most.sum() > 0 else "not reproducible",
            "certified",
        ),
        ClaimPart(
            "its utility is lower",
            "reproduced" if worth[1] > worth[0] + 1e-9 else "not reproducible",
            "by Theorem V (row K12) value shaping leaves every owner what it has alone, which is 0 here, too",
        ),
    )
    return joined(ours, parts)


@row(
    "K25",
    "Remark 3: a platform that takes part and commits to some data prevents the equilibrium without data",
    published="prevented",
)
def platform(budget: Budget) -> Finding:
    """The same owners and one that gives 5,000 whatever happens: best responses from nothing, and a certificate."""
    total, gap, start = _with_platform(_PLATFORM, 0.0)
    strict, strict_gap, strict_start = _with_platform(_PLATFORM, _SLACK)
    _, _, stuck = _with_platform(_LITTLE, _SLACK)
    ours = (
        f"{_MANY} owners with c = {_COST} and a platform that gives {_PLATFORM:,.0f}: from nothing to a total of "
        f"{total:,.0f} (gap {gap:.1g}); with a slack of {_SLACK:g} to {strict:,.0f} (gap {strict_gap:.1g}), and "
        f"nothing is no equilibrium (gap {strict_start:.2g})"
    )
    reason = (
        f"needs a slack above 0, in whose limit owners do not care (gap {start:.1g}), and enough data: where the "
        f"platform gives {_LITTLE:g}, below the viability of 62.4, nothing remains an equilibrium (gap {stuck:.1g})"
    )
    right = max(gap, strict_gap) < 1e-9 and strict > _PLATFORM and strict_start > 1e-3 > 1e-12 > stuck
    return corrected(ours, right, reason)


def _with_platform(given: float, slack: float) -> tuple[float, float, float]:
    """The total that best responses from nothing reach, what an owner could gain there, and what at first."""
    rates, most = np.r_[np.full(_MANY, _COST), 1e-9], np.r_[np.full(_MANY, PacBound().ceiling / _COST), given]
    game, profile = Game(PacBound(), Linear(rates), most, ValueShaping(slack)), np.r_[np.zeros(_MANY), given]
    start = float(game.gains(profile)[:-1].max())
    for _ in range(100):
        best = np.r_[game.best_responses(profile)[:-1], given]
        if close(best, profile, 1e-9):
            break
        profile = best
    return float(profile.sum()), float(game.gains(profile)[:-1].max()), start


@row(
    "K26",
    "Remark 4: all surplus of collaboration goes into additional data",
    published="sum of v(total) - v(m*) = sum of c (m_max - m*)",
)
def remark_4(budget: Budget) -> Finding:
    """Random games, owner by owner: what the better model is worth, and what the additional data cost."""

    def violation(rng: np.random.Generator) -> float:
        accuracy, costs, profile = _shaped(rng)
        alone, utility = _alone(accuracy, costs)
        surplus = accuracy.curve(profile.sum()) - (utility + costs.rate * alone)
        return float(np.max(np.abs(surplus - costs.rate * (profile - alone))))

    found = trials(budget, violation, 1e-9)
    return holds(f"equal for every owner: {found}", found.holds)


@row(
    "K27",
    "Theorem VII: the equilibrium of the screening mechanism is unique",
    published="a unique Nash equilibrium",
    preset="fedabm run screening",
)
def unique(budget: Budget) -> Finding:
    """100 owners, half of them with low cost: both costs above what an owner alone can bear, or one below."""
    limit = viability_cost(PacBound())

    def equilibria(low: float, high: float) -> tuple[float, float, float]:
        """The total that is found, the larger gap of that, and the gap of giving nothing."""
        costs = np.where(np.arange(_MANY) % 2, high, low)
        game = Game(PacBound(), Linear(costs), 3 * PacBound().ceiling / costs, Screening(low, high, 0.4))
        found = solve(game, tolerance=1e-8)
        return float(found.profile.sum()), found.gap, game.gap(np.zeros(_MANY))

    dear, fair = equilibria(2 * limit, 4 * limit), equilibria(0.2 * limit, 0.4 * limit)
    ours = (
        f"costs of 2 and 4 times what an owner alone can bear: totals {numbers(dear[0], 0)} (gap {dear[1]:.1g}) and 0 "
        f"(gap {dear[2]:.1g}); of 0.2 and 0.4 times: {numbers(fair[0], 0)}, and 0 is none (gap {fair[2]:.2g})"
    )
    reason = (
        "needs a low cost at which an owner begins alone: otherwise nothing is an equilibrium as well, as in Remark 3"
    )
    right = dear[0] > 0 and max(dear[1], dear[2], fair[1]) < 1e-8 < fair[2]
    return corrected(ours, right, reason, as_printed=dear[2] > 1e-8)
