"""A job: one target with its parameters and seed.  Doing it gives the tables of its runs."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedabm.results.frames import Frames, run_row, split
from fedabm.results.nested import Tables
from fedabm.simulation.checkpoint import Keeper
from fedabm.simulation.collected import forget, run_model
from fedabm.simulation.model import Federation
from fedabm.simulation.scenario import Scenario
from fedabm.study import library
from fedabm.study.drawn import closing_pictures
from fedabm.sweep.designs import plain
from fedabm.sweep.targets import Target

__all__ = ["Job", "as_text", "do", "failed", "scenario_of"]


@dataclass(frozen=True)
class Job:
    """One run of a design: what to run, with which parameters and seed, under which name."""

    key: str
    target: Target
    parameters: dict[str, Any] = field(hash=False)
    seed: int
    cell: str
    steps: int | None = None
    attempt: int = 0


def do(job: Job, path: Path | None = None, every: float | None = None) -> list[Tables]:
    """Run the job; one set of tables per run.  With a `path` it is checkpointed there `every` this many seconds."""
    began = time.perf_counter()
    if job.target.kind == "script":
        runs = _script(job, path, every)
    else:
        make: Callable[[Job], Any] = _model if job.target.kind == "model" else _federation
        runs = [_simulate(job, make, Keeper(path, every, job.key) if path and every else None)]
    for tables in runs:
        tables["runs"] |= {"parameters": as_text(job), "wall_time": time.perf_counter() - began}
    return runs


def _script(job: Job, path: Path | None, every: float | None) -> list[Tables]:
    from fedabm.study.study import Study  # slow to import, and needed for scripts only

    script = library.find(job.target.where)
    parameters = {**script.defaults, **job.parameters}
    study = Study(script.name, job.seed, job.steps, plain(parameters), quiet=True)
    study.saved, study.save_every = path, every
    with closing_pictures():
        script.run(study, **parameters)
    return [_tables(frames) for frames in split(study.frames)]


def _simulate(job: Job, make: Callable[[Job], Any], keeper: Keeper | None) -> Tables:
    """Step a model to its end, from where a killed worker left it."""
    model = make(job)
    if isinstance(model, Federation):
        model = (keeper.found(model.scenario) if keeper else None) or model
        tables = _run_federation(job, model, keeper)
    else:
        facts = {"label": job.cell, "scenario": job.target.name, "seed": job.seed}
        tables = run_model(model, job.steps, facts)
    forget(model)
    return tables


def _run_federation(job: Job, model: Federation, keeper: Keeper | None) -> Tables:
    while model.running and (job.steps is None or model.steps < job.steps):
        model.step()
        if keeper and model.running:
            keeper.keep(model)
    return _tables(model.frames(job.cell))


def _federation(job: Job) -> Federation:
    return Federation(scenario_of(job), job.seed)


def scenario_of(job: Job) -> Scenario:
    """What a function makes of the parameters, by its name and for this many steps."""
    seeded = {"seed": job.seed} if job.target.takes("seed") else {}
    scenario = job.target.find()(**job.parameters, **seeded)
    changes: dict[str, Any] = {} if job.steps is None else {"steps": job.steps}
    if scenario.name == "scenario":
        changes["name"] = job.target.name
    return replace(scenario, **changes) if changes else scenario


def _model(job: Job) -> Any:
    return job.target.find()(**job.parameters, seed=job.seed)


def _tables(frames: Frames) -> Tables:
    row = {name: value for name, value in frames.runs.to_dict("records")[0].items() if name != "run"}
    further = [name for name in ("strategies", "imports") if len(getattr(frames, name))]
    names = ("steps", "owners", "transfers", *further)
    return {"runs": row, **{name: getattr(frames, name) for name in names}}


def as_text(job: Job) -> str:
    """The parameters, as the frames have them."""
    return json.dumps(plain(job.parameters), sort_keys=True)


def failed(job: Job, error: BaseException | str, seconds: float, trace: str = "") -> Tables:
    """The row of a job that failed, with the reason."""
    if isinstance(error, BaseException):
        kind = type(error)
        trace = "".join(traceback.format_exception(kind, error, _own(error)))
        error = f"{kind.__name__}: {error}" if str(error) else kind.__name__
    facts = {"label": job.cell, "scenario": job.target.name, "seed": job.seed, "wall_time": seconds}
    return {"runs": run_row("failed", as_text(job), **facts, error=error, traceback=trace)}


def _own(error: BaseException) -> Any:
    """The traceback from the target on, without the machinery around it."""
    trace, here = error.__traceback__, Path(__file__).parent
    while trace is not None and trace.tb_next is not None and Path(trace.tb_frame.f_code.co_filename).parent == here:
        trace = trace.tb_next
    return trace
