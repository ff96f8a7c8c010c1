"""Plays a record's scenario again in short and compares the first rounds with the recorded ones.

Other processors round differently, and so does faster code; training magnifies it from step to step, in long trainings
to some thousandths of an accuracy after two rounds.  Numbers that are not as recorded are therefore held against those
of further replays, whose models begin larger or smaller by a last digit: what is recorded may differ a few times as
much as these do, in the same step, and the replay says that it does.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError
from fedabm.learning.engine.flat import nudged
from fedabm.papers.ledger.records import ROUNDS, RecordedRun
from fedabm.study.library import find
from fedabm.study.study import Study

__all__ = ["Replay", "replay", "rounds_of"]

_KEYS = ["label", "turn", "seed", "step"]
_KEPT = ["contribution", "accuracy", "welfare"]
#: last digits of single precision, relatively, by which models begin larger; the next if one explains too little
_DIGITS = (2.0**-22, -(2.0**-22), 2.0**-21)
#: how many times what a last digit changes is taken for rounding
_TIMES = 4.0


class Replay(NamedTuple):
    """How long it took, and how far from the record rounding alone has led, relatively (0: no further than allowed)."""

    seconds: float
    rounding: float = 0.0


def replay(record: RecordedRun, tolerance: float = 1e-3, *, exact: bool = False) -> Replay:
    """Compare, and raise unless numbers are as recorded up to `tolerance`, relatively, or (not if `exact`) rounding."""
    begun = time.perf_counter()
    recorded = record.rounds  # first, as it may be damaged
    again = _short(record)
    both = _joined(recorded, again)
    if both.empty:
        raise InputError(f"the replay of {record.name} has no run and step in common with it; give other --short")
    other = [name for name in _names(both) if not _close(both, name, tolerance)]
    if not other:
        return Replay(time.perf_counter() - begun)
    if exact:
        raise _changed(record, both, other[0])
    far = pd.DataFrame({name: _by_step(both, name) for name in other})
    allowed = pd.Series({name: tolerance * _size(both, name) for name in other})
    usual = 0.0 * far
    for digit in _DIGITS:
        with nudged(digit):
            rounded = _joined(again, _short(record))
        drawn = pd.DataFrame({name: _by_step(rounded, name) for name in other})
        usual = np.maximum(usual, drawn.reindex(far.index).fillna(0.0))
        beyond = (far > _TIMES * usual + allowed).any()
        if not beyond.any():
            worst = max(float(far[name].max()) / _size(both, name) for name in other)
            return Replay(time.perf_counter() - begun, worst)
    raise _changed(record, both, beyond.idxmax())


def rounds_of(study: Study) -> pd.DataFrame:
    """One row per run and step; `turn` counts runs of the same label and seed."""
    if ROUNDS in study.tables:
        table = study.tables[ROUNDS].copy()
        return table if "turn" in table else table.assign(turn=0)
    runs = study.frames.runs[["run", "label", "seed"]].copy()
    runs["turn"] = runs.groupby(["label", "seed"]).cumcount()
    return study.frames.steps.merge(runs, on="run")[[*_KEYS, *_KEPT]]


def _short(record: RecordedRun) -> pd.DataFrame:
    """The rounds of the scenario as its record shortens it."""
    known, script = record.manifest, find(record.manifest["scenario"])
    study = Study(script.name, known["seed"], known["short"]["steps"], quiet=True)
    study.scratch = None  # what another study has trained would prove nothing
    script.run(study, **script.parameters([*known["settings"], *known["short"]["settings"]]))
    study.close()
    return rounds_of(study)


def _joined(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return first.merge(second, on=_KEYS, suffixes=("", " again"))


def _names(both: pd.DataFrame) -> list[str]:
    return [name for name in both.columns if f"{name} again" in both.columns]


def _close(both: pd.DataFrame, name: str, tolerance: float) -> bool:
    first, second = both[name].to_numpy(float), both[f"{name} again"].to_numpy(float)
    return np.allclose(first, second, tolerance, tolerance * _size(both, name), equal_nan=True)


def _size(both: pd.DataFrame, name: str) -> float:
    """The largest of the numbers."""
    return max(1e-6, float(np.nanmax(np.abs(both[name].to_numpy(float)))))


def _by_step(both: pd.DataFrame, name: str) -> pd.Series:
    """The largest difference of each step; infinite where only one of the two is a number."""
    first, second = both[name].astype(float), both[f"{name} again"].astype(float)
    far = (first - second).abs().mask(first.isna() != second.isna(), np.inf)
    return far.groupby(both["step"]).max().fillna(0.0)


def _changed(record: RecordedRun, both: pd.DataFrame, name: str) -> InputError:
    far = (both[name].astype(float) - both[f"{name} again"].astype(float)).abs()
    worst = both.iloc[int(np.nanargmax(far.to_numpy()))]
    where = f"{worst['label']}, seed {worst['seed']:g}, step {worst['step']:g}"
    got = f"{worst[name]:.6g} was recorded, {worst[f'{name} again']:.6g} came now"
    return InputError(f"{name} of {record.name} ({where}): {got}; the code has changed, record it anew")
