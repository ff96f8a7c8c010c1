"""Some faults of a disk; `python -m tests.fuzz.disk` tries hundreds."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

from fedabm.cli import main as fedabm
from tests.fuzz import disk
from tests.fuzz.disk import COMMANDS, Command, End, Fault, Tally, attempt


def test_a_disk_that_refuses_costs_a_warning_or_one_line_and_nothing_else():
    """In a process of its own: copies of a process that has run other tests inherit their threads and handlers."""
    command = [sys.executable, "-m", "tests.fuzz.disk", "--faults", "10", "--seed", "1", "--dots"]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "10 faults" in ended.stdout
    assert "0 went wrong" in ended.stdout
    assert all(f"'{name}': 2" in ended.stdout for name in COMMANDS)


def careless(words) -> int:
    """Takes half a file for a whole one."""
    if not os.path.exists("out"):
        os.mkdir("out")
        try:
            Path("out/file").touch()
            Path("out/other").write_text("")
            Path("out/file").write_text("whole")
        except OSError as error:
            print(f"fedabm: {error}", file=disk.sys.stderr)
            return 2
    return 0


def test_what_a_fault_has_spoilt_is_noticed(tmp_path, monkeypatch):
    def same(one: Path, other: Path) -> None:
        assert (one / "out" / "file").read_text() == (other / "out" / "file").read_text()

    monkeypatch.setattr(disk, "fedabm", careless)
    command = Command("careless", ("careless",), same)
    whole, tally = tmp_path / "whole" / "here", Tally()
    command.prepare(whole)
    assert command.give(whole) == End(0, "")
    for point in (1, 2, 3, 4, 5):
        attempt(command, whole, Fault(str(tmp_path / "faulty" / "here"), point, errno.ENOSPC, lasting=False), tally)
    assert tally.faults == 4
    kinds = [(one.split(",")[1], one.split(": ")[1]) for one in tally.wrong]
    assert [what for _, what in kinds] == ["it ended with 70", "another result", "another result", "another result"]


def test_tracebacks_silence_and_many_lines_are_noticed():
    good = [End(0, ""), End(0, "fedabm: no checkpoint at step 1\n"), End(2, "fedabm: no checkpoint\nfedabm: full\n")]
    bad = [End(2, ""), End(1, "fedabm: x\n"), End(2, "Traceback"), End(2, "fedabm: x\nfedabm: y\n"), End(0, "noise\n")]
    assert [one.trouble for one in good] == [""] * 3
    assert all(one.trouble for one in bad)


def test_a_run_that_is_called_complete_has_its_description(tmp_path):
    """Where the disk was full after the manifest, the same command never wrote what was to come behind it."""
    script = Path(__file__).with_name("small_study.py")
    assert fedabm(["run", str(script), "--steps", "1", "--quiet", "--out", str(tmp_path / "out")]) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "odd.md" in manifest["files"]
    assert "odd.md" in manifest["digests"]
