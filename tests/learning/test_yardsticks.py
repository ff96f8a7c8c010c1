"""What tuned models are measured by."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import torch

if find_spec("transformers") is None:
    pytest.skip("the extra llm is not installed", allow_module_level=True)

from fedabm.data.instructions import Example, Task
from fedabm.learning.engine.engine import Engine
from fedabm.learning.language.adapters import Adapted, Adapter
from fedabm.learning.language.yardsticks import majority, tf_idf, zero_shot
from tests.learning.small_models import owned, small


def task(train: list[tuple[str, str]], test: list[tuple[str, str]]) -> Task:
    return Task("moods", *([Example("mood?", *one) for one in part] for part in (train, test)))


def test_the_commonest_answer_and_words_by_hand():
    """Of two neutral and one positive example the commonest answer is right in one of two tests; words are in both."""
    one = task(
        [("shares sleep", "neutral"), ("banks sleep", "neutral"), ("shares rise", "positive")],
        [("profits sleep", "neutral"), ("profits rise", "positive")],
    )
    assert majority(one) == 0.5
    assert tf_idf(one) == 1.0
    alike = task([("shares sleep", "neutral")], [("shares rise", "positive"), ("sleep", "neutral")])
    assert tf_idf(alike) == majority(alike) == 0.5


def test_without_tuning_the_likeliest_known_answer_counts(tmp_path):
    """By hand from the base itself: only words that are answers in the owner's examples are compared."""
    base = small(tmp_path, "causal")
    data = owned(base)
    network = Adapted(base, Adapter(rank=2, last=1), answers=2)
    engine = Engine(network, data)
    x, y = (torch.from_numpy(part).long() for part in data.test(1))
    known = sorted({int(row[0]) for row in data.train(1)[1]})
    present = x < base.tokens
    places = (present.long().cumsum(-1) - 1).clamp(min=0)
    with torch.no_grad():
        said = base.model(x.where(present, 0), attention_mask=present.long(), position_ids=places).logits[:, -3]
    right = [max(known, key=lambda word, row=row: row[word]) == label[0] for row, label in zip(said, y, strict=True)]
    assert zero_shot(network, engine, 1) == sum(right) / len(right)
