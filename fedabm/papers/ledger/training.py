"""Rows that need training: what is played for them, and which verdict may follow from it.

The ledger plays scenarios with their quick presets: small parts of the data sets, few owners, small networks, minutes
in all.  What that can decide is little, and the verdicts respect it:

    reproduced         the qualitative claim (order, sign, who gains) holds on the data set that it is about; or it is
                       about a rule of a market or protocol, not about a data set, and holds in the quick run
    not reproducible   only with evidence against the claim at a size that can tell
    not run here       all else: the claim's data set was not run at the paper's size, its files are not here, or the
                       quick run cannot decide or does not show the claim.  The quick numbers stand beside it, with the
                       command for the paper's size

A claim that fails in a quick run is never called reproduced, and `ours` says what was run.

What decides is run at the size `decisive` and recorded (see `records`): then the row's second judge reads the recorded
tables, and its verdict may go either way, or be

    undecided          the effect is within the spread over seeds, or the recorded size cannot tell; the row says which
                       it is, and what would decide: how many seeds, or which hardware
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from fedabm.papers.ledger.explain import function_name
from fedabm.papers.ledger.records import RecordedRun, record_of, records_of
from fedabm.papers.ledger.rows import Budget, Finding, Play, Row, not_run, row
from fedabm.papers.ledger.standard import Length, Study, Tables
from fedabm.papers.ledger.trials import play

__all__ = [
    "Tables",
    "ahead",
    "from_record",
    "judged",
    "missing",
    "needed",
    "on_a_gpu",
    "paper",
    "seeds",
    "tables",
    "too_small",
    "trained",
    "waiting",
    "with_length",
]

Judge = Callable[..., Finding]

#: what is being played by other processes
_AHEAD: dict[Play, Future[Tables]] = {}


def paper(scenario: str, **settings: str) -> str:
    """The command that runs a scenario at the paper's size."""
    return Play(scenario, (("preset", "paper"), *settings.items())).command


def seeds(table: pd.DataFrame | pd.Series) -> str:
    """How many seeds a table rests on."""
    count = int(np.max(table["seeds"]))
    return f"{count} seed{'s' if count > 1 else ''}"


def on_a_gpu(command: str) -> str:
    """What decides where the length of training is what is missing."""
    return f"on a GPU, at the paper's size: {command}"


def too_small(ours: str, why: str, command: str) -> Finding:
    """The quick numbers, why they do not decide, and what would."""
    return not_run(f"{why}; {on_a_gpu(command)}", ours)


def judged(ours: str, claim: bool, note: str, command: str) -> Finding:
    """A claim that the quick run can confirm, but not refute."""
    if claim:
        return Finding(ours, "reproduced", note)
    return too_small(
        ours, f"the claim does not hold in the quick run, which is too small to refute it ({note})", command
    )


def trained(
    id: str,
    claim: str,
    published: str,
    plays: tuple[Play, ...],
    judge: Judge,
    command: str,
    *,
    decisive: tuple[Play, ...] = (),
    planned: tuple[Play, ...] = (),
    decide: Judge | None = None,
    length: Length | None = None,
) -> None:
    """Register a row whose verdict `judge` reads from the tables of these plays; `command` is the paper's size.

    `decide` (default: `judge`) reads those of the `decisive` plays: recorded ones, or trained with `--budget decisive`;
    then those `planned` plays that are recorded.  Until all of them are, the row is undecided.  `length` says how long
    that is beside the paper's.
    """
    shown = (decisive if records_of(decisive) else plays) or decisive

    def check(budget: Budget) -> Finding:
        known = [] if budget.decisive else records_of(decisive)
        if known:
            fresh = [one for one in map(record_of, planned) if one is not None]
            runs = (*known, *fresh)
            found = waiting((decide or judge)(*(one.tables for one in runs)), planned, len(fresh))
            found = with_length(found, length, _studies(known), _studies(fresh))
            return from_record(_with_hours(found, length, known[0], command), runs)
        if not budget.trains:
            return not_run(f"needs training, which was left out; run it with: {command}")
        anew = (*decisive, *planned) if budget.decisive else ()
        chosen = anew or plays
        absent = missing(chosen)
        if absent:
            return not_run(f"needs training on {', '.join(absent)}, not here: {_how_to_get(absent)}, then: {command}")
        if anew:
            studies = [(tables(one), dict(one.parameters).get("preset") == "paper") for one in anew]
            found = (decide or judge)(*(one for one, _ in studies))
            return with_length(found, length, studies[: len(decisive)], studies[len(decisive) :])
        found = _with_need(judge(*(tables(one) for one in chosen)), decisive)
        if decisive or found.verdict == "not run here":  # the length is that of runs that decide, and they are not here
            return found
        return with_length(found, length, [(tables(one), False) for one in chosen], [])

    preset = shown[0].command if shown else command
    runs = {"plays": plays, "decisive": decisive, "planned": planned}
    judged_by = function_name((decide or judge) if records_of(decisive) else judge)
    row(id, claim, published=published, preset=preset, kind="t", judged_by=judged_by, **runs)(check)


def _studies(runs: Iterable[RecordedRun]) -> list[Study]:
    return [(one.tables, one.size == "paper") for one in runs]


def with_length(finding: Finding, length: Length | None, known: list[Study], fresh: list[Study]) -> Finding:
    """The same, saying how long the runs that it rests on are beside the paper's."""
    if length is None:
        return finding
    words = length.words(length.counted(known, fresh))
    return replace(finding, reason="; ".join(filter(None, (finding.reason, words))))


def _with_hours(finding: Finding, length: Length | None, record: RecordedRun, command: str) -> Finding:
    """What stays open for want of rounds says how the paper's are run, and for how long at the pace of the record."""
    if length is None or finding.verdict != "undecided" or "more rounds" not in finding.reason:
        return finding
    times = length.times((record.tables, record.size == "paper"), record.rounds["seed"].nunique())
    hours = record.alone * times / 3600
    some = "some" if record.is_counted else "more than"  # what others had trained was not counted
    words = f"the paper's size: {command}, {some} {float(f'{hours:.1g}'):,.10g} hours of one core at the record's pace"
    return replace(finding, reason=f"{finding.reason}; {words}")


def waiting(finding: Finding, planned: tuple[Play, ...], there: int) -> Finding:
    """A finding while `there` of the planned runs are recorded: a part of them decides nothing, whatever it says."""
    if there == len(planned):
        return finding
    absent = ", ".join(one.recording for one in planned if record_of(one) is None)
    if there:
        so_far = f"{there} of {len(planned)} planned runs are there; so far: {finding.verdict}"
        reason = f"{so_far}; {finding.reason}; what would decide: {absent}"
        return replace(finding, verdict="undecided", reason=reason)
    return replace(finding, reason=f"{finding.reason}; planned: {absent}")


def _with_need(finding: Finding, decisive: tuple[Play, ...]) -> Finding:
    """What such a row needs besides a GPU: a processor and an hour or two, if a decisive size is defined."""
    if finding.verdict != "not run here" or not decisive:
        return finding
    commands = ", ".join(one.recording for one in decisive)
    return replace(finding, reason=f"{finding.reason}; or an hour or two of one core: {commands}")


def from_record(finding: Finding, known: Iterable[RecordedRun]) -> Finding:
    """The same, saying which recorded runs it rests on."""
    return replace(finding, reason="; ".join(filter(None, (finding.reason, *(one.origin for one in known)))))


def needed(one: Row, budget: Budget) -> tuple[Play, ...]:
    """What must be trained for a row: nothing if what decides is recorded or its data are not there."""
    if not budget.trains or (not budget.decisive and records_of(one.decisive)):
        return ()
    chosen = ((*one.decisive, *one.planned) if budget.decisive else ()) or one.plays
    return () if missing(chosen) else chosen


def missing(plays: Iterable[Play]) -> list[str]:
    """The data sets that are not there."""
    from fedabm.data.datasets import status  # takes a while, and most rows train nothing

    absent = {known.name for known in status() if known.state == "missing"}
    return sorted({name for one in plays for name in one.data if name in absent})


def _how_to_get(names: list[str]) -> str:
    """Which files these sets need, whence and with which checksums."""
    from fedabm.data.datasets import where_to_get

    each = "; ".join(map(where_to_get, names))
    return f"{each} (FEDABM_DATA sets the folder, `fedabm data list` says what is there)"


def tables(one: Play) -> Tables:
    """The tables of a play: of the process that plays it already, or played now."""
    if one in _AHEAD:
        return _AHEAD[one].result()
    return _played(one)


def _played(one: Play) -> Tables:
    return play(one.scenario, one.seed, **dict(one.parameters))


@contextmanager
def ahead(plays: Iterable[Play], workers: int, say: Callable[[str], None]) -> Iterator[None]:
    """Play these in other processes, while the rows that need nothing are run; `say` hears what is done."""
    wanted = list(dict.fromkeys(plays))
    if not wanted or workers < 1:
        yield
        return
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _one_thread)
    try:
        for one in wanted:
            _AHEAD[one] = pool.submit(_played, one)
            _AHEAD[one].add_done_callback(partial(_tell, say, one))
        yield
    finally:
        _AHEAD.clear()
        pool.shutdown(wait=False, cancel_futures=True)


def _one_thread() -> None:
    """Two processes with a thread each are faster than two that fight for the cores; torch reads this when imported."""
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))


def _tell(say: Callable[[str], None], one: Play, future: Future[Tables]) -> None:
    if not future.cancelled():
        say(f"{'trained' if future.exception() is None else 'broke off'}: {one.command}")
