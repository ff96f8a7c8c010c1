"""Lines over time as options of ECharts: every measure by strategy, with the looks that strategies have everywhere.

Names stand in values only, never in keys, and tooltips are drawn on the canvas: nothing of a name is read as HTML.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedabm.analysis.looks import Look, strategy_looks
from fedabm.live.moments import MEASURES, SHARES
from fedabm.live.session import Session, WatchedRun

__all__ = ["GREY", "SYMBOLS", "base", "decision", "looks_of", "over_time"]

GREY = "#5f6368"
#: Matplotlib's markers as ECharts draws them
SYMBOLS = {
    **{"o": "circle", "s": "rect", "^": "triangle", "D": "diamond", "v": "path://M0 0L10 0L5 9Z"},
    "P": "path://M3.5 0H6.5V3.5H10V6.5H6.5V10H3.5V6.5H0V3.5H3.5Z",
    "X": "path://M2 0L5 3L8 0L10 2L7 5L10 8L8 10L5 7L2 10L0 8L3 5L0 2Z",
    "*": "path://M5 0L6.2 3.5H10L7 5.8L8.1 9.5L5 7.3L1.9 9.5L3 5.8L0 3.5H3.8Z",
    **{"<": "path://M10 0L10 10L0 5Z", ">": "path://M0 0L0 10L10 5Z"},
}
#: the horizontal axis has room for this many steps from the beginning
_FIRST_STEPS = 10
_TEXT = {"color": "#202124", "fontFamily": "sans-serif", "fontSize": 12}


def looks_of(session: Session) -> dict[str, Look]:
    """One look per strategy, the same on both sides and in all figures."""
    return strategy_looks(sorted({name for side in session.sides for name in side.strategies}))


def base(title: str) -> dict[str, Any]:
    """What all charts share."""
    return {
        "animation": False,
        "textStyle": _TEXT,
        "title": {"text": title, "left": 8, "top": 4, "textStyle": {**_TEXT, "fontSize": 13, "fontWeight": 600}},
        "grid": {"left": 8, "right": 16, "top": 36, "bottom": 8, "containLabel": True},
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
    }


def over_time(session: Session, side: WatchedRun, measure: str) -> dict[str, Any]:
    """A measure over the steps, one line per strategy; of welfare also the sum.  Axes are the same on both sides."""
    steps = min(session.step, len(side.moments))
    lines = [_line(side, measure, name, look, steps) for name, look in looks_of(session).items()]
    if measure == "welfare":
        totals = [moment.totals["welfare"] for moment in side.moments[:steps]]
        lines.append(_series("all owners", totals, "#202124", "circle", "solid", 3))
    ends = _range(session, measure)
    axis = {"type": "value", "min": 1, "max": max(session.known, _FIRST_STEPS), "minInterval": 1, "name": ""}
    return {
        **base(MEASURES[measure]),
        "xAxis": {**axis, "splitLine": {"show": False}},
        "yAxis": {"type": "value", **ends},
        "series": lines,
    }


def decision(side: WatchedRun, owner: int, step: int) -> dict[str, Any]:
    """What an owner expects of each contribution when it decides, and what it then gives; nothing before a step."""
    moment, colour = side.at(step), strategy_looks(side.strategies)[side.strategies[owner]].colour
    curve = np.full(len(SHARES), np.nan) if moment is None else moment.sights.curve[owner]
    capacity = float(side.model.population.capacity[owner])
    known = bool(np.isfinite(curve).any())
    points = [[float(share * capacity), _value(value)] for share, value in zip(SHARES, curve, strict=True)]
    given = []
    if moment is not None and known:
        amount = float(moment.contribution[owner])
        given = [[amount, _value(np.interp(amount / capacity, SHARES, curve))]]
    title = "expected utility by data given" if known or moment is None else "what it expects is unknown"
    return {
        **base(title),
        "tooltip": {"trigger": "item", "renderMode": "richText", "confine": True},
        "xAxis": {"type": "value", "min": 0, "max": capacity, "splitLine": {"show": False}},
        "yAxis": {"type": "value", "scale": True, "axisLabel": {"hideOverlap": True}},
        "series": [
            {"type": "line", "name": "expects", "data": points, "showSymbol": False, "color": colour},
            {"type": "scatter", "name": "gives", "data": given, "symbolSize": 12, "color": colour},
        ],
    }


def _line(side: WatchedRun, measure: str, name: str, look: Look, steps: int) -> dict[str, Any]:
    values = [moment.means[measure].get(name) for moment in side.moments[:steps]]
    dashes = [3 * part for part in look.dashes] if look.dashes else "solid"
    return _series(name, values, look.colour, SYMBOLS.get(look.marker, "circle"), dashes, 2)


def _series(
    name: str, values: Sequence[float | None], colour: str, symbol: str, dashes: Any, width: int
) -> dict[str, Any]:
    """A line with a marker at its end, so that lines on each other are told apart."""
    data: list[Any] = [[step + 1, value] for step, value in enumerate(values)]
    if data:
        data[-1] = {"value": data[-1], "symbol": symbol, "symbolSize": 9}
    return {
        "type": "line",
        "name": name,
        "data": data,
        "symbol": "none",
        "color": colour,
        "lineStyle": {"width": width, "type": dashes},
        "itemStyle": {"color": colour},
    }


def _range(session: Session, measure: str) -> dict[str, float]:
    """From the least to the most of both sides, with zero in it."""
    seen = [0.0]
    for side in session.sides:
        for moment in side.moments:
            seen += [value for value in moment.means[measure].values() if value is not None]
            seen += [moment.totals["welfare"]] if measure == "welfare" else []
    return _ticks(min(seen), max(seen))


def _ticks(low: float, high: float) -> dict[str, float]:
    """An axis around these values that begins and ends with a tick, so that no two numbers beside it meet.

    >>> _ticks(-0.23, 0.44)
    {'min': -0.4, 'max': 0.6, 'interval': 0.2}
    >>> _ticks(0.0, 0.0)
    {'min': 0.0, 'max': 1.2, 'interval': 0.2}
    """
    if low == high:  # nothing yet, or nothing but zeros
        high = low + 1.0
    width = max(high - low, 1e-9)
    unit = 10.0 ** np.floor(np.log10(width))
    step = unit * next(part for part in (0.2, 0.5, 1.0, 2.0) if width <= 5 * part * unit)
    least = np.floor(low / step - 1e-9) if low < 0 else 0.0
    most = np.ceil(high / step + 1e-9) if high > 0 or low >= 0 else 0.0
    ends = {"min": least * step, "max": most * step, "interval": step}
    return {name: float(f"{value:.6g}") for name, value in ends.items()}


def _value(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
