"""Rounds of federated averaging: everybody trains locally, some tamper, the server mixes what is sound.

    w <- w + server_rate * sum_i p_i u_i,      u_i = (owner i's model trained from w) - w,  after tampering

with p_i proportional to what owner i claims to contribute (McMahan et al. 2017), or equal among those that claim
anything.  An update that holds NaN or infinity is dropped and its weight goes to the others, so that no broken number
reaches the server's model.  A round pulls no value to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_positive
from fedabm.games.sending import Tampering
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD, Optimiser
from fedabm.learning.engine.schedule import Plan
from fedabm.learning.engine.training import Proximal
from fedabm.learning.rules.aggregate import aggregate, screen

__all__ = ["Recipe", "Round", "federate", "mix", "one_round", "shares", "tamper"]


@dataclass(frozen=True)
class Recipe:
    """How owners train in one round and how the server mixes their updates.

    epochs, steps  how long to train: one of them (neither: one epoch)
    proximal       weight of FedProx's term that holds owners to the server's model (Li et al. 2020); 0: FedAvg
    weighting      "data": updates count by claimed contribution; "equal": all alike
    """

    epochs: int | None = None
    steps: int | None = None
    batch: int = 10
    optimiser: Optimiser = field(default_factory=lambda: SGD(0.1))
    proximal: float = 0.0
    server_rate: float = 1.0
    weighting: str = "data"

    def __post_init__(self) -> None:
        if self.epochs is None and self.steps is None:
            object.__setattr__(self, "epochs", 1)
        Plan(self.batch, self.epochs, self.steps)
        if not isinstance(self.optimiser, Optimiser):
            raise InputError(f"optimiser must be SGD or Adam, got {self.optimiser!r}; for instance SGD(0.1)")
        check_positive("proximal", self.proximal, zero=True)
        check_positive("server_rate", self.server_rate)
        if self.weighting not in ("data", "equal"):
            raise InputError(f"weighting must be data or equal, got {self.weighting!r}; choose one of them")

    def train(self, engine: Engine, start: Tensor, contributions: np.ndarray, seed: int, round: int) -> Tensor:
        """Everybody's update (n, P), zero for owners without data."""
        who = np.flatnonzero(engine.data.counts(contributions))
        held = Proximal(self.proximal, start) if self.proximal else None
        how: dict[str, Any] = {"epochs": self.epochs, "steps": self.steps, "batch": self.batch, "proximal": held}
        how |= {"optimiser": self.optimiser, "seed": seed, "round": round}
        moved = engine.train(start, contributions[who], owners=who, **how).sub_(start)
        if len(who) == engine.data.owners:
            return moved
        updates = torch.zeros(engine.data.owners, engine.size, device=engine.device)
        return updates.index_copy_(0, torch.from_numpy(who).to(engine.device), moved)


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
