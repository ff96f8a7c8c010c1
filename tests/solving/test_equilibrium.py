from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedabm.common.errors import InputError
from fedabm.games.accuracy import Accuracy, Custom, GroupWeighted, PacBound, PowerLaw
from fedabm.games.costs import Affine, Linear, Power, Quadratic, stack
from fedabm.mechanisms import (
    ContributionSubsidy,
    CostSharing,
    NoPayments,
    ProportionalData,
    ShapleyShare,
    ValueShaping,
)
from fedabm.solving.equilibrium import METHODS, solve
from fedabm.solving.game import Game
from fedabm.solving.interior_point import interior_point
from fedabm.solving.jacobian import by_differences
from fedabm.solving.linear_model import Matrices, MatrixFree, linearise
from fedabm.solving.newton import newton
from fedabm.solving.several import equilibria
from fedabm.solving.table import OneGame

TWO = ([0.1, 0.25], 100)


def random_game(seed: int) -> tuple[Game, np.random.Generator]:
    """A concave game with random accuracies, costs and capacities of very different sizes."""
    rng = np.random.default_rng(seed)
    owners = int(rng.integers(1, 9))
    shape = {"exponent": rng.uniform(0.3, 2.0), "scale": rng.uniform(0.3, 1.0)}
    weights = rng.uniform(0, 1, (3, 3)) + np.eye(3)
    accuracy = PowerLaw(**shape) if rng.random() < 0.5 else GroupWeighted(weights, rng.integers(0, 3, owners), **shape)
    mechanism = NoPayments() if rng.random() < 0.5 else ContributionSubsidy(rng.uniform(0, 0.3))
    costs = [Power(rng.uniform(1e-3, 0.3), rng.choice([1.0, 1.0, 1.5, 2.0])) for _ in range(owners)]
    return Game(accuracy, costs, 10 ** rng.uniform(-2, 2, owners), mechanism), rng


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9))
def test_concave_games_are_solved_from_random_starts(seed: int) -> None:
    game, rng = random_game(seed)
    for start in (None, game.capacities * rng.random(game.owners)):
        found = solve(game, start)
        assert found.converged
        assert found.gap <= 1e-9
        assert np.all((found.profile >= 0) & (found.profile <= game.capacities))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9), st.booleans())
def test_gap_is_never_below_the_gain_of_a_deviation(seed: int, settled: bool) -> None:
    game, rng = random_game(seed)
    profile = solve(game).profile if settled else game.capacities * rng.random(game.owners)
    gains, before = game.gains(profile), game.utilities(profile)
    for _ in range(30):
        owner = int(rng.integers(game.owners))
        changed = profile.copy()
        scale = rng.choice([1.0, 1e-2, 1e-5])
        changed[owner] = np.clip(
            profile[owner] + scale * game.capacities[owner] * rng.uniform(-1, 1), 0, game.capacities[owner]
        )
        assert game.utilities(changed)[owner] - before[owner] <= gains[owner] + 1e-14
    assert game.gap(profile) == pytest.approx(gains.max(), abs=1e-15)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**9))
def test_gap_with_kinks_is_never_below_the_gain_of_a_deviation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    accuracy = PacBound(0.95, 1.0) if rng.random() < 0.5 else PowerLaw(scale=3.0, exponent=0.7)
    mechanism = ValueShaping() if rng.random() < 0.5 else NoPayments()
    game = Game(accuracy, rng.uniform(1e-4, 3e-3, 3), 5000, mechanism)
    profile = game.capacities * rng.random(3) ** 3
    gains, before, trials = game.gains(profile), game.utilities(profile), np.tile(np.linspace(0, 5000, 2001), (3, 1))
    there = game.offers(profile).benefit.value(trials) - game.costs.value(trials)
    assert np.all(there.max(axis=1) - before <= gains + 1e-13)
    # The bound is not idle: it is tight to a percent of the largest gain, and what the grid may miss.
    assert np.all(gains <= there.max(axis=1) - before + 0.011 * gains.max() + 0.03)


def test_example_3_of_murhekar_2025() -> None:
    found = solve(Game(PowerLaw(), *TWO, NoPayments()))
    assert found.profile == pytest.approx([10**0.5 - 1, 0.0], abs=1e-9)
    assert found.utilities == pytest.approx([1 - 0.1**0.5 - 0.1 * (10**0.5 - 1), 1 - 0.1**0.5])
    assert found.payments == pytest.approx([0, 0])
    assert found.converged


def test_example_4_of_murhekar_2025() -> None:
    found = solve(Game(PowerLaw(), *TWO, ShapleyShare()))
    assert found.profile == pytest.approx([2.99839298, 1.16904814], abs=1e-8)
    assert found.gap < 1e-12
    assert found.payments.sum() == pytest.approx(0, abs=1e-12)


def test_value_shaping_reaches_its_largest_equilibrium() -> None:
    found = solve(Game(PowerLaw(), *TWO, ValueShaping()))
    assert found.profile == pytest.approx([3.98115436, 2.46263961], abs=1e-8)
    assert found.converged


@pytest.mark.parametrize(("costs", "profile"), [([5, 4], [0, 0.5]), ([4, 5], [0.5, 0]), ([4, 4.001], [0.5, 0])])
def test_example_1_of_murhekar_2023(costs: list[float], profile: list[float]) -> None:
    game = Game(PowerLaw(scale=1, exponent=1, offset=0, ceiling=8), costs, 10, NoPayments())
    found = solve(game)
    assert found.converged
    assert found.profile == pytest.approx(profile, abs=1e-8)


def test_example_1_of_murhekar_2023_with_cost_sharing() -> None:
    found = solve(Game(PowerLaw(scale=1, exponent=1, offset=0, ceiling=8), [5, 4], 10, CostSharing()))
    assert found.converged
    assert found.profile == pytest.approx([0, 0.6708204], abs=1e-7)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**9))
def test_a_subsidy_above_all_costs_makes_everyone_give_all(seed: int) -> None:
    # Doshi et al. 2025, Lemma 1.
    rng = np.random.default_rng(seed)
    costs, capacities = rng.uniform(0.01, 0.3, 4), rng.uniform(0.1, 50, 4)
    found = solve(Game(PowerLaw(), costs, capacities, ContributionSubsidy(0.31)))
    assert found.converged
    assert found.profile == pytest.approx(capacities)


def test_free_riding_among_many_has_the_cheapest_owner_work_alone() -> None:
    costs = np.linspace(0.01, 0.02, 5000)
    found = solve(Game(PowerLaw(), costs[::-1], 100, NoPayments()))
    assert found.converged
    assert found.profile.argmax() == 4999
    assert found.profile[-1] == pytest.approx(9.0, abs=1e-6)
    assert found.profile[:-1].max() < 1e-6


def test_offers_that_are_only_known_to_rise_are_certified_too() -> None:
    found = solve(Game(PacBound(0.95, 1.0), [1e-3, 2e-3], 1e4, ProportionalData(0.5)))
    assert found.converged


def test_nothing_is_proven_about_offers_of_unknown_shape() -> None:
    accuracy = Custom(lambda profiles: np.sqrt(profiles.sum(axis=-1, keepdims=True)) + 0 * profiles)
    found = solve(Game(accuracy, [0.1, 0.2], 100, NoPayments()))
    assert not found.converged
    assert found.gap == np.inf
    assert found.as_dict()["gap"] is None
    assert found.profile == pytest.approx([25, 0], abs=1e-3)
    proven = solve(Game(Custom(accuracy.function, concave=True), [0.1, 0.2], 100, NoPayments()))
    assert proven.converged


def test_equal_owners_with_singular_jacobian() -> None:
    found = solve(Game(PowerLaw(), [0.04] * 6, 100, NoPayments()))
    assert found.converged
    assert found.profile.sum() == pytest.approx(4.0)


class Threshold(Accuracy):
    """The game without equilibrium of Murhekar et al. 2023, Theorem A.2."""

    concave, monotone = True, True
    eps = 1 / 32

    def values(self, profiles: np.ndarray) -> np.ndarray:
        own = np.clip((profiles - (0.5 - self.eps)) / (2 * self.eps), 0, 1)
        other = np.roll(own, 1, axis=-1)
        return own + other - own * other

    def kinks(self, profile: np.ndarray) -> np.ndarray:
        return np.tile([0.5 - self.eps, 0.5 + self.eps], (len(profile), 1))


def test_a_game_without_equilibrium_is_reported_as_a_cycle() -> None:
    game = Game(Threshold(), [0.25] * 3, 1.0, NoPayments())
    found = solve(game)
    assert not found.converged
    assert found.gap > 0.1
    assert found.method == "best response cycle"
    assert found.cycle is not None
    assert sorted(np.unique(found.cycle)) == pytest.approx([0, 0.53125])
    assert len(found.cycle) == len({tuple(member) for member in found.cycle.round(9)}) == 6
    # Each member follows from the last by one owner's strict improvement.
    for before, after in zip(np.roll(found.cycle, 1, axis=0), found.cycle, strict=True):
        mover = np.flatnonzero(before != after)
        assert len(mover) == 1
        assert game.utilities(after)[mover] > game.utilities(before)[mover] + 0.1


def test_minimum_viability_has_several_equilibria() -> None:
    # v(m) = 1 - 4/(m+1) is worth nothing below 3.  Alone no owner would start: max v(m) - 0.12 m < 0.  Together they
    # reach v' = 0.12 at a total of 4.7735 if neither has to give more than v / 0.12.
    game = Game(PowerLaw(scale=4.0), [0.12, 0.12], 5, NoPayments())
    total = (4 / 0.12) ** 0.5 - 1
    found = equilibria(game, starts=8, rng=np.random.default_rng(1))
    totals = [one.profile.sum() for one in found]
    assert all(one.converged for one in found)
    assert totals[0] == pytest.approx(total)
    assert totals[-1] == pytest.approx(0)
    assert totals == sorted(totals, reverse=True)
    assert np.max(found[0].profile) <= (1 - 4 / (total + 1)) / 0.12
    for select in ("most data", "most utility"):
        (best,) = equilibria(game, starts=8, rng=np.random.default_rng(1), select=select)
        assert best.profile.sum() == pytest.approx(total)


def test_equilibria_can_be_selected_only_by_known_names() -> None:
    with pytest.raises(InputError, match="unknown selection"):
        equilibria(Game(PowerLaw(), *TWO, NoPayments()), select="best")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_solves_a_strictly_concave_game(method: str) -> None:
    rule = ShapleyShare() if method == "potential" else NoPayments()
    game = Game(PowerLaw(), [Quadratic(0.1), Quadratic(0.3), Affine(0.1, 2.0)], 10, rule)
    found = solve(game, method=method, start=[1.0, 1.0, 1.0])
    assert found.converged
    assert found.profile == pytest.approx(solve(game).profile, abs=1e-3)


def test_an_exhausted_method_is_not_called_converged() -> None:
    game = Game(PowerLaw(), *TWO, NoPayments())
    found = solve(game, method="projected gradient", step=1e-3, start=[50, 50], limit=20)
    assert not found.converged
    assert found.iterations == 20
    assert found.gap == pytest.approx(game.gap(found.profile))
    assert found.gap > 1


@pytest.mark.parametrize("mechanism", [NoPayments(), ContributionSubsidy(0.1), ShapleyShare()])
def test_known_jacobians_match_differences(mechanism: object) -> None:
    accuracy = GroupWeighted([[1.0, 0.2], [0.5, 0.8]], [0, 1, 1, 0], exponent=0.7)
    game = Game(accuracy, [Power(0.1, 1.5)] * 4, 10, mechanism)  # type: ignore[arg-type]
    profile = np.array([0.5, 1.0, 2.0, 3.0])
    known = game.known_jacobian(profile)
    assert known is not None
    assert known == pytest.approx(by_differences(game.slopes, profile, 3.0), rel=1e-3, abs=1e-6)


def test_matrix_free_model_matches_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    game = Game(PowerLaw(), stack([Quadratic(0.1), Linear(0.2), Quadratic(0.3)]), 10, NoPayments())
    table, profile, weight = OneGame(game), np.array([[0.5, 1.0, 2.0]]), np.full((1, 3), 0.1)
    pull = np.array([[1.0, -2.0, 0.5]])
    dense = linearise(table, profile, table.slopes(profile))
    monkeypatch.setattr("fedabm.solving.linear_model.DENSE", 0)
    free = linearise(table, profile, table.slopes(profile))
    assert isinstance(dense, Matrices)
    assert isinstance(free, MatrixFree)
    assert free.diagonal == pytest.approx(dense.diagonal, rel=1e-4)
    for moving in ([[True, True, True]], [[True, False, True]], [[False, False, False]]):
        some = np.array(moving)
        assert free.solve(some, weight, pull) == pytest.approx(dense.solve(some, weight, pull), rel=1e-3)


def test_both_newton_methods_agree() -> None:
    game = Game(PowerLaw(exponent=0.5), [Quadratic(0.01), Quadratic(0.05), Linear(0.9)], [100, 0.1, 100], NoPayments())
    table, start = OneGame(game), np.full((1, 3), 0.05)
    quick, steady = newton(table, start), interior_point(table, start)
    assert quick.profiles == pytest.approx(steady.profiles, abs=1e-6)
    assert game.gap(quick.profiles[0]) < 1e-12


@pytest.mark.parametrize(
    ("costs", "capacities", "message"),
    [
        ([], 1, "empty list"),
        ([0.1, -0.2], 1, "must be zero or a positive"),
        ([0.1, float("nan")], 1, "must be zero or a positive"),
        ([0.1, "much"], 1, "must be a number"),
        ([0.1, 0.2], 0, "capacity must be"),
        ([0.1, 0.2], [1, -1], "capacity must be"),
        ([0.1, 0.2], float("nan"), "must be finite"),
        ([0.1, 0.2], [1, 2, 3], "3 capacities but 2 costs"),
        (stack([Linear(1.0)] * 3), [1, 2], "2 capacities but 3 costs"),
    ],
)
def test_wrong_games_are_refused_in_one_line(costs: object, capacities: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Game(PowerLaw(), costs, capacities, NoPayments())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("what", "wrong"), [("accuracy", "power_law"), ("mechanism", NoPayments)])
def test_a_game_is_made_of_objects(what: str, wrong: object) -> None:
    parts = {"accuracy": PowerLaw(), "mechanism": NoPayments(), what: wrong}
    with pytest.raises(InputError, match=f"{what} must be a"):
        Game(costs=[0.1], capacities=1, **parts)  # type: ignore[arg-type]


def test_a_game_must_fit_its_accuracy() -> None:
    with pytest.raises(InputError, match="2 owners with costs but an accuracy of 3"):
        Game(GroupWeighted([[1.0]], [0, 0, 0]), [0.1, 0.2], 10, NoPayments())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": [1.0]}, "1 contributions but 2 owners"),
        ({"start": [1.0, -1.0]}, "must lie between 0 and 100"),
        ({"start": [1.0, 101.0]}, "must lie between 0 and 100"),
        ({"method": "newtn"}, "did you mean 'newton'"),
        ({"tolerance": 0.0}, "tolerance must be"),
    ],
)
def test_wrong_questions_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        solve(Game(PowerLaw(), *TWO, NoPayments()), **arguments)  # type: ignore[arg-type]


def test_results_as_plain_data() -> None:
    found = solve(Game(PowerLaw(), *TWO, NoPayments()))
    plain = json.loads(json.dumps(found.as_dict()))
    assert list(plain) == [
        "profile", "utilities", "payments", "accuracies", "gap", "gain", "verdict", "iterations", "method", "time_up",
        "converged",
    ]  # fmt: skip
    assert plain["profile"] == found.profile.tolist()
    rows = found.rows()
    assert rows[1]["owner"] == 1
    assert rows[1]["contribution"] == 0.0
    assert rows[0]["utility"] == pytest.approx(found.utilities[0])
