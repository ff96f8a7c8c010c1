"""The points of a method as cells of a sweep: one for every setting and seed that differ, each with its own seed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array
from fedabm.factors.inputs import SEED, Factor
from fedabm.specs.written import written
from fedabm.sweep.designs import Cell, Design

__all__ = ["PointDesign"]


class PointDesign(Design):
    """Points of the unit cube, stretched to factors; with `seeds`, one per point, each is run with its own."""

    def __init__(self, factors: Sequence[Factor], points: Array, seeds: Sequence[int], plan: dict[str, Any]) -> None:
        self.factors, self.seeds, self.plan = list(factors), list(seeds), plan
        self.places = [
            tuple(one.place(share) for one, share in zip(self.factors, point, strict=True)) for point in points.tolist()
        ]

    @cached_property
    def settings(self) -> list[tuple[tuple[float | int, ...], int]]:
        """The settings and seeds that differ; those that can be stepped together lie beside each other."""
        alike = [place for place, one in enumerate(self.factors) if not one.continuous]
        found = dict.fromkeys(zip(self.places, self.seeds, strict=True))
        return sorted(found, key=lambda one: [one[0][place] for place in alike])

    @property
    def cell_of(self) -> NDArray[np.integer]:
        """For every point, the number of its cell."""
        numbers = {one: number for number, one in enumerate(self.settings)}
        return np.array([numbers[one] for one in zip(self.places, self.seeds, strict=True)])

    def cells(self) -> list[Cell]:
        return [
            Cell(
                f"point {number}",
                {one.name: one.value(place) for one, place in zip(self.factors, places, strict=True)},
                seed,
            )
            for number, (places, seed) in enumerate(self.settings)
        ]

    def describe(self) -> dict[str, Any]:
        ranges = {one.name: one.words or written(one.range) for one in self.factors}
        return {"kind": "sensitivity", **self.plan, "parameters": ranges, SEED: len(set(self.seeds)) > 1}
