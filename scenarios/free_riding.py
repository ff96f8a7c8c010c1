"""Who contributes, who pays and who gains when some owners free-ride or lie?

Owners with private costs meet standard federated learning, where only the cheapest has a reason to contribute, and then
a subsidy from those who contribute less to those who contribute more (Doshi et al. 2025, eq. 7).  One owner never
contributes; another claims a multiple of what it really gives.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from fedabm import Frames, Scenario, population, run_script
from fedabm.accuracy import PowerLaw
from fedabm.checks import check_count, check_range
from fedabm.figures import last_step, owner_bars
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.simulation import Sequential
from fedabm.strategies import BestResponse, FreeRider, Liar, Strategy
from fedabm.study import Study, generator


def run(
    study: Study,
    owners: int = 12,
    free_riders: int = 1,
    liars: int = 1,
    overstatement: float = 2.0,
    rate: float = 0.012,
) -> None:
    """Simulate both mechanisms on the same owners and draw them side by side.

    owners         number of owners
    free_riders    how many of them never contribute
    liars          how many of them claim more than they give
    overstatement  liars claim this many times what they give
    rate           the subsidy: money for each unit of data above the mean of the others

    Takes seconds.
    """
    check_count("owners", owners)
    check_range("free_riders", free_riders, 0, owners)
    check_range("liars", liars, 0, owners)
    rng = generator(study.seed, "population")
    costs, capacities = np.sort(rng.uniform(0.002, 0.02, owners)), rng.uniform(20.0, 100.0, owners)
    people = population(costs, capacities, _strategies(owners, free_riders, liars, overstatement))
    scenario = Scenario(people, PowerLaw(exponent=0.5), activation=Sequential())
    for mechanism, label in ((NoPayments(), "no payments"), (ContributionSubsidy(rate), f"subsidy {rate:g}")):
        study.simulate(replace(scenario, mechanism=mechanism), label)
    frames = study.frames
    study.table(_summary(frames), "By mechanism and strategy, last step")
    columns = {"contribution": "contribution (samples)", "payment": "payment received", "utility": "utility"}
    study.picture(owner_bars(frames, columns, axis="owner, cheapest data first"), "free_riding")


def _strategies(owners: int, free_riders: int, liars: int, overstatement: float) -> list[Strategy]:
    """Best responders, with free-riders and liars among those whose data are cheap, next to the cheapest."""
    odd: list[Strategy] = [FreeRider()] * free_riders
    odd += [Liar(BestResponse(), contribution_factor=overstatement)] * liars
    rest: list[Strategy] = [BestResponse()] * owners
    return (rest[:1] + odd + rest)[:owners]


def _summary(frames: Frames) -> pd.DataFrame:
    """Means per mechanism and strategy, with the run's certified gap."""
    final = last_step(frames.owners).merge(frames.runs[["run", "label", "status", "gap"]], on="run")
    groups = final.groupby(["label", "strategy"], observed=True, sort=False)
    columns = ["contribution", "accuracy", "cost", "payment", "utility"]
    table = groups[columns].mean().reset_index().rename(columns={"label": "mechanism"})
    table.insert(2, "owners", groups.size().to_numpy())
    table["gap"] = groups["gap"].first().to_numpy()
    table["run"] = groups["status"].first().to_numpy()
    return table


if __name__ == "__main__":
    run_script(__file__)
