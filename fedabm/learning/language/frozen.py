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

from fedabm.common.errors import InputError
from fedabm.learning.language.models import Base

__all__ = ["Front", "frozen_copy", "share", "stack", "tail_of"]


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

    The number after the last token is padding, and what stands for it is zero.
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
    def __call__(self, tokens: Tensor) -> Tensor:
        present = tokens < self.base.tokens
        hook = self._end.register_forward_pre_hook(_stop, with_kwargs=True)
        try:
            self.base.model(**arguments(tokens.where(present, 0), present), use_cache=False)
        except _EnoughError as found:
            return found.args[0] * present.unsqueeze(-1)
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


class _AskedTokens:
    """Lets a module that treats tokens one by one see the last `asked` of them only; the others get zero."""

    def __init__(self, asked: int) -> None:
        self.asked, self.length = asked, 0

    def before(self, module: nn.Module, given: tuple[Tensor]) -> tuple[Tensor]:
        """Only the tokens that are asked for."""
        self.length = given[0].shape[1]
        return (given[0][:, -self.asked :],)

    def after(self, module: nn.Module, given: tuple[Tensor], found: Tensor) -> Tensor:
        """As long as the text again."""
        return nn.functional.pad(found, (0, 0, self.length - found.shape[1], 0))


def tail_of(base: Base, last: int, asked: int | None = None) -> nn.Module:
    """The model with its last layers only, for inputs from the front; checked against the model itself.

    Of a causal model nobody may look at more than the last `asked` tokens; nothing comes after the feed-forward part of
    the last layer, so that it need not be computed for the others.
    """
    model = frozen_copy(base.model)
    holder, name = stack(model)
    setattr(holder, name, getattr(holder, name)[-last:])
    for module in model.modules():
        if isinstance(getattr(module, "embeddings", None), nn.Module):
            module.embeddings = _Passing()
    mlp = getattr(getattr(holder, name)[-1], "mlp", None)
    if asked is not None and isinstance(mlp, nn.Module):
        hooks = _AskedTokens(asked)
        mlp.register_forward_pre_hook(hooks.before)
        mlp.register_forward_hook(hooks.after)
    _check(base, model, Front(base, last), asked)
    return model


@torch.no_grad()
def _check(base: Base, tail: nn.Module, front: Front, asked: int | None) -> None:
    """Raise unless front and tail together do what the model does, with the tokens that are asked for."""
    tokens = torch.arange(12).reshape(2, 6) * 7 % base.tokens
    present = torch.ones_like(tokens, dtype=torch.bool)
    whole = base.model(**arguments(tokens, present), use_cache=False)[0]
    hidden = front(tokens)
    parts = tail(inputs_embeds=hidden, attention_mask=present.long(), position_ids=places(present), use_cache=False)[0]
    shown = slice(None) if asked is None else slice(-asked, None)
    if not torch.allclose(whole[:, shown], parts[:, shown], atol=1e-3, rtol=1e-3):
        name = type(base.model).__name__
        raise InputError(f"{name} cannot be cut before its last layers; train adapters of all of them (last=None)")


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
