"""Links and files of others in a folder of results are neither overwritten nor deleted."""

import json
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedabm.cli import main
from fedabm.common.errors import InputError, UnreadableError
from fedabm.common.files import clear_drafts, locked, write
from fedabm.report.page import write_report
from fedabm.results import parts
from fedabm.results.design import read_design
from fedabm.sweep import Grid, Sweep
from tests.report.folders import saved, small
from tests.sweep.targets import build

SWEEP = Sweep(build, Grid(rate=[0.1]), steps=1)


@pytest.fixture
def precious(tmp_path):
    file = tmp_path / "precious.txt"
    file.write_text("precious")
    yield file
    assert file.read_text() == "precious"


def test_a_link_is_not_written_through_nor_replaced(tmp_path, precious):
    link = tmp_path / "link"
    link.symlink_to(precious)
    for use in (lambda: write(link, "x"), lambda: locked(link, "busy").__enter__()):
        with pytest.raises(InputError, match="is a link and is left alone"):
            use()
    assert link.is_symlink()


@pytest.mark.parametrize("name", ["sweep.json", "lock", "parts", "running"])
def test_a_sweep_refuses_links_in_its_folder(tmp_path, precious, name):
    folder, elsewhere = tmp_path / "sweep", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".notes.part").touch()
    folder.mkdir()
    (folder / name).symlink_to(elsewhere if name in ("parts", "running") else precious)
    with pytest.raises(InputError, match=r"is a link and is left alone|holds other files"):
        SWEEP.run(folder, "serial", quiet=True)
    assert [path.name for path in elsewhere.iterdir()] == [".notes.part"]


def test_a_study_refuses_links_in_its_folder(tmp_path, precious, capsys):
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / ".running").symlink_to(elsewhere)
    assert main(["run", "step_size_region", "--quiet", "--out", str(folder)]) == 2
    assert "is a link and is left alone" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []
    assert (folder / ".running").is_symlink()


def test_a_sweep_leaves_files_of_others_where_they_are(tmp_path):
    """Also when it goes on, tidies up and puts another design in place."""
    SWEEP.run(tmp_path, "serial", quiet=True)
    names = ["design-notes.parquet", ".notes.part", "running/notes.txt", "running/run.checkpoint", "parts/.mine.part"]
    for name in (*names, "parts/notes.md"):
        (tmp_path / name).write_text("mine")
    Sweep(build, Grid(rate=[0.1, 0.2]), steps=1).run(tmp_path, "serial", quiet=True)
    for name in (*names, "parts/notes.md"):
        assert (tmp_path / name).read_text() == "mine"


def test_a_part_cannot_have_files_outside_its_folder_deleted(tmp_path, precious):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "mine.txt").touch()
    names = ["../precious.txt", str(precious), "mine.txt", 3, "0" * 32 + ".parquet"]
    (folder / names[-1]).touch()
    table = pa.table({"key": ["a"]}).replace_schema_metadata({b"replaces": json.dumps(names).encode()})
    pq.write_table(table, folder / ("f" * 32 + ".parquet"))
    parts.tidy(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["f" * 32 + ".parquet", "mine.txt"]


def test_a_manifest_cannot_point_outside_its_folder(tmp_path, precious):
    manifest = {"format": 1, "list": "../precious.txt"}
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "sweep.json").write_text(json.dumps(manifest))
    with pytest.raises(UnreadableError, match="has no list of jobs"):
        read_design(tmp_path / "sweep")


def test_only_drafts_of_ours_are_cleared(tmp_path):
    for name in (".notes.part", ".file.0123abcd.part", "file.part"):
        (tmp_path / name).touch()
    clear_drafts(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".notes.part", "file.part"]


def test_a_report_replaces_reports_only(tmp_path, precious):
    folder = saved(tmp_path / "run", small(steps=2))
    mine = folder / "report.html"
    mine.write_text("<html>my own notes</html>")
    with pytest.raises(InputError, match="is no report of ours and is left alone; give another place with --html"):
        write_report(folder)
    assert mine.read_text() == "<html>my own notes</html>"
    mine.unlink()
    assert write_report(folder) == write_report(folder) == mine
    mine.unlink()
    os.symlink(precious, mine)
    with pytest.raises(InputError, match=r"is no report of ours|is a link"):
        write_report(folder)
    with pytest.raises(InputError, match="is a link"):
        write_report(folder, mine)
