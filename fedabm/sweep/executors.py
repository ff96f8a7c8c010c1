"""Where jobs are done, behind the interface of `concurrent.futures`: this process, or local processes.

A worker that dies is replaced; the future of what it was doing raises WorkerDied, and no other future is touched.
(`ProcessPoolExecutor` breaks as a whole when a worker dies.)  The Ray executor is in `fedabm.sweep.cluster`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import multiprocessing.resource_tracker
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

from fedabm.common.device import as_worker, environment

__all__ = ["LocalExecutor", "SerialExecutor", "WorkerDied", "Workers", "starting"]

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_STARTING = threading.Lock()
_FRESH = multiprocessing.get_context("spawn")


class WorkerDied(Exception):
    """A worker ended before its work did.

    `blame`: whether the work may be the reason; `started`: whether it had begun; `killed`: by a signal from outside.
    """

    def __init__(self, reason: str, *, blame: bool = True, started: bool = True) -> None:
        super().__init__(reason)
        self.blame = blame
        self.started = started
        self.killed = "killed" in reason


class Workers(Executor):
    """An executor that says how many things it can do at once, and can end what does not end by itself."""

    workers: int

    def end(self, future: Future) -> None:
        """End the worker that is at this; its future raises WorkerDied."""


class SerialExecutor(Workers):
    """This process, one after the other, at once."""

    workers = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Do it now.  Ctrl-C is not caught."""
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class LocalExecutor(Workers):
    """Processes of this machine, started afresh (spawn), with one thread each for linear algebra.

    Parameters
    ----------
    workers : int
        How many processes.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._tasks: queue.SimpleQueue = queue.SimpleQueue()
        self._threads = [_WorkerThread(self._tasks, number, workers) for number in range(workers)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Queue it for the next worker that is free."""
        future: Future = Future()
        self._tasks.put((future, (fn, args, kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers; with cancel_futures at once, whatever they are doing."""
        for worker in self._threads:
            if cancel_futures:
                worker.kill()
            self._tasks.put(None)
        for worker in self._threads:
            if wait:
                worker.thread.join()

    def end(self, future: Future) -> None:
        """Kill the worker that is at this, also one that was stopped."""
        for worker in self._threads:
            if worker.future is future and worker.process is not None:
                worker.process.kill()

    def processes(self) -> list[int]:
        """The ids of the workers."""
        return [worker.process.pid for worker in self._threads if worker.process and worker.process.pid]


class _WorkerThread:
    """A thread that leads one worker process, and starts another when that dies."""

    def __init__(self, tasks: queue.SimpleQueue, number: int, workers: int) -> None:
        self._place = (number, workers)
        self.process: multiprocessing.process.BaseProcess | None = None
        #: what it is at
        self.future: Future | None = None
        self._pipe: Any = None
        self._tasks = tasks
        self._ended = False
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def kill(self) -> None:
        """End the worker at once and start no other."""
        self._ended = True
        if self.process is not None:
            self.process.kill()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, work = task
            if self._ended or not future.set_running_or_notify_cancel():
                future.cancel()
                continue
            self.future = future
            try:
                good, outcome = self._ask(work)
            except Exception as error:
                good, outcome = False, error
            self.future = None
            (future.set_result if good else future.set_exception)(outcome)
        self._retire()

    def _ask(self, work: Any) -> tuple[bool, Any]:
        """Let the worker do it; starts one if there is none."""
        if self.process is None or not self.process.is_alive():
            self._start()
        try:
            self._pipe.send(work)
            return self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerDied(self._cause()) from None

    def _start(self) -> None:
        self._retire()
        self._pipe, theirs = _FRESH.Pipe()
        process = _FRESH.Process(target=_serve, args=(theirs,), daemon=True)
        with _STARTING, environment(_ONE_THREAD), as_worker(*self._place), _without_ctrl_c():
            process.start()
        self.process = process
        theirs.close()
        try:
            self._pipe.recv()
        except (EOFError, OSError):
            raise WorkerDied(self._cause(), started=False) from None

    def _cause(self) -> str:
        """How the worker ended."""
        process, self.process = self.process, None
        if process is None:
            return "the worker was ended"
        process.join()
        code = process.exitcode or 0
        if code < 0:
            name = signal.Signals(-code).name
            hint = ", perhaps for want of memory" if name == "SIGKILL" else ""
            return f"the worker was killed by {name}{hint}"
        return f"the worker ended with exit code {code}"

    def _retire(self) -> None:
        if self._pipe is not None:
            with contextlib.suppress(OSError):  # the worker is gone
                self._pipe.send(None)  # a worker that is a copy of this process would not notice the end of the pipe
            self._pipe.close()
        if self.process is not None:
            self.process.join(5)
            self.process.kill()
        self.process = self._pipe = None


@contextlib.contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """A process that is started here does not hear Ctrl-C, also before it can say so itself."""
    multiprocessing.resource_tracker.ensure_running()  # would listen again for the thread that starts it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Any) -> None:
    """The life of a worker: do what comes, until nothing does, the pipe is closed or the leader is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader gets Ctrl-C too, and decides
    threading.Thread(target=_end_with_leader, daemon=True).start()
    import fedabm.sweep.worker  # noqa: F401  before the first job, so that its time is not counted as the job's

    pipe.send("ready")
    while True:
        try:
            work = pipe.recv()
        except EOFError:
            return
        if work is None:
            return
        function, args, kwargs = work
        try:
            outcome = (True, function(*args, **kwargs))
        except Exception as error:
            outcome = (False, error)
        pipe.send(outcome)


def _end_with_leader() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def starting() -> bool:
    """Whether this process is a worker that is still importing the user's script."""
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))
