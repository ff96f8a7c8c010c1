"""Names that hold markup, quotes, escapes, formulas or marks of direction are shown as text, everywhere."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from fedabm import Scenario, population
from fedabm.common.texts import plain_cell, spreadsheet_cell, visible
from fedabm.games.accuracy import PowerLaw
from fedabm.report.page import page
from fedabm.results.tables import read_table, write_table
from fedabm.strategies import BestResponse, FreeRider
from fedabm.study.study import Study
from fedabm.sweep import Cells, Sweep
from tests.browser import CHROMIUM, Browser
from tests.sweep.targets import trouble

NAMES = (
    "<script>document.title='sprung'</script>",
    "\"'><img src=x onerror=document.title='sprung'>",
    "</title></style></caption><b>bold</b>&lt;",
    "\u202egnp.exe\u2066",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "[/b][red]not red[link=x]",
    r"$\frac{$ and $5",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[31mred\x07",
    "javascript:alert(1)",
    "Zürich 🙂 عربي",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which everything that can have a name has a hostile one."""
    study = Study(NAMES[0], 0, parameters={name: name for name in NAMES})
    owners = population([0.01, 0.02], 10.0, [BestResponse(), FreeRider()])
    for name in (*NAMES[:2], *NAMES[3:5], *NAMES[6:8]):
        study.simulate(Scenario(owners, PowerLaw(), steps=2), name)
    for place, name in enumerate(NAMES):
        study.table(pd.DataFrame({name: [name, "x"], "number": [1.0, -2.0]}), name, f"table{place}")
        study.note(name)
    study.save(tmp_path_factory.mktemp("hostile") / "run", f"fedabm run {NAMES[1]}")
    return tmp_path_factory.getbasetemp() / "hostile0" / "run"


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep with hostile names of cells, of which one fails."""
    folder = tmp_path_factory.mktemp("sweep")
    cells = {name: {"kind": "raise" if place == 1 else name} for place, name in enumerate(NAMES)}
    Sweep(trouble, Cells(cells)).run(folder, "serial", quiet=True)
    return folder


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed; on Debian: apt-get install chromium")
def test_chromium_shows_hostile_names_as_text(run: Path, sweep: Path, tmp_path: Path) -> None:
    with Browser() as browser:
        for kind, folder in {"run": run, "sweep": sweep}.items():
            file = tmp_path / f"{kind}.html"
            file.write_text(page(folder), encoding="utf-8")
            browser.open(file)
            browser.run("document.querySelectorAll('details').forEach(one => one.open = true)")
            shown = browser.run("document.body.innerText")
            assert [name for name in NAMES if " ".join(visible(name).split()) not in " ".join(shown.split())] == []
            assert "sprung" not in browser.run("document.title").replace(NAMES[0], "")
            assert browser.run("document.querySelectorAll('script, b, a[href^=javascript]').length") == 0
            assert browser.run("[...document.images].every(one => one.src.startsWith('data:'))")
            browser.screenshot(tmp_path / f"{kind}.png")
        assert browser.complaints == []
        asked = [url for url in browser.requests if not url.startswith("data:image/png;base64,")]
        assert set(asked) == {(tmp_path / f"{kind}.html").as_uri() for kind in ("run", "sweep")}


def test_no_mark_of_direction_and_no_escape_reaches_a_page(run: Path, sweep: Path) -> None:
    for folder in (run, sweep):
        text = page(folder)
        assert not any(sign in text for sign in "\u202e\u2066\x1b\x07")
        assert "\\u202egnp.exe\\u2066" in text


def test_spreadsheets_find_no_formula_and_readers_the_same_table(run: Path, tmp_path: Path) -> None:
    for file in sorted(run.glob("*.csv")):
        with file.open(newline="") as lines:
            cells = [cell for row in csv.reader(lines) for cell in row]
        assert cells
        assert [cell for cell in cells if cell[:1] in tuple("=@\t\r") or (cell[:1] in "+-" and "!" in cell)] == []
    table = pd.DataFrame({"=name": ["=1+1", "plain", None, "'quoted'", "'=x"], "x": [1.5, -2.0, None, 3.0, -0.0]})
    write_table(table, tmp_path / "table.csv")
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.csv"), table)


FORMULAS = ("=1+1", "-1+2+cmd|'x'!A0", "+cmd", "@SUM(A1)", "\tx", "'=x")
TEXTS = ("", "plain", "'quoted'", "-0.5", "+1e-5", "-3 ± 0.2", "-5%", "1=1")


def test_only_formulas_are_marked_and_come_back_as_they_were() -> None:
    assert [name for name in (*FORMULAS, *TEXTS) if spreadsheet_cell(name) != name] == list(FORMULAS)
    for name in (*NAMES, *FORMULAS, *TEXTS):
        assert plain_cell(spreadsheet_cell(name)) == name
