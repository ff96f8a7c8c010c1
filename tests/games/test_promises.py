"""Certificates that were once false, each by the fault that made it so; and promises that are broken are noticed."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

from fedabm import Federation, Game, InputError, Scenario, solve
from fedabm.common.leave_one_out import sum_of_others
from fedabm.games.accuracy import (
    Custom,
    GroupWeighted,
    JointQuadratic,
    PowerLaw,
    RandomCoverage,
    RandomDiscovery,
    Separable,
)
from fedabm.games.certificate import certified_gains
from fedabm.games.costs import Linear
from fedabm.games.curves import Along, Cap, Line
from fedabm.games.offers import full_access
from fedabm.mechanisms import (
    BanzhafShare,
    ContributionSubsidy,
    CostSharing,
    Mechanism,
    NoPayments,
    PartialReciprocity,
    ProportionalData,
    ProportionalValue,
    Screening,
    ShapleyShare,
    ValueShaping,
)
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import FixedShare, Honest, Liar
from fedabm.views import Reports, ServerView
from tests.fuzz.games import Square, Squares


def gained(game: Game, profile: np.ndarray, points: int = 400) -> np.ndarray:
    """What owners gain at the best of many other contributions, by settling each changed profile anew."""
    before, best = game.utilities(profile), np.zeros(game.owners)
    for owner in range(game.owners):
        top = game.capacities[owner]
        for mine in np.concatenate([top * np.logspace(-12, 0, points // 2), np.linspace(0, top, points // 2)]):
            changed = np.where(np.arange(game.owners) == owner, mine, profile)
            best[owner] = max(best[owner], game.utilities(changed)[owner] - before[owner])
    return best


# Jumps at 0


@pytest.mark.parametrize(
    "mechanism", [NoPayments(), ContributionSubsidy(0.0), CostSharing(0.5), ShapleyShare(), PartialReciprocity(0.5),
                  BanzhafShare(), ProportionalData(0.5), ValueShaping()], ids=lambda one: type(one).__name__,
)  # fmt: skip
def test_who_sees_everything_at_once_jumps_at_zero_and_the_certificate_knows(mechanism):
    """q = 1: the first bit of data is worth 0.17 to owner 1, whatever it costs; it was certified that it gains 0."""
    game = Game(RandomCoverage([[1.0], [0.34]]), [3.14058, 0.000571154], 13.4947, mechanism)
    for profile in (np.zeros(2), np.array([0.0, 13.0]), solve(game, time_limit=10).profile):
        assert np.all(game.gains(profile) >= gained(game, profile) - 1e-9)


def test_only_who_sees_something_for_sure_has_a_kink_at_zero():
    sure = RandomCoverage([[1.0, 0.2], [0.5, 0.5]])
    assert sure.kinks(np.ones(2)).tolist() == [[0.0], [np.inf]]
    assert RandomCoverage([[0.9], [0.5]]).kinks(np.ones(2)).shape == (2, 0)
    # once the others' data suffice there is nothing left to begin with
    assert np.isinf(PowerLaw(scale=2.0).kinks(np.array([0.0, 5.0]))[0, 0])


# Accuracies below zero


@pytest.mark.parametrize("rule", [ProportionalValue(0.7), ProportionalData(1.0)])
def test_a_model_that_is_worse_than_none_is_not_rationed(rule):
    """A part of -5 is worth more than -5: whoever gives less would get more, and no rule hands that out."""
    game = Game(JointQuadratic(), [0.01, 0.02, 0.05], [1.0, 2.0, 0.5], rule)
    for profile in (np.array([0.2, 0.1, 0.0]), np.zeros(3), game.capacities):
        offers = game.offers(profile)
        x = game.capacities[:, None] * np.linspace(0, 1, 60)
        assert np.all(offers.received.value(x) <= offers.accuracy.value(x) + 1e-9 * np.abs(offers.accuracy.value(x)))
        assert np.all(game.gains(profile) >= gained(game, profile) * (1 - 1e-9) - 1e-9)


def test_what_the_others_give_keeps_its_digits_beside_a_large_contribution():
    assert sum_of_others(np.array([1e6, 1e-12, 2e-12]))[0] == pytest.approx(3e-12, rel=1e-15)
    groups = GroupWeighted(((1.0, 0.5), (0.0, 1.0)), (0, 0, 1))
    assert groups.curves(np.array([1e6, 1e-12, 2e-12])).base[0] == pytest.approx(2e-12, rel=1e-15)
    np.testing.assert_allclose(groups.from_others(np.array([1.0, 2.0, 4.0])), [4.0, 3.0, 0.0])


def test_regrets_beside_liars_hold_where_accuracies_fall_without_bound():
    strategies = [Liar(FixedShare(0.4), contribution_factor=1.7), FixedShare(0.0), Liar(Honest(), size_factor=0.3)]
    owners = [OwnerProfile(Linear(0.01), 5.0 + i, one) for i, one in enumerate(strategies)]
    run = Federation(Scenario(owners, JointQuadratic(), ContributionSubsidy(0.05), steps=4)).run()
    reports, oracle = run.announce(run.population.present)
    given, rule = run.population.contribution, run.scenario.mechanism

    def utility(owner: int, mine: float) -> float:
        told = replace(reports, contribution=np.where(np.arange(3) == owner, mine, reports.contribution))
        outcome = rule.settle(ServerView(1, told, oracle))
        return float(oracle.values(told.contribution[None])[0, owner] + outcome.payments[owner] - 0.01 * mine)

    for owner, regret in enumerate(run.regrets()):
        best = max(utility(owner, mine) for mine in np.linspace(0, 5.0 + owner, 400))
        assert best - utility(owner, given[owner]) <= regret + 1e-9


# Screening


@pytest.mark.parametrize("accuracy", [PowerLaw(), RandomDiscovery([[0.5], [0.3], [0.4]])], ids=["law", "discovery"])
def test_a_menu_does_not_rest_on_what_its_owner_says_it_contributes(accuracy):
    """A liar that says it has 2 and gives 9 would otherwise move its own corners while it looks at them."""
    rule, sizes = Screening(0.05, 0.2, 0.4), np.array([2.0, 10.0, 10.0])
    menus = [rule.menu(accuracy, Reports(np.array([mine, 3.0, 1.0]), sizes)) for mine in (0.0, 2.0, 9.0)]
    for one in menus[1:]:
        assert (one.down[0], one.up[0], one.high_alone[0]) == (menus[0].down[0], menus[0].up[0], menus[0].high_alone[0])


def test_slopes_by_differences_prove_nothing():
    """g = log(1 + x), known by its values: once certified to 4e-13 where 2e-8 could be gained."""
    own = Separable(np.log1p, lambda s: 0.1 * s.sum(axis=1, keepdims=True) + 0 * s, concave=True, monotone=True)
    assert not np.all(own.curves(np.ones(2)).closed)
    assert np.all(PowerLaw().curves(np.ones(2)).closed)
    game = Game(own, [0.3, 0.1], 20, Screening(0.1, 0.3, 0.5))
    found = solve(game)
    assert found.gap >= np.max(gained(game, found.profile)) - 1e-12
    assert found.verdict == "certified"


# Promises of a user's own


def test_a_convex_payment_by_the_readmes_recipe_is_found_not_certified():
    """u = 1 - 1/(1 + S) + x^2 - x: at 0 nobody nearby gains, but whoever gives all it has gains 90."""
    game = Game(PowerLaw(), [1.0, 1.0], 10, Squares(1.0))
    assert np.all(np.isinf(game.gains([0.0, 0.0])))
    found = solve(game)
    assert (found.verdict, found.converged) == ("found", False)
    assert found.profile == pytest.approx([10.0, 10.0])
    assert found.gain <= 1e-9
    assert found.gap == np.inf


@pytest.mark.parametrize(("promised", "words"), [("concave", "bends up"), (None, "")])
def test_a_broken_promise_names_the_curve_and_the_point(promised, words):
    game = Game(PowerLaw(), [1.0, 1.0], 10, Squares(1.0, promised))
    if promised is None:
        game.gains([0.0, 0.0])
        return
    with pytest.raises(InputError, match=rf"curve Square .*{words} at [0-9.]+.*promise shape"):
        game.gains([0.0, 0.0])


def test_an_accuracy_that_is_not_as_it_says_is_named():
    wavy = Custom(lambda s: np.sin(s.sum(axis=1, keepdims=True)) + 0 * s, concave=True, monotone=True)
    with pytest.raises(InputError, match=r"the accuracy Custom is promised to be concave .* owner 0"):
        Game(wavy, [0.1, 0.2], 20, NoPayments()).gap([1.0, 1.0])
    with pytest.raises(InputError, match=r"the accuracy Custom is promised never to fall"):
        Game(replace(wavy, concave=False), [0.1, 0.2], 20, NoPayments()).gap([1.0, 1.0])


@dataclass(frozen=True)
class WrongSlope(Mechanism):
    """Its curve is a closed one whose derivative belongs to another function."""

    def offers(self, accuracy, reports):
        n = len(reports.contribution)
        payment = Along(np.sqrt, lambda x: 3.0 / np.sqrt(x + 1.0), np.ones(n), np.ones(n))
        return full_access(accuracy, reports.contribution, payment, "concave")


def test_a_slope_that_is_no_derivative_is_noticed_and_its_curve_named():
    with pytest.raises(InputError, match=r"the curve Along has a slope at .+ that is not the derivative of its value"):
        Game(PowerLaw(), [0.1, 0.2], 20, WrongSlope()).gap([1.0, 1.0])


@pytest.mark.parametrize("worth", [1e-12, 1.0, 1e12])
def test_a_broken_promise_is_noticed_in_any_unit_of_worth(worth):
    """a'' + p'' = -2/(1 + x)^3 + 0.004 is positive from 6.9 on: by a thousandth of what is at stake."""
    game = Game(PowerLaw(scale=worth, ceiling=worth), [worth, worth], 10, Squares(0.002 * worth, "concave"))
    with pytest.raises(InputError, match="bends up at"):
        game.gains([0.0, 0.0])


@pytest.mark.parametrize("worth", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("capacity", [1e-12, 1e-6, 1.0])
@pytest.mark.parametrize("mechanism", [NoPayments(), ShapleyShare(), ProportionalValue(0.5)])
def test_a_promise_that_is_kept_is_believed_in_any_unit_of_worth(mechanism, capacity, worth):
    """1 - 1/(1 + x) of tiny data is a difference of numbers around 1, and 1e12 times that of numbers around 1e12."""
    game = Game(PowerLaw(scale=worth, ceiling=worth), [0.5 * worth, 0.75 * worth], capacity, mechanism)
    assert np.all(np.isfinite(game.gains([capacity, 0.3 * capacity])))


def test_round_values_are_not_taken_for_rounding():
    """Stairs change by a quarter or not at all, but they are no differences of numbers around 1e15."""
    stairs = Custom(lambda s: np.floor(4 * s.sum(axis=1, keepdims=True)) / 4 + 0 * s, concave=True, monotone=True)
    with pytest.raises(InputError, match="bends up at"):
        Game(stairs, [0.1, 0.2], 20, NoPayments()).gains([1.0, 1.0])


@pytest.mark.parametrize("capacity", [1e-12, 1e-6, 1.0])
def test_a_users_own_accuracy_is_believed_on_tiny_data(capacity):
    """A multiple of a difference of numbers around 1: nothing may be proven of it, but nothing is refused."""
    own = Custom(lambda s: 0.7 * (1 - 1 / (1 + s.sum(axis=1, keepdims=True))) + 0 * s, concave=True, monotone=True)
    assert np.all(Game(own, [0.1, 0.2], capacity, NoPayments()).gains([capacity, 0.0]) >= 0)


@pytest.mark.parametrize("mechanism", [ShapleyShare(), PartialReciprocity(0.5)])
@pytest.mark.parametrize("capacity", [1e-90, 1e-9, 1e90])
def test_who_sees_something_for_sure_does_so_with_however_little(mechanism, capacity):
    """Shares used to rise to their full height between 1e-30 and 1e-29 only, which looked like a wrong slope."""
    game = Game(RandomCoverage([[1.0], [0.7], [0.8]]), np.array([0.1, 0.2, 0.3]) / capacity, capacity, mechanism)
    little = game.utilities([1e-24 * capacity, 0.0, 0.0])[0]
    assert little == pytest.approx(game.utilities([1e-12 * capacity, 0.0, 0.0])[0], rel=1e-9)
    assert np.all(np.isfinite(game.gains(0.3 * game.capacities)))


def test_straight_payments_keep_the_shape_and_others_make_it_unknown():
    law, growing = PowerLaw(), Custom(lambda s: np.tanh(s.sum(axis=1, keepdims=True)) + 0 * s, monotone=True)
    up, down = Line(np.zeros(2), np.full(2, 0.1)), Line(np.zeros(2), np.full(2, -0.1))
    shapes = [full_access(one, np.zeros(2), pay).shape for one in (law, growing) for pay in (up + up, 2.0 * down)]
    assert shapes == ["concave", "concave", "monotone", "unknown"]
    assert full_access(law, np.zeros(2), up + Square(np.ones(2))).shape == "unknown"


# Money


@pytest.mark.parametrize("mechanism", [ShapleyShare(), PartialReciprocity(0.4), ContributionSubsidy(1e5)])
@pytest.mark.parametrize(
    "accuracy", [JointQuadratic(), PowerLaw(1e9, 1.0, 1.0, 1e10), RandomDiscovery(np.full((3, 2), 1e4))],
    ids=["negative", "huge", "discovery"],
)  # fmt: skip
def test_budgets_balance_to_rounding_of_the_payments_whatever_the_accuracies(mechanism, accuracy):
    for seed in range(20):
        claimed = np.random.default_rng(seed).uniform(0, 1, 3) ** 6
        outcome = mechanism.settle(ServerView(1, Reports(claimed, np.ones(3)), accuracy))
        assert abs(outcome.payments.sum()) <= 1e-15 * max(np.abs(outcome.payments).max(), 1e-300) * 3


def test_more_than_rounding_is_not_shared_out():
    @dataclass(frozen=True)
    class Leaking(Mechanism):
        def offers(self, accuracy, reports):
            return full_access(accuracy, reports.contribution, Line(np.full(2, 1e-3), np.zeros(2)))

    outcome = Leaking().settle(ServerView(1, Reports(np.ones(2), np.ones(2)), PowerLaw()))
    assert outcome.payments.tolist() == [1e-3, 1e-3]


# Extremes


@pytest.mark.parametrize("mechanism", [NoPayments(), ShapleyShare(), ProportionalValue(0.5), ValueShaping()])
@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_extreme_scales_warn_nobody(mechanism, size):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for accuracy in (PowerLaw(offset=size), JointQuadratic(least=size), RandomDiscovery([[1.0], [0.5]])):
            found = solve(Game(accuracy, [1.0 / size, 0.5], size, mechanism), time_limit=5)
            assert found.verdict in ("certified", "found", "open", "cycle")


# Caps


def test_a_ramp_is_proven_by_its_own_line_however_the_accuracy_bends():
    """Along a ramp all contributions are worth the same: growth alone would need 1e8 intervals to prove it."""

    def sigmoid(s):
        return np.broadcast_to(1.0 / (1.0 + np.exp(-0.1 * (s.sum(axis=1, keepdims=True) - 40.0))), s.shape)

    for mechanism in (ValueShaping(), Screening(0.004, 0.009, 0.5)):
        found = solve(Game(Custom(sigmoid, monotone=True), [0.005, 0.008], 100, mechanism))
        assert found.verdict == "certified"


def test_a_cap_that_is_exceeded_is_noticed():
    game = Game(PowerLaw(), [0.1, 0.25], 10, NoPayments())
    offers = replace(game.offers(np.ones(2)), caps=(Cap(Line(np.full(2, 0.5), np.zeros(2)), np.zeros(2)),))
    with pytest.raises(InputError, match=r"more at .* than its offer's cap"):
        certified_gains(offers, game.costs, game.capacities, np.ones(2))


def test_an_accuracy_far_below_its_ceiling_keeps_its_promise_on_tiny_data():
    """1 - 1/(1 + x) up to a millionth is lost in the rounding of numbers around 1; that is no bend."""
    found = solve(Game(PowerLaw(), [0.75, 0.5], 1e-6, NoPayments()))
    assert found.converged
    np.testing.assert_allclose(found.profile, 1e-6)
