"""The kinds of rules that a consortium can choose among, and which of them fit what it can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.advice.consortium import Consortium
from fedabm.common.bounds import Bounds
from fedabm.common.errors import InputError, nearest
from fedabm.comparison.wanted import Wanted
from fedabm.mechanisms import (
    Clarke,
    ContributionSubsidy,
    CostSharing,
    LeaveOneOut,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ShapleyShare,
    TullockContest,
    ValueShaping,
)

__all__ = ["FAMILIES", "RuleKind", "fitting"]

Range = Callable[[Consortium], dict[str, Bounds]]


def nothing_to_tune(consortium: Consortium) -> dict[str, Bounds]:
    """The bounds of a rule without parameters: none."""
    return {}


@dataclass(frozen=True)
class RuleKind:
    """A kind of rule: what it is called, a rule to start from, and between what its parameters lie here.

    What it asks for, where money comes from and whether anybody gets less than the full model is what the rule says of
    itself (`asks_cost`, `budget_balanced`), but for `pays` and `degrades`.
    """

    name: str
    start: Callable[[Consortium], Mechanism]
    bounds: Range = nothing_to_tune
    pays: bool = True
    degrades: bool = False

    def misfit(self, rule: Mechanism, wanted: Wanted) -> str:
        """Why it is out of the question; empty: it fits."""
        if rule.asks_cost and "costs" not in wanted.ask:
            return "it asks owners for their costs"
        if self.pays and wanted.paid == "nothing":
            return "it pays money"
        if not rule.budget_balanced and wanted.paid != "from outside":
            return "it takes money from outside"
        return "it hands out less than the full model" if self.degrades and not wanted.degraded else ""


def _rates(consortium: Consortium) -> dict[str, Bounds]:
    """From nothing to twice what a unit of data costs anybody."""
    return {"rate": Bounds(0.0, 2.0 * float(np.max(consortium.unit_costs)))}


def _prizes(consortium: Consortium) -> dict[str, Bounds]:
    """From a ten-thousandth of what the model is worth to all, to all of it."""
    most = float(np.mean(consortium.stakes)) * consortium.owners
    return {"prize": Bounds(1e-4 * most, most)}


#: by name, the simplest first
FAMILIES: tuple[RuleKind, ...] = (
    RuleKind("no payments", lambda _: NoPayments(), pays=False),
    RuleKind("cost sharing", lambda _: CostSharing(0.5), lambda _: {"rate": Bounds(0.0, 1.0)}),
    RuleKind("contribution subsidy", lambda c: ContributionSubsidy(_rates(c)["rate"].at(0.25)), _rates),
    RuleKind("Shapley shares", lambda _: ShapleyShare()),
    RuleKind("partial reciprocity", lambda _: PartialReciprocity(0.5), lambda _: {"r": Bounds(0.0, 1.0)}),
    RuleKind("contest", lambda c: TullockContest(_prizes(c)["prize"].at(0.1)), _prizes),
    RuleKind("value shaping", lambda _: ValueShaping(), pays=False, degrades=True),
    RuleKind("proportional models", lambda _: ProportionalData(0.5), lambda _: {"p": Bounds(0.0, 1.0)}, False, True),
    RuleKind("leave one out", lambda _: LeaveOneOut(), lambda _: {"rate": Bounds(0.0, 1.0)}),
    RuleKind("Clarke", lambda _: Clarke()),
)


def fitting(consortium: Consortium, wanted: Wanted) -> tuple[list[tuple[RuleKind, Any]], dict[str, str]]:
    """The kinds that fit with a rule to start from, and why the others do not."""
    names = [one.name for one in FAMILIES]
    for name in wanted.families:
        if name not in names:
            raise InputError(f"unknown kind of rule {name!r}; {nearest(name, names)}")
    fits, others = [], {}
    for family in FAMILIES:
        if wanted.families and family.name not in wanted.families:
            continue
        rule = family.start(consortium)
        why = family.misfit(rule, wanted)
        if why:
            others[family.name] = why
        else:
            fits.append((family, rule))
    return fits, others
