r"""Which mechanism serves which population: how do data and welfare change with free-riders, liars and size?

All closed-form mechanisms meet populations with more and more free-riders and liars, small and larger, on the same
owners and seeds.  Screening believes in two types of cost, here the quartiles of the costs that are really drawn.  It
and ProportionalShapley take seconds per run and join with slow=true.

With `folder` the sweep is kept there and made on all cores; started again it goes on, or only draws.  The whole study,
20 seeds, takes about an hour of one core:

    fedabm run mechanism_by_population --steps 20 --set owners=4,8,16 --set shares=0.25,0.5,0.75 --set seeds=20 \
        --set slow=true --set folder=populations

The same runs as a spec for `fedabm sweep SPEC.toml --out populations`, for a cluster or with limits:

    function = "fedabm.scenarios.mechanism_by_population:market"
    seeds = 20

    [design]
    mechanism = ["no_payments", { kind = "contribution_subsidy", rate = 0.01 }, "cost_sharing", "shapley_share",
                 { kind = "partial_reciprocity", r = 0.5 }, { kind = "proportional_data", p = 1.0 },
                 { kind = "proportional_value", p = 1.0 }, { kind = "proportional_shapley", p = 1.0 }, "value_shaping",
                 { kind = "screening", low = 0.0065, high = 0.0155, probability_low = 0.5 }]
    odd = ["free_rider", "liar"]
    share = [0.0, 0.25, 0.5, 0.75]
    owners = [4, 8, 16]
"""

from __future__ import annotations

import contextlib
import tempfile
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedabm import InputError, Scenario, load, population, run_script
from fedabm.accuracy import PowerLaw
from fedabm.checks import check_count, check_range, nearest
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ProportionalShapley,
    ProportionalValue,
    Screening,
    ShapleyShare,
    ValueShaping,
)
from fedabm.simulation import Sequential
from fedabm.strategies import BestResponse, FreeRider, Liar, Strategy
from fedabm.study import Study, generator
from fedabm.sweep import Grid, Results, Seeds, Sweep, split

MECHANISMS: tuple[Mechanism, ...] = (
    NoPayments(),
    ContributionSubsidy(0.01),
    CostSharing(),
    ShapleyShare(),
    PartialReciprocity(0.5),
    ProportionalData(1.0),
    ProportionalValue(1.0),
    ValueShaping(),
)
SLOW: tuple[Mechanism, ...] = (ProportionalShapley(1.0), Screening(0.0065, 0.0155, 0.5))

#: Shapley shares of more owners than this take too long for a study of many runs
_LARGEST = 100


def market(
    seed: int,
    mechanism: Mechanism = MECHANISMS[0],
    odd: Literal["free_rider", "liar"] = "free_rider",
    share: float = 0.0,
    owners: int = 6,
    steps: int = 20,
) -> Scenario:
    """Best responders with costs drawn by the seed; a share of them free-ride, or claim twice what they give."""
    check_count("owners", owners)
    check_range("share", share, 0.0, 1.0)
    if odd not in ("free_rider", "liar"):
        raise InputError(f"odd cannot be {odd!r}; {nearest(odd, ('free_rider', 'liar'))}")
    rng = generator(seed, "population")
    costs, capacities = rng.uniform(0.002, 0.02, owners), rng.uniform(20.0, 100.0, owners)
    strange: Strategy = FreeRider() if odd == "free_rider" else Liar(BestResponse(), contribution_factor=2.0)
    count = round(share * owners)
    strategies = [strange] * count + [BestResponse()] * (owners - count)
    people = population(costs, capacities, strategies)
    return Scenario(
        people, PowerLaw(exponent=0.5), mechanism, Sequential(), steps, record=None, name="mechanism_by_population"
    )


def run(
    study: Study,
    owners: tuple[int, ...] = (3, 6),
    shares: tuple[float, ...] = (0.5,),
    seeds: int = 2,
    steps: int = 8,
    slow: bool = False,
    folder: str = "",
) -> None:
    """Sweep over mechanisms and populations, tabulate and draw heat maps.

    owners  numbers of owners, each a population of its own
    shares  shares of free-riders or liars, each a population of its own; none of them comes first
    seeds   how often it is repeated with new draws
    steps   steps of each run
    slow    whether Screening and ProportionalShapley take part, which take seconds per run
    folder  where the sweep is kept, to go on later (empty: nowhere)

    Takes seconds.
    """
    for share in shares:
        check_range("share", share, 0.0, 1.0)
    for count in owners:
        check_count("owners", count, high=_LARGEST)
    check_count("steps", steps)
    sweep = study_of(owners, shares, seeds, study.steps or steps, slow, study.seed)
    with contextlib.nullcontext(folder) if folder else tempfile.TemporaryDirectory() as place:
        sweep.run(place, "local" if folder else "serial", quiet=study.quiet)
        results = load(place)
    if len(results.failed) == len(results.runs):
        raise InputError(f"every run failed, the first by {results.failed['error'].iloc[0]}; change the parameters")
    for frames in split(results):
        study.add(frames)
    table = summary(results)
    study.table(table, f"Means over {seeds} seeds, last step")
    study.picture(heat_maps(table, "data"), "data")
    study.picture(heat_maps(table, "welfare"), "welfare")


def study_of(
    owners: tuple[int, ...], shares: tuple[float, ...], seeds: int, steps: int, slow: bool = False, root: int = 0
) -> Sweep:
    """The sweep: nobody odd, and each share of each kind of odd owner."""
    axes = {"mechanism": MECHANISMS + SLOW * slow, "owners": owners}
    plain, mixed = Grid(axes, share=[0.0]), Grid(axes, odd=["free_rider", "liar"], share=shares)
    return Sweep(market, [plain, mixed], Seeds(seeds, root=root), {"steps": steps})


def summary(results: Results) -> pd.DataFrame:
    """Share of all data contributed, welfare per owner and share of converged runs, by mechanism and population."""
    last = results.steps.groupby("run")[["contribution", "welfare"]].last()
    room = results.owners.groupby("run")["capacity"].sum()
    runs = results.runs.set_index("run").join(last)
    runs = runs.assign(data=runs["contribution"] / room, welfare=runs["welfare"] / runs["owners"])
    runs["mechanism"] = runs["mechanism"].str.partition("(")[0]
    runs["odd"] = runs["odd"].where(runs["share"] > 0, "nobody")
    groups = runs.groupby(["mechanism", "odd", "share", "owners"], sort=False)
    return groups[["data", "welfare", "converged"]].mean().assign(seeds=groups["seed"].nunique()).reset_index()


def heat_maps(table: pd.DataFrame, column: str) -> Figure:
    """One map per kind of odd owner: mechanisms by number of owners and share of odd ones."""
    kinds = [kind for kind in table["odd"].unique() if kind != "nobody"] or ["nobody"]
    grids = [_grid(table, kind, column) for kind in kinds]
    rows, wide = len(grids[0]), grids[0].shape[1]
    sns.set_theme(style="white", context="paper")
    figure, axes = plt.subplots(
        1,
        len(kinds) + 1,
        figsize=(len(kinds) * (0.48 * wide + 0.3) + 2.2, 0.42 * rows + 1.5),
        width_ratios=[*[wide] * len(kinds), 0.4],
        squeeze=False,
        layout="constrained",
    )
    scale = {"vmin": np.nanmin(table[column]), "vmax": np.nanmax(table[column]), "cmap": "viridis"}
    for panel, kind, grid in zip(axes[0], kinds, grids, strict=False):
        first = panel is axes[0][0]
        sns.heatmap(grid, ax=panel, annot=True, fmt=".2f", cbar=first, cbar_ax=axes[0][-1], yticklabels=first, **scale)
        _dress(panel, grid, kind)
    titles = {"data": "Share of all data contributed", "welfare": "Welfare per owner"}
    counts = sorted(table["seeds"].unique())
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    figure.suptitle(f"{titles[column]}, last step, mean of {seeds} seeds")
    return figure


def _grid(table: pd.DataFrame, kind: str, column: str) -> pd.DataFrame:
    """Mechanisms by (owners, share), populations without odd owners among them."""
    part = table[table["odd"].isin([kind, "nobody"])].sort_values(["owners", "share"], kind="stable")
    grid = part.pivot_table(index="mechanism", columns=["owners", "share"], values=column, sort=False)
    return grid.reindex(table["mechanism"].unique())


def _dress(panel: Axes, grid: pd.DataFrame, kind: str) -> None:
    """Shares below the columns, and below them how many owners there are."""
    sizes, shares = (grid.columns.get_level_values(level) for level in ("owners", "share"))
    panel.set_xticks(np.arange(len(shares)) + 0.5, labels=[f"{share:.0%}" for share in shares], rotation=0)
    for size in sizes.unique():
        places = np.flatnonzero(sizes == size)
        spot = {"xy": (places.mean() + 0.5, 0), "xycoords": panel.get_xaxis_transform()}
        panel.annotate(
            f"{size} owners",
            **spot,
            xytext=(0, -18),
            textcoords="offset points",
            ha="center",
            va="top",
            annotation_clip=False,
        )
        if places[0]:
            panel.axvline(places[0], color="white", linewidth=3)
    panel.set_title("nobody is odd" if kind == "nobody" else f"share of {kind.replace('_', '-')}s")
    panel.set_xlabel("\n")
    panel.set_ylabel("")
    panel.tick_params(length=0)


if __name__ == "__main__":
    run_script(__file__)
