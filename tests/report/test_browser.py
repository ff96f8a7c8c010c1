"""Headless Chromium shows every report whole, and the page asks for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedabm.auditing.league_page import league_page
from fedabm.auditing.recording import read_league
from fedabm.papers.ledger.records import home
from tests.browser import CHROMIUM, Browser


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; on Debian: apt-get install chromium")
def test_chromium_shows_everything_and_asks_for_nothing(pages: dict[str, str], tmp_path: Path) -> None:
    """Figures are visible, tables filled, no request leaves the page, nothing is logged; on wide and narrow screens."""
    with Browser() as browser:
        for name, text in pages.items():
            file = tmp_path / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            for width in (1400, 400):
                browser.resize(width)
                browser.open(file)
                seen = browser.run(_LOOK)
                assert len(seen["images"]) == text.count("<img ") > 0
                assert all(natural > 100 and seen_ > 100 and high > 50 for natural, seen_, high in seen["images"])
                assert all(0 < frame <= width for frame in seen["frames"])
                assert seen["tables"]
                assert [(rows > 0, blank) for rows, blank in seen["tables"]] == [(True, [])] * len(seen["tables"])
                assert seen["width"] <= width
                assert seen["cut"] == ([] if width == 1400 else seen["cued"])  # who scrolls says so
                browser.screenshot(tmp_path / f"{name}-{width}.png")
        browser.open(tmp_path / "run.html")  # on the narrow screen: panels side by side scroll, they do not shrink
        assert browser.run("document.querySelector('figure.wide img').getBoundingClientRect().width") > 600
        assert browser.complaints == []
        asked = [url for url in browser.requests if not url.startswith("data:image/png;base64,")]
        assert set(asked) == {(tmp_path / f"{name}.html").as_uri() for name in pages}


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; on Debian: apt-get install chromium")
def test_chromium_shows_the_recorded_league_without_scrolling_sideways(tmp_path: Path) -> None:
    """The page of what is recorded: its sections, sentences and tables, also those that are opened, fit two screens."""
    found = read_league(home() / "league")
    text = league_page(found)
    file = tmp_path / "league.html"
    file.write_text(text.replace("<details", "<details open"), encoding="utf-8")
    with Browser() as browser:
        for width in (1400, 400):
            browser.resize(width)
            browser.open(file)
            seen = browser.run(_LOOK)
            assert seen["width"] <= width
            assert all(natural > 100 and high > 50 for natural, _, high in seen["images"])
            assert len(seen["images"]) == 2 * len(found.worlds)
            assert len(seen["tables"]) >= 5 * len(found.worlds)
            assert all(rows > 0 for rows, _ in seen["tables"])
            assert width == 1400 or seen["cut"] == seen["cued"]  # who scrolls says so
            sections = browser.run("[...document.querySelectorAll('main > section')].map(one => one.id)")
            assert sections == ["said", "figures", "tables", "parts"]
            assert browser.run("document.querySelectorAll('#said .concerns > li').length") == 3
            assert browser.run("document.querySelectorAll('section.world').length") == len(found.worlds)
        assert browser.complaints == []


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; on Debian: apt-get install chromium")
def test_the_browser_notices_pages_that_are_not_self_contained(tmp_path: Path) -> None:
    file = tmp_path / "bad.html"
    file.write_text("<html><img src='http://elsewhere.invalid/x.png'><script>console.error('oh'); no()</script></html>")
    with Browser() as browser:
        browser.open(file)
        assert "http://elsewhere.invalid/x.png" in browser.requests
        assert any("oh" in one for one in browser.complaints)
        assert any("is not defined" in one for one in browser.complaints)


_LOOK = """(() => {
  const size = image => [image.naturalWidth, image.getBoundingClientRect().width, image.getBoundingClientRect().height];
  const cells = table => [...table.querySelectorAll('th, td')];
  const blank = table => cells(table).filter(cell => !cell.innerText).map(cell => cell.outerHTML);
  const open = [...document.querySelectorAll('table')].filter(table => !table.closest('details:not([open])'));
  const tables = open.map(table => [table.tBodies[0].rows.length, blank(table)]);
  const frames = [...document.images].map(image => image.closest('.scroll').getBoundingClientRect().width);
  const width = document.documentElement.scrollWidth;
  const beyond = [...document.querySelectorAll('.scroll')].filter(one => one.scrollWidth > one.clientWidth + 1);
  const cue = one => one.previousElementSibling?.matches('.cue') && one.previousElementSibling.offsetHeight > 0;
  const names = some => some.map(one => one.getAttribute('aria-label'));
  const images = [...document.images].map(size), cut = names(beyond), cued = names(beyond.filter(cue));
  return {cut: cut, cued: cued, images: images, frames: frames, tables: tables, width: width};
})()"""
