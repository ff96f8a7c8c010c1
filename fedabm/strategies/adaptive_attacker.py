"""An attack that grows while the server accepts it and shrinks when it is rejected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from fedabm.common.errors import InputError, check_positive, check_range, nearest
from fedabm.common.random import Streams
from fedabm.games.messages import Surroundings, Tamper
from fedabm.strategies.attackers import ATTACKS, TamperTwice
from fedabm.strategies.attacks.base import like
from fedabm.strategies.base import Wrapper
from fedabm.views import Action, Memory, OwnerView

__all__ = ["AdaptiveAttacker"]

#: attacks whose strength is a factor
_SCALED = ("constant", "gaussian", "noise", "scaled", "sign_flip")
#: strengths beyond which nothing is learned any more
_WEAKEST, _STRONGEST = 1e-6, 1e6
_TRUTH = "truth: "


@dataclass(frozen=True)
class AdaptiveAttacker(Wrapper):
    """Do and say what `truth` does, but send an attacked update whose strength follows what was rejected.

        scale_i <- rise * scale_i after an update that was used, scale_i / fall after one that was rejected

    A weighted staircase (Kaernbach 1991): around a bound that it does not know it is accepted in
    log(fall) / (log(rise) + log(fall)) of all rounds, 76% with the defaults.  Sun et al. 2019, Section 4, let attackers
    know the bound; this one learns from what every owner is told, whether its own update was used.

    Parameters
    ----------
    truth : Strategy
        The strategy that it wraps.
    attack : str, optional
        The name of the attack, one of `ATTACKS` whose strength is a factor.
    scale : float, optional
        How strong it is in the first round.
    rise : float, optional
        The factor after an update that was used.
    fall : float, optional
        The divisor after an update that was rejected.
    """

    example: ClassVar[str] = "AdaptiveAttacker(truth=Honest())"
    attack: str = "sign_flip"
    scale: float = 1.0
    rise: float = 1.25
    fall: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attack not in _SCALED:
            raise InputError(f"no attack that can grow is called {self.attack!r}; {nearest(str(self.attack), _SCALED)}")
        check_positive("scale of the attack", self.scale)
        check_range("rise", self.rise, 1.0, 100.0)
        check_range("fall", self.fall, 1.0, 100.0)

    @property
    def label(self) -> str:
        """Its attack and what it wraps."""
        return f"adaptive_attacker_{self.attack}({self.truth.label})"

    def begin(self, n: int, rng: Streams) -> Memory:
        """How strong the attack is, whether anything was sent, and what the wrapped strategy remembers."""
        own = {"scale": np.full(n, float(self.scale)), "sent": np.zeros(n, dtype=bool)}
        return {**own, **_wrapped(self.truth.begin(n, rng) or {})}

    def act(self, view: OwnerView) -> Action:
        """The wrapped strategy's action, with an update that is as strong as has been learned."""
        known = view.memory
        theirs = {name.removeprefix(_TRUTH): part for name, part in known.items() if name.startswith(_TRUTH)}
        action = self.truth.act(replace(view, memory=theirs))
        scale = self._learned(known, view)
        tamper: Tamper = Grown(self.attack, tuple(view.owner.tolist()), tuple(scale.tolist()))
        own = {"scale": scale, "sent": np.ones(len(scale), dtype=bool)}
        memory = {**own, **_wrapped(theirs if action.memory is None else action.memory)}
        tamper = tamper if action.tamper is None else TamperTwice(action.tamper, tamper)
        return replace(action, tamper=tamper, memory=memory)

    def _learned(self, known: Memory, view: OwnerView) -> np.ndarray:
        """The strength after what became of the last update."""
        rejected = np.zeros(len(known["scale"]), dtype=bool) if view.rejected is None else view.rejected
        factor = np.where(rejected, 1.0 / self.fall, self.rise)
        return np.clip(np.where(known["sent"], factor, 1.0) * known["scale"], _WEAKEST, _STRONGEST)


def _wrapped(memory: Memory) -> Memory:
    """What the wrapped strategy remembers, by names that are not the attack's own."""
    return {f"{_TRUTH}{name}": part for name, part in memory.items()}


@dataclass(frozen=True)
class Grown:
    """An attack with a strength for each owner, by number."""

    attack: str
    owners: tuple[int, ...]
    scales: tuple[float, ...]
    looks_around: ClassVar[bool] = True

    def __call__(self, update: Any, received: Any, rng: Streams, around: Surroundings | None = None) -> Any:
        by_owner = dict(zip(self.owners, self.scales, strict=True))
        members = self.owners if around is None else around.members.tolist()
        scale = like(update, np.array([[by_owner[owner]] for owner in members], dtype=np.float32))
        return ATTACKS[self.attack][0](update, received, scale, rng)
