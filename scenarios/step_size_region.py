"""How large may the owners' steps be for contributions and weights to converge together?

Theorem 1 of Doshi et al. 2025 proves that UPBReD converges if

    gamma < min{1, 1/P~, 2 lambda / (n L)^2, (lambda - P~) / ((n L)^2 - P~^2)},     lambda > P~,

where lambda says how concave the utilities are and P~ how much contributions disturb the training of the weights.
Their Figure 3 shows the region for n = 2 and L = 1.  The dotted line is where the proof's contraction factor W_1 really
reaches 1: at twice the last bound, so that the theorem gives away a factor of two.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import InputError, run_script
from fedabm.checks import check_number, check_positive
from fedabm.solving import DerivativeBounds, step_bounds
from fedabm.study import Study

_COLOURS = sns.color_palette("colorblind")
#: panels of the picture, one for each value of P~
_MOST = 8
_BOUNDS = (
    r"$1$",
    r"$1/\tilde{P}$",
    r"$2\lambda/(nL)^2$",
    r"$(\lambda-\tilde{P})/((nL)^2-\tilde{P}^2)$",
)


def run(
    study: Study,
    owners: int = 2,
    bound: float = 1.0,
    cross: tuple[float, ...] = (0.1, 0.3, 0.5),
) -> None:
    """Draw the allowed steps against lambda for some P~, and the largest one over both.

    owners  number of owners n
    bound   bound L on how fast gradients change
    cross   values of P~, how much contributions disturb the training of the weights, each a curve

    Takes seconds.
    """
    check_positive("owners", owners)
    check_number("bound", bound)
    check_positive("cross", cross, zero=True)
    cross = tuple(dict.fromkeys(cross))
    if len(cross) > _MOST:
        raise InputError(f"cross holds {len(cross)} values, each a panel of the picture; give at most {_MOST}")
    for mixed in cross:
        if mixed >= bound:
            raise InputError(f"cross must stay below bound={bound:g}, got {mixed:g}; no concavity could outweigh it")
    study.table(_corners(owners, bound, cross), f"Largest allowed gamma, n = {owners}, L = {bound:g}")
    study.picture(_figure(owners, bound, cross), "step_size_region")


def _corners(owners: int, bound: float, cross: tuple[float, ...]) -> pd.DataFrame:
    """The largest step at some lambda, and how much it contracts at nine tenths of it."""
    rows = []
    for mixed in cross:
        for strength in bound * np.array([0.25, 0.5, 0.75, 1.0]):
            if strength > mixed:
                side = DerivativeBounds(owners, strength, bound, mixed)
                step = side.largest_step
                sharp = 2.0 * step_bounds(owners, strength, bound, mixed)[3]
                factor = side.contraction(0.9 * step)
                rows.append((mixed, strength, step, sharp, factor))
    names = ["P~", "lambda", "largest gamma", "gamma where W_1 = 1", "W_1 at 0.9 of the largest"]
    return pd.DataFrame(rows, columns=names)


def _figure(owners: int, bound: float, cross: tuple[float, ...]) -> Figure:
    sns.set_theme(style="whitegrid", context="paper")
    figure, axes = plt.subplots(1, len(cross) + 1, figsize=(3.1 * (len(cross) + 1), 3.3), layout="constrained")
    top = 1.25 * 2.0 * bound / (owners * bound) ** 2
    for panel, mixed in zip(axes, cross, strict=False):
        _slice(panel, owners, bound, mixed, top)
    axes[0].set_ylabel(r"step of the contributions, $\gamma$")
    _map(figure, axes[-1], owners, bound)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
    return figure


def _slice(panel: Axes, owners: int, bound: float, mixed: float, top: float) -> None:
    """gamma against lambda for one P~: the region below all four bounds."""
    strength = np.linspace(0.0, bound, 400)
    bounds = step_bounds(owners, strength, bound, mixed)
    allowed = np.maximum(bounds.min(axis=0), 0.0)
    panel.fill_between(strength, 0.0, allowed, color=_COLOURS[0], alpha=0.35, linewidth=0, label=r"allowed $\gamma$")
    for line, name, colour in zip(bounds, _BOUNDS, _COLOURS[1:], strict=False):
        if np.nanmin(line) < top:
            panel.plot(strength, line, "--", color=colour, linewidth=1.3, label=name)
    panel.plot(strength, 2.0 * bounds[3], ":", color="0.25", linewidth=1.3, label=r"$W_1=1$")
    panel.axvline(mixed, color="0.5", linewidth=0.8)
    panel.text(mixed, 0.97 * top, r" $\lambda=\tilde{P}$", va="top", color="0.35")
    panel.set(xlim=(0, bound), ylim=(0, top), xlabel=r"concavity $\lambda$", title=rf"$\tilde{{P}}={mixed:g}$")


def _map(figure: Figure, panel: Axes, owners: int, bound: float) -> None:
    """The largest gamma over lambda and P~."""
    strength, mixed = np.meshgrid(np.linspace(0.0, bound, 201), np.linspace(0.0, 0.995 * bound, 200))
    largest = np.ma.masked_less_equal(step_bounds(owners, strength, bound, mixed).min(axis=0), 0.0)
    shades = panel.contourf(strength, mixed, largest, levels=10, cmap="cividis")
    panel.set(xlabel=r"concavity $\lambda$", ylabel=r"mixed derivatives $\tilde{P}$", title=r"largest $\gamma$")
    panel.text(0.05 * bound, 0.92 * bound, "no step is safe\nwhere " + r"$\lambda\leq\tilde{P}$", va="top")
    panel.set(xlim=(0, bound), ylim=(0, bound))
    figure.colorbar(shades, ax=panel, label=r"$\gamma$")


if __name__ == "__main__":
    run_script(__file__)
