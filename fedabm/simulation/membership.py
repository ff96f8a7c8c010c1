"""Who takes part in a federation: its agents and what is kept for each of them, from the beginning and later on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mesa
import numpy as np

from fedabm.common.errors import InputError, check_kind
from fedabm.common.random import check_seed
from fedabm.simulation.agents import Owner, Server
from fedabm.simulation.ledger import Ledger
from fedabm.simulation.network import Sight
from fedabm.simulation.population import Population
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.simulation.treasury import Treasury

__all__ = ["Membership"]


class Membership(mesa.Model):
    """Owners and server of a scenario as Mesa agents; owners can come and go between two steps."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        check_kind("scenario", scenario, Scenario)
        check_seed(seed)
        super().__init__(seed=int(seed))
        self.scenario = scenario
        self.seed = int(seed)
        agents = [profile.agent or Owner for profile in scenario.owners]
        alone = [row for row, agent in enumerate(agents) if _minded(agent)]
        self.population = Population(scenario.owners, self.seed, alone)
        self.server = Server(self, scenario.mechanism)
        self._seated: list[Owner | None] = [None] * len(agents)
        for row, agent in enumerate(agents):
            agent(self, row=row)
        self.accuracy = scenario.accuracy.seeded(self.seed)
        self.ledger = Ledger(len(agents))
        self.treasury = Treasury(self.population.money, scenario.pay_every)
        self.sight = None if scenario.network is None else Sight(scenario.network)
        self.at_rest = False
        #: who has acted since anybody last moved
        self._quiet = np.zeros(len(agents), dtype=bool)
        #: the step in which the gap was last proven, and the gap
        self._gap: tuple[int, tuple[float, float]] | None = None

    @property
    def owners(self) -> mesa.agent.AgentSet:
        """The agents of all owners, in the order of their numbers; the same as `agents`."""
        return self.agents

    def make_room(self, profile: OwnerProfile, agent: type[Owner] = Owner, sees: Sequence[int] = ()) -> int:
        """Room for one more owner, which takes part from the next step on; its number.  `Owner` calls it.

        With a network it sees nobody, and nobody sees it, unless `sees` links it to some.
        """
        if self.sight is None and len(sees):
            raise InputError(f"a newcomer cannot see {list(sees)} without a network; give the scenario one")
        wanted = getattr(self.accuracy, "owners", None)
        if wanted is not None and wanted <= len(self.population):
            raise InputError(
                f"there is no room for an owner {len(self.population)}: the accuracy knows {wanted} owners; "
                "give the scenario one that knows more, and the number as its seats"
            )
        row = self.population.add(profile, self.steps, alone=_minded(agent))
        self._seated.append(None)
        self.ledger.add()
        self.treasury.hold(self.population.money)
        if self.sight is not None:
            self.sight.add(sees)
        self._quiet = np.append(self._quiet, False)
        self._awake()
        return row

    def add(self, profile: OwnerProfile, sees: Sequence[int] = ()) -> Owner:
        """Add an owner while the run goes on; with a network, linked to those that it `sees`."""
        check_kind("an owner's profile", profile, OwnerProfile)
        agent = profile.agent or Owner
        return agent(self, row=self.make_room(profile, agent, sees))

    def seat(self, owner: Owner) -> None:
        """Note which agent stands for a row; `Owner` calls it."""
        self._seated[owner.row] = owner

    def seats(self) -> list[tuple[type[Owner], dict[str, Any]] | None]:
        """The agent of every row as its class and what it has noted itself (None: removed); for checkpoints."""
        return [None if agent is None else (type(agent), _noted(agent)) for agent in self._seated]

    def reseat(self, seats: Sequence[tuple[type[Owner], dict[str, Any]] | None]) -> None:
        """Make the agents of all rows anew, as `seats` has told them."""
        self.agents.do(self.deregister_agent)
        self._seated = [None] * len(seats)
        for row, told in enumerate(seats):
            if told is not None:
                told[0](self, row=row).__dict__.update(told[1])

    def dismiss(self, owner: Owner) -> None:
        """Let an owner leave for good; `Owner.remove` calls it."""
        self.population.leave(np.array([owner.row]))
        self._seated[owner.row] = None
        self._awake()

    def _awake(self) -> None:
        """Something has changed from outside: the run, if it was at rest, has not ended after all."""
        self.at_rest = False
        self._quiet[:] = False
        self._gap = None
        self.running = self.steps < self.scenario.steps


def _noted(agent: Owner) -> dict[str, Any]:
    """What an agent keeps itself, beside its place."""
    return {name: value for name, value in vars(agent).items() if name not in ("model", "unique_id", "row")}


def _minded(agent: type) -> bool:
    """Whether a class of agents decides for itself."""
    return getattr(agent, "decide", None) is not Owner.decide
