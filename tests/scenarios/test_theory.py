"""The numbers, not the pixels, of the scenarios on the papers' theory."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from fedabm.common.errors import InputError
from fedabm.papers.murhekar2023.rings import ring
from fedabm.study.library import find
from fedabm.study.study import Study


@pytest.fixture
def play(tmp_path):
    """Run a scenario as the command line does; give back the study and its tables as saved."""

    def run(name: str, *settings: str, steps: int | None = None) -> tuple[Study, dict[str, pd.DataFrame]]:
        script = find(name)
        parameters = script.parameters(list(settings))
        study = Study(name, steps=steps, parameters=parameters, quiet=True)
        script.run(study, **parameters)
        paths = study.save(tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}")
        assert any(path.suffix == ".png" for path in paths)
        return study, {path.stem: pd.read_csv(path) for path in paths if path.suffix == ".csv"}

    yield run
    plt.close("all")


def test_welfare_of_two_owners(play):
    study, tables = play("welfare_two_owners")
    table = tables["summary"]
    assert table[["s_1", "s_2"]].to_numpy() == pytest.approx(
        np.array([[0.0, 0.5], [0.2, 0.4], [0.172678, 0.498142], [0.0, 0.6708204]]), abs=1e-6
    )
    assert table["Nash product"][:3].to_list() == pytest.approx([24.0, 25.244444, 25.500932], abs=1e-6)
    assert study.frames.runs["converged"].all()
    assert "0.4444" in table["point"][3]
    with pytest.raises(InputError, match="two owners"):
        play("welfare_two_owners", "costs=1,2,3")


def test_no_equilibrium_is_a_cycle_of_six(play):
    study, tables = play("no_equilibrium")
    cycle = tables["cycle"]
    profiles = cycle[["s_1", "s_2", "s_3"]].to_numpy()
    assert len(profiles) == len(np.unique(profiles, axis=0)) == 6
    assert set(np.unique(profiles)) == {0.0, 0.53125}
    assert np.all(np.count_nonzero(profiles != np.roll(profiles, 1, axis=0), axis=1) == 1)
    assert cycle["gain"].min() == pytest.approx(0.25 * 0.53125)
    assert not study.frames.runs["converged"].any()
    path = study.frames.owners.query("run == 0").pivot(index="step", columns="owner", values="contribution")
    assert np.all(path.to_numpy()[2:] == path.to_numpy()[:-2])
    assert np.all(path.to_numpy()[1:] != path.to_numpy()[:-1])


def test_ring_accuracies_are_those_of_theorem_a2():
    one, two, three = 0.48, 0.51, 0.9
    e = [0.5 + 16 * (one - 0.5), 0.5 + 16 * (two - 0.5), 1.0]
    wanted = [e[i] + e[i - 1] - e[i] * e[i - 1] for i in range(3)]
    assert ring(1 / 32).values(np.array([[one, two, three]]))[0] == pytest.approx(wanted)
    with pytest.raises(InputError, match="1/16"):
        ring(0.1)


def test_step_size_region_has_the_bounds_of_theorem_1(play):
    table = play("step_size_region")[1]["summary"]
    row = table[(table["P~"] == 0.5) & (table["lambda"] == 1.0)].iloc[0]
    assert row["largest gamma"] == pytest.approx(0.5 / (4 - 0.25))
    assert row["gamma where W_1 = 1"] == pytest.approx(2 * row["largest gamma"])
    assert (table["W_1 at 0.9 of the largest"] < 1).all()
    with pytest.raises(InputError, match="below bound"):
        play("step_size_region", "cross=1.5")
    with pytest.raises(InputError, match="cross holds 9 values, each a panel"):
        play("step_size_region", "cross=0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08,0.09")
    repeated = play("step_size_region", f"cross={','.join(200 * ['0.1'])}")[1]["summary"]
    assert repeated["P~"].unique() == [0.1]
    assert not repeated.duplicated().any()


def test_two_phases_beside_the_corrected_trace(play):
    _, tables = play("two_phase")
    together = tables["upbred"].set_index("quantity")["here"]
    assert together["contributions after 200 steps"] == "(3.124825, 4.096473)"
    assert together["contributions after 500 steps"] == "(0.124825, 2.596473)"
    assert together["nobody contributes any more from step"] == "1020"
    assert together["welfare (sum of accuracies) at the end"] == "2"
    assert together["printed end: slope of the mean accuracy in the weights"] == "(0.2, 0.2)"
    assert float(together["printed end: most an owner could gain for these weights"]) < 1e-12
    apart = tables["two_phase"].set_index("quantity")
    first = apart.loc["steps of phase 1 (kappa)"]
    assert float(first["here"]) <= float(first["paper"].removeprefix("at most "))
    assert float(apart.loc["the same with eta = 1/M", "here"]) == 1
    assert float(apart.loc["worst utility with capacities (0.5, 10) and subsidy 2", "here"]) == pytest.approx(-18.02)


def test_reciprocity_table_in_equilibrium(play):
    study, tables = play("reciprocity_table", "preset=converged")
    table = tables["summary"].set_index(["mechanism", "dataset"])
    assert table["converged"].all()
    assert table["gap"].max() < 1e-9
    assert table.loc["M^Shap", "reciprocity"].to_list() == pytest.approx([1.0] * 4)
    assert (table.loc["M^0", "reciprocity"] < 1).all()
    full = 100 * 3000 / 5440
    assert table.loc["M^Shap", "share %"].to_list()[:3] == pytest.approx([full, full, 100.0])
    assert study.frames.owners.groupby("run")["payment"].sum().abs().max() < 1e-9


def test_reciprocity_table_with_the_papers_budget_comes_near_the_printed_shares(play):
    table = play("reciprocity_table", "dataset=cifar10", "rate=0.8")[1]["summary"]
    assert table["share %"].to_list() == pytest.approx(table["share % printed"].to_list(), abs=1.0)
    assert table["reciprocity"].to_list() == pytest.approx(table["reciprocity printed"].to_list(), abs=0.05)
    assert not table["converged"][0]
