"""The page in a real Chromium: choose, play, pause, change; nobody without the token, nothing from outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import CHROMIUM
from tests.waiting import PATIENCE

pytest.importorskip("nicegui", reason="NiceGUI is not installed; pip install 'fedabm[live]'")
playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed; pip install playwright")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed; on Debian: apt-get install chromium"
)

STUDY = """
question = "Who gives <b>what</b>?"
accuracy = { kind = "power_law", exponent = 0.5 }
steps = 30
[mechanisms]
"no payments" = "no_payments"
"<i>shares</i>" = "shapley_share"
[[owners]]
name = "<script>window.hacked = 1</script>"
cost = 0.002
data = 300
[[owners]]
name = "<img src=x onerror='window.hacked = 1'>"
cost = 0.003
data = 500
strategy = { kind = "liar", truth = "best_response", contribution_factor = 2.0 }
[[groups]]
name = "general practice"
count = 3
cost = 0.004
data = 100
strategy = "random"
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address and the token of a page that is not for this machine only, served by the command as users call it."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "study.toml").write_text(STUDY, "utf-8")
    command = [sys.executable, "-m", "fedabm", "live", "study.toml", "--host", "0.0.0.0", "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    ) as process:
        try:
            line = process.stdout.readline()
            found = re.search(r"http://0\.0\.0\.0:(\d+)/\?token=(\S+)", line)
            assert found, line
            yield f"http://127.0.0.1:{found[1]}/", found[2]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu"]
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=flags, timeout=1e3 * PATIENCE)
        chromium.new_context().close()
        yield chromium
        chromium.close()


def charts(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('section canvas')].map(one => one.toDataURL())")


def settled(page: Any, text: str) -> None:
    """Wait until the page shows this step, and nothing is on its way."""
    page.wait_for_function(
        "text => document.querySelector('.fed-at:not(.fed-busy)')?.innerText.startsWith(text)", arg=text
    )


def paused(page: Any) -> int:
    """Wait until no step is on its way any more, and the address tells the step that is shown; which step that is."""
    script = """() => {
        const at = document.querySelector('.fed-at:not(.fed-busy)')?.innerText.match(/^step (\\d+) of \\1/);
        const plays = document.querySelector('.fed-play').innerText.includes('pause');
        return at && !plays && new URLSearchParams(location.search).get('step') == at[1] ? Number(at[1]) : null;
    }"""
    return page.wait_for_function(script).json_value()


def says(page: Any, selector: str, text: str, place: int = 0) -> None:
    """Wait until a part of the page has a text."""
    script = "([selector, place, text]) => document.querySelectorAll(selector)[place]?.innerText.includes(text)"
    page.wait_for_function(script, arg=[selector, place, text])


def changed(page: Any, before: list[str], least: int) -> None:
    """Wait until this many charts do not look as before."""
    script = """([before, least]) => {
        const now = [...document.querySelectorAll('section canvas')];
        return now.length == before.length && now.filter((one, i) => one.toDataURL() != before[i]).length >= least;
    }"""
    page.wait_for_function(script, arg=[before, least])


#: texts of the charts that do not fit into them, and the widths of all
_CUT_OFF = """() => [...document.querySelectorAll('.fed-chart, .fed-graph')].map(place => {
    const chart = getElement(Number(place.id.slice(1))).chart;
    const texts = chart.getZr().storage.getDisplayList(true).filter(one => one.type == 'tspan' && !one.ignore);
    const cut = texts.filter(one => {
        const box = one.getBoundingRect().clone();
        if (one.getComputedTransform()) box.applyTransform(one.getComputedTransform());
        const right = box.x + box.width, bottom = box.y + box.height;
        return Math.min(box.x, box.y) < 0 || right > chart.getWidth() || bottom > chart.getHeight();
    });
    return {width: chart.getWidth(), all: texts.map(one => one.style.text), cut: cut.map(one => one.style.text)};
})"""


def fits(page: Any, width: int) -> None:
    """On a screen of this width nothing is cut off, and every owner is named in the graphs."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    whole = "all.every(one => one.width <= width && !one.cut.length) && all"
    script = f"width => {{ const all = ({_CUT_OFF})(); return {whole}; }}"
    try:  # charts follow their frames, and their texts follow the charts, a little later
        drawn = page.wait_for_function(script, arg=width).json_value()
    except playwright.TimeoutError:
        drawn = page.evaluate(f"({_CUT_OFF})()")
    assert [one["cut"] for one in drawn] == [[]] * 16
    named = {text for one in drawn for text in one["all"]}
    assert {f"...tice {number}" for number in (1, 2, 3)} <= named


def test_choose_play_pause_and_change(served: tuple[str, str], browser: Any, tmp_path: Path) -> None:
    address, token = served
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(1e3 * PATIENCE)
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    assert page.goto(address).status == 403  # nobody without the token
    assert "token" in page.inner_text("body")
    assert page.goto(f"{address}?token=wrong").status == 403
    page.goto(f"{address}?token={token}")
    page.wait_for_function("document.querySelectorAll('section canvas').length == 16")
    page.wait_for_function("token => !location.href.includes(token)", arg=token)
    assert [text.strip() for text in page.locator("section h2").all_inner_texts()] == ["no payments", "<i>shares</i>"]
    before = charts(page)

    page.click(".fed-play")
    page.wait_for_function("parseInt(document.querySelector('.fed-at').innerText.split(' ')[1]) >= 3")
    page.click(".fed-play")  # pause: what is shown stays
    step = paused(page)
    assert step >= 3
    changed(page, before, least=12)
    says(page, ".fed-events", "lied", place=1)
    page.click(".fed-step")
    settled(page, f"step {step + 1} of {step + 1}")
    page.click(".fed-rewind")
    settled(page, f"step 0 of {step + 1}")

    for width in (400, 1400):
        fits(page, width)

    # Names are shown as they are and never run.
    page.click("section .fed-owner >> nth=0")
    page.get_by_role("option", name="<script>window.hacked = 1</script>").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("window.hacked") is None

    # Another mixture and another mechanism: nothing changes until it is applied, then everything restarts.
    page.locator(".fed-part input[type=number]").nth(2).fill("0")
    page.locator(".fed-mechanism").click()
    page.keyboard.type("cost_sh")
    page.get_by_role("option", name="cost_sharing").click()
    page.wait_for_selector(".fed-note:visible")
    assert page.locator("section h2").first.inner_text().strip() == "no payments"
    page.click(".fed-apply")
    page.wait_for_function("document.querySelector('section h2').innerText.trim() == 'cost sharing'")
    settled(page, "step 0 of 0")
    page.wait_for_selector(".fed-note", state="hidden")
    page.wait_for_function("!document.querySelector('.fed-legend').innerText.includes('random')")
    page.click(".fed-step")
    settled(page, "step 1 of")
    page.wait_for_url(lambda url: "mixture=0+random" in url and "mechanism=cost_sharing" in url)

    # An error is one line on the page, and what runs stays.
    page.locator(".fed-part input[type=number]").nth(0).fill("0")
    page.locator(".fed-part input[type=number]").nth(1).fill("0")
    page.click(".fed-apply")
    page.wait_for_selector(".fed-trouble:visible")
    says(page, ".fed-trouble", "shares of 0")
    assert page.inner_text(".fed-trouble").count("\n") == 0
    assert page.locator("section h2").first.inner_text().strip() == "cost sharing"

    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 400")
    page.screenshot(path=tmp_path / "narrow.png")
    assert {url.split("/")[2] for url in asked if not url.startswith(("data:", "blob:"))} == {address.split("/")[2]}
    assert complaints == []
    assert page.evaluate("window.hacked") is None
    page.close()
