"""Rounds of learning one shared model: everybody trains locally, some tamper, the server learns from what is usable.

    w <- w + change,      u_i = (owner i's model trained from w) - w,  after tampering

where the recipe's rule makes the change of the updates u_i (see `base`).  An update that holds NaN or infinity reaches
nobody, and a change that would leave the range of numbers is not made, so that no broken number reaches the server's
model.  A round pulls no value to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedabm.common.timing import timed
from fedabm.games.messages import Surroundings, Tampering
from fedabm.learning.engine.elsewhere import RowsElsewhere
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.host import pull
from fedabm.learning.rules.aggregate import Rows, screen
from fedabm.learning.rules.base import Memory, Received, Rule
from fedabm.learning.rules.recipe import Recipe

__all__ = ["RuleRound", "federate", "one_round", "server_part", "tamper", "tampered"]


class RuleRound(NamedTuple):
    """After a round: the model (P,), the updates as sent (n, P), which were used (n,), what the rule remembers."""

    model: Tensor
    updates: Rows
    usable: Tensor
    memory: Memory


def one_round(
    engine: Engine,
    start: Tensor,
    contributions: np.ndarray,
    recipe: Recipe,
    seed: int,
    round: int,
    claimed: np.ndarray | None = None,
    tampering: Sequence[Tampering] = (),
    memory: Memory | None = None,
    moved: Tensor | None = None,
    *,
    keep: bool = True,
) -> RuleRound:
    """One round from the model `start`; without `claimed` claims are true, without `memory` the rule begins.

    Unless somebody will `keep` the updates, they may stay with the workers of a cluster.
    """
    contributions = np.asarray(contributions, dtype=float)
    known = recipe.rule.begin(start, engine.data.owners) if memory is None else memory
    counts = engine.data.counts(contributions)
    said = counts if claimed is None else np.rint(claimed)
    updates: Rows
    if engine.cluster is not None and not keep:
        asked = None if tampering else said
        updates = recipe.spread(engine, start, contributions, seed, round, known, asked)
    else:
        updates = recipe.train(engine, start, contributions, seed, round, known)
    for attack in tampering:
        updates = tampered(updates, start, attack, round, moved, np.flatnonzero(counts))
    return server_part(recipe.rule, start, recipe.received(updates, counts, said), known)


@timed("training")
def server_part(rule: Rule, start: Tensor, received: Received, memory: Memory) -> RuleRound:
    """The server's part of a round; model and memory stay where the rule would leave the range of numbers."""
    step = rule.step(received, memory)
    model = start + step.change
    fine = screen(model.unsqueeze(0))
    for tensor in _tensors(step.memory):
        fine = fine & screen(tensor.reshape(1, -1))
    kept = _either(fine, step.memory, memory)
    usable = received.usable if step.refused is None else received.usable & ~step.refused
    return RuleRound(torch.where(fine, model, start), received.sent, usable, kept)


def federate(
    engine: Engine,
    contributions: np.ndarray,
    recipe: Recipe,
    rounds: int,
    seed: int,
    tampering: Sequence[Tampering] = (),
    start: Tensor | None = None,
) -> tuple[Tensor, np.ndarray]:
    """From a fresh model or `start` on: the model after `rounds` rounds and whose update was ever dropped, (n,)."""
    model = engine.initial(seed) if start is None else start
    memory, moved = recipe.rule.begin(model, engine.data.owners), None
    broken = torch.zeros(engine.data.owners, dtype=torch.bool, device=engine.device)
    for number in range(rounds):
        how: dict[str, Any] = {"tampering": tampering, "memory": memory, "moved": moved, "keep": False}
        done = one_round(engine, model, contributions, recipe, seed, number, **how)
        moved = done.model - model if tampering else None
        model, memory = done.model, done.memory
        broken |= ~done.usable
        del done  # with the updates, before the next round makes its own
    return model, ~pull(~broken)


def tampered(
    updates: Rows, received: Tensor, attack: Tampering, round: int, moved: Tensor | None, senders: np.ndarray
) -> Rows:
    """Updates after an attack, wherever they lie; of those that lie elsewhere only the attackers' own are brought."""
    if isinstance(updates, RowsElsewhere) and attack.omniscient:
        updates = updates.gathered("an attacker sees all updates")
    if isinstance(updates, Tensor):
        tamper(updates, received, attack, round, moved, senders)
        return updates
    members = torch.from_numpy(np.asarray(attack.members, dtype=np.int64)).to(updates.device)
    past = torch.zeros_like(received) if moved is None else moved
    around = Surroundings(attack.members, round, past, senders, None)
    rows = updates.take(members)
    sent = torch.as_tensor(attack(rows, received.expand_as(rows), around), dtype=rows.dtype, device=rows.device)
    return updates.replaced(members, sent)


def tamper(
    updates: Tensor,
    received: Tensor,
    attack: Tampering,
    round: int = 0,
    moved: Tensor | None = None,
    senders: np.ndarray | None = None,
) -> None:
    """Change some owners' updates (n, P) in place; `received` is the model that all (P,) or each (n, P) got.

    `moved` (P,) is how the shared model moved in the last round, `senders` who sends any update (None: all).
    """
    members = torch.from_numpy(np.asarray(attack.members, dtype=np.int64)).to(updates.device)
    rows = updates.index_select(0, members)
    got = received.expand_as(updates).index_select(0, members)
    known = np.arange(len(updates)) if senders is None else senders
    past = torch.zeros_like(updates[0]) if moved is None else moved
    around = Surroundings(attack.members, round, past, known, updates.clone() if attack.omniscient else None)
    sent = torch.as_tensor(attack(rows, got, around), dtype=rows.dtype, device=rows.device)
    updates.index_copy_(0, members, sent)


def _tensors(memory: Memory) -> list[Tensor]:
    """All tensors in a memory."""
    parts = [_tensors(part) if isinstance(part, tuple) else [part] for part in memory]
    return [tensor for part in parts for tensor in part]


def _either(fine: Tensor, new: Any, old: Any) -> Any:
    """The new memory where `fine` (1,) says so, else the old one; of the same kind."""
    if isinstance(new, Tensor):
        return torch.where(fine, new, old)
    parts = [_either(fine, one, other) for one, other in zip(new, old, strict=True)]
    return type(new)(*parts) if hasattr(new, "_fields") else tuple(parts)
