"""Cosines are nearly the Shapley values of the cosine game; who lies along the common update gets most of it.

On updates of MNIST, and against the Shapley values of accuracy and loss:

    python -m tests.mechanisms.test_cgsv
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario, population
from fedabm.learning import Personal
from fedabm.learning.personal.sent import SentModels
from fedabm.mechanisms import CGSV
from fedabm.shapley import coalitions_of, shapley_of_values
from fedabm.strategies import Attacker, Honest
from tests.knowledge.worlds import CAPACITY, RECIPE, engine
from tests.learning.sent import claims


def cosine(one, other):
    sizes = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return (one * other).sum(axis=-1) / np.maximum(sizes, 1e-300)


def cosine_game(vectors):
    """Shapley values of v(X) = cos(sum of X, sum of all), and the cosines of CGSV."""
    total = vectors.sum(axis=0)
    sums = coalitions_of(len(vectors)).astype(float) @ vectors
    return shapley_of_values(cosine(sums, total)), cosine(vectors, total)


def test_cosines_are_nearly_the_shapley_values_of_the_cosine_game():
    """Xu et al. 2021, Figure 2: 0.976 for 5 owners."""
    rng = np.random.default_rng(0)
    found = [np.corrcoef(*cosine_game(rng.normal(size=(5, 1000))))[0, 1] for _ in range(200)]
    assert 0.96 <= np.mean(found) <= 0.985


def sent(moves, memory=None, bounds=None):
    start = torch.zeros(len(moves), len(moves[0]))
    reports = replace(claims(np.ones(len(moves))), memory=memory)
    models = torch.tensor(moves)
    return SentModels(reports, np.ones(len(moves), bool), models, start, start[0], None, bounds)


def test_one_round_by_hand():
    """Both of length 1 (Gamma); u = ((1, 0) + (0.6, 0.8)) / 2 = (0.8, 0.4), equally far from both: all get all."""
    done = CGSV(gamma=1.0).exchange(sent([[2.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(done.kept.numpy(), [[0.8, 0.4]] * 2, atol=1e-6)
    assert done.memory == pytest.approx({0: 0.5, 1: 0.5})


def test_who_pulls_against_the_others_gets_little_and_layers_are_masked_apart():
    moves = [[4.0, 3.0, 2.0, 0.1, 0.3, 0.2]] * 3 + [[-4.0, -3.0, -2.0, -0.1, -0.3, -0.2]]
    done = CGSV(alpha=0.0, gamma=1.0).exchange(sent(moves, bounds=(0, 3, 6)))
    kept = done.kept.numpy() != 0
    assert kept[:3].all()
    # tanh(0.001 / 3) / tanh(1 / 3), and one entry of each layer
    assert kept[3].tolist() == [True, False, False, False, True, False]
    assert done.memory[3] == pytest.approx(0.001 / 3.001)


def test_lengths_do_not_count():
    one = CGSV().exchange(sent([[1.0, 0.5], [0.3, 0.9]]))
    other = CGSV().exchange(sent([[100.0, 50.0], [0.3, 0.9]]))
    assert one.memory == pytest.approx(other.memory)


def test_an_attacker_is_left_behind_when_owners_train():
    kinds = [*[Honest()] * 3, Attacker(Honest(), "sign_flip")]
    people = population([0.001] * 4, CAPACITY, kinds)
    model = Federation(Scenario(people, Personal(engine(), RECIPE), CGSV(alpha=0.5), steps=4), seed=0).run()
    importance = model.server.memory
    assert importance[3] < min(importance[owner] for owner in range(3))
    weights = model.links[-1].weights
    assert weights[3, :3].sum() < weights[:3, :3].sum(axis=1).max()


def table(seeds: int = 3) -> None:
    """Updates of single rounds on MNIST, 5 owners, alike or up to 80% of whose labels are wrong."""
    from fedabm.data.datasets import load_dataset
    from fedabm.data.federated import from_partition
    from fedabm.data.partitions import IID
    from fedabm.data.quality import LabelNoise
    from fedabm.learning import Engine
    from tests.learning.knowledge.trajectories import Digits, pearson

    for worst, seed in itertools.product((0.0, 0.8), range(seeds)):
        one = Digits(owners=5, rounds=5, seed=seed)
        noise = [LabelNoise(share) for share in np.linspace(0.0, worst, 5)] if worst else None
        few = load_dataset("mnist").train.subset(np.random.default_rng(seed).permutation(60000)[:5000])
        vars(one)["engine"] = Engine("mlp", from_partition(few, IID(5), seed, 0.4, noise), device="cpu")
        found = []
        for updates in one.games:
            values, cosines = cosine_game(updates.sent.double().numpy())
            found.append((pearson(values, cosines), cosines))
        psi = np.sum([cosines for _, cosines in found], axis=0)
        against = {utility: pearson(psi, one.exact(utility)[0]) for utility in ("accuracy", "loss")}
        print(
            f"wrong labels up to {worst:.0%}, seed {seed}: cosine game {min(c for c, _ in found):.3f} or more in each "
            f"round; against round Shapley of accuracy {against['accuracy']:.2f}, of the loss {against['loss']:.2f}"
        )


if __name__ == "__main__":
    table()
