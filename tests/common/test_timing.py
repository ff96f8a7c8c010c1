"""A profile sees every part of the work once; without one nobody waits."""

from __future__ import annotations

import pytest

from fedabm.common import timing
from fedabm.common.errors import InputError
from fedabm.common.timing import PARTS, profiled, timed


class Clock:
    """Time that passes only while somebody works."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    @timed("evaluation")
    def judge(self, seconds: float) -> float:
        self.now += seconds
        return seconds

    @timed("training")
    def train(self, seconds: float) -> float:
        self.now += seconds
        return self.judge(2 * seconds) + self.judge(3 * seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timing, "perf_counter", made)
    return made


def test_a_piece_inside_another_counts_for_its_own_part_only(clock: Clock) -> None:
    with profiled() as profile:
        assert clock.train(10.0) == 50.0
        clock.now += 40.0
    assert profile.seconds == {**dict.fromkeys(PARTS, 0.0), "training": 10.0, "evaluation": 50.0}
    assert profile.total == 100.0
    assert [tuple(row.values()) for row in profile.rows()] == [
        ("training", 10.0, 10.0),
        ("evaluation", 50.0, 50.0),
        ("handing data to the engine", 0.0, 0.0),
        ("pictures and files", 0.0, 0.0),
        ("everything else", 40.0, 40.0),
        ("training and evaluation together", 60.0, 60.0),
    ]


def test_work_that_fails_is_counted_and_the_next_part_begins_anew(clock: Clock) -> None:
    with profiled() as profile:
        with pytest.raises(TypeError):
            clock.train("long")  # type: ignore[arg-type]
        with timed("pictures and files"):
            clock.now += 3.0
        clock.judge(1.0)
    assert (profile.seconds["pictures and files"], profile.seconds["evaluation"]) == (3.0, 1.0)


def test_nothing_is_counted_without_a_profile_or_after_it(clock: Clock) -> None:
    with profiled(active=False) as nothing:
        clock.judge(1.0)
    assert (nothing.seconds, nothing.total) == ({}, 0.0)
    with profiled() as profile:
        pass
    clock.judge(1.0)
    assert profile.seconds["evaluation"] == 0


def test_the_inner_of_two_profiles_sees_its_own(clock: Clock) -> None:
    with profiled() as outer:
        with profiled() as inner:
            clock.judge(1.0)
        clock.judge(2.0)
    assert (inner.seconds["evaluation"], outer.seconds["evaluation"]) == (1.0, 2.0)


def test_a_part_that_nobody_knows_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="did you mean 'training'"):
        timed("trainig")
