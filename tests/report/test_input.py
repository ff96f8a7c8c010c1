"""Folders that are damaged, of another version, hostile or empty; files that cannot be written."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fedabm.cli import main
from fedabm.mechanisms import ContributionSubsidy
from fedabm.report.images import from_bytes
from fedabm.report.page import page, write_report
from fedabm.results.seals import sealed
from tests.report.folders import Outline, saved, small

EVIL = "<script>alert(1)</script>&\"'<img src=http://x.invalid/y onerror=alert(2)>"


def other_format(folder: Path) -> None:
    changed(folder, format=7, versions={"fedabm": "9.0"})


def without_column(folder: Path) -> None:
    """As a version of before there were digests might have written it."""
    frame = pd.read_parquet(folder / "owners.parquet")
    frame.drop(columns="utility").to_parquet(folder / "owners.parquet")
    changed(folder, digests=None)


def changed(folder: Path, **values: Any) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(sealed(manifest | values))


def of_another_run(folder: Path) -> None:
    other = saved(folder.with_name("other"), small(ContributionSubsidy(0.002)))
    (folder / "owners.parquet").write_bytes((other / "owners.parquet").read_bytes())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "manifest.json").unlink(), "holds no run"),
        (lambda folder: (folder / "manifest.json").write_text("{"), "manifest.json cannot be read"),
        (lambda folder: (folder / "manifest.json").write_text("[]"), "manifest.json cannot be read"),
        (lambda folder: (folder / "owners.parquet").write_bytes(b"x"), "owners.parquet cannot be read"),
        (other_format, "is in format 7, written by fedabm 9.0, but this version reads format 1; use the version"),
        (without_column, "the owners frame lacks utility"),
        (of_another_run, "owners.parquet cannot be read (it is not what was saved there, but damaged or another"),
        (lambda folder: (folder / "manifest.json").write_text("[" * 100_000), "(it is nested too deeply)"),
        (lambda folder: (folder / "sweep.json").write_text("[" * 100_000), "sweep.json cannot be read (it is nested"),
        (lambda folder: changed(folder, files=5), "manifest.json names no list of files, got 5; run the study again"),
        (lambda folder: changed(folder, digests=5), "runs.parquet cannot be read"),
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


def test_a_file_of_another_kind_is_never_overwritten(
    tmp_path: Path, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "study.toml"
    mine.write_text("question = 'mine'")
    assert main(["report", str(folders["market"]), "--html", str(mine)]) == 2
    assert "is no report of ours and is left alone" in capsys.readouterr().err
    assert mine.read_text() == "question = 'mine'"


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
