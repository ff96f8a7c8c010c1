"""Texts one after the other in one row, without padding.

Layers that treat tokens one by one then have only real tokens to treat; attention, which looks at whole texts, takes
the row apart and puts it together again.  Models of transformers take such an attention by its name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from fedabm.common.errors import InputError
from fedabm.learning.language.models import transformers

__all__ = ["Packing", "pack_attention", "register_attention"]

#: the name of this attention among those of transformers
_NAME = "fedabm_packed"
#: what a model may tell its attention beside what is computed here
_HARMLESS = {"position_ids", "use_cache", "cache_position", "position_embeddings", "output_attentions", "is_causal"}


class Packing(NamedTuple):
    """How the T real tokens of texts (n, L) stand in one row.

    places    where each stands among the n times `length` of the texts, padding moved to the right, (T,)
    shape     n, and the length of the longest text
    """

    places: Tensor
    shape: tuple[int, int]

    @classmethod
    def of(cls, present: Tensor) -> Packing:
        """Of texts with padding on either side; a text without tokens has none in the row."""
        lengths = present.sum(-1)
        longest = max(int(lengths.max()), 1)
        order = torch.arange(longest, device=present.device)
        return cls((order < lengths.unsqueeze(-1)).flatten().nonzero().squeeze(-1), (len(present), longest))

    @property
    def full(self) -> bool:
        """Whether all texts are equally long."""
        return len(self.places) == self.shape[0] * self.shape[1]

    @property
    def present(self) -> Tensor:
        """Which of the n times `length` places are taken, (n, length)."""
        taken = torch.zeros(self.shape[0] * self.shape[1], dtype=torch.bool, device=self.places.device)
        return taken.index_fill(0, self.places, True).view(self.shape)

    @property
    def whose(self) -> Tensor:
        """The text of every token in the row, (T,)."""
        return self.places // self.shape[1]

    def apart(self, row: Tensor) -> Tensor:
        """From (T, ...) to (n, length, ...), zero where nothing stands."""
        found = row if self.full else _Apart.apply(row, self.places, self.shape[0] * self.shape[1])
        return found.view(*self.shape, *row.shape[1:])

    def packed_tokens(self, texts: Tensor) -> Tensor:
        """From (n, length, ...) to (T, ...)."""
        flat = texts.reshape(self.shape[0] * self.shape[1], *texts.shape[2:])
        return flat if self.full else _Together.apply(flat, self.places)


class _Apart(torch.autograd.Function):
    """Rows to their places among zeros; backwards they are taken from there, which PyTorch's indexing adds up."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor, size: int) -> Tensor:
        ctx.save_for_backward(places)
        return rows.new_zeros(size, *rows.shape[1:]).index_copy_(0, places, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient.index_select(0, ctx.saved_tensors[0]), None, None


class _Together(torch.autograd.Function):
    """The way back."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.size = len(rows)
        return rows.index_select(0, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        zeros = gradient.new_zeros(ctx.size, *gradient.shape[1:])
        return zeros.index_copy_(0, ctx.saved_tensors[0], gradient), None


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    packing: Packing,
    scaling: float | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[Tensor, None]:
    """Every text looks at itself: queries, keys and values (1, heads, T, d) to (1, T, heads, d)."""
    unknown = sorted(name for name, value in options.items() if value is not None and name not in _HARMLESS)
    if unknown or dropout or attention_mask is not None:
        raise InputError(f"the model's attention has {', '.join(unknown) or 'a mask'}; give its texts with padding")
    q, k, v = (packing.apart(part[0].transpose(0, 1)).transpose(1, 2) for part in (query, key, value))
    causal = bool(getattr(module, "is_causal", False))
    # Padding is on the right: a token that looks back only cannot see it.
    mask = None if causal or packing.full else packing.present[:, None, None, :]
    seen = nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal, scale=scaling, enable_gqa=key.shape[1] != query.shape[1]
    )
    return packing.packed_tokens(seen.transpose(1, 2)).unsqueeze(0), None


def register_attention() -> None:
    """Let models of this process find this attention by its name."""
    # Under a name of its own transformers makes no mask for it.
    transformers().AttentionInterface.register(_NAME, _attention)


def pack_attention(model: nn.Module) -> None:
    """From now on the model takes texts as one row (1, T), together with their `packing`."""
    register_attention()
    for module in model.modules():
        config: Any = getattr(module, "config", None)
        if hasattr(config, "_attn_implementation"):
            config._attn_implementation = _NAME
