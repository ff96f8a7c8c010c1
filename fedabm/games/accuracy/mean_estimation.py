"""Accuracy of means that owners of unlike data estimate together, by three ways of federating."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fedabm.common.errors import InputError, check_number, nearest
from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.accuracy.base import Accuracy
from fedabm.games.curves import Array

__all__ = ["MeanEstimation", "Sharing"]

#: how an owner uses the others' data: as much as its own, one weight for all of them, or one for each
Sharing = Literal["uniform", "coarse", "fine"]


@dataclass(frozen=True)
class MeanEstimation(Accuracy):
    """Owner i estimates the mean of its own data, a_i(s) = 1 / (1 + err_i(s)), with the help of others' unlike data.

    Samples have variance `noise` (mu_e), the owners' true means vary with variance `spread` (sigma^2).  With weights v
    that sum to 1 on the owners' local means, and a = mu_e / s_i, the expected squared error is

        err_i = mu_e sum_j v_j^2 / s_j + sigma^2 (sum_{j != i} v_j^2 + (sum_{j != i} v_j)^2)

        uniform  v_j = s_j / S for all
        coarse   one best weight on S, the rest on the own mean:  err_i = a b / (a + b),
                 b = mu_e / M + sigma^2 (1 + sum_{j != i} s_j^2 / M^2),      M = sum_{j != i} s_j
        fine     the best weights of all:                         err_i = a b / (a + b),
                 b = sigma^2 + 1 / sum_{j != i} 1 / (sigma^2 + mu_e / s_j)

    Donahue and Kleinberg 2021, "Model-sharing games", Sections 4 to 6; the last two are the minima of the first line
    over the weights, worked out by hand.  Preferences over coalitions depend on the order of errors alone, so that they
    are those of the paper; who joins whom is `fedabm.solving.HedonicGame`.

    Parameters
    ----------
    noise, spread : float
        mu_e and sigma^2.
    sharing : {"uniform", "coarse", "fine"}
        How owners federate.

    Examples
    --------
    >>> sizes = np.array([5.0, 5.0, 25.0])
    >>> MeanEstimation(10.0, 1.0).errors(sizes[None]).round(3)
    array([[1.551, 1.551, 0.408]])
    >>> MeanEstimation(10.0, 1.0, "fine").errors(sizes[None]).round(3)
    array([[0.989, 0.989, 0.345]])
    """

    noise: float = 10.0
    spread: float = 1.0
    sharing: Sharing = "uniform"

    def __post_init__(self) -> None:
        check_number("noise", self.noise)
        check_number("spread", self.spread, zero=True)
        if self.sharing not in get_args(Sharing):
            raise InputError(f"unknown sharing {self.sharing!r}; {nearest(str(self.sharing), get_args(Sharing))}")

    @property
    def concave(self) -> bool:  # type: ignore[override]
        """Where 1 / err is linear in the own data, z: then a = z / (1 + z)."""
        return self.sharing != "uniform"

    @property
    def monotone(self) -> bool:  # type: ignore[override]
        """Only with the best weights of all nobody's data ever hurt."""
        return self.sharing == "fine"

    def values(self, profiles: Array) -> Array:
        """1 / (1 + err): 0 where nobody has any data."""
        return 1.0 / (1.0 + self.errors(profiles))

    def errors(self, profiles: Array) -> Array:
        """Expected squared errors (k, n) at k profiles (k, n); infinite without any data."""
        profiles = np.asarray(profiles, dtype=float)
        with np.errstate(divide="ignore"):
            if self.sharing == "uniform":
                return self._uniform(profiles)
            others = self._coarse(profiles) if self.sharing == "coarse" else self._fine(profiles)
            return 1.0 / (profiles / self.noise + others)

    def _uniform(self, profiles: Array) -> Array:
        total = profiles.sum(axis=-1, keepdims=True)
        part = np.divide(profiles, total, out=np.zeros_like(profiles), where=total > 0)
        apart = sum_of_others(part * part) + (1.0 - part) ** 2
        return self.noise / total + self.spread * apart

    def _coarse(self, profiles: Array) -> Array:
        """1 / b: how precisely the mean of the others tells the own one."""
        rest, squares = sum_of_others(profiles), sum_of_others(profiles * profiles)
        width = self.noise * rest + self.spread * (rest * rest + squares)
        return np.divide(rest * rest, width, out=np.zeros_like(rest), where=rest > 0)

    def _fine(self, profiles: Array) -> Array:
        each = sum_of_others(profiles / (self.spread * profiles + self.noise))
        return each / (self.spread * each + 1.0)
