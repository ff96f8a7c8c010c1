"""Studies in TOML: named owners, groups, several mechanisms."""

import json
import os

import numpy as np
import pandas as pd
import pytest

from fedabm import load, population
from fedabm.cli import main
from fedabm.comparison import compare
from fedabm.comparison.example import EXAMPLE
from fedabm.comparison.written import PICTURES, read_study
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import ContributionSubsidy
from fedabm.report.page import write_report
from fedabm.strategies import BestResponse, FreeRider

NAMES = ["St. Mary", "Charité", "County", "Riverside", "Hill Clinic"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example that `fedabm init` writes, run as it stands."""
    place = tmp_path_factory.mktemp("toml")
    here = os.getcwd()
    os.chdir(place)
    try:
        assert main(["init"]) == 0
        assert main(["run", "study.toml", "--out", "out", "--quiet"]) == 0
    finally:
        os.chdir(here)
    return place


def test_the_example_names_five_hospitals_everywhere(folder):
    owners = load(folder / "out").owners
    assert owners.drop_duplicates("owner")["name"].tolist() == NAMES
    assert pd.read_csv(folder / "out" / "owners.csv")["owner"].tolist() == NAMES
    assert pd.read_csv(folder / "out" / "comparison.csv")["mechanism"].tolist() == [
        "no payments",
        "subsidy",
        "Shapley shares",
    ]
    assert {path.name for path in (folder / "out").glob("*.png")} == {
        "comparison.png",
        "owners.png",
        "money.png",
        "over_time.png",
    }


def test_its_tables_fit_80_columns(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert main(["run", "study.toml", "--out", "wide"]) == 0
    tables = capsys.readouterr().out.partition("Written to")[0]
    assert max(len(line.rstrip()) for line in tables.splitlines()) <= 80
    assert all(name in tables for name in NAMES)


def test_its_money_is_that_of_the_last_step_on_one_scale():
    owners = population([0.002, 0.003, 0.005], 100.0, [BestResponse(), BestResponse(), FreeRider()])
    rules = {"small": ContributionSubsidy(0.006), "large": ContributionSubsidy(0.012)}
    found = compare(owners, rules, [0], accuracy=PowerLaw(exponent=0.5), steps=3)
    figure = PICTURES["money"](found)
    widths = [max(patch.get_linewidth() for patch in panel.patches) for panel in figure.axes]
    assert widths[0] < widths[1]
    (legend,) = figure.legends
    most = found.frames.at_end("owners")["payment"].abs().max()
    assert f"paid {most:.3g}" in [text.get_text() for text in legend.texts]


def test_its_report_asks_the_question_and_names_who_loses(folder):
    page = write_report(folder / "out").read_text("utf-8")
    assert '<p class="lead">Who pays for the model that five hospitals share?' in page
    assert "(subsidy: County, free_rider)" in page


def test_the_manifest_repeats_the_study_from_anywhere(folder, tmp_path, monkeypatch):
    command = json.loads((folder / "out" / "manifest.json").read_text("utf-8"))["repeat"].split()
    monkeypatch.chdir(tmp_path)
    assert main([*command[1:], "--out", "again", "--quiet"]) == 0
    pd.testing.assert_frame_equal(load("again").owners, load(folder / "out").owners)


def test_other_mechanisms_on_the_same_owners(folder, monkeypatch):
    monkeypatch.chdir(folder)
    rule = '{ kind = "contribution_subsidy", rate = 0.01 }'
    assert main(["compare", "study.toml", "cost_sharing", rule, "--seeds", "2", "--out", "two", "--quiet"]) == 0
    assert pd.read_csv("two/comparison.csv")["mechanism"].tolist() == ["cost sharing", "contribution subsidy 0.01"]
    assert os.path.exists("two/comparison.pdf")


def test_groups_are_drawn_anew_for_every_seed_and_numbered(tmp_path):
    text = EXAMPLE + '[[groups]]\nname = "practice"\ncount = 12\ncost = { low = 1, high = 2 }\ndata = 50\n'
    path = tmp_path / "study.toml"
    path.write_text(text, "utf-8")
    written = read_study(path)
    one, two = (written.people(np.random.default_rng(seed)) for seed in (1, 2))
    assert [owner.name for owner in one[5:7]] == ["practice 01", "practice 02"]
    rates = [owner.cost.value(np.array([1.0])).item() for owner in one[5:]]
    assert all(1 <= rate <= 2 for rate in rates)
    assert rates != [owner.cost.value(np.array([1.0])).item() for owner in two[5:]]
    assert {owner.role for owner in one[5:]} == {"practice"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[[owners]]", "[[owner]]"), "unknown key 'owner'"),
        (('"no_payments"', '"no_payment"'), "unknown mechanism 'no_payment'"),
        (("cost = 0.002", 'cost = "cheap"'), "unknown cost 'cheap'"),
        (("data = 300", "data = -1"), "capacity"),
        (('name = "County"', 'name = "Charité"'), "called 'Charité'"),
        (("seeds = 1 ", "seeds = 0 "), "seeds"),
        (('"money"', '"monkey"'), "monkey"),
        (("seeds = 1 ", 'device = "gpu"\nseeds = 1 '), "unknown device 'gpu'"),
        (("seeds = 1 ", 'device = "meta"\nseeds = 1 '), "--device meta"),
    ],
)
def test_mistakes_get_one_line(change, said, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert change[0] in EXAMPLE
    (tmp_path / "study.toml").write_text(EXAMPLE.replace(*change), "utf-8")
    assert main(["run", "study.toml", "--quiet"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.strip().splitlines()) == 1


def test_init_overwrites_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text("mine", "utf-8")
    assert main(["init"]) == 2
    assert (tmp_path / "study.toml").read_text("utf-8") == "mine"
    assert "my_study.toml" in capsys.readouterr().err


def test_what_init_prints_next_works_also_for_a_name_without_an_ending(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["init", "hospitals"]) == 0
    assert "run hospitals.toml" in capsys.readouterr().out
    assert (tmp_path / "hospitals.toml").exists()


_ASKED = """
from dataclasses import dataclass
from pathlib import Path

from fedabm.common.device import chosen
from fedabm.games.accuracy import PowerLaw


@dataclass(frozen=True)
class Trained(PowerLaw):
    where: str = "asked.txt"

    def values(self, profiles):
        Path(self.where).write_text(chosen())
        return super().values(profiles)
"""


_SCENARIO = '''"""Where would a model train?"""

from fedabm.common.device import chosen

device = "cuda:1"


def run(study, rate: float = 1.0):
    """Say it."""
    study.note(f"{rate} on {chosen()}")
'''


def test_a_study_says_where_models_train_unless_the_command_does(tmp_path, monkeypatch):
    """Nothing is trained here: what an engine would be told is written to a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDABM_DEVICE", raising=False)
    (tmp_path / "would_train.py").write_text(_ASKED, "utf-8")
    accuracy = '{ kind = "power_law", exponent = 0.5 }'
    assert accuracy in EXAMPLE
    text = EXAMPLE.replace(accuracy, '"would_train.py:Trained"').replace("steps = 100", 'device = "cuda:1"\nsteps = 2')
    (tmp_path / "study.toml").write_text(text, "utf-8")
    for more, device in (([], "cuda:1"), (["--device", "cpu"], "cpu")):
        assert main(["run", "study.toml", "--quiet", *more]) == 0
        assert (tmp_path / "asked.txt").read_text() == device
    assert "FEDABM_DEVICE" not in os.environ


def test_a_scenario_says_where_models_train_unless_the_command_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEDABM_DEVICE", raising=False)
    (tmp_path / "on_a_gpu.py").write_text(_SCENARIO, "utf-8")
    for more, device in (([], "cuda:1"), (["--device", "cpu"], "cpu")):
        assert main(["run", "on_a_gpu.py", "--set", "rate=0.5", *more]) == 0
        assert f"0.5 on {device}" in capsys.readouterr().out


KNOWING = """
accuracy = "power_law"
mechanisms = ["no_payments", "shapley_share"]
steps = 3
figures = ["comparison"]
knowledge = {knowledge}

[[owners]]
name = "A"
cost = 0.004
data = 50
strategy = "honest"

[[owners]]
name = "B"
cost = 0.004
data = 20
strategy = "honest"
"""


@pytest.mark.parametrize(
    ("knowledge", "kind"),
    [
        ('"public"', "curve"),
        ('"none"', "curve"),
        ('"nothing"', "none"),
        ('{ kind = "announced_curve", curve = { kind = "power_law", exponent = 0.5 } }', "curve"),
        ('{ kind = "sums_only", also = { kind = "announced_curve", curve = "power_law" } }', "curve"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_file_says_what_the_server_knows(knowledge, kind, tmp_path, capsys):
    (tmp_path / "study.toml").write_text(KNOWING.replace("{knowledge}", knowledge))
    assert main(["run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out")]) == 0
    assert set(load(tmp_path / "out").runs["knowledge"].astype(str)) == {kind}
    assert ("ShapleyShare needs" in capsys.readouterr().out) is (kind == "none")


@pytest.mark.parametrize(
    ("knowledge", "words"),
    [
        ('{ kind = "measured", rounds = 5 }', "no data to measure a curve on"),
        ('"from_updates"', "shows no updates to the server"),
        ('"sums_only"', "ShapleyShare needs"),
        ('"measurd"', "measured"),
        ('{ kind = "measured", rounds = 0 }', "rounds"),
    ],
)
def test_knowledge_that_does_not_fit_is_refused_in_one_line(knowledge, words, tmp_path, capsys):
    (tmp_path / "study.toml").write_text(KNOWING.replace("{knowledge}", knowledge))
    assert main(["run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert words in said[-1]
    assert len([line for line in said if line.startswith(("error", "fedabm"))]) <= 1


def test_a_file_measures_a_curve_of_a_model_in_training(tmp_path):
    text = KNOWING.replace('"power_law"', '"learned.py:accuracy"', 1).replace("= 50", "= 15").replace("= 20", "= 6")
    knowledge = '{ kind = "measured", rounds = 1, points = 2, checks = 0 }'
    (tmp_path / "study.toml").write_text(text.replace("{knowledge}", knowledge))
    (tmp_path / "learned.py").write_text(LEARNED)
    assert main(["run", str(tmp_path / "study.toml"), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    frames = load(tmp_path / "out")
    assert frames.runs["knowledge_cost"].tolist() == [3, 3]
    assert len(frames.transfers) > 0


LEARNED = """
from dataclasses import replace

from fedabm.data.datasets import load_dataset
from fedabm.data.federated import from_partition
from fedabm.data.partitions import IID
from fedabm.games.accuracy import Accuracy
from fedabm.learning import Engine, Learning


def accuracy() -> Accuracy:
    digits = load_dataset("digits")
    few = replace(digits, x=digits.x[:60], y=digits.y[:60])
    return Learning(Engine("logistic", from_partition(few, IID(2), 0, 0.5), device="cpu"))
"""
