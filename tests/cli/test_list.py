"""What can be named is listed, and what is listed can be named."""

import inspect
import json
import re

import pytest

from fedabm.cli import main
from fedabm.cli.list import KINDS, OTHERS
from fedabm.cli.members import ORDER, TOPICS, UNNAMED, members_called, members_of
from fedabm.common.errors import InputError
from fedabm.data.datasets import names as datasets
from fedabm.learning import Krum
from fedabm.mechanisms import Deposit, Mechanism
from fedabm.specs.bounds import bounds_of
from fedabm.specs.families import FAMILIES
from fedabm.specs.kinds import choices
from fedabm.study.library import find, names
from fedabm.study.parameters import duration_of, meanings_of


@pytest.mark.parametrize("family", [*KINDS, *OTHERS])
def test_every_family_is_listed_with_what_its_members_do(family, capsys):
    assert main(["list", family, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert all(len(text) > 10 for row in rows for text in [*row.values()][1:])
    assert main(["list", family]) == 0
    assert rows[0]["name"] in capsys.readouterr().out


def test_all_mechanisms_and_data_sets_are_there(capsys):
    main(["list", "mechanisms", "--json"])
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(choices(Mechanism))
    main(["list", "datasets", "--json"])
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == set(datasets())


@pytest.mark.parametrize(
    ("family", "members"),
    [
        ("payoffs", {"curved_payoff", "linear_payoff"}),
        ("games", {"game", "hedonic_game", "empirical_game"}),
        (
            "defects",
            {"backdoor", "chain", "duplicates", "feature_noise", "label_flip", "label_noise", "label_shift"},
        ),
    ],
)
def test_payoffs_games_and_defects_of_data_are_listed(family, members, capsys):
    main(["list", family, "--json"])
    assert {row["name"] for row in json.loads(capsys.readouterr().out)} == members


def test_what_others_make_is_not_listed_beside_them(capsys):
    main(["list", "costs", "--json"])
    found = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert {"linear", "tabulated"} <= found
    assert not found & {"power_cost", "piecewise_cost"}


def test_parameters_of_a_scenario_as_json(capsys):
    assert main(["list", "free_riding", "--json"]) == 0
    known = json.loads(capsys.readouterr().out)["parameters"]
    assert known["owners"] == {"usual": "12", "meaning": "number of owners", "choices": []}


@pytest.mark.parametrize("name", names())
def test_every_parameter_of_every_scenario_has_a_meaning_and_every_meaning_a_parameter(name):
    script = find(name)
    assert [key for key in script.defaults if not meanings_of(script.run).get(key)] == []
    lines = [line for line in inspect.getdoc(script.run).splitlines()[1:] if re.match(r"\w+  +\S", line)]
    assert len(lines) == len(script.defaults)
    assert duration_of(script.run)


def test_what_one_reads_of_a_scenario_fits_the_terminal_and_has_choices(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list", "cost_discrimination"]) == 0
    shown = capsys.readouterr().out
    assert "  --set outside=alone\n      what an owner has that leaves" in shown
    assert "choices: alone, nothing" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 90  # only a usual value may be longer
    assert "Takes " in shown


@pytest.mark.parametrize(("wrong", "right"), [("mechanism", "mechanisms"), ("strategy", "strategies"), ("data", None)])
def test_who_asks_for_one_of_a_family_is_told_its_name(wrong, right, capsys):
    assert main(["list", wrong]) == 2
    said = capsys.readouterr().err
    assert (f"did you mean {right!r}?" in said) == (right is not None)
    assert said.count("\n") == 1


@pytest.mark.parametrize("family", [*FAMILIES, *UNNAMED])
def test_every_member_of_every_family_is_known_by_its_name(family):
    found = members_of(family)
    assert found
    for one in found:
        assert len(one.first) > 10
        assert one.text().startswith(f"{one.name} ({family}, ")
    assert found[0] in members_called(found[0].name)


def test_one_member_shows_equation_reference_parameters_and_bounds(capsys):
    assert main(["list", "clarke"]) == 0
    assert "p_i(s) = sum_{j != i}" in (shown := capsys.readouterr().out)
    assert "Clarke 1971" in shown
    assert main(["list", "krum"]) == 0
    assert "chosen: int = 1; a whole number, at least 1" in capsys.readouterr().out
    assert main(["list", "multiplicative_weights", "--json"]) == 0
    known = json.loads(capsys.readouterr().out)["parameters"]
    assert known["factor"] == {
        "type": "float",
        "usual": "1.1",
        "bounds": "positive",
        "meaning": known["factor"]["meaning"],
    }
    assert known["goal"]["bounds"] == "any number"


def test_a_scenario_and_a_mechanism_of_one_name_are_both_shown(capsys):
    assert main(["list", "screening"]) == 0
    assert "--set" in (shown := capsys.readouterr().out)
    assert "screening (mechanisms, fedabm.mechanisms.screening)" in shown


def test_lists_are_grouped_by_topic(capsys):
    assert set(ORDER) == set(TOPICS.values())
    main(["list", "mechanisms"])
    shown = capsys.readouterr().out
    assert shown.index("one model, and payments") < shown.index("clarke") < shown.index("checks and deposits")
    assert shown.index("a model for each owner") < shown.index("p_fed_graph")


def test_bounds_are_what_the_class_refuses_beyond():
    for kind, name, good, bad in ((Deposit, "amount", 0.0, -1.0), (Krum, "chosen", 1, 0)):
        assert name in bounds_of(kind)
        kind(**{name: good})
        with pytest.raises(InputError):
            kind(**{name: bad})
