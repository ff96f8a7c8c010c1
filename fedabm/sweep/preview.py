"""What a sweep would do: its cells, what is done already, and how long the rest may take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Hashable
from datetime import timedelta
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from fedabm.results.design import SWEEP
from fedabm.results.sweeps import JobState, states
from fedabm.simulation.stacking import kind_of, why_alone
from fedabm.sweep.folder import check_target
from fedabm.sweep.jobs import Job, do, scenario_of
from fedabm.sweep.limits import TimeLimit, time_limit
from fedabm.sweep.plan import Sweep

__all__ = ["preview"]

#: how many cells are shown
_SHOWN = 20
#: how many runs are tried
_TRIED = 3
#: seconds that all runs which are tried may take
PATIENCE = 10.0


def preview(
    sweep: Sweep, folder: Path, workers: int, limit: float | None = None, *, retry_failed: bool = False
) -> None:
    """Print the design, what the folder holds of it, and an estimate."""
    console = Console()
    for line in (f"{sweep.what.name}: {len(sweep.cells)} cells, {len(sweep.jobs)} runs", _cells(sweep)):
        console.print(line, highlight=False)
    if sweep.until is not None:
        console.print(f"Seeds {sweep.until}: these are the runs of the first stage; more follow as the data say.")
    known = _known(sweep, folder)
    found = [known[job.key] for job in sweep.jobs if job.key in known]
    lost = sum(state.failed for state in found)
    left = len(sweep.jobs) - len(found) + (lost if retry_failed else 0)
    if found:
        console.print(f"Found {len(found) - lost} runs done and {lost} failed in {folder}.", highlight=False)
    seconds = [state.seconds for state in found if not state.failed]
    words = _estimate(left, workers, seconds) if seconds or not left else _trial(sweep, left, workers, limit)
    console.print(words, highlight=False, markup=False, soft_wrap=True)
    if left and sweep.what.kind == "function":
        console.print(_together(sweep, limit), highlight=False, markup=False, soft_wrap=True)


def _known(sweep: Sweep, folder: Path) -> dict[str, JobState]:
    """What the folder holds, if it holds a sweep of the same target."""
    if not (folder / SWEEP).exists():
        return {}
    check_target(folder, sweep.describe()["target"])
    return states(folder)


def _cells(sweep: Sweep) -> Table:
    """The first and the last cells."""
    cells, each = sweep.cells, str(len(sweep.jobs) // len(sweep.cells))
    table = Table("cell", "runs", box=None)
    shown = cells if len(cells) <= _SHOWN else [*cells[: _SHOWN // 2], None, *cells[-_SHOWN // 2 :]]
    for cell in shown:
        table.add_row(*(("...", "") if cell is None else (cell.name, each)))
    return table


def _together(sweep: Sweep, limit: float | None) -> str:
    """Which cells are stepped together, judging by the first run of some; and why others are not."""
    if limit is not None:
        return "Runs are done one by one, as each has a limit of its own."
    first = list({job.cell: job for job in reversed(sweep.jobs)}.values())
    tried = [first[place] for place in sorted({round(place) for place in np.linspace(0, len(first) - 1, _SHOWN)})]
    alone: Counter[str] = Counter()
    kinds: Counter[Hashable] = Counter()
    try:
        with time_limit(PATIENCE):
            for reason, kind in map(_kind, tried):
                if reason is None:
                    kinds[kind] += 1
                else:
                    alone[reason] += 1
    except TimeLimit:
        return f"Whether runs are stepped together is open: to make their scenarios takes longer than {PATIENCE:g} s."
    said = [f"Of {len(tried)} cells that were tried"]
    if kinds:
        sizes = ", ".join(str(count) for _, count in kinds.most_common())
        one = "are of one kind, whose runs are stepped together"
        several = f"are of {len(kinds)} kinds ({sizes} cells), and runs of one kind are stepped together"
        said.append(f"{kinds.total()} {one if len(kinds) == 1 else several}")
    if alone:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in alone.items())
        said.append(f"{alone.total()} are done run by run, because of: {reasons}")
    return f"{', '.join(said)}."


def _kind(job: Job) -> tuple[str | None, Hashable]:
    """Why a run is done alone, if it is, or of which kind it is."""
    try:
        scenario = scenario_of(job)
        why = why_alone(scenario)
        return why, None if why else kind_of(scenario)
    except (Exception, SystemExit) as error:
        return type(error).__name__, None


def _trial(sweep: Sweep, left: int, workers: int, limit: float | None) -> str:
    """An estimate from some runs that lie far apart in the design; their results are not kept."""
    seconds: list[float] = []
    for place in sorted({round(place) for place in np.linspace(0, len(sweep.jobs) - 1, _TRIED)}):
        job, began = sweep.jobs[place], time.perf_counter()
        rest = max(PATIENCE - sum(seconds), 0.1)
        patience = rest if limit is None else min(rest, limit)
        try:
            with time_limit(patience):
                do(job)
        except TimeLimit:
            known = f"{_estimate(left, workers, seconds)} But" if seconds else "No estimate:"
            return f"{known} the run {job.cell!r} takes longer than {patience:.2g} s; the sweep itself says more."
        except (Exception, SystemExit) as error:
            return f"No estimate: the run {job.cell!r} fails with {type(error).__name__}: {error}"
        seconds.append(time.perf_counter() - began)
    return _estimate(left, workers, seconds)


def _estimate(left: int, workers: int, seconds: list[float]) -> str:
    mean = float(np.mean(seconds)) if seconds else 0.0
    total = f"About {_duration(mean * left / workers)} for {left} runs on {workers} processes"
    return f"{total}, judging by {len(seconds)} runs of {mean:.3g} s on average." if left else "Nothing is left to do."


def _duration(seconds: float) -> str:
    """Seconds, or hours, minutes and seconds where there are many."""
    return f"{seconds:.3g} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))
