"""How far is the equilibrium of two owners from the contributions that are best for both?

Example 1 of Murhekar et al. 2023: a(s) = 8 - 1/(s_1 + s_2), costs 5 s_1 and 4 s_2.  In equilibrium owner 1 gives
nothing; the Nash product u_1 u_2 is 24.  The paper improves it to 25.2444 at (0.2, 0.4); its maximum is 25.500932 at
(0.172678, 0.498142).  Cost sharing with the optimal rate beta* = 4/9 still leaves owner 1 at zero, (0, 0.670820), so
that Theorem 4.1, which asks for positive contributions, says nothing here; payments bring the product to 26.6824 all
the same.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Game, InputError, run_script
from fedabm.accuracy import PowerLaw
from fedabm.checks import MOST, check_range
from fedabm.costs import Linear
from fedabm.figures import mechanism_looks
from fedabm.games import Array
from fedabm.mechanisms import CostSharing, NoPayments, optimal_rate
from fedabm.solving import welfare_optimum
from fedabm.study import Study

_ALTERNATIVE = (0.2, 0.4)


def run(study: Study, costs: tuple[float, ...] = (5.0, 4.0), ceiling: float = 8.0, capacity: float = 1.0) -> None:
    """Solve both mechanisms, maximise the Nash product, and draw all points on its contours.

    costs     cost of a unit of data, one for each of the two owners
    ceiling   the best accuracy that any amount of data can reach
    capacity  data that each owner has

    Takes seconds.
    """
    if len(costs) != 2:
        raise InputError(f"this picture needs two owners, got {len(costs)} costs; give for instance costs=5,4")
    check_range("capacity", capacity, max(_ALTERNATIVE), MOST)
    free = Game(PowerLaw(exponent=1.0, offset=0.0, ceiling=ceiling), costs, capacity, NoPayments())
    shared = Game(free.accuracy, costs, capacity, CostSharing())
    rate = optimal_rate(costs)
    equilibrium, refunded = study.solve(free, "no payments"), study.solve(shared, f"cost sharing, beta* = {rate:.4f}")
    best = welfare_optimum(free.accuracy, Linear(np.array(costs)), free.capacities, p=0).profile
    points = {
        "equilibrium without payments": (equilibrium.profile, equilibrium.utilities, equilibrium.gap),
        "the paper's alternative": (np.array(_ALTERNATIVE), free.utilities(_ALTERNATIVE), free.gap(_ALTERNATIVE)),
        "largest Nash product": (best, free.utilities(best), free.gap(best)),
        f"equilibrium of cost sharing, beta* = {rate:.4g}, with payments": (
            refunded.profile,
            refunded.utilities,
            refunded.gap,
        ),
    }
    study.table(_summary(points), "Nash product of the utilities")
    study.picture(_figure(free, points), "welfare_two_owners")


def _summary(points: dict[str, tuple[Array, Array, float]]) -> pd.DataFrame:
    rows = [
        (name, *profile, *utilities, utilities.prod(), utilities.sum(), gap)
        for name, (profile, utilities, gap) in points.items()
    ]
    columns = ["point", "s_1", "s_2", "u_1", "u_2", "Nash product", "sum", "gap"]
    return pd.DataFrame(rows, columns=columns).round(6)


def _figure(game: Game, points: dict[str, tuple[Array, Array, float]]) -> Figure:
    """Contours of the Nash product without payments, with the owners' best responses and the four points."""
    sns.set_theme(style="white", context="paper")
    figure, panel = plt.subplots(figsize=(6.6, 6.2), layout="constrained")
    reach = 1.25 * max(float(np.max(profile)) for profile, _, _ in points.values())
    axis = np.linspace(0.0, min(reach, float(game.capacities.min())), 241)
    _contours(figure, panel, game, axis)
    replies = np.array([game.best_responses([x, x]) for x in axis])
    panel.plot(replies[:, 0], axis, "--", color="0.2", label="best responses of owner 1")
    panel.plot(axis, replies[:, 1], ":", color="0.2", label="best responses of owner 2")
    looks = mechanism_looks({"free": "NoPayments", "shared": "CostSharing"})
    colours = [looks["free"].colour, "white", "black", looks["shared"].colour]
    for (name, (profile, utilities, _)), marker, colour in zip(points.items(), "oDX^", colours, strict=True):
        label = f"{name}\n({profile[0]:.4g}, {profile[1]:.4g}): {utilities.prod():.4f}"
        style = {"s": 70, "edgecolor": "black", "linewidth": 0.8, "zorder": 5, "clip_on": False}
        panel.scatter(*profile, marker=marker, color=colour, label=label, **style)
    panel.set(xlabel=r"contribution of owner 1, $s_1$", ylabel=r"contribution of owner 2, $s_2$")
    panel.set_title(r"Nash product $u_1 u_2$ of two owners")
    figure.legend(loc="outside lower center", ncol=2, frameon=False, title=r"point $(s_1, s_2)$: Nash product there")
    return figure


def _contours(figure: Figure, panel: Axes, game: Game, axis: Array) -> None:
    first, second = np.meshgrid(axis, axis)
    profiles = np.column_stack([first.ravel(), second.ravel()])
    utilities = game.accuracy.values(profiles) - game.costs.value(profiles.T).T
    product = np.where((utilities > 0).all(axis=1), utilities.prod(axis=1), 0.0).reshape(first.shape)
    if product.max() <= 0:
        raise InputError("no contributions leave both owners a gain, got none to draw; raise ceiling or lower costs")
    levels = product.max() * np.array([0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.88, 0.94, 0.97, 0.99, 0.998, 1.001])
    shades = panel.contourf(first, second, product, levels=levels, cmap="Blues", vmax=1.7 * levels[-1])
    panel.contour(first, second, product, levels=levels[1:], colors="0.5", linewidths=0.5)
    bar = figure.colorbar(shades, ax=panel, label=r"Nash product $u_1 u_2$ without payments", spacing="proportional")
    bar.set_ticks(levels[[0, 1, 2, 3, 5, 7, 9]], labels=[f"{level:.1f}" for level in levels[[0, 1, 2, 3, 5, 7, 9]]])


if __name__ == "__main__":
    run_script(__file__)
