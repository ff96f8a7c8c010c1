"""The Mesa agents: owners with secrets, and a server with rules."""

from __future__ import annotations

from typing import Any, NoReturn

import mesa
import numpy as np

from fedabm.common.errors import InputError, check_kind, check_number, shown
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.costs import Cost, check_costs
from fedabm.games.offers import Offers
from fedabm.kernel import counted, settle
from fedabm.mechanisms import Mechanism
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Strategy
from fedabm.views import Action, Outcome, OwnerView, Reports, ServerView, TermsCache

__all__ = ["Owner", "Server", "forget"]


class _Agent(mesa.Agent):
    """A Mesa agent that numbers itself and does not keep its model alive."""

    #: the federation
    model: Any

    def __init__(self, model: mesa.Model, number: int) -> None:
        super().__init__(model)
        self.unique_id = number
        forget(model)


def forget(model: mesa.Model) -> None:
    """Until 3.3 Mesa counts the agents of each model in a table that never forgets a model; drop the entry."""
    getattr(mesa.Agent, "_ids", {}).pop(model, None)


class Owner(_Agent):
    """A data owner: a handle on one row of the population.

    `Owner(model, profile)` adds one while a run goes on; `remove()` takes it out.  What it does is its `strategy`, or
    its own `decide` in a subclass (slower, one agent at a time):

        class Stubborn(Owner):
            def decide(self, view):
                return view.truthful(0.5 * view.capacity)

        population(costs, capacities, agent=Stubborn)

    Parameters
    ----------
    model : Any
        The federation that it joins.
    profile : OwnerProfile | None, optional
        Its private facts.
    row : int | None, optional
        Its row in the population, for those that the federation makes itself.
    """

    def __init__(self, model: Any, profile: OwnerProfile | None = None, *, row: int | None = None) -> None:
        if not hasattr(model, "make_room"):
            raise InputError(f"an owner takes part in a Federation, got {shown(model)}; give the model that it joins")
        if row is None:
            check_kind("an owner's profile", profile, OwnerProfile)
            row = model.make_room(profile, type(self))
        super().__init__(model, row)
        self.row = row
        model.seat(self)

    def decide(self, view: OwnerView) -> Action:
        """What it does, from its own view: what its strategy says, unless a subclass has a mind of its own."""
        return self.strategy.act(view)

    def remove(self) -> None:
        """Leave the federation for good; an owner that leaves by its strategy stays here to be asked."""
        self.model.dismiss(self)
        super().remove()

    def step(self) -> NoReturn:
        """Owners do not step by themselves."""
        raise InputError("an owner acts when the federation steps; call model.step(), or override Owner.decide")

    # What can be changed while a run goes on

    @property
    def strategy(self) -> Strategy:
        """What this owner does; another one begins without memories."""
        return self.model.own(self.row).strategies[self.row]

    @strategy.setter
    def strategy(self, strategy: Strategy) -> None:
        check_kind("strategy", strategy, Strategy)
        self.model.population.change(self.row, strategy=strategy)

    @property
    def capacity(self) -> float:
        """How much data it has."""
        return float(self.model.own(self.row).capacity[self.row])

    @capacity.setter
    def capacity(self, capacity: float) -> None:
        check_number("capacity", capacity)
        check_costs(self.cost_function, np.array([capacity]))
        self.model.population.change(self.row, capacity=float(capacity))

    @property
    def cost_function(self) -> Cost:
        """What its data cost it, as a function of its contribution."""
        return self.model.own(self.row).cost.take([self.row])

    @cost_function.setter
    def cost_function(self, cost: Cost) -> None:
        check_kind("cost", cost, Cost)
        check_costs(cost, np.array([self.capacity]))
        self.model.population.change(self.row, cost=cost)

    @property
    def contribution(self) -> float:
        """How much data it really used in the last step; set, it is what it does and says until it decides again."""
        return float(self.model.own(self.row).contribution[self.row])

    @contribution.setter
    def contribution(self, contribution: float) -> None:
        self.model.population.act(self.row, contribution)

    # What came of it

    @property
    def accuracy(self) -> float:
        """What the model it received was worth."""
        return float(self.model.own(self.row).accuracy[self.row])

    @property
    def payment(self) -> float:
        """Money it received in the last step (negative: it paid)."""
        return float(self.model.own(self.row).payment[self.row])

    @property
    def cost(self) -> float:
        """What its contribution really cost in the last step."""
        return float(self.model.own(self.row).cost_paid[self.row])

    @property
    def utility(self) -> float:
        """gain (by default the accuracy received) + payment - cost."""
        return float(self.model.own(self.row).utility[self.row])

    @property
    def stayed(self) -> bool:
        """Whether it is still in the federation."""
        return bool(self.model.own(self.row).stayed[self.row])

    @property
    def memory(self) -> dict[str, Any]:
        """What its strategy remembers, by name: its own row."""
        return self.model.own(self.row).memory(self.row)

    @property
    def role(self) -> str:
        """What it is called by its profile."""
        return self.model.own(self.row).roles[self.row]

    @property
    def name(self) -> str:
        """What it is called; its number if it has no name."""
        return self.model.own(self.row).names[self.row] or f"owner {self.row}"

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("accuracy", "payment", "cost", "utility", "stayed", "memory", "role", "name"):
            raise AttributeError(
                f"an owner's {name} is a result; set its strategy, contribution, capacity or cost_function instead"
            )
        if name in ("row", "unique_id") and "row" in vars(self):
            raise AttributeError(f"an owner's {name} is its place in the frames and cannot change; add another owner")
        super().__setattr__(name, value)


class Server(_Agent):
    """The neutral server: it announces offers, settles by its mechanism, and sees reports only.

    What a mechanism wants to remember is in its `memory` from one step to the next.
    It is no member of `model.agents`, which are the owners.

    Parameters
    ----------
    model : mesa.Model
        The federation.
    mechanism : Mechanism
        The rule that decides who gets which model and who pays whom.
    pay_rejected : bool, optional
        Whether owners are paid for updates that were dropped.
    """

    def __init__(self, model: mesa.Model, mechanism: Mechanism, *, pay_rejected: bool = False) -> None:
        super().__init__(model, -1)
        model.deregister_agent(self)
        self.mechanism = mechanism
        self.pay_rejected = pay_rejected
        self.memory: Any = None
        self.cache = TermsCache()
        self._standing: tuple[Reports, Accuracy, Offers] | None = None

    def announce(self, reports: Reports, oracle: Accuracy) -> Offers:
        """What each owner would get for its own contribution, if the other reports stand."""
        standing = self._standing
        if standing is None or standing[1] is not oracle or not _same(standing[0], reports):
            standing = self._standing = (reports, oracle, self.mechanism.offers(oracle, reports))
        return standing[2]

    def settle(self, view: ServerView) -> Outcome:
        """Apply the mechanism; the offers that come with it stand until the next reports."""
        self._standing = None  # there is room for the new ones then
        view = view if self.pay_rejected else counted(view)
        outcome = settle(self.mechanism, view)
        self.memory = outcome.memory
        self._standing = (view.reports, view.oracle, outcome.offers)
        return outcome


def _same(one: Reports, other: Reports) -> bool:
    alike = one.contribution is other.contribution or np.array_equal(one.contribution, other.contribution)
    if one.memory is not other.memory or not alike:
        return False
    numbered = one.owners is not None and other.owners is not None
    if numbered and one.owners is not other.owners and not np.array_equal(one.owners, other.owners):  # type: ignore[arg-type]
        return False
    return one.same_types(other)
