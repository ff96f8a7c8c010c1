"""Cosines are nearly the Shapley values of the cosine game; who lies along the common update gets most of it.

On updates of MNIST divided as in the paper, and against the Shapley values of accuracy and loss:

    python -m tests.mechanisms.test_cgsv
"""

import itertools
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario, population
from fedabm.data import IID, LabelNoise, from_partition, load_dataset
from fedabm.data.partitions import Partition
from fedabm.learning import Engine, Personal
from fedabm.learning.personal.sent import SentModels
from fedabm.mechanisms import CGSV
from fedabm.shapley import coalitions_of, shapley_of_values
from fedabm.strategies import Attacker, Honest
from tests.knowledge.worlds import CAPACITY, RECIPE, engine
from tests.learning.knowledge.trajectories import Digits, pearson
from tests.learning.sent import claims
from tests.thresholds import Thresholds


def cosine(one, other):
    sizes = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
    return (one * other).sum(axis=-1) / np.maximum(sizes, 1e-300)


def cosine_game(vectors):
    """Shapley values of v(X) = cos(sum of X, sum of all), and the cosines of CGSV."""
    total = vectors.sum(axis=0)
    sums = coalitions_of(len(vectors)).astype(float) @ vectors
    return shapley_of_values(cosine(sums, total)), cosine(vectors, total)


def on_gaussian_vectors(trials=200):
    """The mean correlation of cosines with the Shapley values of the cosine game, 5 owners."""
    rng = np.random.default_rng(0)
    return np.mean([pearson(*cosine_game(rng.normal(size=(5, 1000)))) for _ in range(trials)])


def test_cosines_are_nearly_the_shapley_values_of_the_cosine_game():
    """Xu et al. 2021, Figure 2: 0.976 for 5 owners."""
    assert 0.96 <= on_gaussian_vectors() <= 0.985


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


def of_length_one(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@dataclass(frozen=True)
class PowerLawSizes(Partition):
    """POW of Xu et al. 2021, as in their code: sizes between the 1st and 99th percentile of a power law."""

    owners: int

    def parts(self, labels, users, rng):
        sizes = np.linspace(0.01 ** (1 / 1.65911332899), 0.99 ** (1 / 1.65911332899), self.owners)
        cuts = np.cumsum(sizes / sizes.sum() * len(labels)).astype(int)[:-1]
        return np.split(rng.permutation(len(labels)), cuts)


@dataclass(frozen=True)
class FewClasses(Partition):
    """CLA of Xu et al. 2021, as in their code: parts of equal size, of the first class only up to all ten."""

    owners: int

    def parts(self, labels, users, rng):
        free, size = rng.permutation(len(labels)), len(labels) // self.owners // 4
        found = []
        for classes in np.linspace(1, 10, self.owners, dtype=int):
            mine = free[labels[free] < classes][:size]
            free = np.setdiff1d(free, mine)[rng.permutation(len(free) - len(mine))]
            found.append(mine)
        return found


#: UNI, POW and CLA of the paper
SPLITS = {"equal parts": IID, "sizes by a power law": PowerLawSizes, "one to ten classes": FewClasses}


def federation(data, split, owners, rounds, seed, noise=None):
    """Rounds of one epoch on so many samples per owner."""
    one = Digits(owners=owners, rounds=rounds, seed=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*samples of one class only")  # as the split has it
        federated = from_partition(data, SPLITS[split](owners), seed, 0.3, noise)
    vars(one)["engine"] = Engine("mlp", federated, device="cpu")
    return one


@pytest.mark.parametrize("split", SPLITS)
def test_cosines_of_trained_updates_are_shapley_values_once_updates_are_of_one_length(split):
    """The cosine does not see lengths and the Shapley value does: what CGSV compares is of length Gamma."""
    for updates in federation(load_dataset("digits"), split, 5, 2, 0).games:
        rows = updates.sent.double().numpy()
        assert pearson(*cosine_game(of_length_one(rows))) >= 0.95
        values, cosines = cosine_game(rows * np.array([[1.0], [1.0], [1.0], [1.0], [30.0]]))
        assert np.argmax(values) == 4
        assert pearson(values, cosines) < pearson(*cosine_game(of_length_one(rows)))


def table(seeds: int = 3, rounds: int = 5) -> None:
    """Updates of single rounds on MNIST by split and number of owners, and with up to 80% of wrong labels."""
    found = Thresholds()
    found.least("cosine game on Gaussian vectors, 5 owners", on_gaussian_vectors(), 0.96)
    found.most("cosine game on Gaussian vectors, 5 owners", on_gaussian_vectors(), 0.985)
    mnist = load_dataset("mnist").train
    for owners, split, worst in [*itertools.product((5, 10), SPLITS, (0.0,)), (5, "equal parts", 0.8)]:
        noise = [LabelNoise(share) for share in np.linspace(0.0, worst, owners)] if worst else None
        scaled, raw, spread, missed, accuracy, loss = ([] for _ in range(6))
        for seed in range(seeds):
            few = mnist.subset(np.random.default_rng(seed).permutation(len(mnist))[: 1000 * owners])
            one, psi = federation(few, split, owners, rounds, seed, noise), np.zeros(owners)
            for updates in one.games:
                rows = updates.sent.double().numpy()
                values, cosines = cosine_game(of_length_one(rows))
                scaled.append(pearson(values, cosines))
                raw.append(pearson(*cosine_game(rows)))
                spread.append(np.ptp(cosines) / cosines.mean())
                missed.append(np.abs(cosines / cosines.sum() - values / values.sum()).max() * owners)
                psi += cosines
            if owners == 5:
                accuracy.append(pearson(psi, one.exact("accuracy")[0]))
                loss.append(pearson(psi, one.exact("loss")[0]))
        of_worth = (
            f"; with round Shapley of accuracy {min(accuracy):.2f} to {max(accuracy):.2f}, of the loss {min(loss):.2f} "
            f"to {max(loss):.2f}"
            if accuracy
            else ""
        )
        print(
            f"{owners} owners, {split}{f', wrong labels up to {worst:.0%}' if worst else ''}: Pearson with the cosine "
            f"game {min(scaled):.4f} to {max(scaled):.4f}, without scaling {min(raw):.3f} to {max(raw):.3f}; cosines "
            f"are {np.mean(spread):.0%} apart, shares miss by {np.max(missed):.1%} of a mean share at most{of_worth}",
            flush=True,
        )
        found.least(f"cosine game on updates of one length, {owners} owners, {split}", min(scaled), 0.95)
    found.end()


if __name__ == "__main__":
    table()
