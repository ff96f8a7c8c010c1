"""Sweeps from TOML and from the command line."""

import re

import pytest

from fedabm import InputError, load
from fedabm.cli import sweep as commands
from fedabm.cli.parsers import command_line
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.scenarios import mechanism_by_population
from fedabm.strategies import Attacker, BestResponse, Liar
from fedabm.study import library
from fedabm.study.study import Study
from fedabm.sweep import Seeds, read_sweep

FUNCTION = 'function = "tests.sweep.targets:build"\n'
MARKET = 'function = "fedabm.scenarios.mechanism_by_population:market"\n'
SCRIPT = 'scenario = "mechanism_by_population"\n'


def write(folder, text):
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def command(*words):
    return commands.sweep(command_line().parse_args(["sweep", *map(str, words)]))


def test_values_are_read_as_the_target_wants_them(tmp_path):
    text = """
        seeds = { count = 3, paired = false, root = 4 }
        steps = 2
        [fixed]
        owners = 3
        strategy = { kind = "liar", truth = "best_response", cost_factor = 2.0 }
        [design]
        rate = [1, 0.2]
        mechanism = ["no_payments", { kind = "contribution_subsidy", rate = 0.1 }]
    """
    sweep = read_sweep(write(tmp_path, FUNCTION + text))
    assert sweep.seeds == Seeds(3, paired=False, root=4)
    assert len(sweep.jobs) == 12
    assert sweep.cells[0].parameters["strategy"] == Liar(BestResponse(), cost_factor=2.0)
    assert [cell.parameters["mechanism"] for cell in sweep.cells[:2]] == [NoPayments(), ContributionSubsidy(0.1)]
    assert type(sweep.cells[0].parameters["rate"]) is float


def test_lists_numbers_names_and_attacks_become_what_the_target_wants(tmp_path):
    script = read_sweep(write(tmp_path, SCRIPT + "[design]\nowners = [[3, 6.0]]\nshares = [[0, 1]]\nseeds = [2.0]"))
    setting = script.cells[0].parameters
    assert (setting["owners"], setting["shares"], setting["seeds"]) == ((3, 6), (0.0, 1.0), 2)
    assert {type(one) for one in (*setting["owners"], setting["seeds"])} == {int}
    attack = '[design]\nstrategy = [{ kind = "attacker", truth = "best_response", attack = "nan" }]'
    assert read_sweep(write(tmp_path, FUNCTION + attack)).cells[0].parameters["strategy"] == Attacker(
        BestResponse(), "nan"
    )
    rule = '[design]\nmechanism = ["no_payments"]'
    maybe = read_sweep(write(tmp_path, 'function = "tests.sweep.targets:perhaps"\n' + rule))
    assert maybe.cells[0].parameters["mechanism"] == NoPayments()


def test_the_spec_in_the_docstring_is_the_study_of_the_script(tmp_path):
    """Its runs are those of the script with the sizes named there, so that either goes on with the other's folder."""
    script, _, text = mechanism_by_population.__doc__.partition("    function = ")
    spec = read_sweep(write(tmp_path, "function = " + text))
    assert (len(spec.cells), len(spec.jobs)) == (240, 4800)
    every = (*mechanism_by_population.MECHANISMS, *mechanism_by_population.SLOW)
    assert {repr(cell.parameters["mechanism"]) for cell in spec.cells} == {repr(one) for one in every}
    settings = re.findall(r"--set (\S+)", script)
    chosen = library.find("mechanism_by_population").parameters([one for one in settings if "folder" not in one])
    steps = int(re.search(r"--steps (\d+)", script)[1])
    ours = mechanism_by_population.study_of(
        steps=steps, **{key: chosen[key] for key in ("owners", "shares", "seeds", "slow")}
    )
    assert {job.key for job in ours.jobs} < {job.key for job in spec.jobs}


def test_a_study_that_is_kept_in_a_folder_is_only_drawn_again(tmp_path, monkeypatch):
    monkeypatch.setattr(mechanism_by_population, "MECHANISMS", mechanism_by_population.MECHANISMS[:2])
    sizes = {"owners": (3,), "shares": (0.5,), "seeds": 1, "steps": 1}
    mechanism_by_population.study_of(**sizes).run(tmp_path, "serial", quiet=True)
    monkeypatch.setattr("fedabm.sweep.plan.executor_of", None)  # nothing is left, so that nobody is asked to work
    study = Study("mechanism_by_population", quiet=True)
    mechanism_by_population.run(study, **sizes, folder=str(tmp_path))
    assert len(study.frames.runs) == len(load(tmp_path).runs) == 6
    assert list(study._pictures) == ["data", "welfare"]
    with pytest.raises(InputError, match="did you mean 'free_rider'"):
        mechanism_by_population.market(0, odd="free_rder")


@pytest.mark.parametrize(
    ("design", "cells"),
    [
        ("rate = [0.1, 0.2]\nowners = [2, 3]", 4),
        ('kind = "cells"\none = { rate = 0.1 }\ntwo = { owners = 5 }', 2),
        ('kind = "random"\ncount = 5\nrate = { low = 0.1, high = 1.0, log = true }', 5),
        ('kind = "latin_hypercube"\ncount = 5\nowners = { low = 2, high = 9 }\nrate = [0.1, 0.2]', 5),
        ('kind = "sobol"\ncount = 8\nrate = { low = 0.1, high = 1.0 }', 8),
        ('kind = "one_at_a_time"\nbaseline = { rate = 0.1, owners = 2 }\nrate = [0.2]\nowners = [3, 4]', 4),
    ],
)
def test_every_kind_of_design(tmp_path, design, cells):
    sweep = read_sweep(write(tmp_path, f"{FUNCTION}[design]\n{design}"))
    assert len(sweep.cells) == cells
    assert all(type(cell.parameters.get("owners", 2)) is int for cell in sweep.cells)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FUNCTION + "[design]\nrat = [0.1]", "did you mean 'rate'"),
        (FUNCTION + "[fixed]\nowner = 3\n[design]\nrate = [0.1]", "did you mean 'owners'"),
        (FUNCTION + "[design]\n", "the design is empty"),
        (FUNCTION + "[design]\nrate = []", "the list of rate is empty"),
        (FUNCTION + "[design]\nrate = 0.1", "must be a list"),
        (FUNCTION + '[design]\nrate = ["low"]', "rate of build must be a number"),
        (FUNCTION + "[design]\nowners = [2.5]", "whole number"),
        (FUNCTION + "[design]\nowners = [inf]", "whole number"),
        (FUNCTION + "[design]\nowners = [nan]", "whole number"),
        (FUNCTION + f"[design]\nrate = [1{'0' * 400}]", "rate of build must be a number"),
        (MARKET + '[design]\nodd = ["free_rder"]', "did you mean 'free_rider'"),
        (SCRIPT + "[design]\nowners = [3, 6]", r"owners of .* must be a list, got 3; in a design write owners = \[\["),
        (SCRIPT + "[design]\nowners = [[3, 6.5]]", "whole number, got 6.5"),
        (FUNCTION + '[design]\nmechanism = ["no_payment"]', "did you mean 'no_payments'"),
        (FUNCTION + '[design]\nkind = "sobl"\nrate = [0.1]', "did you mean 'sobol'"),
        (FUNCTION + '[design]\nkind = "sobol"\nrate = [0.1]', "has no count"),
        (FUNCTION + "seed = 3\n[design]\nrate = [0.1]", "did you mean 'seeds'"),
        (
            FUNCTION + "seeds = 12345678901234567890\n[design]\nrate = [0.1]",
            "count of seeds must be .* to 10000000, got",
        ),
        (FUNCTION + "seeds = 9000000\n[design]\nrate = [0.1, 0.2]", "number of runs must be .* got 18000000"),
        (FUNCTION + f"[design]\nrate = {[0.1] * 9000}\nowners = {[2] * 9000}", "number of cells must be"),
        (
            FUNCTION + '[design]\nkind = "sobol"\ncount = 12345678901234567890\nrate = [0.1]',
            "count of a design must be",
        ),
        (FUNCTION + "seeds = 0\n[design]\nrate = [0.1]", "count of seeds"),
        (FUNCTION + "seeds = { count = 2, pair = true }\n[design]\nrate = [0.1]", "did you mean 'paired'"),
        ("[design]\nrate = [0.1]", "needs one of scenario, function, model"),
        ('scenario = "free_ridin"\n[design]\nrate = [0.1]', "did you mean 'free_riding'"),
        ('function = "tests.sweep.targets:bild"\n[design]\nrate = [0.1]', "did you mean 'build'"),
        ('function = "no.such:build"\n[design]\nrate = [0.1]', "cannot import"),
        ('model = "tests.sweep.targets:build"\n[design]\nrate = [0.1]', "is a function, not a model"),
        ("scenario = ", "is not valid TOML"),
    ],
)
def test_bad_specs_get_one_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read_sweep(write(tmp_path, text)).jobs  # noqa: B018
    assert "\n" not in str(caught.value)


def test_the_command_runs_resumes_and_shows(tmp_path, capsys):
    spec = write(tmp_path, f"{FUNCTION}seeds = 2\n[design]\nrate = [0.1, 0.2]")
    assert command(spec, "--out", tmp_path / "out", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "2 cells, 4 runs" in shown
    assert "for 4 runs on" in shown
    assert "judging by 3 runs of" in shown
    assert not (tmp_path / "out").exists()
    assert command(spec, "--out", tmp_path / "out", "--executor", "serial") == 0
    assert len(load(tmp_path / "out").runs) == 4
    assert command(spec, "--out", tmp_path / "out", "--executor", "serial") == 0
    assert "Found 4 runs done and 0 failed; 0 are left" in capsys.readouterr().err
    spec.write_text(spec.read_text().replace("0.2", "0.2, 0.3"))
    assert command(spec, "--out", tmp_path / "out", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "Found 4 runs done and 0 failed" in shown
    assert "for 2 runs on" in shown
    assert "judging by 4 runs of" in shown


def test_the_command_tells_of_failures(tmp_path, capsys):
    spec = write(tmp_path, 'function = "tests.sweep.targets:trouble"\n[design]\nkind_ = ["x"]'.replace("kind_", "kind"))
    with pytest.raises(InputError, match="set a parameter called kind in cells"):
        command(spec, "--out", tmp_path / "out")
    spec = write(
        tmp_path, 'function = "tests.sweep.targets:trouble"\n[fixed]\nkind = "raise"\n[design]\nkind = "cells"\na = {}'
    )
    assert command(spec, "--out", tmp_path / "none", "--dry-run") == 0
    assert "No estimate: the run 'a' fails with ValueError: no such market" in capsys.readouterr().out
    assert command(spec, "--out", tmp_path / "out", "--executor", "serial") == 1
    assert "1 failed" in capsys.readouterr().err


def test_a_dry_run_does_not_wait_for_long_runs_and_counts_those_to_be_tried_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fedabm.sweep.preview.PATIENCE", 0.2)
    head = 'function = "tests.sweep.targets:trouble"\n[design]\nkind = "cells"\n'
    command(write(tmp_path, head + 'long = { kind = "hang" }'), "--out", tmp_path / "none", "--dry-run")
    shown = capsys.readouterr().out
    assert "No estimate: the run 'long' takes longer than 0.2 s" in shown
    assert "to make their scenarios takes longer than 0.2 s" in shown
    monkeypatch.setattr("fedabm.sweep.preview.PATIENCE", 3.0)  # in which a short run ends on a busy machine, too
    command(write(tmp_path, head + 'short = {}\nlong = { kind = "hang" }'), "--out", tmp_path / "none", "--dry-run")
    assert "on average. But the run 'long' takes longer than " in " ".join(capsys.readouterr().out.split())
    spec = write(tmp_path, head + 'bad = { kind = "raise" }\ngood = {}')
    command(spec, "--out", tmp_path / "out", "--executor", "serial")
    command(spec, "--out", tmp_path / "out", "--dry-run")
    assert "Nothing is left to do" in capsys.readouterr().out
    command(spec, "--out", tmp_path / "out", "--dry-run", "--retry-failed")
    assert "for 1 runs on" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"holds a sweep of tests\.sweep\.targets:trouble"):
        command(write(tmp_path, FUNCTION + "[design]\nrate = [0.1]"), "--out", tmp_path / "out", "--dry-run")


@pytest.mark.parametrize("size", ["lots", "0", "-1G"])
def test_a_bad_size_gets_one_line(tmp_path, size):
    spec = write(tmp_path, f"{FUNCTION}[design]\nrate = [0.1]")
    with pytest.raises(InputError, match="must be a size"):
        command(spec, "--out", tmp_path / "out", f"--memory-limit={size}")
