"""What is audited, from words: games and studies in TOML; owners go by their names."""

import pytest

from fedabm import InputError
from fedabm.accuracy import LinearPayoff, PowerLaw, Valued
from fedabm.auditing.from_text import read_audit
from fedabm.auditing.stage import Stage
from fedabm.cli import main
from fedabm.mechanisms import Clarke, ContributionSubsidy, CostSharing, ShapleyShare


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The study that `fedabm init` writes."""
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    return "study.toml"


def test_a_rule_of_a_study_goes_by_what_it_is_called_there_or_is_another_one(study):
    what, rule = read_audit(study, "Shapley shares")
    assert rule == what.mechanism == ShapleyShare()
    assert [one.name for one in what.owners][:2] == ["St. Mary", "Charité"]
    assert read_audit(study, "subsidy")[1] == ContributionSubsidy(0.004)
    assert read_audit(study, "clarke")[1] == Clarke()


def test_owners_of_a_study_go_by_their_names(study):
    stage = Stage.of(*read_audit(study, "no payments"))
    assert stage.who(1) == "Charité"
    assert stage.who(0, 4) == "St. Mary and Hill Clinic"
    assert stage.among([1, 4]).who(1) == "Hill Clinic"


def test_owners_of_a_game_go_by_their_numbers(study):
    assert main(["init", "--game"]) == 0
    stage = Stage.of(*read_audit("game.toml", None))
    assert (stage.who(1), stage.who(0, 1)) == ("owner 1", "owners 0 and 1")


def test_the_card_of_a_study_names_who_lies(study, capsys):
    assert main(["audit", study, "--mechanism", "subsidy", "--quick"]) == 0
    told = capsys.readouterr().out
    assert "1. rewards lying: Charité contributes 0" in told
    assert "owner 1" not in told


def test_a_study_of_several_rules_is_no_game(study, capsys):
    with pytest.raises(InputError, match=r"3 mechanisms; choose one with --mechanism: 'no payments', 'subsidy'"):
        read_audit(study, None)
    assert main(["solve", study]) != 0
    assert "is a study of several mechanisms, not a game; fedabm run study.toml runs it" in capsys.readouterr().err


def test_owners_of_a_study_are_audited_by_their_own_values(tmp_path, capsys):
    """Costs and worth in money; that one draw stands for all is said."""
    file = tmp_path / "banks.toml"
    file.write_text(
        """
        accuracy = { kind = "power_law", exponent = 0.5 }
        recommend = { goal = "welfare" }
        owners = [
          { name = "Alpha", cost = { low = 2, high = 4 }, data = 30, value = 1000 },
          { name = "Beta", cost = 5, data = 20, value = 800 },
        ]
        """,
        "utf-8",
    )
    what, rule = read_audit(str(file), '{ kind = "cost_sharing", rate = 0.5 }')
    assert what.accuracy == Valued(PowerLaw(exponent=0.5), LinearPayoff([1000.0, 800.0]))
    assert rule == what.mechanism == CostSharing(0.5)
    assert "not known exactly: cost of Alpha; audited is the draw of seed 0" in capsys.readouterr().err
    with pytest.raises(InputError, match="has no mechanisms; choose one with --mechanism"):
        read_audit(str(file), None)
