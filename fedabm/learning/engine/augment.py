"""Images that are changed at random whenever they are learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedabm.common.errors import check_whole

__all__ = ["CropAndFlip", "crop_and_flip"]


@dataclass(frozen=True)
class CropAndFlip:
    """A crop of the image's own size from the image with a black border of `pad` pixels, mirrored every second time.

    Parameters
    ----------
    pad : int, optional
        Pixels of the black border.
    """

    pad: int = 4

    def __post_init__(self) -> None:
        check_whole("pad", self.pad, 0)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """How far each image is moved down and right, from -pad to pad, and whether it is mirrored, (*shape, 3)."""
        shifts = rng.integers(-self.pad, self.pad, size=(*shape, 2), endpoint=True)
        return np.concatenate([shifts, rng.integers(2, size=(*shape, 1))], axis=-1)


def crop_and_flip(images: Tensor, moves: Tensor) -> Tensor:
    """Images (k, c, h, w) of bytes, moved and mirrored as drawn, (k, 3); what comes in from outside is black."""
    height, width = images.shape[2:]
    down, right, mirrored = moves.unsqueeze(2).unbind(1)
    rows = torch.arange(height, device=images.device) - down
    columns = torch.arange(width, device=images.device).expand(len(images), -1)
    columns = torch.where(mirrored == 1, columns.flip(1), columns) - right
    inside = ((rows >= 0) & (rows < height)).unsqueeze(2) & ((columns >= 0) & (columns < width)).unsqueeze(1)
    places = rows.clamp(0, height - 1).unsqueeze(2) * width + columns.clamp(0, width - 1).unsqueeze(1)
    found = images.flatten(2).gather(2, places.flatten(1).unsqueeze(1).expand(-1, images.shape[1], -1))
    return (found * inside.flatten(1).unsqueeze(1)).view_as(images)
