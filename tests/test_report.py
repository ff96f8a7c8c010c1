"""One HTML page from any folder: what it says, that it needs nothing else, and that Chromium shows it."""

from __future__ import annotations

import html
import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fedabm
from fedabm import Frames, Scenario, population, save
from fedabm.accuracy import PowerLaw
from fedabm.activation import Sequential
from fedabm.cli import main
from fedabm.mechanisms import ContributionSubsidy, Mechanism
from fedabm.report.concerns import concerns
from fedabm.report.facts import specification
from fedabm.report.images import from_bytes
from fedabm.report.page import page, write_report
from fedabm.report.source import read
from fedabm.strategies import BestResponse, FreeRider, Honest, Quitter
from fedabm.sweep import Cells, Grid, LatinHypercube, OneAtATime, Sweep
from fedabm.sweep.spec import sweep_of
from tests.browser import CHROMIUM, Browser
from tests.conftest import Says, run
from tests.sweep.targets import Walk, trouble

EVIL = "<script>alert(1)</script>&\"'<img src=http://x.invalid/y onerror=alert(2)>"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run, a sweep with failures, the market, and a sweep over a Mesa model that is no federation."""
    root = tmp_path_factory.mktemp("folders")
    made = {name: root / name for name in ("run", "failures", "market", "mesa")}
    assert main(["run", "free_riding", "--set", "owners=6", "--quiet", "--out", str(made["run"])]) == 0
    assert main(["run", "market_theory", "--quiet", "--out", str(made["market"])]) == 0
    Sweep(trouble, Grid(kind=["none", "raise"]), seeds=2).run(made["failures"], "serial", quiet=True)
    Sweep(Walk, Grid(walkers=[2, 3]), seeds=2).run(made["mesa"], "serial", quiet=True)
    return made


@pytest.fixture(scope="module")
def pages(folders: dict[str, Path]) -> dict[str, str]:
    return {name: page(folder) for name, folder in folders.items()}


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


# The page


@pytest.mark.parametrize("name", ["run", "failures", "market", "mesa"])
def test_the_page_is_complete_light_and_needs_nothing_else(name: str, pages: dict[str, str]) -> None:
    text = pages[name]
    outline = Outline(text)
    assert len(text) < 1_500_000
    for heading in ("Warnings", "What was run", "Headline", "How to repeat it"):
        assert heading in outline.text
    assert outline.all("img")
    assert all(str(image["src"]).startswith("data:image/png;base64,") for image in outline.all("img"))
    assert not outline.all("script")
    links = [str(link["href"]) for link in (*outline.all("a"), *outline.all("link"))]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"url\(|@import|https?://", text)
    anchors = {attributes.get("id") for _, attributes in outline.tags}
    assert {link[1:] for link in links if link.startswith("#")} <= anchors


@pytest.mark.parametrize("name", ["run", "failures", "market", "mesa"])
def test_the_page_can_be_read_without_seeing_it(name: str, pages: dict[str, str]) -> None:
    outline = Outline(pages[name])
    assert outline.all("html")[0]["lang"] == "en"
    assert all(len(str(image["alt"])) > 20 and image["width"] and image["height"] for image in outline.all("img"))
    assert all(header.get("scope") in ("col", "row") for header in outline.all("th"))
    assert len(outline.all("table")) == len(outline.all("caption")) > 0
    assert all(region.get("aria-label") for region in outline.all("div") if region.get("role") == "region")


def test_the_same_folder_gives_the_same_page(folders: dict[str, Path], pages: dict[str, str]) -> None:
    assert page(folders["run"]) == pages["run"]


def test_a_run_is_described_with_its_numbers(folders: dict[str, Path], pages: dict[str, str]) -> None:
    frames, text = fedabm.load(folders["run"]), Outline(pages["run"]).text
    assert "Who contributes, who pays and who gains" in text
    assert "ContributionSubsidy(rate=0.012)" in text
    assert "fedabm run free_riding --seed 0 --set owners=6" in text
    for label in frames.runs["label"]:
        assert label in text
    for welfare in frames.steps.groupby("run")["welfare"].last():
        assert f"{welfare:,.4g}" in text
    for title in ("Outcomes by run", "Contributions over time", "Utility against contribution", "Who pays whom"):
        assert title in text
    assert "summary" in text


def test_failed_runs_are_told_with_reason_and_traceback(pages: dict[str, str]) -> None:
    text = Outline(pages["failures"]).text
    assert "2 of 4 runs failed" in text
    assert "2 x ValueError: no such market" in text
    assert 'raise ValueError("no such market")' in text
    assert "kind=raise" in text


def test_a_market_without_steps_shows_its_tables(pages: dict[str, str]) -> None:
    text = Outline(pages["market"]).text
    assert "under-stated" in text
    assert "attacker" in text
    assert "The scenario's own pictures" in text


def test_a_mesa_model_of_ones_own_is_reported_on(pages: dict[str, str]) -> None:
    text = Outline(pages["mesa"]).text
    assert "Model reporters over time" in text
    assert "walkers=2" in text
    assert "spread" in text


# How to repeat a sweep


@pytest.mark.parametrize(
    "design",
    [
        Grid(rate=[0.01, 0.02], owners=[5, 6]),
        OneAtATime({"rate": 0.01, "owners": 5}, rate=[0.01, 0.02]),
        Cells({"few": {"owners": 3}, "many, dear": {"owners": 9, "rate": 0.5}}),
        LatinHypercube({"rate": [0.1, 0.2], "owners": [3, 4]}, 4, seed=2),
    ],
)
@pytest.mark.parametrize("seeds", [3, [7, 8]])
def test_the_specification_gives_the_same_jobs(design: Any, seeds: Any, folders: dict[str, Path]) -> None:
    sweep = Sweep("free_riding", design, seeds, fixed={"liars": 2}, steps=4)
    source = replace(read(folders["failures"]), manifest=json.loads(json.dumps(sweep.describe())))
    again = sweep_of(tomllib.loads(specification(source)))
    assert [job.key for job in again.jobs] == [job.key for job in sweep.jobs]


def test_what_has_no_specification_has_none(folders: dict[str, Path]) -> None:
    source = read(folders["failures"])
    assert specification(replace(source, manifest={**source.manifest, "fixed": {"a": None}})) == ""
    assert specification(replace(source, manifest={**source.manifest, "design": []})) == ""


# Warnings


def test_nothing_to_warn_about(tmp_path: Path) -> None:
    folder = saved(tmp_path / "good", small())
    assert concerns(read(folder)) == []
    assert "Nothing to warn about" in page(folder)


def test_a_run_that_does_not_converge(tmp_path: Path) -> None:
    frames = small(steps=1)
    assert not frames.runs["converged"].iloc[0]
    assert "warning: 1 of 1 run did not converge" in warned(saved(tmp_path / "x", frames))


def test_owners_that_lose(tmp_path: Path) -> None:
    folder = saved(tmp_path / "x", small(ContributionSubsidy(0.5), strategies=[Honest(), Honest(), FreeRider()]))
    assert "warning: 1 of 3 owners with negative utility" in warned(folder)
    assert "1 x free_rider" in warned(folder)


def test_a_budget_that_does_not_balance(tmp_path: Path) -> None:
    frames = small()
    loose = replace(frames, steps=frames.steps.assign(server_balance=-0.25))
    assert "warning: The budget is not balanced in 1 of 1 run" in warned(saved(tmp_path / "x", loose))


def test_updates_that_were_dropped_and_owners_that_left(tmp_path: Path) -> None:
    odd = small(strategies=[Honest(), Says(float("nan")), Quitter(Honest(), 0.0)])
    told = warned(saved(tmp_path / "x", replace(odd, steps=odd.steps.assign(present=2))))
    assert re.search(r"warning: \d+ reports? or model updates unusable and dropped", told)
    assert "note: 1 owner left the federation" in told


def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    frames = small()
    owners = frames.owners.assign(utility=frames.owners["utility"].where(frames.owners["owner"] > 0, np.nan))
    folder = saved(tmp_path / "x", replace(frames, owners=owners))
    assert "problem: 1 owner with numbers that are not finite" in warned(folder)
    page(folder)


def test_interrupted_studies_and_unfinished_sweeps(tmp_path: Path, folders: dict[str, Path]) -> None:
    assert "problem: The study was interrupted" in warned(saved(tmp_path / "x", small(), complete=False))
    source = read(folders["failures"])
    more = replace(source, manifest={**source.manifest, "jobs": 9})
    assert any("5 of 9 jobs not done yet" in one.text for one in concerns(more))


def test_another_version_is_noted(tmp_path: Path) -> None:
    frames = small()
    old = replace(frames, runs=frames.runs.assign(fedabm="0.0.1"))
    assert f"note: Written by fedabm 0.0.1, drawn by {fedabm.__version__}" in warned(saved(tmp_path / "x", old))


def test_rest_away_from_equilibrium_and_gaps_that_are_not_certified(tmp_path: Path) -> None:
    frames = small()
    parts = [replace(frames, runs=frames.runs.assign(converged=True, gap=gap)) for gap in (0.1, np.inf)]
    told = warned(saved(tmp_path / "x", *parts))
    assert "note: 1 run came to rest away from equilibrium" in told
    assert "note: 1 run without a certified gap" in told


# Bad input


def other_format(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"format": 7, "versions": {"fedabm": "9.0"}}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def without_column(folder: Path) -> None:
    frame = pd.read_parquet(folder / "owners.parquet")
    frame.drop(columns="utility").to_parquet(folder / "owners.parquet")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "holds no run"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "manifest.json cannot be read"),
        (lambda folder: (folder / "owners.parquet").write_bytes(b"x"), "owners.parquet cannot be read"),
        (other_format, "is in format 7, written by fedabm 9.0, but this version reads format 1; use the version"),
        (without_column, "the owners frame lacks utility"),
    ],
)
def test_bad_folders_get_one_line(
    damage: Callable[[Path], Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved(tmp_path / "x", small())
    damage(folder)
    assert main(["report", str(folder)]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.strip().splitlines()) == 1
    assert not (folder / "report.html").exists()


def test_a_folder_that_is_none_and_a_file_that_cannot_be_written(
    tmp_path: Path, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert "holds no run" in capsys.readouterr().err
    for target in (tmp_path, tmp_path / "no" / "such" / "folder.html"):
        assert main(["report", str(folders["market"]), "--html", str(target)]) == 2
        assert "give another --html FILE" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_where_the_page_is(
    tmp_path: Path, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(folders["market"]), "--html", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == f"Report: {tmp_path / 'page.html'}\n"
    assert write_report(folders["market"]) == folders["market"] / "report.html"
    assert (tmp_path / "page.html").read_text() == (folders["market"] / "report.html").read_text()
    (folders["market"] / "report.html").unlink()


def test_what_a_folder_says_is_never_taken_for_html(tmp_path: Path) -> None:
    frames = small()
    named = pd.Categorical([EVIL] * len(frames.owners))
    evil = replace(
        frames, runs=frames.runs.assign(label=EVIL, mechanism=EVIL), owners=frames.owners.assign(strategy=named)
    )
    folder = saved(tmp_path / "x", evil, repeat=EVIL, parameters={EVIL: EVIL}, versions={"a": EVIL})
    pd.DataFrame({EVIL: [EVIL]}).to_csv(folder / "evil.csv", index=False)
    outline = Outline(page(folder))
    assert not outline.all("script")
    assert all("onerror" not in attributes for _, attributes in outline.tags)
    assert EVIL in outline.text
    assert html.escape(EVIL, quote=False) in html.escape(outline.text, quote=False)


def test_files_that_are_no_pictures_or_tables_are_left_out_and_told(tmp_path: Path) -> None:
    folder = saved(tmp_path / "x", small())
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    (folder / "empty.csv").write_bytes(b"")
    text = Outline(page(folder)).text
    assert "broken.png" in text
    assert "empty.csv" in text
    with pytest.raises(ValueError, match="no picture"):
        from_bytes(b"nothing", "title", "alt")


def test_an_empty_study_has_a_page(tmp_path: Path) -> None:
    text = Outline(page(saved(tmp_path / "x"))).text
    assert "It has none" in text
    assert "Nothing to warn about" in text


# In a browser


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; on Debian: apt-get install chromium")
def test_chromium_shows_everything_and_asks_for_nothing(pages: dict[str, str], tmp_path: Path) -> None:
    """Figures are visible, tables filled, no request leaves the page, nothing is logged; on wide and narrow screens."""
    with Browser() as browser:
        for name, text in pages.items():
            file = tmp_path / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            for width in (1280, 375):
                browser.resize(width)
                browser.open(file)
                seen = browser.run(_LOOK)
                assert len(seen["images"]) == text.count("<img ") > 0
                assert all(
                    natural > 100 and 100 < shown <= width and high > 50 for natural, shown, high in seen["images"]
                )
                assert seen["tables"]
                assert [(rows > 0, blank) for rows, blank in seen["tables"]] == [(True, [])] * len(seen["tables"])
                assert seen["width"] <= width
                browser.screenshot(tmp_path / f"{name}-{width}.png")
        assert browser.complaints == []
        asked = [url for url in browser.requests if not url.startswith("data:image/png;base64,")]
        assert set(asked) == {(tmp_path / f"{name}.html").as_uri() for name in pages}


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
  return {images: [...document.images].map(size), tables: tables, width: document.documentElement.scrollWidth};
})()"""
