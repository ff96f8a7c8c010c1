"""Pictures inside the page: PNG files of few colours as data URIs, each with words for those who cannot see it."""

from __future__ import annotations

import base64
import io
import warnings
from dataclasses import dataclass

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

__all__ = ["Inline", "from_bytes", "from_figure"]

#: dots per inch of figures; the page shows them at 96, so that they stay sharp on fine screens
_DPI = 150
_WIDEST = 1600
_COLOURS = 128


@dataclass(frozen=True)
class Inline:
    """A picture: heading, alternative text, caption, data and its size on the page in pixels."""

    title: str
    alt: str
    caption: str
    uri: str
    width: int
    height: int


def from_figure(drawn: Figure | Axes, title: str, alt: str, caption: str = "") -> Inline:
    """A figure (or the one its axes belong to), which is closed afterwards."""
    figure = drawn if isinstance(drawn, Figure) else drawn.get_figure(root=True)
    if figure is None:
        raise ValueError("axes without a figure cannot be drawn")
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # of names in other scripts; a box stands in its place
        figure.savefig(buffer, format="png", dpi=_DPI, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    return from_bytes(buffer.getvalue(), title, alt, caption)


def from_bytes(data: bytes, title: str, alt: str, caption: str = "") -> Inline:
    """A picture file, made smaller; raises ValueError if it is none."""
    try:
        with Image.open(io.BytesIO(data)) as picture:
            flat = Image.new("RGB", picture.size, "white")
            clear = picture.convert("RGBA")
            flat.paste(clear, mask=clear)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"no picture: {error}") from None
    if flat.width > _WIDEST:
        flat = flat.resize((_WIDEST, max(1, round(flat.height * _WIDEST / flat.width))), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small = flat.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # rare colours stay
    small.save(buffer, "PNG", optimize=True)
    uri = "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
    return Inline(title, alt, caption, uri, round(flat.width * 96 / _DPI), round(flat.height * 96 / _DPI))
