"""Owners dealt to workers: what a worker does, without a cluster (`tests/sweep/test_ray.py` has one)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from fedabm import InputError
from fedabm.common.cluster import Cluster, chosen_cluster, on_cluster
from fedabm.learning import SGD, Engine, FedAvg, Proximal, Received, Recipe
from fedabm.learning.engine import threads
from fedabm.learning.engine.batches import TrainingLength
from fedabm.learning.engine.elsewhere import BLOCK, MANY, added, blocks_of_sums, weighted
from fedabm.learning.engine.local import LocalTraining, OwnerDraws
from fedabm.learning.rules.aggregate import aggregate
from fedabm.learning.rules.rounds import one_round
from fedabm.learning.shards.rows import _cut, _split
from fedabm.learning.shards.sums import Begun, StretchSum, stretches
from fedabm.learning.shards.worker import PartOfSum, Shard, ShardWorker, WorkerSettings
from tests.learning.plain import random_data

SIZES = (7, 5, 9, 12, 3, 8)


def engine(**how: object) -> Engine:
    data = random_data((4,), sizes=SIZES, tests=(2,) * len(SIZES))
    return Engine("tiny_mlp", data, chunk=2, **({"device": "cpu"} | how))  # type: ignore[arg-type]


def worker_with(made: Engine, owners: list[int]) -> ShardWorker:
    """A worker that has the data of some owners, in the order in which they came."""
    settings = WorkerSettings(made._network, made.path, "float32", None)
    worker = ShardWorker(settings, "cpu", lambda what: what)
    for owner in owners:
        x, y = made.data.train(owner)
        worker.load(np.array([owner]), np.array([len(y)]), x, y)
    return worker


def shard(made: Engine, chunks: list[list[int]], *, updates: bool = False) -> Shard:
    counts = made.data.capacities
    parts = [np.array(chunk) for chunk in chunks]
    training = LocalTraining(TrainingLength(3, 2), SGD(0.1))
    start = made.initial(0).numpy()
    return Shard(training, parts, [counts[part] for part in parts], start, None, False, None, OwnerDraws(1, 4), updates)


def test_a_worker_trains_its_owners_as_the_engine_does_whatever_came_first():
    made = engine()
    expected = made.train(made.initial(0), made.data.capacities, epochs=2, batch=3, optimiser=SGD(0.1), seed=1, round=4)
    plan = [[3, 2], [5, 0], [1, 4]]  # longest first
    worker = worker_with(made, [4, 0, 5, 1])
    (sound, states), total = worker.train("round", shard(made, plan[1:]), True, None)
    rows = worker.take("round", np.arange(4))
    assert sound.tolist() == [True] * 4
    assert (states, total) == ([], None)
    assert torch.equal(torch.from_numpy(rows), expected[[5, 0, 1, 4]])


def test_a_large_chunk_by_itself_is_trained_with_as_many_threads_as_without_workers():
    """Operators add in another order with more threads."""
    made = Engine("cifar_cnn", random_data((3, 32, 32), classes=10, sizes=(20,), tests=(2,)), device="cpu")
    how = {"batch": 20, "steps": 1, "optimiser": SGD(0.05)}
    length = TrainingLength(20, None, 1)
    with threads.threads_inside(2):
        expected = made.train(made.initial(0), made.data.capacities, **how)
        planned = made._planned(made.initial(0), made.data.capacities, length=length, optimiser=SGD(0.05))
    training = LocalTraining(length, SGD(0.05))
    mine = [np.array([0])], [made.data.capacities], made.initial(0).numpy(), None, False, None, OwnerDraws(), False
    worker = worker_with(made, [0])
    worker.train("round", Shard(training, *mine, planned.threads), True, None)
    assert planned.threads == 2
    assert torch.from_numpy(worker.take("round", np.arange(1))).equal(expected)


@pytest.mark.parametrize("keep", [True, False])
def test_a_sum_that_goes_from_worker_to_worker_is_that_of_one_process(keep):
    made = engine()
    weights = np.random.default_rng(0).uniform(size=6).astype(np.float32)
    first, second = worker_with(made, [3, 2, 5, 0]), worker_with(made, [1, 4])
    parts = shard(made, [[3, 2], [5, 0]], updates=True), shard(made, [[1, 4]], updates=True)
    one, other = stretches([np.zeros(4, dtype=int), np.zeros(2, dtype=int)])
    _, begun = first.train("a", parts[0], keep, PartOfSum(weights[:4], one, []))
    _, (total, opened) = second.train("a", parts[1], keep, PartOfSum(weights[4:], other, [begun]))
    assert opened is None
    updates = made.train(made.initial(0), made.data.capacities, epochs=2, batch=3, optimiser=SGD(0.1), seed=1, round=4)
    rows = updates.sub_(made.initial(0))[[3, 2, 5, 0, 1, 4]]
    assert torch.equal(torch.from_numpy(total), (torch.from_numpy(weights)[None] @ rows)[0])


def test_rows_that_are_replaced_are_screened_anew_and_left_out_of_sums():
    made = engine()
    worker = worker_with(made, [0, 1])
    worker.train("a", shard(made, [[0, 1]], updates=True), True, None)
    broken = np.full((1, made.size), np.nan, dtype=np.float32)
    assert worker.put("a", np.array([1]), broken).tolist() == [False]
    alone = PartOfSum(np.array([0.5, 0.0], np.float32), stretches([np.zeros(2, dtype=int)])[0], [])
    total, _ = worker.mixed("a", np.array([True, False]), alone)
    assert np.array_equal(total, 0.5 * worker.take("a", np.array([0]))[0])
    worker.drop(["a"])
    with pytest.raises(KeyError):
        worker.take("a", np.array([0]))


def test_blocks_of_columns_are_put_together_in_the_owners_order():
    made = engine()
    one, other = worker_with(made, [0, 1]), worker_with(made, [2])
    one.train("a", shard(made, [[0, 1]]), True, None)
    other.train("a", shard(made, [[2]]), True, None)
    bounds = [(0, 5), (5, made.size)]
    parts = [worker.cut("a", bounds)[1] for worker in (one, other)]
    block = one.worked((4, made.size - 5), [np.array([2, 0]), np.array([-1])], parts, lambda rows: rows)
    assert np.array_equal(block[[2, 0]], one.take("a", np.arange(2))[:, 5:])
    assert not block[[1, 3]].any()


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (60, 1001), (700, 64)])
def test_sums_may_be_cut_anywhere(rows, columns):
    """What spreading rests on: a product with one row adds row after row."""
    made = torch.Generator().manual_seed(rows)
    numbers, weights = torch.randn(rows, columns, generator=made), torch.rand(rows, generator=made)
    whole = (weights[None] @ numbers)[0]
    for place in (1, rows // 3, rows - 1):
        assert torch.equal(
            added(added(None, weights[:place], numbers[:place]), weights[place:], numbers[place:]), whole
        )


@pytest.mark.parametrize("cuts", [(5,), (256, 300), (100, 2048, 4095), (1024, 1030, 1040, 4200), (256, 512)])
def test_many_rows_are_added_in_blocks_wherever_workers_begin(cuts):
    """A worker that waits for another one keeps the rows of one block, not all of its own."""
    owners = MANY + 300
    made = torch.Generator().manual_seed(len(cuts))
    rows, weights = torch.randn(owners, 6, generator=made), torch.rand(owners, generator=made)
    blocks = blocks_of_sums(np.ones(owners, dtype=int))
    bounds = [0, *cuts, owners]
    parts = [slice(first, last) for first, last in pairwise(bounds)]
    begun = Begun()
    for part, stretch in zip(parts, stretches([blocks[part] for part in parts]), strict=True):
        total = StretchSum(stretch, weights[part])
        for some in rows[part].split(100):
            total.add(some)
        assert sum(len(waiting) for _, waiting in total._waiting) <= BLOCK
        begun = total.after(begun)
        assert sum(one is not None for one in begun) == stretch.models(0)
    assert begun.opened is None
    assert torch.equal(begun.complete, weighted(weights[None], rows)[0])
    assert torch.allclose(begun.complete, weights @ rows, rtol=1e-3, atol=1e-3)


def test_only_many_owners_are_added_in_the_order_of_training_and_few_as_they_stand():
    few, many = 64, 65
    mixing, sent, sound = torch.rand(1, many), torch.randn(many, 3), torch.ones(many, dtype=torch.bool)
    for owners, steps in ((few, np.arange(few)), (many, np.full(many, 7)), (many, np.zeros(many, dtype=int))):
        assert Received(sent[:owners], sound[:owners], np.ones(owners), steps).order is None
    order = Received(sent, sound, np.ones(many), np.arange(many) // 2).order
    assert order is not None
    assert order.tolist()[:3] == [64, 62, 63]
    assert torch.equal(aggregate(mixing, sent, sound, order), aggregate(mixing[:, order], sent[order], sound))


def test_columns_are_cut_without_crumbs():
    for size in (1, 5, 1024, 5000):
        assert _split(size, 7)[-1][1] == _cut(0, size, 7)[-1][1] == size
        assert [b - a for a, b in _split(size, 7)] == [part.shape[0] for part in torch.zeros(size).split(7)]
        assert all(b - a >= 7 for a, b in _cut(0, size, 7)) or size < 7


@pytest.mark.parametrize("held", [False, True])
def test_chunks_go_to_several_devices_in_turn(held):
    one, two = engine(), engine(device=["cpu", "cpu"])
    centre = Proximal(0.3, one.initial(1)) if held else None
    how = {"steps": 3, "optimiser": SGD(0.1, momentum=0.5), "proximal": centre}
    trained = [made.train(made.initial(0), made.data.capacities, **how) for made in (one, two)]
    assert torch.equal(*trained)


@pytest.mark.parametrize("how", [{"device": ["meta"] * 3}, {"workers": Cluster(3, gpus=0.5)}])
def test_every_gpu_gets_a_chunk_although_all_owners_would_fit_into_one(how):
    data = random_data((4,), sizes=SIZES * 5, tests=(2,) * 30)
    made = Engine("tiny_mlp", data, **({"device": "cpu"} | how))
    plan = made._planned(made.initial(0), data.capacities, length=TrainingLength(3, 2))
    assert [len(chunk) for chunk in plan.chunks] == [10, 10, 10]
    if made.shards is None:
        assert made.train(made.initial(0), data.capacities, epochs=1).shape == (30, made.size)


def test_devices_and_workers_exclude_each_other():
    with pytest.raises(InputError, match="give device or workers"):
        engine(device=["cpu", "cpu"], workers=2)
    with pytest.raises(InputError, match="no device"):
        engine(device=[])


def test_the_cluster_that_was_asked_for_is_the_engines_and_no_part_of_what_is_saved():
    assert engine().cluster is None
    asked = Cluster(3, "127.0.0.1:6379", 0.5, 7.0)
    with on_cluster(asked):
        assert chosen_cluster() == engine().cluster == asked
        assert engine(device="meta").cluster is engine(workers=0).cluster is None
    assert chosen_cluster() is None
    assert engine(workers=2).cluster == Cluster(2)
    assert engine(workers=2).content == engine().content
    for wrong in ({"workers": 0}, {"gpus": -1.0}, {"patience": 0.0}, {"address": "a;b"}):
        with pytest.raises(InputError):
            Cluster(**wrong)  # type: ignore[arg-type]


def test_a_round_without_a_cluster_asks_for_none():
    made = engine()
    with pytest.raises(InputError, match="no workers"):
        made.spread(made.initial(0), made.data.capacities, epochs=1)
    done = one_round(made, made.initial(0), made.data.capacities, Recipe(rule=FedAvg()), 0, 0, keep=False)
    assert isinstance(done.updates, torch.Tensor)
