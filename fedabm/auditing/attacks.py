"""One table for who asks about security: attacks x defences x payment rules, on really trained models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd

from fedabm.auditing.arena import DIGITS, Arena, Ended
from fedabm.auditing.play import BEHAVIOURS, change_of
from fedabm.common.errors import InputError, check_whole, nearest
from fedabm.data.backdoor import Backdoor
from fedabm.data.quality import LabelNoise, Quality
from fedabm.learning.oracles.backdoors import attack_success
from fedabm.learning.rules.base import Rule
from fedabm.learning.rules.coordinate_median import CoordinateMedian
from fedabm.learning.rules.detectors import Detector, caught
from fedabm.learning.rules.fed_avg import FedAvg
from fedabm.learning.rules.fl_trust import FLTrust
from fedabm.learning.rules.fools_gold import FoolsGold
from fedabm.learning.rules.geometric_median import GeometricMedian
from fedabm.learning.rules.krum import Krum
from fedabm.learning.rules.no_duplicates import NoDuplicates
from fedabm.learning.rules.norm_bound import NormBound
from fedabm.learning.rules.trimmed_mean import TrimmedMean
from fedabm.learning.rules.watched import Watched, trusted
from fedabm.mechanisms import ContributionSubsidy, Deposit, Mechanism, NoPayments, ValueShaping
from fedabm.simulation.model import Federation
from fedabm.strategies import Attacker, Strategy

__all__ = ["ATTACKS", "DEFENCES", "PAYMENTS", "attack_league", "attack_table", "same_defences"]

#: what a third of the owners do in every round
ATTACKS = (
    *("claims twice", "free ride", "random weights", "delta weights", "delta noise", "disguised noise", "copy"),
    *("noisy labels", "nan", "scaled", "sign flip", "adaptive sign flip", "inner product"),
    *("little is enough", "min-max", "sybils", "backdoor"),
)
#: free-riders that hide, beside those of the trained league
_HIDDEN: Mapping[str, Callable[[Strategy], Strategy]] = {
    "random weights": lambda own: Attacker(own, "random_weights", trains=False),
    "delta noise": lambda own: Attacker(own, "delta_noise", trains=False),
}
_WAYS = {**_HIDDEN, **BEHAVIOURS}
#: how the server learns from what it is sent; the last five look for bad updates.  The trimmed mean leaves out one
#: of six owners at each end: with two it would be the median.  FLTrust knows data of the last owner, which is honest
DEFENCES: Mapping[str, Rule] = {
    "FedAvg": FedAvg(),
    "CoordinateMedian": CoordinateMedian(),
    "TrimmedMean": TrimmedMean(1 / 6),
    "GeometricMedian": GeometricMedian(),
    "Krum": Krum(),
    "FLTrust": FLTrust(root=-1),
    "FoolsGold": FoolsGold(),
    "NormBound": NormBound(),
    "NormBound, refusing": NormBound(refuses=True),
    "NoDuplicates": NoDuplicates(),
}
PAYMENTS: Mapping[str, Mechanism] = {
    "NoPayments": NoPayments(),
    "ContributionSubsidy": ContributionSubsidy(1e-4),
    "Deposit": Deposit(ContributionSubsidy(1e-4), 0.1),
    "ValueShaping": ValueShaping(),
}
#: who is trusted less than this on average over the rounds counts as caught; one of two copies is trusted by half
_TRUSTED = 0.75
#: by which defences are compared
_NUMBERS = ["accuracy lost", "gain"]
_DOOR = Backdoor(target=0, share=0.5, size=3)
#: attacks on the own data
_DEFECTS: Mapping[str, Quality] = {"noisy labels": LabelNoise(0.5), "backdoor": _DOOR}


def attack_league(seeds: int = 5, owners: int = 6, rules: Sequence[str] | None = None) -> pd.DataFrame:
    """Every attack against every defence under every payment rule (or those named).

    Parameters
    ----------
    seeds : int
        How many divisions of the data.
    owners : int
        How many owners; the first third of them attack together.
    rules : sequence of str, optional
        Some payment rules only.

    Returns
    -------
    pandas.DataFrame
        One row per attack, defence, rule and seed: accuracy that each of the others loses, what an attacker gains in
        utility, how often a backdoor works, and precision and recall of detectors; nan where these mean nothing.
    """
    check_whole("owners", owners, 4)
    for name in rules or ():
        if name not in PAYMENTS:
            raise InputError(f"no payment rule of this table is called {name!r}; {nearest(name, PAYMENTS)}")
    chosen = {name: PAYMENTS[name] for name in rules or PAYMENTS}
    return attack_table(ATTACKS, DEFENCES, chosen, seeds, owners)


def attack_table(
    attacks: Sequence[str], defences: Mapping[str, Rule], rules: Mapping[str, Mechanism], seeds: int, owners: int
) -> pd.DataFrame:
    """The rows of these attacks, defences and payment rules."""
    bad, rows = max(1, owners // 3), []
    for seed in range(seeds):
        arena = Arena.of(seed, owners, DIGITS)
        spoilt = {name: arena.with_defects(dict.fromkeys(range(bad), defect)) for name, defect in _DEFECTS.items()}
        for defence, learned in defences.items():
            for name, rule in rules.items():
                fight = _Fight(arena, rule, learned, bad)
                for attack in attacks:
                    facts = {"attack": attack, "defence": defence, "rule": name, "seed": seed}
                    rows.append(facts | fight.under(attack, spoilt.get(attack)))
    return pd.DataFrame(rows)


def same_defences(found: pd.DataFrame) -> list[str]:
    """Which defences have the same numbers under every attack, in words.

    Parameters
    ----------
    found : pandas.DataFrame
        The rows of the table of attacks.

    Returns
    -------
    list of str
        A line for each group of such defences.
    """
    wide = found.pivot_table(index="defence", columns=["attack", "rule", "seed"], values=_NUMBERS, sort=False)
    groups: dict[bytes, list[str]] = {}
    for defence, row in wide.round(9).iterrows():
        groups.setdefault((row.to_numpy(dtype=float) + 0.0).tobytes(), []).append(str(defence))
    return [f"The same under every attack: {', '.join(group)}" for group in groups.values() if len(group) > 1]


@dataclass(frozen=True)
class _Fight:
    """One defence under one payment rule, against the first `bad` owners."""

    arena: Arena
    rule: Mechanism
    learned: Rule
    bad: int

    @cached_property
    def honest(self) -> Ended:
        """How it ends without an attack."""
        return self.arena.ended(self._played({}), self.rule)

    def under(self, attack: str, spoilt: Arena | None) -> dict[str, Any]:
        """What an attack does."""
        own = self.arena.own(self.rule)
        model = self._played(dict.fromkeys(range(self.bad), _WAYS[attack](own)), spoilt)
        after, before = self.arena.ended(model, self.rule), self.honest
        lost = float(np.mean(before.accuracy[self.bad :] - after.accuracy[self.bad :]))
        return {"accuracy lost": lost, **change_of(before, after, self.bad), **self._measures(model, attack)}

    def _played(self, changes: Mapping[int, Strategy], spoilt: Arena | None = None) -> Federation:
        recipe = replace(self.arena.world.recipe, rule=_watched(self.learned))
        return (spoilt or self.arena).played(self.rule, changes, recipe, spoilt=spoilt is not None)

    def _measures(self, model: Federation, attack: str) -> dict[str, float]:
        """How often a backdoor works, and how well a detector has found who attacks."""
        training, state = cast(Any, model.training), cast(Any, model.state)  # all share one model here
        learned = training.weights(state)
        found = {"success": attack_success(self.arena.engine, learned, _DOOR) if attack == "backdoor" else np.nan}
        if not isinstance(self.learned, Detector):
            return found | {"precision": np.nan, "recall": np.nan}
        attacks = np.arange(len(self.arena.rates)) < self.bad
        return found | caught(trusted(state.memory), attacks, _TRUSTED)._asdict()


def _watched(learned: Rule) -> Rule:
    return Watched(learned) if isinstance(learned, Detector) else learned
