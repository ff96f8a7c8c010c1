"""Any function as an accuracy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError
from fedabm.common.table import FrozenArray
from fedabm.games.accuracy.base import Accuracy, Probed
from fedabm.games.accuracy.random_discovery import check_width
from fedabm.games.curves import Array, Curve

__all__ = ["Custom", "FixedKinks", "Question", "Sloped", "answers", "check_function", "kinks_of"]

#: something that answers one number per profile and owner, (k, n) -> (k, n)
Question = Callable[[Array], Array]


@dataclass(frozen=True)
class Custom(Accuracy):
    """a_i(s) by any function of profiles, (k, n) -> (k, n), concave or not.

    `owners` is for how many owners the function is made; None means any number, and then owners that are missing at the
    end of a profile must count as contributing nothing.  What the solver may rely on is promised by flags: `concave`
    in the own contribution between neighbouring `kinks`, `monotone` in every contribution.  `kinks` are own
    contributions, the same for everyone (b,) or per owner (n, b), or a function of the profile (n,) -> (n, b).
    `gradient`, if given, is exact: (k, n) -> (k, n, n) with entry (i, j) = d a_i / d s_j; otherwise differences are
    taken.  Murhekar et al. 2023, Theorem A.2 has an example without equilibrium.

    >>> Custom(np.sqrt, concave=True).values(np.array([[4.0, 9.0]]))
    array([[2., 3.]])

    Parameters
    ----------
    function : Question
        Profiles (k, owners) in, accuracies (k, owners) out.
    owners : int | None, optional
        For how many owners it is defined; None: any number.
    concave : bool, optional
        Whether accuracies are concave in the own contribution between kinks.
    monotone : bool, optional
        Whether accuracies never fall with any contribution.
    kinks : Any, optional
        Own contributions where curves bend or jump.
    gradient : Question | None, optional
        Exact derivatives: (k, owners) in, (k, owners, owners) out.
    """

    function: Question
    owners: int | None = None
    concave: bool = False
    monotone: bool = False
    kinks: Any = ()
    gradient: Question | None = None

    def __post_init__(self) -> None:
        check_function("accuracy", self.function)
        object.__setattr__(self, "kinks", kinks_of(self.kinks))

    def values(self, profiles: Array) -> Array:
        """The function's answers, checked."""
        return answers(self.function, profiles, self.owners)

    def marginals(self, profile: Array) -> Array:
        """The gradient where it is known, else central differences."""
        profile = np.asarray(profile, dtype=float)
        return super().marginals(profile) if self.gradient is None else self._jacobians(profile[None])[0]

    def curves(self, profile: Array) -> Curve:
        """The function along each owner's own contribution."""
        profile = np.asarray(profile, dtype=float)
        rows, kinks = np.arange(len(profile)), self.kinks(profile)
        if self.gradient is None:
            return Probed(self, profile, rows, kinks)
        return Sloped(self, profile, rows, kinks, self._own_slopes)

    def _own_slopes(self, profiles: Array) -> Array:
        return np.diagonal(self._jacobians(profiles), axis1=1, axis2=2)

    def _jacobians(self, profiles: Array) -> Array:
        expected = (*profiles.shape, profiles.shape[-1])
        return _checked("gradient", self.gradient(profiles), expected)  # type: ignore[misc]


@dataclass(frozen=True)
class Sloped(Probed):
    """Probed curves with exact slopes: `steepness` maps profiles (k, n) to d a_i / d s_i, (k, n)."""

    steepness: Question

    def slope(self, x: Array) -> Array:
        return self.ask(self.steepness, x)


@dataclass(frozen=True)
class FixedKinks:
    """Own contributions with a kink, the same for everyone (b,) or per owner (n, b), whatever the others do."""

    points: FrozenArray

    def __call__(self, profile: Array) -> Array:
        points = self.points.array.astype(float)
        if points.ndim == 2 and len(points) != len(profile):
            raise InputError(f"kinks of {len(points)} owners but {len(profile)} owners; give one row per owner")
        return np.broadcast_to(points, (len(profile), points.shape[-1]))


def check_function(what: str, function: Any) -> None:
    """Raise unless it can be called."""
    if not callable(function):
        raise InputError(f"{what} must be a function of profiles (k, n), got {function!r}; give one from Python")


def kinks_of(kinks: Any) -> Callable[[Array], Array]:
    """Points of kinks as a function of the profile; a function stays as it is."""
    if callable(kinks):
        return kinks
    points = FrozenArray(kinks, "kinks")
    if points.array.ndim not in (1, 2) or not np.all(points.array >= 0):
        raise InputError(f"kinks must be contributions (b,) or (owners, b), got {kinks!r}; give numbers from 0 on")
    return FixedKinks(points)


def answers(function: Question, profiles: Array, owners: int | None = None) -> Array:
    """Ask a function about profiles (k, n) and insist on (k, n) finite numbers."""
    profiles = np.asarray(profiles, dtype=float)
    if owners is not None:
        check_width(profiles, owners)
    return _checked("function", function(profiles), profiles.shape)


def _checked(what: str, reply: Any, expected: tuple[int, ...]) -> Array:
    reply = np.asarray(reply, dtype=float)
    if reply.shape != expected:
        raise InputError(
            f"accuracy {what} gave shape {reply.shape}, not {expected}; return a number per profile and owner"
        )
    if not np.all(np.isfinite(reply)):
        raise InputError(
            f"accuracy {what} gave {reply[~np.isfinite(reply)][0]}; return finite numbers on the whole range"
        )
    return reply
