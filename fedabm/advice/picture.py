"""The front: goal against the best lie and against the money that moves, and what each owner gains."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from fedabm.advice.recommendation import Recommendation
from fedabm.results.frames import shorten

__all__ = ["front_picture", "owners_picture"]

_KEPT, _REFUSED = "#0b5a8f", "#b26a00"


def front_picture(found: Recommendation) -> Figure:
    """Every candidate: its goal with 95% of draws, against its best lie and against the money that it moves."""
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    looks = (("best lie, % of what an owner has", [100 * one.alone.worst for one in found.candidates]),)
    moved = ("money that changes hands", [one.moved for one in found.candidates])
    for panel, (title, values) in zip(panels, (*looks, moved), strict=True):
        for number, (one, x) in enumerate(zip(found.candidates, values, strict=True), 1):
            colour = _REFUSED if one.broken else _KEPT
            low, high = one.spread
            panel.plot([x, x], [low, high], color=colour, linewidth=1.2, alpha=0.6)
            panel.plot(x, one.mean, marker="X" if one.broken else "o", color=colour, markersize=8, linestyle="none")
            panel.annotate(f"{number}", (x, one.mean), xytext=(7, 4), textcoords="offset points", fontsize=8)
        panel.set_xlabel(title, fontsize=9)
        panel.grid(color="0.9")
        finite = [value for value in values if np.isfinite(value)]
        if finite and max(finite) > 0:
            panel.set_xscale("symlog", linthresh=max(max(finite) * 1e-3, 1e-9))
    panels[0].set_ylabel(f"{found.wanted.goal}: mean, and 95% of draws", fontsize=9)
    names = [f"{number} {shorten(one.label, 40)}" for number, one in enumerate(found.candidates, 1)]
    figure.suptitle("Blue: keeps all conditions; orange cross: does not", fontsize=9)
    figure.supxlabel("\n".join(", ".join(names[k : k + 3]) for k in range(0, len(names), 3)), fontsize=8)
    return figure


def owners_picture(found: Recommendation) -> Figure:
    """What each owner gains against staying alone under the answer, with 95% of draws."""
    table = found.owners()
    figure = Figure(figsize=(7.5, 0.9 + 0.32 * max(len(table), 1)), layout="constrained")
    panel, name = figure.subplots(), "gains against staying alone"
    places = np.arange(len(table))
    panel.barh(places, table[name], color=_KEPT, alpha=0.85)
    if f"{name}, 2.5%" in table:
        panel.hlines(places, table[f"{name}, 2.5%"], table[f"{name}, 97.5%"], color="0.1", linewidth=1.4)
    panel.set_yticks(places, [shorten(str(one), 30) for one in table["owner"]], fontsize=8)
    panel.invert_yaxis()
    panel.axvline(0.0, color="0.2", linewidth=0.8)
    panel.set_xlabel(f"{name}: mean" + (", and 95% of draws" if f"{name}, 2.5%" in table else ""), fontsize=9)
    return figure
