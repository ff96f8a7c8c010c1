"""Low-rank adapters on a frozen model: an owner's row is its adapter matrices and, where the model has one, its head.

    y = W x + (alpha / rank) B A x          A (rank, inputs), B (outputs, rank), B = 0 at first

Hu et al. 2022.  For the engine this is a network like any other: models, mixing, distances, tampering and the rejection
of what is no number work as for any row.  The frozen tensors are no parameters, and are in memory once.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fedabm.common.errors import InputError, check_number, check_range, check_whole
from fedabm.learning.engine.blocks import SeededDropout
from fedabm.learning.language.activations import activations
from fedabm.learning.language.frozen import Front, padded, row, share, tail_of
from fedabm.learning.language.models import Base
from fedabm.learning.language.packed import register_attention

__all__ = ["Adapted", "Adapter", "LowRank"]


@dataclass(frozen=True)
class Adapter:
    """Which layers are adapted and how.

    rank, alpha   the adapter's rank, and its weight times the rank
    dropout       on what goes into A, in training
    targets       the names of linear layers, as in peft
    last          only in the last this many layers, whose inputs are then found once per sample; None: in all
    """

    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0
    targets: tuple[str, ...] = ("q_proj", "v_proj", "query", "value")
    last: int | None = 2

    def __post_init__(self) -> None:
        check_whole("rank", self.rank)
        check_number("alpha", self.alpha)
        check_range("dropout", self.dropout, 0.0, 0.99)
        if self.last is not None:
            check_whole("last", self.last)


class LowRank(nn.Module):
    """A frozen linear layer with an adapter."""

    def __init__(self, linear: nn.Linear, adapter: Adapter) -> None:
        super().__init__()
        self.linear, self.scale = linear, adapter.alpha / adapter.rank
        self.down = nn.Parameter(torch.empty(adapter.rank, linear.in_features))
        self.up = nn.Parameter(torch.empty(linear.out_features, adapter.rank))
        self.dropout = SeededDropout(adapter.dropout) if adapter.dropout else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """As peft does."""
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))
        nn.init.zeros_(self.up)

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output and the adapter's."""
        low = self.dropout(x) @ self.down.T
        plain = self.linear(x)
        found = torch.addmm(plain.flatten(0, -2), low.flatten(0, -2), self.up.T, alpha=self.scale)
        return found.view(plain.shape)


class Adapted(nn.Module):
    """A base with adapters: the network that an engine trains.

    A causal model gives its guesses (n, answers, tokens) of the last `answers` tokens of a text, each from the true
    tokens before it; an encoder, with the mean of a text's tokens and a linear head, one guess (n, classes).  Texts are
    tokens (n, L), padded with the number after the last token (on the left for causal models), or what the front makes
    of them (`prepare`), where padding is zero.
    """

    #: one owner after the other: layers of transformers cannot be mapped over owners
    alone = True

    def __init__(
        self, base: Base, adapter: Adapter, *, answers: int = 0, classes: int = 0, cached: bool = True
    ) -> None:
        super().__init__()
        if (base.kind == "causal") != bool(answers) or (base.kind == "encoder") != bool(classes):
            raise InputError("give the number of answers of a causal model, or the number of classes of an encoder")
        self.adapter = adapter
        self.answers = answers
        self.checksum = base.checksum
        self.front = None if adapter.last is None else Front(base, adapter.last)
        self.cached = cached and self.front is not None
        # Dropout is drawn by text, so that it needs every text for itself.
        self.tail, self._asked = tail_of(base, adapter.last, packed=not adapter.dropout)
        self.padding = base.tokens
        self.layers = int(base.model.config.num_hidden_layers)  # type: ignore[union-attr,arg-type]
        self.before = 0 if adapter.last is None else self.layers - adapter.last
        if not _adapt(self.tail, adapter):
            raise InputError(f"the model has no linear layers called {', '.join(adapter.targets)}; give its own names")
        self.head = nn.Linear(base.width, classes) if classes else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Adapted:
        memo |= {id(tensor): tensor for tensor in share(self.tail)}
        twin = Adapted.__new__(Adapted)
        memo[id(self)] = twin
        twin.__dict__.update({name: copy.deepcopy(value, memo) for name, value in vars(self).items()})
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._asked is not None:
            register_attention()

    def _apply(self, work: Any, recurse: bool = True) -> Adapted:
        """Also of the frozen tensors, those that share memory together."""
        super()._apply(work, recurse)
        moved: dict[tuple[Any, ...], Tensor] = {}
        for part in self.tail.modules():
            for name, value in vars(part).items():
                if isinstance(value, Tensor):
                    key = value.data_ptr(), value.shape, value.stride()
                    moved.setdefault(key, work(value))
                    part.__dict__[name] = moved[key]
        return self

    def prepared(self) -> Adapted:
        """The same network for what `prepare` gives, without a front where nobody needs one any more."""
        twin = copy.deepcopy(self)
        if self.cached:
            twin.front, twin.cached = None, False
        return twin

    def extra_repr(self) -> str:
        """What a run depends on besides the modules."""
        return f"{self.adapter}, answers={self.answers}, base={self.checksum}"

    def prepare(self, tokens: Tensor) -> Tensor:
        """What the front makes of texts (n, L), found once; the tokens themselves where nothing is kept."""
        if not self.cached or self.front is None:
            return tokens
        return activations(self.front, tokens)

    def forward(self, x: Tensor) -> Tensor:
        """Guesses."""
        if self.head is None:
            every = torch.ones(len(x), self.answers, dtype=torch.bool, device=x.device)
            return self.said(x, every).unflatten(0, every.shape)
        x, present = self._seen(x)
        counts = present.sum(-1, keepdim=True).clamp(min=1)
        return self.head(self._sums(x, present) / counts)

    def said(self, x: Tensor, counted: Tensor) -> Tensor:
        """Guesses (m, tokens) of those m tokens of the answers alone that are `counted`, (n, answers)."""
        x, present = self._seen(x)
        if self._asked is None:
            before = torch.arange(x.shape[1] - self.answers - 1, x.shape[1] - 1, device=x.device)
            return self.tail(**padded(x, present), logits_to_keep=before, use_cache=False).logits[counted]
        # where the token before every token of the answer stands in the row
        stands = (present.flatten().cumsum(0) - 1).clamp(min=0).view(present.shape)
        asked = stands[:, -self.answers - 1 : -1][counted]
        self._asked.asked = asked
        try:
            return self.tail(**row(x, present), logits_to_keep=asked, use_cache=False).logits[0]
        finally:
            self._asked.asked = None

    def _seen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What arrives at the tail, and which of it is no padding; where all is padding, all counts."""
        if x.is_floating_point():
            present = (x != 0).any(-1)
        else:
            present = x < self.padding
            x = x if self.front is None else self.front(x)
        return x, present if present.any() else torch.ones_like(present)

    def _sums(self, x: Tensor, present: Tensor) -> Tensor:
        """Sums (n, width) of what the tail makes of a text's tokens."""
        if self._asked is None:
            states = self.tail(**padded(x, present), use_cache=False)[0]
            return (states * present.unsqueeze(-1)).sum(1)
        given = row(x, present)
        states = self.tail(**given, use_cache=False)[0][0]
        return states.new_zeros(len(x), states.shape[-1]).index_add(0, given["packing"].whose, states)


def _adapt(tail: nn.Module, adapter: Adapter) -> int:
    """Put adapters on all targets; how many there were."""
    found = 0
    for module in list(tail.modules()):
        for name, child in list(module.named_children()):
            if name in adapter.targets and isinstance(child, nn.Linear):
                setattr(module, name, LowRank(child, adapter))
                found += 1
    return found
