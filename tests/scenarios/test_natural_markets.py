"""Sets whose owners are given go through every study of the market, with their own rule and network."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from fedabm.data.datasets import Dataset
from fedabm.papers.ipfl2025 import settings
from fedabm.papers.ipfl2025.natural import NATURAL
from fedabm.study.study import Study
from scenarios import market_attacks, market_comparison, market_liars, market_rationality

STUDIES = {
    "market_comparison": partial(market_comparison.run, splits=("natural",)),
    "market_rationality": partial(market_rationality.run, split="natural"),
    "market_attacks": partial(market_attacks.run, attacks=("sign_flip",), rules=("iPFL",)),
    "market_liars": partial(market_liars.run, factors=(2.0,)),
}


def _few(name: str, **_: object) -> Dataset:
    """Twenty random samples of each owner, in the form of the set."""
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(4 if name == "pacs" else 10), 20)
    y = rng.integers(2, size=len(users))
    if name == "pacs":
        return Dataset(name, rng.integers(256, size=(len(users), 3, 8, 8), dtype=np.uint8), y, 2, users)
    return Dataset(name, rng.integers(30, size=(len(users), 6), dtype=np.int32), y, 2, users, tokens=30)


@pytest.mark.parametrize("data", NATURAL)
@pytest.mark.parametrize("name", STUDIES)
def test_owners_that_are_given_trade_in_every_study(name, data, monkeypatch):
    monkeypatch.setattr(settings, "load_dataset", _few)
    study = Study(name, steps=1, quiet=True)
    known = {"owners": NATURAL[data].owners} if name in ("market_comparison", "market_rationality") else {}
    STUDIES[name](study, data=data, seeds=1, **known)
    first = study.frames.owners[study.frames.owners["run"] == study.frames.runs["run"].iloc[0]]
    assert first["owner"].nunique() == NATURAL[data].owners
    rule = NATURAL[data].rule
    said = study.frames.runs["mechanism"][study.frames.runs["mechanism"].str.startswith("ModelMarket")]
    assert len(said) > 0
    assert said.str.contains(f"similarity_weight={rule.similarity_weight}").all()
    assert said.str.contains(f"step={rule.step}").all()
    assert study.frames.steps["server_balance"].abs().max() < 1e-9
