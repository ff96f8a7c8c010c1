"""Long tables are written while the run goes on; nobody can tell afterwards, and memory does not grow."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from fedabm import Federation, Frames, InputError, OwnerProfile, Scenario, load, population, save
from fedabm.cli import main
from fedabm.games.accuracy import PowerLaw
from fedabm.games.costs import Linear
from fedabm.mechanisms import ContributionSubsidy
from fedabm.results import streams
from fedabm.results.columns import COLUMNS, Column
from fedabm.results.keep import Recording
from fedabm.simulation import checkpoint, ledger, recorder
from fedabm.simulation.agents import Owner
from fedabm.strategies import BestResponse, EpsilonGreedy, FreeRider
from fedabm.study.study import Study
from fedabm.sweep import Grid, Sweep
from tests.conftest import mixed
from tests.sweep.helpers import assert_same_frames
from tests.waiting import until

STEPS = 12


@pytest.fixture
def few_rows(monkeypatch):
    """Rows go to disk after a few steps already."""
    for module in (recorder, ledger, streams):
        monkeypatch.setattr(module, "ROWS", 40)


def restless(owners=10, steps=STEPS, **options):
    """Owners who draw, so that a run goes on to its last step; three strategies, money from and to the server."""
    kinds = [(BestResponse(), EpsilonGreedy(), FreeRider())[k % 3] for k in range(owners)]
    people = population(np.linspace(0.01, 0.2, owners), 10.0, kinds)
    return Scenario(people, PowerLaw(), ContributionSubsidy(0.01), steps=steps, **options)


def same(one: Frames, two: Frames) -> None:
    for name in COLUMNS:
        left, right = getattr(one, name), getattr(two, name)
        drop = ["wall_time"] if name == "runs" else []
        pd.testing.assert_frame_equal(left.drop(columns=drop), right.drop(columns=drop), check_exact=True)


OWN = Column("owners", "halves", lambda round: np.arange(round.owners) / (1 if round.step < 5 else 2))
GROWING = Column("owners", "kind", lambda round: (round.contribution > 1) * (1 if round.step < 5 else 0.5))


@pytest.mark.parametrize(
    "scenario",
    [
        restless(),
        restless(columns=(OWN, GROWING)),
        restless(record=Recording(2, owners=4, strategies=True)),
        restless(record=Recording(owners=0, strategies=True)),
        restless(record=None),
        mixed(),
    ],
    ids=["plain", "own columns", "chosen", "sums only", "last only", "mixed"],
)
def test_streamed_frames_are_the_others_bit_for_bit(scenario, few_rows, tmp_path):
    whole = Federation(scenario, 3).run().frames()
    model = Federation(scenario, 3).stream(tmp_path / "rows").run()
    same(model.frames(), whole)
    joined = [Federation(one, 3).stream(tmp_path / one.name).run().frames() for one in (scenario, mixed(name="two"))]
    plain = Frames.join([whole, Federation(mixed(name="two"), 3).run().frames()])
    for number, (streamed, kept) in enumerate([(model.frames(), whole), (Frames.join(joined), plain)]):
        save(streamed, tmp_path / f"streamed-{number}")
        save(kept, tmp_path / f"kept-{number}")
        same(load(tmp_path / f"streamed-{number}"), load(tmp_path / f"kept-{number}"))


def test_rows_go_to_disk_while_the_run_goes_on_and_stay_there_as_row_groups(few_rows, tmp_path):
    model = Federation(restless(), 3).stream(tmp_path / "rows")
    for _ in range(6):
        model.step()
    begun = [pd.read_parquet(path) for path in sorted((tmp_path / "rows").glob("owners-*.parquet"))]
    assert [rows["step"].unique().tolist() for rows in begun] == [[1, 2, 3, 4]]
    assert len(model.recorder._kept[-1].owners["owner"]) == 10
    assert not model.recorder._kept[0].owners
    save(model.run().frames(), tmp_path / "saved")
    assert pq.ParquetFile(tmp_path / "saved" / "owners.parquet").num_row_groups == 3


def test_owners_who_come_later_are_called_by_their_names(few_rows, tmp_path):
    def grown(model):
        for step in range(STEPS):
            if step == 7:
                Owner(model, OwnerProfile(Linear(0.02), 5.0, FreeRider(), role="guest", name="late"))
            model.step()
        return model.frames()

    scenario = restless(seats=11)
    same(grown(Federation(scenario, 3).stream(tmp_path)), grown(Federation(scenario, 3)))


def test_some_columns_and_runs_are_read_without_the_rest(few_rows, tmp_path):
    parts = [Federation(restless(), seed).stream(tmp_path / str(seed)).run().frames() for seed in (1, 2, 3)]
    save(Frames.join(parts), tmp_path / "saved")
    whole = load(tmp_path / "saved")
    some = load(tmp_path / "saved", columns={"owners": ["step", "strategy"]}, runs=[0, 2])
    wanted = whole.owners.loc[whole.owners["run"].isin([0, 2]), ["run", "step", "strategy"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(some.owners, wanted, check_exact=True)
    assert some.runs.columns.tolist() == ["run"]
    assert load(tmp_path / "saved", runs="seed > 5").owners.empty


def test_sums_by_strategy_add_up_to_the_step():
    frames = Federation(restless(record=Recording(3, owners=2, strategies=True)), 3).run().frames()
    kept = sorted({*range(3, STEPS + 1, 3), STEPS})
    assert sorted(frames.strategies["step"].unique()) == kept
    assert frames.strategies.groupby("step").size().tolist() == [3] * len(kept)
    sums = frames.strategies.groupby("step")[["contribution", "cost", "utility", "owners", "rejected"]].sum()
    steps = frames.steps.set_index("step").rename(columns={"welfare": "utility", "present": "owners"})
    pd.testing.assert_frame_equal(sums, steps[sums.columns], check_dtype=False)
    means = frames.strategies.assign(total=frames.strategies["accuracy"] * frames.strategies["owners"])
    np.testing.assert_allclose(means.groupby("step")["total"].sum() / 10, steps["accuracy"])


def test_a_sample_is_the_rows_of_some_owners_and_their_money_and_changes_nothing_else():
    whole = Federation(restless(), 3).run().frames()
    some = Federation(restless(record=Recording(owners=4)), 3).run().frames()
    chosen = some.owners["owner"].unique()
    assert len(chosen) == 4
    rows = whole.owners[whole.owners["owner"].isin(chosen)].reset_index(drop=True)
    pd.testing.assert_frame_equal(some.owners, rows, check_exact=True)
    pd.testing.assert_frame_equal(some.steps, whole.steps, check_exact=True)
    paid = whole.transfers[whole.transfers["payer"].isin(chosen) | whole.transfers["payee"].isin(chosen)]
    assert 0 < len(paid) < len(whole.transfers)
    pd.testing.assert_frame_equal(some.transfers, paid.reset_index(drop=True), check_exact=True)
    other = Federation(restless(record=Recording(owners=4)), 4).run().frames().owners["owner"].unique()
    assert set(other) != set(chosen)


@pytest.mark.parametrize("wrong", [{"every": 0}, {"owners": -1}, {"owners": 1.5}, {"strategies": "yes"}])
def test_what_cannot_be_kept_is_refused(wrong):
    with pytest.raises(InputError, match="; "):
        Recording(**wrong)


def test_a_checkpoint_holds_no_rows_that_are_on_disk_and_the_run_goes_on_from_it(few_rows, tmp_path):
    scenario = restless()
    whole = Federation(scenario, 3).run().frames()
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 0.0, "mine", rows=tmp_path / "rows")
    model = keeper.begun(scenario, 3)
    for _ in range(6):
        model.step()
        keeper.keep(model)
    for _ in range(3):
        model.step()  # killed here: what was written since is written again
    assert len(list((tmp_path / "rows").glob("owners-*"))) == 2
    again = checkpoint.Keeper(tmp_path / "run.checkpoint", 60.0, "mine", rows=tmp_path / "rows").begun(scenario, 3)
    assert again.steps == 6
    assert len(list((tmp_path / "rows").glob("owners-*"))) == 1
    same(again.run().frames(), whole)


def test_a_checkpoint_whose_rows_are_gone_begins_again(few_rows, tmp_path, capsys):
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 0.0, "mine", rows=tmp_path / "rows")
    model = keeper.begun(restless(), 3)
    for _ in range(6):
        model.step()
        keeper.keep(model)
    next((tmp_path / "rows").glob("owners-*")).unlink()
    again = checkpoint.Keeper(tmp_path / "run.checkpoint", 60.0, "mine", rows=tmp_path / "rows").begun(restless(), 3)
    assert again.steps == 0
    assert "is not there any more" in capsys.readouterr().err


def part_of(folder, table="owners"):
    """The first file of a table in a folder of streamed rows."""
    return min(folder.glob(f"{table}-*.parquet"))


@pytest.mark.parametrize("table", ["owners", "transfers"])
def test_rows_of_another_run_are_refused_when_they_are_read(few_rows, tmp_path, table):
    mine, other = (Federation(restless(), seed).stream(tmp_path / str(seed)).run() for seed in (3, 4))
    alike = (pd.read_parquet(part_of(tmp_path / seed, table)) for seed in ("3", "4"))
    assert len({rows.shape for rows in alike}) == 1  # nothing but the numbers tells them apart
    shutil.copy(part_of(tmp_path / "4", table), part_of(tmp_path / "3", table))
    with pytest.raises(InputError, match="does not hold the rows that this run wrote there") as caught:
        getattr(mine.frames(), table)
    assert "\n" not in str(caught.value)
    assert "; run again" in str(caught.value)
    with pytest.raises(InputError, match="another run's"):
        save(mine.frames(), tmp_path / "saved")
    assert len(getattr(other.frames(), table))


def test_a_second_run_in_the_same_folder_is_noticed_by_the_first(few_rows, tmp_path):
    first, second = Federation(restless(), 3).stream(tmp_path), Federation(restless(), 4).stream(tmp_path)
    for _ in range(STEPS):
        first.step()
        second.step()
    with pytest.raises(InputError, match="another run's"):
        assert len(first.frames().owners)
    same(second.frames(), Federation(restless(), 4).run().frames())


def test_the_same_run_twice_in_one_folder_ends_with_the_same_rows(few_rows, tmp_path):
    models = [Federation(restless(), 3).stream(tmp_path) for _ in range(2)]
    for _ in range(STEPS):
        for model in models:
            model.step()
    whole = Federation(restless(), 3).run().frames()
    for model in models:
        same(model.frames(), whole)


def test_a_checkpoint_does_not_go_on_from_rows_of_another_run(few_rows, tmp_path, capsys):
    Federation(restless(), 4).stream(tmp_path / "other").run()
    keeper = checkpoint.Keeper(tmp_path / "run.checkpoint", 0.0, "mine", rows=tmp_path / "rows")
    model = keeper.begun(restless(), 3)
    for _ in range(6):
        model.step()
        keeper.keep(model)
    shutil.copy(part_of(tmp_path / "other"), part_of(tmp_path / "rows"))
    again = checkpoint.Keeper(tmp_path / "run.checkpoint", 60.0, "mine", rows=tmp_path / "rows").begun(restless(), 3)
    assert again.steps == 0
    assert "another run's" in capsys.readouterr().err
    same(again.run().frames(), Federation(restless(), 3).run().frames())


def test_a_study_keeps_what_it_is_told_to(tmp_path):
    study = Study("study", 3, quiet=True)
    study.keep = {"owners": 2}
    study.simulate(restless(record=Recording(5, strategies=True)))
    assert sorted(study.frames.owners["step"].unique()) == [5, 10, 12]
    assert study.frames.owners["owner"].nunique() == 2
    assert len(study.frames.strategies) == 9


SCRIPT = '''
"""Does a large run stream?"""
import numpy as np
from fedabm import Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.strategies import EpsilonGreedy

def run(study, owners=50_000, rows=2**16, wait=0.0):
    """One run."""
    import os, time
    from fedabm.results.columns import Column
    from fedabm.simulation import ledger, recorder
    recorder.ROWS = ledger.ROWS = rows
    last = int(os.environ.get("STOPS_AFTER", "0"))  # which it does to be killed
    slow = Column("steps", "slow", lambda round: time.sleep(600.0 if round.step > last > 0 else wait) or 0.0)
    people = population(np.linspace(0.01, 0.2, owners), 10.0, EpsilonGreedy())
    study.simulate(Scenario(people, PowerLaw(), ContributionSubsidy(0.01), steps=200, columns=(slow,)))
'''

MEASURED = """
import resource, sys
from fedabm.cli import main
main(["run", "large.py", "--quiet", "--steps", sys.argv[1], "--out", sys.argv[2]])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "large.py").write_text(SCRIPT)
    return tmp_path


def test_memory_does_not_grow_with_steps(script):
    """Sixteen more steps of fifty thousand owners: 0.8 million rows, some 150 MB, and as many transfers."""
    peaks = []
    for steps in (8, 24):
        command = [sys.executable, "-c", MEASURED, str(steps), f"out-{steps}"]
        peaks.append(int(subprocess.check_output(command, cwd=script, text=True)))
    assert peaks[1] < 1.15 * peaks[0]
    owners = pq.ParquetFile(script / "out-24" / "owners.parquet")
    assert owners.metadata.num_rows == 24 * 50_000
    assert owners.num_row_groups > 8


def test_a_killed_run_leaves_rows_that_can_be_read_and_goes_on_to_the_same_frames(script):
    command = [sys.executable, "-m", "fedabm", "run", "large.py", "--quiet", "--steps", "12"]
    command += ["--set", "owners=1000", "--set", "rows=2000"]
    slow = [*command, "--checkpoint", "0.01", "--out", "killed"]
    process = subprocess.Popen(slow, cwd=script, env={**os.environ, "STOPS_AFTER": "6"})
    rows = script / "killed" / ".running" / "run-1.checkpoint.rows"
    until(lambda: len(list(rows.glob("owners-*.parquet"))) >= 2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    read = pd.concat([pd.read_parquet(path) for path in sorted(rows.glob("owners-*.parquet"))])
    assert read["step"].max() >= 2
    assert len(read) == 1000 * read["step"].nunique()
    subprocess.run(slow, cwd=script, check=True)
    subprocess.run([*command, "--out", "whole"], cwd=script, check=True)
    columns = {"owners": None, "steps": None, "transfers": None}
    one, two = (load(script / name, columns) for name in ("killed", "whole"))
    for name in columns:
        pd.testing.assert_frame_equal(getattr(one, name), getattr(two, name), check_exact=True)
    assert not (script / "killed" / ".running").exists()


def test_parallel_sweeps_of_scripts_do_not_mix_the_streamed_rows_of_their_runs(script, few_rows):
    """Runs that take as long and wait in every step, so that two are at work at any time."""
    sweep = Sweep(str(script / "large.py"), Grid(owners=[20], rows=[40], wait=[0.05]), [1, 2, 3, 4], steps=8)
    sweep.run(script / "serial", "serial", quiet=True)
    sweep.run(script / "parallel", "local", workers=2, quiet=True)
    assert_same_frames(script / "serial", script / "parallel")
    assert load(script / "parallel").runs["status"].tolist() == ["stopped"] * 4
    assert not any((script / "parallel" / "running").iterdir())


def test_the_command_chooses_what_is_kept(script):
    chosen = ["--keep-every", "3", "--keep-owners", "5", "--keep-strategies", "--set", "owners=50"]
    command = [sys.executable, "-m", "fedabm", "run", "large.py", "--quiet", "--steps", "7", "--out", "out", *chosen]
    subprocess.run(command, cwd=script, check=True)
    found = load(script / "out")
    assert sorted(found.owners["step"].unique()) == [3, 6, 7]
    assert found.owners["owner"].nunique() == 5
    assert found.strategies["step"].tolist() == [3, 6, 7]
    assert "--keep-every 3 --keep-owners 5 --keep-strategies" in (script / "out" / "manifest.json").read_text()
    refused = subprocess.run(
        [*command[:-6], "--keep-every", "0", "--out", "no"], cwd=script, capture_output=True, text=True, check=False
    )
    assert refused.returncode
    assert refused.stderr.count("\n") == 1


STUDY = """
accuracy = { kind = "power_law", exponent = 0.5 }
mechanisms = ["no_payments", { kind = "contribution_subsidy", rate = 0.01 }]
figures = ["comparison"]
steps = 6
keep = { every = 4, owners = 3, strategies = true }

[[groups]]
name = "practice"
count = 12
cost = { low = 0.01, high = 0.03 }
data = 50
strategy = "epsilon_greedy"
"""


def test_a_study_in_toml_chooses_what_is_kept(tmp_path, capsys):
    (tmp_path / "study.toml").write_text(STUDY)
    main(["run", str(tmp_path / "study.toml"), "--quiet", "--out", str(tmp_path / "out")])
    found = load(tmp_path / "out")
    assert found.owners.groupby("run")["owner"].nunique().tolist() == [3, 3]
    assert found.strategies["step"].tolist() == [4, 6, 4, 6]
    assert found.strategies["owners"].eq(12).all()
    (tmp_path / "bad.toml").write_text(STUDY.replace("owners = 3", "owners = 0").replace('"comparison"', '"owners"'))
    assert main(["run", str(tmp_path / "bad.toml"), "--quiet", "--out", str(tmp_path / "bad")])
    assert "needs rows of owners" in capsys.readouterr().err


def chosen(seed: int, owners: int = 6) -> Scenario:
    """A scenario of a sweep that keeps a sample and sums."""
    return restless(owners, record=Recording(6, owners=2, strategies=True))


def test_the_runs_of_a_sweep_keep_what_their_scenarios_say(tmp_path):
    Sweep(chosen, Grid(owners=[7]), [1, 2]).run(tmp_path / "sweep", "serial", quiet=True)
    found = load(tmp_path / "sweep")
    single = Federation(chosen(2, 7), 2).run().frames()
    for name in ("owners", "strategies"):
        rows = getattr(found, name)
        mine = rows[rows["run"] == 1].drop(columns="run").reset_index(drop=True)
        wanted = getattr(single, name).drop(columns="run")
        pd.testing.assert_frame_equal(mine, wanted, check_exact=True, check_categorical=False)
