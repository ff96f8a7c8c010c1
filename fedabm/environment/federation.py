"""A federation in which several owners learn, as a PettingZoo environment.

    env = FederationEnv(Scenario(owners, PowerLaw(), ContributionSubsidy(0.02)), lies=["contribution"])
    observations, infos = env.reset(seed=1)
    actions = {agent: env.action_space(agent).sample() for agent in env.agents}
    observations, rewards, terminations, truncations, infos = env.step(actions)

A step is one round of the federation, the reward an owner's utility in it.  Owners that do not learn keep their
strategies.  Nobody sees more than its own facts, what it received, and the total that all said they gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Box
from pettingzoo import ParallelEnv

from fedabm.common.arrays import Array
from fedabm.common.errors import InputError, check_kind, check_whole
from fedabm.environment.actions import Learner, Meaning
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario
from fedabm.simulation.stopping import Never

__all__ = ["OBSERVED", "FederationEnv"]

#: what an owner observes, number by number
OBSERVED = (
    "capacity",
    "cost of all its data",
    "last contribution",
    "last accuracy",
    "last payment",
    "last utility",
    "total of all claims",
    "share of the steps that are over",
)


class FederationEnv(ParallelEnv):
    """Owners of a scenario that learn what to give and what to say; `learners` are their numbers (default: all).

    `lies` and `most` say what they can misstate, and how far (`Meaning`); `steps` is the length of an episode.

    Parameters
    ----------
    scenario : Scenario
        The federation that is learned in.
    learners : Sequence[int] | None, optional
        Numbers of the owners that learn; by default all.
    lies : Sequence[str], optional
        What they may misstate: "size", "contribution", "cost", "eagerness".
    most : float, optional
        The largest factor of a lie; its inverse is the least.
    steps : int, optional
        Length of an episode.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "federation_v0", "render_modes": [], "is_parallelizable": True}
    render_mode = None

    def __init__(
        self,
        scenario: Scenario,
        learners: Sequence[int] | None = None,
        *,
        lies: Sequence[str] = (),
        most: float = 2.0,
        steps: int = 10,
    ) -> None:
        check_kind("scenario", scenario, Scenario)
        check_whole("steps", steps)
        rows = range(len(scenario.owners)) if learners is None else learners
        self._rows = {f"owner_{row}": self._row(row, scenario) for row in rows}
        self.meaning = Meaning(lies, most)
        owners = [
            replace(owner, agent=Learner) if row in self._rows.values() else owner
            for row, owner in enumerate(scenario.owners)
        ]
        self.scenario = replace(scenario, owners=tuple(owners), steps=steps, stopping=Never(), record=None)
        self.possible_agents = list(self._rows)
        self.agents: list[str] = []
        high = np.ones(self.meaning.width, dtype=np.float32)
        wide = np.full(len(OBSERVED), np.inf, dtype=np.float32)
        self._actions = {agent: Box(0.0 * high, high) for agent in self._rows}
        self._observations = {agent: Box(-wide, wide) for agent in self._rows}
        self._seeds = np.random.default_rng()
        self.model: Federation | None = None

    def observation_space(self, agent: str) -> Box:
        """One number for each of `OBSERVED`."""
        return self._observations[agent]

    def action_space(self, agent: str) -> Box:
        """Numbers between 0 and 1: see `Meaning`."""
        return self._actions[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """A new federation; a seed decides this and all further episodes."""
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        self.model = Federation(self.scenario, int(self._seeds.integers(2**31)))
        for row in self._rows.values():
            self.model.agents[row].meaning = self.meaning
        self.agents = list(self.possible_agents)
        return self._seen(), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One round; the reward is each owner's utility in it."""
        if self.model is None:
            raise InputError("there is no federation yet; call reset() before step()")
        if not self.agents:
            return {}, {}, {}, {}, {}
        people = {row: self.model.agents[row] for row in self._rows.values()}
        for agent in self.agents:
            people[self._rows[agent]].numbers = np.asarray(actions[agent], dtype=float)
        self.model.step()
        rewards = {agent: float(self.model.population.utility[self._rows[agent]]) for agent in self.agents}
        over = not self.model.running
        ended = dict.fromkeys(self.agents, False)
        cut = dict.fromkeys(self.agents, over)
        seen, infos = self._seen(), {agent: self._info(agent) for agent in self.agents}
        self.agents = [] if over else self.agents
        return seen, rewards, ended, cut, infos

    def _seen(self) -> dict[str, Array]:
        """What each owner observes."""
        assert self.model is not None
        people, scenario = self.model.population, self.scenario
        total, over = float(people.claimed.sum()), self.model.steps / scenario.steps
        spent = people.cost.value(people.capacity)
        columns = (people.capacity, spent, people.contribution, people.accuracy, people.payment, people.utility)
        seen = {}
        for agent in self.agents:
            own = [column[self._rows[agent]] for column in columns]
            seen[agent] = np.nan_to_num(np.array([*own, total, over])).astype(np.float32)
        return seen

    def _info(self, agent: str) -> dict[str, Any]:
        """What it really gave and said, for whoever watches the learners."""
        people, row = self.model.population, self._rows[agent]  # type: ignore[union-attr]
        return {"contribution": float(people.contribution[row]), "claim": float(people.claimed[row])}

    @staticmethod
    def _row(row: int, scenario: Scenario) -> int:
        if not 0 <= row < len(scenario.owners):
            raise InputError(f"there is no owner {row} to learn; give numbers from 0 to {len(scenario.owners) - 1}")
        return int(row)
