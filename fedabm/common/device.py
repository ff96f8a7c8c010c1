"""Where models train: the device that `--device` names, who else works on it, and which devices were used.

Engines that are told "auto" ask here.  Names are kept in the environment, so that worker processes know them too; this
module knows nothing of PyTorch, so that studies without training need not load it.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from fedabm.common.errors import InputError

__all__ = [
    "PRECISIONS",
    "Worker",
    "as_worker",
    "check_device",
    "check_precision",
    "check_written",
    "chosen",
    "deterministic",
    "environment",
    "here",
    "in_precision",
    "note",
    "on_device",
    "precision",
    "preferring",
    "repeatable",
    "used",
]

#: the names under which they are kept
_DEVICE = "FEDABM_DEVICE"
_WORKER = "FEDABM_WORKER"
_SAME = "FEDABM_DETERMINISTIC"
_PRECISION = "FEDABM_PRECISION"
#: without it CUDA's matrix products refuse to be deterministic
_CUBLAS = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
PRECISIONS = ("float32", "bfloat16")
_KNOWN = re.compile(r"auto|cpu|meta|mps|(cuda|xpu)(:\d+)?")
#: the devices on which this process has made engines, with the version of PyTorch
_used: dict[str, str] = {}


class Worker(NamedTuple):
    """Which of this many processes this is; they share this computer's devices."""

    number: int = 0
    workers: int = 1

    def device(self, devices: int) -> int:
        """The device, among this many, that this process uses: one after the other."""
        return self.number % devices

    def share(self, devices: int) -> int:
        """How many processes share that device."""
        return max(1, -(-(self.workers - self.device(devices)) // devices))


def check_device(name: str) -> str:
    """The name of a device, or an error.

    >>> check_device("cuda:1")
    'cuda:1'
    """
    if not isinstance(name, str) or not _KNOWN.fullmatch(name):
        raise InputError(f"unknown device {name!r}; give auto, cpu, cuda, cuda:1, mps or meta (shapes only)")
    return name


def chosen() -> str:
    """The device that was asked for; "auto" if none was."""
    return check_device(os.environ.get(_DEVICE, "auto"))


@contextlib.contextmanager
def on_device(name: str) -> Iterator[None]:
    """Engines that are made meanwhile, here and in processes that are started, use this device unless they say more.

    "auto" leaves it at what was asked for before.
    """
    with environment({_DEVICE: chosen() if check_device(name) == "auto" else name}):
        yield


def check_written(name: str) -> str:
    """The name of a device on which values are found, as a study's file, an audit and a page need them, or an error."""
    if check_device(name) == "meta":
        raise InputError(
            "device meta has shapes, no values, so that no study can rest on it; try it by fedabm run --device meta"
        )
    return name


@contextlib.contextmanager
def preferring(name: str) -> Iterator[None]:
    """The same, unless another device was asked for: `--device` goes before what a study says of itself."""
    asked = chosen()
    with on_device(name if asked == "auto" else asked):
        yield


@contextlib.contextmanager
def repeatable(*, active: bool) -> Iterator[None]:
    """Engines that are made meanwhile use algorithms only that give the same bits in every run on the same device."""
    with contextlib.ExitStack() as settings:
        for name, value in {_SAME: "1", **_CUBLAS}.items() if active else ():
            settings.enter_context(environment({name: value}))
        yield


def deterministic() -> bool:
    """Whether that was asked for."""
    return os.environ.get(_SAME) == "1"


def check_precision(name: str) -> str:
    """The name of a precision, or an error.

    >>> check_precision("bfloat16")
    'bfloat16'
    """
    if name not in PRECISIONS:
        raise InputError(f"unknown precision {name!r}; give {' or '.join(PRECISIONS)}")
    return name


def precision() -> str:
    """In which numbers gradients are found: what was asked for, float32 if nothing was."""
    return check_precision(os.environ.get(_PRECISION, "float32"))


@contextlib.contextmanager
def in_precision(name: str) -> Iterator[None]:
    """Engines that are made meanwhile find gradients in these numbers unless they say more."""
    with environment({_PRECISION: check_precision(name)}):
        yield


@contextlib.contextmanager
def as_worker(number: int, workers: int) -> Iterator[None]:
    """What is started meanwhile is this worker of this many."""
    with environment({_WORKER: f"{number}/{workers}"}):
        yield


def here() -> Worker:
    """Which worker this process is."""
    number, _, workers = os.environ.get(_WORKER, "0/1").partition("/")
    return Worker(int(number), int(workers))


def note(device: str, torch: str) -> None:
    """An engine was made on this device."""
    _used[device] = torch


def used() -> dict[str, str]:
    """The devices on which this process has trained, each with the version of PyTorch."""
    return dict(_used)


@contextlib.contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for the time of a block, and for the processes that it starts."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
