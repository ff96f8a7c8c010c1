"""Files are whole or not there, and a lock is held by one process at a time."""

import errno
import multiprocessing
import os
import time

import pytest

from fedabm.common.errors import BusyError, InputError
from fedabm.common.files import clear_drafts, draft, locked, write


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_to_its_place_when_it_is_complete(tmp_path):
    write(tmp_path / "file", "old")
    with draft(tmp_path / "file") as hidden:
        hidden.write_text("new")
        assert (tmp_path / "file").read_text() == "old"
        assert hidden.name.startswith(".file.")
    assert write(tmp_path / "file", "Zürich").read_bytes() == "Zürich".encode()
    assert write(tmp_path / "other", memoryview(b"bytes")).read_bytes() == b"bytes"
    assert names(tmp_path) == ["file", "other"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_is_not_complete_leaves_nothing(tmp_path, error):
    write(tmp_path / "file", "old")

    def broken():
        with draft(tmp_path / "file") as hidden:
            hidden.write_text("half")
            raise error

    with pytest.raises(error):
        broken()
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_full_disk_gets_one_line_and_leaves_what_was_there(tmp_path, monkeypatch):
    write(tmp_path / "file", "old")

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"cannot write to .*file: No space left on device; try less") as caught:
        write(tmp_path / "file", "new", "try less")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]
    with pytest.raises(InputError, match="cannot write to"):
        write(tmp_path / "no" / "folder", "new")


def write_slowly(folder):
    with draft(folder / "file") as hidden:
        hidden.write_text("half")
        (folder / "begun").touch()
        time.sleep(60)


def hold(folder):
    with locked(folder / "lock", "somebody is there"):
        (folder / "begun").touch()
        time.sleep(60)


def killed(work, folder):
    """A process that is killed while it works; gives the folder while it does."""
    child = multiprocessing.get_context("spawn").Process(target=work, args=(folder,))
    child.start()
    while not (folder / "begun").exists():
        time.sleep(0.01)
    yield
    child.kill()
    child.join()


def test_what_a_killed_writer_left_is_known_and_cleared(tmp_path):
    for _ in killed(write_slowly, tmp_path):
        pass
    left = names(tmp_path)
    assert len(left) == 2
    assert left[0].startswith(".file.")
    clear_drafts(tmp_path)
    assert names(tmp_path) == ["begun"]


def test_a_lock_is_held_by_one_and_a_killed_process_lets_go(tmp_path):
    for _ in killed(hold, tmp_path):
        with pytest.raises(BusyError, match="somebody is there"), locked(tmp_path / "lock", "somebody is there"):
            pass
    with locked(tmp_path / "lock", "somebody is there"), pytest.raises(BusyError), locked(tmp_path / "lock", "me"):
        pass


def test_a_file_system_without_locks_is_no_obstacle(tmp_path, monkeypatch):
    def none(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("filelock.FileLock.acquire", none)
    with locked(tmp_path / "lock", "somebody is there"):
        pass
