"""What can be named is listed, and what is listed can be named."""

import json

import pytest

from fedabm.cli import main
from fedabm.cli.list import KINDS
from fedabm.data.datasets import names as datasets
from fedabm.mechanisms import Mechanism
from fedabm.specs.kinds import choices


@pytest.mark.parametrize("family", [*KINDS, "datasets", "scenarios"])
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


def test_parameters_of_a_scenario_as_json(capsys):
    assert main(["list", "free_riding", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"]["owners"] == "owners=12"
