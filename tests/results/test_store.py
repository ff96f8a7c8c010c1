import errno
import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import fedabm
from fedabm import Frames, InputError, UnreadableError, load, save
from fedabm.mechanisms import NoPayments
from fedabm.results.frames import COLUMNS
from fedabm.results.store import MANIFEST, claim, take_back
from fedabm.study.study import Study
from tests.conftest import mixed, run, two_owners
from tests.killing import watched


def contents(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("scenario", [mixed(), mixed(mechanism=NoPayments(), record=None), two_owners()])
def test_what_is_saved_is_what_is_loaded(scenario, tmp_path):
    frames = run(scenario).frames()
    paths = save(frames, tmp_path / "new" / "folder", {"note": "kept"})
    again = load(tmp_path / "new" / "folder")
    for name in COLUMNS:
        pd.testing.assert_frame_equal(getattr(frames, name), getattr(again, name), check_exact=True)
    assert {path.name for path in paths} == {*(f"{name}.parquet" for name in COLUMNS), MANIFEST}
    assert all(path.exists() for path in paths)
    manifest = json.loads((tmp_path / "new" / "folder" / MANIFEST).read_text())
    assert manifest["note"] == "kept"
    assert manifest["columns"] == COLUMNS


def test_several_and_no_runs_survive_saving(tmp_path):
    joined = Frames.join([run(mixed(), seed).frames() for seed in (1, 2)])
    for number, frames in enumerate((joined, Frames.join([]))):
        save(frames, tmp_path / str(number))
        again = load(tmp_path / str(number))
        for name in COLUMNS:
            pd.testing.assert_frame_equal(getattr(frames, name), getattr(again, name), check_exact=True)


def test_a_folder_that_holds_a_run_is_left_alone(tmp_path):
    save(run(mixed(), 1).frames(), tmp_path)
    before = contents(tmp_path)
    with pytest.raises(InputError, match=r"already holds a run .*choose another --out"):
        save(run(mixed(), 2).frames(), tmp_path)
    assert contents(tmp_path) == before


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "summary.csv").write_text("mine")
    with pytest.raises(InputError, match="already holds files"):
        claim(tmp_path)
    assert contents(tmp_path) == {"summary.csv": b"mine"}


def test_a_folder_below_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "out", tmp_path / ("x" * 300)):
        with pytest.raises(InputError, match=r"cannot write to .*choose a writable --out"):
            claim(place)
    assert contents(tmp_path) == {"file": b"mine"}


@pytest.mark.parametrize("when", range(1, 5))
def test_a_full_disk_leaves_nothing_half_written(when, tmp_path, monkeypatch):
    write, calls = pd.DataFrame.to_parquet, []

    def full(self, path, **options):
        calls.append(path)
        if len(calls) == when:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_parquet", full)
    with pytest.raises(InputError, match=r"No space left on device; free some space"):
        save(run(mixed(steps=2)).frames(), tmp_path)
    assert contents(tmp_path) == {}


def test_an_interrupt_while_saving_leaves_nothing_half_written(tmp_path):
    def interrupted(path):
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save(run(mixed(steps=2)).frames(), tmp_path, others={"picture.png": interrupted})
    assert contents(tmp_path) == {}


def test_the_manifest_comes_last(tmp_path):
    """A folder with a manifest is complete."""

    def look(path):
        path.write_text("a picture")
        assert not (tmp_path / MANIFEST).exists()

    paths = save(run(mixed(steps=2)).frames(), tmp_path, others={"picture.png": look})
    assert paths[-1].name == MANIFEST
    assert (tmp_path / "picture.png").read_text() == "a picture"


def test_leftovers_of_a_killed_run_are_no_obstacle(tmp_path):
    (tmp_path / ".runs.parquet.part").write_bytes(b"half")
    save(run(mixed(steps=2)).frames(), tmp_path)
    assert len(load(tmp_path).runs) == 1


def test_what_a_process_killed_while_it_saved_left_is_known_and_taken_back(tmp_path):
    frames = run(mixed(steps=2)).frames()
    with watched(tmp_path / "whole") as whole:
        save(frames, tmp_path / "whole")
    for allowed in range(1, whole.count):
        folder = tmp_path / str(allowed)
        with watched(folder, allowed):
            save(frames, folder)
        complete = (folder / MANIFEST).exists()
        take_back(folder)
        assert (folder / MANIFEST).exists() == complete
        if not complete:
            save(frames, folder)
        assert len(load(folder).runs) == 1
        assert contents(folder).keys() == contents(tmp_path / "whole").keys()


def test_what_somebody_else_put_there_is_not_taken_back(tmp_path):
    save(run(mixed(steps=2)).frames(), tmp_path / "out", {"complete": False})
    manifest = json.loads((tmp_path / "out" / MANIFEST).read_text())
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "out" / "notes.csv").write_text("mine")
    (tmp_path / "out" / MANIFEST).write_text(json.dumps({**manifest, "files": [*manifest["files"], "../mine"]}))
    take_back(tmp_path / "out")
    assert contents(tmp_path / "out") == {"notes.csv": b"mine"}
    assert (tmp_path / "mine").exists()


def test_loading_what_is_not_there_says_so(tmp_path):
    with pytest.raises(InputError, match="holds no run"):
        load(tmp_path)
    with pytest.raises(InputError, match="holds no run"):
        fedabm.load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", COLUMNS)
def test_loading_a_damaged_file_says_which(name, tmp_path):
    save(run(mixed(steps=2)).frames(), tmp_path)
    (tmp_path / f"{name}.parquet").write_bytes(b"not parquet")
    with pytest.raises(UnreadableError, match=rf"{name}.parquet cannot be read") as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / f"{name}.parquet").unlink()
    with pytest.raises(UnreadableError, match=rf"{name}.parquet cannot be read"):
        load(tmp_path)


def test_the_largest_seed_fits(tmp_path):
    frames = run(mixed(steps=1), 2**63 - 1).frames()
    save(frames, tmp_path)
    assert load(tmp_path).runs["seed"].tolist() == [2**63 - 1]
    assert np.issubdtype(frames.runs["seed"].dtype, np.integer)


def test_pyplot_forgets_pictures_that_are_saved(tmp_path):
    study, figure = Study("pictures", quiet=True), plt.figure()
    study.simulate(two_owners())
    study.picture(figure, "empty")
    study.save(tmp_path / "out")
    assert (tmp_path / "out" / "empty.png").exists()
    assert figure.number not in plt.get_fignums()
