"""The card as page, frames, JSON and picture; in a real browser nothing is cut off, wide or narrow."""

import json

import pandas as pd
import pytest

from fedabm.auditing.card import Card, Thoroughness, audit
from fedabm.auditing.claims import STATUSES
from fedabm.auditing.deviations import KINDS
from fedabm.auditing.page import page, write_card
from fedabm.auditing.pictures import card_picture
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.solving.game import Game
from tests.browser import CHROMIUM, Browser


@pytest.fixture(scope="module")
def card() -> Card:
    return audit(Game(PowerLaw(), [0.1, 0.2], 10.0, ContributionSubsidy(0.05)), thoroughness=Thoroughness.quick())


def test_no_claim_is_a_bare_tick(card):
    for claim in card.claims:
        assert claim.status in STATUSES
        assert len(claim.words) > 10
        assert claim.status != "theorem" or claim.reference


def test_every_kind_is_tried_or_skipped_with_a_reason(card):
    tried = {one.kind for one in card.tried}
    assert tried | set(card.skipped) == set(KINDS)
    assert not tried & set(card.skipped)
    assert list(card.deviations()["kind"]) == list(KINDS)


def test_everything_is_written(card, tmp_path):
    paths = {path.name: path for path in write_card(card, tmp_path / "card")}
    assert set(paths) == {"card.html", "card.json", "claims.csv", "deviations.csv", "card.png", "card.pdf"}
    kept = json.loads(paths["card.json"].read_text())
    assert kept["flaws"][0] == "rewards lying"
    assert len(pd.read_csv(paths["claims.csv"])) == len(card.claims)
    assert paths["card.png"].read_bytes().startswith(b"\x89PNG")
    assert paths["card.pdf"].read_bytes().startswith(b"%PDF")


def test_what_a_user_wrote_is_escaped(card):
    from dataclasses import replace

    assert "<script>alert" not in page(replace(card, rule="<script>alert(1)</script>"))


def test_no_words_of_the_picture_leave_it(card):
    figure = card_picture(card)
    figure.canvas.draw()
    drawn = figure.axes[0].get_window_extent()
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert box.x1 <= drawn.x1 + 1, text.get_text()
        assert box.y0 >= drawn.y0 - 1, text.get_text()


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; on Debian: apt-get install chromium")
def test_a_browser_shows_all_of_it(card, tmp_path):
    file = tmp_path / "card.html"
    file.write_text(page(card), encoding="utf-8")
    with Browser() as browser:
        for width in (1400, 400):
            browser.resize(width)
            browser.open(file)
            assert browser.run("document.documentElement.scrollWidth") <= width
            # what is wider than its place scrolls inside a region of its own
            assert browser.run(_CUT) == []
            assert browser.run("document.images[0].naturalWidth") > 100
        assert browser.complaints == []
        assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


_CUT = """
[...document.querySelectorAll("h1, h2, h3, p, li, td, th, figcaption, span")]
  .filter(e => !e.closest(".scroll") && !e.classList.contains("skip") && e.offsetParent !== null)
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1 || e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .map(e => e.textContent.slice(0, 60))
"""
