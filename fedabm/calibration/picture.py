"""The figure of a calibration: points, fit and bands."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from fedabm.calibration.band import Band
from fedabm.calibration.pilot import Pilot
from fedabm.common.texts import readable

__all__ = ["draw"]


def draw(pilot: Pilot, band: Band, trusted: float, name: str) -> Figure:
    """Accuracy against samples on a logarithmic axis; beyond what is trusted the curve is dotted."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    panel = figure.subplots()
    look: dict[str, Any] = {"color": "#4477aa", "linewidth": 0}
    panel.fill_between(band.sizes, band.low, band.high, alpha=0.18, label="95%: whole curve", **look)
    panel.fill_between(band.sizes, band.point_low, band.point_high, alpha=0.3, label="95%: each point", **look)
    near = band.sizes <= trusted
    panel.plot(band.sizes[near], band.best[near], color="#225588", label=name.replace("_", " "))
    panel.plot(band.sizes, band.best, color="#225588", linestyle=":", linewidth=1.2)
    panel.plot(pilot.sizes, pilot.heights, "o", color="0.1", markersize=4.5, label="pilot")
    panel.axvline(pilot.largest, color="0.55", linewidth=0.8)
    place = ("data", "axes fraction")
    panel.annotate("end of the pilot", (pilot.largest, 0.02), xycoords=place, rotation=90, fontsize=8)
    panel.set_xscale("log" if pilot.sizes.min() > 0 else "linear")
    panel.set_xlabel("samples of all owners together")
    panel.set_ylabel("accuracy" + (" (percent)" if pilot.most == 100.0 else ""))
    panel.set_title(f"trusted up to {readable(trusted)} samples", fontsize="medium")
    panel.legend(frameon=False, fontsize="small", loc="upper left")
    return figure
