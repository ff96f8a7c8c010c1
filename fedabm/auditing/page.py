"""A card written to a folder: one HTML page that needs nothing else, frames, JSON, and the picture as PNG and PDF."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fedabm.auditing.card import Card
from fedabm.auditing.claims import STATUSES
from fedabm.auditing.deviations import KINDS
from fedabm.auditing.pictures import card_picture
from fedabm.common.files import clear_drafts, draft, new_folder
from fedabm.common.glossary import GLOSSARY
from fedabm.report.images import from_figure
from fedabm.report.tables import shown
from fedabm.report.templates import rendered
from fedabm.results.tables import write_table

__all__ = ["page", "write_card"]

_REMEDY = "give another --out DIR"


def page(card: Card) -> str:
    """The card as HTML; the same card gives the same text."""
    worst = card.flaws[0].flaw if card.flaws else "no flaw was found"
    alt = f"The card of {card.title} as one picture: {worst}; all claims with their status, and gains by deviation."
    table = card.deviations().drop(columns=["rule", "owner"])
    table = table.rename(columns={"kind": "deviation", "loss": "others lose", "bound": "at most", "words": "how"})
    return rendered(
        "fedabm.auditing",
        "card.html",
        card=card,
        statuses=STATUSES,
        glossary=GLOSSARY,
        kinds=KINDS,
        deviations=shown(table, "The best deviation of each kind", "∞: nothing is proven; –: it means nothing here."),
        picture=from_figure(card_picture(card), "The card as one picture", alt),
    )


def write_card(card: Card, folder: str | Path) -> list[Path]:
    """Write everything and say where; what a killed process left of it goes."""
    home, pictures = Path(folder), ("png", "pdf")
    writers: dict[str, Callable[[Path], Any]] = {
        "card.html": partial(_put, page(card)),
        "card.json": partial(_put, json.dumps(card.as_dict(), indent=2)),
        "claims.csv": partial(write_table, card.frame()),
        "deviations.csv": partial(write_table, card.deviations()),
        **{f"card.{kind}": partial(_draw, card_picture(card), kind) for kind in pictures},
    }
    with new_folder(home, _REMEDY):
        clear_drafts(home, writers)
        for name, writer in writers.items():
            with draft(home / name, _REMEDY) as path:
                writer(path)
    return [home / name for name in writers]


def _put(text: str, path: Path) -> None:
    path.write_text(text, "utf-8")


def _draw(figure: Figure, kind: str, path: Path) -> None:
    figure.savefig(path, format=kind, dpi=200, facecolor="white")
