"""Which share of a study's time went into training, evaluation, data and pictures: what `--profile` prints."""

from __future__ import annotations

import contextlib
import cProfile
import pstats
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pandas as pd

__all__ = ["Shares", "profiled"]

#: the functions whose time counts for each part, by file and name; none of them calls another
_PARTS = {
    "training": (
        ("learning/engine.py", "initial"),
        ("learning/federation.py", "train"),
        ("learning/federation.py", "mix"),
    ),
    "evaluation": (("learning/engine.py", "evaluate"), ("learning/coalitions.py", "_compute")),
    "reading and dealing data": (
        ("datasets/registry.py", "load"),
        ("learning/federated.py", "from_partition"),
        ("learning/engine.py", "__init__"),
    ),
    "pictures and files": (("fedabm/study.py", "save"),),
}


@dataclass
class Shares:
    """Seconds by part of the work."""

    seconds: dict[str, float] = field(default_factory=dict)
    total: float = 0.0

    def table(self) -> pd.DataFrame:
        """One row per part; the rest is everything else: decisions, mechanisms, Shapley shares, frames, tables."""
        known = self.seconds | {"everything else": max(self.total - sum(self.seconds.values()), 0.0)}
        rows = [(part, round(spent, 2), round(100 * spent / max(self.total, 1e-9), 1)) for part, spent in known.items()]
        learning = sum(self.seconds.get(part, 0.0) for part in ("training", "evaluation"))
        share = 100 * learning / max(self.total, 1e-9)
        rows.append(("training and evaluation together", round(learning, 2), round(share, 1)))
        return pd.DataFrame(rows, columns=["part", "seconds", "%"])


@contextlib.contextmanager
def profiled(active: bool = True) -> Iterator[Shares]:
    """Watch what is done inside; the shares are known afterwards."""
    shares, watch, began = Shares(), cProfile.Profile(), time.perf_counter()
    if not active:
        yield shares
        return
    watch.enable()
    try:
        yield shares
    finally:
        watch.disable()
        shares.total = time.perf_counter() - began
        found = pstats.Stats(watch).stats  # type: ignore[attr-defined]
        for part, functions in _PARTS.items():
            mine = [row[3] for (file, _, name), row in found.items() if _among(file, name, functions)]
            shares.seconds[part] = float(sum(mine))


def _among(file: str, name: str, functions: tuple[tuple[str, str], ...]) -> bool:
    return any(name == wanted and file.endswith(place) for place, wanted in functions)
