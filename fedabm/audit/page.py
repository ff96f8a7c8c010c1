"""A card written to a folder: one HTML page that needs nothing else, frames, JSON, and the picture as PNG and PDF."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined

import fedabm
from fedabm.audit.card import Card
from fedabm.audit.claims import STATUSES
from fedabm.audit.deviations import KINDS
from fedabm.audit.pictures import card_picture
from fedabm.common.files import write
from fedabm.report.images import from_figure
from fedabm.report.tables import shown

__all__ = ["page", "write_card"]


def page(card: Card) -> str:
    """The card as HTML; the same card gives the same text."""
    text = resources.files("fedabm.audit").joinpath("card.html").read_text(encoding="utf-8")
    style = resources.files("fedabm.report").joinpath("page.html").read_text(encoding="utf-8")
    style = style.partition("<style>")[2].partition("</style>")[0]
    make = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    worst = card.flaws[0].flaw if card.flaws else "no flaw was found"
    alt = f"The card of {card.rule} as one picture: {worst}; all claims with their status, and gains by deviation."
    table = card.deviations().drop(columns=["rule", "owner"])
    table = table.rename(columns={"kind": "deviation", "loss": "others lose", "bound": "at most", "words": "how"})
    return make.from_string(text).render(
        card=card,
        style=style,
        statuses=STATUSES,
        kinds=KINDS,
        deviations=shown(table, "The best deviation of each kind", "∞: nothing is proven; –: it means nothing here."),
        picture=from_figure(card_picture(card), "The card as one picture", alt),
        version=fedabm.__version__,
    )


def write_card(card: Card, folder: str | Path) -> list[Path]:
    """Write everything and say where."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    remedy = "give another --out DIR"
    written = [write(home / "card.html", page(card), remedy)]
    written.append(write(home / "card.json", json.dumps(card.as_dict(), indent=2), remedy))
    for name, frame in (("claims", card.frame()), ("deviations", card.deviations())):
        frame.to_csv(home / f"{name}.csv", index=False)
        written.append(home / f"{name}.csv")
    for kind in ("png", "pdf"):
        path = home / f"card.{kind}"
        card_picture(card).savefig(path, dpi=200, facecolor="white")
        written.append(path)
    return written
