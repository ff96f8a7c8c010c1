"""One grammar for the owners of games and studies: a file of either kind may write them in either way.

    owners = { costs = [0.1, 0.25], capacity = 100 }       # all at once

    [[owners]]                                             # one by one
    name = "St. Mary"
    cost = 0.1
    data = 100

    [[groups]]                                             # several of one kind
    name = "practice"
    count = 10
    cost = 0.2
    data = 50

A game has no names, and nothing in it is drawn: what else a study knows of owners is refused there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedabm.common.errors import InputError, shown

__all__ = ["all_at_once", "one_by_one"]

#: what a game can do with an owner that is written by itself, and with a group
_OF_OWNER = ("name", "cost", "data")
_OF_GROUP = (*_OF_OWNER, "count")


def all_at_once(table: Mapping[str, Any]) -> dict[str, Any]:
    """A parsed game whose owners are lists of costs and capacities.

    >>> all_at_once({"owners": [{"name": "a", "cost": 0.1, "data": 5}], "groups": [{"count": 2, "cost": 1, "data": 3}]})
    {'owners': {'costs': [0.1, 1, 1], 'capacity': [5, 3, 3]}}
    """
    owners, groups = table.get("owners"), table.get("groups", [])
    if not isinstance(owners, list) and not ("groups" in table and owners is None):
        return dict(table)
    rows = [_row(one, "owners", _OF_OWNER) for one in owners or []]
    for one in groups if isinstance(groups, list) else [groups]:
        row = _row(one, "groups", _OF_GROUP)
        rows += [row] * _count(one)
    rest = {key: value for key, value in table.items() if key not in ("owners", "groups")}
    return {**rest, "owners": {"costs": [cost for cost, _ in rows], "capacity": [data for _, data in rows]}}


def _row(one: Any, where: str, known: tuple[str, ...]) -> tuple[Any, Any]:
    """Cost and data of an owner of a game."""
    if not isinstance(one, Mapping) or not {"cost", "data"} <= set(one):
        raise InputError(f"each of [[{where}]] needs cost and data, got {shown(one)}; add them")
    if more := sorted(set(one) - set(known)):
        raise InputError(
            f"{more[0]} of [[{where}]] means nothing in a game; leave it out, or write a study (fedabm init)"
        )
    for name in ("cost", "data"):
        if isinstance(one[name], Mapping) and {"low", "high"} <= set(one[name]):
            raise InputError(
                f"{name} of [[{where}]] is drawn, and a game has no seeds; give a number, or write a study"
            )
    return one["cost"], one["data"]


def _count(one: Mapping[str, Any]) -> int:
    count = one.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 1_000_000:
        raise InputError(f"count of [[groups]] must be a whole number from 1 to 1000000, got {shown(count)}; give one")
    return count


def one_by_one(table: Mapping[str, Any]) -> dict[str, Any]:
    """A parsed study whose owners are tables with name, cost and data.

    >>> one_by_one({"owners": {"costs": [0.1, 0.2], "capacity": 5}})["owners"][1]
    {'name': 'owner 1', 'cost': 0.2, 'data': 5}
    """
    owners = table.get("owners")
    if not isinstance(owners, Mapping):
        return dict(table)
    if missing := {"costs", "capacity"} - set(owners):
        raise InputError(f"owners need {' and '.join(sorted(missing))}, got {shown(dict(owners))}; add it")
    if more := sorted(set(owners) - {"costs", "capacity", "count"}):
        raise InputError(f"owners have no {more[0]!r} where all are written at once; write [[owners]] one by one")
    costs, capacity = owners["costs"], owners["capacity"]
    lengths = [len(one) for one in (costs, capacity) if isinstance(one, list)]
    several = owners.get("count", lengths[0] if lengths else 1)
    if any(length != several for length in lengths):
        raise InputError(f"{several} owners but lists of {lengths} costs and capacities; give one of each per owner")
    cost_of = costs if isinstance(costs, list) else [costs] * several
    data_of = capacity if isinstance(capacity, list) else [capacity] * several
    pairs = enumerate(zip(cost_of, data_of, strict=True))
    return {**table, "owners": [{"name": f"owner {k}", "cost": cost, "data": data} for k, (cost, data) in pairs]}
