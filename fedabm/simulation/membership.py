"""Who takes part in a federation: its agents and what is kept for each of them, from the beginning and later on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mesa
import numpy as np

from fedabm.common.errors import InputError, check_kind, shown
from fedabm.common.random import check_seed
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.training import State, training_of
from fedabm.simulation.agent_turns import AgentTurns
from fedabm.simulation.agents import Owner, Server
from fedabm.simulation.ledger import Ledger
from fedabm.simulation.network import Sight
from fedabm.simulation.owners import OwnerProfile, Owners
from fedabm.simulation.population import Population
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.treasury import Treasury

__all__ = ["Membership"]


class Membership(mesa.Model):
    """Owners and server of a scenario as Mesa agents; owners can come and go between two steps."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        check_kind("scenario", scenario, Scenario)
        check_seed(seed)
        super().__init__(rng=int(seed))
        self._seed = int(seed)  # for `reset_randomizer`; until 3.3 Mesa forgets it
        self.scenario = scenario
        self.seed = int(seed)
        people = Owners.of(scenario.owners)
        agents = people.agent
        minded = np.array([agent is not None and _minded(agent) for agent in agents.values])
        self._people = Population(people, self.seed, np.flatnonzero(minded[agents.codes]).tolist())
        #: agents that decide for themselves while they do
        self._deciding: AgentTurns | None = None
        self.server = Server(self, scenario.mechanism, pay_rejected=scenario.pay_rejected)
        #: the agents that have been made, and the numbers of those that are gone for good
        self._seated: dict[int, Owner] = {}
        self._gone: set[int] = set()
        if any(agents.values):  # of classes of the user's own
            self._seat_all()
        self.training = training_of(scenario.accuracy)
        #: what the training has come to, and what its models are worth
        self.state: State = self.training.begin(self.seed)
        self._worth: tuple[State, Accuracy] | None = None
        #: whose rows the frames keep (None: everybody's)
        self._sample = scenario.keep.sample(self.seed, len(agents))
        self.ledger = Ledger(len(agents), self._sample)
        self.treasury = Treasury(self.population.money, scenario.pay_every)
        self.sight = None if scenario.network is None else Sight(scenario.network, list(self.population.names))
        self.at_rest = False
        #: who has acted since anybody last moved
        self._quiet = np.zeros(len(agents), dtype=bool)
        #: the step in which the gap was last proven, and the gap
        self._gap: tuple[int, tuple[float, float]] | None = None

    @property
    def scenario(self) -> Scenario:
        """What is played.

        Mesa has had scenarios of its own since 3.5, puts one here first, and writes to them; ours are values.
        """
        return self._played

    @scenario.setter
    def scenario(self, scenario: Scenario) -> None:
        self._played = scenario

    @property
    def population(self) -> Population:
        """All owners as columns; whoever looks while agents decide finds carried out what was decided before."""
        if self._deciding is not None:
            self._deciding.look()
        return self._people

    def own(self, row: int) -> Population:
        """The same for whoever looks at one row only."""
        if self._deciding is not None:
            self._deciding.look(row)
        return self._people

    @property
    def accuracy(self) -> Accuracy:
        """What the present models are worth; the same object as long as nothing is learned."""
        if self._worth is None or self._worth[0] is not self.state:
            self._worth = (self.state, self.training.worth(self.state))
        return self._worth[1]

    @property
    def learned(self) -> Any:
        """The state of the training that makes the models, without the phases around it."""
        return self.training.unwrap(self.state)[1]

    @property
    def owners(self) -> mesa.agent.AgentSet:
        """The agents of all owners, in the order of their numbers; the same as `agents`."""
        return self.agents

    def owner(self, number: int) -> Owner:
        """The agent of one owner; it is made when somebody asks for it, as a million of them take their time."""
        if number in self._gone or number not in range(len(self.population)):
            raise InputError(f"there is no owner {shown(number)}; give the number of one that takes part")
        if number not in self._seated:
            self._seat(number)
        return self._seated[number]

    def row_of(self, owner: int | str) -> int:
        """The number of an owner that takes part, given by number or name."""
        names = list(self.population.names)
        known = isinstance(owner, str) and owner in names
        row = names.index(owner) if known else owner
        if not isinstance(row, int | np.integer) or row not in range(len(names)) or not self.population.stayed[row]:
            raise InputError(f"there is no owner {shown(owner)}; give the number or the name of one that takes part")
        return int(row)

    def _seat(self, row: int) -> None:
        known = Owners.of(self.scenario.owners).agent
        (known[row] if row < len(known) and known[row] else Owner)(self, row=row)

    def _seat_all(self) -> None:
        """Make the agents that nobody has asked for yet; all stand in the order of their numbers."""
        if len(self._seated) + len(self._gone) == len(self.population):
            return
        late = bool(self._seated)
        for row in range(len(self.population)):
            if row not in self._seated and row not in self._gone:
                self._seat(row)
        if late:
            for agents in (self._all_agents, *self._agents_by_type.values()):
                agents.sort("unique_id", ascending=True, inplace=True)

    # Mesa's ways to the agents, which are made as soon as somebody asks for all of them

    @property
    def agents(self) -> mesa.agent.AgentSet:
        """The agents of all owners."""
        self._seat_all()
        return super().agents

    @property
    def agent_types(self) -> list[type]:
        """The classes of the agents."""
        self._seat_all()
        return super().agent_types

    @property
    def agents_by_type(self) -> dict[type, mesa.agent.AgentSet]:
        """The agents of each class."""
        self._seat_all()
        return super().agents_by_type

    def remove_all_agents(self) -> None:
        """Everybody leaves for good."""
        self._seat_all()
        super().remove_all_agents()

    def make_room(self, profile: OwnerProfile, agent: type[Owner] = Owner, sees: Sequence[int] = ()) -> int:
        """Room for one more owner, which takes part from the next step on; its number.  `Owner` calls it.

        With a network it sees nobody, and nobody sees it, unless `sees` links it to some.
        """
        if self.sight is None and len(sees):
            raise InputError(f"a newcomer cannot see {list(sees)} without a network; give the scenario one")
        wanted = self.training.owners
        if wanted is not None and wanted <= len(self.population):
            raise InputError(
                f"there is no room for an owner {len(self.population)}: the accuracy knows {wanted} owners; "
                "give the scenario one that knows more, and the number as its seats"
            )
        row = self.population.add(profile, self.steps, alone=_minded(agent))
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

    def seats(self) -> dict[int, tuple[type[Owner], dict[str, Any]] | None]:
        """The agents that are not as new: their classes and what they have noted (None: removed); for checkpoints."""
        changed = {row: agent for row, agent in self._seated.items() if type(agent) is not Owner or _noted(agent)}
        return {**dict.fromkeys(self._gone), **{row: (type(agent), _noted(agent)) for row, agent in changed.items()}}

    def reseat(self, seats: Mapping[int, tuple[type[Owner], dict[str, Any]] | None]) -> None:
        """Make these agents anew, as `seats` has told them; all others when somebody asks for them."""
        for agent in list(self._all_agents):
            self.deregister_agent(agent)
        self._seated = {}
        self._gone = {row for row, seat in seats.items() if seat is None}
        for row, seat in seats.items():
            if seat is not None:
                seat[0](self, row=row).__dict__.update(seat[1])

    def dismiss(self, owner: Owner) -> None:
        """Let an owner leave for good; `Owner.remove` calls it."""
        self.population.leave(np.array([owner.row]))
        self._seated.pop(owner.row, None)
        self._gone.add(owner.row)
        self._awake()

    def _awake(self) -> None:
        """Something has changed from outside: the run, if it was at rest, has not ended after all."""
        self.at_rest = False
        self._quiet[:] = False
        self._gap = None
        self.running = self.steps < self.scenario.steps


def _noted(agent: Owner) -> dict[str, Any]:
    """What an agent keeps itself, beside its place."""
    known = ("model", "unique_id", "row")
    noted = {name: value for name, value in vars(agent).items() if name not in known}
    return {name: value for name, value in noted.items() if name != "pos" or value is not None}


def _minded(agent: type) -> bool:
    """Whether a class of agents decides for itself."""
    return getattr(agent, "decide", None) is not Owner.decide
