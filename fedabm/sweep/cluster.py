"""Ray as an executor: jobs on the machines of a cluster, which share the folder of the sweep.

Repeating what was lost is left to the sweep, so that it is counted in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from fedabm.common.cluster import connect, import_ray
from fedabm.common.errors import InputError
from fedabm.sweep.executors import WorkerDied, Workers

__all__ = ["RayExecutor"]


class RayExecutor(Workers):
    """A Ray cluster: the one at `address`, the one that this process is connected to, or a new one on this machine.

    Each job takes one processor, and a fraction of a GPU where one is asked for.

    Parameters
    ----------
    workers : int | None, optional
        How many jobs at once; None: as many as there are processors.
    address : str | None, optional
        The cluster; None: the one connected to, or a new one.
    gpus : float, optional
        Which part of a GPU each job takes.
    """

    def __init__(self, workers: int | None = None, address: str | None = None, gpus: float = 0.0) -> None:
        self._ray = import_ray("the executor 'ray'")
        self._own = not self._ray.is_initialized()
        self._running: dict[Future, Any] = {}
        if self._own:
            connect(self._ray, address, workers, "--address")
        self._most, self._gpus = workers, gpus
        if gpus and not self._ray.cluster_resources().get("GPU"):
            self.shutdown()
            raise InputError(f"a run asks for {gpus:g} GPUs but the cluster has none; leave out --gpus or add a node")
        self._remote = self._ray.remote(_call).options(num_cpus=1, num_gpus=gpus, max_retries=0)

    @property
    def workers(self) -> int:  # type: ignore[override]
        """How many jobs may run at once now; nodes come and go."""
        resources = self._ray.cluster_resources()
        room = int(resources.get("CPU", 0))
        if self._gpus:
            room = min(room, int(resources.get("GPU", 0) / self._gpus))
        return max(1, min(room, self._most or room))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Hand it to the cluster."""
        reference = self._remote.remote(fn, args, kwargs)
        future: Future = Future()
        future.set_running_or_notify_cancel()
        self._running[future] = reference
        reference.future().add_done_callback(lambda inner: self._settle(future, inner))
        return future

    def end(self, future: Future) -> None:
        """Let Ray kill the worker that is at this."""
        if reference := self._running.get(future):
            self._ray.cancel(reference, force=True)

    def _settle(self, future: Future, inner: Future) -> None:
        self._running.pop(future, None)
        error = inner.exception()
        if error is None:
            good, outcome = inner.result()
            (future.set_result if good else future.set_exception)(outcome)
        else:
            future.set_exception(self._translated(error))

    def _translated(self, error: BaseException) -> BaseException:
        """What Ray says about a lost worker, in our words; a lost node is not the job's fault."""
        lost = self._ray.exceptions
        reason = str(error).strip().splitlines()[0].rstrip(".")
        if isinstance(error, lost.NodeDiedError | lost.RaySystemError | lost.ObjectLostError):
            return WorkerDied(f"a node was lost: {reason}", blame=False)
        if isinstance(error, lost.RayError):
            return WorkerDied(f"the worker died: {reason}", blame=True)
        return error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; with cancel_futures drop what is running."""
        if cancel_futures:
            for reference in list(self._running.values()):
                self._ray.cancel(reference, force=True)
        if self._own:
            self._ray.shutdown()


def _call(fn: Callable[..., Any], args: Any, kwargs: Any) -> tuple[bool, Any]:
    """Runs on the worker; an exception of the work comes back as a value, apart from those of Ray."""
    try:
        return True, fn(*args, **kwargs)
    except Exception as error:
        return False, error
