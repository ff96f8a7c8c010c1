"""What happens in a step, in words: who joined, left, lied, tampered with its update or was not listened to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from fedabm.common.arrays import Array, Flags
from fedabm.common.texts import readable
from fedabm.live.moments import Moment

__all__ = ["Event", "events", "lies"]

#: what a report may differ from the truth by, as a share, without being called a lie
_ROUNDING = 1e-9

Kind = Literal["joined", "left", "rejected", "lied", "tampered", "ended"]


class Event(NamedTuple):
    """Something that happened to an owner (-1: to the run)."""

    step: int
    kind: Kind
    owner: int
    words: str


def events(before: Moment | None, now: Moment, names: Sequence[str], capacity: Array) -> Iterator[Event]:
    """What is new in a step, in the order of owners within each kind; what goes on is not told again."""
    n = len(now.stayed)
    there = _padded(before.stayed, n) if before else now.stayed
    for owner in _owners(now.stayed & ~there):
        yield Event(now.step, "joined", owner, f"{names[owner]} joined")
    for owner in _owners(there & ~now.stayed):
        had = f"after a utility of {readable(before.utility[owner], 3)}" if before else "at once"
        yield Event(now.step, "left", owner, f"{names[owner]} left, {had}")
    for owner in _owners(now.rejected & ~_padded(before.rejected if before else None, n)):
        words = f"{names[owner]} was rejected: its report or update was unusable"
        yield Event(now.step, "rejected", owner, words)
    for owner in _owners(lies(now, capacity) & ~_padded(lies(before, capacity) if before else None, n)):
        yield Event(now.step, "lied", owner, f"{names[owner]} lied: {_lie(now, owner, capacity)}")
    for owner in _owners(now.tampered & ~_padded(before.tampered if before else None, n)):
        yield Event(now.step, "tampered", owner, f"{names[owner]} tampered with its model update")


def lies(moment: Moment, capacity: Array) -> Flags:
    """Who said something that is not so: about its contribution, its data or its cost."""
    size = capacity[: len(moment.stayed)]
    given = _differ(moment.claimed, moment.contribution)
    cost = np.isfinite(moment.claimed_cost) & _differ(moment.claimed_cost, np.ones(len(size)))
    return moment.stayed & ~moment.rejected & (given | _differ(moment.claimed_size, size) | cost)


def _lie(now: Moment, owner: int, capacity: Array) -> str:
    parts = []
    if _differ(now.claimed, now.contribution)[owner]:
        parts.append(f"said it gave {readable(now.claimed[owner])}, gave {readable(now.contribution[owner])}")
    if _differ(now.claimed_size, capacity[: len(now.stayed)])[owner]:
        parts.append(f"said it has {readable(now.claimed_size[owner])}, has {readable(capacity[owner])}")
    if np.isfinite(now.claimed_cost[owner]) and abs(now.claimed_cost[owner] - 1.0) > _ROUNDING:
        parts.append(f"said its data cost {readable(now.claimed_cost[owner], 3)} times what they do")
    return "; ".join(parts)


def _owners(flags: Flags) -> list[int]:
    return [int(owner) for owner in np.flatnonzero(flags)]


def _differ(said: Array, true: Array) -> Flags:
    return np.abs(said - true) > _ROUNDING * np.maximum(np.abs(true), np.abs(said))


def _padded(flags: Flags | None, owners: int) -> Flags:
    """Flags of an earlier step; owners that were not there then have none."""
    padded = np.zeros(owners, dtype=bool)
    if flags is not None:
        padded[: len(flags)] = flags
    return padded
