"""A card as one picture for a paper, and the league as a heat map."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import SymLogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from fedabm.auditing.behaviours import FEW_STEPS
from fedabm.auditing.card import Card
from fedabm.auditing.claims import Claim
from fedabm.auditing.league import BEST, League
from fedabm.auditing.survival import TOLERATED, UNREAD, apart, survival

__all__ = ["attacks_picture", "card_picture", "league_picture", "survival_picture"]

#: verdicts: a colour that is told apart without colour vision, and a word
_LOOKS = {True: ("#1a7f4b", "holds"), False: ("#b3261e", "fails"), None: ("#59636f", "")}
_WIDTH, _LINE = 7.2, 0.155
#: where the colours of a heat map end, as a share of what an owner has: fines without bound do not hide all others
_FULL = 1.0
_TICKS = (-1.0, -0.1, 0.0, 0.1, 1.0)
#: verdicts on a rule and a behaviour: colours that are told apart without colour vision, and signs
_VERDICTS = {
    "survives": ("#1a7f4b", "+"),
    "open": ("#e6e9ee", "?"),
    "pays": ("#f2b84b", "p"),
    "harms": ("#6d9fd0", "h"),
    "pays and harms": ("#8c1c13", "ph"),
    UNREAD: ("#f7f8fa", "–"),
    "": ("#ffffff", "·"),
}
#: what verdicts are called in a legend where they are no words
_LEGEND = {UNREAD: "cannot fail: not read, nothing changes", "": "means nothing there"}
#: inches of a cell with a verdict
_COLUMN, _ROW = 0.26, 0.165


def card_picture(card: Card) -> Figure:
    """What is wrong, then every claim with its status, then gains by kind of deviation; as wide as a page's text."""
    said = [(claim, textwrap.wrap(claim.words, 84) or [""]) for claim in card.claims]
    flaws = [_two_lines(f"{claim.flaw}: {claim.words}", 128) for claim in card.flaws[:3]]
    lines = 5.4 + sum(map(len, flaws)) + sum(len(words) + 0.55 for _, words in said)
    bars = 0.9 + 0.22 * max(len(card.tried), 1)
    height = _LINE * lines + bars + 0.55
    figure = Figure(figsize=(_WIDTH, height))
    top = figure.add_axes((0.0, (bars + 0.55) / height, 1.0, 1.0 - (bars + 0.55) / height))
    _words(top, card, flaws, said, lines)
    below = figure.add_axes((0.17, 0.5 / height, 0.8, (bars - 0.35) / height))
    _bars(below, card)
    return figure


def _two_lines(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text, width)
    return lines if len(lines) <= 2 else [lines[0], textwrap.shorten(lines[1], width - 4, placeholder="") + " ..."]


def _words(ax: Axes, card: Card, flaws: list[list[str]], said: list[tuple[Claim, list[str]]], lines: float) -> None:
    ax.set(xlim=(0, 1), ylim=(lines, 0))
    ax.axis("off")
    small: dict[str, Any] = {"fontsize": 7.2, "va": "top"}
    rule = card.title if len(card.title) <= 70 else card.title[:67] + "..."
    ax.text(0.02, 0.8, rule, fontsize=11, weight="bold", va="top")
    shown = card.stage
    ax.text(0.02, 2.7, shown if len(shown) <= 110 else shown[:107] + "...", color="#59636f", **small)
    row = 4.1
    if not flaws:
        ax.text(0.02, row, "No flaw was found.", color=_LOOKS[True][0], weight="bold", **small)
        row += 1.0
    for words in flaws:
        ax.text(0.02, row, "\n".join(words), color=_LOOKS[False][0], **small)
        row += len(words)
    row += 0.9
    for claim, words in said:
        colour, verdict = _LOOKS[claim.holds]
        ax.plot([0.02, 0.98], [row - 0.25] * 2, color="#d7dce2", linewidth=0.5)
        ax.text(0.02, row, claim.name, weight="bold", **small)
        ax.text(0.215, row, verdict, color=colour, weight="bold", **small)
        ax.text(0.27, row, claim.status, color="#59636f", style="italic", **small)
        ax.text(0.36, row, "\n".join(words), **small)
        row += len(words) + 0.55


def _bars(ax: Axes, card: Card) -> None:
    """Gains of the deviator and losses of the others, by kind."""
    kinds = [one.kind for one in card.tried] or ["none"]
    gains, losses = [one.gain for one in card.tried] or [0.0], [one.loss for one in card.tried] or [0.0]
    place = np.arange(len(kinds))
    ax.barh(place - 0.2, gains, 0.38, color="#b26a00", label="the deviator gains")
    ax.barh(place + 0.2, losses, 0.38, color="#0b5a8f", hatch="///", edgecolor="white", label="the others lose")
    ax.set_yticks(place, kinds, fontsize=7)
    ax.invert_yaxis()
    ax.axvline(0.0, color="#1d2430", linewidth=0.8)
    ax.set_xlabel("utility, best deviation of each kind", fontsize=7.5)
    ax.tick_params(axis="x", labelsize=7)
    ax.legend(fontsize=7, frameon=False, loc="lower right")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def league_picture(found: League) -> Figure:
    """Rules x deviations twice: what the deviator gains, and what the others lose, in units of what an owner has."""
    gains, losses = found.table("gain"), found.table("loss")
    gains = gains if BEST in gains else gains.sort_index()
    rows = len(gains)
    figure = Figure(figsize=(13.0, 1.9 + 0.3 * rows), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[len(gains.columns), max(len(losses.columns) - 1, 1)])
    _heat(left, gains, "gain of the deviator")
    colours = _heat(right, losses.reindex(gains.index).drop(columns=BEST, errors="ignore"), "loss of the others")
    bar = figure.colorbar(colours, ax=(left, right), shrink=0.5, aspect=30, pad=0.01, extend="both")
    bar.set_label("share of what an owner has", fontsize=8)
    bar.set_ticks(_TICKS, labels=[f"{tick:g}" for tick in _TICKS])
    bar.ax.tick_params(labelsize=7)
    seeds = found.rows["seed"].nunique()
    words = f"mean over {seeds} seed{'s' if seeds > 1 else ''}, as a share of what an owner has if nobody deviates"
    words += "; the least best lie first" if BEST in gains else "; by name"
    figure.supxlabel(f"{words}; · means nothing there", fontsize=9)
    return figure


def attacks_picture(found: pd.DataFrame) -> Figure:
    """Attacks x defences twice, means over payment rules: what each of the others loses, and what an attacker gains."""
    lost, gained = (
        found.pivot_table(index="attack", columns="defence", values=name, sort=False)
        for name in ("accuracy lost", "gain")
    )
    figure = Figure(figsize=(13.0, 1.9 + 0.3 * len(lost)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _heat(left, lost, "accuracy that each of the others loses")
    _heat(right, gained, "utility that an attacker gains")
    rules, seeds = found["rule"].nunique(), found["seed"].nunique()
    words = f"mean over {rules} payment rule{'s' if rules > 1 else ''} and {seeds} seed{'s' if seeds > 1 else ''}"
    words += ", in units of accuracy; orange: more, violet: less than nothing"
    weak = f"little is enough, min-max: {FEW_STEPS}"
    figure.supxlabel(f"{words}\n{weak}", fontsize=9)
    return figure


def _heat(ax: Axes, table: pd.DataFrame, title: str) -> QuadMesh:
    values = table.to_numpy(dtype=float)
    norm = SymLogNorm(linthresh=0.1, vmin=-_FULL, vmax=_FULL)
    mesh = ax.pcolormesh(np.ma.masked_invalid(values), cmap="PuOr_r", norm=norm, edgecolors="white", linewidth=1.0)
    ax.set_facecolor("#f3f5f8")
    ax.set_xticks(np.arange(values.shape[1]) + 0.5, table.columns, rotation=40, ha="right", fontsize=8)
    ax.set_yticks(np.arange(values.shape[0]) + 0.5, table.index, fontsize=8)
    ax.set_title(title, fontsize=10)
    ax.set_ylim(values.shape[0], 0)
    for (row, column), value in np.ndenumerate(values):
        dark = np.isfinite(value) and abs(norm(value) - 0.5) > 0.35
        colour = "white" if dark else "black"
        ax.text(column + 0.5, row + 0.5, _short(value), ha="center", va="center", fontsize=7, color=colour)
    return mesh


def survival_picture(found: Mapping[str, League]) -> Figure:
    """Which rule survives which behaviour: a panel for each league, rules x behaviours, as wide as a page's text."""
    tables = {name: survival(one) for name, one in found.items()}
    rows, columns = [len(one) for one in tables.values()], [one.shape[1] for one in tables.values()]
    figure = Figure(
        figsize=(1.5 * (len(tables) + 1) + _COLUMN * sum(columns), 2.0 + _ROW * max(rows)), layout="constrained"
    )
    panels = np.atleast_1d(figure.subplots(1, len(tables), width_ratios=columns, squeeze=True))
    for ax, (name, table) in zip(panels, tables.items(), strict=True):
        names = apart(found[name])
        table = table.rename(index={rule: f"{rule} ({why})" for rule, why in names.items()})
        _verdicts(ax, table, f"{name}, {found[name].rows['seed'].nunique()} seeds")
    handles = [
        Patch(facecolor=colour, edgecolor="#59636f", label=f"{sign}  {_LEGEND.get(word, word)}")
        for word, (colour, sign) in _VERDICTS.items()
    ]
    note = f"pays, harms: certainly more than {TOLERATED:.0%} of what an owner has (95%)"
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, fontsize=7, frameon=False, title=note, title_fontsize=7
    )
    figure.suptitle("Which rule survives which behaviour?", fontsize=10, weight="bold")
    return figure


def _verdicts(ax: Axes, table: pd.DataFrame, title: str) -> None:
    for row, (_, verdicts) in enumerate(table.iterrows()):
        for column, verdict in enumerate(verdicts):
            colour, sign = _VERDICTS[verdict]
            ax.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
            dark = verdict in ("survives", "pays and harms")
            ax.text(
                column + 0.5, row + 0.52, sign, ha="center", va="center", fontsize=6, color="white" if dark else "black"
            )
    ax.set(xlim=(0, table.shape[1]), ylim=(len(table), 0), anchor="N")
    ax.set_box_aspect(_ROW * len(table) / (_COLUMN * table.shape[1]))
    ax.set_xticks(np.arange(table.shape[1]) + 0.5, table.columns, rotation=60, ha="right", fontsize=6.5)
    ax.set_yticks(np.arange(len(table)) + 0.5, table.index, fontsize=6.5)
    ax.tick_params(length=0)
    ax.set_title(title, fontsize=8)
    for side in ax.spines.values():
        side.set_visible(False)


def _short(value: float) -> str:
    if not np.isfinite(value):
        return "·"
    if abs(value) >= 1000:
        return f"{value / 1e6:.0f}M" if abs(value) >= 1e6 else f"{value / 1000:.0f}k"
    return "0" if abs(value) < 5e-3 else f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
