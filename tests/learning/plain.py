"""The oracle of the engine's tests: a plain PyTorch loop over owners, with modules and `torch.optim`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from fedabm.common.random import generator
from fedabm.data.federated import FederatedData
from fedabm.learning.engine.blocks import SeededDropout
from fedabm.learning.engine.networks import build
from fedabm.learning.engine.passes import sample_keys

MakeOptimiser = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]


def random_data(
    shape: tuple[int, ...],
    classes: int | None = 3,
    sizes: Sequence[int] = (7, 5, 9),
    tests: Sequence[int] = (4, 1, 3),
    tokens: int | None = None,
    bytes_: bool = False,
    seed: int = 0,
) -> FederatedData:
    """Owners with random samples."""
    rng = np.random.default_rng(seed)

    def part(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        total = sum(counts)
        x = rng.normal(size=(total, *shape)).astype(np.float32)
        if tokens:
            x = rng.integers(tokens, size=(total, *shape)).astype(np.int32)
        if bytes_:
            x = rng.integers(256, size=(total, *shape)).astype(np.uint8)
        y = rng.integers(classes, size=total) if classes else rng.normal(size=total).astype(np.float32)
        return x, y, np.concatenate([[0], np.cumsum(counts)])

    return FederatedData("random", *part(sizes), *part(tests), classes, tokens)


def as_input(x: np.ndarray) -> Tensor:
    """Samples as a module wants them."""
    return torch.from_numpy(x / np.float32(127.5) - np.float32(1)) if x.dtype == np.uint8 else torch.from_numpy(x)


def loss_of(outputs: Tensor, y: np.ndarray) -> Tensor:
    """Mean loss of a mini-batch."""
    if y.dtype.kind == "f":
        return nn.functional.mse_loss(outputs.squeeze(1), torch.from_numpy(y))
    return nn.functional.cross_entropy(outputs, torch.from_numpy(y))


def plain_round(
    name: str | nn.Module,
    data: FederatedData,
    start: Tensor,
    counts: Sequence[int],
    make: MakeOptimiser,
    *,
    batch: int,
    epochs: int | None = None,
    steps: int | None = None,
    seed: int = 0,
    round_: int = 0,
    proximal: float = 0.0,
    drift: Tensor | None = None,
) -> Tensor:
    """Everybody's model after local training, (n, P)."""
    rows = []
    network = build(name, data.shape, data.classes, data.tokens) if isinstance(name, str) else name
    for owner, count in enumerate(counts):
        centre = start if start.dim() == 1 else start[owner]
        vector_to_parameters(centre.clone(), network.parameters())
        _train_one(network, data.train(owner, count), generator(seed, "training", owner, round_), make, batch, epochs,
                   steps, proximal, centre, None if drift is None else drift[owner])  # fmt: skip
        rows.append(parameters_to_vector(network.parameters()).detach().clone())
    return torch.stack(rows)


def _batches(count: int, rng: np.random.Generator, batch: int, epochs: int | None, steps: int | None) -> list:
    found: list[np.ndarray] = []
    epoch = 0
    while count and (epoch < epochs if epochs is not None else len(found) < (steps or 0)):
        order = rng.permutation(count)
        found += [order[i : i + batch] for i in range(0, count, batch)]
        epoch += 1
    return found if steps is None else found[:steps]


def _train_one(network, samples, rng, make, batch, epochs, steps, proximal, centre, drift):  # type: ignore[no-untyped-def]
    x, y = samples
    batches = _batches(len(y), rng, batch, epochs, steps)
    dropouts = [module for module in network.modules() if isinstance(module, SeededDropout)]
    keys = rng.integers(2**62, size=len(batches)) if dropouts else None
    optimiser = make(network.parameters())
    for number, rows in enumerate(batches):
        for place, module in enumerate(dropouts):
            module.keys = sample_keys(torch.tensor(int(keys[number])), len(rows), place)
        loss = loss_of(network(as_input(x[rows])), y[rows])
        if proximal:
            loss = loss + proximal / 2 * ((parameters_to_vector(network.parameters()) - centre) ** 2).sum()
        optimiser.zero_grad()
        loss.backward()
        if drift is not None:
            gradients = parameters_to_vector([parameter.grad for parameter in network.parameters()])
            for parameter, part in zip(network.parameters(), _parts(gradients + drift, network), strict=True):
                parameter.grad = part
        optimiser.step()
    for module in dropouts:
        module.keys = None


def _parts(row: Tensor, network: nn.Module) -> list[Tensor]:
    sizes = [parameter.numel() for parameter in network.parameters()]
    return [part.view_as(old) for part, old in zip(row.split(sizes), network.parameters(), strict=True)]


def plain_scores(name: str | nn.Module, data: FederatedData, models: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Loss and accuracy of every model on every owner's test part."""
    network = build(name, data.shape, data.classes, data.tokens) if isinstance(name, str) else name
    loss, accuracy = np.zeros((2, len(models), data.owners))
    for row, model in enumerate(models):
        vector_to_parameters(model, network.parameters())
        for owner in range(data.owners):
            x, y = data.test(owner)
            with torch.no_grad():
                outputs = network(as_input(x))
            loss[row, owner] = loss_of(outputs, y).item()
            accuracy[row, owner] = (outputs.argmax(1).numpy() == y).mean() if data.classes else 1 - loss[row, owner]
    return loss, accuracy
