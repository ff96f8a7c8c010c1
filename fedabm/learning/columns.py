"""Columns that say how well attacks on a shared model succeed, and how well they are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_kind
from fedabm.data.backdoor import Backdoor
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles.backdoors import attack_success
from fedabm.learning.rules.detectors import caught
from fedabm.learning.rules.watched import Watched, trusted
from fedabm.results.entries import Column
from fedabm.results.round import Round

__all__ = ["detection_columns", "success_column"]


def success_column(engine: Engine, backdoor: Backdoor) -> Column:
    """A column for `Scenario(columns=...)`: how often a backdoor works in the shared model of a step.

    Parameters
    ----------
    engine : Engine
        Whose test parts are stamped.
    backdoor : Backdoor
        Trigger and target.

    Returns
    -------
    Column
        `attack_success` of the steps; see `attack_success`.
    """
    check_kind("backdoor", backdoor, Backdoor)
    meaning = "share of test samples of other classes that the shared model takes for the target of the backdoor"
    return Column("steps", "attack_success", _Success(engine, backdoor), meaning, unit="share")


def detection_columns(bad: Sequence[int], least: float = 0.5) -> tuple[Column, ...]:
    """Columns for `Scenario(columns=...)`: how well the rule `Watched(detector)` has found bad updates so far.

    Parameters
    ----------
    bad : sequence of int
        The numbers of those who really attack.
    least : float, optional
        Who is trusted less than this, on average over the rounds, counts as caught.

    Returns
    -------
    tuple of Column
        `precision` and `recall` of the steps; see `caught`.
    """
    who = tuple(map(int, bad))
    words = {
        "precision": "share of the owners caught so far that attack (empty: nobody was caught)",
        "recall": "share of the owners that attack that were caught so far",
    }
    return tuple(Column("steps", name, _Found(name, who, least), said, unit="share") for name, said in words.items())


@dataclass(frozen=True, eq=False)
class _Success:
    """How often a backdoor works."""

    engine: Engine
    backdoor: Backdoor

    def __call__(self, round: Round) -> float:
        training, state = _shared(round)
        return attack_success(self.engine, training.weights(state), self.backdoor)


@dataclass(frozen=True)
class _Found:
    """Precision or recall of a watched detector."""

    name: str
    bad: tuple[int, ...]
    least: float

    def __call__(self, round: Round) -> float:
        training, state = _shared(round)
        if not isinstance(training.recipe.rule, Watched):
            rule = type(training.recipe.rule).__name__
            raise InputError(f"precision and recall are those of a watched detector, got {rule}; use Watched({rule}())")
        training.weights(state)  # rounds that were looked up are trained, so that it is known whom they trusted
        memory = state.memory if state.rebuilt is None else state.rebuilt[1]
        if memory is None:  # there was no round yet
            return float("nan")
        attacks = np.isin(np.arange(training.owners), self.bad)
        return getattr(caught(trusted(memory), attacks, self.least), self.name)


def _shared(round: Round) -> tuple[Any, Any]:
    """What trains the one model that all share, and its state."""
    training, state = round.model.training.unwrap(round.model.state)
    if training.models != "shared" or not hasattr(state, "memory"):
        raise InputError("attacks are judged on a model that all share and train together; use Learning(engine)")
    return training, state
