"""Murhekar et al. 2025: what the text says besides its theorems and tables, rows R25 to R28."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import binom

from fedabm.data.datasets import load_dataset
from fedabm.games.accuracy import GroupWeighted
from fedabm.learning.engine.networks import build, count
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.oracles.rounds import Rounds
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import CostSharing, NoPayments, ShapleyShare
from fedabm.papers.ledger.rows import Budget, Finding, corrected, holds, row
from fedabm.papers.ledger.standard import ClaimPart, Proof, joined
from fedabm.papers.ledger.trials import numbers, random_game, trials
from fedabm.papers.murhekar2025.protocols import fed_br_shap
from fedabm.papers.presets import Size, engine_for
from fedabm.simulation.model import Federation
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game

_CONFIDENCE = 0.1
#: iterations of FedBR-Shap, and bytes in a day at 1 Gbit/s: what takes longer is not practical
_ITERATIONS, _A_DAY = 100, 24 * 3600 * 10**9 // 8


def _sufficient(owners: int, error: float, reach: float = 1.0) -> int:
    """Permutations by Appendix E; where single gains reach up to `reach` and not 1, by Hoeffding's inequality."""
    printed = 2 * owners / error**2 * np.log(2 * owners / _CONFIDENCE)
    return int(np.ceil(max(1.0, reach**2 / (4 * owners)) * printed))


def _misses(owners: int, error: float, permutations: int) -> float:
    """How often the share of one of two owners that are worth `owners` only together is off by more than `error`.

    It comes after the other in half of the permutations, so that its sampled share is n Binomial(m, 1/2) / m.
    """
    after = np.arange(permutations + 1)
    off = np.abs(owners * after / permutations - owners / 2) > error
    return float(binom.pmf(after, permutations, 0.5)[off].sum())


@row(
    "R25",
    "Appendix E: m = 2 n / eps^2 ln(2 n / delta) permutations ensure an error of eps with confidence 1 - delta",
    published="2 n / eps^2 ln(2 n / delta)",
)
def enough_permutations(budget: Budget) -> Finding:
    """Two owners that are worth n together and nothing alone: how often their sampled share misses, exactly."""
    sizes = (4, 10, 30, 100)
    errors = [0.05 * n for n in sizes]
    counts = [_sufficient(n, error) for n, error in zip(sizes, errors, strict=True)]
    missed = [_misses(*one) for one in zip(sizes, errors, counts, strict=True)]
    enough = [_sufficient(n, error, n) for n, error in zip(sizes, errors, strict=True)]
    right = [_misses(*one) for one in zip(sizes, errors, enough, strict=True)]
    eps = float(np.sqrt(2 * 30 * np.log(2 * 30 / _CONFIDENCE) / 102))
    ours = (
        f"eps = 5 % of a total of n, delta = {_CONFIDENCE:g}, n = 4, 10, 30, 100: m = {numbers(counts, 0)}, missed "
        f"with probability {numbers(missed, 3)}; with Hoeffding's m = {numbers(enough, 0)}: {numbers(right, 3)}"
    )
    reason = (
        "holds where an owner adds at most 2 sqrt(n) to the sum of n accuracies; if it may add n, n / 4 times as many "
        f"are needed; by the printed formula the 102 permutations used for n = 30 ensure an error of {eps:.2f}"
    )
    return corrected(ours, max(right) <= _CONFIDENCE, reason, as_printed=max(missed) <= _CONFIDENCE)


@row(
    "R26",
    "Sections 1 and 4: M^Shap is cost-agnostic, unlike the mechanism of Murhekar et al. 2023",
    published="no knowledge of costs",
)
def cost_agnostic(budget: Budget) -> Finding:
    """Payments for the same contributions under other costs."""

    def moved(rng: np.random.Generator, rule: type[ShapleyShare] | type[CostSharing]) -> float:
        game = random_game(rng, rule())
        profile, other = rng.uniform(0, 20, game.owners), rng.uniform(0.01, 0.3, game.owners)
        again = Game(game.accuracy, other, 1e4, rule())
        return float(np.max(np.abs(game.payments(profile) - again.payments(profile))))

    shared = trials(budget, lambda rng: moved(rng, ShapleyShare), 0.0)
    others = trials(budget, lambda rng: moved(rng, CostSharing), 0.0)
    ours = f"payments that do not depend on costs: M^Shap {shared.good} of {len(shared.violations)}, M^BG {others.good}"
    return holds(ours, shared.holds and others.good == 0)


def _worth(qualities: tuple[float, ...]) -> GroupWeighted:
    """One accuracy for all, to which a batch of each owner adds so much."""
    return GroupWeighted(np.tile(qualities, (len(qualities), 1)), np.arange(len(qualities)))


@row(
    "R27",
    "Section 4: M^Shap rewards quality, not cost: dear data are shared if their quality is high, not if it is low",
    published="high quality and high cost: incentivised; low quality and high cost: not",
)
def quality(budget: Budget) -> Finding:
    """Three owners: good and cheap, good and dear, poor and dear; and payments for equal contributions."""
    accuracy, costs = _worth((1.0, 1.0, 0.1)), [0.05, 0.3, 0.3]
    games = {name: Game(accuracy, costs, 50.0, rule) for name, rule in _MECHANISMS.items()}
    profiles = {name: solve(game).profile for name, game in games.items()}
    paid = {name: game.payments(np.ones(3)) for name, game in games.items()}
    given = ", ".join(f"{name} {numbers(profile, 3)}" for name, profile in profiles.items())
    ours = (
        f"good and cheap, good and dear, poor and dear: contributions {given}; payments for a batch of each: M^BG "
        f"{numbers(paid['M^BG'], 3)}, M^Shap {numbers(paid['M^Shap'], 3)}"
    )
    shap = profiles["M^Shap"]
    parts = (
        _part("dear data of high quality are shared", shap[1] > profiles["M^0"][1] + 1e-6),
        _part("dear data of low quality are not", shap[2] <= 1e-9),
        _part("M^BG rewards cost", paid["M^BG"][2] > 0 and np.isclose(paid["M^BG"][1], paid["M^BG"][2])),
        _part("M^Shap rewards quality", paid["M^Shap"][1] > 0 > paid["M^Shap"][2]),
    )
    return joined(ours, parts)


def _of_all_coalitions(owners: int) -> int:
    """Models of Appendix F: one of every coalition, and one more of it for each member that trained longer.

    >>> _of_all_coalitions(2)
    7
    """
    return 2**owners - 1 + owners * 2 ** (owners - 1)


def _of_orders(owners: int, orders: int) -> int:
    """Models along this many orders of owners: of each beginning, and of it with its last owner's longer training."""
    return 2 * owners * orders


def _sent(owners: int) -> pd.Series:
    """Models up and down in an iteration of FedBR-Shap, as frames count them, on handwritten digits."""
    engine = engine_for(load_dataset("digits"), Size(owners, 40, 20, "mlp"), 0)
    oracle = Rounds(engine, Recipe(batch=10, optimiser=SGD(0.1)), 40, seed=0, start=10.0)
    scenario = fed_br_shap(10.0).scenario(oracle, [0.0] * owners, engine.data.capacities, 10.0, steps=1)
    return Federation(scenario).run().frames().steps.iloc[0]


@row(
    "R28",
    "Section 5.2, Appendix F: FedBR-Shap is practical: two models of each owner up, those of all coalitions down",
    published="practical; intermediate models using subsets are sent to all agents",
    preset="fedabm run stage_payments",
)
def communication(budget: Budget) -> Finding:
    """What an owner gets in 100 iterations for 30 owners and the paper's networks, counted from Appendix F."""
    small, large = (
        4 * count(build(name, shape, 10, device="meta"))
        for name, shape in (("mnist_cnn", (1, 28, 28)), ("resnet18", (3, 32, 32)))
    )
    every, drawn = _of_all_coalitions(30), (_of_orders(30, 1), _of_orders(30, 5))
    most = max(n for n in range(1, 31) if _ITERATIONS * _of_all_coalitions(n) * small <= _A_DAY)
    got = [_ITERATIONS * models * size for models, size in zip(drawn, (small, large), strict=True)]
    here = _sent(4)
    ours = (
        f"30 owners, MNIST: {every:,} models of {small / 1e6:.2f} MB for every owner in an iteration, "
        f"{_days(_ITERATIONS * every * small):.2g} days of 1 Gbit/s in {_ITERATIONS}; by one order of owners "
        f"{drawn[0]} models, {_days(got[0]):.2g} days; CIFAR-10 by five orders {drawn[1]} models of {large / 1e6:.1f} "
        f"MB, {_days(got[1]):.2g} days; frames of 4 owners: {here['models_up']:g} models up, {here['models_down']:g} "
        "down, as the server judges coalitions itself"
    )
    reason = (
        f"all coalitions can be sent for up to {most} owners, not for the 30 of Section 5; with one order on MNIST and "
        "five on CIFAR-10, as in the authors' code, it is practical.  Criterion: within a day at 1 Gbit/s, as the text "
        "has none; chosen here, and no bound from half a day to a century would change the verdict"
    )
    return corrected(ours, max(got) <= _A_DAY, reason, as_printed=_ITERATIONS * every * small <= _A_DAY)


def _days(amount: float) -> float:
    return amount / _A_DAY


_MECHANISMS = {"M^0": NoPayments(), "M^BG": CostSharing(), "M^Shap": ShapleyShare()}


def _part(name: str, holds: bool) -> ClaimPart:
    proof: Proof = "reproduced" if holds else "not reproducible"
    return ClaimPart(name, proof, "in this game")
