"""What a class declares: kept in one record, dropped with a word where it is overridden, handed on by wrappers."""

import inspect
import logging
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import ClassVar

import numpy as np
import pytest

from fedabm.games.accuracy import Accuracy, Announced, Custom, GroupWeighted, PowerLaw, RandomCoverage, RandomDiscovery
from fedabm.games.accuracy.base import Exposure, Restricted
from fedabm.games.costs import Cost, Linear, Piecewise, Quadratic, stack
from fedabm.games.traits import CostTraits, Forwarded, Traits, WorthTraits
from fedabm.mechanisms import Clarke, NoPayments
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.strategies import Honest
from fedabm.testing import check_accuracy

PUBLIC = {name: value for name, value in vars(Accuracy).items() if not name.startswith("_")}
METHODS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
FACTS = [name for name in PUBLIC if name not in (*METHODS, "traits")]
Q = ((0.2, 0.1, 0.3), (0.4, 0.2, 0.1), (0.1, 0.5, 0.2))


def test_every_part_has_a_frozen_record_of_what_it_declares():
    for part in (PowerLaw(), Linear(0.1), NoPayments(), Honest()):
        assert isinstance(part.traits, Traits)
        assert all(getattr(part.traits, one.name) == np.all(getattr(part, one.name)) for one in fields(part.traits))
        with pytest.raises(FrozenInstanceError):
            setattr(part.traits, fields(part.traits)[0].name, False)
    assert PowerLaw().traits is PowerLaw(exponent=0.5).traits


def test_the_families_declare_what_they_are():
    said = {
        "of_exposure": (PowerLaw(), GroupWeighted(((1.0, 0.5), (0.2, 1.0)), (0, 1, 1)), RandomDiscovery(Q)),
        "of_total": (PowerLaw(),),
        "of_exponentials": (PowerLaw(), GroupWeighted(((1.0,),), (0, 0)), RandomCoverage(Q)),
        "linear_in_all": (RandomDiscovery(Q),),
    }
    for name, ours in said.items():
        assert all(getattr(one.traits, name) for one in ours)
    assert not PowerLaw(scale=1.4).traits.of_exponentials  # cut off at zero
    assert not GroupWeighted(((1.0,),), (0, 0)).traits.of_total
    assert Custom(np.sqrt, concave=True).traits == WorthTraits(concave=True)


def test_costs_speak_for_all_owners():
    assert Linear(0.1).traits == CostTraits(straight=True, linear=True, closed=True, power=True)
    assert stack([Linear(0.1), Quadratic(0.1)]).traits == CostTraits(closed=True, power=True)
    assert stack([Linear(0.1), Piecewise([0, 5], [0.1, 0.5])]).traits == CostTraits(straight=True, closed=True)


# Subclasses


def test_what_an_override_may_break_is_dropped_with_a_word(caplog):
    with caplog.at_level(logging.WARNING, "fedabm"):

        class Squared(PowerLaw):
            def curve(self, exposure):
                return super().curve(exposure) ** 2

    assert Squared().traits == WorthTraits(of_exposure=True, of_total=True)
    said = "\n".join(record.message for record in caplog.records)
    assert "Squared overrides curve of PowerLaw, so that its monotone = True is not taken over" in said


def test_what_the_subclass_declares_stands(caplog):
    with caplog.at_level(logging.WARNING, "fedabm"):

        class Shifted(PowerLaw):
            concave = monotone = stacks = True
            of_exponentials = False

            def curve(self, exposure):
                return 0.5 * super().curve(exposure)

            def curve_slope(self, exposure):
                return 0.5 * super().curve_slope(exposure)

    assert caplog.records == []
    assert Shifted().traits == WorthTraits(True, True, True, True, stacks=True)


def test_what_rests_on_other_methods_is_kept(caplog):
    with caplog.at_level(logging.WARNING, "fedabm"):

        class Named(PowerLaw):
            def __repr__(self):
                return "Named()"

    assert caplog.records == []
    assert Named().traits == PowerLaw().traits
    assert Game(Named(), [0.1, 0.2], 10.0, NoPayments()).gap([1.0, 1.0]) > 0


def test_weights_of_ones_own_are_not_all_one():
    @dataclass(frozen=True)
    class Halves(Exposure):
        concave = monotone = True

        def curve(self, exposure):
            return exposure / (1.0 + exposure)

        def curve_slope(self, exposure):
            return (1.0 + exposure) ** -2.0

        def curve_curvature(self, exposure):
            return -2.0 * (1.0 + exposure) ** -3.0

        def weight_matrix(self, owners):
            return 0.5 * (np.ones((owners, owners)) + np.eye(owners))

        def exposures(self, profiles):
            return profiles @ self.weight_matrix(profiles.shape[-1])

        def own_weights(self, owners):
            return np.ones(owners)

    assert not Halves().traits.of_total
    found = Halves().restrict(np.array([0, 2]))
    assert found.traits == WorthTraits(concave=True, monotone=True, of_exposure=True, padded=True)
    profile = np.array([1.0, 2.0])
    assert np.allclose(found.values(profile[None]), Halves().values(np.array([[1.0, 0.0, 2.0]]))[:, [0, 2]])


def test_a_shape_that_a_subclass_of_a_cost_breaks_is_not_taken_over():
    class Plain(Cost):
        linear = True

        def value(self, x):
            return 0.1 * x

    class Rooted(Plain):
        def value(self, x):
            return np.sqrt(x)

    assert Plain().traits.linear
    assert not Rooted().traits.linear


# Wrappers


class Noting(Custom):
    """Notes what it is asked."""

    asked: ClassVar[list] = []


for method in METHODS:
    setattr(Noting, method, lambda self, *given, method=method, **named: Noting.asked.append(method) or method)
for fact in FACTS:
    setattr(Noting, fact, property(lambda self, fact=fact: f"{fact} of the model"))


#: what is told is another accuracy, and stands with it for fewer owners; runs of both are done one by one
OWN = {"public", "restrict", "stacks"}


@pytest.mark.parametrize("name", sorted({*METHODS, *FACTS} - OWN))
def test_a_wrapper_has_every_member_of_an_accuracy_from_its_model(name):
    """Also one that is added to the protocol later."""
    inner, own = Noting.__new__(Noting), Announced.__new__(Announced)
    object.__setattr__(own, "model", inner)
    if name in FACTS:
        assert getattr(own, name) == f"{name} of the model"
        return
    Noting.asked.clear()
    needed = [one for one in inspect.signature(PUBLIC[name]).parameters.values() if one.default is one.empty]
    assert getattr(own, name)(*[None] * (len(needed) - 1)) == name
    assert Noting.asked == [name]


@pytest.mark.parametrize("inner", [PowerLaw(), PowerLaw(scale=1.4), RandomCoverage(Q), RandomDiscovery(Q)])
def test_a_wrapper_that_changes_nothing_weakens_nothing(inner):
    outer = Announced(inner, inner)
    kept = {one.name for one in fields(WorthTraits)} - {"stacks"}
    assert {name: getattr(outer.traits, name) for name in kept} == {name: getattr(inner.traits, name) for name in kept}
    owners = inner.owners or 4
    profile = np.array([1.0, 1.0, 0.0, 0.0])[:owners]
    one, two = (Game(part, [0.25] * owners, 10.0, Clarke()).gap(profile, 1e-3) for part in (inner, outer))
    assert one == two
    check_accuracy(outer, seeds=1)


def test_clarkes_certificate_is_that_of_the_curve_itself():
    plain = PowerLaw()
    for one in (plain, Announced(plain, plain)):
        assert Game(one, [0.25] * 4, 10.0, Clarke()).gap([1.0, 1.0, 0.0, 0.0], 1e-3) == pytest.approx(1 / 12, abs=1e-12)


def test_games_of_a_wrapper_are_solved_by_the_same_method():
    plain = PowerLaw()
    one, two = (solve(Game(part, [0.05, 0.1, 0.2], 10.0, Clarke())) for part in (plain, Announced(plain, plain)))
    assert (one.method, one.gap) == (two.method, two.gap)
    assert np.array_equal(one.profile, two.profile)


#: members that fewer owners have as the base has them: made of what is stated
BY_THE_BASE = {"spillovers", "spillover_kinks", "restrict", "at_zero", "as_exposure", "as_total", "exposure_groups"}
BY_THE_BASE |= {"exponentials", "traits", "accuracy_of", "worth_of", "as_common", "take_games"}


def test_fewer_owners_have_every_member_stated_or_forwarded():
    stated = {name for name in vars(Restricted) if not name.startswith("_")}
    assert set(PUBLIC) - stated == BY_THE_BASE
    loose = {name for name in FACTS if not isinstance(vars(Restricted)[name], Forwarded)}
    assert loose == {"public", "padded", "of_exposure", "of_exponentials", "power_density", "stacks"}


def test_all_owners_of_an_accuracy_are_it_again():
    full = Custom(lambda s: np.sqrt(s) + 0.1 * s.sum(axis=-1, keepdims=True), 3, concave=True, monotone=True)
    again, profile = Restricted(full, full.restrict([0, 1, 2]).rows), np.array([1.0, 2.0, 3.0])
    assert again.traits == WorthTraits(concave=True, monotone=True, padded=True)
    x = np.array([[0.5], [1.5], [2.5]])
    for name in ("curves", "spillovers"):
        one, two = (getattr(part, name)(profile) for part in (full, again))
        assert np.array_equal(one.value(x), two.value(x))
    for name in ("kinks", "marginals", "spillover_kinks"):
        assert np.array_equal(getattr(full, name)(profile), getattr(again, name)(profile))
