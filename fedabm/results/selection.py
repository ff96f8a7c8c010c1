"""Which columns and runs of frames are asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pandas as pd

from fedabm.common.errors import InputError, nearest

__all__ = ["Columns", "choose_columns", "choose_runs"]

#: names of columns in any frame, or by frame (None: all of that frame)
Columns = Mapping[str, Sequence[str] | None] | Sequence[str]


def choose_columns(known: Mapping[str, Sequence[str]], asked: Columns | None) -> dict[str, list[str]]:
    """The columns of each frame that are asked for."""
    if asked is None:
        return {frame: list(names) for frame, names in known.items()}
    if not isinstance(asked, Mapping):
        names = [asked] if isinstance(asked, str) else asked
        _check(names, {name for every in known.values() for name in every} | {"run"}, "no frame has a column")
        return {frame: [name for name in every if name in names] for frame, every in known.items()}
    _check(asked, known, "there is no frame")
    for frame, some in asked.items():
        _check(some or (), {*known[frame], "run"}, f"{frame} has no column")
    return {frame: _some(every, asked.get(frame, ())) for frame, every in known.items()}


def choose_runs(frame: pd.DataFrame, runs: Sequence[int] | str | None) -> pd.DataFrame:
    """Some runs: by number, or by a condition on the columns of `runs`."""
    if runs is None:
        return frame
    if isinstance(runs, str):
        try:
            return frame.query(runs)
        except Exception as error:  # pandas raises whatever the expression does
            raise InputError(f"cannot select runs by {runs!r} ({error}); write for instance 'seed == 7'") from None
    unknown = {int(number) for number in runs} - set(frame["run"])
    if unknown:
        raise InputError(f"there is no run {min(unknown)}; give numbers from the column run of `runs`")
    return frame[frame["run"].isin(list(runs))]


def _some(every: Sequence[str], names: Sequence[str] | None) -> list[str]:
    return [name for name in every if names is None or name in names]


def _check(given: Collection[str], known: Collection[str], what: str) -> None:
    for name in given:
        if name not in known:
            raise InputError(f"{what} {name!r}; {nearest(str(name), known)}")
