"""Answers that are remembered, in memory and on disk."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from fedabm.common.errors import InputError
from fedabm.learning.oracles.memory import AnswerCache, digest, recalled

QUESTIONS = np.array([[1, 2], [3, 4], [1, 2], [5, 6]])


class Work:
    """Squares, and how often they were found."""

    def __init__(self) -> None:
        self.asked: list[list[list[int]]] = []

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.asked.append(rows.tolist())
        return rows[:, None, :] ** 2.0


def test_a_question_is_answered_once_and_answers_come_in_order() -> None:
    memory, work = AnswerCache(), Work()
    found = memory.answers(QUESTIONS, work)
    np.testing.assert_array_equal(found, QUESTIONS[:, None, :] ** 2.0)
    assert work.asked == [[[1, 2]], [[3, 4]], [[5, 6]]]
    np.testing.assert_array_equal(memory.answers(QUESTIONS[::-1], work), found[::-1])
    assert len(work.asked) == len(memory) == 3


def test_many_are_found_at_once_and_kept_in_one_file(tmp_path: Path) -> None:
    work = Work()
    AnswerCache(tmp_path, "a").answers(QUESTIONS, work, at_once=2)
    assert work.asked == [[[1, 2], [3, 4]], [[5, 6]]]
    assert len(list(tmp_path.iterdir())) == 2
    again, other = AnswerCache(tmp_path, "a"), AnswerCache(tmp_path, "b")
    assert (len(again), len(other)) == (3, 0)
    np.testing.assert_array_equal(again.answers(QUESTIONS, work), QUESTIONS[:, None, :] ** 2.0)
    assert len(work.asked) == 2


def test_what_an_earlier_study_had_found_is_counted_once_with_the_time_it_took(tmp_path: Path) -> None:
    """Two answers of a file by somebody before, of which one is asked for twice, and one of one's own."""
    with recalled() as own:
        AnswerCache(tmp_path, "a").answers(QUESTIONS[:2], Work(), at_once=2)
        AnswerCache(tmp_path, "a").answers(QUESTIONS[:2], Work())
    assert (own.answers, own.seconds) == (0, 0.0)
    (path,) = tmp_path.iterdir()
    os.utime(path, (0, 0))
    with np.load(path) as stored:
        before = dict(stored)
    with recalled() as found:
        memory = AnswerCache(tmp_path, "a")
        memory.answers(QUESTIONS[[0, 0, 3]], Work())
        memory.answers(QUESTIONS[[0]], Work())
    assert (found.answers, found.untimed) == (1, 0)
    assert found.seconds == pytest.approx(float(before["seconds"]) / 2)
    del before["seconds"]
    np.savez(path, **before)
    os.utime(path, (0, 0))
    with recalled() as untimed:
        AnswerCache(tmp_path, "a").answers(QUESTIONS[:2], Work())
    assert (untimed.answers, untimed.untimed, untimed.seconds) == (2, 2, 0.0)


def test_an_answer_that_fails_leaves_those_before_it(tmp_path: Path) -> None:
    def fail(rows: np.ndarray) -> np.ndarray:
        raise KeyboardInterrupt if rows[0, 0] == 5 else AssertionError

    memory = AnswerCache(tmp_path)
    memory.answers(QUESTIONS[:3], Work())
    with pytest.raises(KeyboardInterrupt):
        memory.answers(QUESTIONS, fail)
    assert len(AnswerCache(tmp_path)) == 2


@pytest.mark.parametrize("damage", [lambda whole: whole[:60], lambda whole: b"", lambda whole: b"x" * len(whole)])
def test_a_damaged_file_is_found_again_and_written_anew(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    AnswerCache(tmp_path).answers(QUESTIONS, Work(), at_once=9)
    (file,) = tmp_path.iterdir()
    with np.load(file) as stored:
        whole = {name: stored[name] for name in ("questions", "answers")}
    file.write_bytes(damage(file.read_bytes()))
    memory = AnswerCache(tmp_path)
    assert len(memory) == 0
    memory.answers(QUESTIONS, Work(), at_once=9)
    with np.load(file) as stored:
        assert set(stored.files) == {"questions", "answers", "seconds"}
        assert all(np.array_equal(stored[name], array) for name, array in whole.items())


def test_objects_on_disk_are_not_unpickled(tmp_path: Path) -> None:
    rows = np.empty(1, dtype=object)
    rows[0] = print
    np.savez(tmp_path / "a-1.npz", questions=np.array([[1]]), answers=rows, allow_pickle=True)
    assert len(AnswerCache(tmp_path, "a")) == 0


def test_a_memory_can_be_stored_with_a_run() -> None:
    memory = AnswerCache()
    memory.answers(QUESTIONS, Work())
    copy, work = pickle.loads(pickle.dumps(memory)), Work()
    copy.answers(QUESTIONS, work)
    assert work.asked == []


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write to .*; a part of that path is a file; choose another place"):
        AnswerCache(tmp_path / "file" / "below").answers(QUESTIONS, Work())


def test_digests_tell_arrays_and_texts_apart() -> None:
    one = np.arange(4)
    names = {digest(one), digest(one.reshape(2, 2)), digest(one.astype(float)), digest(one, "x"), digest("x")}
    assert len(names) == 5
    assert digest(one) == digest(one.copy())
