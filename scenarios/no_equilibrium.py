"""Where do best responses lead in a game without any equilibrium?

Theorem A.2 of Murhekar et al. 2023: three owners in a ring, each served by its own data or by its predecessor's,

    a_i(s) = e(s_i) + e(s_{i-1}) - e(s_i) e(s_{i-1}),     costs s_i / 4,

where e rises from 0 to 1 around s = 1/2.  An owner contributes 1/2 + epsilon if its predecessor gives nothing and
nothing otherwise; with three in a ring that cannot come to rest.  Played in turn, best responses repeat the same six
profiles.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import Game, Scenario, population, run_script
from fedabm.checks import check_count
from fedabm.games import Array
from fedabm.mechanisms import NoPayments
from fedabm.papers import murhekar2023
from fedabm.simulation import Sequential
from fedabm.study import Study

_COLOURS = sns.color_palette("colorblind")


def run(study: Study, epsilon: float = 1 / 32, rounds: int = 12) -> None:
    """Let the owners respond in turn, and ask the solver for an equilibrium.

    epsilon  half of the width over which accuracies rise around 1/2
    rounds   rounds in which owners respond in turn

    Takes seconds.
    """
    check_count("rounds", rounds)
    game = Game(murhekar2023.ring(epsilon), [0.25] * 3, 1.0, NoPayments())
    people = population([0.25] * 3, 1.0)
    study.simulate(Scenario(people, game.accuracy, activation=Sequential(), steps=rounds), "in turn")
    found = study.solve(game, "solver")
    cycle = found.profile[None] if found.cycle is None else found.cycle
    study.table(_members(game, cycle), f"What best responses repeat for ever ({found.method})", "cycle")
    study.note(f"equilibrium found: {'yes' if found.converged else 'no'}")
    study.picture(_figure(study.frames.owners.query("run == 0"), cycle, epsilon), "no_equilibrium")


def _members(game: Game, cycle: Array) -> pd.DataFrame:
    """The profiles of the cycle, who gains most by moving on, and how much."""
    gains = np.array([game.gains(profile) for profile in cycle])
    frame = pd.DataFrame(cycle, columns=[f"s_{i + 1}" for i in range(game.owners)])
    frame.insert(0, "member", np.arange(1, len(cycle) + 1))
    frame["moves next"] = [f"owner {i + 1}" for i in np.argmax(gains, axis=1)]
    frame["gain"] = gains.max(axis=1)
    return frame


def _figure(owners: pd.DataFrame, cycle: Array, epsilon: float) -> Figure:
    """Contributions over the steps beside the circle of profiles."""
    sns.set_theme(style="whitegrid", context="paper")
    figure = plt.figure(figsize=(8.8, 4.0), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.15, 1.0))
    panels = left.subplots(3, 1, sharex=True, sharey=True)
    for i, panel in enumerate(panels):
        path = owners[owners["owner"] == i]
        panel.step(path["step"], path["contribution"], where="mid", color=_COLOURS[i], linewidth=2)
        panel.fill_between(path["step"], path["contribution"], step="mid", color=_COLOURS[i], alpha=0.25, linewidth=0)
        panel.set(ylim=(-0.05, 0.65), yticks=(0, 0.5 + epsilon), yticklabels=("0", r"$\frac{1}{2}+\epsilon$"))
        panel.set_ylabel(f"owner {i + 1}")
    panels[0].set_title("Contributions, best responses in turn")
    panels[-1].set_xlabel("step (every owner moves once)")
    _circle(right.subplots(), cycle)
    return figure


def _circle(panel: Axes, cycle: Array) -> None:
    """The members of the cycle as bars of three, with arrows that name who moves."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(cycle)) / len(cycle)
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    for here, there, profile, following in zip(
        places, np.roll(places, -1, axis=0), cycle, np.roll(cycle, -1, axis=0), strict=True
    ):
        mover = int(np.argmax(np.abs(following - profile)))
        arrow = {"arrowstyle": "-|>", "color": _COLOURS[mover], "shrinkA": 27, "shrinkB": 27, "linewidth": 1.8}
        panel.annotate("", there, here, arrowprops=arrow)
        middle = 0.62 * (here + there) / 2
        panel.text(*middle, f"owner {mover + 1}", ha="center", va="center", color=_COLOURS[mover], fontsize="small")
        panel.bar(
            here[0] + 0.11 * np.array([-1, 0, 1]), profile * 0.5 + 0.015, 0.09, here[1] - 0.14, color=_COLOURS[:3]
        )
    panel.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal", title="The cycle: bars are owners 1, 2, 3")
    panel.axis("off")


if __name__ == "__main__":
    run_script(__file__)
