"""Small pictures of the ledger, as SVG: intervals beside zero and what is printed, and verdicts by paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fedabm.papers.ledger.rows import ClaimInterval

__all__ = ["COLOURS", "picture", "stacked"]

#: one colour per verdict, told apart by people who do not see all colours as well, and never the only sign
COLOURS = {
    "reproduced": "#1a7f4b",
    "reproduced after correction": "#2a9db0",
    "reproduced in part": "#3f6fc4",
    "not reproducible": "#c2571a",
    "undecided": "#8d6bb8",
    "not run here": "#8c96a3",
    "FAILED": "#b3261e",
}
_WIDTH, _HEIGHT, _EDGE = 420, 34, 10


def picture(one: ClaimInterval) -> str:
    """An interval with a mark at its mean, a line at zero, and a diamond at what is printed."""
    half = one.half if math.isfinite(one.half) else 0.0
    marks = [0.0, one.mean - half, one.mean + half, *([] if one.printed is None else [one.printed])]
    low, high = min(marks), max(marks)
    scale = (_WIDTH - 2 * _EDGE) / ((high - low) or 1.0)

    def x(value: float) -> str:
        return f"{_EDGE + (value - low) * scale:.1f}"

    colour, middle = COLOURS[_seen(one)], _HEIGHT // 2
    parts = [
        f'<line x1="{x(0)}" y1="2" x2="{x(0)}" y2="{_HEIGHT - 2}" stroke="#59636f" stroke-dasharray="3 3"/>',
        f'<line x1="{x(one.mean - half)}" y1="{middle}" x2="{x(one.mean + half)}" y2="{middle}" stroke="{colour}" '
        'stroke-width="3"/>',
        f'<circle cx="{x(one.mean)}" cy="{middle}" r="5" fill="{colour}"/>',
    ]
    if one.printed is not None:
        at = float(x(one.printed))
        points = f"{at},{middle - 7} {at + 7},{middle} {at},{middle + 7} {at - 7},{middle}"
        parts.append(f'<polygon points="{points}" fill="none" stroke="#1d2430" stroke-width="2"/>')
    return _svg(_WIDTH, _HEIGHT, parts, words(one))


def _seen(one: ClaimInterval) -> str:
    """On which side of zero it lies, for its colour."""
    if not abs(one.mean) > one.half and one.half != 0:
        return "undecided"
    return "reproduced" if one.mean > 0 else "not reproducible"


def words(one: ClaimInterval) -> str:
    """The same in words.

    >>> words(ClaimInterval("a gain", 0.844, 0.33, 0.02))
    'a gain: +0.844 ± 0.33, printed +0.02'
    >>> words(ClaimInterval("a loss", -1234.5, 156.0))
    'a loss: -1,230 ± 160'
    """
    spread = f" ± {_rounded(one.half, 2)}" if math.isfinite(one.half) else ", one seed"
    printed = "" if one.printed is None else f", printed {_rounded(one.printed, 3, '+')}"
    return f"{one.name}: {_rounded(one.mean, 3, '+')}{spread}{printed}"


def _rounded(value: float, digits: int, sign: str = "") -> str:
    """With this number of significant digits, and no powers of ten."""
    return f"{float(f'{value:.{digits}g}'):{sign},.10g}"


def stacked(parts: Sequence[tuple[str, int]]) -> str:
    """One bar with a piece per verdict, each with its number where there is room for it."""
    total, left, drawn = sum(number for _, number in parts) or 1, 0.0, []
    for verdict, number in parts:
        width = 600 * number / total
        drawn.append(f'<rect x="{left:.1f}" y="0" width="{width:.1f}" height="26" fill="{COLOURS[verdict]}"/>')
        if width > 16:
            middle = left + width / 2
            drawn.append(
                f'<text x="{middle:.1f}" y="18" text-anchor="middle" font-size="14" fill="#fff">{number}</text>'
            )
        left += width
    return _svg(600, 26, drawn, ", ".join(f"{number} {verdict}" for verdict, number in parts if number))


def _svg(width: int, height: int, parts: Iterable[str], title: str) -> str:
    said = title.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    head = f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{said}"><title>{said}</title>'
    return f"{head}{''.join(parts)}</svg>"
