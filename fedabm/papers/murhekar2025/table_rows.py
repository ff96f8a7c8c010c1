"""Murhekar et al. 2025: the tables on the accuracy functions of Appendix E, rows R15 to R18, R20 and R24."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fedabm.games.accuracy import GroupWeighted
from fedabm.mechanisms import CostSharing, NoPayments, ShapleyShare
from fedabm.papers.ledger.rows import Budget, Finding, Play, corrected, holds, refuted, row
from fedabm.papers.ledger.training import missing, paper, tables
from fedabm.papers.ledger.trials import close, numbers, play
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game

_TRAINED = "reciprocity_table_trained"
_RULES = ["M^0", "M^BG", "M^Shap"]
_PICTURES = ("mnist", "fashion_mnist", "cifar10")
_PLAYS = {name: Play.of(_TRAINED, data=name) for name in (*_PICTURES, "lumpy_skin")}
#: weights of Appendix E for lumpy skin disease; the first owner's data are worth more to both together
_LUMPY = ((1.2e-2, 9.1e-3), (1.4e-2, 1.6e-2))
_FULL = 100 * 3000 / 5440
_FITTED = "if all 30 owners move in each step (chosen to fit; as stated, with 10 of 30, at about half)"


def _table(dataset: str, seed: int = 0, **settings: Any) -> pd.DataFrame:
    """Table 1 for one dataset, one line per mechanism."""
    return play("reciprocity_table", seed, dataset=dataset, **settings)["summary"]


def _text(table: pd.DataFrame) -> str:
    """Shares, data gains and reciprocity of M^0, M^BG and M^Shap."""
    return (
        f"share {numbers(table['share %'], 1)} %, data gain {numbers(table['data gain'], 2)}, "
        f"reciprocity {numbers(table['reciprocity'], 2)}"
    )


def _trained(budget: Budget, dataset: str, statistic: str = "average") -> pd.DataFrame | None:
    """A statistic over the seeds of the quick training, one line per mechanism; None if there was no training."""
    if not budget.trains or missing([_PLAYS[dataset]]):
        return None
    spread = tables(_PLAYS[dataset])["spread"]
    return spread.pivot(index="mechanism", columns="measure", values=statistic).loc[_RULES]


def _accuracies(budget: Budget, dataset: str) -> str:
    """What training gives at the quick size, and how to run the paper's."""
    table, command = _trained(budget, dataset), paper(_TRAINED, data=dataset)
    if table is None:
        return f"trained accuracies: {command}"
    return (
        f"trained at the quick size, with other costs: accuracy {numbers(table['accuracy %'], 1)} %, share "
        f"{numbers(table['share %'], 1)} %, reciprocity {numbers(table['reciprocity'], 2)}; the paper's: {command}"
    )


def _compare(budget: Budget, dataset: str, full: float, width: float, chosen: str, **settings: Any) -> Finding:
    """The paper's budget beside the equilibria; `width` in points of data share is what counts as near."""
    iterates, solved = _table(dataset, **settings), _table(dataset, preset="converged")
    given, certified = float(solved["share %"].iloc[2]), bool(solved["converged"].all())
    near = close(iterates["share %"], iterates["share % printed"], width)
    fair = close(iterates["reciprocity"].iloc[2], 1.0, 1e-9) and bool(np.all(iterates["reciprocity"].iloc[:2] < 1))
    right = certified and close(given, full, 1e-6) and near and fair
    reason = (
        f"closed form: printed are iterates after 1000 steps, not equilibria, in which M^Shap makes everyone give all "
        f"it may, {given:.1f} % (gap {solved['gap'].max():.1g}); shares agree within {width:g} points {chosen}; "
        f"{_accuracies(budget, dataset)}"
    )
    as_printed = close(given, iterates["share % printed"].iloc[2], 0.05)
    return corrected(f"iterates: {_text(iterates)}", right, reason, as_printed=as_printed)


_CLAIM = "Table 1, {}: accuracy, data share, gains, reciprocity of M^0, M^BG, M^Shap"


@row(
    "R15",
    _CLAIM.format("MNIST"),
    published="accuracy (88.3, 87.6, 90.4) %, "
    "share (5.8, 7.6, 54.9) %, data gain (1, 1.32, 9.51), reciprocity (0.61, 0.7, 1)",
    preset="fedabm run reciprocity_table --set dataset=mnist --set active=30 --set rate=0.8",
    kind="c,t",
    plays=(_PLAYS["mnist"],),
)
def mnist(budget: Budget) -> Finding:
    """All owners move in each step, which fits the printed shares; as stated (10 of 30) they come out at half."""
    return _compare(budget, "mnist", _FULL, 1.0, _FITTED, active=30, rate="0.8")


@row(
    "R16",
    _CLAIM.format("Fashion-MNIST"),
    published="accuracy (60.9, 61.5, 63.3) %, "
    "share (4.1, 6.2, 54.8) %, data gain (1, 1.51, 13.43), reciprocity (0.47, 0.75, 1)",
    preset="fedabm run reciprocity_table --set dataset=fashion_mnist --set active=30 --set rate=0.8",
    kind="c,t",
    plays=(_PLAYS["fashion_mnist"],),
)
def fashion_mnist(budget: Budget) -> Finding:
    """As for MNIST."""
    return _compare(budget, "fashion_mnist", _FULL, 2.5, _FITTED, active=30, rate="0.8")


@row(
    "R17",
    _CLAIM.format("CIFAR-10"),
    published="accuracy (43.6, 44.7, 48.5) %, "
    "share (25.6, 28.9, 99.6) %, data gain (1, 1.13, 3.89), reciprocity (0.5, 0.57, 1)",
    preset="fedabm run reciprocity_table --set dataset=cifar10 --set rate=0.8",
    kind="c,t",
    plays=(_PLAYS["cifar10"],),
)
def cifar10(budget: Budget) -> Finding:
    """10 of 30 owners move in each step, as stated."""
    return _compare(budget, "cifar10", 100.0, 1.0, "with 10 of 30 owners moving, as stated", rate="0.8")


@row(
    "R18",
    "Table 1: lumpy skin disease",
    published="accuracy (94.2, 94.0, 95.2) %, "
    "share (46.7, 46.7, 81.3) %, data gain (1, 1, 1.73), reciprocity (0.92, 0.02, 1)",
    preset="fedabm run reciprocity_table --set dataset=lumpy_skin",
    kind="c,t",
    plays=(_PLAYS["lumpy_skin"],),
)
def lumpy_skin(budget: Budget) -> Finding:
    """Neither costs nor capacities are given; those of the other datasets are taken."""
    table = _table("lumpy_skin")
    ratio = table["reciprocity"].to_numpy()
    right = (
        close(ratio[2], 1.0, 1e-9) and bool(np.all(ratio[:2] < 1)) and close(table["share %"], [46.7, 46.7, 81.3], 5)
    )
    reason = (
        f"costs and capacities are not given; with those of the other datasets the iterates come within 5 points, but "
        f"a reciprocity of 0.02 under M^BG, where M^0 has 0.92, is not explained by any setting (here {ratio[1]:.2f}); "
        f"{_accuracies(budget, 'lumpy_skin')}"
    )
    return refuted(f"iterates: {_text(table)}", right, reason, as_printed=bool(ratio[1] < 0.1))


#: standard deviations of M^Shap's statistics in Tables 2 to 4: share, accuracy, reciprocity, data gain, accuracy gain
_SPREADS = ((0.0, 0.006, 0.0, 0.354, 0.004), (0.0, 0.016, 0.0, 0.795, 0.055), (0.001, 0.011, 0.0, 0.078, 0.007))


def _deviations(budget: Budget) -> str:
    """Standard deviations of M^Shap over the seeds of the quick trainings."""
    command = paper(_TRAINED)
    found = {name: _trained(budget, name, "deviation") for name in _PICTURES}
    if any(table is None for table in found.values()):
        return f"trained accuracies: {command}"
    accuracy = [table.loc["M^Shap", "accuracy %"] / 100 for table in found.values() if table is not None]
    return (
        f"trained at the quick size: accuracy {numbers(accuracy, 3)} on {', '.join(_PICTURES)}; the paper's: {command}"
    )


@row(
    "R20",
    "Tables 2-4: spread over repetitions",
    published="standard deviations of M^Shap at most 0.1",
    preset="fedabm run reciprocity_table --set dataset=cifar10 --set rate=0.8 --seed 1",
    kind="c,t",
    plays=tuple(_PLAYS[name] for name in _PICTURES),
)
def spread(budget: Budget) -> Finding:
    """Three repetitions on CIFAR-10 with new costs and new draws of who moves."""
    tables = [_table("cifar10", seed, rate="0.8").iloc[2] for seed in (0, 1, 2)]
    share, ratio, gain = (np.std([one[name] for one in tables]) for name in ("share %", "reciprocity", "data gain"))
    ours = f"CIFAR-10, M^Shap over 3 seeds: share {share / 100:.3g}, reciprocity {ratio:.2g}, data gain {gain:.2g}"
    reason = (
        f"the printed tables have {np.max(_SPREADS):g} for the data gain; shares and reciprocity are below 0.1; "
        f"{_deviations(budget)}"
    )
    return corrected(ours, share / 100 <= 0.1 and ratio <= 0.1, reason, as_printed=np.max(_SPREADS) <= 0.1)


@row(
    "R24",
    "Section 5.1: the owner with better data contributes less under M^Shap (lumpy skin)",
    published="M^0 (30.5, 18.1) %, M^BG (30.6, 18.1) %, M^Shap (38.1, 55.4) %",
    kind="c,t",
    plays=(_PLAYS["lumpy_skin"],),
)
def better_data(budget: Budget) -> Finding:
    """Equilibria on the fitted accuracy functions for equal costs, so that only the quality of data differs."""
    accuracy, rates = GroupWeighted(_LUMPY, (0, 1)), (1e-4, 3e-4, 5e-4, 9e-4)
    rules = (NoPayments(), CostSharing(0.5), ShapleyShare())
    found = [[solve(Game(accuracy, [rate] * 2, 1e5, rule)) for rule in rules] for rate in rates]
    given = np.array([[one.profile for one in line] for line in found])
    more, sure = given[:, :, 0] > given[:, :, 1], all(one.converged for line in found for one in line)
    ours = "batches at equal costs of 0.0005: " + ", ".join(
        f"{name} {numbers(profile, 1)}" for name, profile in zip(_RULES, given[2], strict=True)
    )
    dear = solve(Game(accuracy, [0.002] * 2, 1e5, ShapleyShare())).profile
    note = (
        f"on the weights of Appendix E, capacities that do not bind, equal costs up to {rates[-1]:g}; the paper's are "
        f"not given, and the order depends on them (M^Shap at 0.002: {numbers(dear, 1)}); the printed shares cannot "
        f"average to those of Table 1; {_accuracies(budget, 'lumpy_skin')}"
    )
    return holds(ours, bool(sure and more[:, :2].all() and not more[:, 2].any()), note)
