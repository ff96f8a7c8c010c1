"""Shapley values as merits of very many owners: tables that all share say what the sums over all terms say."""

import numpy as np
import pytest

from fedabm.games.accuracy import PowerLaw
from fedabm.games.certificate import certified_gains
from fedabm.games.costs import Linear
from fedabm.games.promises import check_promises
from fedabm.mechanisms import ProportionalShapley
from fedabm.mechanisms.mixed_merits import MixedMerits, mixed_merits
from fedabm.mechanisms.shared_merits import SharedMerits
from fedabm.shapley import shapley, shared
from fedabm.shapley.shared import MANY
from fedabm.views import Reports


def some_owners(owners=MANY):
    """Contributions with many zeros and a tie at the top, and capacities beyond them."""
    rng = np.random.default_rng(7)
    profile = rng.uniform(0.0, 10.0, owners) * (rng.random(owners) < 0.7)
    profile[[5, 9]] = 11.0
    return profile, np.maximum(profile, rng.uniform(5.0, 20.0, owners)), rng


def merits_of(profile, capacity):
    merits, _ = ProportionalShapley(0.5).merits(PowerLaw(), Reports(profile, capacity))
    assert isinstance(merits, SharedMerits)
    return merits


@pytest.mark.parametrize("tie", [True, False])
def test_values_and_slopes_are_those_of_the_sums(tie):
    profile, capacity, rng = some_owners()
    profile[9] = 11.0 if tie else 10.5
    rows = np.array([0, 1, 5, 9, 17, 5])
    trials = np.column_stack([profile, np.zeros(MANY), capacity * rng.random(MANY), np.full(MANY, 10.5), 3 * capacity])
    few, exact = merits_of(profile, capacity).take(rows), mixed_merits(PowerLaw(), profile, capacity)
    assert isinstance(exact, MixedMerits)
    for found, expected in zip(few.value(trials[rows]), exact.take(rows).value(trials[rows]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-13)
    for found, expected in zip(few.slope(trials[rows]), exact.take(rows).slope(trials[rows]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    own, rival = exact.take(rows).value(trials[rows])
    np.testing.assert_allclose(few.ratio(trials[rows]), own / np.maximum(own, rival), rtol=2e-13)


def test_a_rival_is_worth_less_to_the_digit_after_a_change():
    """At a changed profile the values are those of that profile, also for the largest contributor itself."""
    profile, capacity, _ = some_owners()
    merits = merits_of(profile, capacity)
    for owner in (0, 5):
        changed = profile.copy()
        changed[owner] = 3.0
        values = shapley(PowerLaw(), changed)
        own, rival = merits.take([owner]).value(np.array([3.0]))
        np.testing.assert_allclose([own[0], rival[0]], [values[owner], np.max(np.delete(values, owner))], rtol=1e-13)


def test_equals_are_treated_equally_and_rows_do_not_depend_on_each_other():
    profile, capacity, rng = some_owners()
    merits = merits_of(profile, capacity)
    assert np.all(merits.ratio(profile)[[5, 9]] == 1.0)
    assert np.all(merits.ratio(profile)[profile == 0] == 0.0)
    trials = np.column_stack([profile, 0.5 * profile, capacity])
    rows = rng.choice(MANY, 50)
    for whole, part in ((merits.value, merits.take(rows).value), (merits.slope, merits.take(rows).slope)):
        for everybody, some in zip(whole(trials), part(trials[rows]), strict=True):
            np.testing.assert_array_equal(some, everybody[rows])
    np.testing.assert_array_equal(merits.take(rows).ratio(trials[rows]), merits.ratio(trials)[rows])
    np.testing.assert_array_equal(merits.ratio(trials)[:, 0], merits.ratio(profile))


@pytest.mark.parametrize("nobody", [True, False])
def test_offers_keep_their_promise_and_the_gap_is_the_same(nobody, monkeypatch):
    profile, capacity, rng = some_owners()
    profile = 0.0 * profile if nobody else profile
    reports, cost, gains = Reports(profile, capacity), Linear(rng.uniform(1e-3, 0.1, MANY)), []
    for least in (MANY, MANY + 1):
        monkeypatch.setattr(shared, "MANY", least)
        offers = ProportionalShapley(0.5).offers(PowerLaw(), reports)
        assert isinstance(offers.received.merits, SharedMerits if least == MANY else MixedMerits)
        check_promises(offers, capacity)
        gains.append(np.max(certified_gains(offers, cost, capacity, profile)))
    assert gains[0] == pytest.approx(gains[1], rel=1e-12)
