"""The first study shows what the README says of it."""

import pandas as pd

from fedabm.cli import main


def test_free_riders_pay_under_shapley_shares_and_liars_gain_most(tmp_path):
    assert main(["run", "forty_owners", "--steps", "25", "--quiet", "--out", str(tmp_path / "out")]) == 0
    utility = pd.read_csv(tmp_path / "out" / "utility.csv").set_index("strategy")
    given = pd.read_csv(tmp_path / "out" / "contribution.csv").set_index("strategy")
    plain, shares = utility["no payments"], utility["Shapley shares"]
    assert abs(plain["free-rider"] - plain["best response"]) < 0.1
    assert shares["free-rider"] < shares["best response"] - 0.5
    assert shares["liar"] == shares.max()
    assert given["Shapley shares"]["best response"] > 4 * given["no payments"]["best response"]
    assert (tmp_path / "out" / "forty_owners.png").exists()
