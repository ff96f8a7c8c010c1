"""What reaches the server where everyone has a model of its own, made up for the tests, and looks at the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fedabm.learning.personal.sent import SentModels
from fedabm.views import Exchange, Reports


def judged(targets: Tensor, models: Tensor, start: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Losses as squared distances from what would be best for each owner: of all models (n, n), of its start (n,)."""
    losses = ((models - targets[:, None]) ** 2).sum(2)
    return losses.numpy().astype(float), ((start - targets) ** 2).sum(1).numpy().astype(float)


def claims(size: np.ndarray) -> Reports:
    """Owners that use all the data they claim."""
    return Reports(size, size, owners=np.arange(len(size)))


def sent_of(
    owners: int = 6, width: int = 9, seed: int = 0, same_start: bool = False, length: float = 1.0, behind: float = 0.0
) -> SentModels:
    """Random models, everybody sound; their owners started from `behind`."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape).astype(np.float32))  # noqa: E731
    initial = draw(width)
    start = initial.repeat(owners, 1) if same_start else initial + 0.1 * draw(owners, width)
    models, targets = start + length * draw(owners, width), initial + draw(owners, width)
    start = start - behind
    size, usable = rng.uniform(10, 90, owners), np.ones(owners, dtype=bool)
    return SentModels(claims(size), usable, models, start, initial, judged(targets, models, start))


def permuted(sent: SentModels, order: np.ndarray) -> SentModels:
    """The same owners in another order."""
    rows = {name: getattr(sent, name)[order] for name in ("models", "usable", "start")}
    losses, before = sent.losses()
    return replace(
        sent, reports=sent.reports.take(order), measured=(losses[np.ix_(order, order)], before[order]), **rows
    )


def broken(sent: SentModels, *who: int, value: float = float("nan")) -> SentModels:
    """Some models are no numbers."""
    models, usable = sent.models.clone(), sent.usable.copy()
    models[list(who)], usable[list(who)] = value, False
    return replace(sent, models=models, usable=usable)


def next_start(done: Exchange, sent: SentModels) -> Tensor:
    """Where owners go on: from what they are sent, or from what they have."""
    return sent.usable_models if done.task.start is None else done.task.start


def parts(done: Exchange) -> list[Tensor]:
    """All rows that owners are sent."""
    tasks = [done.task] + ([] if done.personal is None else [done.personal])
    return [rows for task in tasks for rows in (task.start, task.pull) if rows is not None]


def assert_close(one: object, two: object, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(one, float), np.asarray(two, float), atol=tolerance, rtol=tolerance)


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))
