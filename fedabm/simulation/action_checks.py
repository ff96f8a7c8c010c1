"""Whether what owners do and say can be used.

What has not even the form of an action is a mistake of whoever wrote the strategy, and raises.  An action or report of
the right form that is not finite and non-negative (or absurdly large) is an owner's: it is rejected and counts as
contributing nothing, so that it can hurt nobody else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.common.errors import InputError, nearest, shown
from fedabm.games.costs import Cost, of_one_kind
from fedabm.simulation.cohorts import Facts
from fedabm.simulation.validity import valid_costs, valid_numbers
from fedabm.views import INFORMATION, Action, Reports

__all__ = ["checked_action", "checked_report", "usable_report"]


def checked_action(action: Any, rows: int) -> Action:
    """An action with one number per row, or an error that says what else it was."""
    if not isinstance(action, Action):
        raise InputError(f"it gave {shown(action)} instead of an action; return view.truthful(...) or an Action")
    if action.tamper is not None and not callable(action.tamper):
        raise InputError(f"it tampers by {shown(action.tamper)}; give a function of updates, models received and rng")
    if action.used not in INFORMATION:
        raise InputError(f"a decision cannot rest on {action.used!r}; {nearest(action.used, INFORMATION)}")
    contribution = _numbers("contribution", action.contribution, rows)
    stay = _numbers("stay", action.stay, rows) != 0
    return replace(action, contribution=contribution, report=checked_report(action.report, rows), stay=stay)


def checked_report(said: Any, rows: int) -> Reports:
    """A report with one number per row, or an error that says what else it was."""
    if not isinstance(said, Reports):
        raise InputError(f"it reports {shown(said)}; give view.report(contribution) or Reports")
    if not isinstance(said.cost, Cost | None):
        raise InputError(f"it reports {shown(said.cost)} as its cost; give a cost function, as in Linear(0.1)")
    contribution = _numbers("reported contribution", said.contribution, rows)
    size = _numbers("reported size", said.size, rows)
    eagerness = None if said.eagerness is None else _numbers("reported eagerness", said.eagerness, rows)
    return replace(said, contribution=contribution, size=size, eagerness=eagerness)


def _numbers(what: str, given: Any, rows: int) -> Array:
    if getattr(given, "requires_grad", False):
        raise InputError(f"its {what} is a tensor that still needs gradients; give it as .detach()")
    found = np.asarray(given)
    if found.shape != (rows,) or found.dtype.kind not in "fiub":
        got = f"shape {found.shape}" if found.shape != (rows,) else f"{type(found[0]).__name__}, no number"
        raise InputError(f"its {what} has {got}, for {rows} owners; give one number per row of the view")
    return found.astype(float, copy=False)


def usable_report(said: Reports, facts: Facts) -> Flags:
    """Whose report can be used, given what is true.

    The figures of a cost (rate and fixed part; how much steeper it gets; a factor) are the owner's secrets; its kind
    (the exponent; where pieces start; a function of its own) is not, and a report of another kind is no use.
    """
    good = valid_numbers(said.contribution)
    if said.cost is facts.cost and said.size is facts.capacity and said.eagerness is facts.eagerness:
        return good & facts.sayable  # as most owners tell the truth in every step
    good &= valid_numbers(said.size)
    if said.eagerness is not None:
        good &= valid_numbers(said.eagerness)
    if said.cost is None:
        return good
    return good & valid_costs(said.cost) & of_one_kind(facts.cost, said.cost, len(good))
