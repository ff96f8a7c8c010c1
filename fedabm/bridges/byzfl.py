"""Attacks of ByzFL as what owners do to the updates they send.

    from byzfl import ALittleIsEnough
    Colluder(Honest(), ALittleIsEnough(tau=1.5))

ByzFL's attackers know what all honest owners send, and so do colluders with omniscient=True.  Without it they know
less: those that attack alike put the updates that they have trained themselves together, and the attack takes these for
the honest ones, as attackers do that have no spies (Baruch et al. 2019, Section 3.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedabm.common.errors import InputError
from fedabm.common.random import Streams
from fedabm.games.messages import Surroundings
from fedabm.strategies.attacks.base import honest
from fedabm.strategies.base import Wrapper
from fedabm.views import Action, OwnerView

__all__ = ["Colluder"]

#: attacks that draw from the global stream, and what to use here
_DRAWING = {"Gaussian": "Attacker(attack='gaussian')", "LabelFlipping": "a defect of the data"}


@dataclass(frozen=True)
class Colluder(Wrapper):
    """Do and say what `truth` does, but send what an attack of ByzFL makes of the updates of all such owners.

    u'_i = attack(u_j: j plays this strategy), the same for all of them; if `omniscient` attack(u_j: j does not), as in
    ByzFL.  Any callable from a matrix of updates (k, P) to one update (P,) will do.  Owners collude if they are given
    the same strategy object.

    Parameters
    ----------
    truth : Strategy
        What it does and says apart from its update.
    attack : Any, optional
        From updates (k, parameters) to one update (parameters,).
    omniscient : bool, optional
        Whether it sees all honest updates, which nobody could in life without spies, instead of the colluders' own.
    """

    example: ClassVar[str] = "Colluder(truth=Honest(), attack=byzfl.SignFlipping())"
    attack: Any = None
    omniscient: bool = False
    stacks = Wrapper.stacks

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self.attack).__name__
        if not callable(self.attack):
            raise InputError(f"an attack of ByzFL is wanted, got {self.attack!r}; give for instance SignFlipping()")
        if name in _DRAWING:
            raise InputError(f"{name} of ByzFL does not fit here; use {_DRAWING[name]}")

    @property
    def label(self) -> str:
        """Its attack and what it wraps."""
        return f"{'omniscient_' if self.omniscient else ''}colluder_{type(self.attack).__name__}({self.truth.label})"

    @property
    def looks_around(self) -> bool:
        """Whether it looks at more than the colluders' updates."""
        return self.omniscient

    def act(self, view: OwnerView) -> Action:
        """The wrapped strategy's action and report, with another model."""
        action = self.truth.act(view)
        if action.tamper is not None:
            raise InputError(f"{self.truth.label} attacks already; collude around one that does not, such as Honest()")
        return replace(action, tamper=self)

    def __call__(self, update: Any, received: Any, rng: Streams, around: Surroundings | None = None) -> Any:
        """What they send instead of their updates (k, P)."""
        if self.omniscient and around is None:
            raise InputError(f"{self.label} sees all updates, and here nobody shows them; let owners train by Learning")
        return 0.0 * received + self.attack(update if around is None else honest(around))
