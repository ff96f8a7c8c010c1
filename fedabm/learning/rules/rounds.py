"""Rounds of federated averaging: everybody trains locally, some tamper, the server mixes what is sound.

    w <- w + server_rate * sum_i p_i u_i,      u_i = (owner i's model trained from w) - w,  after tampering

with p_i proportional to what owner i claims to contribute (McMahan et al. 2017), or equal among those that claim
anything.  An update that holds NaN or infinity is dropped and its weight goes to the others, so that no broken number
reaches the server's model.  A round pulls no value to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError
from fedabm.common.timing import timed
from fedabm.games.sending import Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.rules.aggregate import aggregate, screen
from fedabm.learning.rules.recipe import Recipe

__all__ = ["Round", "federate", "mix", "one_round", "shares", "tamper"]


class Round(NamedTuple):
    """The server's model (P,) after a round, the updates as sent (n, P), and which of them were sound (n,)."""

    model: Tensor
    updates: Tensor
    kept: Tensor


def one_round(
    engine: Engine,
    start: Tensor,
    contributions: np.ndarray,
    recipe: Recipe,
    seed: int,
    round: int,
    claimed: np.ndarray | None = None,
    tampering: Sequence[Tampering] = (),
) -> Round:
    """One round from the server's model `start`; without `claimed`, claims are true."""
    contributions = np.asarray(contributions, dtype=float)
    updates = recipe.train(engine, start, contributions, seed, round)
    for attack in tampering:
        tamper(updates, start, attack)
    counts = engine.data.counts(contributions) if claimed is None else np.rint(claimed)
    return mix(start, updates, counts, recipe)


@timed("training")
def mix(start: Tensor, updates: Tensor, claimed: np.ndarray, recipe: Recipe) -> Round:
    """The server's part of a round; the start is kept where mixing would leave the range of numbers."""
    weights = torch.from_numpy(shares(claimed[None], recipe)).to(start)
    mixed = aggregate(weights, updates)
    model = start + recipe.server_rate * mixed.rows[0]
    return Round(torch.where(screen(model.unsqueeze(0)), model, start), updates, mixed.kept)


def shares(claimed: np.ndarray, recipe: Recipe) -> np.ndarray:
    """p_i of every owner for claimed contributions (k, n): they sum to 1, or are 0 if nobody claims anything."""
    weights = (claimed > 0).astype(float) if recipe.weighting == "equal" else claimed / max(np.max(claimed), 1.0)
    totals = weights.sum(axis=1, keepdims=True)
    return weights / np.where(totals > 0, totals, 1.0)


def federate(
    engine: Engine,
    contributions: np.ndarray,
    recipe: Recipe,
    rounds: int,
    seed: int,
    tampering: Sequence[Tampering] = (),
) -> tuple[Tensor, np.ndarray]:
    """FedAvg from a fresh model: the model after `rounds` rounds and whose update was ever dropped, (n,)."""
    model = engine.initial(seed)
    broken = torch.zeros(engine.data.owners, dtype=torch.bool, device=engine.device)
    for number in range(rounds):
        # The updates are let go before the next round makes its own.
        model, kept = one_round(engine, model, contributions, recipe, seed, number, None, tampering)[::2]
        broken |= ~kept
    return model, broken.cpu().numpy()


def tamper(updates: Tensor, received: Tensor, attack: Tampering) -> None:
    """Change some owners' updates (n, P) in place; `received` is the model that all (P,) or each (n, P) got."""
    members = torch.from_numpy(np.asarray(attack.members, dtype=np.int64)).to(updates.device)
    rows = updates.index_select(0, members)
    got = received.expand_as(updates).index_select(0, members)
    sent = torch.as_tensor(attack(rows, got), dtype=rows.dtype, device=rows.device)
    if sent.shape != rows.shape:
        raise InputError(f"tampering turned updates {tuple(rows.shape)} into {tuple(sent.shape)}; keep their shape")
    updates.index_copy_(0, members, sent)
