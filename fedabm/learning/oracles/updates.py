"""The updates of one round: what coalitions of them are worth, and how they lie to each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor

from fedabm.common.state import FLAG, WHOLE, Dict, FrozenRecord, Kind, Numbers, Thing
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.curves import Array
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.aggregated import AggregatedModels, Sending, models_of_coalitions
from fedabm.learning.oracles.answers import Answering, ServerAnswers
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.memory import MEMORY, AnswerCache
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.rules.fed_avg import FedAvg
from fedabm.learning.rules.recipe import Recipe

__all__ = ["CoalitionsOfUpdates", "Updates"]

#: an owner takes part from this share of its claim on, so that differences around the claim are those of a flat curve
_PRESENT = 1.0 - 1e-4


@dataclass(frozen=True, eq=False)
class Updates:
    """What reached the server in one round.

    start    (P,) the model that everybody trained from
    sent     (n, P) the updates as sent
    usable   (n,) which of them hold finite numbers only
    claimed  (n,) what everybody claims to have used
    round    the number of the round, from 0 on
    judged   what coalitions are known to be worth, to the owners (False) and to the server (True)
    """

    engine: Engine
    recipe: Recipe
    measure: Measure
    start: Tensor
    sent: Tensor
    usable: Tensor
    claimed: Array
    seed: int
    round: int
    judged: dict[bool, AnswerCache] = field(default_factory=dict)
    _asked: dict[bool, CoalitionsOfUpdates] = field(default_factory=dict, init=False)

    def coalitions(self, server: Engine | None = None) -> CoalitionsOfUpdates:
        """What coalitions are worth, on the owners' test parts or on that of the `server`; kept as long as this is."""
        key = server is not None
        if key not in self._asked:
            known = self.judged.setdefault(key, AnswerCache())
            models = self.models(self.measure.kind, server, known)
            self._asked[key] = CoalitionsOfUpdates(models, self.claimed, self.measure, common=key)
        return self._asked[key]

    def models(
        self, measure: str, server: Engine | None = None, known: AnswerCache | None = None
    ) -> AveragedModels | AggregatedModels:
        """The models that the recipe's rule makes of coalitions' updates, judged by the owners or by the `server`."""
        sending = Sending(self.sent, np.where(pull(self.usable), np.rint(self.claimed), 0.0))
        return models_of_coalitions(server or self.engine, self.recipe, self.start, [sending], measure, known)

    @classmethod
    def kind(cls, engine: Engine, recipe: Recipe, measure: Measure) -> Kind:
        """How those of a training are saved."""
        tensors = dict.fromkeys(("start", "sent", "usable"), Thing(Tensor))
        others: dict[str, Kind] = {"claimed": Numbers(), "seed": WHOLE, "round": WHOLE, "judged": Dict(FLAG, MEMORY)}
        return FrozenRecord(partial(cls, engine, recipe, measure), **tensors, **others)

    def cosines(self, direction: Tensor | None = None) -> Array:
        """Cosines between each update and a direction (P,), by default their mean; 0 for what is not usable, (n,)."""
        sent = torch.where(self.usable.unsqueeze(1), self.sent, 0.0)
        if direction is None:
            mean = self.recipe.rule.mean or FedAvg()
            shares = mean.shares(np.rint(self.claimed) * pull(self.usable))
            direction = torch.from_numpy(shares).to(sent) @ sent
        found = pull(torch.nn.functional.cosine_similarity(sent.double(), direction.double().unsqueeze(0)))
        return np.nan_to_num(found, nan=0.0)

    @property
    def there(self) -> np.ndarray:
        """Who claims to have used anything and sent finite numbers, (n,)."""
        return pull(self.usable) & (np.rint(self.claimed) > 0)

    def lengths(self) -> tuple[Array, Array]:
        """Squared lengths of the updates, and squared distances to the mean of all others that are there, (n,)."""
        there = torch.from_numpy(self.there).to(self.sent.device)
        sent = torch.where(there.unsqueeze(1), self.sent, 0.0).double()
        others = (sent.sum(dim=0, keepdim=True) - sent) / (there.sum() - 1).clamp_min(1)
        return pull(sent.square().sum(dim=1)), pull((sent - others).square().sum(dim=1))

    def trained_by(self, server: Engine) -> Tensor:
        """The update (P,) that training on all data of the server gives in this round."""
        contributions = server.data.capacities.astype(float)
        updates = self.recipe.train(server, self.start, contributions, self.seed, self.round)
        return updates.mean(dim=0)


@dataclass(frozen=True, eq=False, repr=False)
class CoalitionsOfUpdates(Answering):
    """a_i(X): what the model mixed from the updates of the owners in X is worth to owner i.

        w_X = w + rate * sum_{i in X} c_i / c(X) u_i,      c_i: what i claims

    or, under a robust rule, what that makes of the updates of X.  Song et al. 2019, "multi-rounds".  Values are right
    where everybody contributes its claim or nothing.  Who contributes less counts as absent, who contributes more as if
    it gave its claim, so that slopes are 0.
    """

    models: AveragedModels | AggregatedModels
    claimed: Array
    measure: Measure
    #: judged on data of the server, so that models are worth the same to all
    common: bool = False
    _answers: ServerAnswers = field(init=False)
    costly = False

    def __post_init__(self) -> None:
        self._open()

    def __repr__(self) -> str:
        return f"CoalitionsOfUpdates({self.owners} owners, {self.measure})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return len(self.claimed)

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n) of the coalitions that k profiles (k, n) stand for."""
        profiles = np.asarray(profiles, dtype=float)
        check_width(profiles, self.owners)
        members = ((profiles >= _PRESENT * self.claimed) & (np.rint(self.claimed) > 0)).reshape(-1, self.owners)
        worth = self.measure.worth(self.models.values(members))
        if self.common:
            worth = np.repeat(worth.mean(axis=1, keepdims=True), self.owners, axis=1)
        return worth.reshape(profiles.shape)

    def kinks(self, profile: Array) -> Array:
        """Where an owner begins to take part, (n, 1)."""
        return _PRESENT * self.claimed[:, None]

    def marginals(self, profile: Array) -> Array:
        """None."""
        return np.zeros((self.owners, self.owners))
