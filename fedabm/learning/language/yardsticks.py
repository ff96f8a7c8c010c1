"""What an owner's accuracy is measured by: what it would have without tuning, or without a language model."""

from __future__ import annotations

from collections import Counter

import torch

from fedabm.data.federated import IGNORED
from fedabm.data.instructions import Task
from fedabm.learning.engine.engine import Engine
from fedabm.learning.language.adapters import Adapted

__all__ = ["majority", "tf_idf", "zero_shot"]


def majority(task: Task) -> float:
    """The share of tests that the commonest answer of the owner's examples gets right.

    Parameters
    ----------
    task : Task
        Examples and tests of one owner.

    Returns
    -------
    float
        Between 0 and 1.
    """
    said = Counter(one.output for one in task.train).most_common(1)[0][0]
    return sum(one.output == said for one in task.test) / len(task.test)


def tf_idf(task: Task) -> float:
    """The share of tests that a logistic regression gets right on the owner's weighted words and pairs of words."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # slow to import, so only when it is wanted
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    answers = [one.output for one in task.train]
    if len(set(answers)) == 1:
        return majority(task)
    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=10.0, max_iter=1000))
    model.fit([one.input for one in task.train], answers)
    return float(model.score([one.input for one in task.test], [one.output for one in task.test]))


@torch.no_grad()
def zero_shot(network: Adapted, engine: Engine, owner: int) -> float:
    """The share of an owner's tests that the untouched causal model gets right if it must choose among known answers.

    Known are the first tokens of the answers in the owner's examples.  `network` is fresh, so that its adapters add
    nothing.
    """
    tests, known = engine.part("test", [owner])[0], engine.part("train", [owner])[0].y
    answers = _first_tokens(known).unique()
    place = (tests.y == IGNORED).sum(-1)
    guessed = network(tests.x)[torch.arange(len(place)), place][:, answers].argmax(-1)
    return float((answers[guessed] == _first_tokens(tests.y)).float().mean())


def _first_tokens(labels: torch.Tensor) -> torch.Tensor:
    """The first label that counts, of labels that are filled up on the left."""
    place = (labels == IGNORED).sum(-1, keepdim=True)
    return labels.gather(-1, place).squeeze(-1)
