"""`fedabm reproduce [PAPER] [--budget quick|paper] [--json] [--write FILE]`."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fedabm.common.errors import InputError
from fedabm.common.files import write
from fedabm.papers.ledger.render import markdown, show
from fedabm.papers.ledger.rows import PAPERS, Budget, Result, Row, find_paper
from fedabm.papers.ledger.runner import find_budget, ledger, reproduce

__all__ = ["run"]

#: processes that train while the other rows are run
_WORKERS = 2


def run(options: argparse.Namespace) -> int:
    """Run the rows; the exit code says whether one of them failed."""
    budget = find_budget(options.budget)
    papers = PAPERS if options.paper is None else (find_paper(options.paper),)
    if options.write is not None:
        _check(options.write, options.paper)
    rows = ledger(papers)
    results = _with_progress(rows, budget)
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))
    else:
        terminal = Console()
        show(results, terminal if terminal.is_terminal else Console(width=180))
    if options.write is not None:
        kinds = {one.id: one.kind for one in rows}
        write(options.write, markdown(results, budget, kinds))
    return int(any(result.verdict == "FAILED" for result in results))


def _check(file: Path, paper: str | None) -> None:
    """Refuse before minutes of work."""
    if paper is not None:
        raise InputError(f"--write takes the rows of all papers, got only {paper!r}; leave the paper out")
    if file.is_dir() or not file.parent.is_dir():
        raise InputError(f"cannot write {str(file)!r}: no such folder, or a folder itself; give a file name")


def _with_progress(rows: list[Row], budget: Budget) -> list[Result]:
    """Run the rows beside a progress bar on the error stream, which names the row that was finished last.

    What was trained for them is told in lines of its own.
    """
    columns = (TextColumn("{task.description:<6}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(rows))
        done = partial(bar.update, task, advance=1)
        told = partial(bar.console.print, highlight=False, markup=False)
        return reproduce(rows, budget, lambda result: done(description=result.id), _WORKERS, told)
