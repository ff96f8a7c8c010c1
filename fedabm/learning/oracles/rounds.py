"""What every coalition's model is worth after one more round, from models that owners have trained anyway."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedabm.common.errors import InputError, check_whole, finite_vector
from fedabm.common.random import check_seed
from fedabm.common.state import WHOLE, FrozenRecord, Kind, Maybe, Thing
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.accuracy.training import Present, RoundResult, Training
from fedabm.games.curves import Array
from fedabm.games.messages import EFFORT, TAMPERING, Effort, OwnerMessages, Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.oracles.aggregated import AggregatedModels, Sending, check_of_updates, models_of_coalitions
from fedabm.learning.oracles.answers import Answering, ServerAnswers
from fedabm.learning.oracles.averaged import AveragedModels
from fedabm.learning.oracles.engine_facts import EngineFacts
from fedabm.learning.oracles.memory import MEMORY
from fedabm.learning.oracles.memory import AnswerCache as Judged
from fedabm.learning.oracles.scores import Measure
from fedabm.learning.oracles.trained import Trained
from fedabm.learning.rules.aggregate import screen
from fedabm.learning.rules.base import Memory
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import RuleRound, server_part, tamper

__all__ = ["Rounds"]


class LearnedRound(NamedTuple):
    """What a round has taught.

    coalitions   the models that the rule makes of both trainings of everybody
    claims       (2, n) what everybody claims with its contribution and beside it
    dropped      (n,) whose update held NaN or infinity
    after        the round with everybody's T_i
    past         everybody's updates so far, see `RoundModels`
    """

    coalitions: AveragedModels | AggregatedModels
    claims: Array
    dropped: NDArray[np.bool_]
    after: RuleRound
    past: Tensor


@dataclass(frozen=True, eq=False, repr=False)
class Rounds(EngineFacts, Training[Present]):  # type: ignore[override]
    """a_i(s_X): what the model of coalition X is worth after this round; each step of a run is one round.

    From the server's model theta every owner trains T_i on its s_i samples and T_i^eps on s_i + `more` samples (on
    `more` fewer where its data end).  The model of X averages the T_i of its members, an owner that considers another
    contribution sees the way from T_i to T_i^eps as a straight line:

        a(X + i at s_i + x) = a(X + T_i) + x / more * (a(X + T_i^eps) - a(X + T_i)),      |x| <= more

    Nobody in X leaves theta as it is, and theta goes on with everybody's T_i.  Murhekar et al. 2025, Algorithm 1; with
    `ShapleyShare`, whose payments in a step are then the shares of that round's progress, it is FedBR-Shap.  Before the
    first decision owners train on `start` samples.  The server knows claims, owners train on what they contribute.

    With whole=True coalitions' models leave the others' updates out of all rounds so far (Song et al. 2019), so that
    each step's payments are shares of all that was learned since the beginning, as if training ended there.

    Owners train when a value of the round is first asked for.  Under a robust rule, such as `CoordinateMedian`, the
    model of X is what the rule makes of its members' updates, made and judged by itself; with whole=True that of every
    round so far, of whose updates the server then keeps all.  Rules that remember, such as `FedAdam`, are refused.

    Parameters
    ----------
    engine : Engine
        What trains and judges models of one network on the owners' data.
    recipe : Recipe, optional
        How owners train in a round and how the server learns from their updates.
    more : int, optional
        By how many samples a contribution is varied.
    measure : Measure, optional
        How a model is judged: by right answers or by its loss.
    seed : int | None, optional
        None: it follows from the run's.
    start : Any, optional
        On how many samples owners train before the first decision.
    whole : bool, optional
        Whether payments are the shares of the whole model instead of the round's progress.
    """

    engine: Engine
    recipe: Recipe = field(default_factory=Recipe)
    more: int = 10
    measure: Measure = field(default_factory=Measure)
    seed: int | None = None
    start: Any = 1.0
    whole: bool = False
    takes_updates = True
    retrains = True
    models = "shared"
    echoes_claims = True

    def __post_init__(self) -> None:
        check_whole("more, the samples of the second training,", self.more)
        if self.seed is not None:
            check_seed(self.seed)
        check_of_updates(self.recipe, "Rounds")
        self.engine.data.counts(finite_vector("start", self.start, self.owners))  # nobody contributes more than it has

    def __repr__(self) -> str:
        what = f"{self.engine.data.name}, {self.engine.size} parameters, more={self.more}, {self.recipe}"
        return f"Rounds({what}, seed={self.seed}, {self.measure})"

    def begin(self, seed: int) -> Present:
        """What owners train before their first decision."""
        first = finite_vector("start", self.start, self.owners)
        return Present(RoundModels(*self._how, seed if self.seed is None else self.seed, Effort(first, first)))

    @property
    def _how(self) -> tuple[Engine, Recipe, int, Measure, bool]:
        return self.engine, self.recipe, self.more, self.measure, self.whole

    def round(self, state: Present, messages: OwnerMessages) -> tuple[Present, RoundResult]:
        """The next round, from the model that everybody's T_i gave in this one.

        Everybody that trains or tampers sends both its models.
        """
        models = cast(RoundModels, state.accuracy).then(messages)
        uploads = 2 * messages.senders(self.engine.data.counts(messages.now.contribution))
        return Present(models), RoundResult(models.dropped, uploads=uploads)

    def retrained(self, rounds: int, seed: int, state: Present | None = None) -> Trained:
        """This many rounds with the same recipe on any contributions, afresh or from the model of a state."""
        start = None if state is None else cast(RoundModels, state.accuracy).last
        return Trained(self.engine, rounds, self.recipe, seed, self.measure, start=start)

    def exported(
        self, state: Present, contributions: Array, owner: int | None = None, promised: float = np.inf
    ) -> nn.Module:
        """The model of all owners; that of a coalition is promised and not made."""
        if owner is not None and promised < np.inf:
            raise InputError(f"owner {owner} is promised a worse model on paper only; export the shared one")
        last = cast(RoundModels, state.accuracy).last
        seed = cast(RoundModels, state.accuracy).seed
        return self.engine.module(self.engine.initial(seed) if last is None else last)

    def worth(self, state: Present) -> Accuracy:
        """What coalitions' models are worth after this round."""
        return state.accuracy

    def state_kind(self) -> Kind:
        """Models, and what was sent: it cannot be found again where somebody tampers and draws."""
        models = dict.fromkeys(("model", "past"), Maybe(Thing(Tensor)))
        work: dict[str, Kind] = {"effort": EFFORT, "tampering": TAMPERING, "memory": Maybe(Thing(tuple))}
        found: dict[str, Kind] = {"sent": Thing(Tensor), "judged": MEMORY}
        again = partial(_again, self._how)
        return FrozenRecord(Present, accuracy=FrozenRecord(again, seed=WHOLE, round=WHOLE, **models, **work, **found))


@dataclass(frozen=True, eq=False, repr=False)
class RoundModels(Answering):
    """What every coalition's model is worth after one round of `Rounds`; owners train when a value is asked for.

    effort     what everybody trains on and claims; `tampering`: who changes its updates
    round      its number; in round 0 owners train before their first decision
    model      the server's model that it starts from (None: the initial one), with the `memory` of the recipe's rule
    past       (t, n, P) everybody's updates of the rounds before, if coalitions leave out those, too: their sum (t = 1)
               if the rule takes a mean, else each round's, NaN for whoever was not there
    """

    engine: Engine
    recipe: Recipe
    more: int
    measure: Measure
    whole: bool
    seed: int
    effort: Effort
    tampering: tuple[Tampering, ...] = ()
    round: int = 0
    model: Tensor | None = None
    memory: Memory | None = None
    past: Tensor | None = None
    _answers: ServerAnswers = field(init=False)

    def __post_init__(self) -> None:
        self._open()

    def __repr__(self) -> str:
        return f"RoundModels(round={self.round})"

    @property
    def owners(self) -> int:
        """For how many owners this accuracy is defined."""
        return self.engine.data.owners

    def then(self, messages: OwnerMessages) -> RoundModels:
        """The models of the next round."""
        work: dict[str, Any] = {"effort": messages.now, "tampering": messages.tampering, "round": self.round + 1}
        if self.round:  # what owners trained before their first decision is not gone on with
            after = self._learned.after
            work |= {"model": after.model, "memory": after.memory, "past": self._learned.past if self.whole else None}
        return replace(self, **work)

    @property
    def last(self) -> Tensor | None:
        """The model that everybody's T_i gave in this round; None before the first decision."""
        return self._learned.after.model if self.round else None

    @property
    def dropped(self) -> NDArray[np.bool_]:
        """Whose update held NaN or infinity in this round, (n,)."""
        return self._learned.dropped

    @property
    def coalitions(self) -> AveragedModels | AggregatedModels:
        """The models that the rule makes of both trainings of everybody."""
        return self._learned.coalitions

    def values(self, profiles: Array) -> Array:
        """Accuracies (k, n); what several owners would change at once is added up."""
        profiles = np.asarray(profiles, dtype=float)
        check_width(profiles, self.owners)
        flat = profiles.reshape(-1, self.owners)
        members, shift = self._read(flat)
        judged = self.coalitions.values(np.hstack([members, np.zeros_like(members)]))
        rows, owner = np.nonzero(shift)
        if len(rows):
            swapped = np.hstack([members[rows], np.zeros_like(members[rows])])
            turn = np.arange(len(rows))
            swapped[turn, owner], swapped[turn, owner + self.owners] = False, True
            np.add.at(judged, rows, shift[rows, owner, None] * (self.coalitions.values(swapped) - judged[rows]))
        return self.measure.worth(judged).reshape(profiles.shape)

    def _read(self, profiles: Array) -> tuple[np.ndarray, Array]:
        """Who is in each coalition, and how far an owner is on its way from T_i to T_i^eps, from -1 to 1."""
        effort = self.effort
        made = (profiles == effort.claimed) | (profiles == effort.contribution)
        members = (profiles > 0) & np.where(made, effort.claimed > 0, True)
        members |= np.all(profiles == effort.contribution, axis=1, keepdims=True) & (effort.claimed > 0)
        way = np.divide(profiles - effort.claimed, np.diff(self._learned.claims, axis=0)[0])
        shift = np.where(made | (profiles == 0), 0.0, np.clip(way, -1.0, 1.0))
        return members, shift

    @property
    def _initial(self) -> Tensor:
        return self.engine.initial(self.seed)

    @property
    def _begun(self) -> tuple[Tensor, Memory]:
        """The model that everybody starts from, and what the rule remembers."""
        start = self._initial if self.model is None else self.model
        return start, self.recipe.rule.begin(start, self.owners) if self.memory is None else self.memory

    @property
    def _trials(self) -> NDArray[np.int64]:
        """(2, n) on how many samples everybody trains."""
        counts = self.engine.data.counts(self.effort.contribution)
        return np.stack([counts, _with_more(counts, self.more, self.engine.data.capacities)])

    @cached_property
    def sent(self) -> Tensor:
        """Both updates of everybody, (2 n, P)."""
        start, memory = self._begun
        return torch.cat([self._updates(start, count, memory) for count in self._trials])

    @cached_property
    def judged(self) -> Judged:
        """What coalitions' models are known to be worth."""
        return Judged()

    @cached_property
    def _learned(self) -> LearnedRound:
        """Both trainings of everybody, and the models that can be mixed from them."""
        start, memory = self._begun
        effort, trials, updates = self.effort, self._trials, self.sent
        counts = trials[0]
        received = self.recipe.received(updates[: self.owners], counts, np.rint(effort.claimed))
        after = server_part(self.recipe.rule, start, received, memory)
        kept = screen(updates)
        usable, used = np.split(pull(torch.cat([kept, after.usable])), [2 * self.owners])
        claims = np.stack([effort.claimed, np.maximum(effort.claimed + trials[1] - trials[0], 0.0)])
        counted = np.where(usable.reshape(2, -1), np.rint(claims), 0.0)
        first = self._initial if self.whole else start
        past = [] if self.past is None else [rows.repeat(2, 1) for rows in self.past]
        sendings = [Sending(rows, counted.ravel()) for rows in (*past, updates)]
        return LearnedRound(
            models_of_coalitions(self.engine, self.recipe, first, sendings, self.measure.kind, self.judged),
            claims,
            ~used,
            after,
            self._with(torch.where(kept[: self.owners, None], updates[: self.owners], 0.0), counted[0] > 0),
        )

    def _with(self, sent: Tensor, there: NDArray[np.bool_]) -> Tensor:
        """The updates so far, with those of this round (n, P)."""
        if self.recipe.rule.mean is not None:
            return (sent if self.past is None else self.past[0] + sent).unsqueeze(0)
        absent = torch.from_numpy(~there).to(sent.device).unsqueeze(1)
        rows = torch.where(absent, torch.nan, sent).unsqueeze(0)
        return rows if self.past is None else torch.cat([self.past, rows])

    def _updates(self, start: Tensor, counts: NDArray[np.int64], memory: Memory) -> Tensor:
        """Everybody's update as sent, with the same draws for both trainings."""
        draws = (self.seed, max(self.round - 1, 0))
        updates = self.recipe.train(self.engine, start, counts.astype(float), *draws, memory)
        for attack in self.tampering:
            tamper(updates, start, attack)
        return updates


def _again(how: tuple[Any, ...], sent: Tensor, judged: Judged, **work: Any) -> RoundModels:
    """A round whose owners have trained."""
    made = RoundModels(*how, **work)
    vars(made).update(sent=sent, judged=judged)
    return made


def _with_more(counts: NDArray[np.int64], more: int, capacities: NDArray[np.int64]) -> NDArray[np.int64]:
    """`more` samples more than the counts; where the data end, as many fewer; never the same number."""
    fewer = np.where(counts > 0, np.maximum(counts - more, 0), capacities)
    return np.where(counts + more <= capacities, counts + more, fewer)
