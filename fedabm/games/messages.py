"""What owners send the server for one step of training: data used, data claimed, and who tampers with its update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedabm.common.blame import failed_as
from fedabm.common.errors import UserCodeError, shown
from fedabm.common.random import Streams
from fedabm.common.state import Each, FrozenRecord, Numbers, Thing
from fedabm.games.curves import Array

__all__ = ["EFFORT", "TAMPERING", "Effort", "OwnerMessages", "Surroundings", "Tamper", "Tampering"]

#: changes the update rows (k, P) of some owners, given the models (k, P) they received, with their own streams at hand
Tamper = Callable[[Any, Any, Streams], Any]


class Effort(NamedTuple):
    """What every owner really contributes and what it claims to; owners that left do neither."""

    contribution: Array
    claimed: Array

    def padded(self, seats: int) -> Effort:
        """The same with nothing from those who may still come, up to this many owners."""
        if len(self.claimed) == seats:
            return self
        return Effort(*(np.pad(column, (0, seats - len(column))) for column in self))


class Surroundings(NamedTuple):
    """What an attack that `looks_around` sees beside its own updates.

    members   (k,) the numbers of the owners that attack
    round     the number of the round, from 0 on
    moved     (P,) how the shared model moved in the last round, which everybody knows; 0 where that is unknown
    senders   the numbers of all owners that send an update
    everyone  (n, P) all updates as sent so far, for attacks that are `omniscient`; None for all others
    """

    members: NDArray[np.intp]
    round: int
    moved: Any
    senders: NDArray[np.intp]
    everyone: Any = None


@dataclass(frozen=True)
class Tampering:
    """Owners that change their updates before they send them; `who` says whose doing it is if that goes wrong."""

    members: NDArray[np.intp]
    change: Tamper
    rng: Streams
    who: str = "tampering"

    @property
    def whole(self) -> bool:
        """Whether it replaces whole models, whatever their updates are counted from."""
        return bool(getattr(self.change, "whole", False))

    @property
    def omniscient(self) -> bool:
        """Whether it sees all updates."""
        return bool(getattr(self.change, "omniscient", False))

    @property
    def loss(self) -> float:
        """What a clipped and noisy update reveals, as 1 / noise^2; infinity without noise."""
        noise = getattr(self.change, "privacy_noise", None)
        return np.inf if noise is None else 1.0 / noise**2

    def __call__(self, rows: Any, received: Any, around: Surroundings | None = None) -> Any:
        """The updates (k, P) of the members as they send them; `received` (k, P) is what they trained from."""
        looks = getattr(self.change, "looks_around", False) and around is not None
        try:
            sent = self.change(rows, received, self.rng, *([around] if looks else []))
        except Exception as error:
            if (blamed := failed_as(error, self.who, self.change)) is error:
                raise
            raise blamed from error
        if getattr(sent, "requires_grad", False):
            raise UserCodeError(f"{self.who}: it gave a tensor that still needs gradients; return it as .detach()")
        if not hasattr(sent, "shape") or sent.shape != rows.shape:
            got = f"shape {tuple(sent.shape)}" if hasattr(sent, "shape") else shown(sent)
            raise UserCodeError(f"{self.who}: it gave {got} for updates {tuple(rows.shape)}; keep their shape")
        return sent


@dataclass(frozen=True)
class OwnerMessages:
    """Everybody's effort before and after the owners decided in this step, and who tampers.

    `measured`: somebody wants to know what its own training did to its own model (`RoundResult.progress`).
    `keep`: the server wants to look at this round's updates (`Training.updates`).

    Parameters
    ----------
    before : Effort
        Contributions and claims before the owners decided in this step.
    now : Effort
        Contributions and claims after that.
    tampering : tuple[Tampering, ...], optional
        Who changes its update, and how.
    measured : bool, optional
        Whether somebody asks what its own training gained it.
    keep : bool, optional
        Whether the server asks for the updates of this round.
    """

    before: Effort
    now: Effort
    tampering: tuple[Tampering, ...] = ()
    measured: bool = False
    keep: bool = False

    @classmethod
    def honest(cls, profile: Any) -> OwnerMessages:
        """Everybody contributes and claims this much, as before."""
        effort = Effort(np.asarray(profile, dtype=float), np.asarray(profile, dtype=float))
        return cls(effort, effort)

    def senders(self, trains: Array) -> NDArray[np.int64]:
        """(n,) how many models every owner sends: one if it `trains` on any sample or tampers with its update."""
        sends = np.asarray(trains) > 0
        for attack in self.tampering:
            sends[attack.members] = True
        return sends.astype(np.int64)


#: how these are saved
EFFORT = FrozenRecord(Effort, contribution=Numbers(), claimed=Numbers())
TAMPERING = Each(Thing(Tampering))
