"""Owners that send another model than the one they trained, whatever they do and say otherwise.

`ATTACKS` by name use only what an owner itself has: its own update, the model that it received, and its own random
stream; `SEEING` look around (`fedabm.strategies.attacks`).  Rows may be NumPy arrays or tensors; nothing here knows
which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fedabm.common.errors import InputError, check_positive, nearest
from fedabm.common.names import snake
from fedabm.common.random import Streams
from fedabm.games.costs import Linear
from fedabm.games.messages import Surroundings, Tamper
from fedabm.strategies.attacks.base import Attack, normal
from fedabm.strategies.attacks.free_riders import DeltaNoise, DeltaWeights, DisguisedNoise, RandomWeights
from fedabm.strategies.attacks.omniscient import Copycat, InnerProduct, LittleIsEnough, MinMax
from fedabm.strategies.attacks.sybils import Sybils
from fedabm.strategies.base import Wrapper
from fedabm.views import Action, OwnerView, Reports

__all__ = ["ATTACKS", "SEEING", "Attacker", "TamperTwice"]

#: what is sent instead, from the honest rows (k, P), the models received (k, P), the scale and the owners' streams
OwnAttack = Callable[[Any, Any, float, Streams], Any]


def shuffle(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """All numbers in a random order."""
    order = np.stack([one.permutation(rows.shape[1]) for one in rng.each()])
    return rows[np.arange(len(order))[:, None], order]


def sign_flip(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """-scale times the honest numbers."""
    return -scale * rows


def constant(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """The same number, scale, everywhere."""
    return 0.0 * received + scale


def gaussian(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """Normal numbers of width scale instead of the honest ones."""
    return scale * normal(rows, rng)


def noise(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """The honest numbers with normal noise of width scale."""
    return rows + scale * normal(rows, rng)


def random_model(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """A random model: normal numbers, scale times as large as those of the model received."""
    return scale * (received**2).mean(1)[:, None] ** 0.5 * normal(rows, rng)


def nan(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """No numbers at all."""
    return 0.0 * received + np.nan


def inf(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """Infinity everywhere."""
    return 0.0 * received + np.inf


def scaled(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """scale times the honest numbers."""
    return scale * rows


def free_ride(rows: Any, received: Any, scale: float, rng: Streams) -> Any:
    """The model received, with normal noise of width scale to hide it."""
    return received + scale * normal(rows, rng) if scale else received


#: every attack, with its scale unless another is given
ATTACKS: dict[str, tuple[OwnAttack, float]] = {
    "constant": (constant, 1.0),
    "free_ride": (free_ride, 0.0),
    "gaussian": (gaussian, 1.0),
    "inf": (inf, 1.0),
    "nan": (nan, 1.0),
    "noise": (noise, 1.0),
    "random_model": (random_model, 1.0),
    "scaled": (scaled, 10.0),
    "shuffle": (shuffle, 1.0),
    "sign_flip": (sign_flip, 1.0),
}

#: attacks that look around, each with its usual strength; omniscient ones see all updates, and say so
SEEING: dict[str, Attack] = {
    "copycat": Copycat(),
    "delta_noise": DeltaNoise(),
    "delta_weights": DeltaWeights(),
    "disguised_noise": DisguisedNoise(),
    "inner_product": InnerProduct(),
    "little_is_enough": LittleIsEnough(),
    "min_max": MinMax(),
    "random_weights": RandomWeights(),
    "sybils": Sybils(),
}

#: attacks on full parameters, whatever is asked for
_WHOLE = ("free_ride", "random_model")


@dataclass(frozen=True)
class Attacker(Wrapper):
    """Do and say what `truth` does, but send another model: u'_i = attack(u_i), or attack(w + u_i) - w if `full`.

    u_i is the update that it trained from the model w it received; `attack` is one of `ATTACKS` (shuffle, sign_flip,
    constant, gaussian, noise, random_model, nan, inf, scaled, free_ride), one of `SEEING`, which look around
    (delta_weights, little_is_enough, min_max, ...), or an `Attack` of one's own; `scale` says how strong (by default as
    listed there).  Attacks that are `omniscient` see all updates, as nobody could in life.

    With trains=False it contributes nothing and reports what `truth` would, so that its weight follows the claim.  With
    `asks` it reports that unit cost, whatever its own is.  iPFL 2025, Fig. 4: shuffle and sign flip train first,
    constant and gaussian do not, have no cost and ask 1; the paper changes updates, the authors' code full parameters.

    >>> from fedabm.strategies import Honest
    >>> Attacker(Honest(), "sign_flip").label
    'attacker_sign_flip(honest)'

    Parameters
    ----------
    truth : Strategy
        The strategy that it wraps.
    attack : str, optional
        The name of the attack, from `ATTACKS`.
    scale : float | None, optional
        How strong it is; by default as `ATTACKS` says.
    full : bool, optional
        Whether whole models are changed instead of updates.
    trains : bool, optional
        Whether it trains first, and bears the cost.
    asks : float | None, optional
        The unit cost that it reports, whatever its own is.
    """

    example: ClassVar[str] = "Attacker(truth=Honest(), attack='sign_flip')"
    attack: str | Attack = "sign_flip"
    scale: float | None = None
    full: bool = False
    trains: bool = True
    asks: float | None = None
    stacks = Wrapper.stacks

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.asks is not None:
            check_positive("the unit cost that an attacker asks", self.asks, zero=True)
        if not isinstance(self.attack, Attack) and self.attack not in (*ATTACKS, *SEEING):
            known = (*ATTACKS, *SEEING)
            raise InputError(f"no attack is called {self.attack!r}; {nearest(str(self.attack), known)}")
        if self.scale is None:
            usual = self.seeing.scale if self.seeing else ATTACKS[str(self.attack)][1]
            object.__setattr__(self, "scale", usual)
        check_positive("scale of the attack", self.scale, zero=True)

    @property
    def seeing(self) -> Attack | None:
        """The attack, if it is one that looks around."""
        return self.attack if isinstance(self.attack, Attack) else SEEING.get(self.attack)

    @property
    def looks_around(self) -> bool:
        """Whether it looks at more than its own updates."""
        return self.seeing is not None

    @property
    def omniscient(self) -> bool:
        """Whether it sees all updates."""
        return self.seeing is not None and self.seeing.omniscient

    @property
    def label(self) -> str:
        """Its attack and what it wraps."""
        name = snake(type(self.attack).__name__) if isinstance(self.attack, Attack) else self.attack
        return f"{'omniscient_' if self.omniscient else ''}attacker_{name}({self.truth.label})"

    def act(self, view: OwnerView) -> Action:
        """The wrapped strategy's action and report, with another model."""
        action = self.truth.act(view)
        tamper: Tamper = self if action.tamper is None else TamperTwice(action.tamper, self)
        contribution = action.contribution if self.trains else np.zeros_like(action.contribution)
        return replace(action, contribution=contribution, tamper=tamper, report=self._priced(action.report))

    def declare(self, truth: Reports) -> Reports:
        """What the wrapped strategy says, at the price that it asks itself."""
        return self._priced(self.truth.declare(truth))

    def _priced(self, said: Reports) -> Reports:
        if self.asks is None or said.cost is None:
            return said
        return replace(said, cost=Linear(np.full(len(said.contribution), self.asks)))

    @property
    def whole(self) -> bool:
        """Whether it replaces full parameters."""
        return self.full or self.attack in _WHOLE

    def __call__(self, update: Any, received: Any, rng: Streams, around: Surroundings | None = None) -> Any:
        """What it sends instead of its updates (k, P), having received these models (k, P)."""
        if self.seeing is not None:
            return self._seen(self.seeing, update, received, rng, around)
        replaced = ATTACKS[str(self.attack)][0]
        scale = self.scale or 0.0
        if self.whole:
            return replaced(received + update, received, scale, rng) - received
        return replaced(update, received, scale, rng)

    def _seen(self, attack: Attack, update: Any, received: Any, rng: Streams, around: Surroundings | None) -> Any:
        rows = np.arange(len(update))
        around = Surroundings(rows, 0, 0.0 * received[0], rows) if around is None else around
        return replace(attack, scale=self.scale or 0.0)(update, around, rng)


@dataclass(frozen=True)
class TamperTwice:
    """One change of updates upon what another one leaves."""

    first: Tamper
    then: Tamper

    @property
    def whole(self) -> bool:
        """Whether either replaces full parameters."""
        return any(bool(getattr(one, "whole", False)) for one in (self.first, self.then))

    @property
    def privacy_noise(self) -> float | None:
        """The noise of privacy in it, which nothing takes away that looks at the noisy update alone."""
        parts = (self.then,) if self.looks_around else (self.then, self.first)
        return next((found for one in parts if (found := getattr(one, "privacy_noise", None))), None)

    @property
    def looks_around(self) -> bool:
        """Whether either looks at more than its own updates."""
        return any(bool(getattr(one, "looks_around", False)) for one in (self.first, self.then))

    @property
    def omniscient(self) -> bool:
        """Whether either sees all updates."""
        return any(bool(getattr(one, "omniscient", False)) for one in (self.first, self.then))

    def __call__(self, update: Any, received: Any, rng: Streams, around: Surroundings | None = None) -> Any:
        first, then = (
            [around] if getattr(one, "looks_around", False) and around is not None else []
            for one in (self.first, self.then)
        )
        return self.then(self.first(update, received, rng, *first), received, rng, *then)
