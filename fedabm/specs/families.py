"""Families of classes that go by name in TOML, on the command line and as entry points of other packages.

A package offers a class of its own under the group `fedabm.` and the name of the family, in its `pyproject.toml`:

    [project.entry-points."fedabm.accuracies"]
    saturating = "my_package.accuracies:Saturating"
"""

from __future__ import annotations

import functools
import sys
from importlib.metadata import EntryPoints, entry_points

from fedabm.common.errors import nearest
from fedabm.common.log import LOG

__all__ = ["FAMILIES", "groups_of", "offered"]


#: the families, and where their base is
FAMILIES = {
    "mechanisms": "fedabm.mechanisms:Mechanism",
    "strategies": "fedabm.strategies:Strategy",
    "accuracies": "fedabm.accuracy:Oracle",
    "costs": "fedabm.costs:Cost",
    "payoffs": "fedabm.accuracy:AccuracyPayoff",
    "valuations": "fedabm.games:Valuation",
    "knowledge": "fedabm.knowledge:Knowledge",
    "rules": "fedabm.learning:Rule",
    "partitions": "fedabm.data:Partition",
    "defects": "fedabm.data:Quality",
    "activations": "fedabm.simulation:Activation",
    "participation": "fedabm.simulation:Participation",
    "stopping": "fedabm.simulation:Stopping",
}
#: further names of groups: those of the modules, now and in releases before 0.2
_ALSO = {
    "accuracies": ("fedabm.accuracy", "fedabm.games.accuracy"),
    "costs": ("fedabm.games.costs",),
    "rules": ("fedabm.learning.rules",),
    "partitions": ("fedabm.data.partitions",),
}


def groups_of(base: type) -> tuple[str, ...]:
    """The groups of entry points that offer a kind of class; none for what is of no family.

    >>> from fedabm.games.accuracy import Accuracy
    >>> groups_of(Accuracy)[:2]
    ('fedabm.accuracies', 'fedabm.accuracy')
    """
    kinds = {one.__name__ for one in base.__mro__ if one.__module__.startswith("fedabm.")}
    named = (family for family, place in FAMILIES.items() if place.partition(":")[2] in kinds)
    return tuple(group for family in named for group in (f"fedabm.{family}", *_ALSO.get(family, ())))


def offered(group: str) -> EntryPoints:
    """The entry points of a group; what others offer under a group that nobody reads is said once."""
    return _installed(tuple(sys.path)).select(group=group)


@functools.cache
def _installed(path: tuple[str, ...]) -> EntryPoints:
    """All entry points for fedabm on a path, which takes reading the files of all installed packages."""
    found = entry_points()
    listed = [f"fedabm.{family}" for family in FAMILIES]
    known = {"fedabm.scenarios", *listed, *(group for more in _ALSO.values() for group in more)}
    ours = [group for group in found.groups if group.startswith("fedabm.")]
    for group in sorted(set(ours) - known):
        for one in found.select(group=group):
            who = one.dist.name if one.dist else "an installed package"
            LOG.warning("%s offers %r under %r, which nothing reads; %s", who, one.name, group, nearest(group, listed))
    return EntryPoints(one for group in ours for one in found.select(group=group))
