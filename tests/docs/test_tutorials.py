"""Every tutorial and how-to page works as it stands: its Python runs in order, its commands exit with 0."""

import re
import shlex
import sys
from pathlib import Path

import matplotlib
import pytest

from fedabm.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.md"), *DOCS.glob("howto/*.md")])


def blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```(python|console)\n(.*?)^```", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.fixture
def forgotten(tmp_path, monkeypatch):
    """Files that a page writes and names are modules of this test only."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_it_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    module = type(sys)(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, str(page), "exec"), module.__dict__)
            continue
        for line in re.findall(r"^\$ (.*)$", text, flags=re.MULTILINE):
            words = shlex.split(line, comments=True)
            assert words[0] == "fedabm", line
            assert main(words[1:]) == 0, line


def test_there_is_a_tutorial_for_everybody():
    assert {page.stem for page in DOCS.glob("tutorials/*.md")} == {
        "student", "analyst", "consortium", "economist", "engineer", "frameworks", "mesa", "security", "reviewer",
    }  # fmt: skip


def test_what_the_student_is_told_comes_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    known: dict = {"__name__": "page"}
    for _, text in blocks(DOCS / "tutorials" / "student.md"):
        exec(compile(text, "student", "exec"), known)
    told = capsys.readouterr().out
    assert "[2.162 0.   ]" in told
    assert "[2.998 1.169] 1.93" in told
