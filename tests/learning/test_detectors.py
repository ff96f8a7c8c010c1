"""Each detector finds what it is made for, and misses what it is known to miss."""

import numpy as np
import pytest
import torch

from fedabm.common.errors import InputError
from fedabm.data import Backdoor
from fedabm.learning import (
    FedAvg,
    FLTrust,
    FoolsGold,
    FromUpdates,
    NoDuplicates,
    NormBound,
    Received,
    attack_success,
    caught,
)
from fedabm.learning.rules.aggregate import screen
from tests.knowledge.worlds import engine
from tests.learning.knowledge.test_from_updates import scores


def received(updates, claimed=None):
    updates = torch.as_tensor(np.asarray(updates), dtype=torch.float32)
    claims = np.ones(len(updates)) if claimed is None else claimed
    return Received(updates, screen(updates), claims, np.ones(len(updates)))


def unlike(owners=5, size=200, seed=0):
    """Updates of owners that have little in common."""
    return np.random.default_rng(seed).normal(size=(owners, size))


SYBILS = np.vstack([unlike(), [np.ones(200) + 0.01 * row for row in unlike(3, seed=1)]])
BAD = np.arange(8) >= 5


def test_fools_gold_finds_sybils():
    trust = FoolsGold().trust(received(SYBILS)).numpy()
    assert caught(trust, BAD) == (1.0, 1.0)


def test_fools_gold_misses_a_single_attacker_and_catches_honest_owners_that_are_alike():
    alone = np.vstack([unlike(), -unlike(1, seed=2)])
    assert FoolsGold().trust(received(alone)).numpy()[5] > 0.5
    alike = np.vstack([np.ones(200) + 0.1 * unlike(5), unlike(1, seed=3)])
    trust = FoolsGold().trust(received(alike)).numpy()
    assert trust[:5].max() < 0.1
    assert trust[5] == 1.0


def test_fools_gold_remembers_what_was_sent_before():
    """Sybils that differ in one round and are alike over all are found by the sum."""
    first, second = unlike(4, seed=4), unlike(4, seed=5)
    second[3] = first[2] + second[2] - first[3]  # in the end both have sent the same
    rule = FoolsGold()
    memory = rule.step(received(first), rule.begin(torch.zeros(200), 4)).memory
    change = rule.step(received(second), memory).change.numpy()
    np.testing.assert_allclose(change, second[:2].mean(axis=0), atol=0.05)


def test_norm_bounds_cut_what_is_long_and_miss_what_is_not():
    updates = unlike()
    honest = NormBound(1.5).step(received(updates), ()).change
    long = np.vstack([updates, 100.0 * updates[:1]])
    bounded, plain = (rule.step(received(long), ()).change.norm() for rule in (NormBound(1.5), FedAvg()))
    assert bounded < 0.05 * plain
    assert caught(NormBound(1.5).trust(received(long)).numpy(), np.arange(6) == 5) == (1.0, 1.0)
    flipped = np.vstack([updates[:3], -updates[3:]])
    assert NormBound(1.5).trust(received(flipped)).numpy() == pytest.approx(np.ones(5))
    torch.testing.assert_close(honest, FedAvg().step(received(updates), ()).change)


def test_duplicates_are_found_with_the_one_that_was_copied_and_noise_hides_them():
    updates = unlike()
    copied = np.vstack([updates, updates[:1]])
    trust = NoDuplicates().trust(received(copied)).numpy()
    assert trust.tolist() == [0.5, 1, 1, 1, 1, 0.5]
    assert caught(trust, np.arange(6) == 5, least=0.75) == (0.5, 1.0)
    hidden = np.vstack([updates, updates[:1] + 0.1 * unlike(1, seed=6)])
    assert NoDuplicates().trust(received(hidden)).numpy().tolist() == [1.0] * 6


def test_trust_by_root_data_by_hand():
    """Cosines 4 / 5, 5 / 13 and -1 with the root's (3, 0); all are cut to length 3; a flipped sign counts nothing."""
    sent = [[3.0, 0.0], [4.0, 3.0], [5.0, -12.0], [-3.0, 0.0]]
    rule = FLTrust(root=0)
    change = 3.0 * (4 / 5 * np.array([4, 3]) / 5 + 5 / 13 * np.array([5, -12]) / 13) / (4 / 5 + 5 / 13)
    np.testing.assert_allclose(rule.step(received(sent), ()).change, change, rtol=1e-6)
    np.testing.assert_allclose(rule.trust(received(sent)), [1.0, 1.0, 25 / 52, 0.0], rtol=1e-6)
    turned = FLTrust(root=-1).step(received(sent[::-1]), ()).change
    np.testing.assert_allclose(turned, change, rtol=1e-6)


def test_root_data_stop_scaling_miss_what_goes_along_and_leave_out_who_is_unlike():
    honest = np.ones((5, 200)) + unlike()
    scaled = np.vstack([honest, -1e6 * honest[:1]])
    stopped = [FLTrust().step(received(rows), ()).change for rows in (honest, scaled)]
    torch.testing.assert_close(*stopped)
    along = np.vstack([honest, honest.mean(axis=0, keepdims=True)])  # delta weights: nothing was trained
    assert FLTrust().trust(received(along))[5] == 1.0
    one_sided = np.vstack([np.eye(4, 200), np.eye(4, 200)[:1]])  # every owner has a class of its own
    assert FLTrust().trust(received(one_sided)).tolist() == [1.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("root", [[np.nan, 0.0], [0.0, 0.0]])
def test_without_an_update_of_the_root_nothing_is_learned(root):
    assert FLTrust().step(received([root, [1.0, 2.0]]), ()).change.tolist() == [0.0, 0.0]


def test_the_root_is_one_of_the_owners():
    with pytest.raises(InputError, match="root must be one of 3 owners, got 3"):
        FLTrust(root=3).begin(torch.zeros(2), 3)


def test_root_data_find_flipped_signs_and_trust_what_is_sent_on():
    """FLTrust's cosines; delta weights lie along the server's own update."""
    from tests.learning.knowledge.test_from_updates import large

    assert scores("sign_flip", FromUpdates("root", large()[1]))[3] == 0.0
    assert scores("scaled", FromUpdates("root", large()[1]))[3] > 0.1  # lengths are not looked at


def test_precision_and_recall():
    assert caught(np.array([1.0, 1.0]), np.array([False, True]))[1] == 0.0
    assert np.isnan(caught(np.ones(2), np.zeros(2, bool))).all()


def test_a_trigger_is_stamped_on_a_share_and_success_is_judged_on_other_classes():
    backdoor = Backdoor(target=2, share=0.3, size=2)
    x, y = np.random.default_rng(0).uniform(size=(100, 1, 8, 8)).astype(np.float32), np.arange(100) % 5
    spoiled, labels = backdoor.spoil(x, y, np.random.default_rng(0), 5)
    marked = (spoiled[:, 0, -2:, -2:] == x.max()).all(axis=(1, 2))
    assert marked.sum() == 30
    assert (labels[marked] == 2).all()
    np.testing.assert_array_equal(spoiled[~marked], x[~marked])
    # A model that always answers 2 falls for it everywhere, one that never does nowhere.
    model = torch.zeros(engine().size)
    model[-10 + 2] = 5.0
    assert attack_success(engine(), model, backdoor) == 1.0
    assert attack_success(engine(), -model, backdoor) == 0.0
