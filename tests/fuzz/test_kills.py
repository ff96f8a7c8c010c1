"""Some kills; `python -m tests.fuzz.kills` kills at every operation on files."""

from pathlib import Path

from tests.fuzz import kills
from tests.fuzz.kills import Tally, Victim, hunt


def test_whatever_is_killed_goes_on_to_the_same_frames():
    tally = hunt(kills=0, stride=23, told=str, dots=True)
    assert tally.lost == []
    assert tally.kills >= 8
    assert len(tally.points) == 8


def test_what_is_lost_is_noticed(tmp_path, monkeypatch):
    """Work that leaves half a file when it is killed, and takes it for a whole one."""

    def careless(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        if not (folder / "file").exists():
            (folder / "file").write_text("half")
            (folder / "other").write_text("")
            (folder / "file").write_text("whole")

    def same(one: Path, other: Path) -> None:
        assert (one / "file").read_text() == (other / "file").read_text()

    monkeypatch.setattr(kills, "assert_same_frames", same)
    tally = Tally()
    kills.every_point(Victim("careless", careless, tmp_path), tally)
    assert (tally.kills, tally.points) == (4, {"careless": 4})
    assert [one.partition(":")[0] for one in tally.lost] == [f"careless, killed at operation {n}" for n in (2, 3)]
