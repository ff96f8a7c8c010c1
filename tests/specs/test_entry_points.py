"""Packages of others announce scenarios, mechanisms and strategies as entry points."""

import json
import sys

import pytest

from fedabm import InputError
from fedabm.cli import main
from fedabm.games.accuracy import Accuracy
from fedabm.games.costs import Cost
from fedabm.mechanisms import Mechanism
from fedabm.specs.kinds import choices
from fedabm.specs.values import Reader
from fedabm.strategies import Strategy
from fedabm.study import library

MODULE = '''
"""Does a study of another package run?"""
from dataclasses import dataclass
from fedabm import Scenario, population
from fedabm.accuracy import PowerLaw
from fedabm.costs import Cost
from fedabm.mechanisms import Mechanism, NoPayments
from fedabm.strategies import Honest


@dataclass(frozen=True)
class Their(NoPayments):
    """A mechanism of theirs."""

    rate: float = 1.0


@dataclass(frozen=True)
class Timid(Honest):
    """A strategy of theirs."""


@dataclass(frozen=True)
class Slow(PowerLaw):
    """An accuracy of theirs."""


@dataclass(frozen=True)
class Steep(Cost):
    """A cost of theirs."""

    rate: float = 2.0

    def value(self, x):
        return self.rate * x


def run(study, mechanism: Mechanism = Their()) -> None:
    study.simulate(Scenario(population([0.1, 0.2], 5.0, Timid()), PowerLaw(), mechanism))
'''
ENTRIES = """
[fedabm.scenarios]
their_study = their_package
broken_study = their_package.nosuch

[fedabm.mechanisms]
their_rule = their_package:Their
broken_rule = their_package:Nothing
no_payments = their_package:Their

[fedabm.strategies]
timid = their_package:Timid

[fedabm.accuracies]
slow = their_package:Slow

[fedabm.costs]
steep = their_package:Steep

[fedabm.accuracys]
lost = their_package:Slow
"""


@pytest.fixture(params=["importlib.metadata", "importlib_metadata"])
def _their_package(request, tmp_path, monkeypatch):
    """A package on the path, with the notes that an installer leaves.

    importlib_metadata, which many packages import, answers also for the standard library from then on.
    """
    pytest.importorskip(request.param)
    notes = tmp_path / "their_package-1.0.dist-info"
    notes.mkdir()
    (notes / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (notes / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "their_package.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield
    sys.modules.pop("their_package", None)


@pytest.mark.usefixtures("_their_package")
def test_their_mechanisms_and_strategies_have_names():
    read = Reader().read
    assert {"their_rule", "shapley_share"} <= set(choices(Mechanism))
    assert "their_package" not in sys.modules  # nothing is imported before it is asked for
    assert repr(read("rule", {"kind": "their_rule", "rate": 2}, Mechanism)) == "Their(rate=2.0)"
    assert repr(read("strategy", {"kind": "liar", "truth": "timid"}, Strategy)).startswith("Liar(truth=Timid()")
    assert repr(read("rule", "no_payments", Mechanism)) == "NoPayments()"  # ours goes first
    with pytest.raises(InputError, match="did you mean 'their_rule'"):
        read("rule", "their_rul", Mechanism)
    with pytest.raises(InputError, match="'broken_rule' of their-package cannot be loaded from 'their_pack"):
        read("rule", "broken_rule", Mechanism)


@pytest.mark.usefixtures("_their_package")
def test_their_scenarios_are_listed_and_run(tmp_path, capsys):
    assert {"their_study", "broken_study", "free_riding"} <= set(library.names())
    assert main(["list"]) == 0
    assert "Does a study of another package run?" in capsys.readouterr().out
    assert main(["list", "their_study"]) == 0
    assert "--set mechanism=their" in capsys.readouterr().out
    out = tmp_path / "out"
    words = ["run", "their_study", "--steps", "2", "--quiet", "--set", "mechanism=their_rule", "--out", str(out)]
    assert main(words) == 0, capsys.readouterr().err
    manifest = json.loads((out / "manifest.json").read_text())
    assert (manifest["scenario"], manifest["parameters"]) == ("their_study", {"mechanism": "Their(rate=1.0)"})
    assert manifest["repeat"].startswith("fedabm run their_study --seed 0")
    assert main(["run", "broken_study"]) == 2
    said = capsys.readouterr().err
    assert "'broken_study' of their-package cannot be loaded" in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("_their_package")
def test_their_accuracies_and_costs_have_names_and_show_what_they_say(capsys):
    read = Reader().read
    assert type(read("accuracy", "slow", Accuracy)).__name__ == "Slow"
    assert repr(read("cost", {"kind": "steep", "rate": 3}, Cost)) == "Steep(rate=3.0)"
    assert main(["list", "costs", "--json"]) == 0
    rows = {row["name"]: row["what"] for row in json.loads(capsys.readouterr().out)}
    assert rows["steep"] == "A cost of theirs. [rate] (from their-package, their_package:Steep)"
    assert main(["list", "mechanisms"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "from other packages" in shown
    assert "'broken_rule' of their-package cannot be loaded" in shown
    assert main(["list", "slow"]) == 0
    assert "An accuracy of theirs." in capsys.readouterr().out


@pytest.mark.usefixtures("_their_package")
def test_a_group_that_nothing_reads_is_named(caplog):
    choices(Accuracy)
    (said,) = [one.getMessage() for one in caplog.records if "accuracys" in one.getMessage()]
    assert "offers 'lost' under 'fedabm.accuracys', which nothing reads; did you mean 'fedabm.accuracies'" in said
