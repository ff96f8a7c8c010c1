"""Frames to draw: two mechanisms and two seeds, one run of them, and one run of 10,000 rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fedabm import Frames, Scenario, population
from fedabm.analysis import figures
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.strategies import BestResponse, FreeRider, GradientResponse, Honest, Liar, Quitter, Random
from tests.analysis.marks import SUBSIDY
from tests.conftest import run, two_owners

STRATEGIES = (
    *(BestResponse(0.5), FreeRider(), Honest(), Liar(BestResponse(), contribution_factor=2.0)),
    *(Quitter(GradientResponse(1.0), tolerance=10.0), Random()),
)


@pytest.fixture(scope="session")
def frames() -> Frames:
    """Two mechanisms, two seeds each, on the same six owners."""
    owners = population(np.linspace(0.01, 0.05, 6), 10.0, list(STRATEGIES))
    parts = []
    for seed in (0, 1):
        for label, mechanism in (("none", NoPayments()), (SUBSIDY, ContributionSubsidy(0.01))):
            scenario = Scenario(owners, PowerLaw(), mechanism, steps=5)
            parts.append(run(scenario, seed).frames(label))
    joined = Frames.join(parts)
    return replace(joined, runs=joined.runs.assign(rate=[0.0, 0.1, 0.2, 0.3]))


@pytest.fixture(scope="session")
def one(frames: Frames) -> Frames:
    return figures.of_runs(frames, [1])


@pytest.fixture(scope="session")
def large() -> Frames:
    """One run of 1,000 owners over ten steps: 10,000 rows of owners and of transfers."""
    rng, n, steps = np.random.default_rng(0), 1000, 10
    size = n * steps
    base = run(two_owners(steps=steps)).frames("large")
    owners = pd.DataFrame({name: rng.uniform(0, 1, size) for name in base.owners})
    owners["run"], owners["capacity"], owners["stayed"], owners["imports"] = 0, 1.0, True, 0
    owners["step"], owners["owner"] = np.repeat(np.arange(1, steps + 1), n), np.tile(np.arange(n), steps)
    owners["strategy"] = pd.Categorical(np.tile(rng.choice(["honest", "liar(honest)", "new_one"], n), steps))
    transfers = pd.DataFrame({"run": 0, "step": owners["step"], "payer": owners["owner"], "payee": -1})
    transfers["payee"] = (owners["owner"] + 1) % n
    transfers = transfers.assign(amount=owners["utility"], reason="test")
    steps_frame = (
        base.steps.iloc[:1].drop(columns="step").merge(pd.DataFrame({"step": range(1, steps + 1)}), how="cross")
    )
    return Frames(base.runs.assign(rate=0.5), steps_frame.assign(moved=0.1), owners, transfers)
