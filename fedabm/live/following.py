"""One owner followed: what it sees before it decides, and what it does.  Nothing of others but what it is shown."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from fedabm.common.arrays import Array
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
        sees.append(("all say they give", f"{sights.total[owner]:.4g}, {sights.present[owner]:.0f} owners"))
    if before is not None and before.stayed[owner]:
        last = f"gave {before.contribution[owner]:.4g}, utility {before.utility[owner]:.4g}"
        sees.append(("its last step", last))
    if np.isfinite(sights.quota[owner]):
        sees.append(("asked for", f"{sights.quota[owner]:.4g}"))
    if np.isfinite(sights.others[owner]):
        sees.append(("its neighbours said, on average", f"{sights.others[owner]:.4g}"))
    if not moment.stayed[owner]:
        return Followed(sees, [("takes part", "no")], [])
    does = [
        ("gives", f"{moment.contribution[owner]:.4g}"),
        ("says that it gives", f"{moment.claimed[owner]:.4g}"),
        ("says that it has", f"{moment.claimed_size[owner]:.4g}"),
    ]
    if np.isfinite(moment.claimed_cost[owner]):
        does.append(("says of its cost", f"{moment.claimed_cost[owner]:.3g} times the truth"))
    if moment.tampered[owner]:
        does.append(("its model update", "tampered with"))
    does.append(("goes by", re.split("[:;,]", INFORMATION[moment.information[owner]])[0]))
    gets = [
        ("accuracy", f"{moment.accuracy[owner]:.4g}"),
        ("payment", f"{moment.payment[owner]:+.4g}"),
        ("utility", f"{moment.utility[owner]:.4g}"),
    ]
    if moment.rejected[owner]:
        gets.append(("was rejected", "its report or update was unusable"))
    return Followed(sees, does, gets)


def _facts(side: WatchedRun, owner: int, given: Array) -> list[tuple[str, str]]:
    """What it knows of itself, when owners give so much."""
    people = side.model.population
    unit = float(people.cost.unit(given)[owner])
    return [("its data", f"{people.capacity[owner]:.4g}"), ("a further unit costs it", f"{unit:.4g}")]
