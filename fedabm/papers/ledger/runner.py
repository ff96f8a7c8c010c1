"""Runs rows of the ledger, one after the other, while other processes train what they need."""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Callable

from fedabm.common.errors import InputError, nearest
from fedabm.papers.ledger.rows import PAPERS, Budget, Finding, Paper, Result, Row, rows_of
from fedabm.papers.ledger.training import ahead, needed
from fedabm.papers.ledger.trials import play

__all__ = ["BUDGETS", "find_budget", "ledger", "reproduce", "rows_by_data"]

#: quick: minutes on two cores, with verdicts from recorded runs where there are any; decisive: what could be recorded
#: is trained here and now, an hour or so per row; paper: ten times as many random instances, while training stays
#: quick: each row that needs more says which command runs the paper's size, which takes hours to days
BUDGETS = {
    "quick": Budget("quick", 40),
    "decisive": Budget("decisive", 40, decisive=True),
    "paper": Budget("paper", 400),
}


def ledger(papers: tuple[Paper, ...] = PAPERS) -> list[Row]:
    """All rows of these papers: what the modules `theory` and `..._rows` in the paper's folder register."""
    for paper in papers:
        folder = importlib.import_module(f"fedabm.papers.{paper.name}")
        for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            if module.name.endswith((".theory", "_rows")):
                importlib.import_module(module.name)
    return rows_of(papers)


def rows_by_data() -> dict[str, list[str]]:
    """The ids of the rows that train on each data set."""
    found: dict[str, list[str]] = {}
    for one in ledger():
        for name in sorted({name for shown in (*one.plays, *one.decisive, *one.planned) for name in shown.data}):
            found.setdefault(name, []).append(one.id)
    return found


def find_budget(name: str) -> Budget:
    """The budget of that name."""
    if name not in BUDGETS:
        raise InputError(f"unknown budget {name!r}; {nearest(name, BUDGETS)}")
    return BUDGETS[name]


def reproduce(
    rows: list[Row],
    budget: Budget,
    done: Callable[[Result], None] = lambda result: None,
    workers: int = 0,
    say: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """Run rows; `done` is told each result as soon as it is there.

    With `workers` that many processes train meanwhile what rows need, and `say` hears what they have finished.
    """
    play.cache_clear()
    results = []
    with ahead([play for one in rows for play in needed(one, budget)], workers, say):
        for one in rows:
            results.append(_run(one, budget))
            done(results[-1])
    return results


def _run(one: Row, budget: Budget) -> Result:
    """One row; a check that breaks off is a failed row, and the ledger goes on."""
    start = time.perf_counter()
    try:
        finding = one.check(budget)
    except Exception as error:
        finding = Finding("", "FAILED", f"broke off with {type(error).__name__}: {' '.join(str(error).split())}")
    seconds = round(time.perf_counter() - start, 3)
    texts = (one.id, one.claim, one.published, finding.ours)
    preset = one.preset or _by_itself(one.id)
    return Result(*texts, finding.verdict, finding.reason, preset, seconds, finding.intervals)


def _by_itself(id: str) -> str:
    """The command for a row that no scenario shows."""
    return next((f"fedabm reproduce {paper.name}" for paper in PAPERS if paper.letter == id[0]), "")
