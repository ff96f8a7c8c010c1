"""Groups of owners that see the same pictures turned by different angles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from fedabm.common.errors import InputError
from fedabm.data.partitions.base import Partition, consecutive

__all__ = ["Rotated", "rotate"]


@dataclass(frozen=True)
class Rotated(Partition):
    """Another partition whose owners form as many consecutive groups as there are angles, each turning its pictures.

    Murhekar et al. 2025, Section 5.1: `Rotated(IID(30))`, three groups of ten, turned by 10, 90 and 180 degrees.

    Parameters
    ----------
    within : Partition
        The partition whose owners' pictures are turned.
    angles : tuple[float, ...], optional
        Degrees, one per group of owners.
    """

    within: Partition
    angles: tuple[float, ...] = (10.0, 90.0, 180.0)

    def __post_init__(self) -> None:
        if not self.angles or not np.isfinite(self.angles).all():
            raise InputError(f"angles must be finite numbers, got {self.angles}; give one per group")

    def parts(self, labels: np.ndarray, users: np.ndarray | None, rng: np.random.Generator) -> list[np.ndarray]:
        found = self.within.parts(labels, users, rng)
        if len(found) < len(self.angles):
            raise InputError(f"{len(self.angles)} angles but {len(found)} owners; give at least one owner per angle")
        return found

    def transform(self, x: np.ndarray, owner: int, owners: int) -> np.ndarray:
        angle = self.angles[int(consecutive(owners, len(self.angles))[owner])]
        return rotate(self.within.transform(x, owner, owners), angle)


def rotate(images: np.ndarray, angle: float) -> np.ndarray:
    """Images (N, C, H, W) turned counter-clockwise by `angle` degrees about their centre, corners filled with 0.

    Exact for multiples of 90 degrees of square images, linear interpolation otherwise.

    Parameters
    ----------
    images : np.ndarray
        Shape (N, C, H, W).
    angle : float
        Degrees, counter-clockwise.

    Returns
    -------
    np.ndarray
        Images of the same shape.
    """
    if images.ndim != 4:
        raise InputError(f"only images (N, C, H, W) can be rotated, got shape {images.shape}; use another partition")
    turns = angle / 90
    if turns == round(turns) and (images.shape[2] == images.shape[3] or turns % 2 == 0):
        return np.ascontiguousarray(np.rot90(images, round(turns), axes=(2, 3)))
    return ndimage.rotate(images, angle, axes=(3, 2), reshape=False, order=1, mode="constant", cval=0)
