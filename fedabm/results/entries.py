"""One entry of the table of columns: where it stands, what it is called, what it holds and what it means."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import Any, Literal

import numpy as np

from fedabm.common.blame import failed_as
from fedabm.common.errors import FedabmError, InputError
from fedabm.results.round import Round

__all__ = ["Column"]


@dataclass(frozen=True)
class Column:
    """A column of a frame: `value` gets the `Round` and gives one number per run (steps) or one per owner (owners).

    Arrays of the round are (owners,), or (runs, owners) where runs are stepped together: reduce along the last axis.

    >>> Column("steps", "largest", lambda round: round.contribution.max(axis=-1), "the largest contribution").name
    'largest'

    Parameters
    ----------
    frame : Literal['runs', 'steps', 'owners', 'strategies', 'transfers', 'imports']
        The frame it stands in.
    name : str
        What it is called there.
    value : Callable[[Round], Any] | None
        Its values in a round (None: whoever writes the frame fills it, as the number of the run); where a value of
        the owners is None, it is 0 for all of them.
    meaning : str, optional
        What it means, in one line.
    kind : type, optional
        Float, int, bool or str.
    unit : str, optional
        In what it is measured.
    """

    frame: Literal["runs", "steps", "owners", "strategies", "transfers", "imports"]
    name: str
    value: Callable[[Round], Any] | None
    meaning: str = ""
    kind: type = float
    unit: str = ""

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """How its values lie in memory."""
        return np.dtype(self.kind)

    def of(self, round: Round) -> np.ndarray | None:
        """Its values in a round, checked; None stands for 0 everywhere."""
        found = self._asked(round)
        if found is None and self.frame != "steps":
            return None
        values = np.asarray(found)
        shape = round.shape if self.frame == "steps" else round.contribution.shape
        if values.shape != shape and self.frame != "strategies":
            raise InputError(
                f"column {self.name!r} has shape {values.shape} in step {round.step}; give {_wanted(shape)}"
            )
        if values.dtype == self.dtype:
            return values
        if not np.can_cast(values.dtype, self.dtype, "same_kind"):
            raise InputError(
                f"column {self.name!r} holds {values.dtype} in step {round.step}, not {self.kind.__name__}; "
                "give it another kind"
            )
        return values.astype(self.dtype)

    def _asked(self, round: Round) -> Any:
        """What its function gives; what goes wrong there is told with the column's name."""
        try:
            return self.value(round) if self.value else None
        except FedabmError:
            raise
        except Exception as error:
            if (blamed := failed_as(error, f"column {self.name!r} in step {round.step}", self.value)) is error:
                raise
            raise blamed from error

    @property
    def key(self) -> Hashable:
        """Equal for columns whose functions have the same code and hold the same values, made by whatever call.

        None if that cannot be compared.
        """
        try:
            return (self.frame, self.name, self.kind, _content(self.value))
        except (TypeError, RecursionError):
            return None


def _content(value: Any) -> Hashable:
    """What a function does and holds, or what a value consists of, so that it can be compared."""
    if isinstance(value, FunctionType):
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        return (value.__code__, value.__module__, _content([value.__defaults__, value.__kwdefaults__, held]))
    if value is None or isinstance(value, bool | int | float | str | bytes | type | BuiltinFunctionType):
        return (type(value), value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return (value.dtype, value.shape, value.tobytes())
    if isinstance(value, list | tuple):
        return (type(value), *map(_content, value))
    if isinstance(value, dict):
        return (dict, *map(_content, value.items()))
    return (type(value), _content(value.__reduce_ex__(2)))  # what a copy would be made of


def _wanted(shape: tuple[int, ...]) -> str:
    if not shape:
        return "one number"
    return f"{shape[-1]} numbers, one per owner" if len(shape) == 1 else f"shape {shape}, by the last axis"
