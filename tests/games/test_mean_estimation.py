"""The numbers of Donahue and Kleinberg 2021, and that closed forms are the minima over all weights."""

from typing import get_args

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from fedabm import InputError
from fedabm.accuracy import MeanEstimation
from fedabm.games.accuracy import Sharing
from fedabm.solving import HedonicGame, partitions
from fedabm.testing import check_accuracy

SIZES = np.array([5.0, 5.0, 25.0])
PAIR, ALL, ONE_BIG = ((0, 1), (2,)), ((0, 1, 2),), ((0, 2), (1,))


def error(weights, sizes, owner, noise=10.0, spread=1.0):
    """mu_e sum_j v_j^2 / s_j + sigma^2 (sum_{j != i} v_j^2 + (sum_{j != i} v_j)^2), straight from the text."""
    others = np.delete(weights, owner)
    return noise * np.sum(weights**2 / sizes) + spread * (np.sum(others**2) + np.sum(others) ** 2)


def errors_in(partition, sharing="uniform"):
    game = HedonicGame.of_accuracy(MeanEstimation(10.0, 1.0, sharing), SIZES)
    return 1.0 / game.utilities(partition) - 1.0


def test_errors_under_uniform_federation_are_those_printed():
    assert errors_in(PAIR) == pytest.approx([1.5, 1.5, 0.4])
    assert errors_in(ALL) == pytest.approx([1.551, 1.551, 0.408], abs=5e-4)
    assert errors_in(ONE_BIG)[[0, 2]] == pytest.approx([1.722, 0.389], abs=5e-4)
    assert errors_in(((0,), (1,), (2,))) == pytest.approx([2.0, 2.0, 0.4])


def test_under_uniform_federation_only_the_pair_of_small_owners_is_stable():
    game = HedonicGame.of_accuracy(MeanEstimation(10.0, 1.0), SIZES)
    assert len(list(partitions(3))) == 5
    assert game.stable("core") == game.stable("individual") == [PAIR]
    assert (0, 1) in game.blocking(ALL)
    assert game.settle(((0,), (1,), (2,)))[-1] == PAIR


@pytest.mark.parametrize(("sharing", "small", "large"), [("coarse", 1.014, 0.345), ("fine", 0.989, 0.345)])
def test_under_coarse_and_fine_federation_the_grand_coalition_is_stable(sharing, small, large):
    assert errors_in(ALL, sharing) == pytest.approx([small, small, large], abs=5e-4)
    game = HedonicGame.of_accuracy(MeanEstimation(10.0, 1.0, sharing), SIZES)
    assert ALL in game.stable("core")
    assert ALL in game.stable("individual")


@pytest.mark.parametrize("owner", range(4))
def test_closed_forms_are_the_first_line_at_its_best_weights(owner):
    sizes, own = np.array([2.5, 7.0, 11.0, 28.0]), np.eye(4)[owner]
    pooled = sizes / sizes.sum()
    uniform, coarse, fine = (MeanEstimation(4.0, 0.7, kind).errors(sizes[None])[0] for kind in get_args(Sharing))

    def risk(weights):
        return error(weights, sizes, owner, 4.0, 0.7)

    assert uniform[owner] == pytest.approx(risk(pooled))
    assert coarse[owner] == pytest.approx(minimize_scalar(lambda w: risk(w * own + (1 - w) * pooled)).fun)
    assert fine[owner] == pytest.approx(minimize(lambda v: risk(np.append(v, 1 - v.sum())), np.full(3, 0.2)).fun)


@pytest.mark.parametrize("sharing", ["uniform", "coarse", "fine"])
def test_the_contract_of_accuracies_holds(sharing):
    check_accuracy(MeanEstimation(10.0, 1.0, sharing), seeds=2)


def test_owners_who_move_in_a_circle_are_left_where_they_were_before():
    """Owner 0 wants to be with 1, owner 1 to be alone."""
    likes = {(0, 1): [2.0, 0.0]}
    game = HedonicGame(2, lambda members: np.array(likes.get(members, [1.0] * len(members))))
    assert game.stable("individual") == [((0,), (1,))]
    assert game.stable("core") == [((0,), (1,))]
    assert game.settle([[0, 1]]) == [((0, 1),), ((0,), (1,))]


def test_what_is_no_partition_is_refused():
    game = HedonicGame(2, lambda members: np.zeros(len(members)))
    with pytest.raises(InputError, match="is no partition of 2 owners"):
        game.utilities([[0]])
    with pytest.raises(InputError, match="take at most 12"):
        HedonicGame(13, len)
    with pytest.raises(InputError, match="unknown sharing 'fin'; did you mean 'fine'"):
        MeanEstimation(sharing="fin")
