"""Clustered federated learning: a group whose members pull apart is split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import squareform
from torch import Tensor

from fedabm.common.errors import check_positive, check_whole
from fedabm.games.curves import Array
from fedabm.learning.personal.exchange import Exchange, LocalTask, Sent
from fedabm.learning.rules.aggregate import screen
from fedabm.mechanisms.personalised.base import Personalised, cosines, shares, usable

__all__ = ["CFL"]

Labels = NDArray[np.intp]


@dataclass(frozen=True)
class CFL(Personalised):
    """FedAvg within groups; a group is split in two when its mean update is short though some of its updates are long.

        |sum_j p_j u_j| < mean_below,    max_j |u_j| > max_above,    more than `smallest` sound members

    with u_j the owner's update in this round and p_j its share of the group's claimed data.  The halves are those of
    complete linkage on the negative cosines of the updates.  Everybody begins in one group; later, those who started
    from the same model are one.  A silent owner goes with the half that claims more data, a newcomer to the group whose
    model is nearest to the initial one.  Sattler et al. 2020 (CFL), with the limits of iPFL 2025.
    """

    mean_below: float = 2.0
    max_above: float = 2.5
    smallest: int = 2

    def __post_init__(self) -> None:
        check_positive("mean_below", self.mean_below)
        check_positive("max_above", self.max_above, zero=True)
        check_whole("smallest", self.smallest, 1)

    def exchange(self, sent: Sent) -> Exchange:
        """The mean of each owner's group."""
        groups, centres = _groups(sent)
        groups, parents = self._split(groups, sent)
        within, models = _weights(groups, len(parents), shares(sent)), usable(sent)
        rows = torch.from_numpy(within).to(models) @ models
        heard = torch.from_numpy(within.any(axis=1)).to(models.device) & screen(rows)
        rows = torch.where(heard[:, None], rows, centres[parents])
        weights = within[groups]
        weights[~weights.any(axis=1)] = np.eye(len(groups))[~weights.any(axis=1)]
        return Exchange(LocalTask(rows[torch.from_numpy(groups).to(rows.device)]), weights)

    def _split(self, groups: Labels, sent: Sent) -> tuple[Labels, Labels]:
        """The groups after splitting, and which group each of them was before."""
        groups, before = groups.copy(), int(groups.max()) + 1
        updates, parents = torch.nan_to_num(usable(sent) - sent.start), np.arange(before)
        torn = np.flatnonzero(self._torn(groups, before, updates, sent))
        for group in torn:
            members = np.flatnonzero(groups == group)
            leaving = _half(members, updates, sent)
            groups[leaving], parents = len(parents), np.append(parents, group)
        return groups, parents

    def _torn(self, groups: Labels, count: int, updates: Tensor, sent: Sent) -> NDArray[np.bool_]:
        """Which groups are to be split."""
        within = _weights(groups, count, shares(sent))
        mean = (torch.from_numpy(within).to(updates) @ updates).norm(dim=1).cpu().numpy()
        inside = (groups == np.arange(count)[:, None]) & sent.sound
        longest = np.where(inside, updates.norm(dim=1).cpu().numpy(), 0.0).max(axis=1)
        many = inside.sum(axis=1) > self.smallest
        return (mean < self.mean_below) & (longest > self.max_above) & many & within.any(axis=1)


def _groups(sent: Sent) -> tuple[Labels, Tensor]:
    """Everybody's group, numbered from 0, and the groups' models: the ones that owners started from."""
    centres = torch.unique(sent.start, dim=0)
    grown = (centres != sent.initial).any(dim=1)
    if grown.any():  # whoever still has the initial model came later than the others
        centres = centres[grown]
    # Differences, not products: the distance from the own group's model is exactly 0.
    apart = torch.cdist(sent.start, centres, compute_mode="donot_use_mm_for_euclid_dist")
    return apart.argmin(dim=1).cpu().numpy().astype(np.intp), centres


def _weights(groups: Labels, count: int, part: Array) -> Array:
    """Each owner's share (column) of the claimed data of every group (row); 0 in a group that claims nothing."""
    within = (groups == np.arange(count)[:, None]) * part
    total = within.sum(axis=1, keepdims=True)
    return np.divide(within, total, out=np.zeros_like(within), where=total > 0)


def _half(members: Labels, updates: Tensor, sent: Sent) -> Labels:
    """The members of one half; the silent ones are in it if it claims more data than the other."""
    heard, silent = members[sent.sound[members]], members[~sent.sound[members]]
    apart = 1.0 - cosines(updates[torch.from_numpy(heard).to(updates.device)])
    half = to_tree(linkage(squareform(apart, checks=False), "complete")).get_right().pre_order()
    leaving = heard[half]
    larger = 2.0 * sent.size[leaving].sum() > sent.size[heard].sum()
    return np.concatenate([leaving, silent]) if larger else leaving
