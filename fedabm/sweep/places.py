"""Where jobs are done, by name: in this process, in others on this machine, or on a Ray cluster."""

from __future__ import annotations

from fedabm.common.cores import cores
from fedabm.common.errors import InputError, check_positive, check_whole
from fedabm.sweep.cluster import RayExecutor
from fedabm.sweep.executors import LocalExecutor, SerialExecutor, Workers

__all__ = ["check_executor", "executor_of"]


def check_executor(name: str, workers: int | None = None, address: str | None = None, gpus: float = 0.0) -> None:
    """Raise unless there is such an executor; none is started."""
    if name not in ("serial", "local", "ray"):
        raise InputError(f"unknown executor {name!r}; choose one of: local, ray, serial")
    if workers is not None:
        check_whole("workers", workers)
    check_positive("gpus", gpus, zero=True)
    if name != "ray" and (address or gpus):
        raise InputError(f"the executor {name!r} takes no address and shares no GPUs; choose ray, or leave them out")


def executor_of(name: str, workers: int | None = None, address: str | None = None, gpus: float = 0.0) -> Workers:
    """The executor of that name: serial, local or ray."""
    check_executor(name, workers, address, gpus)
    if name == "serial":
        return SerialExecutor()
    if name == "local":
        return LocalExecutor(workers or cores())
    return RayExecutor(workers, address, gpus)
