"""The workers of this process on a Ray cluster: started once for all engines, watched, and replaced when they are lost.

A worker is lost if it or its node dies, or if it gives no sign of life for as long as the cluster's patience.  Signs of
life come from a thread of their own, so that a long round is none of it.
"""

from __future__ import annotations

import atexit
import itertools
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from fedabm.common.cluster import Cluster, connect, import_ray, note_use
from fedabm.common.errors import InputError
from fedabm.common.log import LOG
from fedabm.learning.shards.worker import ShardWorker, WorkerSettings

__all__ = ["Host", "Pool", "WireTraffic", "WorkerLost", "pool_of"]

Result = TypeVar("Result")
#: the threads that give signs of life
_WATCH = "watch"
#: seconds that a worker may take to start, and between two looks at those that are silent
_START, _LOOK = 300.0, 1.0
#: seconds in which the head of a cluster that is there takes up a connection
_ANSWER = 10.0
#: how often in a row the same work is begun anew
_TRIES = 8
#: seconds by which the pauses between them grow, from none before the second
_PAUSE = 1.0


class WorkerLost(Exception):
    """A worker was lost, or what it had."""


@dataclass
class WireTraffic:
    """Bytes that went to a worker and came from it, those of training data apart."""

    down: int = 0
    up: int = 0
    data: int = 0

    @property
    def total(self) -> int:
        """Both ways, without data."""
        return self.down + self.up


@dataclass(eq=False)
class Host:
    """A worker process: its actor, which of all those ever started it is, and what went over its wire."""

    actor: Any
    number: int
    traffic: WireTraffic = field(default_factory=WireTraffic)


class _Process:
    """What runs on the cluster: the parts of all engines that are on one worker."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._parts: dict[str, ShardWorker] = {}

    def ping(self) -> int:
        """A sign of life: the number of the process."""
        return os.getpid()

    def open(self, engine: str, settings: WorkerSettings) -> None:
        """Begin with the part of an engine."""
        import ray

        def fetch(what: Any) -> Any:
            return ray.get(what) if isinstance(what, ray.ObjectRef) else what

        self._parts[engine] = ShardWorker(settings, self._device, fetch)

    def close(self, engine: str) -> None:
        """Forget an engine."""
        self._parts.pop(engine, None)

    def drop(self, engine: str, names: list[str]) -> None:
        """Forget rows of an engine, which may be forgotten itself already."""
        if engine in self._parts:
            self._parts[engine].drop(names)

    def ask(self, engine: str, method: str, *given: Any) -> Any:
        """What the part of an engine answers."""
        return getattr(self._parts[engine], method)(*given)


class Pool:
    """Workers on a cluster; `generation` grows whenever some are lost, and with them all rows that lay there."""

    def __init__(self, cluster: Cluster) -> None:
        self._ray = import_ray("a federation on a cluster")
        self.cluster, self.generation = cluster, 0
        self._own = not self._ray.is_initialized()
        if self._own:
            connect(self._ray, None if cluster.local else cluster.address, cluster.workers, "--cluster")
        self._session, self._gone = self._joined(), False
        self._numbers = itertools.count()
        self.hosts: list[Host] = []
        self._grow()
        if len(self.hosts) < cluster.workers:
            LOG.warning(f"the cluster has room for {len(self.hosts)} of {cluster.workers} workers; going on with these")

    def _grow(self) -> None:
        """Start as many workers as are missing; those for which there is no room are done without."""
        started = [self._start() for _ in range(self.cluster.workers - len(self.hosts))]
        pings = {self._ping(host): host for host in started}
        limit = _START if not self.hosts else max(self.cluster.patience, 10.0)
        ready, late = self._ray.wait(list(pings), num_returns=len(pings), timeout=limit) if pings else ([], [])
        alive = [pings[ping] for ping in ready if self._answers(ping)]
        self.hosts += sorted(alive, key=lambda host: host.number)
        for ping in late:
            self._ray.kill(pings[ping].actor)
        if not self.hosts:
            raise InputError(
                f"no worker could be started on Ray at {self.cluster.address}; see `ray status` for free processors"
            )

    def _start(self) -> Host:
        gpus = self.cluster.gpus
        # Whoever starts a cluster for itself may have more workers than processors, and several engines' of them.
        how = {
            "num_cpus": 0 if self.cluster.local else 1,
            "num_gpus": gpus,
            "max_restarts": 0,
            "concurrency_groups": {_WATCH: 1},
        }
        made = self._ray.remote(**how)(_Process).options(scheduling_strategy="SPREAD")
        return Host(made.remote("cuda" if gpus else "cpu"), next(self._numbers))

    def _ping(self, host: Host) -> Any:
        return host.actor.ping.options(concurrency_group=_WATCH).remote()

    def _answers(self, ping: Any) -> bool:
        try:
            self._ray.get(ping)
        except self._ray.exceptions.RayError:
            return False
        return True

    def send(self, host: Host, returns: int, method: str, *given: Any, data: bool = False) -> Any:
        """Ask a worker; the answer can be had from the reference, or the references, that this gives."""
        note_use(self.cluster)
        amount = size_of(given)
        if data:
            host.traffic.data += amount
        else:
            host.traffic.down += amount
        return getattr(host.actor, method).options(num_returns=returns).remote(*given)

    def put(self, what: Any) -> Any:
        """Into the memory of the cluster, once for all workers."""
        return self._ray.put(what)

    def collect(self, asked: list[tuple[Host, Any]]) -> list[Any]:
        """All answers; `WorkerLost` if one will not come."""
        waiting = {reference: host for host, reference in asked}
        pings: dict[Host, tuple[Any, float]] = {}
        while waiting:
            ready, _ = self._ray.wait(list(waiting), num_returns=len(waiting), timeout=_LOOK)
            for reference in ready:
                del waiting[reference]
            if not ready:
                self._check_head()
                self._watch(set(waiting.values()), pings)
        answers = []
        for host, reference in asked:
            answers.append(self._got(reference))
            host.traffic.up += size_of(answers[-1])
        return answers

    def _got(self, reference: Any) -> Any:
        lost = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except lost.RayTaskError as error:
            if isinstance(error.cause, lost.RayError) or _without_a_node(error.cause):
                raise WorkerLost(_line(error.cause)) from None
            raise error.cause from None
        except lost.RayError as error:
            raise WorkerLost(_line(error)) from None

    def _watch(self, hosts: set[Host], pings: dict[Host, tuple[Any, float]]) -> None:
        """Ask whoever is silent for a sign of life; kill who has not answered for too long."""
        for host in hosts:
            ping, since = pings.setdefault(host, (self._ping(host), time.monotonic()))
            if self._ray.wait([ping], timeout=0)[0]:
                if not self._answers(ping):
                    raise WorkerLost("a worker died")
                pings[host] = self._ping(host), time.monotonic()
            elif time.monotonic() - since > self.cluster.patience:
                self._ray.kill(host.actor)
                raise WorkerLost(f"a worker gave no sign of life for {self.cluster.patience:g} seconds")

    def attempt(self, work: Callable[[], Result]) -> Result:
        """Do some work; where a worker is lost it is replaced and the work done again."""
        for lost in range(_TRIES):
            time.sleep(_PAUSE * max(lost - 1, 0))  # a dead node is offered until Ray has noticed
            self._check_head()
            try:
                return work()
            except WorkerLost as reason:
                self._check_head()
                LOG.warning(f"{reason}; its owners go to others, and the round is done again")
                self._mend()
        raise InputError(f"workers were lost {_TRIES} times in a row; repair the cluster and give the same command")

    def _check_head(self) -> None:
        """Raise if nobody answers at the cluster's head: Ray itself would end this process without a word."""
        host, _, port = self._ray.get_runtime_context().gcs_address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), _ANSWER).close()
        except OSError:
            self._gone = True
            again = "give the same command once it runs again, or without the cluster"
            raise InputError(f"the Ray cluster at {host}:{port} is gone; {again}") from None

    def _mend(self) -> None:
        """Keep who answers, and replace the others."""
        self.generation += 1
        pings = {self._ping(host): host for host in self.hosts}
        ready, _ = self._ray.wait(list(pings), num_returns=len(pings), timeout=self.cluster.patience)
        alive = {pings[ping] for ping in ready if self._answers(ping)}
        for host in self.hosts:
            if host not in alive:
                self._ray.kill(host.actor)
        self.hosts = [host for host in self.hosts if host in alive]
        self._grow()

    @property
    def open(self) -> bool:
        """Whether this process is still part of the same cluster."""
        return not self._gone and bool(self._ray.is_initialized()) and self._session == self._joined()

    def _joined(self) -> str:
        context = self._ray.get_runtime_context()
        return f"{context.gcs_address} {context.get_job_id()}"

    def processes(self) -> list[int]:
        """The numbers of the workers' processes; `WorkerLost` if one does not answer."""
        return self.collect([(host, self._ping(host)) for host in self.hosts])

    def forget(self, engine: str) -> None:
        """Tell all workers that an engine is gone."""
        if self.open:
            for host in self.hosts:
                host.actor.close.remote(engine)

    def close(self) -> None:
        """End the workers, and the cluster if it was started here."""
        if self.open:
            for host in self.hosts:
                self._ray.kill(host.actor)
            if self._own:
                self._ray.shutdown()


def size_of(what: Any) -> int:
    """Bytes of the numbers and words in a message; what is in the cluster's memory counts where it is sent for.

    >>> size_of([np.zeros(3), "ab", {"seed": 7}])
    38
    """
    if isinstance(what, np.ndarray):
        return what.nbytes
    if isinstance(what, str | bytes):
        return len(what)
    if isinstance(what, dict):
        return size_of(list(what)) + size_of(list(what.values()))
    if isinstance(what, list | tuple):
        return sum(map(size_of, what))
    if is_dataclass(what):
        return sum(size_of(getattr(what, part.name)) for part in fields(what))
    return 8


def _without_a_node(error: BaseException) -> bool:
    """Whether Ray raised this on a worker whose node had died: an OSError without the number that the system gives."""
    return type(error) is OSError and error.errno is None


def _line(error: BaseException) -> str:
    words = {
        "ActorDiedError": "a worker died",
        "ActorUnavailableError": "a worker cannot be reached",
        "OSError": "a worker lost its node",
    }
    kind = type(error).__name__
    if kind == "RaySystemError":  # whose last line is what was raised where a message was read
        return f"a worker cannot read what it was sent ({str(error).strip().splitlines()[-1]})"
    return words.get(kind, f"something on the cluster was lost ({kind})")


_pools: dict[Cluster, Pool] = {}


def pool_of(cluster: Cluster) -> Pool:
    """The workers of this process on that cluster."""
    if cluster not in _pools or not _pools[cluster].open:
        _pools[cluster] = Pool(cluster)
        atexit.register(_pools[cluster].close)
    return _pools[cluster]
