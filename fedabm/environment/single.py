"""One owner that learns beside strategies, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.spaces import Box

from fedabm.common.arrays import Array
from fedabm.environment.federation import FederationEnv
from fedabm.simulation.scenario import Scenario

__all__ = ["OwnerEnv"]


class OwnerEnv(gymnasium.Env):
    """Owner `owner` of a scenario learns, the others keep their strategies; see `FederationEnv`.

    Parameters
    ----------
    scenario : Scenario
        The federation that is learned in.
    owner : int, optional
        Number of the owner that learns.
    lies : Sequence[str], optional
        What it may misstate: "size", "contribution", "cost", "eagerness".
    most : float, optional
        The largest factor of a lie; its inverse is the least.
    steps : int, optional
        Length of an episode.
    """

    metadata = {"render_modes": []}
    observation_space: Box
    action_space: Box

    def __init__(
        self, scenario: Scenario, owner: int = 0, *, lies: Sequence[str] = (), most: float = 2.0, steps: int = 10
    ) -> None:
        self.federation = FederationEnv(scenario, [owner], lies=lies, most=most, steps=steps)
        self.agent = self.federation.possible_agents[0]
        self.observation_space = self.federation.observation_space(self.agent)
        self.action_space = self.federation.action_space(self.agent)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """A new federation."""
        super().reset(seed=seed)
        seen, infos = self.federation.reset(seed, options)
        return seen[self.agent], infos[self.agent]

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """One round."""
        seen, rewards, ended, cut, infos = self.federation.step({self.agent: action})
        agent = self.agent
        return seen[agent], rewards[agent], ended[agent], cut[agent], infos[agent]
