"""A model whose numbers are no parameters, cut before its last layers.

The front, embeddings and first layers, is the same for all owners, so that what it makes of a sample is found once.
The tail, the last layers, takes that in place of embeddings.  Tensors are shared by all copies of a tail.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from fedabm.common.errors import FedabmError, InputError
from fedabm.learning.language.models import Base
from fedabm.learning.language.packed import Packing, pack_attention

__all__ = ["AskedTokens", "Front", "frozen_copy", "padded", "row", "share", "stack", "tail_of"]


class _EnoughError(Exception):
    """Raised where the front ends, with what arrives there."""


class _Passing(nn.Module):
    """Takes the place of embeddings that change what they are given."""

    def forward(self, input_ids: Tensor | None = None, inputs_embeds: Tensor | None = None, **_: Any) -> Tensor | None:
        return inputs_embeds


def stack(model: nn.Module) -> tuple[nn.Module, str]:
    """The module that holds the list of layers, and the list's name."""
    layers = int(model.config.num_hidden_layers)  # type: ignore[union-attr,arg-type]
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.ModuleList) and len(child) == layers:
                return module, name
    raise InputError(f"{type(model).__name__} has no list of {layers} layers; choose another model")


class Front:
    """Embeddings and all layers but the last `last`: from tokens (n, L) to what arrives at the tail, (n, L, width).

    The number after the last token is padding, and what stands for it is zero.  The model stays where it was loaded, so
    that tokens on another device are brought there, and what is found goes back.
    """

    def __init__(self, base: Base, last: int) -> None:
        holder, name = stack(base.model)
        layers = getattr(holder, name)
        if not 1 <= last <= len(layers):
            raise InputError(f"last must lie in 1 .. {len(layers)}, got {last}; that many layers has the model")
        self.base, self.last = base, last
        self._end = layers[len(layers) - last]

    def __deepcopy__(self, memo: dict[int, Any]) -> Front:
        return self

    @torch.no_grad()
    def __call__(self, texts: Tensor) -> Tensor:
        tokens = texts.to(next(self.base.model.parameters()).device)
        present = tokens < self.base.tokens
        hook = self._end.register_forward_pre_hook(_stop, with_kwargs=True)
        try:
            self.base.model(**arguments(tokens.where(present, 0), present), use_cache=False)
        except _EnoughError as found:
            return (found.args[0] * present.unsqueeze(-1)).to(texts.device)
        finally:
            hook.remove()
        raise InputError(f"{type(self.base.model).__name__} does not go through its layers; choose another model")


def _stop(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    raise _EnoughError(given[0] if given else named["hidden_states"])


def arguments(tokens: Tensor, present: Tensor) -> dict[str, Tensor]:
    """What a model is given for tokens of which some are padding, on either side."""
    return {"input_ids": tokens.long(), "attention_mask": present.long(), "position_ids": places(present)}


def places(present: Tensor) -> Tensor:
    """Where tokens stand in their text: padding does not count."""
    return (present.long().cumsum(-1) - 1).clamp(min=0)


class AskedTokens:
    """Lets a module that treats tokens one by one see those of a row alone that are `asked`; the others get zero."""

    def __init__(self) -> None:
        self.asked: Tensor | None = None
        self._length = 0

    def before(self, module: nn.Module, given: tuple[Tensor]) -> tuple[Tensor] | None:
        """Only the tokens that are asked for."""
        self._length = given[0].shape[1]
        return None if self.asked is None else (given[0][:, self.asked],)

    def after(self, module: nn.Module, given: tuple[Tensor], found: Tensor) -> Tensor | None:
        """As long as the row again."""
        if self.asked is None:
            return None
        return found.new_zeros(1, self._length, found.shape[-1]).index_copy(1, self.asked, found)


def tail_of(base: Base, last: int | None, *, packed: bool = True) -> tuple[nn.Module, AskedTokens | None]:
    """The model with its last layers only (None: with all), checked against the model itself.

    It takes texts as one row without padding.  Nothing comes after the feed-forward part of the last layer, which is
    computed for those tokens alone that are asked for.  A model with an attention of its own kind takes texts with
    padding, and so does any unless `packed`; then there is nobody to ask.
    """
    hook = AskedTokens()
    model, layers = _cut(base, last)
    pack_attention(model)
    mlp = getattr(layers[-1], "mlp", None)
    if isinstance(mlp, nn.Module):
        mlp.register_forward_pre_hook(hook.before)
        mlp.register_forward_hook(hook.after)
    front = None if last is None else Front(base, last)
    try:
        packs = packed and _agree(base, model, front, packed=True)
    except (FedabmError, TypeError, ValueError, RuntimeError):  # its attention takes other arguments
        packs = False
    if packs:
        return model, hook
    model, _ = _cut(base, last)
    if not _agree(base, model, front, packed=False):
        name = type(base.model).__name__
        raise InputError(f"{name} cannot be cut before its last layers; train adapters of all of them (last=None)")
    return model, None


def _cut(base: Base, last: int | None) -> tuple[nn.Module, nn.ModuleList]:
    """Frozen, and for inputs from the front where there is one; with the layers that are left."""
    model = frozen_copy(base.model)
    holder, name = stack(model)
    if last is None:
        return model, getattr(holder, name)
    left = getattr(holder, name)[-last:]
    setattr(holder, name, left)
    for module in model.modules():
        if isinstance(getattr(module, "embeddings", None), nn.Module):
            module.embeddings = _Passing()
    return model, left


def row(x: Tensor, present: Tensor) -> dict[str, Any]:
    """What a tail is given for texts in one row: tokens (n, L) or what the front makes of them."""
    name = "inputs_embeds" if x.is_floating_point() else "input_ids"
    what = {name: x[present].unsqueeze(0), "position_ids": places(present)[present].unsqueeze(0)}
    return {**what, "packing": Packing.of(present)}


def padded(x: Tensor, present: Tensor) -> dict[str, Tensor]:
    """What a tail is given for texts with padding."""
    if x.is_floating_point():
        return {"inputs_embeds": x, "attention_mask": present.long(), "position_ids": places(present)}
    return arguments(x.where(present, 0), present)


@torch.no_grad()
def _agree(base: Base, tail: nn.Module, front: Front | None, *, packed: bool) -> bool:
    """Whether front and tail together do what the model does, with texts of six and four tokens."""
    tokens = torch.arange(12).reshape(2, 6) * 7 % base.tokens
    present = torch.ones_like(tokens, dtype=torch.bool)
    present[1, slice(0, 2) if base.kind == "causal" else slice(4, 6)] = False
    whole = base.model(**arguments(tokens, present), use_cache=False)[0][present]
    x = tokens if front is None else front(tokens.where(present, base.tokens))
    parts = tail(**(row if packed else padded)(x, present), use_cache=False)[0]
    parts = parts[0] if packed else parts[present]
    return torch.allclose(whole, parts, atol=1e-3, rtol=1e-3)


def frozen_copy(model: nn.Module) -> nn.Module:
    """The same modules and the same tensors, which are no longer parameters or buffers."""
    kept = [*model.parameters(), *model.buffers()]
    twin = copy.deepcopy(model, {id(tensor): tensor for tensor in kept})
    for module in twin.modules():
        module.__dict__["reset_parameters"] = None  # who draws a fresh model must leave these numbers as they are
        for held in (module._parameters, module._buffers):
            for name, tensor in list(held.items()):
                if tensor is not None:
                    del held[name]
                    module.__dict__[name] = tensor.detach()
    return twin.eval()


def share(module: nn.Module) -> Iterator[Tensor]:
    """The tensors that copies of a frozen model have in common."""
    for part in module.modules():
        yield from (value for value in vars(part).values() if isinstance(value, Tensor))
