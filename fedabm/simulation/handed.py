"""What whole cohorts were handed, kept while it is still true: most of a step's columns were last step's as well."""

from __future__ import annotations

import numpy as np

from fedabm.common.arrays import taken
from fedabm.common.random import Streams
from fedabm.simulation.activation import Members

__all__ = ["Handed"]


class Handed:
    """Rows of columns that nobody can write to any more, and streams from which nobody has drawn, by their members.

    Rows are kept until they have not been asked for in a whole step.  None of it is worth a place in a checkpoint.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int], tuple[np.ndarray, Members, np.ndarray]] = {}
        self._earlier = self._rows
        self._streams: dict[int, tuple[Members, Streams]] = {}

    def __getstate__(self) -> dict[str, None]:
        return {}

    def __setstate__(self, state: dict[str, None]) -> None:
        self.__init__()  # type: ignore[misc]

    def begin(self) -> None:
        """A new step."""
        self._earlier, self._rows = self._rows, {}

    def rows(self, column: np.ndarray, members: Members) -> np.ndarray:
        """The rows of some members, which cannot be written to."""
        place = (id(column), id(members))
        known = self._rows.get(place) or self._earlier.get(place)
        rows = taken(column, members) if known is None else known[2]
        rows.setflags(write=False)
        if not column.flags.writeable:
            # Column and members are kept, too, so that nothing else can get their numbers.
            self._rows[place] = (column, members, rows)
        return rows

    def streams(self, streams: Streams, members: Members) -> Streams:
        """The streams of some members, lent."""
        known = self._streams.get(id(members))
        if known is None or known[1].drawn:
            known = self._streams[id(members)] = (members, streams.lent(members))
        return known[1]

    def drawn(self) -> None:
        """Somebody has drawn: what is lent from now on is to be lent anew."""
        self._streams = {}
