"""A pilot in, an accuracy with draws of its parameters out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedabm.calibration.band import Band, Bootstrap, bootstrap
from fedabm.calibration.families import FAMILIES, Family
from fedabm.calibration.judging import Fitted, check_fit, doubts, fitted
from fedabm.calibration.pilot import Pilot, pilot_of
from fedabm.common.errors import InputError, check_range, check_whole, nearest
from fedabm.common.files import draft, write
from fedabm.common.random import generator
from fedabm.games.accuracy import Calibrated
from fedabm.games.accuracy.calibrated import MOST_DRAWS
from fedabm.games.curves import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Calibration", "calibrate"]

#: beyond the pilot a curve is trusted while its band is at most this share of the rise that the pilot has seen, to
#: either side, and never beyond three times the largest size
_TRUSTED_WIDTH, _FARTHEST = 0.1, 3.0


def calibrate(
    pilot: Any,
    accuracies: Any = None,
    *,
    owner: str | None = None,
    split: str | None = None,
    families: Sequence[str] = tuple(FAMILIES),
    draws: int = 200,
    seed: int = 0,
) -> Calibration:
    """Fit the families of accuracy to a pilot, choose by held-out error, and say how sure the curve is.

    Parameters
    ----------
    pilot : path, data frame, or sizes
        A CSV file or table with columns samples and accuracy (optionally owner, split and seed), a `MeasuredCurve`, or
        sizes with `accuracies` beside them.
    accuracies : array, optional
        Accuracies at these sizes.
    owner, split : str, optional
        Only the rows of this owner or split.
    families : sequence of str
        Which families are tried.
    draws : int
        How many draws of the parameters are made, from 20 on.
    seed : int
        All randomness comes from it.

    Returns
    -------
    Calibration
        The accuracy with its draws, what was tried, and what is doubtful.  A fit that describes nothing raises
        `InputError` with the reason.

    >>> sizes = np.geomspace(10, 1000, 12)
    >>> found = calibrate(sizes, 0.9 - 2.0 * (sizes + 20.0) ** -0.5 + 0.001 * np.cos(7.0 * sizes), draws=20)
    >>> round(found.accuracy.best.ceiling, 1), found.accuracy.draws.count
    (0.9, 20)
    """
    check_whole("draws", draws, 20, MOST_DRAWS)
    check_range("seed", seed, 0, 2**63)
    points = pilot_of(pilot, accuracies, owner, split)
    tried = sorted(_tried(points, families), key=lambda one: one.held_out)
    best = tried[0]
    check_fit(best, points)
    drawn = bootstrap(best.family, best.theta, best.lost, points.sizes, draws, generator(seed, "sample"))
    said = doubts(best, points)
    trusted = _trusted(drawn, points, wary=bool(said) and "logarithm" in said[0])
    return Calibration(points, tuple(tried), drawn, trusted, tuple(said))


def _tried(pilot: Pilot, families: Sequence[str]) -> list[Fitted]:
    """Every family that can describe such a pilot."""
    for name in families:
        if name not in FAMILIES:
            raise InputError(f"no family {name!r} to fit; {nearest(name, FAMILIES)}")
    kinds = [FAMILIES[name] for name in families if name != "pac_bound" or pilot.most == 1.0]
    if not kinds:
        raise InputError(
            f"a PAC bound is a share of 1, and accuracies of {pilot.source} are in {pilot.unit}; take power_law"
        )
    made: list[Family] = [kind(pilot.largest, pilot.most) for kind in kinds]
    return [fitted(one, pilot) for one in made]


def _trusted(drawn: Bootstrap, pilot: Pilot, *, wary: bool) -> float:
    """The largest size up to which the band is narrow."""
    if wary:
        return pilot.largest
    sizes = np.geomspace(pilot.largest, _FARTHEST * pilot.largest, 40)
    band = drawn.band(sizes)
    rise = float(np.ptp(drawn.family.height(drawn.best, pilot.sizes)))
    wide = np.maximum(band.high - band.best, band.best - band.low) > _TRUSTED_WIDTH * rise
    return float(sizes[max(int(np.argmax(wide)) - 1, 0)] if np.any(wide) else sizes[-1])


@dataclass(frozen=True)
class Calibration:
    """What a pilot says: families by held-out error (best first), draws, how far it is trusted, and doubts.

    Parameters
    ----------
    pilot : Pilot
        The measured accuracies.
    tried : tuple[Fitted, ...]
        Families that were fitted, best first by their held-out error.
    bootstrap : Bootstrap
        Draws of the parameters of the best one.
    trusted : float
        Total of data up to which the pilot can be trusted.
    doubts : tuple[str, ...]
        What speaks against trusting it, each in one line.
    """

    pilot: Pilot
    tried: tuple[Fitted, ...]
    bootstrap: Bootstrap
    trusted: float
    doubts: tuple[str, ...]

    @property
    def best(self) -> Fitted:
        """The family with the least held-out error."""
        return self.tried[0]

    @property
    def accuracy(self) -> Calibrated:
        """The accuracy, as every command takes it."""
        family = self.best.family
        curves = [family.accuracy(one) for one in self.bootstrap.draws]
        columns = {name: tuple(float(getattr(one, name)) for one in curves) for name in family.columns}
        return Calibrated(family.accuracy(self.best.theta), columns, self.trusted)

    def band(self, sizes: Any = None, level: float = 0.95) -> Band:
        """Bands at these sizes; by default up to three times the pilot's largest."""
        first = max(float(self.pilot.sizes.min()), 1e-3 * self.pilot.largest)
        usual = np.geomspace(first, _FARTHEST * self.pilot.largest, 120)
        return self.bootstrap.band(usual if sizes is None else np.asarray(sizes, dtype=float), level)

    def table(self) -> list[dict[str, Any]]:
        """One row per family: error at sizes left out, scatter around the curve, share of variance explained."""
        return [
            {
                "family": one.family.name,
                "held-out error": one.held_out,
                "noise": one.noise,
                "explained": one.explained,
            }
            for one in self.tried
        ]

    def outlook(self) -> list[dict[str, float]]:
        """The curve with its band of 95% at the pilot's largest size, and at two and three times as much."""
        band = self.band(self.pilot.largest * np.array([1.0, 2.0, 3.0]))
        rows = zip(band.sizes, band.best, band.low, band.high, strict=True)
        return [dict(zip(("samples", "accuracy", "low", "high"), map(float, row), strict=True)) for row in rows]

    def parameters(self) -> list[dict[str, Any]]:
        """One row per parameter of the best family: its value, and the middle 95% of its draws."""
        accuracy = self.accuracy
        return [
            {"parameter": name, "best": getattr(accuracy.best, name), **_interval(accuracy.draws[name])}
            for name in self.best.family.columns
        ]

    def figure(self) -> Figure:
        """Points, the fitted curve and its bands; dotted where it is not trusted."""
        from fedabm.calibration.picture import draw  # Matplotlib is slow to import

        return draw(self.pilot, self.band(), self.trusted, self.best.family.name)

    def toml(self, draws: str) -> str:
        """The table `[accuracy]`, whose draws are in a file of this name beside it."""
        best = self.accuracy.best
        values = ", ".join(f"{name} = {getattr(best, name)!r}" for name in self.best.family.columns)
        seen = f"{len(self.pilot.sizes)} points up to {self.pilot.largest:g} samples"
        return "\n".join(
            [
                f"# fitted to {seen}; accuracy is {self.pilot.unit}",
                *(f"# {one}" for one in self.doubts),
                "[accuracy]",
                'kind = "calibrated"',
                f'best = {{ kind = "{self.best.family.name}", {values} }}',
                f'draws = "{draws}"',
                f"trusted = {self.trusted!r}",
                "",
            ]
        )

    def save(self, place: str | Path) -> list[Path]:
        """Write PLACE.accuracy.toml, PLACE.draws.csv and PLACE.calibration.png."""
        place = Path(place)
        files = [place.with_name(f"{place.name}{end}") for end in (".draws.csv", ".accuracy.toml", ".calibration.png")]
        drawn = self.accuracy.draws
        rows = zip(*(drawn[name].tolist() for name in self.best.family.columns), strict=True)
        text = "\n".join([",".join(self.best.family.columns), *(",".join(map(repr, row)) for row in rows), ""])
        with draft(files[2]) as hidden:
            self.figure().savefig(hidden, format="png", dpi=160)
        write(files[0], text)
        write(files[1], self.toml(files[0].name))
        return files


def _interval(values: Array) -> dict[str, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    return {"low": float(low), "high": float(high)}
