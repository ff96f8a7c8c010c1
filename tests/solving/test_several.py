"""One equilibrium or several: what is found, what is proven, and that no proof is beaten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm import Federation, Scenario, population
from fedabm.common.errors import InputError
from fedabm.games.accuracy import GroupWeighted, JointQuadratic, PacBound, PowerLaw, RandomCoverage, RandomDiscovery
from fedabm.games.costs import Affine, Piecewise, Power
from fedabm.mechanisms import (
    BanzhafShare,
    ContributionSubsidy,
    CostSharing,
    NoPayments,
    ProportionalData,
    ShapleyShare,
    ValueShaping,
)
from fedabm.shapley import shapley, shapley_potential
from fedabm.simulation.activation import Sequential
from fedabm.solving import jacobian
from fedabm.solving.equilibrium import solve
from fedabm.solving.game import Game
from fedabm.solving.metrics import data_gain
from fedabm.solving.potential import ascend, has_potential, potential
from fedabm.solving.several import equilibria, solve_all
from fedabm.solving.uniqueness import index, is_p_matrix, uniqueness

CROSSED = GroupWeighted(((1.0, 3.0), (3.0, 1.0)), (0, 1))
#: 1/(1 + x)^2 = 0.05
EDGE = 20**0.5 - 1


def test_the_crossed_weights_have_three_equilibria_and_the_answer_is_the_even_one():
    """1 + s_1 + 3 s_2 = sqrt(20) = 1 + 3 s_1 + s_2, or one gives sqrt(20) - 1 alone."""
    found = solve_all(Game(CROSSED, [0.05, 0.05], 100, NoPayments()))
    np.testing.assert_allclose([one.profile.sum() for one in found.every], [EDGE, EDGE, EDGE / 2], rtol=1e-8)
    assert found.unique is False
    assert found.reason.startswith("3 were found; their indices add up to 1")
    np.testing.assert_allclose(found.answer.profile, EDGE / 4, rtol=1e-8)
    assert [found.is_answer(one) for one in found.every] == [False, False, True]
    assert all(one.converged for one in found.every)


def test_gains_count_the_worst_equilibrium_over_the_best_one_without_payments():
    before = solve_all(Game(CROSSED, [0.05, 0.05], 100, NoPayments()))
    after = solve_all(Game(CROSSED, [0.05, 0.05], 100, ShapleyShare()))
    total = after.answer.profile.sum()
    assert data_gain(after.profiles, before.profiles) == pytest.approx(total / EDGE)
    assert data_gain(after.profiles, before.answer.profile) == pytest.approx(2 * total / EDGE)


def test_shapley_shares_are_unique_by_the_potential():
    found = solve_all(Game(CROSSED, [0.05, 0.05], 100, ShapleyShare()))
    assert found.unique is True
    assert "strictly concave potential" in found.reason
    assert found.every == (found.answer,)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(["total", "groups", "coverage"]))
def test_the_slopes_of_the_potential_are_those_of_the_utilities(seed, family):
    rng = np.random.default_rng(seed)
    owners = int(rng.integers(2, 6))
    accuracy = {
        "total": PowerLaw(exponent=rng.uniform(0.3, 1)),
        "groups": GroupWeighted(rng.exponential(1, (3, 3)), rng.integers(0, 3, owners)),
        "coverage": RandomCoverage(rng.dirichlet(np.ones(4), owners)),
    }[family]
    game = Game(accuracy, [Power(rate, 1.5) for rate in rng.uniform(0.01, 0.2, owners)], 10, ShapleyShare())
    profile, step = rng.uniform(0.5, 9, owners), 1e-5
    moves = step * np.eye(owners)
    slopes = [(potential(game, profile + move) - potential(game, profile - move)) / (2 * step) for move in moves]
    np.testing.assert_allclose(slopes, game.slopes(profile), atol=1e-7)
    matrix = game.jacobian(profile)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-9)
    # what an owner adds to the potential is its share
    without = profile * (np.arange(owners) != 1)
    added = shapley_potential(accuracy, profile) - shapley_potential(accuracy, without)
    assert added == pytest.approx(float(shapley(accuracy, profile)[1]), rel=1e-9)


def test_the_potential_of_thousands_is_exact_too():
    rng = np.random.default_rng(0)
    profile = rng.uniform(0, 5, 2000)
    without = profile * (np.arange(2000) != 7)
    added = shapley_potential(PowerLaw(), profile) - shapley_potential(PowerLaw(), without)
    assert added == pytest.approx(float(shapley(PowerLaw(), profile)[7]), abs=1e-10)


def test_climbing_the_potential_solves_example_4():
    game = Game(PowerLaw(), [0.1, 0.25], 100, ShapleyShare())
    for start in ([0.0, 0.0], [100.0, 100.0], [0.0, 80.0]):
        np.testing.assert_allclose(ascend(game, np.array(start)).profile, [2.99839298, 1.16904814], rtol=1e-8)
    found = solve(game, method="potential")
    assert found.converged
    assert found.method == "potential"
    with pytest.raises(InputError, match="only exact Shapley shares have a potential"):
        solve(Game(PowerLaw(), [0.1, 0.25], 100, NoPayments()), method="potential")


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**31))
def test_no_proof_of_uniqueness_is_beaten_by_a_search(seed):
    rng = np.random.default_rng(seed)
    owners, groups = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    accuracy = GroupWeighted(rng.exponential(1, (groups, groups)) ** 2 + 0.01, rng.integers(0, groups, owners))
    rule = (NoPayments(), CostSharing(0.5), ContributionSubsidy(0.01), ShapleyShare())[rng.integers(4)]
    costs = [Power(rate, rng.choice([1.0, 1.7])) for rate in rng.uniform(0.01, 0.3, owners)]
    game = Game(accuracy, costs, rng.choice([3.0, 50.0]), rule)
    known = uniqueness(game, solve(game).profile)
    found = equilibria(game, starts=2)
    assert found
    assert len(found) == 1 or not known.unique


@pytest.mark.parametrize(
    ("costs", "unique", "said"),
    [
        ([0.1, 0.25], True, "P-matrix"),
        ([0.1, 0.1], False, "owners 0, 1 are indifferent: they can share their 2.16228 in any way"),
        ([Power(0.1, 2.0), Power(0.1, 2.0)], True, "P-matrix"),
        ([Affine(0.1, 1.0), 0.1], False, "indifferent"),
        ([Piecewise([0, 1], [0.1, 0.2]), 0.3], None, "no proof"),
    ],
)
def test_without_payments_the_total_is_unique_and_who_gives_depends_on_the_margin(costs, unique, said):
    found = solve_all(Game(PowerLaw(), costs, 100, NoPayments()), starts=0)
    assert found.unique is unique
    assert said in found.reason


def test_indifferent_owners_really_are_free_to_share():
    game = Game(PowerLaw(), [0.1, 0.1], 100, NoPayments())
    total = 10**0.5 - 1
    assert max(game.gap([part * total, (1 - part) * total]) for part in (0.0, 0.3, 1.0)) < 1e-12


def test_nothing_is_proven_where_the_theorems_do_not_apply():
    games = [
        Game(PacBound(), [1e-3, 1e-3], 1e4, ShapleyShare()),
        Game(RandomDiscovery([[0.5, 0.5], [0.2, 0.8]]), [0.1, 0.1], 5, ShapleyShare()),
        Game(RandomCoverage([[1.0, 0.0], [0.3, 0.7]]), [0.1, 0.1], 5, ShapleyShare()),
        Game(GroupWeighted(((1.0, 0.0), (0.0, 0.0)), (0, 1)), [0.1, 0.0], 5, ShapleyShare()),
        Game(PowerLaw(), [0.1, 0.25], 100, ShapleyShare(method="monte_carlo")),
        Game(PowerLaw(), [0.1, 0.25], 100, BanzhafShare()),
        Game(PowerLaw(), [0.1, 0.25], 100, ProportionalData(0.5)),
    ]
    assert [uniqueness(game, np.ones(2)).unique for game in games] == [None] * len(games)
    assert not has_potential(games[4])


def test_p_matrices_by_hand():
    """All principal minors positive: neither symmetry nor dominance is needed."""
    assert is_p_matrix(np.array([[1.0, 5.0, 0.0], [0.0, 1.0, 5.0], [0.1, 0.0, 1.0]]))
    assert not is_p_matrix(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert not is_p_matrix(np.array([[0.0, 1.0], [-1.0, 1.0]]))
    assert is_p_matrix(np.eye(40) + 0.01)


def test_an_index_of_minus_one_says_that_there_are_others():
    """det of ((1, 3), (3, 1)) is negative."""
    game = Game(CROSSED, [0.05, 0.05], 100, NoPayments())
    known = uniqueness(game, np.full(2, EDGE / 4))
    assert known.unique is False
    assert "index -1" in known.reason
    assert index(game, np.array([0.0, EDGE])) == 1
    assert index(Game(PacBound(), [1e-4, 1e-4], 1e4, NoPayments()), np.array([1148.0, 0.0])) is None


def test_value_shaping_returns_the_equilibrium_with_most_data():
    found = solve_all(Game(PowerLaw(), [0.1, 0.12], 30, ValueShaping()), starts=1)
    assert found.answer.converged
    assert found.answer.profile.sum() == pytest.approx(max(one.profile.sum() for one in found.every), rel=1e-6)


def test_proportional_rules_have_whole_intervals_of_equilibria_and_say_so():
    found = solve_all(Game(PowerLaw(), [0.1, 0.12], 30, ProportionalData(0.9)), starts=1)
    assert found.unique is False
    assert len(found.every) > 3
    assert found.every[0].profile.sum() > 1.1 * found.answer.profile.sum()
    assert found.reason.endswith("there may be more")


def test_a_run_may_end_in_another_equilibrium_than_solve_and_solve_says_that_there_are_others():
    """Both are certified; owners begin with all they have, so that they lead each other to more data than `solve`."""
    costs, rule = [0.1, 0.12], ProportionalData(0.9)
    model = Federation(Scenario(population(costs, 30.0), PowerLaw(), rule, Sequential(), steps=300)).run()
    assert (model.status, model.converged) == ("converged", True)
    assert model.gap <= 1e-8
    found = solve_all(Game(PowerLaw(), costs, 30, rule), starts=1)
    assert found.answer.converged
    assert found.unique is False
    ended = model.population.contribution
    assert np.max(np.abs(ended - found.answer.profile)) > 0.01
    assert Game(PowerLaw(), costs, 30, rule).gap(ended) <= 1e-8


def test_what_is_not_certified_is_no_equilibrium():
    ring = Game(PowerLaw(), [0.1, 0.25], 100, ShapleyShare(method="monte_carlo", permutations=2))
    found = solve_all(ring, starts=0)
    assert found.unique is None
    assert found.profiles.shape == (1, 2)


def test_plain_words_for_json():
    told = solve_all(Game(CROSSED, [0.05, 0.05], 100, NoPayments())).as_dict()
    assert told["unique"] is False
    assert sorted(round(sum(one["profile"]), 3) for one in told["others"]) == [3.472, 3.472]


@pytest.mark.filterwarnings("error")
def test_owners_whose_slopes_never_change_have_no_index_and_no_warning():
    """A subsidy as high as the cost beside an accuracy that is next to nothing."""
    game = Game(PacBound(ceiling=9e-10), [0.02, 0.02], 50.0, ContributionSubsidy(0.02))
    assert index(game, np.array([10.0, 20.0])) is None


def test_no_matrix_of_thousands_of_owners_is_made_for_a_proof(monkeypatch):
    """An index would need a Jacobian of n^2 numbers, and two profiles for each of its columns."""

    def never(*asked):
        raise AssertionError("a Jacobian was taken by differences")

    monkeypatch.setattr(jacobian, "by_differences", never)
    found = solve_all(Game(JointQuadratic(), np.full(3001, 0.02), 50.0, BanzhafShare()))
    assert found.answer.converged
    assert found.unique is None
    assert "no index is computed for more than 3,000 owners" in found.reason


def test_the_longest_step_of_thousands_of_owners_is_refused_in_one_line():
    game = Game(PowerLaw(), np.full(3001, 0.02), 50.0, ShapleyShare())
    with pytest.raises(InputError, match=r"no longest step is computed for 3001 owners; give `step`"):
        solve(game, method="projected gradient")
