"""Sweeps from TOML and from the command line."""

import argparse

import pytest

from fedabm import InputError, load
from fedabm.mechanisms import ContributionSubsidy, NoPayments
from fedabm.strategies import BestResponse, Liar
from fedabm.sweep import Seeds, read_sweep
from fedabm.sweep.command import add_parser

FUNCTION = 'function = "tests.sweep.targets:build"\n'


def write(folder, text):
    path = folder / "spec.toml"
    path.write_text(text)
    return path


def command(*words):
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    options = parser.parse_args(["sweep", *map(str, words)])
    return options.command(options)


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
        (FUNCTION + '[design]\nmechanism = ["no_payment"]', "did you mean 'no_payments'"),
        (FUNCTION + '[design]\nkind = "sobl"\nrate = [0.1]', "did you mean 'sobol'"),
        (FUNCTION + '[design]\nkind = "sobol"\nrate = [0.1]', "has no count"),
        (FUNCTION + "seed = 3\n[design]\nrate = [0.1]", "did you mean 'seeds'"),
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
    assert command(spec, "--out", tmp_path / "out", "--executor", "serial", "--resume") == 0
    assert "Found 4 runs done and 0 failed; 0 are left" in capsys.readouterr().err
    spec.write_text(spec.read_text().replace("0.2", "0.2, 0.3"))
    assert command(spec, "--out", tmp_path / "out", "--dry-run") == 0
    shown = capsys.readouterr().out
    assert "Found 4 runs done and 0 failed" in shown
    assert "for 2 runs on" in shown
    assert "judging by 4 runs of" in shown


def test_the_command_tells_of_failures(tmp_path, capsys):
    spec = write(tmp_path, 'function = "tests.sweep.targets:trouble"\n[design]\nkind_ = ["x"]'.replace("kind_", "kind"))
    with pytest.raises(InputError, match="unknown kind of design"):
        command(spec, "--out", tmp_path / "out")
    spec = write(
        tmp_path, 'function = "tests.sweep.targets:trouble"\n[fixed]\nkind = "raise"\n[design]\nkind = "cells"\na = {}'
    )
    assert command(spec, "--out", tmp_path / "none", "--dry-run") == 0
    assert "No estimate: the run 'a' fails with ValueError: no such market" in capsys.readouterr().out
    assert command(spec, "--out", tmp_path / "out", "--executor", "serial") == 1
    assert "1 failed" in capsys.readouterr().err


@pytest.mark.parametrize("size", ["lots", "0", "-1G"])
def test_a_bad_size_gets_one_line(tmp_path, size):
    spec = write(tmp_path, f"{FUNCTION}[design]\nrate = [0.1]")
    with pytest.raises(InputError, match="must be a size"):
        command(spec, "--out", tmp_path / "out", f"--memory-limit={size}")
