"""Jobs on a CPU: one thread each, several at a time; that beats threads inside operators for small and large jobs.

As every job runs on one thread, its result does not depend on how many there are.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch

__all__ = ["one_thread", "run", "threads_inside"]

Job = TypeVar("Job")
Tool = TypeVar("Tool")


def run(jobs: Iterable[Job], work: Callable[[Tool, Job], None], tool: Callable[[], Tool], workers: int) -> None:
    """Do all jobs, each with the tool of the worker that does it; an error in one job is raised here.

    Without workers (0) the jobs are done one after the other with as many threads as operators like to use.
    """
    if workers > 1:
        return _share(jobs, work, tool, workers)
    with one_thread(wanted=workers == 1):
        mine = tool()
        for job in jobs:
            work(mine, job)


def _share(jobs: Iterable[Job], work: Callable[[Tool, Job], None], tool: Callable[[], Tool], workers: int) -> None:
    own = threading.local()

    def do(job: Job) -> None:
        if not hasattr(own, "tool"):
            own.tool = tool()
        # Whether gradients are recorded is a property of the thread.
        with torch.no_grad():
            work(own.tool, job)

    with one_thread():
        doing = [_staff(workers).submit(do, job) for job in jobs]
        try:
            wait(doing)  # for all of them, also if one has failed: they write into the caller's tensors
        except KeyboardInterrupt:
            for one in doing:
                one.cancel()
            raise
        for one in doing:
            one.result()


@functools.cache
def _staff(workers: int) -> ThreadPoolExecutor:
    """Threads that stay: to start them takes as long as a step of a small network."""
    return ThreadPoolExecutor(workers, "fedabm", initializer=torch.set_num_threads, initargs=(1,))


# A child that was forked has none of these threads.
os.register_at_fork(after_in_child=_staff.cache_clear)


@contextmanager
def one_thread(*, wanted: bool = True) -> Iterator[None]:
    """Operators inside use one thread, if wanted; afterwards as many as before."""
    with threads_inside(1 if wanted else torch.get_num_threads()):
        yield


@contextmanager
def threads_inside(count: int) -> Iterator[None]:
    """Operators inside use this many threads; afterwards as many as before."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(count)
        yield
    finally:
        torch.set_num_threads(before)
