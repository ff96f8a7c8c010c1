"""`fedabm solve` names every equilibrium that it finds, marks the answer, and says when it is the only one."""

import json

import pytest

from fedabm.cli import main

CROSSED = """
mechanism = "no_payments"
accuracy = { kind = "group_weighted", weights = [[1, 3], [3, 1]], groups = [0, 1], exponent = 1.0, offset = 1.0 }
owners = { costs = [0.05, 0.05], capacity = 100 }
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "crossed.toml"
    path.write_text(CROSSED)
    return str(path)


def test_both_totals_are_named_and_the_answer_is_marked(spec, capsys):
    assert main(["solve", spec]) == 0
    told = capsys.readouterr().out
    assert "NOT the only equilibrium: 3 were found" in told
    lines = [line for line in told.splitlines() if "the answer" in line or "another" in line]
    assert ["3.4721" in line for line in lines] == [True, True, False]
    assert "the answer" in lines[2]
    assert "1.73606798" in lines[2]


def test_shapley_shares_are_unique_with_the_reason(spec, capsys):
    assert main(["solve", spec, "--mechanism", "shapley_share"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "unique: an exact potential game (Hart and Mas-Colell) with a strictly concave potential" in told
    assert "another" not in told


def test_json_holds_all_of_them(spec, capsys):
    assert main(["solve", spec, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["unique"] is False
    assert len(told["others"]) == 2
    assert sum(told["profile"]) == pytest.approx(1.7360679775)


def test_without_starts_only_what_is_proven_is_said(spec, capsys):
    assert main(["solve", spec, "--starts", "0"]) == 0
    assert "index -1" in " ".join(capsys.readouterr().out.split())
    assert main(["solve", spec, "--starts", "-1"]) == 2
    assert "starts must be a whole number" in capsys.readouterr().err


def test_when_time_is_up_solve_says_so_and_shows_what_was_reached(spec, capsys):
    assert main(["solve", spec, "--time-limit", "1e-9", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["time_up"], told["converged"]) == ("open", True, False)
    assert len(told["profile"]) == 2
    assert main(["solve", spec, "--time-limit", "1e-9"]) == 0
    assert "time was up" in capsys.readouterr().out
    assert main(["solve", spec, "--time-limit", "0"]) == 2
    assert "time limit" in capsys.readouterr().err


def test_of_many_owners_the_first_are_shown(tmp_path, capsys):
    path = tmp_path / "many.toml"
    path.write_text(
        'mechanism = "no_payments"\naccuracy = "power_law"\nowners = { costs = 0.1, capacity = 9, count = 300 }'
    )
    assert main(["solve", str(path)]) == 0
    told = capsys.readouterr().out
    assert "and 100 more owners; --json prints all" in told
    assert told.count("│ 199 ") == 1
    assert "│ 200 " not in told
