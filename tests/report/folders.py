"""What the tests of reports share: small folders, and a page taken apart."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from fedabm import Frames, Scenario, population, save
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy, Mechanism
from fedabm.report.concerns import concerns
from fedabm.report.folder import read
from fedabm.simulation.activation import Sequential
from fedabm.strategies import BestResponse
from tests.conftest import run


class Outline(HTMLParser):
    """What a page is made of: tags with their attributes, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text, self._inside = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        self.text += "" if self._inside == "style" else data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def saved(folder: Path, *parts: Frames, **manifest: Any) -> Path:
    save(Frames.join(parts), folder, {"scenario": "mine", **manifest})
    return folder


def small(mechanism: Mechanism | None = None, steps: int = 30, **changes: Any) -> Frames:
    owners = population([0.01, 0.02, 0.03], 10.0, changes.pop("strategies", BestResponse()))
    rule = mechanism or ContributionSubsidy(0.001)
    return run(Scenario(owners, PowerLaw(), rule, Sequential(), steps=steps)).frames("some rule")


def warned(folder: Path) -> str:
    return " ".join(f"{one.level}: {one.text} {' '.join(one.details)}" for one in concerns(read(folder)))
