"""A pilot becomes an accuracy with draws; what describes nothing is refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedabm import Game, InputError, calibrate, calibrate_costs, solve
from fedabm.accuracy import PacBound, PowerLaw
from fedabm.calibration.families import FAMILIES
from fedabm.cli import main
from fedabm.learning import MeasuredCurve
from fedabm.mechanisms import NoPayments
from fedabm.specs.games import read_game
from tests.calibration.pilots import covered, noticed

TRUTH = PowerLaw(2.2, 0.5, 40.0, 0.93)
SIZES = np.geomspace(60, 3000, 12)


def heights(curve=TRUTH.curve, noise=0.003, seed=0, sizes=SIZES):
    return curve(sizes) + noise * np.random.default_rng(seed).normal(size=len(sizes))


@pytest.mark.parametrize("truth", [TRUTH, PacBound(0.95, 2.0)])
def test_without_noise_the_true_curve_is_found(truth):
    found = calibrate(20.0 * SIZES, heights(truth.curve, 1e-9, sizes=20.0 * SIZES), draws=20)
    far = 60.0 * SIZES
    assert type(found.accuracy.best) is type(truth)
    np.testing.assert_allclose(found.accuracy.best.curve(far), truth.curve(far), atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_of_families_are_derivatives(name):
    family = FAMILIES[name](3000.0, 1.0)
    low, high = family.box
    theta = {"power_law": [0.9, -2.0, -0.5, -3.0], "pac_bound": [0.9, -6.0]}[name]
    assert np.all((low < theta) & (theta < high))
    steps = 1e-6 * np.eye(len(theta))
    differences = [family.height(theta + one, SIZES) - family.height(theta - one, SIZES) for one in steps]
    np.testing.assert_allclose(family.slopes(np.array(theta), SIZES), np.array(differences).T / 2e-6, atol=1e-6)
    np.testing.assert_allclose(family.accuracy(np.array(theta)).curve(SIZES), family.height(theta, SIZES), atol=1e-12)


def test_some_pilots_are_covered_and_logarithms_noticed():
    """Short version of `python -m tests.calibration.pilots`."""
    assert sum(covered(seed).whole for seed in range(5)) >= 4
    assert all(noticed(seed) for seed in range(3))


def test_the_same_seed_gives_the_same_draws_and_percent_a_hundred_times_the_numbers():
    one, same, other = (calibrate(SIZES, heights(), draws=20, seed=seed) for seed in (0, 0, 1))
    assert one.accuracy == same.accuracy != other.accuracy
    percent = calibrate(SIZES, 100.0 * heights(), draws=20)
    assert percent.pilot.unit == "percent"
    assert [row["family"] for row in percent.table()] == ["power_law"]
    np.testing.assert_allclose(percent.accuracy.best.curve(SIZES), 100 * one.accuracy.best.curve(SIZES), rtol=1e-5)


def test_a_measured_curve_is_a_pilot():
    totals = np.concatenate([[0.0], SIZES])
    found = calibrate(MeasuredCurve(totals, heights(sizes=totals)), draws=20)
    assert found.pilot.sizes[0] == 0.0
    assert found.doubts == ()


def test_the_band_of_the_whole_curve_is_wider_and_trust_ends_within_three_times_the_pilot():
    found = calibrate(SIZES, heights(), draws=40)
    band = found.band()
    assert np.all(band.low <= band.point_low)
    assert np.all(band.point_high <= band.high)
    assert 3000.0 <= found.trusted <= 9000.0
    assert calibrate(SIZES, heights(noise=0.02), draws=40).trusted < found.trusted


@pytest.mark.parametrize(
    ("accuracies", "told"),
    [
        (np.linspace(0.9, 0.5, 12), "do not rise with samples"),
        (np.full(12, 0.7), "do not rise with samples"),
        (np.append(heights()[:-1], np.nan), "must be finite"),
        (heights()[:-1], "12 samples but 11 accuracies"),
        (-heights(), "row 1, column 'accuracy' must be from 0"),
    ],
)
def test_pilots_that_describe_nothing_are_refused(accuracies, told):
    with pytest.raises(InputError, match=told):
        calibrate(SIZES, accuracies, draws=20)


def test_a_curve_of_no_family_is_refused_where_sizes_are_repeated():
    sizes = np.repeat(np.linspace(100, 1000, 8), 3)
    steps = np.where(sizes > 500, 0.9, 0.5) + 0.001 * np.random.default_rng(0).normal(size=24)
    with pytest.raises(InputError, match="misses the means of repeated sizes"):
        calibrate(sizes, steps, draws=20)


def test_owners_that_differ_are_said():
    table = pd.DataFrame({"samples": np.tile(SIZES, 2), "accuracy": np.append(heights(), heights(seed=1) + 0.05)})
    found = calibrate(table.assign(owner=["A"] * 12 + ["B"] * 12), draws=20)
    assert "owners differ" in found.doubts[-1]
    alone = calibrate(table.assign(owner=["A"] * 12 + ["B"] * 12), owner="A", draws=20)
    assert alone.doubts == ()


def test_the_command_writes_what_a_game_reads(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"samples": SIZES, "accuracy": heights()}).to_csv("pilot.csv", index=False)
    assert main(["calibrate", "pilot.csv", "--draws", "20"]) == 0
    assert "trusted up to" in capsys.readouterr().out
    text = 'mechanism = "no_payments"\nowners = { costs = [1e-5, 2e-5], capacity = 900 }\n'
    Path("game.toml").write_text(text + Path("pilot.accuracy.toml").read_text())
    game = read_game("game.toml")
    assert game.accuracy == calibrate("pilot.csv", draws=20).accuracy
    alone = Game(game.accuracy.best, [1e-5, 2e-5], 900.0, NoPayments())
    assert solve(game).profile.tolist() == solve(alone).profile.tolist()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("samples,acuracy\n1,0.5\n", "no column 'accuracy'"),
        ("samples,accuracy\n1,0.5\n2,nan\n", "row 3, column 'accuracy'"),
        ("samples,accuracy,split\n" + "".join(f"{k},0.{k},{'a' if k % 2 else 'b'}\n" for k in range(1, 9)), "--split"),
        ("samples,accuracy\n1,0.5\n2,0.6\n", "2 points at 2 sizes"),
        ("samples,accuracy,cost\n1,0.5,2\n", "both accuracy and cost"),
    ],
)
def test_bad_files_get_one_line_and_code_2(tmp_path: Path, monkeypatch, capsys, text: str, told: str):
    monkeypatch.chdir(tmp_path)
    Path("pilot.csv").write_text(text)
    assert main(["calibrate", "pilot.csv"]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["pilot.csv"]


def test_costs_from_invoices_have_the_true_rate_in_their_interval():
    rng = np.random.default_rng(3)
    held = []
    for _ in range(200):
        sizes = rng.uniform(50, 500, 8)
        table = pd.DataFrame({"samples": sizes, "cost": 0.02 * sizes + 0.02 * np.sqrt(sizes) * rng.normal(size=8)})
        [one] = calibrate_costs(table)
        held.append(one.low <= 0.02 <= one.high)
    assert 0.9 <= np.mean(held) <= 0.99


def test_a_fixed_part_of_invoices_is_said_and_too_few_are_refused():
    table = pd.DataFrame({"samples": [100, 200, 300, 400, 500], "cost": [11.0, 12.1, 12.9, 14.0, 15.1]})
    assert "fixed part" in calibrate_costs(table)[0].doubts[0]
    with pytest.raises(InputError, match="2 invoices of all"):
        calibrate_costs(table.iloc[:2])
