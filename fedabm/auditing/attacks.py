"""One table for who asks about security: attacks x defences x payment rules, on really trained models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from fedabm.auditing.trained import attack_table
from fedabm.common.errors import InputError, nearest
from fedabm.learning.rules.base import Rule
from fedabm.learning.rules.coordinate_median import CoordinateMedian
from fedabm.learning.rules.fed_avg import FedAvg
from fedabm.learning.rules.geometric_median import GeometricMedian
from fedabm.learning.rules.krum import Krum
from fedabm.learning.rules.trimmed_mean import TrimmedMean
from fedabm.mechanisms import ContributionSubsidy, Deposit, Mechanism, NoPayments, ValueShaping

__all__ = ["ATTACKS", "DEFENCES", "PAYMENTS", "attack_league"]

#: what one owner does in every round
ATTACKS = ("sign flip", "nan", "free ride", "noisy labels", "claims twice")
#: how the server learns from what it is sent
DEFENCES: Mapping[str, Rule] = {
    "FedAvg": FedAvg(),
    "CoordinateMedian": CoordinateMedian(),
    "TrimmedMean": TrimmedMean(),
    "GeometricMedian": GeometricMedian(),
    "Krum": Krum(),
}
PAYMENTS: Mapping[str, Mechanism] = {
    "NoPayments": NoPayments(),
    "ContributionSubsidy": ContributionSubsidy(1e-4),
    "Deposit": Deposit(ContributionSubsidy(1e-4), 0.1),
    "ValueShaping": ValueShaping(),
}


def attack_league(seeds: int = 5, owners: int = 6, rules: Sequence[str] | None = None) -> pd.DataFrame:
    """Every attack against every defence under every payment rule (or those named).

    Parameters
    ----------
    seeds : int
        How many divisions of the data.
    owners : int
        How many owners; the first one attacks.
    rules : sequence of str, optional
        Some payment rules only.

    Returns
    -------
    pandas.DataFrame
        One row per attack, defence, rule and seed: accuracy that the others lose, and the attacker's gain in utility.
    """
    for name in rules or ():
        if name not in PAYMENTS:
            raise InputError(f"no payment rule of this table is called {name!r}; {nearest(name, PAYMENTS)}")
    chosen = {name: PAYMENTS[name] for name in rules or PAYMENTS}
    return attack_table(ATTACKS, DEFENCES, chosen, seeds, owners)
