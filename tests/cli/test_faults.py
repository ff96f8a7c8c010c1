"""Odd names, pipes, folders that are gone and a disk that takes nothing: one line, exit code 2, nothing left behind."""

import errno
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

import fedabm.cli.audit
from fedabm import InputError, load
from fedabm.cli import main
from fedabm.common import files
from fedabm.comparison.example import EXAMPLE, GAME
from fedabm.papers.ledger import recording
from fedabm.results import streams
from fedabm.sweep import cluster
from tests.cli.test_cli import refused

pytestmark = pytest.mark.usefixtures("undrawn")

LONG = "x" * 300


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["/", ".", "..", f"{LONG}.toml", f"{LONG}/study.toml"])
def test_init_refuses_what_is_no_name_of_a_file(name, here, capsys):
    assert "; " in refused(["init", name], capsys)
    assert names(here) == []


def test_a_name_as_long_as_the_file_system_takes_can_be_written(here):
    name = "é" * 120 + ".toml"  # 245 bytes; a draft's own marks would not fit beside all of it
    assert main(["init", name]) == 0
    assert names(here) == [name]


def test_reports_of_and_to_long_names_are_refused(here, capsys):
    assert "holds no run" in refused(["report", LONG], capsys)
    Path("study.toml").write_text(EXAMPLE)
    assert main(["run", "study.toml", "--steps", "1", "--quiet", "--out", "done"]) == 0
    assert "File name too long" in refused(["report", "done", "--html", f"{LONG}.html"], capsys)


@pytest.mark.parametrize(
    ("address", "words"), [("nonsense", "must be local, auto or HOST:PORT"), ("127.0.0.1:1", "cannot reach Ray at")]
)
def test_a_cluster_that_is_none_is_refused_also_where_nothing_trains(address, words, here, capsys):
    command = ["run", "free_riding", "--steps", "1", "--quiet", "--out", "run", "--cluster", address]
    assert words in refused(command, capsys)
    assert names(here) == []


def test_a_cluster_that_nothing_needs_is_said_to_be_unused(capsys):
    Path("study.toml").write_text(EXAMPLE)
    for more in (["--cluster", "local"], []):
        assert main(["run", "study.toml", "--steps", "1", "--out", f"run{len(more)}", *more]) == 0
        assert ("No owners were spread over the cluster" in capsys.readouterr().out) is bool(more)
    Path("study.toml").write_text('cluster = { address = "local", workers = 2 }\n' + EXAMPLE)
    assert main(["run", "study.toml", "--steps", "1", "--out", "again"]) == 0
    assert "No owners were spread over the cluster of this study" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["solve"], ["audit"], ["run"], ["compare"], ["sweep"], ["live", "--no-browser"]])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(words, capsys):
    if words[0] == "live":
        pytest.importorskip("nicegui")
    os.mkfifo("pipe.toml")
    assert "cannot read pipe.toml: it is a pipe or a device" in refused([words[0], "pipe.toml", *words[1:]], capsys)


def test_a_pipe_in_place_of_a_script_is_told_as_what_it_is(capsys):
    os.mkfifo("p.py")
    assert "p.py is no ordinary file; give the path of a Python file" in refused(["run", "p.py"], capsys)


def test_more_seeds_than_a_comparison_can_have_are_refused(capsys):
    words = "seeds must be a whole number from 1 to 100000"
    Path("study.toml").write_text(EXAMPLE)
    for seeds in ("999999999999", "100001"):
        assert words in refused(["compare", "study.toml", "--seeds", seeds], capsys)
    Path("study.toml").write_text(EXAMPLE.replace("seeds = 1 ", "seeds = 999999999999 "))
    assert words in refused(["run", "study.toml"], capsys)


def test_more_populations_than_there_are_numbers_are_refused(capsys):
    assert "seeds must be a whole number from 1 to 100000" in refused(["league", "--seeds", "9" * 30], capsys)


@pytest.fixture
def no_work(monkeypatch):
    """Whoever gets as far as the work itself has failed."""

    def worked(*arguments, **options):
        raise AssertionError("all the work was done before the folder was looked at")

    monkeypatch.setattr(fedabm.cli.audit, "audit", worked)
    monkeypatch.setattr("fedabm.cli.league.league", worked)


@pytest.mark.parametrize("words", [["audit", "game.toml"], ["league", "--closed"]])
def test_a_folder_that_takes_no_files_is_noticed_before_any_work_is_done(words, no_work, here, capsys):
    Path("game.toml").write_text(GAME)
    said = refused([*words, "--out", "game.toml/x/y"], capsys)
    assert "cannot write to game.toml/x/y: Not a directory; give another --out DIR" in said
    assert names(here) == ["game.toml"]


def test_an_audit_that_is_refused_leaves_no_folder(here, capsys):
    Path("game.toml").write_text(GAME.replace("shapley_share", "shapley_shar"))
    assert "did you mean 'shapley_share'" in refused(["audit", "game.toml", "--out", "a/b"], capsys)
    assert names(here) == ["game.toml"]


def test_tables_of_an_audit_hold_no_formulas(here, monkeypatch, capsys):
    evil = "=HYPERLINK('http://x.invalid')"
    monkeypatch.setattr(fedabm.auditing.card.Card, "frame", lambda card: pd.DataFrame({"words": [evil, "-0.5"]}))
    Path("game.toml").write_text(GAME)
    (here / "out").mkdir()
    (here / "out" / ".card.html.0123abcd.part").write_text("of an audit that was killed")
    (here / "out" / ".other.0123abcd.part").write_text("somebody else's")
    assert main(["audit", "game.toml", "--quick", "--out", "out"]) == 0
    assert (here / "out" / "claims.csv").read_text() == f'words\n"\'{evil}"\n-0.5\n'.replace('"', "")
    assert [name for name in names(here) if name.endswith(".part")] == [".other.0123abcd.part"]


def test_drafts_of_a_report_that_was_killed_go_with_the_next(here):
    Path("study.toml").write_text(EXAMPLE)
    assert main(["run", "study.toml", "--steps", "1", "--quiet", "--out", "done"]) == 0
    for name in (".report.html.0123abcd.part", ".mine.html.0123abcd.part", ".report.html.part"):
        (here / "done" / name).write_text("half")
    assert main(["report", "done"]) == 0
    assert [name for name in names(here) if name.endswith(".part")] == [".mine.html.0123abcd.part", ".report.html.part"]


STUDY = '''
"""What becomes of a folder that is gone?"""
import shutil
from fedabm import Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.simulation.watching import Watcher

class Vandal(Watcher):
    def step(self, values):
        shutil.rmtree("out", ignore_errors=True)

def run(study, owners: int = 2) -> None:
    study.watchers.append(Vandal())
    study.simulate(Scenario(population([0.1] * owners, 5.0), PowerLaw(), steps=2))
'''


def test_a_folder_that_was_removed_is_not_called_full_and_the_run_ends_well(here, capsys):
    Path("gone.py").write_text(STUDY)
    assert main(["run", "gone.py", "--out", "out", "--quiet", "--checkpoint", "1e-9"]) == 0
    sys.modules.pop("gone", None)
    said = capsys.readouterr().err
    assert "no checkpoint at step 1" in said
    assert "removed" in said
    assert "space" not in said
    assert len(load("out").runs) == 1


def test_a_run_that_the_disk_refused_is_done_by_the_same_command(here, monkeypatch, capsys):
    Path("study.toml").write_text(EXAMPLE)
    words = ["run", "study.toml", "--steps", "2", "--quiet", "--out", "out"]
    opened, real = [], streams.Stream.open

    def refuses(stream, folder):
        opened.append(folder)
        if len(opened) == 3:  # of the second run, when the first is recorded
            raise files.unwritable(Path(folder), OSError(errno.ENOSPC, "No space left on device"))
        real(stream, folder)

    monkeypatch.setattr(streams.Stream, "open", refuses)
    assert "No space left on device; free some space" in refused(words, capsys)
    assert names(here) == ["study.toml"]
    assert main(words) == 0
    assert len(load("out").runs) == 3


def test_a_full_disk_is_called_full_and_a_closed_one_closed():
    said = {
        number: str(files.unwritable(Path("x"), OSError(number, os.strerror(number))))
        for number in (errno.ENOSPC, errno.EACCES, errno.ENOENT, errno.EIO)
    }
    assert "free some space" in said[errno.ENOSPC]
    assert "choose a place that can be written to" in said[errno.EACCES]
    assert "removed" in said[errno.ENOENT]
    assert "the disk has failed" in said[errno.EIO]


def test_an_error_of_the_disk_anywhere_gets_one_line_and_one_of_a_program_its_traceback(monkeypatch, capsys):
    def fails(number):
        def begin(options):
            raise OSError(number, os.strerror(number), "somewhere")

        monkeypatch.setattr("fedabm.cli.compare.begin", begin)

    fails(errno.EIO)
    assert "cannot write to somewhere: Input/output error; the disk has failed" in refused(["init"], capsys)
    fails(errno.EBADF)
    with pytest.raises(OSError, match="Bad file descriptor"):
        main(["init"])


@pytest.mark.parametrize("name", ["\x1b[31mred.toml", "a\u202etxt.toml", "a\x07.toml"])
def test_no_message_holds_what_a_terminal_would_obey(name, capsys):
    for words in (["solve", name], ["run", name], [name], ["list", name]):
        said = refused(words, capsys)
        assert not set(said) & set("\x1b\x07\u202e")
        assert "\\x1b" in said or "\\u202e" in said or "\\x07" in said


def test_a_record_that_is_refused_leaves_no_folder(here, monkeypatch, capsys):
    monkeypatch.setattr(recording, "clean_commit", lambda: "0" * 40)
    assert refused(["record", "free_riding", "--set", "owners=0", "--out", "records"], capsys)
    assert names(here) == []


def test_a_sweep_that_is_refused_leaves_no_folder(here, monkeypatch, capsys):
    def connected(*arguments):
        raise AssertionError("nothing is started for a sweep that is refused")

    monkeypatch.setattr(cluster.RayExecutor, "__init__", connected)
    Path("spec.toml").write_text('scenario = "free_riding"\nseeds = 1\nsteps = 1\n[design]\nrate = [0.1]\n')
    assert "shares no GPUs" in refused(["sweep", "spec.toml", "--gpus", "1e3"], capsys)
    assert "workers must be" in refused(["sweep", "spec.toml", "--workers", "0", "--executor", "ray"], capsys)
    assert names(here) == ["spec.toml"]


def test_a_sweep_that_its_cluster_refuses_leaves_only_what_was_there(here, monkeypatch, capsys):
    def refusing(*arguments):
        raise InputError("a run asks for 1000 GPUs but the cluster has none; leave out --gpus or add a node")

    Path("spec.toml").write_text('scenario = "free_riding"\nseeds = 1\nsteps = 1\n[design]\nrate = [0.1]\n')
    command = ["sweep", "spec.toml", "--gpus", "1e3", "--executor", "ray", "--quiet", "--out", "a/b/c"]
    monkeypatch.setattr(cluster.RayExecutor, "__init__", refusing)
    assert "but the cluster has none" in refused(command, capsys)
    assert names(here) == ["spec.toml"]
    assert main(["sweep", "spec.toml", "--executor", "serial", "--quiet", "--out", "a/b/c"]) == 0
    Path("spec.toml").write_text(Path("spec.toml").read_text().replace("[0.1]", "[0.1, 0.2]"))
    assert "but the cluster has none" in refused(command, capsys)
    assert set(load("a/b/c").runs["cell"]) == {"rate=0.1"}


def test_a_run_that_is_refused_leaves_no_folder_and_none_above_it(here, capsys):
    refused(["run", "free_riding", "--set", "owners=0", "--out", "a/b/c"], capsys)
    assert names(here) == []
    (here / "a").mkdir()
    refused(["run", "free_riding", "--set", "owners=0", "--out", "a/b/c"], capsys)
    assert names(here) == ["a"]
    shutil.rmtree("a")


#: a name that would colour a terminal, turn its direction, and become a link, a picture and another column
EVIL = "[red]\x1b[31m\u202e|<img src=x>[y](javascript:z)`q`"


@pytest.mark.filterwarnings("error:Glyph")
def test_names_are_shown_as_what_they_are_on_terminals_and_in_markdown(here, capsys):
    name = json.dumps(EVIL)
    Path("study.toml").write_text(EXAMPLE.replace('"subsidy" =', f"{name} =").replace('"St. Mary"', name))
    assert main(["run", "study.toml", "--steps", "2", "--out", "done"]) == 0
    said = capsys.readouterr()
    assert not set(said.out + said.err) & set("\x1b\u202e")
    assert "[red]\\x1b[31m\\u202e|<img" in said.out
    table = (here / "done" / "comparison.md").read_text()
    assert not set(table) & set("\x1b\u202e<")
    row = next(line for line in table.splitlines() if "red" in line)
    assert row.startswith("| \\[red\\]\\\\x1b\\[31m\\\\u202e\\|&lt;img src=x&gt;\\[y\\](javascript:z)\\`q\\` | ")
    assert len(re.findall(r"(?<!\\)\|", row)) == len(re.findall(r"\|", table.splitlines()[1]))
    assert not set((here / "done" / "odd.md").read_text()) & set("\x1b\u202e")
    assert "<img" not in (here / "done" / "odd.md").read_text()


def test_solve_and_audit_take_no_markup_from_names(capsys):
    Path("rules.py").write_text(
        "from dataclasses import dataclass\nfrom fedabm.mechanisms import ShapleyShare\n"
        f"@dataclass(frozen=True)\nclass Mine(ShapleyShare):\n    def __repr__(self):\n        return {EVIL!r}\n"
        "    __str__ = __repr__\n"
    )
    Path("game.toml").write_text(GAME.replace('"shapley_share"', '"rules.py:Mine"'))
    for words in (["solve", "game.toml"], ["audit", "game.toml", "--quick"]):
        assert main(words) == 0
        said = capsys.readouterr().out
        assert "[red]\\x1b[31m\\u202e" in said
        assert not set(said) & set("\x1b\u202e")
    sys.modules.pop("rules", None)
