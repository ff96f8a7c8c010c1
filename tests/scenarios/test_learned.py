"""Protocols on trained models, in small: what the scenarios show, interrupted runs, and where the time goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from fedabm import Federation, Scenario, load, population
from fedabm.cli import main
from fedabm.common.errors import BusyError, InputError
from fedabm.common.timing import profiled
from fedabm.data.datasets import load_dataset
from fedabm.data.partitions import SizeSkew
from fedabm.games.accuracy import PowerLaw
from fedabm.games.messages import OwnerMessages
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import Adam
from fedabm.learning.oracles import Learning, Measure, Rounds
from fedabm.learning.oracles.memory import AnswerCache
from fedabm.learning.oracles.rounds import RoundModels
from fedabm.learning.rules.recipe import Recipe
from fedabm.learning.rules.rounds import one_round
from fedabm.mechanisms import ContributionSubsidy, ShapleyShare
from fedabm.papers.doshi2025 import data as natural
from fedabm.papers.doshi2025.protocols import fed_avg_strategic, two_phase_upbred, upbred
from fedabm.papers.doshi2025.settings import PRESETS, Doshi, doshi_facts, over_guessing
from fedabm.papers.murhekar2025.protocols import fed_br_shap
from fedabm.papers.presets import Size, choose, engine_for, spread
from fedabm.papers.protocols import Protocol, fed_avg
from fedabm.scenarios import p_mean_table, welfare_by_time
from fedabm.shapley import shapley
from fedabm.simulation import checkpoint
from fedabm.simulation.activation import RandomSubset
from fedabm.strategies import FreeRider, Honest, Keep, Liar, MeasuredResponse
from fedabm.study import resume
from fedabm.study.study import Study
from tests.conftest import assert_equal_frames, run

pytestmark = pytest.mark.usefixtures("undrawn")

COSTS = [0.2, 0.4, 0.6, 0.8]


@cache
def engine(seed: int = 0, owners: int = 4) -> Engine:
    return engine_for(load_dataset("digits"), Size(owners, 60, 30, "logistic"), seed)


def learning(rounds: int | None = None) -> Learning:
    return Learning(engine(), Recipe(batch=20), measure=over_guessing(10), rounds=rounds)


def welfare(model: Federation) -> float:
    return float(model.population.accuracy.sum())


# Doshi et al. 2025 on a model in training


def own_progress(model: torch.Tensor, counts: np.ndarray, round: int) -> np.ndarray:
    """L_i(w) - L_i(w_i): what everybody's local step from a model brings it on its own test part."""
    trained = model + Recipe(batch=20).train(engine(), model, counts, 0, round)
    losses = engine().evaluate(torch.cat([model[None], trained])).numpy()[0]
    return losses[0] - np.diagonal(losses[1:])


def test_upbred_takes_the_numerical_steps_of_eq_10():
    made = run(upbred(0.5).scenario(learning(), COSTS, 60.0, 30.0, steps=6))
    owners = made.frames().owners
    s = np.vstack([np.full(4, 30.0), owners.pivot(index="step", columns="owner", values="contribution").to_numpy()])
    assert set(owners["information"]) == {"experience"}
    np.testing.assert_allclose(s[1], 30.0 - 0.5 * np.array(COSTS))
    model = engine().initial(0)
    for t in range(1, 6):
        slope = own_progress(model, s[t], t - 1) / (s[t] - s[t - 1])
        np.testing.assert_allclose(s[t + 1], np.clip(s[t] + 0.5 * (slope - np.array(COSTS)), 1.0, 60.0), atol=1e-4)
        model = one_round(engine(), model, s[t], Recipe(batch=20), 0, t - 1).model
    # The federation's progress is not credited to anybody: the shared model's would lead elsewhere.
    a = owners.pivot(index="step", columns="owner", values="accuracy").to_numpy()
    shared = np.clip(s[2] + 0.5 * ((a[1] - a[0]) / (s[2] - s[1]) - np.array(COSTS)), 1.0, 60.0)
    assert np.abs(s[3] - shared).max() > 0.1


def test_in_phase_1_owners_try_and_in_phase_2_they_stand_still():
    """Algorithm 3: s moves by eq. (10) while w^0 is frozen, and not at all while w is trained."""
    rule = fed_avg_strategic(5.0, at_most=4)
    owners = run(rule.scenario(learning(3), COSTS, 60.0, 30.0, steps=9)).frames().owners
    s = np.vstack([np.full(4, 30.0), owners.pivot(index="step", columns="owner", values="contribution").to_numpy()])
    for t in range(1, 4):
        slope = own_progress(engine().initial(0), s[t], 0) / (s[t] - s[t - 1])
        np.testing.assert_allclose(s[t + 1], np.clip(s[t] + 5 * (slope - np.array(COSTS)), 1.0, 60.0), atol=1e-3)
    assert np.all(s[5:] == s[5])
    np.testing.assert_array_equal(owners.loc[owners["step"] > 5, "information"], "rule")
    a = owners.pivot(index="step", columns="owner", values="accuracy").to_numpy()
    assert np.all(a[:4] == a[0])
    assert np.all(a[5] != a[0])


def test_without_trials_phase_1_has_no_slope_and_everybody_falls_to_one_sample():
    """The authors' code."""
    made = run(fed_avg_strategic(20.0, measured=False).scenario(learning(2), COSTS, 60.0, 30.0, steps=40))
    assert np.all(made.population.contribution == 1)
    tried = run(fed_avg_strategic(2.0, at_most=9).scenario(learning(2), COSTS, 60.0, 30.0, steps=12))
    assert tried.population.contribution.sum() > 4


def test_phase_1_as_printed_ends_as_soon_as_nobody_rises():
    made = run(fed_avg_strategic(0.5, as_printed=True).scenario(learning(2), COSTS, 60.0, 30.0, steps=9))
    assert made.state.waited == 1
    np.testing.assert_array_less(28.0, made.population.contribution)


def test_known_rounds_are_not_trained_again_and_change_nothing(monkeypatch, tmp_path):
    def runs(known: AnswerCache | None) -> list[Federation]:
        accuracy = replace(learning(4), known=known)
        rules = (fed_avg(), upbred(0.5), two_phase_upbred(20.0, 1.0, at_most=60))
        return [run(rule.scenario(accuracy, COSTS, 60.0, 30.0, steps=40)) for rule in rules]

    plain, first = runs(None), runs(AnswerCache(tmp_path, "rounds"))
    for one, two in zip(plain, first, strict=True):
        assert_equal_frames(one.frames(), two.frames())
    trained = []
    monkeypatch.setattr(Engine, "train", lambda *words, **more: trained.append(words))
    for one, two in zip(plain, runs(AnswerCache(tmp_path, "rounds")), strict=True):
        assert_equal_frames(one.frames(), two.frames())
    assert not trained
    assert all(path.suffix == ".npz" for path in tmp_path.iterdir())


def test_two_phases_at_full_data_are_fedavg_from_memory_and_their_model_can_still_be_had():
    known = AnswerCache()
    accuracy = replace(learning(3), known=known)
    honest = run(fed_avg().scenario(accuracy, COSTS, 60.0, steps=3)).learned
    known_before = len(known)
    phased = run(two_phase_upbred(60.0, 2.0, at_most=60).scenario(accuracy, COSTS, 60.0, 59.0, steps=9)).learned
    assert len(known) - known_before == 4  # one step of trials, and no round
    assert (phased.round, len(phased.late), phased.model) == (3, 3, None)
    torch.testing.assert_close(accuracy.weights(phased), accuracy.weights(honest), rtol=0, atol=0)
    endless, more = replace(accuracy, rounds=None), OwnerMessages.honest(np.full(4, 60.0))
    further, expected = (endless.weights(endless.round(one, more)[0]) for one in (phased, honest))
    torch.testing.assert_close(further, expected, rtol=0, atol=0)


def test_a_large_subsidy_makes_two_phases_as_good_as_honest_owners_and_a_small_one_does_not():
    honest = run(fed_avg().scenario(learning(5), COSTS, 60.0, steps=5))
    results = {
        beta: run(two_phase_upbred(20.0, beta, at_most=60).scenario(learning(5), COSTS, 60.0, 30.0, steps=70))
        for beta in (0.0, 0.5, 1.0)
    }
    assert welfare(results[1.0]) == pytest.approx(welfare(honest), abs=1e-6)
    assert np.all(results[1.0].population.contribution == 60)
    assert results[0.5].population.contribution.tolist()[:2] == [60.0, 60.0]
    assert np.all(results[0.5].population.contribution[2:] < 30)
    assert welfare(results[0.0]) < welfare(results[0.5]) < welfare(results[1.0]) + 1e-9
    for made in results.values():
        assert made.frames().owners.groupby("step")["payment"].sum().abs().max() < 1e-9
    together = run(upbred(0.5).scenario(learning(5), COSTS, 60.0, 30.0, steps=5))
    assert welfare(together) < welfare(honest)


def test_a_model_is_final_after_its_rounds():
    made = run(fed_avg().scenario(learning(2), COSTS, 60.0, steps=9))
    assert made.status == "at rest"
    assert made.state.round == 2
    assert made.steps < 9


def test_costs_and_starts_are_those_of_the_paper():
    capacities = np.arange(30, 230)
    costs, starts = doshi_facts(capacities, 3)
    assert np.all((costs >= 0) & (costs <= 1))
    assert np.all((starts >= np.floor(capacities / 3)) & (starts <= np.ceil(2 * capacities / 3)))
    assert np.all(starts == np.rint(starts))
    assert np.ptp(starts / capacities) > 0.25


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_deal_the_same_data_to_every_protocol(name):
    preset = replace(PRESETS[name], size=Size(5, 40, 20, "logistic"), data="digits")
    one, two = (Doshi.of(preset, load_dataset("digits"), 4, 3, partition=SizeSkew(5, sigma=0.5)) for _ in range(2))
    np.testing.assert_array_equal(one.engine.data.x_train, two.engine.data.x_train)
    np.testing.assert_array_equal(one.facts.costs, two.facts.costs)
    assert len({rule.name for rule in one.protocols(2.0)}) == 4
    assert one.rounds == 3


# Coalition models


def rounds(**changes) -> RoundModels:
    """What coalitions' models are worth before the first decision."""
    made = replace(Rounds(engine(), Recipe(batch=20), more=20, seed=1, start=30.0), **changes)
    return made.begin(0).accuracy  # type: ignore[return-value]


def test_the_model_of_everybody_is_the_next_one_and_nobodys_is_the_last():
    oracle = rounds()
    full = oracle.values(np.full((1, 4), 30.0))[0]
    np.testing.assert_allclose(full, Measure().of(engine(), oracle._learned.after.model)[0], atol=1e-6)
    np.testing.assert_allclose(oracle.at_zero(4), Measure().of(engine(), engine().initial(1))[0], atol=1e-6)


def test_one_more_contribution_is_a_line_to_the_second_training():
    oracle = rounds(measure=Measure("loss", 2.3))
    other = one_round(engine(), engine().initial(1), np.array([50, 30, 30, 30]), Recipe(batch=20), 1, 0)
    profiles = np.array([[30.0, 30, 30, 30], [40.0, 30, 30, 30], [50.0, 30, 30, 30]])
    low, middle, high = oracle.values(profiles)
    np.testing.assert_allclose(middle, (low + high) / 2, atol=1e-9)
    np.testing.assert_allclose(high, Measure("loss", 2.3).of(engine(), other.model)[0], atol=1e-5)
    np.testing.assert_allclose(oracle.values(np.array([[90.0, 30, 30, 30]]))[0], high, atol=1e-9)


def test_where_the_data_end_the_second_training_uses_less():
    oracle = rounds(start=60.0)
    assert oracle._learned.claims.tolist() == [[60.0] * 4, [40.0] * 4]
    assert rounds(start=0.0)._learned.claims.tolist() == [[0.0] * 4, [20.0] * 4]


def test_payments_are_shares_of_the_rounds_progress_and_sum_to_zero():
    rule = fed_br_shap(200.0, active=2, window=1)
    made = run(rule.scenario(Rounds(engine(), Recipe(batch=20), 20, start=30.0), [0.001] * 4, 60.0, 30.0, steps=5))
    owners = made.frames().owners
    assert owners.groupby("step")["payment"].sum().abs().max() < 1e-9
    oracle, last = made.accuracy, owners[owners["step"] == 5]
    shares = shapley(oracle, made.population.claimed)
    gained = last["accuracy"].to_numpy() + last["payment"].to_numpy() - oracle.at_zero(4)
    np.testing.assert_allclose(gained, shares, atol=1e-9)
    assert sorted(set(owners["information"])) == ["offer", "repeated"]


def test_fedbr_shap_takes_the_difference_of_shapley_shares():
    oracle = rounds(seed=None)
    training = Rounds(engine(), Recipe(batch=20), more=20, start=30.0)
    made = run(fed_br_shap(100.0).scenario(training, [0.001] * 4, 60.0, 30.0, steps=1))
    base = np.full(4, 30.0)
    for owner in range(4):
        more = base.copy()
        more[owner] = 50.0
        slope = (shapley(oracle, more)[owner] - shapley(oracle, base)[owner]) / 20
        wanted = np.clip(30.0 + 100.0 * (slope - 0.001), 0.0, 60.0)
        assert made.population.contribution[owner] == pytest.approx(wanted, abs=1e-6)


def test_coalitions_of_all_rounds_share_all_that_was_learned():
    rule = Protocol("M^Shap", Honest(), ShapleyShare())
    made = run(
        rule.scenario(Rounds(engine(), Recipe(batch=20), start=60.0, whole=True), [0.001] * 4, 60.0, 60.0, steps=4)
    )
    oracle = made.accuracy
    np.testing.assert_allclose(oracle.at_zero(4), Measure().of(engine(), engine().initial(0))[0], atol=1e-6)
    np.testing.assert_allclose(
        made.population.accuracy, Measure().of(engine(), oracle._learned.after.model)[0], atol=1e-6
    )
    assert made.population.payment.sum() == pytest.approx(0.0, abs=1e-9)


def test_a_free_rider_gains_under_fedavg_and_loses_under_subsidy_and_shapley_shares():
    costs = [0.002] * 4

    def gain(rule: Protocol, accuracy) -> float:
        return np.subtract(
            *(
                run(rule.scenario(accuracy, costs, 60.0, 60.0, [who, None, None, None], steps=8)).population.utility[0]
                for who in (FreeRider(), None)
            )
        )

    plain = Learning(engine(), Recipe(batch=20), rounds=4)
    coalitions = Rounds(engine(), Recipe(batch=20), start=60.0, whole=True)
    assert gain(fed_avg(), plain) > 0
    assert gain(Protocol("subsidy", Honest(), ContributionSubsidy(0.004)), plain) < 0
    assert gain(Protocol("M^Shap", Honest(), ShapleyShare()), coalitions) < 0


def test_liars_and_leavers_do_not_break_coalition_models():
    people = [Liar(Honest(), contribution_factor=3.0), FreeRider(), Keep(), None]
    oracle = Rounds(engine(), Recipe(batch=20), start=30.0)
    scenario = fed_br_shap(100.0, window=2).scenario(oracle, [0.001] * 4, 60.0, 30.0, people, steps=4)
    made = run(scenario)
    assert np.all(np.isfinite(made.frames().owners["utility"]))
    np.testing.assert_allclose(
        made.population.accuracy, Measure().of(engine(), made.accuracy._learned.after.model)[0], atol=1e-6
    )


@pytest.mark.parametrize("what", ["rounds", "phased"])
def test_protocols_go_on_from_a_checkpoint(what, tmp_path):
    if what == "rounds":
        oracle = Rounds(engine(), Recipe(batch=20), start=30.0)
        scenario = fed_br_shap(100.0, 2, 3).scenario(oracle, [0.001] * 4, 60.0, 30.0, steps=5)
    else:
        scenario = two_phase_upbred(20.0, 1.0, at_most=9).scenario(learning(4), COSTS, 60.0, 30.0, steps=14)
        poor = tuple(replace(owner, budget=50.0) for owner in scenario.owners)
        scenario = replace(scenario, owners=poor, activation=RandomSubset(3))
    whole = Federation(scenario, 5)
    for _ in range(2):
        whole.step()
    again = checkpoint.restore(checkpoint.save(whole, tmp_path / "run"), scenario)
    assert_equal_frames(again.run().frames(), whole.run().frames())


def test_checkpoints_hold_no_data_and_restoring_trains_nothing(tmp_path, monkeypatch):
    keepers = [checkpoint.Keeper(tmp_path / f"run-{number}.checkpoint", 0.0, str(number)) for number in (1, 2)]
    made = [run(rule.scenario(learning(2), COSTS, 60.0, 30.0, steps=2)) for rule in (fed_avg(), upbred(0.5))]
    for keeper, model in zip(keepers, made, strict=True):
        keeper.end(model)
        assert engine().data.x_train[:10].tobytes() not in keeper.path.read_bytes()
    monkeypatch.setattr(Engine, "train", None)
    monkeypatch.setattr(Engine, "evaluate", None)
    for keeper, model in zip(keepers, made, strict=True):
        assert_equal_frames(keeper.found(model.scenario).frames(), model.frames())


def test_runs_that_are_short_but_not_quickly_made_again_are_kept(tmp_path, monkeypatch):
    made = run(fed_avg().scenario(learning(1), COSTS, 60.0, steps=1))
    monkeypatch.setattr(checkpoint, "time", SimpleNamespace(monotonic=lambda: 1000.0))
    for number, (age, kept) in enumerate([(2.0, False), (4.0, True), (90.0, True)]):
        keeper = checkpoint.Keeper(tmp_path / f"run-{number}.checkpoint", 60.0, "run", 1000.0 - age)
        keeper.end(made)
        assert keeper.path.exists() == kept


# Scenarios


SMALL = {
    "welfare_by_subsidy": ["seeds=1", "subsidies=0,2"],
    "welfare_by_owners": ["seeds=1", "owners=3,5"],
    "welfare_by_time": ["seeds=1"],
    "payments_by_contribution": ["seeds=1"],
    "p_mean_table": ["seeds=1"],
    "mixed_population": ["seeds=1", "changes=1"],
    "stage_payments": ["seeds=1"],
    "reciprocity_table_trained": ["seeds=1"],
}


@pytest.mark.parametrize("name", sorted(SMALL))
def test_scenarios_on_embedded_data_give_the_same_frames_twice(name, tmp_path):
    words = [word for setting in ("data=digits", *SMALL[name]) for word in ("--set", setting)]
    for out in ("a", "b"):
        assert main(["run", name, "--steps", "2", "--quiet", *words, "--out", str(tmp_path / out)]) == 0
    assert_equal_frames(load(tmp_path / "a"), load(tmp_path / "b"))
    table = pd.read_csv(tmp_path / "a" / "summary.csv")
    assert len(table)
    assert "form" not in table or set(table["form"]) == {"normalised", "unnormalised"}, "nothing is printed for digits"
    assert "progress" not in table or table["progress"].notna().all()
    assert not (tmp_path / "a" / ".running").exists()


@pytest.mark.parametrize(("data", "last"), [("mnist", 5.459), ("cifar10", 5.891)])
def test_what_is_printed_stands_beside_ours(data, last):
    rows = [(name, 0, p, 0.5, 5.0) for name in p_mean_table._NAMES for p in p_mean_table._POWERS]
    ours = pd.DataFrame(rows, columns=["protocol", "seed", "p", "normalised", "unnormalised"])
    table = p_mean_table._table(ours, p_mean_table._PRINTED[data])
    assert table["form"].tolist() == ["normalised", "unnormalised", "printed"] * 4
    assert float(table["p = 1"].iloc[-1]) == last


def test_who_has_ended_stays_in_the_mean():
    """10 and 2 in the end, the second after two of three steps: the mean goes to 6, and not to 10."""
    long, short = {"seed": 0, "welfare": [0.0, 5.0, 10.0]}, {"seed": 1, "welfare": [0.0, 2.0]}
    runs = pd.concat([pd.DataFrame(one).assign(step=np.arange(len(one["welfare"])) + 1) for one in (long, short)])
    assert welfare_by_time._held(runs, "welfare").mean(axis=1).tolist() == [0.0, 3.5, 6.0]


def test_one_seed_never_holds_and_several_must_agree():
    assert p_mean_table._verdict(np.array([0.5])) == "one seed decides nothing"
    assert p_mean_table._verdict(np.array([0.5, 0.51, 0.52])) == "holds"
    assert p_mean_table._verdict(np.array([0.9, 0.0, 0.1])) == "holds on average, within the spread over seeds"
    assert p_mean_table._verdict(np.array([-0.5, -0.51, -0.52])) == "does not hold"


def test_owners_are_the_presets_the_papers_or_as_many_as_asked_for():
    size = p_mean_table._PRESETS["paper"].size
    assert p_mean_table._size(size, "paper", "cifar10", 0) == replace(size, owners=100, network="vgg11")
    assert p_mean_table._size(size, "paper", "mnist", 0) == size
    assert p_mean_table._size(size, "paper", "cifar10", 7).owners == 7
    assert p_mean_table._size(p_mean_table._PRESETS["quick"].size, "quick", "cifar10", 0).network == "logistic"


def test_the_public_curve_is_raw_unless_the_envelope_is_asked_for(tmp_path):
    curves = {}
    for envelope in ("false", "true"):
        words = [
            "--set",
            "data=digits",
            "--set",
            "seeds=1",
            "--set",
            f"envelope={envelope}",
            "--out",
            str(tmp_path / envelope),
        ]
        assert main(["run", "p_mean_table", "--steps", "3", "--quiet", *words]) == 0
        table = pd.read_csv(tmp_path / envelope / "rounds.csv")
        curves[envelope] = table[table["label"] == "public curve"]
    raw = curves["false"]
    assert raw["step"].tolist()[:4] == [0, 25, 50, 75]
    slopes = np.diff(curves["true"]["accuracy"]) / np.diff(curves["true"]["step"])
    assert np.all(np.diff(slopes) <= 1e-12)


WRITTEN = {
    "welfare_by_owners": ["owners=3"],
    "welfare_by_subsidy": ["subsidies=2"],
    "payments_by_contribution": [],
}


@pytest.mark.parametrize("name", WRITTEN)
def test_writers_are_owners_as_they_are(name, tmp_path, monkeypatch):
    digits = load_dataset("digits")
    users = np.repeat(np.arange(12), np.arange(12) * 25 + 13)[: len(digits)]
    monkeypatch.setattr(natural, "load_dataset", lambda _: replace(digits, users=users))
    words = [word for setting in ("data=femnist", "seeds=1", *WRITTEN[name]) for word in ("--set", setting)]
    assert main(["run", name, "--steps", "2", "--quiet", *words, "--out", str(tmp_path / "run")]) == 0
    owners = load(tmp_path / "run").owners.query("run == 0 and step == 1")
    largest = np.sort(np.bincount(users))[::-1][: len(owners)]
    assert len(owners) == (3 if name == "welfare_by_owners" else 10)
    np.testing.assert_array_equal(owners["capacity"], largest - np.rint(0.25 * largest))


def test_the_papers_sets_have_its_networks_and_rates(monkeypatch):
    monkeypatch.setattr(natural, "load_dataset", load_dataset)
    monkeypatch.setattr(natural, "WRITERS", ("digits",))
    written, dataset = natural.setting("paper", "digits", print)
    assert (written.size.network, written.gamma, dataset.name) == ("femnist_cnn", 0.1, "digits")
    assert natural.setting("quick", "digits", print)[0] == PRESETS["quick"]
    monkeypatch.setattr(natural, "load_dataset", lambda _: dataset)
    tweets, _ = natural.setting("paper", "sent140", print)
    assert (tweets.size.network, tweets.gamma, tweets.rounds) == ("sentiment_lstm", 0.5, 50)
    assert tweets.recipe.optimiser == Adam(0.00001)
    assert natural.owners_of("sent140", 5) is None


def test_a_set_that_is_not_there_is_replaced_only_by_saying_so(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDABM_DATA", str(tmp_path))
    said: list[str] = []
    assert choose("auto", said.append).name == "digits"
    assert len(said) == 1
    assert "mnist is not there" in said[0]
    with pytest.raises(InputError, match="mnist is not there"):
        choose("mnist", said.append)
    assert choose("digits", said.append).name == "digits"
    assert len(said) == 1


def test_the_interval_of_a_mean():
    assert spread(np.array([1.0, 2.0, 3.0])) == pytest.approx((2.0, 4.302653 / np.sqrt(3)), rel=1e-6)
    assert np.isnan(spread(np.array([1.0]))[1])


# Interrupted studies


SLOW = ["--seed", "3", "--set", "data=digits", "--set", "seeds=1", "--set", "owners=3,4", "--checkpoint", "0.01"]


def test_a_killed_study_goes_on_and_ends_with_the_same_frames(tmp_path):
    command = [sys.executable, "-m", "fedabm", "run", "welfare_by_owners", *SLOW, "--steps", "6"]
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert main([*command[3:], "--quiet", "--out", str(whole)]) == 0
    kept = broken / ".running"
    with subprocess.Popen([*command, "--quiet", "--out", str(broken)], env=environment) as work:
        while work.poll() is None and len(list(kept.glob("run-*"))) < 3:
            time.sleep(0.01)
        work.send_signal(signal.SIGKILL)
    assert not (broken / "manifest.json").exists()
    assert len(list(kept.glob("run-*"))) >= 3
    assert resume.left(broken).startswith("fedabm run welfare_by_owners")
    assert main([*command[3:], "--quiet", "--out", str(broken)]) == 0
    assert_equal_frames(load(broken), load(whole))
    assert not kept.exists()


def test_an_unfinished_run_is_continued_by_its_own_command_only(tmp_path):
    study = Study("x", quiet=True)

    def fail() -> None:
        with resume.unfinished(tmp_path, "fedabm run a", study, 1.0):
            study.saved.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with (
        pytest.raises(InputError, match="unfinished run of `fedabm run a`"),
        resume.unfinished(tmp_path, "fedabm run b", study, 1.0),
    ):
        pass
    with (
        resume.unfinished(tmp_path, "fedabm run a", study, 1.0),
        pytest.raises(BusyError, match="another process is at work"),
        resume.unfinished(tmp_path, "fedabm run a", study, 1.0),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_an_interrupted_command_saved_makes_room_for_the_whole(tmp_path):
    study, command = Study("x", quiet=True), "fedabm run a"

    def interrupted() -> None:
        with resume.unfinished(tmp_path, command, study, 1.0):
            study.saved.write_text("half")
            study.add(run(Scenario(population([0.1], 5.0, Honest()), PowerLaw())).frames())
            study.save(tmp_path, command, complete=False)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    for another in ("fedabm run b", command):
        assert (tmp_path / "manifest.json").exists()
        resume.make_room(tmp_path, another)
    assert [path.name for path in tmp_path.iterdir()] == [".running"]
    (tmp_path / "manifest.json").write_text("{ damaged")
    resume.make_room(tmp_path, command)
    (tmp_path / "manifest.json").unlink()
    study.save(tmp_path, command)
    (tmp_path / "notes.txt").write_text("mine")
    resume.make_room(tmp_path, command)
    assert (tmp_path / "manifest.json").exists()


def test_without_a_folder_the_same_command_finds_its_unfinished_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["run", "free_riding", "--quiet", "--steps", "2"]
    place = Path("results/free_riding-0/.running")
    place.mkdir(parents=True)
    (place / "command").write_text("fedabm run free_riding --seed 0 --steps 2")
    (place / "run-9.checkpoint").write_text("damaged")
    assert main(words) == 0
    assert sorted(path.name for path in Path("results").iterdir()) == ["free_riding-0"]
    assert main(words) == 0
    assert sorted(path.name for path in Path("results").iterdir()) == ["free_riding-0", "free_riding-0-2"]


# Time


def test_the_profile_sees_training_and_evaluation(capsys, tmp_path):
    with profiled() as shares:
        run(fed_avg().scenario(learning(), COSTS, 60.0, steps=3))
    assert shares.seconds["training"] > 0
    assert shares.seconds["evaluation"] > 0
    assert sum(shares.seconds.values()) <= shares.total
    assert main(["run", "free_riding", "--steps", "2", "--profile", "--out", str(tmp_path / "o")]) == 0
    assert "training and evaluation together" in capsys.readouterr().out
    with profiled(active=False) as nothing:
        pass
    assert nothing.total == 0


def test_owners_who_measure_ignore_what_they_cannot_know():
    people = population([0.5] * 4, 60.0, MeasuredResponse(1.0, least=1.0), 20.0)
    made = run(Scenario(people, learning(), steps=1))
    np.testing.assert_allclose(made.population.contribution, 19.5)
