"""Accuracy that is the sum of what the own data bring and what the others' data bring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.games.accuracy.base import Accuracy, Probed
from fedabm.games.accuracy.custom import Custom, Question, Sloped, answers, check_function, kinks_of
from fedabm.games.curves import Array, Curve, Line

__all__ = ["Separable"]


@dataclass(frozen=True)
class Separable(Accuracy):
    """a_i(s) = g_i(s_i) + h_i(s_-i): the best response does not depend on the others, so an equilibrium exists.

    Murhekar et al. 2023, Theorem A.1, which allows g to decrease or to be non-concave: say what it is by the flags
    `concave` (g between neighbouring `kinks`) and `monotone` (g and h).

    `own` maps contributions (k, n) to g, elementwise, with owners along the last axis.  `others` maps profiles (k, n)
    to h, (k, n); for owner i it is asked with s_i set to 0, so that it cannot depend on it.  `own_slope` is g', if
    known; otherwise differences are taken.  `owners` and `kinks` are as in `Custom`.

    >>> Separable(own=np.sqrt, others=lambda s: s.sum(axis=1, keepdims=True) + 0 * s).values(np.array([[4.0, 9.0]]))
    array([[11., 7.]])

    Parameters
    ----------
    own : Question
        g, elementwise: contributions (k, owners) in and out.
    others : Question
        h: profiles (k, owners) in and out; asked with the own contribution at 0.
    owners : int | None, optional
        For how many owners it is defined; None: any number.
    concave : bool, optional
        Whether g is concave between kinks.
    monotone : bool, optional
        Whether g and h never fall.
    kinks : Any, optional
        Own contributions where g bends or jumps.
    own_slope : Question | None, optional
        g', if it is known.
    """

    own: Question
    others: Question
    owners: int | None = None
    concave: bool = False
    monotone: bool = False
    kinks: Any = ()
    own_slope: Question | None = None

    def __post_init__(self) -> None:
        check_function("the own part of an accuracy", self.own)
        check_function("the others' part of an accuracy", self.others)
        object.__setattr__(self, "kinks", kinks_of(self.kinks))

    def values(self, profiles: Array) -> Array:
        """g_i(s_i) + h_i(s_-i)."""
        profiles = np.asarray(profiles, dtype=float)
        return answers(self.own, profiles, self.owners) + self._from_others(profiles)

    def curves(self, profile: Array) -> Curve:
        """g_i along the own contribution, above what the others bring."""
        profile = np.asarray(profile, dtype=float)
        part = Custom(self.own, self.owners)
        rows = np.arange(len(profile))
        kinks = self.kinks(profile)
        own = Probed(part, profile, rows, kinks)
        if self.own_slope is not None:
            own = Sloped(part, profile, rows, kinks, self._own_slopes)
        return own + Line(self._from_others(profile[None])[0], np.zeros(len(profile)))

    def marginals(self, profile: Array) -> Array:
        """Central differences, with g' on the diagonal where it is known."""
        jacobian = super().marginals(profile)
        if self.own_slope is not None:
            np.fill_diagonal(jacobian, self._own_slopes(np.asarray(profile, dtype=float)[None])[0])
        return jacobian

    def _own_slopes(self, profiles: Array) -> Array:
        return answers(self.own_slope, profiles, self.owners)  # type: ignore[arg-type]

    def _from_others(self, profiles: Array) -> Array:
        """h_i(s_-i), asked at every profile with one contribution after the other set to 0."""
        k, n = profiles.shape
        masked = profiles[:, None, :] * (1.0 - np.eye(n))
        return np.diagonal(answers(self.others, masked.reshape(k * n, n)).reshape(k, n, n), axis1=1, axis2=2)
