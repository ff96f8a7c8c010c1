"""`fedabm reproduce [PAPER|ROW ...] [--budget NAME] [--list] [--explain] [--json] [--write FILE ...]`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from fedabm.common.console import wide_console
from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.papers.ledger.explain import explained
from fedabm.papers.ledger.page import html
from fedabm.papers.ledger.records import record_of, records_of
from fedabm.papers.ledger.render import markdown, show, show_recorded
from fedabm.papers.ledger.rows import Budget, Result, Row, select
from fedabm.papers.ledger.runner import find_budget, ledger, reproduce

__all__ = ["run"]

#: processes that train while the other rows are run
_WORKERS = 2
#: seconds over which the pace of rows is taken
_WHOLE_RUN = 1e9


def run(options: argparse.Namespace) -> int:
    """Run the rows; the exit code says whether one of them failed."""
    budget = find_budget(options.budget)
    for file in options.write:
        _check(file, options.what)
    rows = select(options.what, ledger())
    if options.list:
        print(json.dumps(_listed(rows), indent=2)) if options.json else show_recorded(_listed(rows), wide_console())
        return 0
    results = _with_progress(rows, budget)
    if options.explain:
        print("\n".join(line for both in zip(rows, results, strict=True) for line in explained(*both)))
    elif options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        show(results, wide_console())
    for file in options.write:
        write(file, html(results, rows) if file.suffix == ".html" else _markdown(results, rows, budget))
    return int(any(result.verdict == "FAILED" for result in results))


def _markdown(results: list[Result], rows: list[Row], budget: Budget) -> str:
    kinds = {one.id: "recorded" if one.decisive and records_of(one.decisive) else one.kind for one in rows}
    return markdown(results, budget, kinds)


def _listed(rows: list[Row]) -> list[dict[str, str]]:
    """Per row how large what its verdict rests on is, where that comes from, and what recorded runs say."""
    return [{"id": one.id, "claim": one.claim, **_rests_on(one)} for one in rows]


def _rests_on(one: Row) -> dict[str, str]:
    known = records_of(one.decisive)
    if known:
        fresh = [record_of(play) for play in one.planned]
        there = [*known, *(record for record in fresh if record is not None)]
        size = ", ".join(sorted({record.size for record in there}))
        absent = [play.recording for play, record in zip(one.planned, fresh, strict=True) if record is None]
        origin = "; ".join([*(record.origin for record in there), *(f"planned: {command}" for command in absent)])
        return {"size": size, "verdict": _read(one), "from": origin}
    wanted = "".join(f"; decided by: {play.recording}" for play in one.decisive)
    if one.plays:
        return {"size": "quick", "verdict": "", "from": f"trained when asked: {one.plays[0].command}{wanted}"}
    size = "closed form" if one.kind == "c" else "none"
    return {"size": size, "verdict": "", "from": f"computed when asked{wanted}"}


def _read(one: Row) -> str:
    """What the recorded runs of a row say; nothing where more is computed than read."""
    return one.check(Budget("quick", 1, trains=False)).verdict if one.kind == "t" else ""


def _check(file: Path, words: list[str]) -> None:
    """Refuse before minutes of work."""
    if words:
        raise InputError(f"--write takes the rows of all papers, got only {words[0]!r}; leave that out")
    if file.is_dir() or not file.parent.is_dir():
        raise InputError(f"cannot write {str(file)!r}: no such folder, or a folder itself; give a file name")


def _with_progress(rows: list[Row], budget: Budget) -> list[Result]:
    """Run the rows beside a progress bar on the error stream: the row that was finished last, time so far and left.

    What was trained for them is told in lines of its own.
    """
    with _bar(Console(stderr=True)) as bar:
        task = bar.add_task("", total=len(rows))
        done = partial(bar.update, task, advance=1)
        say = partial(bar.console.print, highlight=False, markup=False)
        return reproduce(rows, budget, lambda result: done(description=result.id), _WORKERS, say)


def _bar(console: Console, clock: Callable[[], float] | None = None) -> Progress:
    """What is left is told by the pace of the whole run, as rows take from a moment to minutes."""
    times = (TimeElapsedColumn(), TextColumn("left:"), TimeRemainingColumn())
    columns = (TextColumn("{task.description:<6}"), BarColumn(), MofNCompleteColumn(), *times)
    return Progress(*columns, console=console, transient=True, speed_estimate_period=_WHOLE_RUN, get_time=clock)
