"""`fedabm recommend study.toml` in one command: the answer, the board's report, and one line for mistakes."""

import json

import pandas as pd
import pytest

from fedabm.cli import main

STUDY = """
question = "Which rule should we adopt?"
accuracy = { kind = "power_law", scale = 0.6, exponent = 0.5, ceiling = 0.95 }

[recommend]
goal = "welfare"
conditions = ["rational", "balanced"]
verified = ["contributions", "costs"]
draws = 6
families = ["no payments", "cost sharing", "Shapley shares"]

[[owners]]
name = "Alpha"
cost = { low = 0.2, high = 0.4 }
data = 500
value = 1000

[[owners]]
name = "Beta <b>"
cost = 0.5
data = 300
value = { mean = 800, sd = 80 }
"""


def test_one_command_gives_answer_tables_and_page(tmp_path, capsys):
    study = tmp_path / "banks.toml"
    study.write_text(STUDY, "utf-8")
    assert main(["recommend", str(study), "--out", str(tmp_path / "out"), "--audits", "0"]) == 0
    assert "Adopt cost sharing" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "recommendation.json").read_text("utf-8"))
    assert found["sentence"].startswith("Adopt cost sharing")
    owners = pd.read_csv(tmp_path / "out" / "owners.csv")
    assert owners["owner"].tolist() == ["Alpha", "Beta <b>"]
    assert (owners["gains against staying alone"] > 0).all()
    page = (tmp_path / "out" / "board.html").read_text("utf-8")
    assert "Beta &lt;b&gt;" in page
    assert "Beta <b>" not in page
    for words in ("The answer", "What could overturn it", "What was assumed", "cost of Alpha"):
        assert words in page


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"rational"', '"rationl"', "unknown condition 'rationl'"),
        ('"welfare"', '"fame"', "goal"),
        ("draws = 6", "draws = 0", "draws"),
        ('"cost sharing"', '"cost sharin"', "unknown kind of rule"),
        ("low = 0.2, high = 0.4", "low = 0.2", "must be an uncertain or a cost"),
    ],
)
def test_mistakes_get_one_line(tmp_path, capsys, old, new, said):
    study = tmp_path / "banks.toml"
    study.write_text(STUDY.replace(old, new), "utf-8")
    assert main(["recommend", str(study), "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert said in told
