"""A sweep: a target, a design and seeds.  Running it again goes on where it stopped.

    from fedabm.sweep import Grid, Seeds, Sweep
    sweep = Sweep(build, Grid(rate=[0.01, 0.02], owners=[5, 10]), Seeds(20))
    sweep.run("results/rates", workers=2)
    frames = fedabm.load("results/rates")

With local processes, call `run` under `if __name__ == "__main__":`, as for any Python program that starts processes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from fedabm.common.confidence import Noise
from fedabm.common.device import check_device
from fedabm.common.digest import digest
from fedabm.common.errors import FedabmError, InputError, Interrupted, check_positive, check_whole
from fedabm.common.until import Until, until
from fedabm.results import parts
from fedabm.results.design import ALONE, ENOUGH, SWEEP, add_note, read_manifest
from fedabm.results.frames import versions
from fedabm.results.sweeps import NEVER, states
from fedabm.specs.written import written
from fedabm.sweep.designs import Cell, Design
from fedabm.sweep.enough import HEADLINE, samples
from fedabm.sweep.executors import SerialExecutor, Workers, starting
from fedabm.sweep.folder import check_target, claim, lock, missing, take_back, write_jobs
from fedabm.sweep.jobs import Job
from fedabm.sweep.messages import Messages
from fedabm.sweep.places import check_executor, executor_of
from fedabm.sweep.runner import Count, Runner
from fedabm.sweep.seeds import MOST_RUNS, Seeds
from fedabm.sweep.targets import Target, target_of
from fedabm.sweep.worker import Settings, clear_leftovers

__all__ = ["Sweep"]


@dataclass(frozen=True)
class Sweep:
    """Every cell of a design (or of several) with every seed; `fixed` parameters hold in all cells.

    Models train on the `device`; workers share all GPUs where it is "auto" or "cuda".

    Parameters
    ----------
    target : Any
        A scenario by name, a function, or a class of Mesa models.
    design : Design | Sequence[Design]
        Which settings are run.
    seeds : Seeds | int | str | Until | Sequence[int], optional
        Which seeds, or how many, per setting; or `"until 0.01"`: as many as it takes for the 95% intervals of the mean
        net welfare at the end to reach at most 0.01, in every cell.  All cells get as many, the same ones.
    fixed : Mapping[str, Any], optional
        Parameters that hold everywhere.
    steps : int | None, optional
        The most steps of a run.
    device : str, optional
        Where models train: "auto", "cpu" or "cuda".
    noise : Noise, optional
        What is known of the noise between seeds, "normal" or "unknown", where `seeds` says until when.
    """

    target: Any
    design: Design | Sequence[Design]
    seeds: Seeds | int | str | Until | Sequence[int] = field(default_factory=Seeds)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    device: str = "auto"
    noise: Noise = "unknown"

    def __post_init__(self) -> None:
        check_device(self.device)
        if self.steps is not None:
            check_whole("steps", self.steps)
        several = isinstance(self.design, Sequence) and all(isinstance(one, Design) for one in self.design)
        if not isinstance(self.design, Design) and not several:
            raise InputError(f"a design must be a Design or a list of them, got {self.design!r}; give a Grid")
        if self.until is not None:
            self.until.begins(self.noise)

    @cached_property
    def until(self) -> Until | None:
        """The rule that decides on the number of seeds; None where it is given."""
        rule = Until.read(self.seeds) if isinstance(self.seeds, str) else self.seeds
        return rule if isinstance(rule, Until) else None

    @property
    def stage(self) -> Seeds:
        """The seeds, or those of the first stage of a rule."""
        return Seeds.of(self.seeds) if self.until is None else Seeds(self.until.begins(self.noise))  # type: ignore[arg-type]

    @cached_property
    def what(self) -> Target:
        """The target as workers find it."""
        return target_of(self.target)

    @cached_property
    def code(self) -> str:
        """The digest of the code."""
        return self.what.code

    @cached_property
    def cells(self) -> list[Cell]:
        """The cells, checked, each once."""
        designs = [self.design] if isinstance(self.design, Design) else list(self.design)
        found: dict[str, Cell] = {}
        for cell in (cell for design in designs for cell in design.cells()):
            setting = {**self.fixed, **cell.parameters}
            self.what.check(setting)
            own = [] if cell.seed is None else [cell.seed]
            found.setdefault(digest([setting, *own]), Cell(cell.name or "baseline", setting, cell.seed))
        if not found:
            raise InputError("the design is empty: it has no cells; give at least one value or cell")
        return list(found.values())

    @cached_property
    def jobs(self) -> list[Job]:
        """The jobs in the order of the design: all seeds of the first cell, then of the second, ..."""
        seeds = self.stage
        several = sum(cell.seed is None for cell in self.cells) * (seeds.count - 1)
        check_whole("number of runs", len(self.cells) + several, high=MOST_RUNS)
        made: dict[str, Job] = {}
        where = [] if self.device == "auto" else [self.device]
        for cell in self.cells:
            complete = self.what.complete(cell.parameters)
            own = None if cell.seed is None else [cell.seed]
            for seed in own or seeds.for_cell(digest(cell.parameters)):
                key = digest([self.what.name, complete, seed, self.steps, self.code, *where])
                made.setdefault(key, Job(key, self.what, cell.parameters, seed, cell.name, self.steps))
        return list(made.values())

    def describe(self) -> dict[str, Any]:
        """What the manifest says."""
        designs = [self.design] if isinstance(self.design, Design) else list(self.design)
        return {
            "target": self.what.describe(),
            "design": [design.describe() for design in designs],
            "design_digest": digest([job.key for job in self.jobs])[:16],
            "fixed": written(self.fixed),
            "seeds": self.stage.describe(),
            "steps": self.steps,
            "device": self.device,
            "code": self.code,
            "versions": versions(),
        }

    def run(
        self,
        folder: str | Path,
        executor: str | Workers = "local",
        workers: int | None = None,
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
        checkpoint: float | None = 60.0,
        retry_failed: bool = False,
        quiet: bool = False,
        repeat: str = "",
        address: str | None = None,
        gpus: float = 0.0,
        together: bool = True,
    ) -> Count:
        """Do what is not done yet, and keep it in the folder; read it with `fedabm.load(folder)`, at any time.

        `time_limit` is in seconds and `memory_limit` in bytes, both per run; `checkpoint` says after how many seconds
        the state of a long run is saved (None: never).  Small runs of one kind are stepped `together` (bit-equal, and
        much faster) where there is no limit.  `repeat` is the command that goes on after Ctrl-C.
        """
        if self.until is not None:
            how: dict[str, Any] = {"time_limit": time_limit, "memory_limit": memory_limit, "checkpoint": checkpoint}
            how |= {"retry_failed": retry_failed, "quiet": quiet, "repeat": repeat, "address": address, "gpus": gpus}
            return self._run_until(self.until, folder, executor, workers, together=together, **how)
        for name, value in (("time limit", time_limit), ("memory limit", memory_limit), ("checkpoint", checkpoint)):
            if value is not None:
                check_positive(name, value)
        if starting():
            raise InputError("a sweep was started while its workers start; call run under if __name__ == '__main__':")
        if isinstance(executor, str):
            check_executor(executor, workers, address, gpus)
        messages = Messages(quiet=quiet)
        jobs = self.jobs  # before the folder is touched: they may be refused
        new = missing(folder)
        place = claim(folder)
        with lock(place):
            check_target(place, self.describe()["target"])
            count, left = self._resume(place, messages, retry_failed=retry_failed)
            count.alone = self._stepped_alone(place)
            write_jobs(place, jobs, {**self.describe(), ALONE: dict(count.alone)})
            if not left:
                messages.end(count)
                return count
            hard = executor != "serial" and not isinstance(executor, SerialExecutor)
            settings = Settings(
                folder=place.resolve(),
                code=self.code,
                path=tuple(sys.path),
                time_limit=time_limit,
                memory_limit=memory_limit,
                checkpoint=checkpoint,
                hard=hard,
                together=together,
                device=self.device,
            )
            try:
                chosen = executor_of(executor, workers, address, gpus) if isinstance(executor, str) else executor
            except FedabmError:  # as of a cluster that cannot be reached
                take_back(new)
                raise
            _lead(settings, chosen, left, count, messages, repeat, keep=chosen is executor)
        messages.end(count)
        return count

    def _run_until(self, rule: Until, folder: str | Path, *where: Any, quiet: bool, **how: Any) -> Count:
        """Run stage after stage in the same folder, whose runs are never done twice, and say what it came to."""
        count = Count(0)

        def sample(seeds: int) -> list[Any]:
            nonlocal count
            stage = replace(self, seeds=Seeds(seeds))
            silent = quiet or stage.complete(Path(folder))  # of what was done before only the end is of interest
            count = stage.run(folder, *where, quiet=silent, **how)
            return samples(Path(folder), rule)

        found = until(rule, self.noise, sample, f"mean {rule.of or HEADLINE} of every cell at the end")
        add_note(Path(folder), ENOUGH, found.describe())
        Messages(quiet=quiet).enough(found)
        return count

    def complete(self, folder: Path) -> bool:
        """Whether all runs of this design, or of its first stage, are in a folder, and none has failed."""
        known = states(folder) if (folder / SWEEP).exists() else {}
        return all(job.key in known and not known[job.key].failed for job in self.jobs)

    def _stepped_alone(self, folder: Path) -> Counter[str]:
        """How many runs of this design were stepped one by one before, and why."""
        try:
            known = read_manifest(folder)
        except FedabmError:  # none yet, or damaged: it is written anew
            return Counter()
        same = known.get("design_digest") == self.describe()["design_digest"]
        return Counter(known.get(ALONE, {}) if same else {})

    def _resume(self, folder: Path, messages: Messages, *, retry_failed: bool) -> tuple[Count, list[Job]]:
        """What is there already, and the jobs that are left."""
        for part in parts.damaged(folder / "parts"):
            messages.damaged(parts.set_aside(folder / "parts", part))
        parts.tidy(folder / "parts")
        known = states(folder)
        clear_leftovers(folder, known)
        count = Count(len(self.jobs))
        left = []
        for job in self.jobs:
            state = known.get(job.key, NEVER)
            if state is NEVER or (state.failed and retry_failed):
                left.append(replace(job, attempt=state.attempt + 1))
            elif state.failed:
                count.failed += 1
            else:
                count.done += 1
        messages.found(count, others=len(known.keys() - {job.key for job in self.jobs}))
        return count, left


def _lead(
    settings: Settings,
    executor: Workers,
    left: list[Job],
    count: Count,
    messages: Messages,
    repeat: str,
    *,
    keep: bool,
) -> None:
    """Run the jobs with a progress bar; whatever happens, workers end with it unless the caller brought them."""
    clean = False
    try:
        with messages.progress(count) as tell:
            Runner(settings, executor, left, count, tell).run()
        clean = True
    except KeyboardInterrupt:
        messages.interrupted(count, settings.folder, repeat)
        raise Interrupted from None
    finally:
        add_note(settings.folder, ALONE, dict(count.alone))
        if not keep:
            executor.shutdown(wait=True, cancel_futures=not clean)
