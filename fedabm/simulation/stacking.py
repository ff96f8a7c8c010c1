"""Which runs can be stepped together, and why others cannot.

Together means: one row per owner of every run.  Owners decide row by row anyway, so all that must be stated for many
runs at once is what a mechanism offers; mechanisms and accuracies that can say so (`stacks`).  Whatever happens to
single runs only (owners that come and go, networks, training, budgets) is left to the federation itself.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from fedabm.games.valuation import ReceivedAccuracy
from fedabm.games.varied import sort_of
from fedabm.simulation.activation import Simultaneous
from fedabm.simulation.owners import Owners
from fedabm.simulation.scenario import Scenario

__all__ = ["kind_of", "why_alone"]


def why_alone(scenario: Scenario) -> str | None:
    """What keeps a scenario's runs from being stepped together with others; None: nothing."""
    for part in (scenario.mechanism, scenario.accuracy):
        if not part.traits.stacks:
            return type(part).__name__
    for what, plain in (
        ("an order of turns", isinstance(scenario.activation, Simultaneous)),
        ("a valuation of its own", type(scenario.valuation) is ReceivedAccuracy),
        ("payments in stages", scenario.pay_every == 1),
        ("a network", scenario.network is None),
        ("owners that are absent or late", scenario.participation.constant),
        ("knowledge of its own", scenario.knows.stacks),
        ("seats for newcomers", scenario.seats is None),
        ("a sample of owners", scenario.keep.owners is None),
        ("sums by strategy", not scenario.keep.strategies),
    ):
        if not plain:
            return what
    for column in scenario.columns:
        if column.key is None:
            return f"column {column.name!r}, as what its function holds cannot be compared,"
    return _why_owners(Owners.of(scenario.owners))


def _why_owners(owners: Owners) -> str | None:
    strange = [one for one in owners.strategy.values if not one.traits.stacks]
    if strange:
        return type(strange[0]).__name__
    if not owners.cost.traits.power:
        return next(type(owner.cost).__name__ for owner in owners if not owner.cost.power)
    if any(owners.agent.values):
        return "agents of its own"
    if np.any(owners.joins != 1):
        return "owners that come later"
    return None if np.all(np.isinf(owners.budget)) else "budgets"


def kind_of(scenario: Scenario) -> Hashable:
    """Scenarios of one kind are stepped together.

    They are equal but for their owners, of which there are as many, and for the numbers of their mechanisms and
    accuracies that may differ from run to run (`fedabm.games.varied`).

    Formulas may take another branch where all costs are linear, so that is part of the kind, too.
    """
    linear = Owners.of(scenario.owners).cost.linear
    settings = (scenario.steps, scenario.tolerance, scenario.keep, scenario.gap_tolerance)
    columns = tuple(column.key for column in scenario.columns)
    parts = (sort_of(scenario.mechanism), sort_of(scenario.accuracy), scenario.stopping)
    return (len(scenario.owners), linear, *parts, *settings, columns)
