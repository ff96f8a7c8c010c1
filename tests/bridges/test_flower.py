"""The bridge to Flower: ours with a loop in Flower's place, and a whole app in real Flower if that is installed."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fedabm import Federation, InputError, Scenario, population, settle
from fedabm.bridges.flower import Client, PaymentServer
from fedabm.games.accuracy import PowerLaw
from fedabm.mechanisms import Clarke, ContributionSubsidy, ShapleyShare
from fedabm.strategies import UCB, BestResponse, FreeRider, GradientResponse, Liar, Strategy

CURVE = PowerLaw(exponent=0.5)
STUDY = """
mechanism = "shapley_share"
accuracy = { kind = "power_law", exponent = 0.5 }
owners = { costs = [0.0005, 0.0005, 0.0005], capacity = 800 }
settlement = { bill = "each step" }
"""
STRATEGIES = (BestResponse(), FreeRider(), Liar(GradientResponse(5.0), contribution_factor=2.0))


@pytest.mark.parametrize("rule", [ContributionSubsidy(0.02), ShapleyShare()])
def test_claims_and_payments_are_those_of_a_simulated_federation(rule):
    steps = 4
    owners = population([0.01] * 3, 100.0, STRATEGIES)
    frame = Federation(Scenario(owners, CURVE, rule, steps=steps)).run().frames().owners
    payment_server = PaymentServer(rule, CURVE)
    clients = [Client(one, 0.01, 100.0, rule, CURVE, number) for number, one in enumerate(STRATEGIES)]
    last: list = [None] * 3
    for step in range(1, frame["step"].max() + 1):
        announced = payment_server.announcement([10, 20, 30])
        decided = [one.decide(step, 10 * (k + 1), announced, last[k]) for k, one in enumerate(clients)]
        paid = payment_server.settle(step, {10 * (k + 1): one.claim for k, one in enumerate(decided)})
        rows = frame[frame["step"] == step]
        np.testing.assert_allclose([one.contribution for one in decided], rows["contribution"])
        np.testing.assert_allclose([one.claim for one in decided], rows["reported_contribution"])
        np.testing.assert_allclose(list(paid.values()), rows["payment"], atol=1e-12)
        last = list(zip(rows["contribution"], rows["accuracy"], strict=True))


def test_what_flower_cannot_carry_is_refused():
    with pytest.raises(InputError, match="Clarke asks for more than num-examples"):
        PaymentServer(Clarke(), CURVE)
    with pytest.raises(InputError, match="ucb has a memory of its own"):
        Client(UCB(), 0.01, 100.0, ShapleyShare(), CURVE)

    client = Client(FreeRider(), 0.01, 100.0, ShapleyShare(), CURVE)
    with pytest.raises(InputError, match="node 7 is not among those announced"):
        client.decide(1, 7, PaymentServer(ShapleyShare(), CURVE).announcement([1, 2]))


class Dice(Strategy):
    """Give any share of the data."""

    def act(self, view):
        return view.truthful(view.rng.uniform() * view.capacity, used="chance")


def test_dice_fall_anew_in_every_round_and_for_every_client_and_the_same_when_repeated():
    announced = PaymentServer(ShapleyShare(), CURVE).announcement([1, 2])
    clients = [Client(Dice(), 0.01, 100.0, ShapleyShare(), CURVE, number) for number in (0, 1)]
    given = [one.decide(round, 1, announced).contribution for one in clients for round in (1, 2)]
    assert len(set(given)) == 4
    assert clients[0].decide(1, 1, announced).contribution == given[0]


@pytest.mark.skipif(
    importlib.util.find_spec("flwr") is None, reason="Flower is not installed; python -m tests.bridges flower runs this"
)
def test_an_app_in_real_flower_plays_the_game_that_we_simulate(tmp_path):
    """Owners 0 and 2 respond best, 1 free-rides, 2 claims twice what it uses; all three train on digits."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.bridges.flower_app"],
        cwd=root,
        env={**os.environ, "FLOWER_LOG": str(tmp_path / "recorded.csv")},
        capture_output=True,
        text=True,
        timeout=900,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"round"')]
    assert done.returncode == 0, done.stderr[-3000:]
    played = pd.DataFrame(rows)
    strategies = (BestResponse(), FreeRider(), Liar(BestResponse(), contribution_factor=2.0))
    owners = population([0.0005] * 3, 400.0, strategies)
    frame = Federation(Scenario(owners, CURVE, ShapleyShare(), steps=4)).run().frames().owners
    for theirs, ours in (("given", "contribution"), ("num-examples", "reported_contribution"), ("paid", "payment")):
        np.testing.assert_allclose(played[theirs], frame[ours], atol=1e-9)
    last = played[played["round"] == 4].set_index("owner")
    assert last.loc[2, "paid"] > last.loc[0, "paid"] > 0 > last.loc[1, "paid"]
    assert last["accuracy"].min() > 0.8

    # What the recorder has kept is settled to the statement of a CSV with the same numbers, and to what was paid.
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    columns = {"round": played["round"], "owner": [f"owner {one}" for one in played["owner"]]}
    pd.DataFrame({**columns, "samples": played["num-examples"]}).to_csv(tmp_path / "typed.csv", index=False)
    recorded, typed = (settle(study, tmp_path / name) for name in ("recorded.csv", "typed.csv"))
    assert recorded.payments.tolist() == typed.payments.tolist()
    np.testing.assert_allclose(recorded.payments.ravel(), played["paid"], atol=1e-12)
