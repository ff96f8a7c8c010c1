"""Clustered federated learning: when groups are split, how, and who belongs to them when owners come and go."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fedabm.learning.personal.sent import SentModels
from fedabm.mechanisms import CFL
from fedabm.views import Exchange
from tests.learning.sent import assert_close, broken, claims, cosine, sent_of


def two_camps(owners: int = 6, length: float = 3.0) -> SentModels:
    """Even owners move one way and odd ones the other."""
    sent = sent_of(owners, 4, same_start=True)
    side = torch.tensor([1.0 if i % 2 == 0 else -1.0 for i in range(owners)])[:, None]
    small = 0.1 * torch.from_numpy(np.random.default_rng(1).normal(size=(owners, 4)).astype(np.float32))
    step = side * torch.tensor([length, 0, 0, 0]) + small
    return replace(sent, models=sent.start + step, reports=claims(np.ones(owners)))


def next_round(sent: SentModels, done: Exchange, owners: list[int], start: Tensor, step: float) -> SentModels:
    """Everybody moves by the same step from where it starts; the mechanism is reminded of what it wanted."""
    reports = replace(claims(np.ones(len(owners))), owners=np.array(owners), memory=done.memory)
    return replace(sent, reports=reports, start=start, models=start + step, usable=np.ones(len(owners), dtype=bool))


def group_mean(sent: SentModels, who: list[int]) -> Tensor:
    return sent.models[who].mean(0)


def test_camps_that_pull_apart_are_split_and_stay_apart():
    sent = two_camps()
    done = CFL().exchange(sent)
    for who in ([0, 2, 4], [1, 3, 5]):
        torch.testing.assert_close(done.task.start[who], group_mean(sent, who).expand(3, -1))
        assert_close(done.imports[np.ix_(who, who)], np.full((3, 3), 1 / 3))
    assert_close(done.imports[::2, 1::2], np.zeros((3, 3)))
    # Now everybody moves in the same direction: no further split, and the groups are still those.
    again = CFL().exchange(next_round(sent, done, list(range(6)), done.task.start, 5.0))
    torch.testing.assert_close(again.task.start, done.task.start + 5.0)
    assert_close(again.imports, done.imports)


def test_groups_outlive_owners_that_leave_and_admit_newcomers():
    sent = two_camps()
    done = CFL().exchange(sent)
    left = np.array([0, 2, 3, 4, 5])
    nearer = [int(torch.linalg.vector_norm(done.task.start[i] - sent.initial) * 1e4) for i in (0, 1)]
    start = torch.cat([done.task.start[left], sent.initial[None]])
    later = next_round(sent, done, [*left.tolist(), 6], start, 1.0)
    again = CFL().exchange(later)
    groups = [[0, 1, 3], [2, 4]]
    groups[int(np.argmin(nearer))].append(5)
    for who in groups:
        assert_close(again.imports[np.ix_(who, who)], np.full((len(who), len(who)), 1 / len(who)))
        torch.testing.assert_close(again.task.start[who], group_mean(later, who).expand(len(who), -1))


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        (two_camps(length=2.0), CFL()),  # no update is long
        (two_camps(2), CFL()),  # two members only
        (two_camps(), CFL(smallest=6)),
        (two_camps(), CFL(max_above=4.0)),
        (replace(two_camps(), reports=claims(np.array([1.0, 0, 1, 0, 1, 0]))), CFL()),  # the mean update is long
    ],
)
def test_no_split_without_all_three_reasons(case, rule):
    share = (case.size > 0) / (case.size > 0).sum()
    assert_close(rule.exchange(case).imports, np.tile(share, (len(share), 1)))


def test_members_count_alike_however_much_data_they_claim():
    """Owners with 1, 2 and 9 samples: the mean of 0, 3 and 6 is 3, not (0 + 6 + 54) / 12 = 5."""
    sent = replace(sent_of(3, 1, same_start=True), reports=claims(np.array([1.0, 2.0, 9.0])))
    sent = replace(sent, models=torch.tensor([[0.0], [3.0], [6.0]]))
    done = CFL(max_above=100.0).exchange(sent)
    assert_close(done.task.start, [[3.0], [3.0], [3.0]])
    assert_close(done.imports, np.full((3, 3), 1 / 3))


def test_halves_are_the_best_of_complete_linkage_by_plain_loops():
    for seed in range(5):
        sent = replace(sent_of(7, 5, seed=seed, same_start=True, length=3.0), reports=claims(np.ones(7)))
        done = CFL(mean_below=100.0).exchange(sent)
        moved = (sent.models - sent.start).double().numpy()
        groups = [[i] for i in range(7)]
        while len(groups) > 2:  # merge the two groups whose least similar members are most similar
            likeness = {
                (a, b): min(cosine(moved[i], moved[j]) for i in groups[a] for j in groups[b])
                for a, b in itertools.combinations(range(len(groups)), 2)
            }
            a, b = max(likeness, key=lambda pair: likeness[pair])
            groups[a] += groups.pop(b)
        expected = np.zeros((7, 7))
        for group in groups:
            expected[np.ix_(group, group)] = 1 / len(group)
        assert_close(done.imports, expected)


def test_a_silent_owner_stays_with_its_group_and_goes_with_the_larger_half():
    sent = replace(broken(two_camps(8), 6), reports=claims(np.ones(8)))
    done = CFL().exchange(sent)
    torch.testing.assert_close(done.task.start[6], done.task.start[1])
    assert not done.imports[:, 6].any()
    second = CFL().exchange(next_round(sent, done, list(range(8)), done.task.start, 1.0))
    torch.testing.assert_close(second.task.start[6], second.task.start[1])
