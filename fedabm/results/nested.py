"""Tables of runs as Arrow: one row per run, with the run's own tables nested in it as lists of rows.

So a part file is one Parquet file, complete or not there at all, and each run is found in exactly one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fedabm.results.columns import COLUMNS
from fedabm.results.stacked import StackedFrames

__all__ = ["NESTED", "Tables", "flatten", "nest", "nest_stacked", "stack"]

#: goes before the name of a nested table, which may be that of a plain column too
NESTED = "rows:"


#: what is known of one run: `runs` is its row, the others are its tables as frames or as lists by column
Tables = dict[str, Any]


def nest(rows: Sequence[Tables]) -> pa.Table:
    """The tables of some runs as one Arrow table; `runs` gives the plain columns, the others are nested."""
    names = dict.fromkeys(name for tables in rows for name in tables["runs"])
    table = pa.table({name: _values([tables["runs"].get(name) for tables in rows]) for name in names})
    for name in sorted({name for tables in rows for name in tables if name != "runs"}):
        parts = [_arrow(tables[name]) if name in tables else None for tables in rows]
        table = table.append_column(NESTED + name, _listed(parts))
    return table


def nest_stacked(frames: StackedFrames) -> pa.Table:
    """The same, from the columns of runs that were stepped together."""
    table = _arrow({name: [row[name] for row in frames.runs] for name in frames.runs[0]})
    for name, part in sorted(frames.tables.items()):
        order = dict.fromkeys([*COLUMNS[name], *part.columns])
        kinds = {column: part.columns[column] for column in order if column != "run"}
        rows = pa.table({name: _typed(column) for name, column in kinds.items()})
        table = table.append_column(NESTED + name, _lists(rows, part.lengths))
    return table


def stack(parts: Sequence[pa.Table]) -> pa.Table:
    """One below the other; columns that are missing somewhere are empty there, types are widened as needed."""
    if all(part.schema.equals(parts[0].schema) for part in parts):
        return pa.concat_tables(parts)
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.concat_tables([_as_text(part, parts) for part in parts], promote_options="permissive")


def flatten(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Table]:
    """A nested column as a table, and for each of its rows the number of the run it belongs to."""
    lists = column.combine_chunks()
    lengths = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    values = lists.flatten()
    names = [field.name for field in values.type]
    return np.repeat(np.arange(len(lengths)), lengths), pa.table(values.flatten(), names=names)


def _arrow(frame: pd.DataFrame | Mapping[str, Sequence[Any]]) -> pa.Table:
    """A frame as Arrow, without the number of the run, which changes with the design; categories become text."""
    if not isinstance(frame, pd.DataFrame):
        return pa.table({name: _values(column) for name, column in frame.items()})
    return pa.table({str(name): _array(column) for name, column in frame.items() if name != "run"})


def _values(column: Any) -> pa.Array:
    """A list as Arrow; what Arrow cannot hold becomes its text."""
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return pa.array([None if value is None else repr(value) for value in column], pa.string())


def _typed(column: np.ndarray) -> pa.Array:
    """An array as Arrow; texts are texts though there be none."""
    return pa.array(column, pa.string()) if column.dtype == object else _values(column)


def _array(column: pd.Series) -> pa.Array:
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    array = _values(column)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    return array.cast(pa.string()) if pa.types.is_large_string(array.type) else array


def _listed(parts: Sequence[pa.Table | None]) -> pa.Array:
    """One list of rows per run."""
    joined = stack([part for part in parts if part is not None]).combine_chunks()
    return _lists(joined, [0 if part is None else part.num_rows for part in parts])


def _lists(joined: pa.Table, lengths: Any) -> pa.Array:
    """The rows of all runs, one below the other, as one list per run."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    arrays = [column.combine_chunks() for column in joined.columns]
    return pa.LargeListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, names=joined.column_names))


def _as_text(part: pa.Table, parts: Sequence[pa.Table]) -> pa.Table:
    """The part with those plain columns as text whose types cannot be widened to each other."""
    for index, field in enumerate(part.schema):
        types = {other.schema.field(field.name).type for other in parts if field.name in other.schema.names}
        if pa.string() in types and len(types) > 1 and not pa.types.is_nested(field.type):
            part = part.set_column(index, field.name, part.column(index).cast(pa.string()))
    return part
