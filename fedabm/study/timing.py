"""Which share of a study's time went into training, evaluation, data and pictures: what `--profile` prints.

A few methods are timed from outside while the study runs.  A profiler of all calls would slow down what is written in
Python, and so give training too small a share.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

__all__ = ["Shares", "profiled"]


@dataclass
class Shares:
    """Seconds by part of the work."""

    seconds: dict[str, float] = field(default_factory=dict)
    total: float = 0.0

    def table(self) -> pd.DataFrame:
        """One row per part; the rest is everything else: decisions, mechanisms, Shapley shares, frames, tables."""
        known = self.seconds | {"everything else": max(self.total - sum(self.seconds.values()), 0.0)}
        learning = sum(self.seconds.get(part, 0.0) for part in ("training", "evaluation"))
        rows = [*known.items(), ("training and evaluation together", learning)]
        shown = [(part, round(spent, 2), round(100 * spent / max(self.total, 1e-9), 1)) for part, spent in rows]
        return pd.DataFrame(shown, columns=["part", "seconds", "%"])


@contextlib.contextmanager
def profiled(active: bool = True) -> Iterator[Shares]:
    """Watch what is done inside; the shares are known afterwards."""
    shares = Shares()
    if not active:
        yield shares
        return
    began, watched = time.perf_counter(), _watched()
    for place, name, part in watched:
        setattr(place, name, _timed(getattr(place, name), part, shares.seconds))
    try:
        yield shares
    finally:
        for place, name, _ in watched:
            setattr(place, name, getattr(place, name).__wrapped__)
        shares.total = time.perf_counter() - began


def _watched() -> list[tuple[Any, str, str]]:
    """What is timed, where it stands, and which part it counts for; none of these calls another."""
    from fedabm.learning.engine.engine import Engine
    from fedabm.learning.oracles.averaged import Coalitions
    from fedabm.learning.rules import federation
    from fedabm.study.study import Study

    return [
        (Engine, "initial", "training"),
        (federation.Recipe, "train", "training"),
        (federation, "mix", "training"),
        (Engine, "evaluate", "evaluation"),
        (Coalitions, "_compute", "evaluation"),
        (Engine, "__init__", "handing data to the engine"),
        (Study, "save", "pictures and files"),
    ]


def _timed(work: Any, part: str, seconds: dict[str, float]) -> Any:
    """The same function, whose time is added up."""
    seconds.setdefault(part, 0.0)

    @functools.wraps(work)
    def timed(*values: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return work(*values, **options)
        finally:
            seconds[part] += time.perf_counter() - start

    return timed
