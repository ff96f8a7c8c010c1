"""How the values that pass between the parts of a round are saved: transfers, traffic, what owners remember
of a step, what the server knows.

The parts themselves declare theirs where they are (`fedabm.common.state`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedabm.common.state import NUMBER, TEXT, WHOLE, Fields, FrozenRecord, Kind, Maybe, Numbers, Thing
from fedabm.games.accuracy.base import Accuracy
from fedabm.views import Experience, Known, Traffic, Transfers
from fedabm.views.server import Central

__all__ = ["EXPERIENCE", "MEMORY", "SCALAR", "TRAFFIC", "TRANSFERS", "known_kind"]

_LISTED = FrozenRecord(Transfers, payer=Numbers(1, "i"), payee=Numbers(1, "i"), amount=Numbers(), reason=TEXT)
_CENTRAL = FrozenRecord(Central, payments=Numbers(), reason=TEXT, accounts=Maybe(Numbers(1, "i")))


class _Transfers:
    """Transfers through the server's account, or between any two."""

    schema = (_LISTED.schema, _CENTRAL.schema)

    def state(self, value: Any) -> Any:
        """Those of its fields that are not found from others."""
        return (_CENTRAL if isinstance(value, Central) else _LISTED).state(value)

    def value(self, state: Any) -> Transfers:
        """The transfers; which kind they are is seen from the fields."""
        return (_CENTRAL if isinstance(state, dict) and "payments" in state else _LISTED).value(state)


class _Memory:
    """Arrays by name, or tables of such."""

    schema = "memory"

    def state(self, value: Any) -> Any:
        """As it is."""
        return value

    def value(self, state: Any) -> dict[str, Any]:
        """As it is, if it holds nothing else."""
        if type(state) is not dict or not all(type(name) is str for name in state):
            raise ValueError("no memory")
        return {name: self.value(part) if type(part) is dict else _array(part) for name, part in state.items()}


def _array(part: Any) -> np.ndarray:
    if type(part) is not np.ndarray or part.dtype.kind not in "biuf" or not part.ndim:
        raise ValueError(f"{type(part).__name__} in a memory")
    return part


_GOT = {name: Numbers() for name in ("contribution", "accuracy", "payment", "utility")}

#: an entry of a frame
SCALAR = Thing(int, float, str, np.generic, type(None), schema="scalar")
TRANSFERS = _Transfers()
TRAFFIC = FrozenRecord(Traffic, models_up=WHOLE, models_down=WHOLE, bytes_up=WHOLE, bytes_down=WHOLE)
EXPERIENCE = FrozenRecord(Experience, **_GOT, progress=Maybe(Numbers()))
MEMORY = _Memory()


def known_kind(makes: tuple[type, ...], again: tuple[Accuracy, ...] = ()) -> Kind:
    """How what a server knows is saved: worth by its place among what there is `again`, or by its fields."""
    numbers = {"trainings": WHOLE, "evaluations": WHOLE, "seconds": NUMBER, "since": WHOLE}
    found = {"error": Maybe(NUMBER), "scores": Maybe(Numbers()), "history": Maybe(Numbers(None))}
    return FrozenRecord(Known, kind=TEXT, worth=_Worth(makes, again), **numbers, **found)


class _Worth:
    """What is known of worth: found again, made, or else one that the scenario holds."""

    def __init__(self, makes: tuple[type, ...], again: tuple[Accuracy, ...]) -> None:
        self._makes, self._again = makes, again
        self._made = Fields(*makes)
        self.schema = self._made.schema

    def state(self, value: Accuracy) -> Any:
        """Its place, its fields, or itself."""
        place = next((place for place, one in enumerate(self._again) if one is value), None)
        if place is not None:
            return place
        return self._made.state(value) if isinstance(value, self._makes) else value

    def value(self, state: Any) -> Accuracy:
        """The accuracy."""
        if type(state) is int and state in range(len(self._again)):
            return self._again[state]
        return self._made.value(state) if type(state) is dict else Thing(Accuracy).value(state)
