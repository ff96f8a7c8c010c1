"""Running sweeps here and in processes; resuming, adding, failing."""

import json
import multiprocessing

import pandas as pd
import pytest

from fedabm import Federation, InputError, load
from fedabm.common.errors import BusyError, Interrupted, UnreadableError
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.results import parts
from fedabm.results.frames import COLUMNS
from fedabm.strategies import BestResponse, FreeRider
from fedabm.study.study import Study
from fedabm.sweep import Cells, Grid, Seeds, Sweep, executors, jobs, runner, split, watch
from fedabm.sweep.executors import LocalExecutor, SerialExecutor
from fedabm.sweep.folder import claim, lock, write_jobs
from scenarios import free_riding
from tests.sweep.helpers import assert_same_frames
from tests.sweep.targets import Walk, build, trouble

QUIET = {"quiet": True}


@pytest.fixture(scope="module")
def pool():
    """Two processes for all tests of this file."""
    with LocalExecutor(2) as executor:
        yield executor


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(runner, "BATCH_SECONDS", 1e-9)


def test_processes_and_order_make_no_difference(tmp_path, pool):
    mechanisms = [NoPayments(), ContributionSubsidy(0.05)]
    sweep = Sweep(build, Grid(rate=[0.1, 0.2], mechanism=mechanisms, strategy=[BestResponse(), FreeRider()]), 3)
    sweep.run(tmp_path / "here", "serial", **QUIET)
    sweep.run(tmp_path / "there", pool, **QUIET)
    assert_same_frames(tmp_path / "here", tmp_path / "there")
    runs = load(tmp_path / "here").runs
    assert runs["run"].tolist() == list(range(24))
    assert runs["parameter_mechanism"].nunique() == 2
    assert runs["strategy"].nunique() == 2


def test_each_run_is_the_same_as_by_itself(tmp_path):
    sweep = Sweep(build, Grid(rate=[0.1, 0.2]), Seeds(2, paired=False))
    sweep.run(tmp_path, "serial", **QUIET)
    found = load(tmp_path)
    for job, frames in zip(sweep.jobs, split(found), strict=True):
        alone = Federation(build(job.seed, **job.parameters), job.seed).run().frames()
        for name in ("steps", "transfers"):
            pd.testing.assert_frame_equal(getattr(frames, name), getattr(alone, name), check_exact=True)
        named = {"strategy": str, "role": str, "name": str}  # categories are those of the whole sweep
        pd.testing.assert_frame_equal(frames.owners.astype(named), alone.owners.astype(named), check_exact=True)


def test_added_cells_and_seeds_run_alone(tmp_path, monkeypatch):
    Sweep(build, Grid(rate=[0.1]), 2).run(tmp_path, "serial", **QUIET)
    before = load(tmp_path).runs
    count = []

    def counted(job, *more):
        count.append(job)
        return jobs.do(job)

    monkeypatch.setattr("fedabm.sweep.worker.do", counted)
    Sweep(build, Grid(rate=[0.2, 0.1]), 3).run(tmp_path, "serial", **QUIET)
    assert len(count) == 4
    after = load(tmp_path).runs
    assert len(after) == 6
    kept = after[after["key"].isin(before["key"])]
    assert kept["wall_time"].tolist() == before["wall_time"].tolist()


def test_another_design_is_kept_apart(tmp_path):
    first, second = Sweep(build, Grid(rate=[0.1])), Sweep(build, Grid(rate=[0.3]))
    first.run(tmp_path, "serial", **QUIET)
    second.run(tmp_path, "serial", **QUIET)
    assert load(tmp_path).runs["rate"].tolist() == [0.3]
    assert first.run(tmp_path, "serial", **QUIET).left == 0
    assert load(tmp_path).runs["rate"].tolist() == [0.1]


def test_failures_are_rows_that_say_why(tmp_path, pool):
    kinds = ["raise", "hang", "none", "memory", "more and more memory", "kill", "exit", "hang for good"]
    sweep = Sweep(trouble, Grid(kind=kinds), 1)
    count = sweep.run(tmp_path, pool, time_limit=4.0, memory_limit=2**27, **QUIET)
    assert (count.done, count.failed, count.left) == (1, 7, 0)
    runs = load(tmp_path).runs.set_index("kind")
    assert runs.loc["none", "status"] == "stopped"
    assert (runs.drop("none")["status"] == "failed").all()
    for kind, words in {
        "raise": "ValueError: no such market",
        "hang": "TimeLimit: the run took longer than 4 s",
        "hang for good": "TimeLimit: the run took longer than 4 s",
        "memory": "MemoryError",
        "more and more memory": "MemoryError: the run took more than 128 MiB of memory",
        "kill": "SIGKILL",
        "exit": "SystemExit: 3",
    }.items():
        assert words in runs.loc[kind, "error"]
    for kind in ("raise", "hang", "hang for good"):
        assert "targets.py" in runs.loc[kind, "traceback"]
    assert len(load(tmp_path).failed) == 7


def test_a_stopped_worker_is_ended_by_the_time_limit_from_outside(tmp_path, pool, monkeypatch):
    monkeypatch.setattr(watch, "MARGIN", 0.5)
    count = Sweep(trouble, Grid(kind=["none", "stop"]), 1).run(tmp_path, pool, time_limit=4.0, **QUIET)
    assert (count.done, count.failed, count.left) == (1, 1, 0)
    runs = load(tmp_path).runs.set_index("kind")
    assert runs.loc["stop", "error"] == "TimeLimit: the run took longer than 4 s"
    assert runs.loc["none", "status"] == "stopped"


def test_a_worker_that_is_a_copy_of_this_process_ends_by_itself(monkeypatch):
    """It holds both ends of its pipe, so that it must be told."""
    monkeypatch.setattr(executors, "_FRESH", multiprocessing.get_context("fork"))
    with LocalExecutor(1) as executor:
        assert executor.submit(len, "abc").result() == 3
        worker = executor._threads[0].process
    assert worker.exitcode == 0


def test_failures_are_the_same_here_and_in_processes(tmp_path, pool):
    sweep = Sweep(trouble, Grid(kind=["raise", "none", "exit"]), 2)
    sweep.run(tmp_path / "here", "serial", **QUIET)
    sweep.run(tmp_path / "there", pool, **QUIET)
    assert_same_frames(tmp_path / "here", tmp_path / "there")


def test_failed_runs_are_tried_again_only_on_demand(tmp_path, monkeypatch):
    sweep = Sweep(trouble, Grid(kind=["raise", "none"]), 1)
    monkeypatch.setattr("tests.sweep.targets.build", lambda seed: 1 / 0)
    assert sweep.run(tmp_path, "serial", **QUIET).failed == 2
    monkeypatch.undo()
    assert sweep.run(tmp_path, "serial", **QUIET).failed == 2
    count = sweep.run(tmp_path, "serial", retry_failed=True, **QUIET)
    assert (count.done, count.failed) == (1, 1)
    runs = load(tmp_path).runs
    assert runs["status"].tolist() == ["failed", "stopped"]
    assert "no such market" in runs["error"][0]


def test_mesa_models_of_any_kind(tmp_path, pool):
    sweep = Sweep(Walk, Grid(walkers=[2, 3], far=[2.0, 1e9]), 2, steps=6)
    sweep.run(tmp_path / "here", "serial", **QUIET)
    sweep.run(tmp_path / "there", pool, **QUIET)
    assert_same_frames(tmp_path / "here", tmp_path / "there")
    found = load(tmp_path / "here")
    forever = found.runs[found.runs["far"] == 1e9]
    assert (forever["steps"] == 6).all()
    assert (forever["status"] == "stopped").all()
    lengths = found.steps.groupby("run")["step"].agg(["min", "max", "size"])
    assert (lengths["min"] == 0).all(), "collected in the constructor"
    assert (lengths["max"].to_numpy() == found.runs["steps"].to_numpy()).all()
    sizes = found.owners.groupby("run").size().to_numpy()
    assert (sizes == found.runs["walkers"] * (found.runs["steps"] + 1)).all()
    assert len(found.tables["moves"]) == (found.runs["walkers"] * found.runs["steps"]).sum()


def test_federations_and_scenarios_as_cells(tmp_path):
    cells = {"cheap": build(1, 0.01), "dear": build(1, 0.4)}
    Sweep(Federation, Cells(cells), [7]).run(tmp_path, "serial", **QUIET)
    found = load(tmp_path)
    assert found.runs["cell"].tolist() == ["cheap", "dear"]
    alone = Federation(cells["dear"], 7).run().frames()
    assert found.steps[found.steps["run"] == 1]["welfare"].tolist() == alone.steps["welfare"].tolist()


def test_scripts_keep_all_their_runs(tmp_path):
    Sweep("free_riding", Grid(owners=[3, 4]), [5], steps=4).run(tmp_path, "serial", **QUIET)
    found = load(tmp_path)
    assert found.runs["run"].tolist() == [0, 1, 2, 3]
    assert found.runs["job"].tolist() == [0, 0, 1, 1]
    study = Study("free_riding", 5, 4, quiet=True)
    free_riding.run(study, owners=4)
    second = found.owners[found.owners["run"] >= 2]
    assert second["utility"].tolist() == study.frames.owners["utility"].tolist()


def test_columns_and_runs_on_demand(tmp_path, small_batches):
    Sweep(build, Grid(rate=[0.1, 0.2]), 6).run(tmp_path, "serial", **QUIET)
    every = load(tmp_path)
    some = load(tmp_path, columns={"owners": ["utility"], "runs": ["rate"]}, runs="rate > 0.1")
    assert list(some.owners) == ["run", "utility"]
    assert list(some.runs) == ["run", "rate"]
    assert len(some.steps) == 0
    assert some.owners["utility"].tolist() == every.owners[every.owners["run"] >= 6]["utility"].tolist()
    picked = load(tmp_path, columns=["welfare"], runs=[9, 2])
    assert list(picked.steps) == ["run", "welfare"]
    assert picked.steps["run"].unique().tolist() == [2, 9]
    wrong_ones = [({"columns": ["utilty"]}, "utility"), ({"runs": [99]}, "no run 99"), ({"runs": "("}, "select")]
    for wrong, message in wrong_ones:
        with pytest.raises(InputError, match=message):
            load(tmp_path, **wrong)


def test_a_sweep_that_has_only_begun_can_be_read(tmp_path):
    sweep = Sweep(build, Grid(rate=[0.1, 0.2]))
    write_jobs(claim(tmp_path), sweep.jobs, sweep.describe())
    found, some = load(tmp_path), load(tmp_path, columns=["utility", "rate"])
    assert [len(frame) for frame in (found.runs, found.steps, found.owners, found.transfers)] == [0] * 4
    assert list(found.owners) == list(COLUMNS["owners"])
    assert (list(some.runs), list(some.owners), list(some.steps)) == (["run", "rate"], ["run", "utility"], ["run"])


def test_parts_are_merged_and_nothing_is_lost(tmp_path, small_batches):
    Sweep(build, Grid(rate=[0.1]), 100, steps=1).run(tmp_path, "serial", **QUIET)
    assert len(list((tmp_path / "parts").iterdir())) <= parts.MANY
    assert any(path.name.startswith("merged-") for path in (tmp_path / "parts").iterdir())
    assert load(tmp_path).runs["run"].tolist() == list(range(100))
    assert load(tmp_path).steps["run"].tolist() == list(range(100))


def test_parts_are_merged_when_they_are_many_and_large_ones_are_left_alone():
    sizes = [parts.LARGE, *[10] * (parts.MANY - 1)]
    some = [parts.PartFile(str(number), size) for number, size in enumerate(sizes)]
    assert parts.due(some) == ()
    assert set(parts.due([*some, parts.PartFile("last", 1)])) == {"last", *(part.name for part in some[1:])}
    halves = [parts.PartFile(str(number), parts.LARGE // 2 + number) for number in range(parts.MANY)]
    assert parts.due(halves) == ("0", "1")


@pytest.mark.parametrize("harm", ["truncated", "emptied", "flipped"])
def test_a_damaged_part_is_named_set_aside_and_repeated(tmp_path, small_batches, capsys, harm):
    sweep = Sweep(build, Grid(rate=[0.1, 0.2]), 2)
    sweep.run(tmp_path / "whole", "serial", **QUIET)
    sweep.run(tmp_path / "hurt", "serial", **QUIET)
    part = sorted((tmp_path / "hurt" / "parts").iterdir())[1]
    content = bytearray(part.read_bytes())
    content[100] ^= 255
    part.write_bytes({"truncated": part.read_bytes()[:-50], "emptied": b"", "flipped": bytes(content)}[harm])
    with pytest.raises(UnreadableError, match=f"{part.name}.*is damaged"):
        load(tmp_path / "hurt")
    sweep.run(tmp_path / "hurt", "serial", **QUIET)
    assert f"{part.name}.corrupt" in capsys.readouterr().err
    assert part.with_name(f"{part.name}.corrupt").exists()
    assert_same_frames(tmp_path / "whole", tmp_path / "hurt")


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path, small_batches, capsys, monkeypatch):
    sweep = Sweep(build, Grid(rate=[0.1]), 6)
    stop = iter([None, None, None, KeyboardInterrupt])

    class Impatient(SerialExecutor):
        def submit(self, *args):
            if next(stop):
                raise KeyboardInterrupt
            return super().submit(*args)

    with pytest.raises(Interrupted):
        sweep.run(tmp_path / "cut", Impatient(), repeat="fedabm sweep x.toml", **QUIET)
    said = capsys.readouterr().err
    assert "3 done, 0 failed, 3 left" in said
    assert "fedabm sweep x.toml" in said
    assert len(load(tmp_path / "cut").runs) == 3
    sweep.run(tmp_path / "cut", "serial")
    assert "Found 3 runs done and 0 failed; 3 are left" in capsys.readouterr().err
    sweep.run(tmp_path / "whole", "serial", **QUIET)
    assert_same_frames(tmp_path / "cut", tmp_path / "whole")


def test_the_manifest_records_design_and_seeds(tmp_path):
    Sweep(build, Grid(rate=[0.1]), Seeds(2, paired=False, root=9)).run(tmp_path, "serial", **QUIET)
    manifest = json.loads((tmp_path / "sweep.json").read_text())
    assert manifest["seeds"] == {"count": 2, "paired": False, "root": 9}
    assert manifest["design"] == [{"kind": "grid", "parameters": {"rate": [0.1]}}]
    assert manifest["target"] == {"kind": "function", "name": "tests.sweep.targets:build"}


def test_a_folder_with_something_else_is_refused(tmp_path):
    sweep = Sweep(build, Grid(rate=[0.1]))
    study = Study("x", quiet=True)
    study.simulate(build(1))
    study.save(tmp_path / "single")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    for name, message in (("single", "holds a single run"), ("other", "thesis.tex"), ("file", "cannot write")):
        with pytest.raises(InputError, match=message) as caught:
            sweep.run(tmp_path / name, "serial", **QUIET)
        assert "\n" not in str(caught.value)


def test_a_folder_with_a_sweep_of_something_else_is_refused(tmp_path):
    Sweep(build, Grid(rate=[0.1])).run(tmp_path, "serial", **QUIET)
    with pytest.raises(InputError, match=r"holds a sweep of tests\.sweep\.targets:build, not of .*:Walk; choose"):
        Sweep(Walk, Grid(far=[1.0])).run(tmp_path, "serial", **QUIET)
    assert len(load(tmp_path).runs) == 1
    (tmp_path / "sweep.json").write_text("{")
    assert Sweep(build, Grid(rate=[0.1])).run(tmp_path, "serial", **QUIET).done == 1


def test_a_full_or_read_only_disk_gets_one_line(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    for what in ("fedabm.common.files.os.fsync", "fedabm.sweep.worker._write_note"):
        with monkeypatch.context() as patch:
            patch.setattr(what, full)
            with pytest.raises(InputError, match=r"cannot write to .*No space left on device") as caught:
                Sweep(build, Grid(rate=[0.1])).run(tmp_path, "serial", **QUIET)
            assert "\n" not in str(caught.value)


def test_two_leaders_do_not_share_a_folder(tmp_path):
    with lock(claim(tmp_path)), pytest.raises(BusyError, match="another sweep is at work"):
        Sweep(build, Grid(rate=[0.1])).run(tmp_path, "serial", **QUIET)
