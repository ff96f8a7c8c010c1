"""Networks made for training alone, made fit for a federation."""

from __future__ import annotations

import copy

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from fedabm.common.errors import check_kind
from fedabm.learning.engine.blocks import SeededDropout, group_norm

__all__ = ["adapt"]


def adapt(network: nn.Module) -> nn.Module:
    """A copy of a network whose models can be averaged, and whose owners do not disturb each other.

    Batch normalisation becomes group normalisation (Wu & He 2018): running statistics are no parameters, and their
    average over owners describes nobody's data.  Dropout becomes `SeededDropout`, whose mask depends on the owner's own
    stream; it drops in training only.  All else stays as it is; parameters keep their names and numbers.

    >>> network = adapt(nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.Dropout(0.5)))
    >>> [type(part).__name__ for part in network]
    ['Conv2d', 'GroupNorm', 'SeededDropout']

    Parameters
    ----------
    network : nn.Module
        Any module of PyTorch.

    Returns
    -------
    nn.Module
        The copy.
    """
    check_kind("network", network, nn.Module)
    return _adapted(copy.deepcopy(network))


def _adapted(part: nn.Module) -> nn.Module:
    if isinstance(part, _BatchNorm):
        norm = group_norm(part.num_features, eps=part.eps, affine=part.affine)
        norm.load_state_dict(dict(part.named_parameters()))
        return norm
    if isinstance(part, nn.Dropout):
        return SeededDropout(part.p)
    for name, child in part.named_children():
        setattr(part, name, _adapted(child))
    return part
