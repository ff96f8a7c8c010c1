"""One owner followed: what it sees before it decides, and what it does.  Nothing of others but what it is shown."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from fedabm.common.arrays import Array
from fedabm.common.texts import readable
from fedabm.live.session import WatchedRun
from fedabm.views import INFORMATION

__all__ = ["Followed", "followed"]


class Followed(NamedTuple):
    """What one owner saw and did in a step, and what came of it: names and values in words."""

    sees: list[tuple[str, str]]
    does: list[tuple[str, str]]
    gets: list[tuple[str, str]]


def followed(side: WatchedRun, owner: int, step: int) -> Followed:
    """What an owner saw, did and got in a step of a run."""
    moment = side.at(step)
    if moment is None:
        return Followed(_facts(side, owner, side.model.population.contribution), [], [])
    before = side.at(moment.step - 1)
    sights = moment.sights
    sees = _facts(side, owner, moment.contribution)
    if sights.acted[owner]:
        sees.append(("all say they give", f"{readable(sights.total[owner])}, {sights.present[owner]:.0f} owners"))
    if before is not None and before.stayed[owner]:
        last = f"gave {readable(before.contribution[owner])}, utility {readable(before.utility[owner])}"
        sees.append(("its last step", last))
    if np.isfinite(sights.quota[owner]):
        sees.append(("asked for", readable(sights.quota[owner])))
    if np.isfinite(sights.others[owner]):
        sees.append(("its neighbours said, on average", readable(sights.others[owner])))
    if not moment.stayed[owner]:
        return Followed(sees, [("takes part", "no")], [])
    does = [
        ("gives", readable(moment.contribution[owner])),
        ("says that it gives", readable(moment.claimed[owner])),
        ("says that it has", readable(moment.claimed_size[owner])),
    ]
    if np.isfinite(moment.claimed_cost[owner]):
        does.append(("says of its cost", f"{readable(moment.claimed_cost[owner], 3)} times the truth"))
    if moment.tampered[owner]:
        does.append(("its model update", "tampered with"))
    does.append(("goes by", re.split("[:;,]", INFORMATION[moment.information[owner]])[0]))
    gets = [
        ("accuracy", readable(moment.accuracy[owner])),
        ("payment", readable(moment.payment[owner], sign=True)),
        ("utility", readable(moment.utility[owner])),
    ]
    if moment.rejected[owner]:
        gets.append(("was rejected", "its report or update was unusable"))
    return Followed(sees, does, gets)


def _facts(side: WatchedRun, owner: int, given: Array) -> list[tuple[str, str]]:
    """What it knows of itself, when owners give so much."""
    people = side.model.population
    unit = float(people.cost.unit(given)[owner])
    return [("its data", readable(people.capacity[owner])), ("a further unit costs it", readable(unit))]
