"""What reaches the server where everyone has a model of its own, made up for the tests, and looks at the answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from fedabm.learning.personal.exchange import Exchange, Sent
from fedabm.mechanisms.personalised.base import usable


def judge_by_targets(targets: Tensor):
    """Losses as squared distances from what would be best for each owner."""
    return lambda models: ((models[:, None] - targets) ** 2).sum(2).numpy().astype(float)


def sent_of(owners: int = 6, width: int = 9, seed: int = 0, same_start: bool = False, length: float = 1.0) -> Sent:
    """Random models, everybody sound."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape).astype(np.float32))  # noqa: E731
    initial = draw(width)
    start = initial.repeat(owners, 1) if same_start else initial + 0.1 * draw(owners, width)
    models, targets = start + length * draw(owners, width), initial + draw(owners, width)
    size, sound = rng.uniform(10, 90, owners), np.ones(owners, dtype=bool)
    return Sent(models, sound, start, initial, size, judge_by_targets(targets), np.arange(owners))


def permuted(sent: Sent, order: np.ndarray) -> Sent:
    """The same owners in another order."""

    def judge(models: Tensor) -> np.ndarray:
        return sent.judge(models)[:, order]

    rows = {name: getattr(sent, name)[order] for name in ("models", "sound", "start", "size", "owners")}
    return replace(sent, **rows, judge=judge)


def broken(sent: Sent, *who: int, value: float = float("nan")) -> Sent:
    """Some models are no numbers."""
    models, sound = sent.models.clone(), sent.sound.copy()
    models[list(who)], sound[list(who)] = value, False
    return replace(sent, models=models, sound=sound)


def next_start(done: Exchange, sent: Sent) -> Tensor:
    """Where owners go on: from what they are sent, or from what they have."""
    return usable(sent) if done.task.start is None else done.task.start


def parts(done: Exchange) -> list[Tensor]:
    """All rows that owners are sent."""
    tasks = [done.task] + ([] if done.personal is None else [done.personal])
    return [rows for task in tasks for rows in (task.start, task.pull) if rows is not None]


def assert_close(one: object, two: object, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(one, float), np.asarray(two, float), atol=tolerance, rtol=tolerance)


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))
