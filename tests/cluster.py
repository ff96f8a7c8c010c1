"""One federation on a cluster of three nodes on this machine: `python -m tests.cluster` (some minutes).

Frames are bit for bit those of one process with 1 and 3 workers, for rules and exchanges of every kind, and with
language models; also if a node is killed in the middle of a round or while a checkpoint is written, `--kills` times in
all, and if a worker is stopped; and if a run is interrupted and goes on with other workers, or without any.
The last case takes the whole cluster away: `fedabm run` says so in one line, and the same command goes on on the next.
Exits with 1 if anything differs.  `tests/sweep/test_ray.py` has a short version.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pandas as pd
import psutil

from fedabm import Federation, Scenario, load
from fedabm.common.cluster import Cluster
from fedabm.games.costs import Linear
from fedabm.learning import (
    SGD,
    AdamW,
    CoordinateMedian,
    Engine,
    FedAdam,
    FedAvg,
    Krum,
    Learning,
    Personal,
    Recipe,
    Rule,
    Scaffold,
    TrimmedMean,
)
from fedabm.learning.language.adapters import Adapted, Adapter
from fedabm.learning.language.answers import AnswerScores
from fedabm.learning.language.models import Base
from fedabm.learning.shards.pool import Pool
from fedabm.mechanisms import Ditto, ModelMarket, NoPayments, PFedGraph
from fedabm.mechanisms.market import ImportGain
from fedabm.papers.doshi2025.protocols import upbred
from fedabm.simulation.checkpoint import restore, save
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Honest
from tests.learning.plain import random_data
from tests.learning.small_models import owned, small

#: owners with unequal data, so that the plan is not their order
SIZES = (31, 12, 25, 40, 7, 22, 18, 35, 9, 27, 14, 33)
CHECKS = {"worker_niceness": 0, "memory_monitor_refresh_ms": 0}
FRAMES = ("runs", "steps", "owners", "transfers")
PARTS = ("equal", "languages", "resumed", "kills", "stopped", "gone")
#: what differs between equal runs
TIMED = ["wall_time"]

Make = Callable[[Engine], Scenario]


def engine(workers: int | Cluster | None = None) -> Engine:
    """A small network in chunks of three owners, so that there is something to share."""
    data = random_data((20,), classes=3, sizes=SIZES, tests=(4,) * len(SIZES))
    return Engine("tiny_mlp", data, device="cpu", chunk=3, workers=workers)


def learned(rule: Rule, steps: int = 3) -> Make:
    """One model for all, by a rule of learning."""
    recipe = Recipe(epochs=2, batch=5, optimiser=SGD(0.1), rule=rule)
    return lambda made: Scenario(_people(), Learning(made, recipe, seed=1), NoPayments(), steps=steps)


def exchanged(mechanism: Any) -> Make:
    """A model for each, by what the mechanism mixes."""
    recipe, valuation = Recipe(steps=4, batch=5, optimiser=SGD(0.1, momentum=0.5)), ImportGain(ModelMarket().gain)

    def make(made: Engine) -> Scenario:
        return Scenario(_people(), Personal(made, recipe, seed=1), mechanism, steps=3, valuation=valuation)

    return make


def stepped(made: Engine) -> Scenario:
    """UPBReD."""
    training = Learning(made, Recipe(epochs=1, batch=5, optimiser=SGD(0.1)), seed=1)
    costs, most = [0.01 + 0.002 * k for k in range(len(SIZES))], [float(size) for size in SIZES]
    return upbred(0.1).scenario(training, costs, most, starts=5.0, steps=3)


def _people() -> list[OwnerProfile]:
    return [OwnerProfile(Linear(0.01), float(size), Honest(), eagerness=700.0) for size in SIZES]


CASES: dict[str, Make] = {
    "FedAvg": learned(FedAvg()),
    "FedAdam": learned(FedAdam()),
    "SCAFFOLD": learned(Scaffold()),
    "median": learned(CoordinateMedian()),
    "trimmed mean": learned(TrimmedMean()),
    "Krum": learned(Krum()),
    "ModelMarket": exchanged(ModelMarket(2.0, 10.0)),
    "PFedGraph": exchanged(PFedGraph()),
    "Ditto": exchanged(Ditto()),
    "UPBReD": stepped,
}


def frames(make: Make, workers: int | Cluster | None = None) -> dict[str, pd.DataFrame]:
    """All frames of a run, seconds aside."""
    return tables(Federation(make(engine(workers))).run())


def speaking(base: Base, workers: int | Cluster | None = None, *, cached: bool = True) -> Engine:
    """Adapters of a language model for five owners."""
    network = Adapted(base, Adapter(rank=2, alpha=4.0, last=1), answers=2, cached=cached)
    return Engine(network, owned(base, owners=5), device="cpu", workers=workers)


def spoken(made: Engine, *, own: bool) -> dict[str, pd.DataFrame]:
    """All frames of owners that share an adapter, or trade their own."""
    recipe = Recipe(steps=2, batch=4, optimiser=AdamW(0.05))
    people = [OwnerProfile(Linear(0.01), 6.0, Honest(), eagerness=700.0)] * made.data.owners
    if not own:
        return tables(Federation(Scenario(people, Learning(made, recipe, seed=1), NoPayments(), steps=2)).run())
    training, market = Personal(made, recipe, AnswerScores(), seed=1), ModelMarket(2.0, 10.0)
    valuation = ImportGain(market.gain)
    return tables(Federation(Scenario(people, training, market, steps=2, valuation=valuation)).run())


def languages_agree(folder: Path, clusters: list[Cluster]) -> list[bool]:
    """Whether frames with a tiny language model are those of one process; with what its front makes of texts or not."""
    base, found = small(folder, "causal"), []
    for how in ({"cached": True}, {"cached": False}):
        for own in (False, True):
            alone = spoken(speaking(base, **how), own=own)
            found += [same(alone, spoken(speaking(base, cluster, **how), own=own)) for cluster in clusters]
    return found


def resumed(
    make: Make, first: int | Cluster | None, then: int | Cluster | None, place: Path
) -> dict[str, pd.DataFrame]:
    """Frames of a run that was interrupted after a step with some workers and went on with others."""
    begun = Federation(make(engine(first)))
    begun.step()
    save(begun, place)
    return tables(restore(place, make(engine(then))).run())


def tables(model: Federation) -> dict[str, pd.DataFrame]:
    """All frames of a model, seconds aside."""
    found = model.frames()
    return {name: getattr(found, name).drop(columns=TIMED, errors="ignore") for name in FRAMES}


def same(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> bool:
    """Whether all frames are equal, bit for bit."""
    try:
        for name in FRAMES:
            pd.testing.assert_frame_equal(one[name], other[name], check_exact=True)
    except AssertionError as difference:
        print(difference)
        return False
    return True


@contextmanager
def three_nodes(cpus: int = 4) -> Iterator[Any]:
    """A head, to which this process belongs, and two nodes that may be killed."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": CHECKS, "object_store_memory": 10**8}
    made = Nodes(initialize_head=True, head_node_args=head)
    for _ in range(2):
        made.add_node(num_cpus=cpus, object_store_memory=10**8)
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    try:
        yield made
    finally:
        ray.shutdown()
        made.shutdown()


def home_of(process: int, nodes: Any) -> Any:
    """The node on which a worker's process runs."""
    parent = psutil.Process(process).ppid()
    return next(node for node in nodes.list_all_nodes() if node.all_processes["raylet"][0].process.pid == parent)


class NodeKill(threading.Thread):
    """SIGKILL to everything on the node of a pool's first worker, once it is started."""

    def __init__(self, nodes: Any, pool: Pool) -> None:
        processes = pool.attempt(pool.processes)
        home = home_of(processes[0], nodes)
        self._workers = [psutil.Process(process) for process in processes if home_of(process, nodes) is home]
        super().__init__(target=nodes.remove_node, args=(home,), kwargs={"allow_graceful": False})

    def dead(self) -> int:
        """How many of the pool's workers it has killed; returns when they are dead."""
        self.join()
        return len(psutil.wait_procs(self._workers, 10.0)[0])


class Survived(NamedTuple):
    """A run of which a node was killed: its frames, how many workers that hit, and whether the run noticed."""

    frames: dict[str, pd.DataFrame]
    workers: int
    noticed: bool


def killed_in_a_round(nodes: Any, on: Cluster, make: Make, question: int) -> Survived:
    """A run whose node is killed while this question to the workers is open; the next one waits until it is dead."""
    made = engine(on)
    assert made.shards is not None
    pool = made.shards.pool
    asked, kill = itertools.count(1), NodeKill(nodes, pool)
    before = pool.generation

    def collect(questions: Any) -> Any:
        number = next(asked)
        if number == question:
            kill.start()
        elif number > question:
            kill.dead()  # else a short run may end before its worker does, and has nothing to notice
        return Pool.collect(pool, questions)

    with patch.object(pool, "collect", collect):
        found = tables(Federation(make(made)).run())
    return Survived(found, kill.dead(), pool.generation > before)


def killed_at_a_checkpoint(nodes: Any, on: Cluster, make: Make, folder: Path) -> Survived:
    """A run that went on from a checkpoint during which a node was killed."""
    made = engine(on)
    assert made.shards is not None
    pool = made.shards.pool
    scenario = make(made)
    model = Federation(scenario)
    model.step()
    kill, before = NodeKill(nodes, pool), pool.generation
    kill.start()
    place = save(model, folder / "run.checkpoint")
    workers = kill.dead()
    return Survived(tables(restore(place, scenario).run()), workers, pool.generation > before)


def stopped(on: Cluster, make: Make) -> tuple[dict[str, pd.DataFrame], int]:
    """Frames of a run of which one worker is stopped after the first round."""
    made = engine(on)
    assert made.shards is not None
    pool = made.shards.pool
    before, model = pool.generation, Federation(make(made))
    model.step()
    os.kill(pool.processes()[0], signal.SIGSTOP)
    return tables(model.run()), pool.generation - before


#: whoever has a token for Ray from another cluster would be asked for it
_OPEN = {"RAY_AUTH_MODE": "disabled"}


@contextmanager
def head_at(port: int) -> Iterator[None]:
    """A Ray cluster of one node at a port, which is killed in the end, and nothing else."""
    words = ["start", "--head", f"--port={port}", "--num-cpus=3", "--include-dashboard=false", "--disable-usage-stats"]
    command = [str(Path(sys.executable).with_name("ray")), *words, "--block"]
    head = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | _OPEN)
    try:
        while not answers(port):
            time.sleep(0.2)
        time.sleep(5.0)  # until its node has joined
        yield
    finally:
        for process in [*head.children(recursive=True), head]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        head.wait()


def answers(port: int) -> bool:
    """Whether somebody listens at a port of this machine."""
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True


def gone(folder: Path) -> bool:
    """Whether a run says in one line that its cluster is gone, and goes on with the same command on a new one."""
    script, port = folder / "spread.py", free_port()
    script.write_text(SCRIPT)
    run = [sys.executable, "-m", "fedabm", "run", str(script), "--quiet"]
    spread = [*run, "--cluster", f"127.0.0.1:{port}", "--workers", "2", "--checkpoint", "0.001"]
    spread += ["--out", str(folder / "spread")]
    how: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "env": os.environ | _OPEN}
    with head_at(port):
        begun = subprocess.Popen(spread, **how)
        while not (folder / "mark").exists() and begun.poll() is None:
            time.sleep(0.1)
    said = begun.communicate()[1].splitlines()
    print(f"  exit code {begun.returncode}, said:", *said, sep="\n    ")
    unreached = subprocess.run(spread, **how)
    print("  and again:", unreached.stderr.strip())
    with head_at(port):
        again = subprocess.run(spread, **how)
    subprocess.run([*run, "--out", str(folder / "alone")], check=True)
    both = [load(folder / name) for name in ("spread", "alone")]
    found = [{name: getattr(one, name).drop(columns=TIMED, errors="ignore") for name in FRAMES} for one in both]
    last = [line for line in said if line.startswith("fedabm: ") and "round is done again" not in line]
    refused = unreached.returncode == 2 and len(unreached.stderr.strip().splitlines()) == 1
    equal = same(*found)
    print(f"  the same command with a new cluster: exit code {again.returncode}, equal frames: {equal}")
    return begun.returncode == 2 and len(last) == 1 and refused and again.returncode == 0 and equal


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


SCRIPT = """
'''Which run outlives its cluster?'''
import pathlib, time
from fedabm.study import Study
from tests.cluster import CASES, engine

def run(study: Study) -> None:
    '''One run, which says when it has begun.'''
    scenario = CASES["FedAvg"](engine(None))
    round = type(scenario.accuracy).round
    def slow(self, state, messages):
        after = round(self, state, messages)
        (pathlib.Path(__file__).parent / "mark").touch()
        time.sleep(1.0)
        return after
    type(scenario.accuracy).round = slow
    study.simulate(scenario)
"""


def main() -> int:
    """Run all cases, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="nodes that are killed, half of them at a checkpoint")
    parser.add_argument("--only", choices=PARTS, nargs="*")
    options = parser.parse_args()
    wanted = options.only or PARTS
    good = True

    def judge(what: str, fine: bool) -> None:
        nonlocal good
        good &= fine
        print(f"{'met' if fine else 'MISSED'}: {what}", flush=True)

    alone = {name: frames(make) for name, make in CASES.items()}
    if set(wanted) - {"gone"}:
        with three_nodes() as nodes, tempfile.TemporaryDirectory() as folder:
            on = {workers: Cluster(workers, nodes.address, patience=20.0) for workers in (1, 3)}
            if "equal" in wanted:
                for name, make in CASES.items():
                    equal = [same(alone[name], frames(make, cluster)) for cluster in on.values()]
                    judge(f"{name}: equal frames with 1 and 3 workers {equal}", all(equal))
            if "languages" in wanted:
                equal = languages_agree(Path(folder) / "model", list(on.values()))
                judge(f"adapters of a language model: equal frames with 1 and 3 workers {equal}", all(equal))
            if "resumed" in wanted:
                ways = list(itertools.permutations((None, *on.values()), 2))
                for name, make in CASES.items():
                    place = Path(folder) / "resumed.checkpoint"
                    equal = [same(alone[name], resumed(make, *way, place)) for way in ways]
                    judge(f"{name}: interrupted and gone on with other workers, equal frames {equal}", all(equal))
            if "kills" in wanted:
                right = hit = noticed = 0
                kinds = list(CASES)
                for number in range(options.kills):
                    name = kinds[number % len(kinds)]
                    if number % 2:
                        run = killed_at_a_checkpoint(nodes, on[3], CASES[name], Path(folder))
                    else:
                        run = killed_in_a_round(nodes, on[3], CASES[name], 2 + number % 3)
                    nodes.add_node(num_cpus=4, object_store_memory=10**8)
                    right += same(alone[name], run.frames)
                    hit, noticed = hit + (run.workers > 0), noticed + run.noticed
                    when = "at a checkpoint" if number % 2 else "in a round"
                    print(f"  kill {number + 1}: {name}, {when}, {run.workers} workers dead", flush=True)
                judge(f"{right} of {options.kills} runs with a node killed have equal frames", right == options.kills)
                judge(f"{hit} of {options.kills} kills hit workers", hit == options.kills)
                judge(f"{noticed} of {options.kills} kills were noticed in the run", noticed >= 0.8 * options.kills)
            if "stopped" in wanted:
                found, lost = stopped(Cluster(2, nodes.address, patience=5.0), CASES["FedAvg"])
                judge(
                    "a worker that is stopped is given up, and frames are equal",
                    lost > 0 and same(alone["FedAvg"], found),
                )
    if "gone" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            judge("a cluster that is gone is told in one line, and the same command goes on", gone(Path(folder)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
