"""Clustered federated learning: a group whose members pull apart is split."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import squareform

from fedabm.common.bounds import within
from fedabm.common.errors import check_positive, check_whole
from fedabm.games.curves import Array
from fedabm.mechanisms.personalised.base import Personalised
from fedabm.views import Exchange, Flags, LocalTask, Sent

__all__ = ["CFL"]

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class CFL(Personalised):
    """Means within groups; a group is split in two when its mean update is short though some of its updates are long.

        |mean_j u_j| < mean_below,    max_j |u_j| > max_above,    more than `smallest` usable members

    with u_j the owner's update in this round.  Members that claim any data count alike, however much they claim.  The
    halves are those of complete linkage on the negative cosines of the updates.  Everybody begins in one group; who is
    in which is remembered.  A silent owner goes with the larger half, a newcomer to the group whose model is nearest to
    the initial one.  Sattler et al. 2020 (CFL), with the limits of iPFL 2025.

    Parameters
    ----------
    mean_below : float, optional
        A group is split only where its mean update is shorter than this.
    max_above : float, optional
        ... and its longest update is longer than this.
    smallest : int, optional
        ... and it has more usable members than this.
    """

    mean_below: float = field(default=2.0, metadata=within(0.01, 10.0, log=True))
    max_above: float = field(default=2.5, metadata=within(0.01, 10.0, log=True))
    smallest: int = 2

    def __post_init__(self) -> None:
        check_positive("mean_below", self.mean_below)
        check_positive("max_above", self.max_above, zero=True)
        check_whole("smallest", self.smallest, 1)

    def exchange(self, sent: Sent) -> Exchange:
        """The mean of each owner's group."""
        before, elder = _groups(sent)
        groups = self._split(before, sent)
        within = _weights(groups, _heard(sent))
        task = LocalTask(sent.mix(within, groups, elder))
        weights = within[groups]
        weights[~weights.any(axis=1)] = np.eye(len(groups))[~weights.any(axis=1)]
        return Exchange(task, weights, memory=dict(zip(_numbers(sent), groups.tolist(), strict=True)))

    def _split(self, groups: Labels, sent: Sent) -> Labels:
        """The groups after splitting those that are torn."""
        torn = np.flatnonzero(self._torn(groups, sent))
        if not len(torn):
            return groups
        groups, likeness = groups.copy(), sent.cosines("start")
        for group in torn:
            leaving = _half(np.flatnonzero(groups == group), likeness, sent)
            groups[leaving] = groups.max() + 1
        return groups

    def _torn(self, groups: Labels, sent: Sent) -> Flags:
        """Which groups are to be split."""
        within = _weights(groups, _heard(sent))
        inside = (groups == np.arange(len(within))[:, None]) & sent.usable
        longest = np.where(inside, sent.lengths(), 0.0).max(axis=1)
        many = inside.sum(axis=1) > self.smallest
        return (sent.lengths(within) < self.mean_below) & (longest > self.max_above) & many & within.any(axis=1)


def _numbers(sent: Sent) -> list[int]:
    """The owners' numbers."""
    owners = sent.reports.owners
    return list(range(len(sent.usable))) if owners is None else owners.tolist()


def _groups(sent: Sent) -> tuple[Labels, Labels]:
    """Everybody's group, numbered from 0, and who began where everybody's group did: itself, unless it is new."""
    known = sent.reports.memory or {}
    groups = np.array([known.get(owner, -1) for owner in _numbers(sent)], dtype=np.intp)
    elder, old = np.arange(len(groups)), np.flatnonzero(groups >= 0)
    if not len(old):
        return np.zeros_like(groups), elder
    nearest = old[np.argmin(sent.drifts()[old])]
    elder[groups < 0] = nearest
    return np.unique(groups[elder], return_inverse=True)[1], elder


def _heard(sent: Sent) -> Flags:
    """Who sent a usable model and claims data."""
    return sent.usable & (sent.size > 0)


def _weights(groups: Labels, heard: Flags) -> Array:
    """Each owner's weight (column) in the mean of every group (row); 0 in a group of which nobody was heard."""
    within = ((groups == np.arange(groups.max() + 1)[:, None]) & heard).astype(float)
    total = within.sum(axis=1, keepdims=True)
    return np.divide(within, total, out=np.zeros_like(within), where=total > 0)


def _half(members: Labels, likeness: Array, sent: Sent) -> Labels:
    """The members of one half; the silent ones are in it if it is larger than the other."""
    heard, silent = members[sent.usable[members]], members[~sent.usable[members]]
    apart = squareform(1.0 - likeness[np.ix_(heard, heard)], checks=False)
    half = to_tree(linkage(apart, "complete")).get_right().pre_order()
    leaving = heard[half]
    return np.concatenate([leaving, silent]) if 2 * len(leaving) > len(heard) else leaving
