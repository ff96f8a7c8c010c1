"""Studies in which numbers of named owners are not known: drawn anew for every seed, and said so."""

import numpy as np
import pytest

from fedabm.common.errors import InputError
from fedabm.comparison.written import PICTURES, read_study
from fedabm.specs.uncertain import Uncertain, likely_numbers
from fedabm.study import Study

TEXT = """
seeds = 3
figures = []
accuracy = { kind = "calibrated", best = { kind = "power_law" }, draws = { ceiling = [0.9, 0.95] } }
mechanisms = { "none" = "no_payments", "shared" = { kind = "cost_sharing", rate = 0.5 } }

[[owners]]
name = "A"
cost = { low = 0.5, high = 1.5 }
data = 20
value = 100

[[owners]]
name = "B"
cost = { draws = [1.0, 2.0] }
data = { mean = 20, sd = 2 }
value = { low = 50, high = 150 }
outside = 3
"""


@pytest.mark.parametrize("given", [Uncertain(low=1, high=3), Uncertain(mean=2, sd=0.5), Uncertain(draws=(1, 2, 3))])
def test_draws_have_the_stated_mean_and_one_lies_in_each_part(given):
    drawn = likely_numbers(given, 300, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(given.middle, rel=0.01)
    assert np.all(drawn >= 0)
    parts = np.sort(drawn)
    np.testing.assert_allclose(parts, given.at((np.arange(300) + 0.5) / 300), atol=0.7)


def test_a_normal_number_is_cut_off_at_zero():
    assert Uncertain(mean=1.0, sd=5.0).at(np.array([0.0, 0.5])).min() >= 0.0


@pytest.mark.parametrize("given", [{"low": 1.0}, {"low": 1.0, "high": 2.0, "mean": 1.0}, {}, {"low": 2.0, "high": 1.0}])
def test_half_of_a_range_is_refused(given):
    with pytest.raises(InputError):
        Uncertain(**given)


def test_each_seed_is_one_draw_and_tables_say_so(tmp_path, capsys):
    path = tmp_path / "study.toml"
    path.write_text(TEXT, "utf-8")
    written = read_study(path)
    assert written.unknown == ["cost of A", "cost and data and value of B", "the curve of accuracy"]
    study = Study("study")
    written.run(study)
    shown = capsys.readouterr().out
    assert "3 draws of what is not known" in shown
    assert "Not known exactly: cost of A" in shown
    found = written.compared(Study("again", quiet=True))
    assert found.owners(intervals=True).columns.tolist()[2:] == ["none", "none ±", "shared", "shared ±"]
    assert found.owners()["owner"].tolist() == ["A", "B"]
    assert found.ends().groupby("label")["welfare"].nunique().tolist() == [3, 3]


def test_pictures_show_all_seeds_and_fit_the_page(tmp_path):
    path = tmp_path / "study.toml"
    rules = ", ".join(f'"rule {k}" = {{ kind = "cost_sharing", rate = {k / 10} }}' for k in range(1, 8))
    one_line = [line for line in TEXT.splitlines() if not line.startswith("mechanisms")]
    path.write_text(f"mechanisms = {{ {rules} }}\n" + "\n".join(one_line), "utf-8")
    found = read_study(path).compared(Study("study", quiet=True))
    owners, money = PICTURES["owners"](found), PICTURES["money"](found)
    assert "over 3 seeds" in owners.get_supxlabel()
    assert len(owners.axes) == 21
    assert money.get_size_inches()[0] < 14
    assert sum(panel.get_title() != "" for panel in money.axes) == 7
