"""Doshi et al. 2025: rates that the text gives without strong convexity, row D21."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedabm.games.curves import Array
from fedabm.papers.ledger.rows import Budget, Finding, row
from fedabm.papers.ledger.standard import ClaimPart, joined
from fedabm.papers.ledger.trials import numbers

Slope = Callable[[float], float]

#: how small losses and gradients are to be
_LOSSES = np.array([1e-4, 1e-5, 1e-6])
_GRADIENTS = np.array([1e-2, 3e-3, 1e-3])


def _order(slope: Slope, measured: Slope, rate: float, errors: Array) -> float:
    """The exponent q of steps ~ (1 / error)^q: gradient steps from 1 on until what is measured is below each error."""
    w, steps, counts = 1.0, 0, []
    for error in errors:
        while measured(w) >= error:
            w -= rate * slope(w)
            steps += 1
        counts.append(steps)
    return float(-np.polyfit(np.log(errors), np.log(counts), 1)[0])


def _flat(power: float) -> tuple[Slope, Slope]:
    """Slope and loss of |w|^power / power, convex and smooth, but not strongly, near its least value 0."""
    return lambda w: float(np.sign(w) * abs(w) ** (power - 1)), lambda w: abs(w) ** power / power


def _wavy(w: float) -> float:
    """Slope of a smooth loss that falls for ever, to a finite value, with ripples, which make it not convex."""
    return -(w**-1.1) * (1 + 0.2 * np.sin(4 * np.sqrt(w)))


@row(
    "D21",
    "Remark on Theorem 2: without strong convexity O(1/eps) steps for convex, O(1/sqrt eps) for non-convex functions",
    published="O(1/eps) convex and smooth, O(1/sqrt(eps)) non-convex and smooth",
)
def rates(budget: Budget) -> Finding:
    """Gradient descent on the weights, as in phase 2: orders of the number of steps on functions of each class."""
    powers = (4.0, 8.0, 16.0)
    convex = [_order(*_flat(power), 0.1, _LOSSES) for power in powers]
    other = _order(_wavy, lambda w: abs(_wavy(w)), 1.0, _GRADIENTS)
    ours = (
        f"steps grow as (1/eps)^q: |w|^p with p = 4, 8, 16: q = {numbers(convex, 2)} for a loss of eps (1 - 2/p in "
        f"theory); a loss that is not convex: q = {other:.2f} for a gradient of eps"
    )
    parts = (
        ClaimPart(
            "convex: O(1/eps)", "reproduced" if max(convex) <= 1 else "not reproducible", "at most 1, which it nears"
        ),
        ClaimPart(
            "non-convex: O(1/sqrt eps)",
            "reproduced" if other <= 0.55 else "not reproducible",
            "convex functions are among the smooth ones, which cannot be faster; known is O(1/eps^2) for a gradient of "
            "eps, that is a gradient of O(1/sqrt T) after T steps: probably what is meant",
        ),
    )
    return joined(ours, parts)
