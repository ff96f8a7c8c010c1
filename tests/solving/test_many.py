"""Many games at once are the games one by one, each certified."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Game, InputError, solve, solve_many
from fedabm.games.accuracy import GroupWeighted, PowerLaw
from fedabm.games.costs import PowerCost
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    NoPayments,
    PartialReciprocity,
    ShapleyShare,
    TullockContest,
)
from fedabm.solving import many
from fedabm.solving.jacobian import by_differences
from fedabm.solving.newton import Ends
from fedabm.solving.table import StackedGameTable

RULES = [NoPayments(), ContributionSubsidy(0.002), CostSharing(0.3)]


def drawn(seed, rule, *, games=6, owners=5, exponent=1.5):
    """Games of one kind, with costs and capacities of their own."""
    rng = np.random.default_rng(seed)
    sizes = (games, owners)
    rates, rooms = rng.uniform(1e-3, 0.1, sizes), rng.uniform(5.0, 80.0, sizes)
    costs = [PowerCost(rate, np.full(owners, exponent), np.zeros(owners)) for rate in rates]
    return [Game(PowerLaw(exponent=0.5), cost, room, rule) for cost, room in zip(costs, rooms, strict=True)]


def stacked(games, monkeypatch, **options):
    """The results, where no game may be solved by itself."""

    def refused(*_, **__):
        raise AssertionError("solved by itself")

    with monkeypatch.context() as patch:
        patch.setattr(many, "solve", refused)
        return solve_many(games, **options)


@pytest.mark.parametrize("exponent", [1.0, 1.5])
@pytest.mark.parametrize("rule", RULES[:2], ids=lambda rule: type(rule).__name__)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_games_of_one_kind_have_the_equilibria_of_solve(rule, exponent, seed):
    games = drawn(seed, rule, exponent=exponent)
    for game, found in zip(games, solve_many(games), strict=True):
        alone = solve(game)
        assert found.verdict == alone.verdict == "certified"
        assert game.gap(found.profile) <= 1e-9
        np.testing.assert_allclose(found.profile, alone.profile, atol=1e-6)
        np.testing.assert_allclose(found.utilities, alone.utilities, atol=1e-9)
        np.testing.assert_allclose(found.payments, alone.payments, atol=1e-8)
        np.testing.assert_allclose(found.accuracies, alone.accuracies, atol=1e-8)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_they_are_solved_as_one_table(rule, monkeypatch):
    found = stacked(drawn(3, rule, exponent=1.0), monkeypatch)
    assert all(one.converged and one.gap <= 1e-9 for one in found)


@pytest.mark.parametrize("unit", [1e-9, 1e6])
@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_the_unit_of_data_does_not_matter(unit, exponent, monkeypatch):
    """Nanograms or tons: a table all the same, and the same profiles in the other unit."""
    known = drawn(5, NoPayments(), exponent=exponent)
    law = PowerLaw(scale=unit**0.5, exponent=0.5, offset=unit)
    costs = [PowerCost(game.costs.rate / unit**exponent, *game.costs.columns[1:]) for game in known]
    games = [Game(law, cost, unit * game.capacities, NoPayments()) for game, cost in zip(known, costs, strict=True)]
    for one, other in zip(stacked(known, monkeypatch), stacked(games, monkeypatch), strict=True):
        np.testing.assert_allclose(other.profile / unit, one.profile, atol=1e-6)


def test_one_cheap_owner_gives_until_its_slope_is_its_cost(monkeypatch):
    """a(S) = 1 - 1/(1 + S), so 1/(1 + S)^2 = c, and the dearer owner gives nothing."""
    costs = np.linspace(0.01, 0.2, 9)
    found = stacked([Game(PowerLaw(), [cost, 0.25], 100, NoPayments()) for cost in costs], monkeypatch)
    np.testing.assert_allclose([one.profile[0] for one in found], 1 / np.sqrt(costs) - 1, rtol=1e-9)
    assert all(one.profile[1] == 0 for one in found)


def test_games_of_all_kinds_come_back_in_order_and_what_is_solved_alone_is_bit_equal():
    plain, sharing = drawn(1, NoPayments(), games=3), drawn(2, NoPayments(), games=3, owners=4)
    others = drawn(3, OneByOne(), games=2) + drawn(4, TullockContest(0.1), games=2, owners=3)
    games = [
        plain[0],
        others[0],
        sharing[0],
        plain[1],
        others[1],
        sharing[1],
        plain[2],
        others[2],
        sharing[2],
        others[3],
    ]
    for game, found in zip(games, solve_many(games), strict=True):
        alone = solve(game)
        assert found.verdict == alone.verdict
        if isinstance(game.mechanism, OneByOne):
            np.testing.assert_array_equal(found.profile, alone.profile)
            assert found.gap == alone.gap
        else:
            np.testing.assert_allclose(found.profile, alone.profile, atol=1e-6)


class OneByOne(ShapleyShare):
    """A rule that takes no tables."""

    def tabled(self, accuracy, owners):
        return False


class Broken(NoPayments):
    """A rule that fails."""

    def offers(self, accuracy, reports):
        raise InputError("no offers today; come back tomorrow")


def test_a_game_that_fails_does_not_stop_the_others():
    games = drawn(1, NoPayments(), games=2) + drawn(1, Broken(), games=2) + drawn(2, NoPayments(), games=1)
    found = solve_many(games)
    assert [isinstance(one, InputError) for one in found] == [False, False, True, True, False]
    assert all(one.converged for one in found if not isinstance(one, Exception))


def test_games_that_cannot_be_solved_as_one_table_are_solved_and_it_is_said_why(monkeypatch):
    games = drawn(1, NoPayments())
    wanted = [found.profile for found in map(solve, games)]

    def fails(*_):
        raise FloatingPointError("somewhere in the table")

    monkeypatch.setattr(many, "newton", fails)
    with pytest.warns(UserWarning, match="6 games are solved one by one, .*: FloatingPointError: somewhere"):
        results = solve_many(games)
    for found, profile in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(found.profile, profile)


def test_what_no_method_certifies_together_is_solved_alone(monkeypatch):
    games = drawn(1, NoPayments())
    wanted = [solve(game).profile for game in games]
    monkeypatch.setattr(many, "newton", lambda table, start: Ends.at(start))
    monkeypatch.setattr(many, "_interior_point", many.newton)
    for found, profile in zip(solve_many(games), wanted, strict=True):
        np.testing.assert_array_equal(found.profile, profile)


def test_exact_jacobians_are_those_by_differences():
    for rule in RULES:
        table = StackedGameTable.of(drawn(1, rule))
        profiles = 0.3 * table.capacities
        differences = by_differences(table.slopes, profiles, table.typical(profiles))
        np.testing.assert_allclose(table.known_jacobians(profiles), differences, rtol=2e-4, atol=1e-8)


@pytest.mark.parametrize("games", [[], [1], "games"])
def test_only_games_can_be_solved(games):
    if games:
        with pytest.raises(InputError, match="game must be"):
            solve_many(games)
    else:
        assert solve_many(games) == []


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_lies_about_costs_are_a_table_too(seed):
    games, factors = drawn(seed, CostSharing(0.3), games=3, exponent=1.0), (0.5, 1.2, 2.0)
    lying = [replace(game, reported=game.costs.scaled(factor)) for game in games for factor in factors]
    starts = [0.5 * game.capacities for game in lying]
    with pytest.MonkeyPatch.context() as patch:
        together = stacked(lying, patch, starts=starts)
    for game, start, found in zip(lying, starts, together, strict=True):
        alone = solve(game, start)
        assert game.gap(found.profile) <= 1e-9
        np.testing.assert_allclose(found.utilities, alone.utilities, atol=1e-7)
        np.testing.assert_allclose(found.payments, game.payments(found.profile), atol=1e-9)


def test_from_where_games_are_solved_is_told_game_by_game():
    games = drawn(1, NoPayments(), games=3)
    with pytest.raises(InputError, match="2 starts but 3 games; give one per game"):
        solve_many(games, starts=[games[0].capacities] * 2)


def test_every_game_is_solved_from_its_own_start_or_from_none():
    """Two owners whose data are worth three times as much to the other: three equilibria, and the start says which."""
    accuracy = GroupWeighted(((1.0, 3.0), (3.0, 1.0)), (0, 1), exponent=1.0, offset=1.0)
    game = Game(accuracy, [0.05, 0.05], 10.0, NoPayments())
    starts = [None, [3.4, 0.0], [0.0, 3.4], "here"]
    found = solve_many([game] * 4, starts=starts)
    for one, start in zip(found[:3], starts, strict=False):
        np.testing.assert_allclose(one.profile, solve(game, start).profile, atol=1e-6)
    assert isinstance(found[3], InputError)


@pytest.mark.parametrize("rule", [CostSharing(0.6), PartialReciprocity(0.5)])
def test_differences_of_all_columns_at_once_are_those_of_one_after_the_other(rule):
    games = [Game(PowerLaw(1.0 + 0.1 * k, 0.5), [0.1, 0.2, 0.05 * (k + 1)], 10.0, rule) for k in range(4)]
    table = StackedGameTable.of(games)
    profiles = np.random.default_rng(0).uniform(0.0, 10.0, (4, 3))
    profiles[0, 1] = 0.0
    assert table.jacobians(profiles) == pytest.approx(by_differences(table.slopes, profiles, table.typical(profiles)))
