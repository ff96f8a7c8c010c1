"""Every rule with a model per owner against its formula, written out in plain loops."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import exp

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedabm.learning import FedAvg as FedAvgRule
from fedabm.learning.personal.sent import SentModels, cosines
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import server_part
from fedabm.mechanisms import Ditto, FedAMP, FedAvgExchange, FedFomo, FedProxExchange, LocalOnly, PFedGraph
from fedabm.mechanisms.personalised.p_fed_graph import on_simplex
from tests.learning.sent import assert_close, broken, claims, cosine, judged, sent_of

# Local training, averages


def test_local_training_goes_on_from_the_own_model():
    sent = sent_of()
    done = LocalOnly().exchange(sent)
    assert (done.task.start, done.task.pull, done.personal) == (None, None, None)


def test_the_mean_is_that_of_a_round_of_averaging():
    sent = sent_of(6, same_start=True)
    for case in (sent, broken(sent, 3)):
        received = Recipe().received(case.models - case.start, np.zeros(6, dtype=int), case.size)
        once = server_part(FedAvgRule(), case.initial, received, ()).model
        done = FedAvgExchange().exchange(case)
        torch.testing.assert_close(done.task.start, once.expand(6, -1))
        share = np.where(case.usable, case.size, 0) / case.size[case.usable].sum()
        assert_close(done.imports, np.tile(share, (6, 1)))


def test_proximal_and_personal_training_are_held_to_the_mean():
    sent = sent_of()
    mean = FedAvgExchange().exchange(sent).task.start
    prox = FedProxExchange(0.05).exchange(sent).task
    assert (torch.equal(prox.start, mean), torch.equal(prox.pull, mean), prox.strength) == (True, True, 0.05)
    ditto = Ditto().exchange(sent)
    assert torch.equal(ditto.task.start, mean)
    assert ditto.task.pull is None
    assert ditto.personal.start is None
    assert torch.equal(ditto.personal.pull, mean)
    assert ditto.personal.strength == 1.0


# FedAMP


def test_attentive_weights_by_plain_loops():
    sent = sent_of(5, seed=3)
    moved = (sent.models - sent.initial).double().numpy()
    expected = np.zeros((5, 5))
    for i in range(5):
        likeness = {j: exp(10 * cosine(moved[i], moved[j])) for j in range(5) if j != i}
        for j, found in likeness.items():
            expected[i, j] = 0.7 * found / sum(likeness.values())
        expected[i, i] = 0.3
    done = FedAMP().exchange(sent)
    assert_close(done.imports, expected)
    assert_close(done.task.pull, expected @ sent.models.numpy())
    assert done.task.start is None
    assert done.task.strength == 0.01


def test_two_alike_and_one_opposite():
    sent = replace(sent_of(3, 2), initial=torch.zeros(2), models=torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]]))
    weights = FedAMP(self_weight=0.4, sharpness=1.0).exchange(sent).imports
    near = exp(1) / (exp(1) + exp(-1))
    assert_close(weights, [[0.4, 0.6 * near, 0.6 - 0.6 * near], [0.6 * near, 0.4, 0.6 - 0.6 * near], [0.3, 0.3, 0.4]])


def test_cosines_survive_any_length():
    rows = torch.tensor([[1.0, 0.0], [1e-30, 1e-30], [0.0, 3e38], [0.0, 0.0], [-2e38, -2e38]])
    half = 0.5**0.5
    expected = [[1, half, 0, 0, -half], [half, 1, half, 0, -1], [0, half, 1, 0, -half], [0, 0, 0, 1, 0]]
    assert_close(cosines(rows), [*expected, [-half, -1, -half, 0, 1]], 1e-6)


# FedFomo


def test_first_order_weights_by_plain_loops():
    for seed, most, far in itertools.product(range(4), (2, 6), (0.0, 4.0)):
        sent = sent_of(6, seed=seed, behind=far)  # from far away nearly every model helps
        loss, before = sent.losses()
        expected = np.zeros((6, 6))
        for i in range(6):
            slopes = {}
            for j in range(6):
                gap = float(torch.linalg.vector_norm(sent.models[j].double() - sent.start[i].double()))
                slopes[j] = max(0.0, before[i] - loss[i, j]) / gap
            chosen = [i, *sorted((j for j in range(6) if j != i), key=lambda j: -slopes[j])[:most]]
            total = sum(slopes[j] for j in chosen)
            for j in chosen:
                expected[i, j] = slopes[j] / total if total else float(i == j)
        done = FedFomo(most).exchange(sent)
        assert_close(done.imports, expected)
        assert (done.imports > 0).sum(axis=1).max() <= most + 1
        assert not far or (done.imports > 0).sum(axis=1).max() == min(most + 1, 6)
        for i in range(6):
            moves = expected[i].any() and expected[i] @ (loss[i] < before[i]) > 0
            wanted = expected[i] @ sent.models.numpy() if moves else sent.start[i]
            assert_close(done.task.start[i], wanted)


def test_an_owner_stays_where_nothing_helps_and_takes_what_does():
    start, initial = torch.zeros(2, 2), torch.zeros(2)
    models = torch.tensor([[-1.0, 0.0], [2.0, 0.0]])
    targets = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    losses = judged(targets, models, start)
    sent = SentModels(claims(np.ones(2)), np.ones(2, bool), models, start, initial, losses)
    done = FedFomo().exchange(sent)
    assert_close(done.task.start, [[2.0, 0.0], [0.0, 0.0]])
    assert_close(done.imports, [[0.0, 1.0], [0.0, 1.0]])


def test_all_downloads_are_imports_whatever_they_weigh():
    """Two others helped nothing: of 5 others each owner downloads 4, as iPFL 2025 counts them."""
    sent = sent_of(6, seed=1)
    done = FedFomo(4).exchange(sent)
    assert (done.imports > 0).sum() < 6 * 5
    assert done.imported.sum(axis=1).tolist() == [5] * 6
    assert np.all(done.imported | (done.imports == 0))
    silent = FedFomo(4).exchange(broken(sent, 2, 3))
    assert not silent.imported[np.ix_([0, 1, 4, 5], [2, 3])].any()
    assert silent.imported.sum(axis=1).tolist() == [4, 4, 5, 5, 4, 4]


def test_losses_that_are_no_numbers_help_nobody():
    sent = sent_of(4)
    losses, before = sent.losses()
    losses[:, 1], losses[:, 2] = np.nan, np.inf
    done = FedFomo().exchange(replace(sent, measured=(losses, before)))
    others = ~np.eye(4, dtype=bool)
    assert not done.imports[:, 1:3][others[:, 1:3]].any()


# pFedGraph


def brute_projection(point: np.ndarray) -> np.ndarray:
    """The nearest point of the simplex, by trying every set of entries that may be positive."""
    best, nearest = None, np.inf
    for count in range(1, len(point) + 1):
        for support in itertools.combinations(range(len(point)), count):
            found = np.zeros(len(point))
            inside = list(support)
            found[inside] = point[inside] - (point[inside].sum() - 1) / count
            if np.all(found >= 0) and np.sum((found - point) ** 2) < nearest:
                best, nearest = found, np.sum((found - point) ** 2)
    assert best is not None
    return best


@given(st.lists(st.lists(st.floats(-3, 3), min_size=5, max_size=5), min_size=1, max_size=4), st.integers(0, 31))
def test_the_projection_is_exact(points, closed):
    rows = np.array(points)
    allowed = np.array([not closed >> j & 1 for j in range(5)]) | np.eye(5, dtype=bool)[: len(rows)]
    found = on_simplex(rows, allowed)
    for row, point, may in zip(found, rows, allowed, strict=True):
        assert_close(row[may], brute_projection(point[may]), 1e-12)
        assert not row[~may].any()


def test_the_graph_minimises_its_objective():
    sent = sent_of(6, seed=5)
    moved = (sent.models - sent.initial).double().numpy()
    share = sent.size / sent.size.sum()
    for alpha in (0.1, 0.8):
        done = PFedGraph(alpha, threshold=0.3).exchange(sent)
        for i in range(6):
            near = np.array([cosine(moved[i], moved[j]) for j in range(6)])
            near[near > 0.3] = 1.0
            assert_close(done.imports[i], brute_projection(share + near / (2 * alpha)), 1e-6)
        assert_close(done.task.start, done.imports @ sent.models.numpy())
        assert torch.equal(done.task.pull, done.task.start)
        assert done.task.strength == 0.01


def test_a_large_alpha_gives_the_shares_of_data():
    sent = sent_of(5)
    assert_close(PFedGraph(alpha=1e9).exchange(sent).imports, FedAvgExchange().exchange(sent).imports, 1e-6)
