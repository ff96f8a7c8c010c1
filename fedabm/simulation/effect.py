"""What has no effect in a run, or another one than it seems, and what is estimated: said once on the screen."""

from __future__ import annotations

import warnings

from fedabm.simulation.scenario import Scenario

__all__ = [
    "estimated",
    "say_empty",
    "say_estimated",
    "say_only_ranked",
    "say_unattackable",
    "say_unheeded",
    "without_effect",
]


def without_effect(scenario: Scenario, *, attacked: bool, unheeded: bool = False) -> str:
    """Why the mechanism is empty, and that attacks change nothing; an empty text if all has its effect."""
    attacks = _unattackable(scenario) if attacked else ""
    return "; ".join(filter(None, [scenario.empty, attacks, _unheeded(scenario) if unheeded else ""]))


def estimated(scenario: Scenario, *, sampled: bool) -> str:
    """What is estimated from samples; an empty text if nothing is."""
    if not sampled:
        return ""
    rule, owners = type(scenario.mechanism).__name__, len(scenario.owners)
    why = "as it says" if scenario.mechanism.samples else f"as nothing exact is known for {owners} owners here"
    return f"what {rule} pays is estimated from sampled orders or coalitions, {why}"


def say_estimated(scenario: Scenario) -> None:
    """Say that samples take the place of what is exact elsewhere; a rule that is told to sample surprises nobody."""
    if not scenario.mechanism.samples:
        warnings.warn(f"{estimated(scenario, sampled=True)}; proofs do not hold for it", stacklevel=3)


def say_empty(scenario: Scenario) -> None:
    """Say that a mechanism runs without the knowledge that it needs."""
    if scenario.empty:
        warnings.warn(f"{scenario.empty}: it changes nothing here", stacklevel=3)


def say_only_ranked(scenario: Scenario) -> None:
    """Say that payments rest on values that rank owners and do not price what they bring."""
    if scenario.knows.only_ranks and scenario.mechanism.needs != "nothing":
        rule, known = type(scenario.mechanism).__name__, type(scenario.knows).__name__
        words = f"{known} values owners by single rounds, which ranks them and does not price what they bring"
        warnings.warn(f"{words}: payments of {rule} are no shares of what is lost without them", stacklevel=3)


def say_unattackable(scenario: Scenario) -> None:
    """Say that attacks change nothing where nobody sends an update."""
    if words := _unattackable(scenario):
        warnings.warn(f"{words}; let the scenario train, for instance by Learning of fedabm.learning", stacklevel=3)


def say_unheeded(scenario: Scenario, *, unheeded: bool) -> None:
    """Say that nobody gives what the mechanism asks for."""
    if unheeded:
        warnings.warn(f"{_unheeded(scenario)}; give owners the strategy AsAsked()", stacklevel=3)


def _unheeded(scenario: Scenario) -> str:
    return f"{type(scenario.mechanism).__name__} asks for quotas and nobody follows them"


def _unattackable(scenario: Scenario) -> str:
    if scenario.accuracy.takes_updates:
        return ""
    return f"attacks on updates change nothing: {type(scenario.accuracy.inner).__name__} is no training"
