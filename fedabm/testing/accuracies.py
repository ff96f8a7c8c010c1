"""The contract of every accuracy: legal, pure, consistent, and what its traits say."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.common.errors import check_kind
from fedabm.games.accuracy import Accuracy
from fedabm.games.accuracy.training import training_of
from fedabm.games.curves import Array
from fedabm.games.messages import OwnerMessages
from fedabm.games.slopes import contradicted
from fedabm.testing.contract import Check, ContractBroken, checked, expect, expect_value

__all__ = ["ACCURACY_CHECKS", "check_accuracy"]

#: how many owners an accuracy has that is made for any number
_OWNERS = 4
_REACH = 12.0


def check_accuracy(accuracy: Accuracy, seeds: int = 3) -> None:
    """Raise `ContractBroken`, with one line for each promise that does not hold at some profile, or do nothing.

    Parameters
    ----------
    accuracy : Accuracy
        The accuracy to check.
    seeds : int, optional
        How many random federations are tried.
    """
    check_kind("accuracy", accuracy, Accuracy)
    checked(accuracy, ACCURACY_CHECKS, seeds)


def is_a_frozen_value(accuracy: Accuracy, seed: int) -> None:
    """Compared, hashed, pickled, varied; nothing can be changed."""
    expect_value(accuracy)


def values_are_legal(accuracy: Accuracy, seed: int) -> None:
    """One finite number per profile and owner, and every profile by itself."""
    profiles = _profiles(accuracy, seed)
    found = accuracy.values(profiles)
    expect(found.shape == profiles.shape, f"values of {profiles.shape} have shape {found.shape}; give one per owner")
    expect(np.isfinite(found), "a value is not finite; say what a model without data is worth")
    alone = np.array([accuracy.values(profile[None])[0] for profile in profiles])
    expect(_close(found, alone), "a profile has other values beside others; let row k depend on row k only")


def curves_are_values_along_the_own_contribution(accuracy: Accuracy, seed: int) -> None:
    """And spillovers are the sum of the others' values."""
    profile = _profiles(accuracy, seed)[0]
    own, others = accuracy.curves(profile), accuracy.spillovers(profile)
    x = _REACH * np.random.default_rng(seed).random((len(profile), 3))
    for owner in range(len(profile)):
        trials = np.repeat(profile[None], 3, axis=0)
        trials[:, owner] = x[owner]
        values = accuracy.values(trials)
        broken = f"owner {owner}'s curve is not its values along its own contribution; mend curves"
        expect(_close(own.value(x)[owner], values[:, owner]), broken)
        rest = values.sum(axis=1) - values[:, owner]
        expect(_close(others.value(x)[owner], rest), f"what owner {owner} brings the others is not; mend spillovers")


def slopes_are_derivatives(accuracy: Accuracy, seed: int) -> None:
    """Of the curves, away from the ends of the range; beside a kink either side will do."""
    profile = _profiles(accuracy, seed)[0]
    curve = accuracy.curves(profile)
    x = _REACH * np.random.default_rng(seed).uniform(0.05, 0.95, (len(profile), 8))
    wrong = contradicted(curve.value, curve.slope(x), x, _REACH)[0]
    expect(~wrong, "the slope of a curve is not the derivative of its value; mend curve_slope, gradient or curves")


def some_owners_are_all_with_the_others_at_zero(accuracy: Accuracy, seed: int) -> None:
    """And where nothing says otherwise (`padded`), an owner that appears twice is one with the data of both."""
    profile = _profiles(accuracy, seed)[0]
    rows = np.array([len(profile) - 1, 0])
    part, alone = accuracy.restrict(rows), np.zeros(len(profile))
    alone[rows] = profile[rows]
    broken = "restrict does not give the values with the others at zero; mend restrict"
    expect(_close(part.values(profile[rows][None])[0], accuracy.values(alone[None])[0, rows]), broken)
    twice = accuracy.restrict(np.array([0, *range(len(profile))]))
    if not twice.traits.padded:
        split = np.concatenate([[0.3 * profile[0], 0.7 * profile[0]], profile[1:]])
        broken = "an owner that restrict takes twice is not one with the data of both; set padded = True there"
        expect(_close(twice.values(split[None])[0, 1:], accuracy.values(profile[None])[0]), broken)


# What traits say


def is_concave_where_promised(accuracy: Accuracy, seed: int) -> None:
    """In the own contribution, between its kinks."""
    if not accuracy.traits.concave:
        return
    profile = _profiles(accuracy, seed)[0]
    kinks = np.clip(accuracy.kinks(profile), 0.0, _REACH)
    edges = np.sort(np.column_stack([np.zeros(len(profile)), kinks, np.full(len(profile), _REACH)]), axis=1)
    for low, high in zip(edges.T[:-1], edges.T[1:], strict=True):
        inside = low[:, None] + (high - low)[:, None] * np.linspace(1e-9, 1 - 1e-9, 33)
        bends = np.diff(accuracy.curves(profile).value(inside), 2, axis=1)
        where = f"between {low[np.argmax(bends.max(axis=1))]:g} and {high[np.argmax(bends.max(axis=1))]:g}"
        expect(bends <= 1e-9, f"it bends up {where} and says concave; name its kinks, or set concave = False")


def is_monotone_where_promised(accuracy: Accuracy, seed: int) -> None:
    """More data of anybody harm nobody."""
    if not accuracy.traits.monotone:
        return
    less = _profiles(accuracy, seed)
    more = less + np.random.default_rng(seed).choice([0.0, 1e-3, 2.0], less.shape)
    grows = accuracy.values(more) >= accuracy.values(less) - 1e-9
    expect(grows, "more data make somebody's value fall and it says monotone; set monotone = False")


def is_of_weighted_sums_where_promised(accuracy: Accuracy, seed: int) -> None:
    """One curve of W s."""
    exposure, profiles = accuracy.as_exposure(), _profiles(accuracy, seed)
    same = (exposure is not None) == accuracy.traits.of_exposure
    expect(same, "of_exposure and as_exposure differ; let as_exposure give the curve where of_exposure = True")
    if exposure is None:
        return
    weights, sums = exposure.weight_matrix(profiles.shape[1]), exposure.exposures(profiles)
    expect(_close(sums, profiles @ weights.T), "exposures are not weight_matrix times profiles; mend one of them")
    broken = "own_weights are not the diagonal of weight_matrix; mend one of them"
    expect(_close(exposure.own_weights(profiles.shape[1]), np.diagonal(weights)), broken)
    broken = "values are not the curve of the exposures; set of_exposure = False"
    expect(_close(exposure.curve(sums), accuracy.values(profiles)), broken)


def is_of_the_total_where_promised(accuracy: Accuracy, seed: int) -> None:
    """The same for everyone, whoever brings the data."""
    if not accuracy.traits.of_total:
        return
    profiles = _profiles(accuracy, seed)
    shared = np.broadcast_to(profiles.mean(axis=1, keepdims=True), profiles.shape)
    broken = "it matters whose data they are and it says of_total; set of_total = False"
    expect(_close(accuracy.values(profiles), accuracy.values(shared)[:, :1]), broken)


def is_linear_where_promised(accuracy: Accuracy, seed: int) -> None:
    """In all contributions together."""
    if accuracy.traits.linear_in_all:
        profiles = _profiles(accuracy, seed)
        straight = accuracy.at_zero(profiles.shape[1]) + profiles @ accuracy.marginals(profiles[0]).T
        broken = "values are not those at 0 plus marginals times contributions; set linear_in_all = False"
        expect(_close(accuracy.values(profiles), straight), broken)


def is_a_mixture_where_promised(accuracy: Accuracy, seed: int) -> None:
    """Constant minus falling exponentials: differences of the sum are those of the mixture."""
    if not accuracy.traits.of_exponentials:
        return
    profiles = _profiles(accuracy, seed)
    mixture = accuracy.exponentials(profiles.max(axis=0))
    legal = np.all(mixture.weight >= 0) and np.all(mixture.patterns >= 0) and np.all(mixture.intensity >= 0)
    expect(legal, "a weight or rate of its exponentials is negative; set of_exponentials = False")
    missing = np.exp(-profiles @ mixture.rates(slice(None)).T) @ mixture.weight
    left = accuracy.values(profiles).sum(axis=1) + missing
    broken = "the sum of values is not a constant minus its exponentials; set of_exponentials = False"
    expect(_close(left, left[0]), broken)


def many_runs_are_the_same_as_one_by_one(accuracy: Accuracy, seed: int) -> None:
    """To the last bit, where it says that it stacks; and no step changes it."""
    if not accuracy.traits.stacks:
        return
    table = _profiles(accuracy, seed)
    training = training_of(accuracy)
    begun = training.begin(seed)
    same = training.round(begun, OwnerMessages.honest(table[0]))[0] is begun
    expect(same, "a step changes it and it says stacks; set stacks = False")
    x = _REACH * np.random.default_rng(seed).random((table.size, 3))
    for name in ("curves", "spillovers"):
        for part in ("value", "slope"):
            rows = zip(table, x.reshape(*table.shape, 3), strict=True)
            alone = np.concatenate([getattr(getattr(accuracy, name)(row), part)(own) for row, own in rows])
            broken = f"{part}s of {name} differ for runs that are asked together; use the last axis, or stacks = False"
            expect(np.array_equal(_together(accuracy, name, part, table, x), alone), broken)


def _together(accuracy: Accuracy, name: str, part: str, table: Array, x: Array) -> Array:
    """The curves of all runs at once, asked row by row."""
    places: Any = np.unravel_index(np.arange(table.size), table.shape)
    try:
        return getattr(getattr(accuracy, name)(table).take(places), part)(x)
    except Exception as error:
        where = f"{name} of profiles of shape {table.shape} fail with {type(error).__name__}: {error}"
        raise ContractBroken(f"{where}; work along the last axis, or set stacks = False") from error


ACCURACY_CHECKS: tuple[Check, ...] = (
    is_a_frozen_value,
    values_are_legal,
    curves_are_values_along_the_own_contribution,
    slopes_are_derivatives,
    some_owners_are_all_with_the_others_at_zero,
    is_concave_where_promised,
    is_monotone_where_promised,
    is_of_weighted_sums_where_promised,
    is_of_the_total_where_promised,
    is_linear_where_promised,
    is_a_mixture_where_promised,
    many_runs_are_the_same_as_one_by_one,
)


def _profiles(accuracy: Accuracy, seed: int) -> Array:
    """A few profiles, in which some contribute nothing and one all that there is."""
    owners = accuracy.owners or _OWNERS
    rng = np.random.default_rng(seed)
    drawn = _REACH * rng.random((5, owners)) * rng.choice([0.0, 0.2, 1.0], (5, owners))
    return np.concatenate([_REACH * rng.uniform(0.1, 1.0, (1, owners)), drawn])


def _close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-10))
