"""Ray for real: one node, and two nodes of which one is killed in the middle."""

import os
import signal
import socket
import threading
import time
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from fedabm import Federation, InputError, load
from fedabm.common.cluster import check_reachable
from fedabm.common.random import Streams, generator
from fedabm.learning import AdamW, Engine, Recipe
from fedabm.learning.engine.batches import TrainingLength
from fedabm.learning.rules.rounds import one_round
from fedabm.learning.shards import pool as pools
from fedabm.learning.shards.pool import WorkerLost
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.sweep import Grid, Seeds, Sweep, runner
from fedabm.sweep.places import executor_of
from tests.cluster import CASES, engine, frames, resumed, same, speaking, spoken, tables
from tests.learning.plain import random_data
from tests.learning.small_models import small
from tests.sweep.helpers import assert_same_frames
from tests.sweep.targets import PAUSE, build, slow, trouble

ray = pytest.importorskip("ray", reason="Ray is not installed (pip install 'fedabm[cluster]')")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="this Ray has no cluster utility")


#: a lost node is noticed within seconds
CHECKS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 4,
    "memory_monitor_refresh_ms": 0,  # nor is memory that others use our workers' fault
}
#: Ray takes our word for the GPU; nothing is computed on it
HEAD = {"num_cpus": 1, "num_gpus": 1, "include_dashboard": False, "_system_config": CHECKS}


@pytest.fixture(scope="module")
def cluster():
    """Two nodes on this machine, whose processes take their time with slow runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PAUSE, "0.1")
        made = cluster_utils.Cluster(initialize_head=True, head_node_args=HEAD)
        made.add_node(num_cpus=2)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_cluster_that_loses_a_node_loses_no_run_and_says_what_failed(tmp_path, cluster, monkeypatch):
    monkeypatch.setattr(runner, "BATCH_SECONDS", 0.2)
    sweep = Sweep(slow, Grid(rate=[0.1, 0.2, 0.3]), 20)
    executor = executor_of("ray")
    assert executor.workers == 3
    lost = threading.Event()

    def lose():
        while not list((tmp_path / "ray" / "parts").glob("*.parquet")):
            time.sleep(0.05)
        time.sleep(0.5)
        cluster.remove_node(next(node for node in cluster.list_all_nodes() if not node.head), allow_graceful=False)
        lost.set()

    thread = threading.Thread(target=lose, daemon=True)
    thread.start()
    count = sweep.run(tmp_path / "ray", executor, quiet=True)
    thread.join(60)
    assert lost.is_set()
    assert (count.done, count.failed) == (60, 0)
    sweep.run(tmp_path / "serial", "serial", quiet=True)
    assert_same_frames(tmp_path / "ray", tmp_path / "serial")

    _failures(tmp_path / "failures")


def _failures(folder):
    """On what is left of the cluster: failures are rows here too."""
    count = Sweep(trouble, Grid(kind=["raise", "hang", "none", "kill"])).run(folder, "ray", time_limit=2.0, quiet=True)
    assert (count.done, count.failed) == (1, 3)
    runs = load(folder).runs.set_index("kind")
    for kind, words in {"raise": "no such market", "hang": "TimeLimit", "kill": "3 times"}.items():
        assert words in runs.loc[kind, "error"]


def test_one_process_two_processes_this_one_and_ray_give_equal_frames(tmp_path, cluster):
    mechanisms = [NoPayments(), ContributionSubsidy(0.05)]
    sweep = Sweep(build, Grid(rate=[0.1, 0.2], mechanism=mechanisms, owners=[2, 3]), Seeds(3, paired=False))
    sweep.run(tmp_path / "serial", "serial", quiet=True)
    for name, workers in (("local", 1), ("local", 2), ("ray", None)):
        folder = tmp_path / f"{name}-{workers}"
        assert sweep.run(folder, name, workers, quiet=True).done == 24
        assert_same_frames(folder, tmp_path / "serial")


def test_owners_that_are_spread_give_the_frames_of_one_process_also_if_a_worker_is_killed(cluster, capsys):
    for name in ("FedAvg", "Krum", "ModelMarket"):
        assert same(frames(CASES[name]), frames(CASES[name], 2))
    assert "fedabm: models of all owners are asked for: " in capsys.readouterr().err
    made = engine(2)
    pool, model = made.shards.pool, Federation(CASES["FedAvg"](made))
    model.step()
    before = pool.generation  # of workers that other tests have had, too
    os.kill(pool.processes()[0], signal.SIGKILL)
    assert same(frames(CASES["FedAvg"]), tables(model.run()))
    assert pool.generation == before + 1
    assert "fedabm: a worker died; its owners go to others, and the round is done again" in capsys.readouterr().err
    _sums(made, engine(), np.full(made.data.owners, made.data.capacities.min(), dtype=float))


def test_training_that_is_done_again_draws_what_it_drew_first_and_the_callers_generators_go_on_once(cluster):
    spread, alone = engine(2), engine()
    everybody, counts = range(spread.data.owners), spread.data.capacities.astype(float)
    one, other = (Streams(generator(3, "training", owner) for owner in everybody) for _ in range(2))
    rows = spread.shards.train(
        spread._planned(spread.initial(0), counts, length=TrainingLength(3, epochs=2), streams=one)
    )
    os.kill(spread.shards.pool.processes()[0], signal.SIGKILL)  # with the rows that it has trained
    expected = alone.train(alone.initial(0), counts, epochs=2, batch=3, streams=other)
    assert torch.equal(rows.take(torch.arange(len(counts))), expected)
    assert [stream.random() for stream in one.each()] == [stream.random() for stream in other.each()]


def test_sums_of_many_owners_with_unequal_data_cross_the_wire_too(cluster):
    data = random_data((4,), sizes=np.random.default_rng(0).integers(1, 30, 70), tests=(1,) * 70)
    spread, alone = (Engine("tiny_mlp", data, device="cpu", chunk=9, workers=workers) for workers in (2, None))
    _sums(spread, alone, data.capacities.astype(float))


def _sums(spread, alone, contributions):
    """Between workers go sums, and no rows; they are those of one process, bit for bit."""
    start, given = spread.initial(0), Recipe(epochs=1)
    one_round(spread, start, contributions, given, 0, 0, keep=False)  # who has not been seen before brings data
    before = [traffic.total for traffic in spread.shards.traffic]
    found, expected = (one_round(made, start, contributions, given, 0, 0, keep=False) for made in (spread, alone))
    assert torch.equal(found.model, expected.model)
    sent = [traffic.total - least for traffic, least in zip(spread.shards.traffic, before, strict=True)]
    assert max(sent) < 3.0 * spread.model_bytes + 100 * spread.data.owners + 2000


class Unreadable(torch.nn.Linear):
    """A network that no other process can read, as where versions differ."""

    def __getstate__(self):
        return {**vars(self), "process": os.getpid()}

    def __setstate__(self, state):
        if state["process"] != os.getpid():
            raise AttributeError("no such layer")
        super().__setstate__(state)


def test_what_no_worker_can_read_is_told_and_not_tried_for_ever(cluster, capsys, monkeypatch):
    monkeypatch.setattr(pools, "_PAUSE", 0.0)  # no node is dead that Ray would have to notice
    data = random_data((4,), classes=3, sizes=(5, 5), tests=(1, 1))
    made = Engine(Unreadable(4, 3), data, device="cpu", workers=2)
    with pytest.raises(InputError, match="8 times in a row"):
        made.train(made.initial(0), data.capacities, epochs=1)
    assert "a worker cannot read what it was sent (AttributeError: no such layer)" in capsys.readouterr().err


def test_what_ray_raises_beside_a_dead_node_is_a_lost_worker_and_a_missing_file_is_not(cluster, tmp_path):
    def broken():
        raise OSError("Broken pipe")  # as Ray does, without a number of the system

    def missing():
        return (tmp_path / "none").read_text()

    pool = engine(2).shards.pool
    with pytest.raises(WorkerLost, match="a worker lost its node"):
        pool.collect([(pool.hosts[0], ray.remote(broken).remote())])
    with pytest.raises(FileNotFoundError):
        pool.collect([(pool.hosts[0], ray.remote(missing).remote())])


@pytest.mark.skipif(find_spec("transformers") is None, reason="the extra llm is not installed")
def test_adapters_of_a_language_model_train_on_workers_to_the_same_bits(cluster, tmp_path):
    base = small(tmp_path, "causal")
    here, spread = speaking(base), speaking(base, 2)
    how = {"steps": 3, "batch": 4, "optimiser": AdamW(0.05)}
    alone, rows = [one.train(one.initial(0), one.data.capacities, **how) for one in (here, spread)]
    assert not alone[0].equal(alone[1])
    assert rows.equal(alone)
    assert same(spoken(here, own=True), spoken(spread, own=True))


def resources():
    return ray.get_runtime_context().get_assigned_resources()


def test_a_run_that_was_interrupted_goes_on_with_other_workers_or_none(cluster, tmp_path):
    for name, ways in {"FedAvg": [(2, None)], "ModelMarket": [(None, 2), (2, None)]}.items():
        expected = frames(CASES[name])
        assert all(same(expected, resumed(CASES[name], *way, tmp_path / "run.checkpoint")) for way in ways)


def test_gpus_are_shared_by_fraction(cluster):
    executor = executor_of("ray", gpus=0.25)
    assert 1 <= executor.workers <= 3
    assert executor.submit(resources).result(60) == {"CPU": 1.0, "GPU": 0.25}
    assert executor_of("ray", gpus=1.0).workers == 1


def test_a_wrong_address_is_told_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        for address in (there, f"ray://{there}", "auto"):
            check_reachable(address)
    with pytest.raises(InputError, match=f"cannot reach Ray at {there}: .*; check --address"):
        check_reachable(there)


def test_only_ray_shares_gpus_and_has_an_address():
    for wrong in ({"gpus": 0.5}, {"address": "somewhere:1"}):
        with pytest.raises(InputError, match="choose ray"):
            executor_of("local", **wrong)
