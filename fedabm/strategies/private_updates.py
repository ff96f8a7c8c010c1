"""Owners that add noise to their updates, so that nobody learns much of their data from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedabm.common.errors import check_number
from fedabm.common.privacy import check_accountant
from fedabm.common.random import Streams
from fedabm.strategies.attackers import TamperTwice
from fedabm.strategies.attacks.base import normal
from fedabm.strategies.base import Wrapper
from fedabm.views import Action, OwnerView

__all__ = ["PrivateUpdates"]


@dataclass(frozen=True)
class PrivateUpdates(Wrapper):
    """Do and say what `truth` does, but clip the update and add normal noise before it is sent.

        u'_i = u_i min(1, clip / |u_i|) + noise * clip * xi,      xi ~ N(0, I)

    McMahan et al. 2018, Algorithm 1, with the noise added by the owner itself, so that it need not trust the server.
    The column `epsilon` of the owners' frame is what all updates so far reveal at delta = 1e-5, by the accountant of
    Opacus; `noise_for(epsilon, updates)` finds the noise for a wanted one.  Who does not train sends no noise.

    >>> from fedabm.strategies import Honest
    >>> PrivateUpdates(Honest(), noise=0.5).label
    'private_updates(honest, noise=0.5)'

    Parameters
    ----------
    truth : Strategy
        The strategy that it wraps.
    noise : float, optional
        Standard deviation of the noise, as a multiple of the clip.
    clip : float, optional
        The longest update that is sent.
    """

    example: ClassVar[str] = "PrivateUpdates(truth=Honest(), noise=1.0, clip=1.0)"
    noise: float = 1.0
    clip: float = 1.0
    stacks = Wrapper.stacks

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("noise", self.noise)
        check_number("clip", self.clip)
        check_accountant()

    @property
    def label(self) -> str:
        """Its noise and what it wraps."""
        return f"private_updates({self.truth.label}, noise={self.noise:g})"

    @property
    def privacy_noise(self) -> float:
        """By what the accountant of a run knows that its updates are noisy."""
        return self.noise

    def act(self, view: OwnerView) -> Action:
        """The wrapped strategy's action, with a noisy update."""
        action = self.truth.act(view)
        return replace(action, tamper=self if action.tamper is None else TamperTwice(action.tamper, self))

    def __call__(self, update: Any, received: Any, rng: Streams) -> Any:
        """What it sends instead of its updates (k, P); rows of zeros, of who did not train, stay."""
        length = (update**2).sum(1)[:, None] ** 0.5
        trained = length > 0
        factor = self.clip / (length + (self.clip - length) * (length < self.clip))
        return trained * (update * factor + self.noise * self.clip * normal(update, rng))
