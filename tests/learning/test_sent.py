"""What models on a device say of themselves is what the formulas say, and what cannot be known is said in one line."""

from __future__ import annotations

import numpy as np
import pytest

from fedabm import Scenario
from fedabm.common.errors import InputError
from fedabm.learning.personal.sent import SentModels
from fedabm.mechanisms import FedAMP, FedAvgExchange, FedFomo, LocalOnly
from fedabm.mechanisms.market import CosineDistance, EuclideanDistance, GivenModels
from fedabm.strategies import Honest
from fedabm.testing.models import PlainModels
from tests.conftest import run
from tests.learning.sent import assert_close, broken, sent_of
from tests.mechanisms.market.markets import federation, truth


def plain(sent: SentModels) -> PlainModels:
    """The same by plain formulas; losses are not compared."""
    models, start, initial = (part.double().numpy() for part in (sent.models, sent.start, sent.initial))
    return PlainModels(sent.reports, sent.usable, models, start, initial, start)


CASES = [sent_of(5), sent_of(1), broken(sent_of(6, seed=2, length=3.0), 1, 4), sent_of(4, same_start=True)]


@pytest.mark.parametrize("sent", CASES)
def test_tables_are_those_of_the_formulas(sent):
    other = plain(sent)
    weights = np.random.default_rng(0).uniform(size=(3, len(sent.usable)))
    for since in ("initial", "start"):
        assert_close(sent.cosines(since), other.cosines(since))
    for distance in (CosineDistance(), EuclideanDistance()):
        np.testing.assert_allclose(sent.distances(distance.between), other.distances(distance.between), atol=1e-12)
    assert_close(sent.lengths(), other.lengths())
    assert_close(sent.lengths(weights), other.lengths(weights))
    assert_close(sent.drifts(), other.drifts())
    assert_close(sent.gaps(), other.gaps())
    for table in (sent.cosines("start"), sent.gaps(), sent.lengths(), sent.products()):
        assert table.dtype == np.float64


@pytest.mark.parametrize("sent", CASES)
def test_models_sent_back_are_those_of_the_formulas(sent):
    other, owners = plain(sent), len(sent.usable)
    rng = np.random.default_rng(1)
    groups, elder = rng.integers(0, 2, owners), rng.permutation(owners)
    weights = rng.uniform(size=(2, owners))
    weights[1] = 0.0  # nothing to mix
    assert_close(sent.mix(weights, groups, elder), other.mix(weights, groups, elder))
    assert_close(
        sent.mix(weights[:1], np.zeros(owners, dtype=np.intp)), np.tile(weights[0] @ other.usable_models, (owners, 1))
    )
    pulls = rng.uniform(size=(owners, owners)) * sent.usable
    assert_close(sent.pulled(lambda _: pulls), other.pulled(lambda _: pulls))


def test_losses_are_there_only_for_those_who_ask():
    sent = SentModels(*(getattr(CASES[0], name) for name in ("reports", "usable", "models", "start", "initial")))
    with pytest.raises(InputError, match="set asks_losses = True"):
        FedFomo().exchange(sent)


# Models that do not train


@pytest.mark.parametrize("rule", [LocalOnly(), FedAvgExchange()])
def test_rules_that_need_no_more_than_sizes_run_on_given_models(rule):
    made = run(federation(truth(), np.zeros((6, 6)), mechanism=rule, steps=2))
    share = truth().size / truth().size.sum()
    expected = np.eye(6) if isinstance(rule, LocalOnly) else np.tile(share, (6, 1))
    assert_close(made.links[-1].weights, expected * ~np.eye(6, dtype=bool))


def test_rules_that_look_into_models_say_that_given_ones_have_nothing_to_show():
    owners = federation(truth(), np.zeros((6, 6)), {0: Honest()}).owners
    with pytest.raises(InputError, match=r"have no cosines to decide by; let owners train") as error:
        run(Scenario(owners, GivenModels(np.zeros((6, 6))), FedAMP(), steps=1))
    assert "\n" not in str(error.value)
