"""Rounds that were looked up are trained once if their models are wanted, not once for every step."""

import numpy as np
import torch

from fedabm.games.messages import OwnerMessages
from fedabm.learning import AnswerCache, Learning
from fedabm.learning.oracles import learning as module
from tests.knowledge.worlds import GIVEN, RECIPE, engine

STEPS = 6


def played(oracle: Learning) -> list[torch.Tensor]:
    """The model of every step, as it is handed out."""
    state, models = oracle.begin(3), []
    for _ in range(STEPS):
        state, _ = oracle.round(state, OwnerMessages.honest(GIVEN))
        models.append(oracle.weights(state))
    return models


def test_models_that_were_looked_up_are_rebuilt_in_linear_time_and_are_the_same(monkeypatch):
    known = AnswerCache()
    trained = played(Learning(engine(), RECIPE, known=known))
    rounds = []
    whole = module.one_round
    monkeypatch.setattr(module, "one_round", lambda *given, **more: rounds.append(1) or whole(*given, **more))
    again = played(Learning(engine(), RECIPE, known=known))
    assert len(rounds) == STEPS
    for one, other in zip(trained, again, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
