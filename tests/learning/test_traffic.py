"""Models and bytes that go up and down in a step."""

from __future__ import annotations

import pytest

from fedabm import Federation, Scenario, population
from fedabm.games.accuracy import PowerLaw
from fedabm.games.accuracy.phased import Phased
from fedabm.learning.oracles import Learning, Rounds
from fedabm.mechanisms import Ditto, FedAvgExchange, FedFomo, LocalOnly, ModelMarket, NoPayments
from fedabm.simulation.participation import SampleCount
from fedabm.strategies import FixedShare, FreeRider, Quitter
from tests.learning.test_personal import RECIPE, engine, run, scenario

OWNERS = 6
SENT = ("models_up", "models_down", "bytes_up", "bytes_down")
BYTES = 4 * engine().size


def trained(accuracy, kinds=None, steps: int = 3, costs=(0.001,) * OWNERS):
    """The rows of a run whose owners give half of their data, but for those of other kinds."""
    strategies = [(kinds or {}).get(owner, FixedShare(0.5)) for owner in range(OWNERS)]
    owners = population(costs, engine().data.capacities, strategies)
    return Federation(Scenario(owners, accuracy, NoPayments(), steps=steps), 1).run().frames().steps


def test_everybody_who_trains_sends_a_model_and_everybody_gets_the_shared_one():
    steps = trained(Learning(engine(), RECIPE), {0: FreeRider()})
    assert steps["models_up"].tolist() == [OWNERS - 1] * 3
    assert steps["models_down"].tolist() == [OWNERS] * 3
    assert steps["bytes_up"].tolist() == [(OWNERS - 1) * BYTES] * 3
    assert steps["bytes_down"].tolist() == [OWNERS * BYTES] * 3


def test_nothing_is_sent_where_nothing_is_trained():
    """On a closed form, after the last round, and while contributions are settled first."""
    assert not trained(PowerLaw())[list(SENT)].to_numpy().any()
    over = trained(Learning(engine(), RECIPE, rounds=2), steps=4)
    assert over["models_up"].tolist() == [OWNERS, OWNERS, *[0] * (len(over) - 2)]
    assert len(over) > 2
    waiting = trained(Phased(Learning(engine(), RECIPE), at_most=2), steps=4)
    assert (waiting["models_up"] > 0).tolist() == [False, False, True, True]


def test_round_shapley_takes_two_models_of_everybody():
    assert trained(Rounds(engine(), RECIPE, more=4), steps=2)["models_up"].tolist() == [2 * OWNERS] * 2


@pytest.mark.parametrize(
    ("rule", "up", "down"),
    [
        (LocalOnly(), 0, 0),
        (FedAvgExchange(), OWNERS, OWNERS),
        (Ditto(0.1), OWNERS, OWNERS),  # the mean serves as start and as centre
        (ModelMarket(2.0, 10.0), OWNERS, OWNERS),
        (FedFomo(2), OWNERS, 2 * OWNERS),  # owners mix what they take
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, int) else str(value),
)
def test_an_exchange_sends_what_owners_need(rule, up, down):
    steps = run(scenario(rule, steps=2)).frames().steps
    assert steps["models_up"].tolist() == [up, up]
    assert steps["models_down"].tolist() == [down, down]
    assert steps["bytes_down"].tolist() == [down * BYTES] * 2


def test_who_has_left_neither_sends_nor_gets_any():
    steps = trained(Learning(engine(), RECIPE), {0: Quitter(FixedShare(0.5))}, costs=[1.0, *[0.0001] * (OWNERS - 1)])
    assert steps["present"].tolist() == [OWNERS, OWNERS - 1, OWNERS - 1]
    assert steps["models_up"].tolist() == steps["models_down"].tolist() == steps["present"].tolist()


def test_who_is_absent_from_a_round_neither_sends_nor_gets_any():
    owners = population([0.001] * OWNERS, engine().data.capacities, FixedShare(0.5))
    few = Scenario(owners, Learning(engine(), RECIPE), NoPayments(), steps=3, participation=SampleCount(2))
    steps = Federation(few, 1).run().frames().steps
    assert steps["models_up"].tolist() == steps["models_down"].tolist() == [2, 2, 2]
