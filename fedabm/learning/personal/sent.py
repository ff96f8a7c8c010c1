"""What reached the server from owners that train: models on their device, of which a mechanism sees tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.games.curves import Array
from fedabm.learning.engine.host import pull
from fedabm.learning.rules.aggregate import screen
from fedabm.views import Sent, Since

__all__ = ["SentModels"]


@dataclass(frozen=True, eq=False)
class SentModels(Sent):
    """What owners sent in a round, one row per owner that takes part.

    models    (n, P) as sent, after tampering; rows that are not usable may hold anything
    start     (n, P) what the owners started from
    initial   (P,) the model that everybody began with in the first round
    measured  losses on each owner's own training data, as `losses` gives them, if the mechanism asks for them
    bounds    where each layer's parameters begin, and the end (None: all are one layer)
    """

    models: Tensor
    start: Tensor
    initial: Tensor
    measured: tuple[Array, Array] | None = None
    bounds: tuple[int, ...] | None = None

    @property
    def usable_models(self) -> Tensor:
        """The models (n, P), those that are not usable replaced by what their owners started from."""
        if np.all(self.usable):
            return self.models
        return torch.where(self._device(self.usable)[:, None], self.models, self.start)

    def products(self) -> Array:
        """Inner products (n, n) of the models relative to the initial one."""
        moves = self._moves()
        return _table(moves @ moves.T)

    def cosines(self, since: Since) -> Array:
        """The cosine of every two moves, (n, n); 0 between a model that stood still and any other."""
        return cosines(self.usable_models - (self.initial if since == "initial" else self.start))

    def lengths(self, weights: Array | None = None) -> Array:
        """|sum_j w_kj u_j| with u_j the moves since the start, for weights (k, n); without them |u_j|."""
        moves = torch.nan_to_num(self.usable_models - self.start)
        return _table((moves if weights is None else self._device(weights).to(moves) @ moves).norm(dim=1))

    def drifts(self) -> Array:
        """|s_i - theta^0|, (n,): how far from the initial model each owner started."""
        return _table((self.start - self.initial).norm(dim=1))

    def gaps(self) -> Array:
        """|w_j - s_i|, (n, n): how far each model is from where owner i started."""
        # Differences, not products: the distance of a model from itself is exactly 0.
        return _table(torch.cdist(self.start, self.usable_models, compute_mode="donot_use_mm_for_euclid_dist"))

    def losses(self) -> tuple[Array, Array]:
        """Losses as owner i measures them on its own data: of every model j, (n, n), and of its start, (n,)."""
        if self.measured is None:
            raise InputError("nobody was asked to measure losses; set asks_losses = True in the mechanism")
        return self.measured

    def mix(
        self, weights: Array, who: NDArray[np.intp] | None = None, instead: NDArray[np.intp] | None = None
    ) -> Tensor:
        """Mixtures (n, P) by `weights` (k, n); see `Sent`."""
        models, shares = self.usable_models, self._device(weights).to(self.models)
        rows = (shares[0] @ models)[None] if len(shares) == 1 else shares @ models
        found = self._device(np.any(weights, axis=1)) & screen(rows)
        if who is not None:
            places = self._device(who)
            rows, found = rows[places], found[places]
        return torch.where(found[:, None], rows, self.start if instead is None else self.start[self._device(instead)])

    def moved(self, weights: Array) -> Tensor:
        """theta_i + sum_j w_ij (theta_j - theta^0), (n, P)."""
        return (self.usable_models.double() + self._device(weights) @ self._moves()).to(self.models)

    def stepped(self, weights: Array) -> Tensor:
        """s_i + sum_j w_ij u_j with u_j the moves since the start, for weights (n, n)."""
        moved = self.start + self._device(weights).to(self.models) @ (self.usable_models - self.start)
        return torch.where(screen(moved).unsqueeze(1), moved, self.start)

    def masked(self, weights: Array, shares: Array, length: float) -> Tensor:
        """s_i + the largest share_i of the entries of u, layer by layer, with u = sum_j w_j length u_j / |u_j|."""
        moves = (self.usable_models - self.start).nan_to_num(0.0, 0.0, 0.0)
        sizes = moves.double().norm(dim=1).clamp_min(1e-7)
        shared = ((self._device(weights) * length / sizes).to(moves) @ moves).unsqueeze(0)
        bounds = self.bounds or (0, shared.shape[1])
        layers = shared.split(np.diff(bounds).tolist(), dim=1)
        kept = torch.cat([_largest(layer, shares) for layer in layers], dim=1)
        return self.start + torch.where(screen(kept).unsqueeze(1), kept, 0.0)

    def _moves(self) -> Tensor:
        """Models relative to the initial one, in double precision, in which squares of any model are finite."""
        return self.usable_models.double() - self.initial.double()

    def _device(self, numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self.models.device)


def cosines(rows: Tensor) -> Array:
    """The cosine of every pair of rows, (n, n); 0 between a row of zeros and any other, 1 of a row with itself."""
    rows = torch.nan_to_num(rows)
    # Huge numbers would overflow when they are squared.
    rows = rows / rows.abs().amax(dim=1, keepdim=True).clamp(min=torch.finfo(rows.dtype).tiny)
    units = rows / rows.norm(dim=1, keepdim=True).clamp(min=0.5)
    found = np.clip(_table(units @ units.T), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def _table(found: Tensor) -> Array:
    """On the host, in double precision."""
    return pull(found).astype(float)


def _largest(layer: Tensor, shares: Array) -> Tensor:
    """The largest entries of a layer (1, size) by magnitude, for each share this many of them, (n, size)."""
    size = layer.shape[1]
    order = layer[0].abs().argsort(descending=True, stable=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(size, device=layer.device)
    most = torch.from_numpy(np.ceil(shares * size - 1e-9)).to(layer.device)
    return torch.where(place.unsqueeze(0) < most.unsqueeze(1), layer, 0.0)
