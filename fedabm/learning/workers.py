"""One worker per core with one thread each: faster than threads inside operators when every job is large."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

__all__ = ["run"]

Job = TypeVar("Job")
Tool = TypeVar("Tool")


def run(jobs: Iterable[Job], work: Callable[[Tool, Job], None], tool: Callable[[], Tool], workers: int) -> None:
    """Do all jobs, each with the tool of the worker that does it; an error in one job is raised here."""
    if workers <= 1:
        mine = tool()
        for job in jobs:
            work(mine, job)
        return
    own = threading.local()

    def begin() -> None:
        torch.set_num_threads(1)
        own.tool = tool()

    def do(job: Job) -> None:
        # Whether gradients are recorded is a property of the thread.
        with torch.no_grad():
            work(own.tool, job)

    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(workers, initializer=begin) as pool:
            for done in [pool.submit(do, job) for job in jobs]:
                done.result()
    finally:
        torch.set_num_threads(threads)
