"""What rules do with many updates at once: which rows are usable, weighted sums, order, and how far rows are apart.

Nothing here pulls a value to the host, so that a round can run on a GPU without waiting.  What must be copied is copied
piece by piece, so that a round needs little more memory than the updates themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.learning.engine.elsewhere import RowsElsewhere, pieces, screen_rows, weighted

__all__ = ["Rows", "aggregate", "by_columns", "here", "inner_products", "ordered", "screen", "squared_distances"]

#: one row per owner, here or with the workers of a cluster
Rows = Tensor | RowsElsewhere


def screen(updates: Rows) -> Tensor:
    """Which rows hold finite numbers only, (n,)."""
    return updates.usable() if isinstance(updates, RowsElsewhere) else screen_rows(updates)


def here(rows: Rows, reason: str) -> Tensor:
    """Rows that may lie elsewhere, brought here for a reason that is said once."""
    return rows if isinstance(rows, Tensor) else rows.gathered(reason)


def by_columns(work: Callable[[Tensor], Tensor], updates: Rows) -> Tensor:
    """The results (..., columns) of some work on pieces (n, columns) of the updates, side by side."""
    if isinstance(updates, RowsElsewhere):
        return updates.by_columns(work)
    return torch.cat([work(part) for part in pieces(updates)], dim=-1)


def aggregate(mixing: Tensor, updates: Rows, usable: Tensor | None = None, order: Tensor | None = None) -> Tensor:
    """mixing (m, n) @ updates (n, P), without the rows that are not `usable` (n,) (default: that hold NaN or infinity).

    Their weight goes to the others in proportion, so that every row of `mixing` keeps its sum; if nobody with weight is
    left, the result is zero.  Mix differences from the last model, not models, so that zero means no change.  Rows are
    added one after the other, in this `order` (None: as they stand); many in blocks, see `weighted`.

    >>> aggregate(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[1.0], [3.0], [float("nan")]])).round(decimals=4)
    tensor([[1.6667]])
    """
    if mixing.dim() != 2 or len(updates.shape) != 2 or mixing.shape[1] != len(updates):
        shapes = f"{tuple(updates.shape)} updates by {tuple(mixing.shape)} weights"
        raise InputError(f"cannot mix {shapes}; give weights (m, n) and updates (n, P)")
    kept = screen(updates) if usable is None else usable
    mixing = mixing.to(updates.device, updates.dtype)
    used = mixing * kept
    left = used.sum(1, keepdim=True)
    scale = torch.where(left == 0, 0.0, mixing.sum(1, keepdim=True) / torch.where(left == 0, 1.0, left))
    weights = used * scale
    if isinstance(updates, RowsElsewhere):
        return torch.stack([updates.mixed(row, kept, order) for row in weights])
    if order is None:
        return by_columns(lambda part: weighted(weights, torch.where(kept.unsqueeze(1), part, 0.0)), updates)
    sorted_weights, sorted_kept = weights.index_select(1, order), kept.index_select(0, order).unsqueeze(1)

    def summed(part: Tensor) -> Tensor:
        return weighted(sorted_weights, torch.where(sorted_kept, part.index_select(0, order), 0.0))

    return by_columns(summed, updates)


def ordered(rows: Tensor, usable: Tensor) -> Tensor:
    """Every column (n,) of the usable rows in order of size; infinity stands for the others, at the end."""
    filled = torch.where(usable.unsqueeze(1), rows, torch.inf)
    if filled.device.type != "cpu":
        return filled.sort(dim=0).values
    filled.numpy().sort(axis=0)  # three to ten times as fast as PyTorch
    return filled


def inner_products(rows: Rows, usable: Tensor) -> Tensor:
    """u_i . u_j (n, n), 0 where a row is not usable; in double precision, in which squares of any row are finite."""

    def squared(part: Tensor) -> Tensor:
        wide = torch.where(usable.to(part.device).unsqueeze(1), part, 0.0).to(torch.float64)
        return wide @ wide.T

    if isinstance(rows, RowsElsewhere):
        products = rows.products(squared)
    else:
        products = torch.zeros(len(rows), len(rows), dtype=torch.float64, device=rows.device)
        for part in pieces(rows):
            products += squared(part)
    return 0.5 * (products + products.T)


def squared_distances(products: Tensor, usable: Tensor) -> Tensor:
    """|u_i - u_j|^2 (n, n) from inner products; infinite where a row is not usable."""
    squares = products.diagonal()
    apart = (squares.unsqueeze(0) + squares.unsqueeze(1) - 2.0 * products).clamp_min(0.0)
    return torch.where(usable.unsqueeze(0) & usable.unsqueeze(1), apart, torch.inf)
