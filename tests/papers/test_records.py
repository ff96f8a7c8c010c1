"""Recorded runs: their commands parse, their code is named, replays give their first rounds, and rows read them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fedabm.cli import main
from fedabm.cli import record as cli_record
from fedabm.cli.parsers import command_line
from fedabm.common.errors import InputError
from fedabm.data.datasets import status
from fedabm.papers.ledger import recording, records, replays, training
from fedabm.papers.ledger.records import RecordedRun
from fedabm.papers.ledger.rows import Budget, Finding, Play
from fedabm.papers.ledger.runner import ledger
from fedabm.study.library import find
from tests.papers.rows import TINY

KNOWN = records.records()
NAMES = [one.name for one in KNOWN]
#: what a test may take; longer ones by `fedabm record --check`
SECONDS = 8.0
KEYS = {"scenario", "settings", "seed", "command", "commit", "seconds", "machine", "versions", "short", "files"}


@pytest.mark.parametrize("record", KNOWN, ids=NAMES)
def test_a_record_says_how_it_was_made(record: RecordedRun) -> None:
    known = record.manifest
    assert set(known) - {"remembered", "landed", "went_on"} == KEYS
    options = command_line().parse_args(shlex.split(known["command"])[1:])
    assert (options.name, options.set, options.seed) == (known["scenario"], known["settings"], known["seed"])
    script = find(options.name)
    script.parameters(options.set)
    script.parameters([*options.set, *known["short"]["settings"]])
    assert re.fullmatch("[0-9a-f]{40}", known["commit"])
    assert {"fedabm", "numpy", "torch", "python"} <= set(known["versions"])
    assert set(known["machine"]) == {"system", "processor", "cores"}
    assert known["seconds"] > 0
    assert record.tables
    assert len(record.rounds)
    assert sum(path.stat().st_size for path in record.folder.iterdir()) < 2_000_000


def test_every_record_is_sealed() -> None:
    """If not: fedabm record --seal."""
    assert [one.name for one in KNOWN if set(one.manifest.get("files", ())) != set(one.digests())] == []


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)


def in_the_history(commit: str) -> bool:
    """Whether HEAD rests on it."""
    return _git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0


@pytest.mark.skipif(_git("rev-parse", "--is-shallow-repository").stdout.strip() != "false", reason="no whole history")
def test_every_record_names_a_commit_of_the_history() -> None:
    """That it ran on or that it landed as, those of the league too; a commit that nobody has is none."""
    assert (in_the_history("HEAD"), in_the_history("0" * 40)) == (True, False)
    for manifest in sorted(records.home().rglob(records.MANIFEST)):
        known = json.loads(manifest.read_text())
        assert in_the_history(known["commit"]) or in_the_history(known.get("landed", "0" * 40)), manifest.parent.name


def one_of_each_kind(known: Sequence[RecordedRun]) -> list[RecordedRun]:
    """The shortest of those of the same scenario, preset, data and rules; the others differ in seeds and attacks."""
    found: dict[tuple[Any, ...], RecordedRun] = {}
    for one in sorted(known, key=lambda one: one.manifest["short"]["seconds"]):
        named = (one.settings.get(name) for name in ("data", "sets", "splits", "rules"))
        found.setdefault((one.manifest["scenario"], one.size, *named), one)
    return [one for one in known if one in found.values()]


REPLAYED = one_of_each_kind(KNOWN)


def test_every_kind_of_record_is_replayed() -> None:
    assert {one.manifest["scenario"] for one in REPLAYED} == {one.manifest["scenario"] for one in KNOWN}
    alike = [one for one in KNOWN if one.name.startswith("market_attacks") and one.settings.get("rules") == "iPFL"]
    assert len(alike) >= 4
    assert len(one_of_each_kind(alike)) == len(set(REPLAYED) & set(alike)) == 1


@pytest.mark.parametrize("record", REPLAYED, ids=lambda one: one.name)
def test_a_short_replay_gives_the_recorded_first_rounds(record: RecordedRun) -> None:
    absent = {row.name for row in status() if row.state != "present"} & set(record.settings.values())
    if absent:
        pytest.skip(f"{', '.join(absent)} not here")
    if record.manifest["short"]["seconds"] > SECONDS:
        pytest.skip(f"takes longer: fedabm record --check {record.name}")
    replays.replay(record)


@pytest.mark.parametrize("record", KNOWN, ids=NAMES)
def test_every_record_decides_a_row(record: RecordedRun) -> None:
    assert any(record.answers(play) for one in ledger() for play in (*one.decisive, *one.planned))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> RecordedRun:
    """A record of a small scenario, as if nothing were uncommitted; nobody changes it."""
    settings, folder = ["data=digits", "seeds=2", "subsidies=0,2"], tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "clean_commit", lambda: "0" * 40)
        return recording.make_record("welfare_by_subsidy", settings, 3, ["seeds=1"], folder=folder, quiet=True)


@pytest.fixture
def small(made, tmp_path, monkeypatch) -> RecordedRun:
    """A copy of it."""
    monkeypatch.setattr(recording, "clean_commit", lambda: "0" * 40)
    return RecordedRun(Path(shutil.copytree(made.folder, tmp_path / made.name)))


def test_a_record_is_made_read_and_replayed(small, tmp_path, monkeypatch, capsys) -> None:
    assert small.name == "welfare_by_subsidy-digits-2-0,2-from3"
    assert (small.size, small.manifest["short"]["steps"]) == ("default", 2)
    assert small.rounds.columns.tolist() == ["label", "turn", "seed", "step", "contribution", "accuracy", "welfare"]
    assert sorted(small.rounds["seed"].unique()) == [3, 4]
    assert set(small.tables) == {"summary", "order", "rounds"}
    monkeypatch.setattr(records, "home", lambda: tmp_path)
    play = Play.of("welfare_by_subsidy", seed=3, data="digits", seeds=2, subsidies=(0.0, 2.0))
    found = records.record_of(play)
    assert found == small
    assert records.record_of(Play.of("welfare_by_subsidy", data="digits")) is None
    assert records.record_of(replace(play, seed=0)) is None
    assert play.command.endswith(" --seed 3")
    assert not records.records_of([play, Play.of("welfare_by_subsidy", data="digits")])
    again = partial(recording.make_record, "welfare_by_subsidy", small.manifest["settings"], 3, folder=tmp_path)
    assert again() == small
    with monkeypatch.context() as patch:
        patch.setattr(recording, "clean_commit", lambda: "1" * 40)
        with pytest.raises(InputError, match="is there already"):
            again()
    assert replays.replay(small, 1e-7, exact=True).rounding == 0.0
    assert main(["record", "--check", small.name]) == 0
    assert "first rounds as recorded" in capsys.readouterr().out


def test_a_record_says_what_was_remembered_and_what_it_would_have_cost_alone(tmp_path, monkeypatch) -> None:
    """The second has the runs of one seed of the first, all remembered; alone it costs what those had taken more."""
    monkeypatch.setattr(recording, "clean_commit", lambda: "0" * 40)
    monkeypatch.setenv("FEDABM_TRAINED", str(tmp_path / "trained"))
    settings = ["data=digits", "subsidies=0,2"]
    make = partial(recording.make_record, "welfare_by_subsidy", folder=tmp_path, quiet=True)
    first = make([*settings, "seeds=2"], 3)
    assert "remembered" not in first.manifest
    assert (first.alone, first.is_counted) == (first.manifest["seconds"], True)
    again = make([*settings, "seeds=1"], 3)
    found = again.manifest["remembered"]
    assert found["answers"] > 0 == found["untimed"]
    assert 0 < found["seconds"] <= first.manifest["seconds"]
    assert again.alone == pytest.approx(again.manifest["seconds"] + found["seconds"])
    words = f"{found['answers']:,} results of other studies remembered, alone {again.alone:,.0f} s)"
    assert again.origin.endswith(words)
    assert again.is_counted


def test_an_older_record_says_that_nothing_was_counted() -> None:
    older = next(one for one in KNOWN if isinstance(one.manifest.get("remembered"), str))
    assert older.origin.endswith("perhaps more alone: what other studies had left was not counted)")
    assert (older.alone, older.is_counted) == (older.manifest["seconds"], False)


def test_a_recording_that_was_broken_off_goes_on_to_the_same_record(small, tmp_path, monkeypatch) -> None:
    """Broken off after its second run, which is kept; on another commit it does not go on."""
    steps, settings = [], small.manifest["settings"]
    done = recording.Study.simulate

    def breaks_off(study, *words, **more):
        steps.append(study.saved)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return done(study, *words, **more)

    monkeypatch.setattr(recording, "_SAVE_EVERY", 1e-9)
    monkeypatch.setattr(recording.Study, "simulate", breaks_off)
    place = tmp_path / "again"
    with pytest.raises(KeyboardInterrupt):
        recording.make_record("welfare_by_subsidy", settings, 3, ["seeds=1"], folder=place, quiet=True)
    assert sum(path.name.endswith(".checkpoint") for path in place.glob("*/.running/*")) == 2
    monkeypatch.setattr(recording, "clean_commit", lambda: "1" * 40)
    with pytest.raises(InputError, match=r"holds an unfinished run of .*\(commit 0000000\)"):
        recording.make_record("welfare_by_subsidy", settings, 3, ["seeds=1"], folder=place, quiet=True)
    monkeypatch.setattr(recording, "clean_commit", lambda: "0" * 40)
    found = recording.make_record("welfare_by_subsidy", settings, 3, ["seeds=1"], folder=place, quiet=True)
    assert "went_on" in found.manifest
    assert "went_on" not in small.manifest
    pd.testing.assert_frame_equal(found.rounds, small.rounds)
    assert sorted(path.name for path in found.folder.iterdir()) == sorted(path.name for path in small.folder.iterdir())


def _unsealed(record: RecordedRun) -> None:
    """As records of older versions are."""
    manifest = {name: value for name, value in RecordedRun(record.folder).manifest.items() if name != "files"}
    (record.folder / "manifest.json").write_text(json.dumps(manifest))


def test_a_replay_notices_code_that_has_changed(small) -> None:
    path = small.folder / "rounds.csv"
    text = pd.read_csv(path)
    text.loc[text["step"] == 2, "accuracy"] += 0.02
    text.to_csv(path, index=False)
    _unsealed(small)
    with pytest.raises(InputError, match=r"accuracy of welfare_by_subsidy.*step 2.*record it anew"):
        replays.replay(RecordedRun(small.folder))
    text.assign(label="other").to_csv(path, index=False)
    with pytest.raises(InputError, match="no run and step in common"):
        replays.replay(RecordedRun(small.folder))


def test_a_record_that_cannot_be_replayed_keeps_no_other_from_it(small, tmp_path, monkeypatch, capsys) -> None:
    """The broken one comes first in the alphabet."""
    shutil.copytree(small.folder, tmp_path / "a_broken_one")
    (tmp_path / "a_broken_one" / "rounds.csv").write_text("label,turn,seed,step\nother,0,3,1\n")
    _unsealed(RecordedRun(tmp_path / "a_broken_one"))
    monkeypatch.setattr(records, "home", lambda: tmp_path)
    assert main(["record", "--check"]) == 2
    said = capsys.readouterr()
    assert "a_broken_one: the replay of a_broken_one has no run and step in common" in said.out
    assert f"{small.name}: first rounds as recorded" in said.out
    assert said.err == "fedabm: 1 of 2 records were not replayed: a_broken_one; see why above\n"


@pytest.mark.parametrize("way", [1.0, 8.0])
def test_rounding_that_training_has_magnified_is_told_from_a_change(way, small, monkeypatch, capsys) -> None:
    """Recorded is what models that begin larger by a digit give, and a multiple of the difference that this makes."""
    monkeypatch.setattr(replays, "_DIGITS", (1e-9, 1e-3))  # of a short and small training, which magnifies nothing
    path, now = small.folder / "rounds.csv", replays._short(small)
    with replays.nudged(1e-3):
        other = replays._short(small)
    step_2 = now["step"] == 2
    now["accuracy"] += (way * (other["accuracy"] - now["accuracy"])).where(step_2, 0.0)
    now.to_csv(path, index=False, float_format="%.9g")
    _unsealed(small)
    with pytest.raises(InputError, match="record it anew"):
        replays.replay(RecordedRun(small.folder), 1e-7, exact=True)
    if way > replays._TIMES:
        with pytest.raises(InputError, match=r"accuracy .*step 2.*record it anew"):
            replays.replay(RecordedRun(small.folder), 1e-7)
        return
    assert 1e-7 < replays.replay(RecordedRun(small.folder), 1e-7).rounding < 0.1
    monkeypatch.setattr(records, "home", lambda: small.folder.parent)
    monkeypatch.setattr(cli_record, "replay", lambda record: replays.replay(record, 1e-7))
    assert main(["record", "--check"]) == 0
    assert "as recorded, but for rounding that training has magnified to" in capsys.readouterr().out


def test_what_cannot_be_repeated_is_not_recorded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(recording, "_git", lambda root, *words: " M fedabm/x.py" if words[0] == "status" else "0" * 40)
    with pytest.raises(InputError, match=r"uncommitted changes \(fedabm/x.py\)"):
        recording.make_record("welfare_by_subsidy", ["data=digits"], folder=tmp_path)
    monkeypatch.setattr(recording, "_git", lambda root, *words: "")
    with pytest.raises(InputError, match="a record names its data"):
        recording.make_record("welfare_by_subsidy", [], folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_row_is_decided_by_its_record_and_trains_nothing(small, tmp_path, monkeypatch) -> None:
    play = Play.of("welfare_by_subsidy", seed=3, data="digits", seeds=2, subsidies=(0.0, 2.0))
    made = []
    monkeypatch.setattr(records, "home", lambda: tmp_path)
    monkeypatch.setattr(training, "row", lambda *words, **more: lambda check: made.append((more, check)))
    quick = Play.of("no_such_scenario")

    def decide(found: training.Tables) -> Finding:
        return Finding(f"{len(found['summary'])} rows", "not reproducible", "why")

    training.trained("X1", "claim", "", (quick,), lambda found: None, "cmd", decisive=(play,), decide=decide)
    more, check = made[0]
    assert more["preset"] == play.command
    for budget in (TINY, Budget("quick", 4)):
        found = check(budget)
        assert (found.ours, found.verdict) == ("6 rows", "not reproducible")
        assert found.reason.startswith("why; recorded: fedabm record welfare_by_subsidy --set data=digits")
    (small.folder / "manifest.json").unlink()
    assert check(TINY).verdict == "not run here"


def test_a_record_that_cannot_be_read_says_what_to_do(tmp_path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({})[:1])
    with pytest.raises(InputError, match="make it anew"):
        _ = RecordedRun(tmp_path).manifest
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match=r"does not say scenario, settings, .*make it anew"):
        _ = RecordedRun(tmp_path).manifest


def _flipped(path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "a bit of a table": lambda folder: _flipped(folder / "rounds.csv"),
    "a bit of the manifest": lambda folder: _flipped(folder / "manifest.json"),
    "a table less": lambda folder: (folder / "summary.csv").unlink(),
    "a table more": lambda folder: (folder / "more.csv").write_text("a\n1\n"),
    "another record's table": lambda folder: shutil.copy(folder / "summary.csv", folder / "rounds.csv"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_refused_in_one_line(damage, tmp_path, monkeypatch, capsys) -> None:
    """By whatever reads it, and nothing seals it anew."""
    folder = tmp_path / KNOWN[0].name
    shutil.copytree(KNOWN[0].folder, folder)
    assert sorted(RecordedRun(folder).tables) == sorted(KNOWN[0].tables)
    DAMAGES[damage](folder)
    monkeypatch.setattr(records, "home", lambda: tmp_path)
    for words in (["--check"], ["--seal", folder.name, "--landed", "1" * 40]):
        assert main(["record", *words]) == 2
        said = capsys.readouterr()
        (line,) = [line for line in (said.out + said.err).splitlines() if "cannot read" in line]
        assert f"cannot read the record {folder}: " in line
        assert line.endswith("make it anew with fedabm record")


def test_records_without_seals_are_read_and_sealed_once(small, tmp_path, monkeypatch, capsys) -> None:
    """What was known of them stays; a commit that one landed as is added."""
    monkeypatch.setattr(records, "home", lambda: tmp_path)
    known = small.manifest
    _unsealed(small)
    assert "files" not in RecordedRun(small.folder).manifest
    assert main(["record", "--seal"]) == 0
    assert "1 of 1 records were sealed now" in capsys.readouterr().out
    assert RecordedRun(small.folder).manifest == known
    assert main(["record", "--seal"]) == 0
    assert "0 of 1 records were sealed now" in capsys.readouterr().out
    assert main(["record", "--seal", small.name, "--landed", "1" * 40]) == 0
    assert RecordedRun(small.folder).manifest == {**known, "landed": "1" * 40}
    assert main(["record", "--seal", "--landed", "1" * 40]) == 2
    assert "--seal one record" in capsys.readouterr().err
