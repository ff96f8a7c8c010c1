"""What rules do with many updates at once: which rows are usable, weighted sums, order, and how far rows are apart.

Nothing here pulls a value to the host, so that a round can run on a GPU without waiting.  What must be copied is copied
piece by piece, so that a round needs little more memory than the updates themselves.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fedabm.common.errors import InputError

__all__ = ["aggregate", "by_columns", "inner_products", "ordered", "screen", "squared_distances"]

#: how many numbers are copied at once
_PIECE = 1 << 24


def screen(updates: Tensor) -> Tensor:
    """Which rows hold finite numbers only, (n,): zero times anything else is not a number (much faster than asking)."""
    return torch.stack([(part * 0.0).sum(dim=1) for part in _pieces(updates)]).sum(dim=0) == 0.0


def _pieces(updates: Tensor) -> tuple[Tensor, ...]:
    """All rows, some columns at a time."""
    return updates.split(max(_PIECE // max(len(updates), 1), 1), dim=1)


def by_columns(work: Callable[[Tensor], Tensor], updates: Tensor) -> Tensor:
    """The results (..., columns) of some work on pieces (n, columns) of the updates, side by side."""
    return torch.cat([work(part) for part in _pieces(updates)], dim=-1)


def aggregate(mixing: Tensor, updates: Tensor, usable: Tensor | None = None) -> Tensor:
    """mixing (m, n) @ updates (n, P), without the rows that are not `usable` (n,) (default: that hold NaN or infinity).

    Their weight goes to the others in proportion, so that every row of `mixing` keeps its sum; if nobody with weight is
    left, the result is zero.  Mix differences from the last model, not models, so that zero means no change.

    >>> aggregate(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[1.0], [3.0], [float("nan")]])).round(decimals=4)
    tensor([[1.6667]])
    """
    if mixing.dim() != 2 or updates.dim() != 2 or mixing.shape[1] != len(updates):
        shapes = f"{tuple(updates.shape)} updates by {tuple(mixing.shape)} weights"
        raise InputError(f"cannot mix {shapes}; give weights (m, n) and updates (n, P)")
    kept = screen(updates) if usable is None else usable
    mixing = mixing.to(updates)
    used = mixing * kept
    left = used.sum(1, keepdim=True)
    scale = torch.where(left == 0, 0.0, mixing.sum(1, keepdim=True) / torch.where(left == 0, 1.0, left))
    weights = used * scale
    return by_columns(lambda part: weights @ torch.where(kept.unsqueeze(1), part, 0.0), updates)


def ordered(rows: Tensor, usable: Tensor) -> Tensor:
    """Every column (n,) of the usable rows in order of size; infinity stands for the others, at the end."""
    filled = torch.where(usable.unsqueeze(1), rows, torch.inf)
    if filled.device.type != "cpu":
        return filled.sort(dim=0).values
    filled.numpy().sort(axis=0)  # three to ten times as fast as PyTorch
    return filled


def inner_products(rows: Tensor, usable: Tensor) -> Tensor:
    """u_i . u_j (n, n), 0 where a row is not usable; in double precision, in which squares of any row are finite."""
    products = torch.zeros(len(rows), len(rows), dtype=torch.float64, device=rows.device)
    for part in _pieces(rows):
        wide = torch.where(usable.unsqueeze(1), part, 0.0).to(torch.float64)
        products += wide @ wide.T
    return 0.5 * (products + products.T)


def squared_distances(products: Tensor, usable: Tensor) -> Tensor:
    """|u_i - u_j|^2 (n, n) from inner products; infinite where a row is not usable."""
    squares = products.diagonal()
    apart = (squares.unsqueeze(0) + squares.unsqueeze(1) - 2.0 * products).clamp_min(0.0)
    return torch.where(usable.unsqueeze(0) & usable.unsqueeze(1), apart, torch.inf)
