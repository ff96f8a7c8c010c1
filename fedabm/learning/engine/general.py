"""Gradients of any network: of many owners with `torch.func.vmap`, or of one owner with the module itself."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fedabm.common.errors import InputError
from fedabm.data.federated import IGNORED
from fedabm.learning.engine.blocks import SeededDropout
from fedabm.learning.engine.flat import Layout
from fedabm.learning.engine.passes import sample_keys

__all__ = ["Alone", "Mapped", "answer_losses", "losses"]


def losses(outputs: Tensor, y: Tensor) -> Tensor:
    """The loss of every sample: cross-entropy for labels, squared error for targets; outputs (..., batch, k).

    The largest output is taken off first (as `log_softmax` does): huge outputs, as of a poisoned model, would otherwise
    cancel and look like a perfect guess.
    """
    if y.is_floating_point():
        return (outputs.squeeze(-1) - y) ** 2
    return -outputs.log_softmax(-1).gather(-1, y.expand(outputs.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def answer_losses(outputs: Tensor, y: Tensor) -> Tensor:
    """The loss of every sample whose answer is several labels: the mean of those that count.

    Outputs (..., batch, labels, k) and labels (batch, labels), of which some may be `IGNORED`.
    """
    counted = y != IGNORED
    each = losses(outputs, y.where(counted, 0)).where(counted, 0.0)
    return each.sum(-1) / counted.sum(-1).clamp(min=1)


def said_losses(guesses: Tensor, y: Tensor, counted: Tensor) -> Tensor:
    """The same for guesses (m, k) of those labels alone that count, `counted` (batch, labels) of `y`."""
    each, whose = losses(guesses, y[counted]), counted.nonzero()[:, 0]
    return each.new_zeros(len(y)).index_add(0, whose, each) / counted.sum(-1).clamp(min=1)


class Mapped:
    """Any network without dropout, mapped over the owners."""

    def __init__(self, network: nn.Module) -> None:
        if any(isinstance(module, SeededDropout) for module in network.modules()):
            raise InputError('dropout cannot be mapped owner by owner; use path="auto" or path="serial"')
        self._network = copy.deepcopy(network).to("meta")
        self._names = Layout.of(network).names
        self._gradient = torch.func.vmap(torch.func.grad(self._loss))

    def _loss(self, blocks: dict[str, Tensor], x: Tensor, y: Tensor, weights: Tensor) -> Tensor:
        return (losses(torch.func.functional_call(self._network, blocks, (x,)).float(), y) * weights).sum()

    def outputs(self, blocks: Sequence[Tensor], x: Tensor) -> Tensor:
        """Outputs (models, batch, k) of samples (batch, ...) that all models see."""
        named = dict(zip(self._names, blocks, strict=True))
        return torch.func.vmap(lambda one: torch.func.functional_call(self._network, one, (x,)))(named)

    def gradients(self, blocks: Sequence[Tensor], x: Tensor, y: Tensor, weights: Tensor, keys: Tensor | None) -> list:
        """The gradient of every block of the weighted loss of each owner; x (owners * batch, ...)."""
        named = dict(zip(self._names, blocks, strict=True))
        found = self._gradient(named, x.unflatten(0, y.shape), y, weights)
        return [found[name] for name in self._names]


class Alone:
    """One owner at a time through the module itself: each worker thread has its own copy."""

    def __init__(self, network: nn.Module) -> None:
        self._network = copy.deepcopy(network)
        self._parameters = list(self._network.parameters())
        self._dropouts = [module for module in self._network.modules() if isinstance(module, SeededDropout)]
        #: whether the network answers with several labels and can be asked for some of them
        self.speaks = bool(getattr(network, "answers", 0)) and hasattr(network, "said")

    def adopt(self, blocks: Sequence[Tensor], keys: Tensor | None, batch: int) -> None:
        """Make the blocks (1, ...) the module's parameters; no copy is made."""
        for parameter, block in zip(self._parameters, blocks, strict=True):
            parameter.data = block[0]
        for number, module in enumerate(self._dropouts):
            module.keys = None if keys is None else sample_keys(keys[0], batch, number)

    def outputs(self, blocks: Sequence[Tensor], x: Tensor) -> Tensor:
        """Outputs (1, batch, k) of one model."""
        self.adopt(blocks, None, len(x))
        return self._network(x).unsqueeze(0)

    def gradients(self, blocks: Sequence[Tensor], x: Tensor, y: Tensor, weights: Tensor, keys: Tensor | None) -> list:
        """The gradient of every block (1, ...) of the weighted loss."""
        self.adopt(blocks, keys, len(x))
        with torch.enable_grad():
            loss = (self._losses(x, y[0]) * weights[0]).sum()
            found = torch.autograd.grad(loss, self._parameters)
        return [gradient.unsqueeze(0) for gradient in found]

    def _losses(self, x: Tensor, y: Tensor) -> Tensor:
        """Of every sample; a network that can is asked for those labels of an answer alone that count."""
        if self.speaks:
            counted = y != IGNORED
            return said_losses(self._network.said(x, counted).float(), y, counted)  # type: ignore[operator]
        outputs = self._network(x).float()
        return answer_losses(outputs, y) if outputs.dim() == 3 else losses(outputs, y)

    def judged(self, blocks: Sequence[Tensor], x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Loss and hit (1, batch) of every sample, as `judge` has them, of a network that `speaks`."""
        self.adopt(blocks, None, len(x))
        counted = y != IGNORED
        guesses, answers = self._network.said(x, counted), y[counted]  # type: ignore[operator]
        loss = said_losses(guesses, y, counted)
        right = ~counted
        right[counted] = guesses.argmax(-1) == answers
        return loss.unsqueeze(0), (right.all(-1) & ~loss.isnan()).to(loss.dtype).unsqueeze(0)
