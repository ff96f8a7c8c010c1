"""Rules with a model per owner: each against its formula in plain loops, and what all of them owe to every owner."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from math import exp

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedabm import Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.errors import InputError
from fedabm.learning.engine import Engine
from fedabm.learning.exchange import Exchange, Sent
from fedabm.learning.federation import Recipe, mix, one_round
from fedabm.learning.optimisers import SGD
from fedabm.learning.own import OwnPart
from fedabm.learning.personal import Personal
from fedabm.learning.rivals import CFL, RIVALS, Ditto, FedAMP, FedAvg, FedFomo, FedProx, Local, Personalised, PFedGraph
from fedabm.learning.rivals.base import cosines, usable
from fedabm.learning.rivals.p_fed_graph import on_simplex
from fedabm.learning.training import Proximal
from fedabm.mechanisms import Mechanism
from fedabm.random import Streams, generator
from fedabm.strategies import Honest
from fedabm.views import Reports, ServerView
from tests.conftest import run
from tests.learning.plain import random_data

NAMES = [type(rule).__name__ for rule in RIVALS]
every_rule = pytest.mark.parametrize("rule", RIVALS, ids=NAMES)


def judge_by_targets(targets: Tensor):
    """Losses as squared distances from what would be best for each owner."""
    return lambda models: ((models[:, None] - targets) ** 2).sum(2).numpy().astype(float)


def sent_of(owners: int = 6, width: int = 9, seed: int = 0, same_start: bool = False, length: float = 1.0) -> Sent:
    """Random models, everybody sound."""
    rng = np.random.default_rng(seed)
    draw = lambda *shape: torch.from_numpy(rng.normal(size=shape).astype(np.float32))  # noqa: E731
    initial = draw(width)
    start = initial.repeat(owners, 1) if same_start else initial + 0.1 * draw(owners, width)
    models, targets = start + length * draw(owners, width), initial + draw(owners, width)
    size, sound = rng.uniform(10, 90, owners), np.ones(owners, dtype=bool)
    return Sent(models, sound, start, initial, size, judge_by_targets(targets))


def permuted(sent: Sent, order: np.ndarray) -> Sent:
    """The same owners in another order."""

    def judge(models: Tensor) -> np.ndarray:
        return sent.judge(models)[:, order]

    rows = {name: getattr(sent, name)[order] for name in ("models", "sound", "start", "size")}
    return replace(sent, **rows, judge=judge)


def broken(sent: Sent, *who: int, value: float = float("nan")) -> Sent:
    """Some models are no numbers."""
    models, sound = sent.models.clone(), sent.sound.copy()
    models[list(who)], sound[list(who)] = value, False
    return replace(sent, models=models, sound=sound)


def next_start(done: Exchange, sent: Sent) -> Tensor:
    """Where owners go on: from what they are sent, or from what they have."""
    return usable(sent) if done.task.start is None else done.task.start


def parts(done: Exchange) -> list[Tensor]:
    """All rows that owners are sent."""
    tasks = [done.task] + ([] if done.personal is None else [done.personal])
    return [rows for task in tasks for rows in (task.start, task.pull) if rows is not None]


def assert_close(one: object, two: object, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(one, float), np.asarray(two, float), atol=tolerance, rtol=tolerance)


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


# What every rule owes to every owner


def test_all_eight_are_there():
    assert NAMES == ["Local", "FedAvg", "FedProx", "Ditto", "FedAMP", "CFL", "FedFomo", "PFedGraph"]
    assert all(isinstance(rule, Mechanism) and hash(rule) == hash(replace(rule)) for rule in RIVALS)


@every_rule
@pytest.mark.parametrize("owners", [1, 2, 5, 12])
def test_weights_are_shares_and_models_have_their_shape(rule, owners):
    sent = sent_of(owners, length=2.0)
    done = rule.exchange(sent)
    assert done.imports.shape == (owners, owners)
    assert np.all(done.imports >= 0)
    assert_close(done.imports.sum(axis=1), np.ones(owners), 1e-12)
    assert all(rows.shape == sent.models.shape and torch.isfinite(rows).all() for rows in parts(done))
    if owners == 1 and rule != FedFomo():  # which does not follow a model with more loss, not even its own
        torch.testing.assert_close(next_start(done, sent), sent.models)


@every_rule
@given(seed=st.integers(0, 30), silent=st.booleans())
def test_the_order_of_owners_does_not_matter(rule, seed, silent):
    sent = sent_of(6, seed=seed, length=2.0)
    sent = broken(sent, 2) if silent else sent
    order = np.random.default_rng(seed).permutation(6)
    one, two = rule.exchange(sent), rule.exchange(permuted(sent, order))
    assert_close(one.imports[np.ix_(order, order)], two.imports)
    for rows, others in zip(parts(one), parts(two), strict=True):
        assert_close(rows[order], others)


@every_rule
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_broken_model_reaches_nobody_and_nobody_else_notices_which_way_it_broke(rule, value):
    sent = sent_of(6, length=2.0)
    done = rule.exchange(broken(sent, 1, 4, value=value))
    others = ~np.isin(np.arange(6), [1, 4])
    assert not done.imports[others][:, ~others].any()
    assert done.imports[1, 4] == done.imports[4, 1] == 0
    assert all(torch.isfinite(rows).all() for rows in parts(done))
    without = rule.exchange(permuted(sent, np.flatnonzero(others)))
    assert_close(done.imports[np.ix_(others, others)], without.imports)
    for rows, alone in zip(parts(done), parts(without), strict=True):
        assert_close(rows[others], alone)


@every_rule
def test_if_nobody_is_sound_everybody_stays_where_it_was(rule):
    sent = broken(sent_of(4, same_start=True), 0, 1, 2, 3)
    done = rule.exchange(sent)
    np.testing.assert_array_equal(done.imports, np.eye(4))
    assert all(torch.equal(rows, sent.start) for rows in parts(done))


@every_rule
def test_huge_models_leave_finite_ones(rule):
    sent = sent_of(5)
    models = sent.models.clone()
    models[:3] = torch.tensor([3e38, -3e38, 3e38])[:, None]
    done = rule.exchange(replace(sent, models=models))
    assert np.all(np.isfinite(done.imports))
    assert all(torch.isfinite(rows).all() for rows in parts(done))


@every_rule
def test_nobody_claims_any_data(rule):
    sent = replace(sent_of(4), size=np.zeros(4))
    done = rule.exchange(sent)
    assert_close(done.imports.sum(axis=1), np.ones(4))
    assert all(torch.isfinite(rows).all() for rows in parts(done))


@every_rule
def test_settling_hands_over_the_exchange_without_payments(rule):
    sent, reports = sent_of(4), Reports(np.full(4, 3.0), np.full(4, 9.0))
    outcome = rule.settle(ServerView(1, reports, PowerLaw(), sent))
    np.testing.assert_array_equal(outcome.adjacency, outcome.exchange.imports)
    np.testing.assert_array_equal(outcome.adjacency, rule.exchange(sent).imports)
    assert not outcome.payments.any()
    assert len(outcome.transfers) == 0
    np.testing.assert_array_equal(outcome.access, 1.0)
    with pytest.raises(InputError, match="model per owner"):
        rule.settle(ServerView(1, reports, PowerLaw()))


# Local training, averages


def test_local_training_goes_on_from_the_own_model():
    sent = sent_of()
    done = Local().exchange(sent)
    assert (done.task.start, done.task.pull, done.personal) == (None, None, None)


def test_the_mean_is_that_of_a_round_of_averaging():
    sent = sent_of(6, same_start=True)
    for case in (sent, broken(sent, 3)):
        once = mix(case.initial, case.models - case.start, case.size, Recipe()).model
        done = FedAvg().exchange(case)
        torch.testing.assert_close(done.task.start, once.expand(6, -1))
        share = np.where(case.sound, case.size, 0) / case.size[case.sound].sum()
        assert_close(done.imports, np.tile(share, (6, 1)))


def test_proximal_and_personal_training_are_held_to_the_mean():
    sent = sent_of()
    mean = FedAvg().exchange(sent).task.start
    prox = FedProx(0.05).exchange(sent).task
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


# CFL


def two_camps(owners: int = 6, length: float = 3.0) -> Sent:
    """Even owners move one way and odd ones the other."""
    sent = sent_of(owners, 4, same_start=True)
    side = torch.tensor([1.0 if i % 2 == 0 else -1.0 for i in range(owners)])[:, None]
    small = 0.1 * torch.from_numpy(np.random.default_rng(1).normal(size=(owners, 4)).astype(np.float32))
    step = side * torch.tensor([length, 0, 0, 0]) + small
    return replace(sent, models=sent.start + step, size=np.ones(owners))


def group_mean(sent: Sent, who: list[int]) -> Tensor:
    return sent.models[who].mean(0)


def test_camps_that_pull_apart_are_split_and_stay_apart():
    sent = two_camps()
    done = CFL().exchange(sent)
    for who in ([0, 2, 4], [1, 3, 5]):
        torch.testing.assert_close(done.task.start[who], group_mean(sent, who).expand(3, -1))
        assert_close(done.imports[np.ix_(who, who)], np.full((3, 3), 1 / 3))
    assert_close(done.imports[::2, 1::2], np.zeros((3, 3)))
    # Now everybody moves in the same direction: no further split, and the groups are still those.
    same = replace(sent, start=done.task.start, models=done.task.start + 5.0)
    again = CFL().exchange(same)
    torch.testing.assert_close(again.task.start, done.task.start + 5.0)
    assert_close(again.imports, done.imports)


def test_groups_outlive_owners_that_leave_and_admit_newcomers():
    sent = two_camps()
    done = CFL().exchange(sent)
    left = np.array([0, 2, 3, 4, 5])
    nearer = [int(torch.linalg.vector_norm(done.task.start[i] - sent.initial) * 1e4) for i in (0, 1)]
    start = torch.cat([done.task.start[left], sent.initial[None]])
    later = replace(sent, start=start, models=start + 1.0)
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
        (replace(two_camps(), size=np.array([9.0, 1, 9, 1, 9, 1])), CFL()),  # the mean update is long
    ],
)
def test_no_split_without_all_three_reasons(case, rule):
    share = case.size / case.size.sum()
    assert_close(rule.exchange(case).imports, np.tile(share, (len(share), 1)))


def test_halves_are_the_best_of_complete_linkage_by_plain_loops():
    for seed in range(5):
        sent = replace(sent_of(7, 5, seed=seed, same_start=True, length=3.0), size=np.ones(7))
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
    sent = replace(broken(two_camps(7), 6), size=np.array([1.0, 1, 1, 1.01, 1, 1, 1]))
    done = CFL().exchange(sent)
    torch.testing.assert_close(done.task.start[6], done.task.start[1])
    assert not done.imports[:, 6].any()
    second = CFL().exchange(replace(sent, start=done.task.start, models=done.task.start + 1.0))
    torch.testing.assert_close(second.task.start[6], second.task.start[1])


# FedFomo


def test_first_order_weights_by_plain_loops():
    for seed, most, far in itertools.product(range(4), (2, 6), (0.0, 4.0)):
        sent = sent_of(6, seed=seed)
        sent = replace(sent, start=sent.start - far)  # from far away nearly every model helps
        loss, before = sent.judge(sent.models), sent.judge(sent.start)
        expected = np.zeros((6, 6))
        for i in range(6):
            slopes = {}
            for j in range(6):
                gap = float(torch.linalg.vector_norm(sent.models[j].double() - sent.start[i].double()))
                slopes[j] = max(0.0, before[i, i] - loss[j, i]) / gap
            chosen = [i, *sorted((j for j in range(6) if j != i), key=lambda j: -slopes[j])[:most]]
            total = sum(slopes[j] for j in chosen)
            for j in chosen:
                expected[i, j] = slopes[j] / total if total else float(i == j)
        done = FedFomo(most).exchange(sent)
        assert_close(done.imports, expected)
        assert (done.imports > 0).sum(axis=1).max() <= most + 1
        assert not far or (done.imports > 0).sum(axis=1).max() == min(most + 1, 6)
        for i in range(6):
            moves = expected[i].any() and expected[i] @ (loss[:, i] < before[i, i]) > 0
            wanted = expected[i] @ sent.models.numpy() if moves else sent.start[i]
            assert_close(done.task.start[i], wanted)


def test_an_owner_stays_where_nothing_helps_and_takes_what_does():
    start, initial = torch.zeros(2, 2), torch.zeros(2)
    models = torch.tensor([[-1.0, 0.0], [2.0, 0.0]])
    targets = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    sent = Sent(models, np.ones(2, bool), start, initial, np.ones(2), judge_by_targets(targets))
    done = FedFomo().exchange(sent)
    assert_close(done.task.start, [[2.0, 0.0], [0.0, 0.0]])
    assert_close(done.imports, [[0.0, 1.0], [0.0, 1.0]])


def test_losses_that_are_no_numbers_help_nobody():
    sent = sent_of(4)
    clean = sent.judge

    def judge(models: Tensor) -> np.ndarray:
        losses = clean(models)
        if models is not sent.start:
            losses[1], losses[2] = np.nan, np.inf
        return losses

    done = FedFomo().exchange(replace(sent, judge=judge))
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
        done = PFedGraph(alpha, alike=0.3).exchange(sent)
        for i in range(6):
            near = np.array([cosine(moved[i], moved[j]) for j in range(6)])
            near[near > 0.3] = 1.0
            assert_close(done.imports[i], brute_projection(share + near / (2 * alpha)), 1e-6)
        assert_close(done.task.start, done.imports @ sent.models.numpy())
        assert torch.equal(done.task.pull, done.task.start)
        assert done.task.strength == 0.01


def test_a_large_alpha_gives_the_shares_of_data():
    sent = sent_of(5)
    assert_close(PFedGraph(alpha=1e9).exchange(sent).imports, FedAvg().exchange(sent).imports, 1e-6)


# In a federation


@cache
def engine() -> Engine:
    return Engine("logistic", random_data((6,), sizes=(30, 20, 10), tests=(9, 9, 9)), device="cpu")


def federation(rule: Personalised, steps: int) -> Personal:
    """The owners' models after some rounds."""
    owners = population([0.001] * 3, [30.0, 20.0, 10.0], Honest())
    accuracy = Personal(engine(), Recipe(steps=4, batch=5), measure=OwnPart())
    made = run(Scenario(owners, accuracy, rule, steps=steps), seed=7)
    assert isinstance(made.accuracy, Personal)
    return made.accuracy


def trained(start: Tensor, number: int, **how) -> Tensor:
    """Everybody's local training in a round."""
    return engine().train(start, [30, 20, 10], steps=4, batch=5, optimiser=SGD(0.1), seed=7, round=number, **how)


def test_averaging_in_a_federation_is_federated_averaging():
    model = engine().initial(7)
    for number in range(3):
        model = one_round(engine(), model, np.array([30, 20, 10]), Recipe(steps=4, batch=5), 7, number).model
    torch.testing.assert_close(federation(FedAvg(), 3).task.start, model.expand(3, -1))


def test_local_training_in_a_federation_is_training_alone():
    models = engine().initial(7)
    for number in range(3):
        models = trained(models, number)
    torch.testing.assert_close(federation(Local(), 3).models, models)


def test_held_training_in_a_federation():
    once = trained(engine().initial(7), 0)
    mean = torch.tensor([3.0, 2.0, 1.0]) / 6 @ once
    torch.testing.assert_close(federation(FedProx(0.3), 2).models, trained(mean, 1, proximal=Proximal(0.3, mean)))
    graph = FedAMP(strength=0.5)
    cloud = torch.from_numpy(graph.weights(federation(graph, 1).sent(np.arange(3), np.ones(3)))).float() @ once
    torch.testing.assert_close(federation(graph, 2).models, trained(once, 1, proximal=Proximal(0.5, cloud)))


def test_personal_models_go_on_from_where_they_were():
    once = trained(engine().initial(7), 0)
    mean = torch.tensor([3.0, 2.0, 1.0]) / 6 @ once
    streams = Streams(generator(7, "training", owner, 1, 1) for owner in range(3))
    kept = trained(once, 1, proximal=Proximal(2.0, mean), streams=streams)
    after = federation(Ditto(2.0), 2)
    torch.testing.assert_close(after.models, kept)
    sent = after.sent(np.arange(3), np.ones(3))
    torch.testing.assert_close(sent.models, trained(mean, 1))


# Bad input


@pytest.mark.parametrize(
    "make",
    [
        lambda: FedProx(-1),
        lambda: Ditto(-0.1),
        lambda: FedAMP(self_weight=1.5),
        lambda: FedAMP(sharpness=-1),
        lambda: CFL(mean_below=0),
        lambda: CFL(smallest=0),
        lambda: FedFomo(0),
        lambda: PFedGraph(alpha=0),
        lambda: PFedGraph(alike=2),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_a_rule_must_say_what_it_exchanges():
    with pytest.raises(TypeError):
        Personalised()
