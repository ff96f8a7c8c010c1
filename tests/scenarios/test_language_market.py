"""The market for adapters, with a base of a few thousand random numbers in the place of the fetched one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

if find_spec("transformers") is None:
    pytest.skip("the extra llm is not installed", allow_module_level=True)

from fedabm import load
from fedabm.analysis.notebooks import lacking
from fedabm.cli import main
from fedabm.learning.engine.engine import Engine
from fedabm.learning.oracles import Trained
from fedabm.papers.ipfl2025.language import language_setting
from tests.conftest import assert_equal_frames
from tests.learning.small_models import saved, texts

#: a command that is killed when it is about to put its second checkpoint in place
_KILLED = """
import os, signal, sys
from fedabm.cli import main

saved = []

def hear(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith(".checkpoint"):
        saved.append(arguments)
        if len(saved) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hear)
main(sys.argv[1:])
"""


def _sets(folder) -> None:
    """Sentences in the files of the three finance sets, each sentence once."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    heads = {"fiqa_task1.csv": "sentence,score", "tfns_train.csv": "text,label", "nwgi_test.csv": "text,label"}
    for place, (file, head) in enumerate(heads.items()):
        lines = [f"{one.input} {number}" for number, one in enumerate(texts(330, place))]
        labels = rng.integers(3, size=len(lines))
        words = {0: [-0.5, 0.0, 0.5], 1: [0, 1, 2], 2: ["strong negative", "neutral", "mildly positive"]}[place]
        rows = [f"{line},{words[label]}" for line, label in zip(lines, labels, strict=True)]
        (folder / file).write_text("\n".join([head, *rows]) + "\n")


def test_owners_trade_adapters_and_the_money_is_balanced(tmp_path, monkeypatch):
    _sets(tmp_path / "financial_sentiment")
    saved(tmp_path / "models" / "minilm", "encoder")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    out = tmp_path / "out"
    words = ["run", "language_market", "--set", "rules=Local,iPFL", "--steps", "2", "--quiet", "--out", str(out)]
    assert main([*words, "--set", "roles=buyer,seller"]) == 0
    frames = load(out)
    traded = frames.owners.groupby("role")[["imports", "exports"]].sum()
    assert traded.loc["buyer", "exports"] == 0
    assert traded.loc["seller", "imports"] == 0
    assert traded.loc["trader", "imports"] > 0
    assert frames.owners["name"].unique().tolist()[:3] == ["fiqa 1", "fiqa 2", "tfns 1"]
    assert frames.steps["server_balance"].abs().max() < 1e-9
    paid = frames.owners.groupby("run")["payment"].sum()
    assert paid.abs().max() < 1e-9
    assert (out / "language_market.png").read_bytes().startswith(b"\x89PNG")


def test_another_base_model_and_other_owners_from_the_command_line(tmp_path, monkeypatch, capsys):
    _sets(tmp_path / "financial_sentiment")
    saved(tmp_path / "mine", "encoder")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    words = ["run", "language_market", "--set", "rules=Local", "--steps", "1", "--quiet", "--set", "kind=encoder"]
    other = ["--set", f"model={tmp_path / 'mine'}", "--set", "owners=fiqa:20,tfns:30,nwgi:10"]
    assert main([*words, *other, "--out", str(tmp_path / "out")]) == 0
    owners = load(tmp_path / "out").at_end("owners")
    assert owners["name"].tolist() == ["fiqa 1", "tfns 1", "nwgi 1"]
    assert owners["capacity"].tolist() == [20, 30, 10]
    for wrong, why in (
        ("owners=wine:3", "sets are"),
        ("owners=fiqa:few", "give a number of examples"),
        ("owners=code:3", "owners of code write"),
        ("model=somebody/model", "give its revision and checksum"),
    ):
        assert main([*words, "--set", wrong, "--out", str(tmp_path / "not")]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.parametrize("first", ["free_rider", "poisoner", "liar"])
def test_the_first_owner_may_misbehave(first, tmp_path, monkeypatch):
    """The others stay honest, and the money stays balanced."""
    _sets(tmp_path / "financial_sentiment")
    saved(tmp_path / "models" / "minilm", "encoder")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    out = tmp_path / "out"
    words = ["run", "language_market", "--set", "rules=iPFL", "--set", f"first={first}", "--steps", "2", "--quiet"]
    assert main([*words, "--out", str(out)]) == 0
    frames = load(out)
    kinds = frames.owners.groupby("owner")["strategy"].first()
    assert kinds[0].startswith("liar" if first == "liar" else "attacker")
    assert set(kinds[1:]) == {"honest"}
    assert frames.owners.groupby("run")["payment"].sum().abs().max() < 1e-9


def test_owners_of_code_are_judged_by_unit_tests_if_asked(tmp_path, monkeypatch, capsys):
    """Tests that any answer passes, and tests that none does: one half."""
    _sets(tmp_path / "financial_sentiment")
    saved(tmp_path / "models" / "smollm2", "causal")
    _code(tmp_path / "codealpaca")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    file, out = tmp_path / "problems.jsonl", tmp_path / "out"
    rows = [{"prompt": "bank", "before": "_ = '''", "test": f"'''\nassert {right}"} for right in (True, False)]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    words = ["run", "language_market", "--set", "sets=finance_and_code", "--set", "rules=Local", "--steps", "1"]
    assert main([*words, "--set", f"unit_tests={file}", "--quiet", "--out", str(out)]) == 0
    table = pd.read_csv(out / "unit_tests.csv")
    assert table["owner"].tolist() == [0, 1, 2, 3, 4]
    assert (table["passed"] == 0.5).all()
    refused = ["run", "language_market", "--set", f"unit_tests={file}", "--quiet", "--out", str(tmp_path / "not")]
    assert main(refused) == 2
    assert "sets=finance_and_code" in capsys.readouterr().err


def _code(folder) -> None:
    """Questions with answers, each once."""
    folder.mkdir()
    rows = [{"instruction": f"{one.input} {i}", "input": "", "output": "rise"} for i, one in enumerate(texts(240, 9))]
    (folder / "code.jsonl").write_text("\n".join(json.dumps(row) for row in rows))


def test_one_adapter_for_all_meets_any_mechanism(tmp_path, monkeypatch):
    """Shares and subsidies move money among owners and make none; value shaping takes none."""
    _sets(tmp_path / "financial_sentiment")
    saved(tmp_path / "models" / "minilm", "encoder")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    out = tmp_path / "out"
    chosen = ["--set", "rounds=1", "--set", "interval=180", "--set", "tests=9"]
    assert main(["run", "shared_adapter", *chosen, "--quiet", "--out", str(out)]) == 0
    frames = load(out)
    rules = frames.runs.set_index("run")["label"]
    assert rules.tolist() == ["no payments", "Shapley shares", "subsidy", "value shaping"]
    assert frames.owners.groupby("run")["payment"].sum().abs().max() < 1e-9
    assert frames.owners["accuracy"].between(0.0, 1.0).all()
    assert frames.owners["name"].unique().tolist() == ["fiqa 1", "fiqa 2", "tfns 1", "tfns 2", "nwgi 1", "nwgi 2"]
    table = pd.read_csv(out / "sets.csv").set_index("set")
    assert table.index.tolist() == ["fiqa", "tfns", "nwgi"]
    assert table.columns.tolist() == ["commonest answer", *rules]
    last = frames.owners[(frames.owners["run"] == 1) & frames.owners["owner"].isin([2, 3])]
    assert table.loc["tfns", "Shapley shares"] == pytest.approx(last["accuracy"].mean())
    assert (out / "shared_adapter.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(lacking("08_language_models") is not None, reason="MiniLM or the finance sets are not there")
def test_the_quick_recipe_teaches_more_than_one_answer():
    """One adapter for all: always the same answer is right for two sets of three, and that is soon learned."""
    setting = replace(language_setting("quick", "finance"), tests=100)
    data = setting.federated(0)
    found = Trained(Engine(setting.network(), data), setting.rounds, setting.recipe).values(data.capacities[None])
    shares = np.bincount(data.y_test, minlength=3) / len(data.y_test)
    assert found.mean() > shares.max() + 0.1


def test_without_the_model_one_line_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    _sets(tmp_path / "financial_sentiment")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    assert main(["run", "language_market", "--quiet", "--out", str(tmp_path / "out")]) == 2
    assert "fedabm data get minilm" in capsys.readouterr().err


def test_roles_that_there_are_not_are_refused(tmp_path, monkeypatch, capsys):
    _sets(tmp_path / "financial_sentiment")
    saved(tmp_path / "models" / "minilm", "encoder")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    assert main(["run", "language_market", "--set", "roles=thief", "--quiet", "--out", str(tmp_path / "out")]) == 2
    assert "roles must be up to 6 of trader, buyer, seller, got thief" in capsys.readouterr().err


def test_a_killed_study_goes_on_to_the_same_frames(tmp_path, monkeypatch):
    _sets(tmp_path / "financial_sentiment")
    saved(tmp_path / "models" / "minilm", "encoder")
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    words = ["run", "language_market", "--set", "rules=iPFL", "--steps", "3", "--checkpoint", "1e-9", "--quiet"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    child = subprocess.run([sys.executable, "-c", _KILLED, *words, "--out", str(killed)], check=False)
    assert child.returncode == -signal.SIGKILL
    left = next(killed.rglob("*.checkpoint"))
    assert left.stat().st_size > 0
    assert main([*words, "--out", str(killed)]) == 0
    assert not left.exists()
    assert main([*words, "--out", str(whole)]) == 0
    assert_equal_frames(load(killed), load(whole))
