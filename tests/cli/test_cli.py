import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import fedabm.scenarios
from fedabm import Federation, InputError, load
from fedabm.cli import main
from fedabm.common import device
from fedabm.simulation.checkpoint import Keeper
from fedabm.study.library import find, names
from tests.conftest import assert_equal_frames
from tests.killing import watched

pytestmark = pytest.mark.usefixtures("undrawn")

ROOT = Path(__file__).parents[2]
SHORT = ["--steps", "3", "--set", "owners=5", "--quiet"]

#: a scenario whose parameters reach costs, capacities and lengths directly
SCRIPT = '''
"""What if the input is bad?"""
import typing
from fedabm import Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.strategies import Random

def run(study, costs: tuple[float, ...] = (0.1, 0.2), capacities: tuple[float, ...] = (5.0, 6.0), shuffle: bool = False,
        kind: typing.Literal["honest", "liar"] = "honest") -> None:
    study.simulate(Scenario(population(costs, capacities, Random()), PowerLaw()), kind)
'''


@pytest.fixture
def bad_input(tmp_path_factory, monkeypatch):
    """Puts the script above among the scenarios."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "bad_input.py").write_text(SCRIPT)
    monkeypatch.setattr(fedabm.scenarios, "__path__", [*fedabm.scenarios.__path__, str(folder)])
    yield "bad_input"
    sys.modules.pop("fedabm.scenarios.bad_input", None)


def refused(arguments, capsys) -> str:
    """Run the command, insist on exit code 2 and one line on stderr, and return the line."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.err.startswith("fedabm: ")
    assert said.err.count("\n") == 1
    assert "Traceback" not in said.err
    return said.err


# What works


def test_list_names_scenarios_questions_and_parameters(capsys):
    assert main(["list"]) == 0
    assert "free_riding" in capsys.readouterr().out
    assert main(["list", "free_riding"]) == 0
    shown = capsys.readouterr().out
    assert "--set owners=12" in shown
    assert shown.startswith("free_riding: Who contributes")


def test_run_writes_frames_manifest_and_picture_and_says_where(tmp_path, capsys):
    assert main(["run", "free_riding", "--steps", "3", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for name in ("runs.parquet", "owners.parquet", "manifest.json", "summary.csv", "free_riding.png"):
        assert (tmp_path / name).stat().st_size > 0
        assert name in said.replace("\n", "")


def test_a_deterministic_run_says_so_and_repeats_so(tmp_path):
    assert main(["run", "free_riding", "--steps", "2", "--quiet", "--deterministic", "--out", str(tmp_path)]) == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["deterministic"]
    assert "--deterministic" in shlex.split(manifest["repeat"])


def test_json_is_all_that_is_printed_and_holds_the_tables(tmp_path, capsys):
    out = tmp_path / "run"
    assert main(["run", "free_riding", "--steps", "3", "--set", "owners=5", "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["folder"] == str(out)
    assert "runs.parquet" in said["files"]
    rows = pd.DataFrame(said["tables"]["summary"]["rows"])
    pd.testing.assert_frame_equal(rows, pd.read_csv(out / "summary.csv"), check_dtype=False)


def test_a_game_is_shipped_and_solves(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "--game"]) == 0
    assert "fedabm solve game.toml" in capsys.readouterr().out
    assert main(["solve", "game.toml"]) == 0
    assert "2.99839298" in capsys.readouterr().out


def test_data_sets_as_json(capsys):
    assert main(["data", "list", "--json"]) == 0
    states = {row["name"]: row["state"] for row in json.loads(capsys.readouterr().out)}
    assert states["digits"] == "embedded"


def test_quiet_prints_nothing(tmp_path, capsys):
    assert main(["run", "free_riding", *SHORT, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out == said.err == ""


def test_same_seed_same_frames_in_two_folders_and_another_seed_others(tmp_path):
    for folder, seed in (("A", 7), ("B", 7), ("C", 8)):
        assert main(["run", "free_riding", "--seed", str(seed), "--quiet", "--out", str(tmp_path / folder)]) == 0
    a, b, c = (load(tmp_path / folder) for folder in "ABC")
    assert_equal_frames(a, b)
    with pytest.raises(AssertionError):
        pd.testing.assert_frame_equal(a.owners, c.owners)


def test_the_manifests_command_repeats_the_run(bad_input, tmp_path):
    first, second = tmp_path / "first one", tmp_path / "second"
    settings = ["--steps", "3", "--set", "costs=0.3,0.4", "--set", "kind=liar"]
    assert main(["run", bad_input, "--seed", "3", *settings, "--quiet", "--out", str(first)]) == 0
    manifest = json.loads((first / "manifest.json").read_text())
    program, *words = shlex.split(manifest["repeat"])
    assert program == "fedabm"
    assert main([*words, "--quiet", "--out", str(second)]) == 0
    assert_equal_frames(load(first), load(second))
    assert manifest["parameters"]["costs"] == [0.3, 0.4]
    assert (manifest["seed"], manifest["steps"], manifest["complete"]) == (3, 3, True)


def test_without_out_every_run_gets_a_new_folder_in_results(bad_input, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["run", bad_input, "--steps", "2", "--quiet"]) == 0
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["bad_input-0", "bad_input-0-2"]


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert fedabm.__version__ in capsys.readouterr().out


def test_parameters_are_read_by_their_type(bad_input):
    script = find(bad_input)
    chosen = script.parameters(["costs=0.3,0.4", "shuffle=yes", "kind=liar"])
    assert chosen == {"costs": (0.3, 0.4), "capacities": (5.0, 6.0), "shuffle": True, "kind": "liar"}


# What does not


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "fre_riding"], "unknown scenario 'fre_riding'; did you mean 'free_riding'?"),
        (["list", "fre_riding"], "did you mean 'free_riding'?"),
        (["run", "free_riding", "--set", "owner=3"], "no parameter 'owner'; did you mean 'owners'?"),
        (["run", "free_riding", "--set", "owners"], "--set takes key=value, got 'owners'"),
        (["run", "free_riding", "--set", "owners=many"], "owners must be a whole number, got 'many'"),
        (["run", "free_riding", "--set", "owners=2.5"], "owners must be a whole number, got 2.5"),
        (["run", "free_riding", "--set", "owners=0"], "owners must be a whole number from 1 to 100000, got 0"),
        (["run", "free_riding", "--set", "owners=-3"], "owners must be a whole number from 1 to 100000, got -3"),
        (["run", "free_riding", "--set", "owners=1000000000000000"], "from 1 to 100000"),
        (["run", "free_riding", "--set", "rate=-1"], "subsidy rate must be zero or a positive number, got -1"),
        (["run", "free_riding", "--set", "rate=nan"], "subsidy rate must be zero or a positive number, got nan"),
        (["run", "free_riding", "--set", "rate=lots"], "rate must be a number, got 'lots'"),
        (["run", "free_riding", "--steps", "0"], "steps must be a positive whole number, got 0"),
        (["run", "free_riding", "--steps", "x"], "invalid int value: 'x'"),
        (["run", "free_riding", "--seed", "-1"], "seed must be a whole number from 0"),
        (["run", "free_riding", "--seed", str(2**64)], "seed must be a whole number from 0"),
        (["run", "free_riding", "--sed", "1"], "unrecognized arguments"),
        (["fly"], "invalid choice: 'fly'"),
        ([], "required: COMMAND"),
    ],
)
def test_bad_arguments_get_one_line_and_leave_nothing_behind(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert message in refused(arguments, capsys)
    assert not list((tmp_path / "results").glob("*"))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("costs=-0.1,0.2", "cost rate must be zero or a positive number, got -0.1"),
        ("costs=nan,0.2", "got nan"),
        ("capacities=0,1", "capacity must be a positive number, got 0"),
        ("capacities=5,nan", "capacities must be finite, got nan"),
        ("costs=", "costs needs at least one value"),
        ("costs=0.1,0.2,0.3", "2 values of capacities but 3 owners"),
        ("costs=0.1,dear", "costs must be a number, got 'dear'"),
        ("shuffle=perhaps", "shuffle must be true or false"),
        ("kind=lier", "did you mean 'liar'?"),
    ],
)
def test_bad_numbers_get_one_line_and_leave_nothing_behind(bad_input, setting, message, tmp_path, capsys):
    out = tmp_path / "out"
    assert message in refused(["run", bad_input, "--set", setting, "--out", str(out)], capsys)
    assert not out.exists()


def test_a_folder_that_holds_another_run_is_left_alone(tmp_path, capsys):
    arguments = ["run", "free_riding", *SHORT, "--out", str(tmp_path)]
    assert main(arguments) == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert "already holds a run" in refused([*arguments, "--seed", "5"], capsys)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_complete_run_is_not_made_twice_and_its_command_ends_well(tmp_path, capsys):
    """Until its script changes, or somebody asks for something else."""
    script = tmp_path / "own.py"
    script.write_text(SCRIPT)
    arguments = ["run", str(script), "--steps", "1", "--out", str(tmp_path / "out")]
    assert main(arguments) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    capsys.readouterr()
    assert main(arguments) == 0
    assert "holds this run already, complete" in capsys.readouterr().out
    assert "already holds a run" in refused([*arguments, "--format", "svg"], capsys)
    later = time.time() + 10
    os.utime(script, (later, later))
    assert "already holds a run" in refused(arguments, capsys)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_an_empty_folder_of_the_user_survives_bad_input(tmp_path, capsys):
    refused(["run", "free_riding", "--set", "rate=-1", "--out", str(tmp_path)], capsys)
    assert tmp_path.is_dir()


def test_an_unwritable_folder_is_found_before_any_work(tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(Federation, "step", lambda self: pytest.fail("worked before looking at the folder"))
    assert "cannot write to" in refused(["run", "free_riding", *SHORT, "--out", str(tmp_path / "file" / "out")], capsys)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_disk_that_is_full_in_earnest(tmp_path):
    """The system refuses to write more than a few kilobytes per file."""
    out = tmp_path / "out"
    finished = subprocess.run(
        [sys.executable, "-B", "-m", "fedabm", "run", "free_riding", *SHORT, "--out", str(out)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
    )
    assert finished.returncode == 2, finished.stderr
    assert "cannot write to" in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not out.exists()


# Ctrl-C


@pytest.mark.parametrize("words", [["free_riding", "--set", "owners=6"], ["first_training", "--steps", "1"]])
def test_an_interrupt_after_the_last_step_keeps_the_finished_run(words, tmp_path, monkeypatch, capsys):
    def tired(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Keeper, "end", tired)
    out = tmp_path / "out"
    assert main(["run", *words, "--quiet", "--out", str(out)]) == 130
    assert f"fedabm.load({str(out)!r})" in capsys.readouterr().err
    frames = load(out)
    assert len(frames.runs) == 1
    assert len(frames.steps) == frames.runs["steps"].iloc[0] >= 1


def test_an_interrupt_keeps_what_was_recorded_and_says_how_to_see_it(tmp_path, monkeypatch, capsys):
    step, calls = Federation.step, []

    def tired(self):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        step(self)

    monkeypatch.setattr(Federation, "step", tired)
    out = tmp_path / "out"
    assert main(["run", "free_riding", "--set", "owners=6", "--quiet", "--out", str(out)]) == 130
    said = capsys.readouterr().err
    assert f"fedabm.load({str(out)!r})" in said
    assert said.count("\n") == 1
    assert "go on" not in said  # nothing was kept that could be gone on with
    frames = load(out)
    assert frames.runs["status"].iloc[-1] == "interrupted"
    assert frames.steps["step"].tolist() == [1, 2]
    assert not json.loads((out / "manifest.json").read_text())["complete"]


def test_an_interrupt_between_runs_keeps_the_finished_ones(tmp_path, monkeypatch, capsys):
    from fedabm.study.study import Study

    simulate, calls = Study.simulate, []

    def tired(self, *arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return simulate(self, *arguments, **options)

    monkeypatch.setattr(Study, "simulate", tired)
    out = tmp_path / "out"
    command = ["run", "free_riding", *SHORT, "--checkpoint", "1e-6", "--out", str(out)]
    assert main(command) == 130
    said = capsys.readouterr().err
    assert "fedabm.load" in said
    assert "repeat the command to go on" in said
    assert load(out).runs["label"].tolist() == ["no payments"]
    assert main(command) == 0
    assert main(["run", "free_riding", *SHORT, "--out", str(tmp_path / "whole")]) == 0
    assert_equal_frames(load(out), load(tmp_path / "whole"))


def test_an_interrupt_before_the_first_step_leaves_nothing(tmp_path, monkeypatch, capsys):
    def tired(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Federation, "step", tired)
    out = tmp_path / "out"
    assert main(["run", "free_riding", *SHORT, "--out", str(out)]) == 130
    assert "nothing was recorded" in capsys.readouterr().err
    assert not out.exists()


def test_a_real_ctrl_c(tmp_path):
    out = tmp_path / "out"
    program = f"""
import sys, time, fedabm.simulation.model
step = fedabm.simulation.model.Federation.step
def announced(self):
    step(self)
    print(self.steps, flush=True)
    time.sleep(5)  # else the run might be over before it is interrupted
fedabm.simulation.model.Federation.step = announced
from fedabm.cli import main
from fedabm.common import device
sys.exit(main(["run", "free_riding", "--set", "owners=300", "--steps", "100000", "--quiet", "--out", {str(out)!r}]))
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored in the background of some shells
    )
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=600)
    assert running.returncode == 130, errors
    assert "Traceback" not in errors
    assert "fedabm.load" in errors
    frames = load(out)
    assert frames.runs["status"].iloc[-1] == "interrupted"
    assert len(frames.steps) >= 1
    assert len(frames.owners) == 300 * len(frames.steps)
    total = frames.owners.groupby(["run", "step"])["contribution"].sum().to_numpy()
    assert total == pytest.approx(frames.steps["contribution"].to_numpy())


def test_a_run_killed_at_any_operation_on_files_goes_on_by_the_same_command(bad_input, tmp_path):
    def go(folder):
        return main(["run", bad_input, "--steps", "3", "--checkpoint", "1e-9", "--quiet", "--out", str(folder)])

    with watched(tmp_path / "whole") as whole:
        assert go(tmp_path / "whole") == 0
    assert whole.count > 25
    for allowed in range(whole.count):
        folder = tmp_path / str(allowed)
        with watched(folder, allowed):
            go(folder)
        complete = (folder / "manifest.json").exists()
        assert go(folder) in ((0, 2) if complete else (0,))  # what was killed while it tidied up is done
        assert_equal_frames(load(folder), load(tmp_path / "whole"))


def test_a_finished_run_that_could_not_clear_up_is_not_taken_for_an_unfinished_one(bad_input, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ["run", bad_input, "--steps", "2", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr("fedabm.study.resume.shutil.rmtree", lambda *arguments, **options: None)
        assert main(command) == 0
    assert (tmp_path / "results" / "bad_input-0" / ".running" / "command").exists()
    assert main(command) == 0
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["bad_input-0", "bad_input-0-2"]


def test_help_and_the_list_do_not_wait_for_what_they_do_not_need():
    program = """
import sys
from fedabm.cli import main
from fedabm.common import device
assert main(["list"]) == 0
print([name for name in ("torch", "pandas", "mesa", "matplotlib", "scipy") if name in sys.modules])
"""
    said = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"
    assert all(name in said for name in names())


def test_what_the_package_offers_is_imported_when_asked_for():
    assert all(getattr(fedabm, name).__name__.removeprefix("fedabm.") == name for name in fedabm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Federaton'"):
        _ = fedabm.Federaton


@pytest.mark.parametrize("command", ["live", "audit"])
def test_watched_and_audited_runs_train_where_they_are_told_to(command, monkeypatch, capsys):
    seen = []

    def noted(*_, **__):
        seen.append(device.chosen())
        raise InputError("enough was seen; stop")

    monkeypatch.setattr("fedabm.live.live", noted, raising=False)
    monkeypatch.setattr("fedabm.cli.audit.read_audit", noted)
    assert main([command, "free_riding", "--device", "cpu"]) == 2
    assert seen == ["cpu"]
    assert device.chosen() == "auto"
    for name, told in (("meta", "no values"), ("gpu", "unknown device 'gpu'")):
        capsys.readouterr()
        assert main([command, "free_riding", "--device", name]) == 2
        assert told in capsys.readouterr().err
    assert seen == ["cpu"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["league", "--seeds", "-1"], "seeds must be"),
        (["league", "--seeds", "0", "--quick"], "seeds must be"),
        (["league", "--owners", "1"], "owners must be"),
        (["data", "get", "minilmm"], "did you mean 'minilm'"),
        (["live", "free_riding", "--port", "99999999", "--no-browser"], "port must be from 0 to 65535, got 99999999"),
    ],
)
def test_numbers_and_names_that_cannot_be_are_told(words, told, capsys):
    assert main(words) == 2
    found = capsys.readouterr()
    assert told in found.err
    assert (found.out, found.err.count("\n")) == ("", 1)


def test_a_file_of_another_kind_is_told_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == main(["init", "--game"]) == 0
    capsys.readouterr()
    assert main(["sweep", "study.toml"]) == 2
    assert "a study or a game, not a sweep: it says who plays; fedabm run or solve takes it" in capsys.readouterr().err
    assert main(["run", "game.toml"]) == 2
    assert "a game of one mechanism, not a study; fedabm solve game.toml takes it" in capsys.readouterr().err
