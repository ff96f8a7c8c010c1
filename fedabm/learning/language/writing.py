"""What a causal model with an owner's adapter writes, token by token, each the likeliest."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from fedabm.common.errors import InputError, check_whole
from fedabm.data.instructions import Problem
from fedabm.learning.engine.flat import Layout
from fedabm.learning.language.adapters import Adapted
from fedabm.learning.language.instructions import prompt
from fedabm.learning.language.models import Base

__all__ = ["answers_to", "written"]


def answers_to(
    base: Base, network: Adapted, row: Tensor, problems: list[Problem], template: tuple[str, str], most: int = 256
) -> list[str]:
    """The answers to problems of a model with an owner's adapter (P,), in at most this many tokens each.

    Parameters
    ----------
    base : Base
        The language model.
    network : Adapted
        Its adapter's form.
    row : Tensor
        The owner's adapter, shape (parameters,).
    problems : list[Problem]
        What to answer.
    template : tuple[str, str]
        What stands before and after a problem.
    most : int, optional
        The most tokens of an answer.

    Returns
    -------
    list[str]
        One answer per problem.
    """
    end = base.tokeniser.eos_token_id
    texts = [prompt(base, one.prompt, "", template) for one in problems]
    said = [written(network, row, text, most, end) for text in texts]
    return [base.tokeniser.decode(tokens, skip_special_tokens=True) for tokens in said]


@torch.no_grad()
def written(network: Adapted, row: Tensor, tokens: list[int], most: int, end: int | None = None) -> list[int]:
    """Up to `most` tokens after those of a prompt, until the sign of the end, which is left out.

    All tokens go through the model for each new one.
    """
    check_whole("most", most)
    if network.head is not None:
        raise InputError("a model with a head writes nothing; choose a causal one")
    model = with_row(network, row)
    said: list[int] = []
    asked = torch.zeros(1, model.answers, dtype=torch.bool)
    asked[0, -1] = True
    while len(said) < most:
        # The place of the next token counts as the last one of an answer; what stands there is not looked at.
        x = [*tokens, *said, 0]
        x = [model.padding] * (model.answers + 1 - len(x)) + x
        likeliest = int(model.said(torch.tensor([x]), asked)[0].argmax())
        if likeliest == end:
            break
        said.append(likeliest)
    return said


def with_row(network: Adapted, row: Tensor) -> Adapted:
    """A copy of the network with an owner's adapter."""
    twin, layout = copy.deepcopy(network), Layout.of(network)
    if row.shape != (layout.size,):
        raise InputError(f"one adapter has {layout.size} numbers, got {tuple(row.shape)}; give one row of models")
    parameters = dict(twin.named_parameters())
    for name, block in zip(layout.names, layout.blocks(row.detach().cpu()), strict=True):
        parameters[name].data = block.clone()
    return twin
