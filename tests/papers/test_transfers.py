"""What leaves the device in a round: nothing while owners train, and a bounded number of small tables for all.

Proven without a GPU.  Tensors on the device "meta" have no values: whoever asks one for them (`item`, `cpu`, `numpy`,
`tolist`, `bool`) or mixes it with a tensor of the host gets an error.  The one way out, `host.pull`, is counted.
"""

from __future__ import annotations

from inspect import isabstract

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fedabm import Federation, Scenario
from fedabm import learning as room
from fedabm.common.device import Worker
from fedabm.games.accuracy import Announced
from fedabm.games.costs import Linear
from fedabm.learning import SGD, Coalition, Engine, Learning, MeasuredCurve, Personal, Recipe, Rounds, Rule, Trained
from fedabm.learning.engine import host
from fedabm.learning.rules.rounds import one_round
from fedabm.mechanisms import ModelMarket
from fedabm.mechanisms.market import ImportGain
from fedabm.papers.doshi2025.protocols import fed_avg_strategic, two_phase_upbred, upbred
from fedabm.papers.ipfl2025.settings import RIVALS
from fedabm.papers.murhekar2023.protocols import fed_br, fed_br_bg
from fedabm.papers.murhekar2025.protocols import fed_br_shap
from fedabm.papers.protocols import fed_avg, mw_fed
from fedabm.simulation.scenario import OwnerProfile
from fedabm.strategies import Honest
from tests.learning.plain import random_data

#: every rule of learning that has a public name and can be made
RULES = [
    name
    for name in dir(room)
    if isinstance(made := getattr(room, name), type) and issubclass(made, Rule) and not isabstract(made)
]

RECIPE = Recipe(steps=2, batch=3, optimiser=SGD(0.1, momentum=0.9))
#: what may leave the device in a round: flags of sound updates, the scores of models, tables to decide by
IN_A_ROUND = 10
OWNERS = 3


class OneDevice(TorchDispatchMode):
    """Fails where an operation mixes tensors of the device with tensors of the host, single numbers aside."""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor) and leaf.dim()]
        places = {tensor.device.type for tensor in tensors}
        if len(places) > 1 and "copy" not in operator.__name__:
            raise AssertionError(f"{operator} mixes {places}")
        return operator(*args, **(kwargs or {}))


def engine(**how) -> Engine:
    return Engine("logistic", random_data((4,), sizes=(7, 5, 9)), device="meta", **how)


def rounds(scenario: Scenario, steps: int = 2) -> list[int]:
    """How often something leaves the device in each of the first rounds."""
    model, counts = Federation(scenario), []
    with OneDevice():
        for _ in range(steps):
            with host.counted() as count:
                model.step()
            counts.append(count.times)
    return counts


def test_the_stand_in_notices_every_way_out():
    tensor = torch.ones(2, device="meta")
    for asks in (
        lambda: tensor.sum().item(),
        lambda: bool(tensor.any()),
        lambda: tensor.tolist(),
        tensor.cpu,
        tensor.numpy,
    ):
        with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
            asks()
    with pytest.raises(AssertionError, match="mixes"), OneDevice():
        torch.mm(torch.ones(2, 2), torch.ones(2, 2, device="meta"))
    with host.counted() as count:
        assert host.pull(tensor).tolist() == [0.0, 0.0]
    assert (count.times, count.bytes) == (1, 8)


@pytest.mark.parametrize("path", ["batched", "vmap", "serial"])
def test_nothing_leaves_the_device_while_owners_train_or_models_are_judged(path):
    trained = engine(path=path)
    with OneDevice(), host.counted() as count:
        models = trained.train(trained.initial(0), [7, 2, 9], steps=3, batch=3)
        trained.evaluate(models)
    assert count.times == 0


@pytest.mark.parametrize("name", RULES)
def test_no_rule_of_learning_asks_for_values(name):
    made = Recipe(rule=getattr(room, name)(), steps=2, batch=3)
    trained = engine()
    with OneDevice(), host.counted() as count:
        one_round(trained, trained.initial(0), np.array([7.0, 5.0, 9.0]), made, 0, 0)
    assert count.times == 0


@pytest.mark.parametrize("rule", [*RIVALS, ModelMarket(2.0, 10.0)], ids=lambda rule: type(rule).__name__)
def test_every_rival_and_the_market(rule):
    sizes = [7.0, 5.0, 9.0]
    owners = [OwnerProfile(Linear(1.0), size, Honest(), eagerness=700.0) for size in sizes]
    scenario = Scenario(owners, Personal(engine(), RECIPE), rule, steps=3, valuation=ImportGain(ModelMarket().gain))
    assert max(rounds(scenario)) <= IN_A_ROUND


def learning() -> Learning:
    return Learning(engine(), RECIPE)


def announced() -> Announced:
    return Announced(Trained(engine(), 1, RECIPE, 1), MeasuredCurve([0, 10, 21], [0.1, 0.6, 0.8]))


PROTOCOLS = {
    "FedAvg": (fed_avg(), learning),
    "MWFed": (mw_fed(0.9, 10.0), learning),
    "FedAvgStrategic": (fed_avg_strategic(0.1, at_most=1), learning),
    "UPBReD": (upbred(0.1), learning),
    "2P-UPBReD": (two_phase_upbred(0.1, 0.5, at_most=1), learning),
    "FedBR": (fed_br(), announced),
    "FedBR-BG": (fed_br_bg(), announced),
    "FedBR-Shap": (fed_br_shap(0.5), lambda: Rounds(engine(), RECIPE, seed=1, start=3.0)),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_every_protocol(name):
    protocol, oracle = PROTOCOLS[name]
    scenario = protocol.scenario(oracle(), [0.01, 0.02, 0.03], [7.0, 5.0, 9.0], starts=3.0, steps=3)
    assert max(rounds(scenario)) <= IN_A_ROUND


def test_models_of_coalitions():
    """All profiles of a question are trained and judged, and then their scores leave together."""
    oracle = Coalition(engine(), np.array([7.0, 5.0, 9.0]), 1, RECIPE, 0)
    with OneDevice(), host.counted() as count:
        oracle.values(np.array([[7.0, 0.0, 0.0], [7.0, 5.0, 0.0], [7.0, 5.0, 9.0]]))
    assert count.times <= IN_A_ROUND


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_workers_share_the_devices_of_a_computer(workers):
    """With two GPUs: even numbers on the first; the parts of all workers on a device make up one device."""
    everyone = [Worker(number, workers) for number in range(workers)]
    assert [worker.device(2) for worker in everyone] == [number % 2 for number in range(workers)]
    for device in range(min(2, workers)):
        parts = [1 / worker.share(2) for worker in everyone if worker.device(2) == device]
        assert sum(parts) == pytest.approx(1.0)
