"""Pictures keep their colours: what is drawn orange is not shown grey because few pixels are orange."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from docs import pictures
from fedabm.report.images import from_bytes

RARE = (222, 143, 5)


@pytest.fixture
def drawn() -> bytes:
    """A thousand shades of blue, and a dot of ten pixels in the colour of cost sharing."""
    figure = Figure(figsize=(5, 4), dpi=100)
    ax = figure.add_subplot()
    ax.imshow(np.linspace(0, 1, 1000).reshape(1, -1), aspect="auto", cmap="Blues", extent=(0, 1, 0, 1))
    ax.plot([0.5], [0.5], "o", color=[part / 255 for part in RARE], markersize=7)
    buffer = io.BytesIO()
    figure.savefig(buffer)
    return buffer.getvalue()


def _nearest(picture: Any) -> float:
    """How far the pixel that is most like the dot is from its colour."""
    pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3).astype(float)
    return float(np.abs(pixels - RARE).max(axis=1).min())


def test_a_report_keeps_colours_of_few_pixels(drawn: bytes) -> None:
    shown = from_bytes(drawn, "title", "alt").uri.partition(",")[2]
    with Image.open(io.BytesIO(base64.b64decode(shown))) as picture:
        assert _nearest(picture) < 25


def test_the_gallery_keeps_colours_of_few_pixels(drawn: bytes, tmp_path: Path) -> None:
    (tmp_path / "full.png").write_bytes(drawn)
    pictures.keep(tmp_path / "full.png", tmp_path / "small.png")
    with Image.open(tmp_path / "small.png") as picture:
        assert _nearest(picture) < 25
