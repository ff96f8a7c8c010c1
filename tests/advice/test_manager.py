"""The manager's whole way in text files: a pilot becomes a curve, a rule, a report and an invoice; each one command."""

import json

import numpy as np
import pytest

from fedabm import Game, solve
from fedabm.accuracy import LinearPayoff, PowerLaw, Valued
from fedabm.cli import main
from fedabm.comparison.written import read_study
from fedabm.mechanisms import Mechanism
from fedabm.specs.values import Reader

NAMES = ("Nord", "Sued", "Ost", "West", "Mitte", "Kueste", "Berg")
COSTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
DATA = (600, 500, 400, 300, 250, 200, 150)
VALUES = (1000, 900, 900, 800, 700, 600, 500)


def _study(asked: str, curve: str) -> str:
    owners = "".join(
        f'\n[[owners]]\nname = "{name}"\ncost = {{ low = {0.8 * cost:g}, high = {1.2 * cost:g} }}\n'
        f"data = {data}\nvalue = {value}\n"
        for name, cost, data, value in zip(NAMES, COSTS, DATA, VALUES, strict=True)
    )
    return f'question = "Which rule should our seven banks adopt?"\n{asked}\n{curve}\n{owners}'


ASKED = """
[recommend]
goal = "welfare"
conditions = ["rational", "balanced"]
verified = ["contributions", "costs"]
draws = 8
families = ["no payments", "cost sharing", "contribution subsidy"]
"""


def test_from_a_pilot_to_a_rule_to_an_invoice(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng, sizes = np.random.default_rng(3), np.geomspace(20, 2000, 12)
    truth = PowerLaw(scale=0.9, exponent=0.5, offset=5.0, ceiling=0.95)
    points = truth.curve(sizes) + rng.normal(0, 0.004, 12)
    rows = "\n".join(f"{size:.0f},{point:.4f}" for size, point in zip(sizes, points, strict=True))
    (tmp_path / "pilot.csv").write_text(f"samples,accuracy\n{rows}\n", "utf-8")
    assert main(["calibrate", "pilot.csv", "--draws", "20"]) == 0
    curve = (tmp_path / "pilot.accuracy.toml").read_text("utf-8")

    (tmp_path / "banks.toml").write_text(_study(ASKED, curve), "utf-8")
    assert main(["recommend", "banks.toml", "--out", "advice", "--audits", "0"]) == 0
    advice = json.loads((tmp_path / "advice" / "recommendation.json").read_text("utf-8"))
    assert advice["sentence"].startswith("Adopt c")
    assert main(["report", "advice"]) == 0
    assert "board.html" in capsys.readouterr().out

    rule = Reader().read("the rule", advice["mechanism"], Mechanism)
    adopted = "mechanism = " + "{ " + ", ".join(f"{k} = {json.dumps(v)}" for k, v in advice["mechanism"].items()) + " }"
    billed = '[settlement]\nstep = "month"\nbill = "each step"\n'
    (tmp_path / "adopted.toml").write_text(_study(adopted + "\n" + billed, curve), "utf-8")
    written = read_study(tmp_path / "banks.toml")
    game = Game(Valued(written.accuracy.best, LinearPayoff(VALUES)), COSTS, DATA, rule)
    found = solve(game)
    claims = "".join(
        f"{month},{name},{given!r}\n"
        for month in range(1, 13)
        for name, given in zip(NAMES, found.profile.tolist(), strict=True)
    )
    (tmp_path / "log.csv").write_text(f"round,owner,samples\n{claims}", "utf-8")
    assert main(["settle", "adopted.toml", "log.csv"]) == 0
    bills = json.loads((tmp_path / "log.statement.json").read_text("utf-8"))["bills"]
    assert len(bills) == 12
    for bill in bills:
        paid = [bill["payments"][name] for name in NAMES]
        assert paid == pytest.approx(game.payments(found.profile).tolist(), abs=1e-9)
        assert sum(paid) == pytest.approx(0.0, abs=1e-9)
