"""When weights are trained and what owners are told: the same for closed forms and for models in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fedabm.common.errors import InputError, check_kind, check_positive, check_whole, finite_vector
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array, Curve, Rows
from fedabm.games.sending import Effort, Sending

__all__ = ["Announced", "Phased", "Schedule", "Wrapping"]


@dataclass(frozen=True)
class Wrapping(Accuracy):
    """Another accuracy, `model`, of which a subclass changes how it is trained or announced."""

    model: Accuracy

    def __post_init__(self) -> None:
        check_kind("the model", self.model, Accuracy)

    @property
    def owners(self) -> int | None:
        """For how many owners this accuracy is defined; None: any number."""
        return getattr(self.model, "owners", None)

    @property
    def concave(self) -> bool:  # type: ignore[override]
        """As the model."""
        return self.model.concave

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """As the model."""
        return self.model.monotone

    @property
    def public(self) -> Accuracy:
        """What the model announces."""
        return self.model.public

    def values(self, profiles: Array) -> Array:
        """The model's accuracies."""
        return self.model.values(profiles)

    def curves(self, profile: Array) -> Curve:
        """The model's curves."""
        return self.model.curves(profile)

    def kinks(self, profile: Array) -> Array:
        """The model's kinks."""
        return self.model.kinks(profile)

    def hand_out(self, rows: Rows, contributions: Array, promised: Array) -> Array:
        """As the model hands out."""
        return self.model.hand_out(rows, contributions, promised)

    def marginals(self, profile: Array) -> Array:
        """The model's marginals."""
        return self.model.marginals(profile)

    def seeded(self, seed: int) -> Self:
        """With the model as it is in a run with this seed."""
        return self._with(self.model.seeded(seed))

    @property
    def progress(self) -> Array | None:  # type: ignore[override]
        """What owners measured on the model."""
        return self.model.progress

    def train(self, sending: Sending) -> tuple[Accuracy, NDArray[np.bool_]]:
        """Train the model."""
        trained, dropped = self.model.train(sending)
        return self._with(trained), dropped

    def tried(self, sending: Sending) -> Self:
        """Let owners measure on the model."""
        return self._with(self.model.tried(sending))

    def sent(self, rows: Rows, reports: Any, *, with_losses: bool = False) -> Any:
        """What the model's owners sent."""
        return self.model.sent(rows, reports, with_losses=with_losses)

    def deliver(self, rows: Rows, exchange: Any) -> Self:
        """Hand the model what the server sends back."""
        return self._with(self.model.deliver(rows, exchange))

    def _with(self, model: Accuracy) -> Self:
        """Around another model; itself if it is the same, so that everybody sees that nothing was learned."""
        return self if model is self.model else replace(self, model=model)


@dataclass(frozen=True)
class Announced(Wrapping):
    """Really trained accuracies, while owners and mechanism reckon with what is `told`, such as a public curve.

    FedBR of Murhekar et al. 2023, Section 5: `Announced(Trained(engine, rounds=50), Curve.measure(...))`.
    """

    told: Accuracy

    def __post_init__(self) -> None:
        super().__post_init__()
        check_kind("what is told", self.told, Accuracy)

    @property
    def public(self) -> Accuracy:
        """What is told."""
        return self.told.public

    def restrict(self, rows: Rows) -> Announced:
        """Both with fewer owners."""
        return Announced(self.model.restrict(rows), self.told.restrict(rows))


@dataclass(frozen=True)
class Phased(Wrapping):
    """Phase 1: owners decide while the weights are frozen.  Phase 2: the weights are trained.

    Phase 1 ends once everybody claims at least `full`, or nobody's claim moved (with `rising`: rose) by more than
    `tolerance` in a step, or after `at_most` steps; without any of the three there is no phase 1.  The server sees
    claims, so claims decide.
    In phase 1 owners train for themselves as far as they measure what that brings (Doshi et al. 2025, Algorithm 3, line
    5); with tries=False they do not, so that all they measure is 0.  In phase 2 contributions are `frozen`: owners that
    keep to the protocol keep them.  `early` trains on what was contributed before the owners decided.
    """

    full: tuple[float, ...] | None = None
    tolerance: float | None = None
    at_most: int | None = None
    early: bool = False
    tries: bool = True
    rising: bool = False
    waited: int = 0
    begun: bool = False

    @property
    def owners(self) -> int | None:
        """As the model, or as many as `full` has entries."""
        return super().owners if self.full is None else len(self.full)

    def train(self, sending: Sending) -> tuple[Accuracy, NDArray[np.bool_]]:
        """Wait, or train the model."""
        if not (self.begun or self._over(sending)):
            # Who waits for full data only waits for the owners to move, so that a run in which nobody does can end.
            counts = self.tolerance is not None or self.at_most is not None
            waiting = replace(self, waited=self.waited + 1) if counts else self
            tried = self.model.tried(sending) if self.tries else self.model
            return waiting._with(tried), np.zeros(len(sending.now.claimed), dtype=bool)
        work = replace(sending, now=sending.before) if self.early else sending
        # What owners would measure from now on moves nobody any more.
        trained, dropped = self.model.train(replace(work, measured=False) if self._waits else work)
        return (self if self.begun else replace(self, begun=True))._with(trained), dropped

    def advance(self, profile: Array) -> Accuracy:
        """One step in which everybody contributes and claims this much, as before."""
        effort = Effort(np.asarray(profile, dtype=float), np.asarray(profile, dtype=float))
        return self.train(Sending(effort, effort))[0]

    def restrict(self, rows: Rows) -> Accuracy:
        """The model with fewer owners; whether to train is decided for all."""
        return self.model.restrict(rows)

    @property
    def frozen(self) -> bool:  # type: ignore[override]
        """Whether phase 2 has begun."""
        return self.begun and self._waits

    @property
    def _waits(self) -> bool:
        """Whether there is a phase 1 at all."""
        return not (self.full is None and self.tolerance is None and self.at_most is None)

    def _over(self, sending: Sending) -> bool:
        """Whether phase 1 has ended."""
        if not self._waits:
            return True
        before, now = sending.before.claimed, sending.now.claimed
        full = self.full is not None and bool(np.all(before >= np.array(self.full)))
        # In the first step nobody has measured anything, so that standing still says nothing.
        moved = now - before if self.rising else np.abs(now - before)
        still = self.tolerance is not None and self.waited > 0 and bool(np.max(moved) <= self.tolerance)
        return full or still or (self.at_most is not None and self.waited >= self.at_most)


@dataclass(frozen=True)
class Schedule:
    """When a protocol trains: together with the owners' decisions, or in a second phase (see `Phased`).

    `until_full` waits for all data of everybody, `until_still` until no claim moves by more than so much; meanwhile
    owners try local training, unless tries=False.  With `while_rising` only claims that rise keep it waiting.
    """

    until_full: bool = False
    until_still: float | None = None
    at_most: int | None = None
    early: bool = False
    tries: bool = True
    while_rising: bool = False

    def __post_init__(self) -> None:
        if self.until_still is not None:
            check_positive("tolerance of standing still", self.until_still, zero=True)
        if self.at_most is not None:
            check_whole("at_most", self.at_most, 0)
        if self.until_full and self.at_most is None and self.until_still is None:
            raise InputError("who waits for everybody's data may wait forever; give until_still or at_most as well")

    def over(self, accuracy: Accuracy, capacities: Sequence[float] | Array) -> Accuracy:
        """An accuracy that is trained by this schedule."""
        full = tuple(finite_vector("capacities", capacities).tolist()) if self.until_full else None
        if full is None and self == Schedule():
            return accuracy
        return Phased(accuracy, full, self.until_still, self.at_most, self.early, self.tries, self.while_rising)
