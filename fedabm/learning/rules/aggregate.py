"""The server's side of a round: which updates are sound, and how they are mixed.

Nothing here pulls a value to the host, so that a round can run on a GPU without waiting.  What must be copied is copied
piece by piece, so that a round needs little more memory than the updates themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_positive

__all__ = ["Mixed", "aggregate", "federated_average", "screen"]

#: how many numbers are copied at once
_PIECE = 1 << 24


class Mixed(NamedTuple):
    """Mixed rows (m, P), and which owners' rows were sound enough to be used, (n,)."""

    rows: Tensor
    kept: Tensor


def screen(updates: Tensor) -> Tensor:
    """Which rows hold finite numbers only, (n,): zero times anything else is not a number (much faster than asking)."""
    return torch.stack([(part * 0.0).sum(dim=1) for part in _pieces(updates)]).sum(dim=0) == 0.0


def _pieces(updates: Tensor) -> tuple[Tensor, ...]:
    """All rows, some columns at a time."""
    return updates.split(max(_PIECE // max(len(updates), 1), 1), dim=1)


def aggregate(mixing: Tensor, updates: Tensor) -> Mixed:
    """mixing (m, n) @ updates (n, P), without the rows that hold NaN or infinity.

    Their weight goes to the others in proportion, so that every row of `mixing` keeps its sum; if nobody with weight is
    left, the result is zero.  Mix differences from the last model, not models, so that zero means no change.

    >>> mixed = aggregate(torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[1.0], [3.0], [float("nan")]]))
    >>> round(mixed.rows.item(), 4), mixed.kept.tolist()
    (1.6667, [True, True, False])
    """
    if mixing.dim() != 2 or updates.dim() != 2 or mixing.shape[1] != len(updates):
        shapes = f"{tuple(updates.shape)} updates by {tuple(mixing.shape)} weights"
        raise InputError(f"cannot mix {shapes}; give weights (m, n) and updates (n, P)")
    kept = screen(updates)
    mixing = mixing.to(updates)
    sound = mixing * kept
    left = sound.sum(1, keepdim=True)
    scale = torch.where(left == 0, 0.0, mixing.sum(1, keepdim=True) / torch.where(left == 0, 1.0, left))
    weights, whose = sound * scale, kept.unsqueeze(1)
    return Mixed(torch.cat([weights @ torch.where(whose, part, 0.0) for part in _pieces(updates)], dim=1), kept)


def federated_average(start: Tensor, models: Tensor, contributions: Tensor, server_rate: float = 1.0) -> Mixed:
    """FedAvg: start + server_rate * sum_i s_i / S (model_i - start), (P,); McMahan et al. 2017.

    Broken models are dropped; if no sound model with a contribution is left, the start is kept.
    """
    check_positive("server_rate", server_rate)
    weights = torch.as_tensor(contributions, dtype=start.dtype, device=start.device)
    share = weights / torch.where(weights.sum() > 0, weights.sum(), 1.0)
    mixed = aggregate(share.unsqueeze(0), models - start)
    return Mixed(start + server_rate * mixed.rows[0], mixed.kept)
