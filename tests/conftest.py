"""What several test files share: small federations with known answers, and settings that make tests repeatable."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib as mpl
import mesa
import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

import fedabm.strategies
from fedabm import Federation, Frames, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.simulation.activation import Sequential
from fedabm.specs.kinds import kinds
from fedabm.strategies import (
    AdaptiveAttacker,
    Attacker,
    BestResponse,
    FixedShare,
    GradientResponse,
    Liar,
    MeasuredResponse,
    PrivateUpdates,
    Quitter,
    Random,
    Strategy,
)
from fedabm.views import Action, OwnerView, Reports
from tests.dots import draw_dots

mpl.use("Agg")
settings.register_profile("fedabm", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("fedabm")


def one_of_each(package: ModuleType, base: type, *given: Any) -> dict[str, Any]:
    """An instance of every class of a kind that a package exports: as given, else with its defaults."""
    known = {type(one).__name__: one for one in given}
    return {kind.__name__: known.get(kind.__name__) or kind() for kind in kinds(package, base).values()}


#: one instance of every strategy
STRATEGIES: dict[str, Strategy] = one_of_each(
    fedabm.strategies,
    Strategy,
    AdaptiveAttacker(BestResponse()),
    Attacker(BestResponse(), "noise", scale=0.1),
    BestResponse(0.5),
    FixedShare(0.37),
    GradientResponse(0.5),
    Liar(BestResponse(), cost_factor=3.0, size_factor=2.0, contribution_factor=1.5),
    MeasuredResponse(0.5, least=0.1),
    PrivateUpdates(BestResponse(), 0.5),
    Quitter(GradientResponse(1.0), tolerance=0.01),
    Random(0.2, 0.8),
)


@dataclass(frozen=True)
class Says(Strategy):
    """Contributes and reports given numbers, whatever they are: broken, absurd or late."""

    contribution: float
    claimed: float | None = None
    size: float | None = None
    until: int = 10**9

    def act(self, view: OwnerView) -> Action:
        n = len(view.capacity)
        if view.step > self.until:
            return view.truthful(np.zeros(n))
        claimed = self.contribution if self.claimed is None else self.claimed
        size = view.capacity if self.size is None else np.full(n, self.size)
        report = Reports(np.full(n, claimed), size, view.cost)
        return Action(np.full(n, self.contribution), report, np.ones(n, dtype=bool))


def two_owners(**changes: Any) -> Scenario:
    """Costs .1 and .25 under a = 1 - 1/(1 + S): the equilibrium is (10^(1/2) - 1, 0)."""
    owners = population([0.1, 0.25], 100.0, changes.pop("strategies", BestResponse()), changes.pop("starts", 0.0))
    return replace(Scenario(owners, PowerLaw(), activation=Sequential()), **changes)


def mixed(**changes: Any) -> Scenario:
    """One owner with each strategy, under a subsidy, with random draws among them."""
    strategies = list(STRATEGIES.values())
    costs, capacities = np.linspace(0.01, 0.05, len(strategies)), np.linspace(5.0, 12.0, len(strategies))
    owners = population(costs, capacities, strategies)
    return replace(Scenario(owners, PowerLaw(), ContributionSubsidy(0.01), steps=12), **changes)


def batch(model: type[mesa.Model], scenario: Scenario, **options: Any) -> list[dict[str, Any]]:
    """Mesa's batch runner with seeds 1 and 2, which newer versions of Mesa take as `rng`."""
    newer = "rng" in inspect.signature(mesa.batch_run).parameters
    seeds = ({}, {"rng": [1, 2]}) if newer else ({"seed": [1, 2]}, {})
    parameters = {"scenario": scenario, **seeds[0]}
    return mesa.batch_run(model, parameters, number_processes=1, display_progress=False, **seeds[1], **options)


def run(scenario: Scenario, seed: int = 0) -> Federation:
    """A finished run."""
    return Federation(scenario, seed).run()


def assert_equal_frames(one: Frames, other: Frames) -> None:
    """Equal bit for bit; wall time may differ."""
    for name in ("steps", "owners", "transfers"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    runs = [frames.runs.drop(columns="wall_time") for frames in (one, other)]
    pd.testing.assert_frame_equal(*runs, check_exact=True)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are dots, for tests that do not look at them."""
    draw_dots(monkeypatch)


#: files of few tests that take long, which nobody should begin when all others are done
LONG = (
    "tests/fuzz/test_kills.py",
    "tests/sweep/test_ray.py",
    "tests/docs/test_tutorials.py",
    "tests/test_notebooks.py",
    "tests/fuzz/test_disk.py",
    "tests/audit/test_definitive.py",
    "tests/sweep/test_kills.py",
    "tests/test_walks.py",
    "tests/live/test_browser.py",
    "tests/live/test_server.py",
    "tests/fuzz/test_specs.py",
    "tests/audit/test_contradictions.py",
    "tests/audit/test_looks_everywhere.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several processes (`make test`), tests that share what they have made go to the same one.

    Those are the tests of a file, or of a folder whose own conftest makes things.  The longest come first, then those
    of most tests, so that all processes end together.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = Path(nodeid.partition("::")[0])
            shared = len(file.parts) > 2 and (config.rootpath / file.parent / "conftest.py").exists()
            return str(file.parent if shared else file)

        def _assign_work_unit(self, node: Any) -> None:
            first = next((scope for scope in LONG if scope in self.workqueue), None)
            if first is not None:
                self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return Together(config, log)


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
