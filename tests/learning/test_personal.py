"""Federations in which everyone has a model of its own: training, sending, what reaches whom, and what is kept."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from fedabm import Federation, Scenario
from fedabm.common.random import Streams, generator
from fedabm.data.datasets import load_dataset
from fedabm.data.federated import FederatedData, from_partition
from fedabm.data.partitions import Clusters
from fedabm.games.costs import Linear
from fedabm.games.messages import OwnerMessages
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import SGD
from fedabm.learning.engine.training import Proximal
from fedabm.learning.personal.models import Personal
from fedabm.learning.personal.own import ClassMix, OwnPart
from fedabm.learning.personal.remembered import Remembered
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import Ditto, FedAvgExchange, FedFomo, LocalOnly, Mechanism, ModelMarket
from fedabm.mechanisms.market import ImportGain, SquareRootGain
from fedabm.papers.ipfl2025.settings import RIVALS
from fedabm.simulation import checkpoint
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Attacker, Honest, Strategy
from fedabm.testing.models import PlainModels
from fedabm.views import Exchange, LocalTask
from tests.conftest import assert_equal_frames, run
from tests.learning.sent import claims
from tests.learning.test_answers import COSTS, FULL, PLANTED, TESTED
from tests.learning.test_answers import engine as secret_engine
from tests.simulation.test_privacy import Bugged, leaks

MARKET = ModelMarket(2.0, 10.0)
RECIPE = Recipe(steps=5, batch=8, optimiser=SGD(0.05, momentum=0.9))
RULES = {**{type(rule).__name__: rule for rule in RIVALS}, "ModelMarket": MARKET}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())


@cache
def data() -> FederatedData:
    return from_partition(load_dataset("digits"), Clusters(6, 2), seed=1, test_share=0.8, one_class="allow")


@cache
def engine() -> Engine:
    return Engine("mlp", data(), device="cpu")


def scenario(rule: Mechanism, strategies: dict[int, Strategy] | None = None, steps: int = 3, **late: int) -> Scenario:
    owners = [
        OwnerProfile(
            Linear(1.0),
            float(size),
            (strategies or {}).get(i, Honest()),
            eagerness=8000.0,
            joins=late.get(f"owner_{i}", 1),
        )
        for i, size in enumerate(data().capacities)
    ]
    return Scenario(owners, Personal(engine(), RECIPE), rule, steps=steps, valuation=ImportGain())


def models(federation: Federation) -> torch.Tensor:
    return federation.state.models


def alone(owner: int, rounds: int, seed: int = 0) -> torch.Tensor:
    """One owner's model after rounds of training by itself."""
    model = engine().initial(seed)
    for number in range(rounds):
        stream = Streams([generator(seed, "training", owner, number)])
        size = data().capacities[[owner]]
        how = {"steps": 5, "batch": 8, "optimiser": RECIPE.optimiser, "streams": stream, "owners": [owner]}
        model = engine().train(model, size, **how)[0]
    return model


# Training


def test_without_exchange_everyone_trains_alone():
    made = run(scenario(LocalOnly()))
    for owner in (0, 3, 5):
        torch.testing.assert_close(models(made)[owner], alone(owner, 3), rtol=1e-4, atol=1e-5)
    assert made.frames().owners["imports"].eq(0).all()


def test_the_second_round_of_the_market_is_held_to_the_proximal_centre():
    one, two = run(scenario(MARKET, steps=1)), run(scenario(MARKET, steps=2))
    first, links = models(one), one.links[0]
    assert links.weights.any()
    rows, initial = first.numpy().astype(float), engine().initial(0).numpy().astype(float)
    plain = PlainModels(claims(data().capacities), np.ones(6, dtype=bool), rows, rows, initial, rows)
    centres = plain.pulled(lambda products: 10.0 * MARKET.distance.pull(products, links.weights))
    held = Proximal(2.0 / 10.0, torch.from_numpy(centres).float())
    streams = Streams(generator(0, "training", owner, 1) for owner in range(6))
    how = {"steps": 5, "batch": 8, "optimiser": RECIPE.optimiser, "streams": streams, "proximal": held}
    expected = engine().train(first, data().capacities, **how)
    torch.testing.assert_close(models(two), expected, rtol=1e-4, atol=1e-5)


def test_federated_averaging_starts_everyone_from_the_mean():
    one = run(scenario(FedAvgExchange(), steps=1))
    share = torch.from_numpy(data().capacities / data().capacities.sum()).float()
    mean = (share @ run(scenario(LocalOnly(), steps=1)).state.models).expand(6, -1)
    torch.testing.assert_close(one.state.task.start, mean, rtol=1e-4, atol=1e-6)


def test_averaging_shows_what_the_mean_model_is_worth():
    """Not what owners have after local training, which is another number altogether."""
    made = run(scenario(FedAvgExchange(), steps=2))
    shown = made.frames().owners.query("step == 2")["accuracy"].to_numpy()
    np.testing.assert_allclose(shown, ClassMix().own(engine(), made.state.task.start), atol=1e-12)
    assert abs(shown.mean() - ClassMix().own(engine(), made.state.last.models).mean()) > 0.05


def test_an_owner_that_imports_nothing_is_held_to_its_own_last_model():
    """With a price that nobody pays, w <- w - rate (gradient + lambda / eta (w - last)), and not training alone."""
    shut = ModelMarket(1e6, 1e5)
    one, two = run(scenario(shut, steps=1)), run(scenario(shut, steps=2))
    assert not two.links[-1].linked.any()
    held = Proximal(10.0, models(one))
    streams = Streams(generator(0, "training", owner, 1) for owner in range(6))
    how = {"steps": 5, "batch": 8, "optimiser": RECIPE.optimiser, "streams": streams, "proximal": held}
    torch.testing.assert_close(models(two), engine().train(models(one), data().capacities, **how), rtol=1e-4, atol=1e-5)
    apart = (models(two) - models(run(scenario(LocalOnly(), steps=2)))).abs().max()
    assert apart > 1e-3


def test_all_downloads_of_a_round_are_charged_as_imports():
    """FedFomo with M = 2: two imports each and gains of both, used or not; the giver bears its cost for every one."""
    made = run(scenario(FedFomo(2), steps=1))
    owners, taken = made.frames().owners, made.links[0].linked
    assert owners["imports"].tolist() == [2] * 6
    assert (made.links[0].weights > 0).sum() < taken.sum() == 12
    size = data().capacities.astype(float)
    gain = SquareRootGain().added(size, taken @ size, np.full(6, 8000.0))
    np.testing.assert_allclose(owners["gain"], gain)
    assert owners["cost"].tolist() == pytest.approx(taken.sum(axis=0).tolist())


def test_models_are_judged_only_when_asked_and_the_last_judgement_stands():
    sparse = replace(scenario(MARKET, steps=4), accuracy=Personal(engine(), RECIPE, every=2))
    always, sometimes = (run(one).frames().owners for one in (scenario(MARKET, steps=4), sparse))
    for step in (2, 4):
        seen = [frame.query(f"step == {step}")["accuracy"].tolist() for frame in (always, sometimes)]
        assert seen[0] == seen[1]
    stood = [sometimes.query(f"step == {step}")["accuracy"].tolist() for step in (2, 3)]
    assert stood[0] == stood[1]
    assert always["utility"].tolist() == sometimes["utility"].tolist()


def test_a_training_is_done_once_and_remembered_to_the_bit():
    known = Remembered()
    shared = Personal(engine(), RECIPE, known=known)
    first = {
        rule: run(replace(scenario(RULES[rule]), accuracy=shared)) for rule in ("FedAvgExchange", "Ditto", "LocalOnly")
    }
    # Three rounds each: one first round for all, then two of FedAvg that serve Ditto, too, two of Ditto's own, and two.
    assert (known.done, known.found) == (7, 4)
    for rule, made in first.items():
        alone = run(scenario(RULES[rule]))
        assert torch.equal(models(made), models(alone))
        assert torch.equal(made.state.last.models, alone.state.last.models)
    forgetful = Remembered(limit=0)
    run(replace(scenario(LocalOnly()), accuracy=Personal(engine(), RECIPE, known=forgetful)))
    assert (forgetful.done, len(pickle.dumps(known)) < 200) == (3, True)


def test_ditto_keeps_a_second_model_that_is_not_sent():
    two = run(scenario(Ditto(), steps=2))
    kept, sent = models(two), two.state.last.models
    assert (kept - sent).abs().max() > 1e-3
    torch.testing.assert_close(sent, run(scenario(FedAvgExchange(), steps=2)).state.last.models)
    flipped = run(scenario(Ditto(), {0: Attacker(Honest(), "constant", scale=9.0)}, steps=1))
    assert models(flipped)[0].abs().max() < 5 < flipped.state.last.models[0].abs().max()


def test_epochs_may_be_asked_for_instead_of_steps():
    short = replace(scenario(LocalOnly(), steps=1), accuracy=Personal(engine(), Recipe(epochs=1, batch=8)))
    assert run(short).frames().owners["accuracy"].mean() > 0


# What the models are worth


def test_accuracy_by_class_mix_is_the_global_test_set_reweighted():
    rows = torch.stack([alone(owner, 1) for owner in range(6)])
    found = ClassMix().own(engine(), rows)
    for owner in (0, 4):
        _, mine = data().train(owner)
        share = np.bincount(mine, minlength=10) / len(mine)
        hits = _hits(rows[owner])
        by_class = np.array([hits[data().y_test == c].mean() for c in range(10)])
        assert found[owner] == pytest.approx(float(share @ by_class), abs=1e-12)


def _hits(model: torch.Tensor) -> np.ndarray:
    """Whether the model is right, sample by sample, by judging each alone."""
    single = replace(data(), test_offsets=np.arange(len(data().y_test) + 1), offsets=_stretched())
    return Engine("mlp", single, device="cpu").evaluate(model).numpy()[1][0]


def _stretched() -> np.ndarray:
    return np.append(np.minimum(np.arange(len(data().y_test)), len(data().y_train)), len(data().y_train))


def test_accuracy_on_the_own_part_is_the_diagonal():
    rows = torch.stack([alone(owner, 1) for owner in range(6)])
    _, accuracy = engine().evaluate(rows).numpy()
    np.testing.assert_allclose(OwnPart().own(engine(), rows), np.diagonal(accuracy), atol=1e-12)


def test_values_are_those_of_the_last_round():
    made = run(scenario(MARKET))
    last = made.frames().owners.query("step == 3")
    np.testing.assert_array_equal(last["accuracy"], ClassMix().own(engine(), models(made)))
    assert (last["best_accuracy"] >= last["accuracy"]).all()


# What was sent reaches only whom it may


@every_rule
@pytest.mark.parametrize("kind", ["nan", "inf"])
def test_a_broken_model_never_reaches_another_owners(rule, kind):
    """The others' models are what they are if that owner is not there at all."""
    attacked = run(scenario(rule, {2: Attacker(Honest(), kind)}, steps=4))
    without = run(scenario(rule, steps=4, owner_2=99))
    others = [0, 1, 3, 4, 5]
    assert torch.isfinite(models(attacked)).all()
    torch.testing.assert_close(models(attacked)[others], models(without)[others], rtol=1e-3, atol=1e-4)
    flags = attacked.frames().owners.pivot(index="step", columns="owner", values="rejected").to_numpy()
    assert flags.tolist() == [[False, False, True, False, False, False]] * 4
    assert attacked.frames().owners.query("owner == 2")["exports"].eq(0).all()


@every_rule
@pytest.mark.parametrize("kind", ["constant", "gaussian", "shuffle", "sign_flip", "free_ride", "random_model"])
def test_every_attack_leaves_finite_models(rule, kind):
    strong = Attacker(Honest(), kind, scale=1e30 if kind == "constant" else None)
    made = run(scenario(rule, {0: strong}, steps=2))
    assert torch.isfinite(models(made)).all()
    assert np.isfinite(made.frames().owners[["accuracy", "utility"]].to_numpy()).all()


def test_an_attacker_flips_its_update_of_what_it_received():
    made = run(scenario(MARKET, {0: Attacker(Honest(), "sign_flip")}, steps=2))
    start = engine().initial(0)
    sent, kept = made.state.last.models[0], models(made)[0]
    torch.testing.assert_close(sent - start, -(kept - start), rtol=1e-4, atol=1e-6)
    averaged = run(scenario(FedAvgExchange(), {0: Attacker(Honest(), "sign_flip")}, steps=2)).state
    received = averaged.last.start[0]
    stream, size = Streams([generator(0, "training", 0, 1)]), data().capacities[[0]]
    how = {"steps": 5, "batch": 8, "optimiser": RECIPE.optimiser, "streams": stream, "owners": [0]}
    honest = engine().train(received, size, **how)[0]
    torch.testing.assert_close(averaged.last.models[0] - received, received - honest, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("rule", [RULES["FedAMP"], MARKET], ids=["FedAMP", "market"])
def test_a_free_rider_returns_what_the_server_sent_it_last(rule):
    """Under rules that hold owners to a model, that one and not the initial model; beneath some noise."""
    rider = Attacker(Honest(), "free_ride", scale=1e-4, trains=False)
    one, two = (run(scenario(rule, {0: rider}, steps=steps)).state for steps in (1, 2))
    torch.testing.assert_close(one.last.models[0], engine().initial(0), rtol=0, atol=1e-3)
    held_to, sent = one.task.pull[0], two.last.models[0]
    torch.testing.assert_close(sent, held_to, rtol=0, atol=1e-3)
    assert (sent - engine().initial(0)).norm() > 10 * (sent - held_to).norm()


def test_an_attack_changes_nobody_elses_draws():
    quiet, attacked = (run(scenario(LocalOnly(), s)) for s in (None, {1: Attacker(Honest(), "gaussian")}))
    others = [0, 2, 3, 4, 5]
    torch.testing.assert_close(models(quiet)[others], models(attacked)[others], rtol=0, atol=0)


# Nothing to do


def test_nobody_takes_part():
    training = Personal(engine(), RECIPE)
    begun = training.begin(0)
    same, result = training.round(begun, OwnerMessages.honest(np.zeros(6)))
    assert same is begun
    assert not result.dropped.any()


def test_a_task_that_is_no_number_leaves_owners_with_their_own_models():
    training = Personal(engine(), RECIPE)
    begun = training.begin(0)
    broken = torch.full((2, engine().size), torch.nan)
    told = training.deliver(begun, np.array([1, 4]), Exchange(LocalTask(broken, broken, 1.0), np.eye(2)))
    torch.testing.assert_close(told.task.start, begun.models)
    torch.testing.assert_close(told.task.pull, begun.models)
    assert told.task.held.tolist() == [False, True, False, False, True, False]


# Same runs, secrets, checkpoints


@every_rule
def test_equal_runs_have_equal_frames(rule):
    assert_equal_frames(run(scenario(rule, steps=2), 3).frames(), run(scenario(rule, steps=2), 3).frames())


def test_another_seed_is_another_run():
    one, other = (run(scenario(LocalOnly(), steps=1), seed).frames().owners["accuracy"] for seed in (0, 1))
    assert (one != other).any()


def test_a_restored_run_ends_like_one_that_was_not_interrupted(tmp_path):
    whole, part = run(scenario(MARKET, steps=4)), Federation(scenario(MARKET, steps=4))
    part.step()
    part.step()
    restored = checkpoint.restore(checkpoint.save(part, tmp_path / "run"), scenario(MARKET, steps=4))
    assert_equal_frames(restored.run().frames(), whole.frames())


@pytest.mark.parametrize("rule", [MARKET, RULES["FedFomo"]], ids=["market", "fomo"])
def test_the_server_reaches_nobodys_data(rule):
    owners = [
        OwnerProfile(Linear(c), size, Honest(), eagerness=9e3) for c, size in zip(COSTS, FULL.tolist(), strict=True)
    ]
    bugged = Bugged(rule)
    model = Federation(Scenario(owners, Personal(secret_engine()), bugged, steps=2), 5)
    model.run()
    assert leaks(model.training, [*PLANTED, *TESTED]) == [*PLANTED, *TESTED]
    for seen in bugged.seen:
        assert leaks(seen, [*PLANTED, *TESTED]) == []
        assert leaks(seen, COSTS) == (COSTS if rule.asks_cost else [])
