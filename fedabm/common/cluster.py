"""A Ray cluster: how to reach it, and whether the owners of one federation are to be spread over its workers.

Engines that are not told ask here.  What `--cluster` says is kept in the environment; this module knows nothing of
PyTorch, and imports Ray only when a cluster is wanted.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fedabm.common.device import environment
from fedabm.common.errors import InputError, MissingExtraError, check_number, check_positive, check_whole

__all__ = [
    "Cluster",
    "check_reachable",
    "chosen_cluster",
    "connect",
    "import_ray",
    "note_use",
    "on_cluster",
    "was_used",
]

_CLUSTER = "FEDABM_CLUSTER"
_KNOWN = re.compile(r"local|auto|(ray://)?[^\s;/]+:\d+")
#: the word for a cluster of this machine alone
LOCAL = "local"


@dataclass(frozen=True)
class Cluster:
    """Workers that share the owners of one federation, each with one thread or a part of a GPU.

    Parameters
    ----------
    workers : int, optional
        How many.
    address : str, optional
        HOST:PORT of a Ray cluster, "auto" for the one that this machine belongs to, or "local": a new one, here.
    gpus : float, optional
        Which part of a GPU each worker takes; 0: it trains on its processor.
    patience : float, optional
        After how many seconds without a sign of life a worker is given up.
    """

    workers: int = 2
    address: str = LOCAL
    gpus: float = 0.0
    patience: float = 60.0

    def __post_init__(self) -> None:
        check_whole("workers", self.workers)
        check_number("gpus", self.gpus, zero=True)
        check_positive("patience", self.patience)
        if not isinstance(self.address, str) or not _KNOWN.fullmatch(self.address):
            raise InputError(f"cluster must be local, auto or HOST:PORT, got {self.address!r}; start Ray by: ray start")

    @property
    def local(self) -> bool:
        """Whether it is a new one on this machine."""
        return self.address == LOCAL


#: the clusters whose workers this process has asked for something
_used: set[Cluster] = set()


def note_use(cluster: Cluster) -> None:
    """Workers of this cluster were asked for something."""
    _used.add(cluster)


def was_used(cluster: Cluster) -> bool:
    """Whether they were, since `on_cluster` began."""
    return cluster in _used


def chosen_cluster() -> Cluster | None:
    """What was asked for; None: owners stay in this process."""
    words = os.environ.get(_CLUSTER)
    if not words:
        return None
    address, workers, gpus, patience = words.split(";")
    return Cluster(int(workers), address, float(gpus), float(patience))


@contextlib.contextmanager
def on_cluster(cluster: Cluster | None) -> Iterator[None]:
    """Engines that are made meanwhile spread their owners over this cluster unless they say more; None: as before."""
    words = {}
    if cluster is not None:
        _used.discard(cluster)
        words = {_CLUSTER: f"{cluster.address};{cluster.workers};{cluster.gpus!r};{cluster.patience!r}"}
    with environment(words):
        yield


def import_ray(who: str) -> Any:
    """Ray, for `who` needs it."""
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise MissingExtraError(f"{who} needs Ray; install it with: pip install 'fedabm[cluster]'") from None
    return ray


def connect(ray: Any, address: str | None, workers: int | None, option: str) -> None:
    """Join the cluster at `address`, or start one with this many processors; an error names the `option` to check."""
    if address:
        check_reachable(address, option)
    # Without a word for it Ray would join whatever cluster somebody else has started on this machine.
    given: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": workers}
    os.environ.setdefault("RAY_worker_niceness", "0")  # whoever starts workers for this work wants it done
    try:
        ray.init(**given, log_to_driver=False, logging_level="error", include_dashboard=False)
    except Exception as error:  # Ray raises these plainly, too, where a node takes long to start
        reason = str(error).strip().splitlines()[0]
        where, remedy = address or "this machine", f"check {option}"
        if address and "RAY_AUTH_MODE" not in os.environ:  # Ray says no more than that it failed
            remedy += ", or export RAY_AUTH_MODE=token where it asks for one"
        raise InputError(f"cannot reach Ray at {where}: {reason}; {remedy}") from None


def check_reachable(address: str, option: str = "--address", seconds: float = 10.0) -> None:
    """Raise unless somebody listens at host:port; Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():  # Ray's own words, such as auto
        return
    try:
        socket.create_connection((host, int(port)), seconds).close()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot reach Ray at {address}: {reason}; check {option} and whether it runs") from None
