"""Owners that misreport, whatever they really do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fedabm.common.errors import check_number
from fedabm.strategies.base import Wrapper
from fedabm.views import Action, OwnerView, Reports

__all__ = ["Liar"]


@dataclass(frozen=True)
class Liar(Wrapper):
    """Do what `truth` does, but misstate cost, data size, contribution or eagerness for others' data by a factor.

    Factors above one overstate, below one understate; 1 is the truth.

    Parameters
    ----------
    truth : Strategy
        The strategy that it wraps.
    cost_factor : float, optional
        Stated over true cost.
    size_factor : float, optional
        Stated over true data size.
    contribution_factor : float, optional
        Claimed over true contribution.
    eagerness_factor : float, optional
        Stated over true eagerness.
    """

    cost_factor: float = 1.0
    size_factor: float = 1.0
    contribution_factor: float = 1.0
    eagerness_factor: float = 1.0
    stacks = Wrapper.stacks

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("cost_factor", "size_factor", "contribution_factor", "eagerness_factor"):
            check_number(name, getattr(self, name), zero=True)

    def act(self, view: OwnerView) -> Action:
        """The wrapped strategy's action with another report."""
        action = self.truth.act(view)
        return replace(action, report=self._misstate(action.report))

    def declare(self, truth: Reports) -> Reports:
        """The lie, from the beginning."""
        return self._misstate(self.truth.declare(truth))

    def _misstate(self, said: Reports) -> Reports:
        cost = None if said.cost is None else said.cost.scaled(self.cost_factor)
        eagerness = None if said.eagerness is None else self.eagerness_factor * said.eagerness
        return Reports(self.contribution_factor * said.contribution, self.size_factor * said.size, cost, eagerness)
