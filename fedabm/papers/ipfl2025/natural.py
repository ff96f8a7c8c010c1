"""Sets whose owners are given: PACS by domain, Shakespeare by role, Sent140 by account.

PACS and Shakespeare are iPFL's, with its networks, lambda and eta; each domain of PACS is divided between two owners.
Sent140 is Doshi 2025's, with its network; lambda, eta and steps are those that iPFL has for FEMNIST, where owners are
persons, too.  A quick study has small networks and, as the one that decides, pictures of 32 pixels instead of 64 and
every tenth or fortieth window of the plays instead of all: for a processor, what the papers trained on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fedabm.mechanisms import ModelMarket

__all__ = ["NATURAL", "NaturalSet"]


@dataclass(frozen=True)
class NaturalSet:
    """How a set is read, whom it belongs to and how its owners learn.

    owners       how many there are in the paper, at most
    rule         the market, with the paper's lambda and eta
    network      the paper's; `small` that of quick studies
    steps        local steps of a round in the paper
    parts_each   between how many owners a domain is divided
    test_share   of every owner's samples, by preset (default: 0.2)
    options      of the reader, by preset
    """

    owners: int
    rule: ModelMarket
    network: str
    small: str
    steps: int = 200
    parts_each: int = 1
    test_share: dict[str, float] = field(default_factory=dict)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)


NATURAL: dict[str, NaturalSet] = {
    "pacs": NaturalSet(
        owners=8,
        rule=ModelMarket(1e-5, 5.0),
        network="resnet20",
        small="mlp",
        parts_each=2,
        options={"quick": {"size": 32}, "decisive": {"size": 32}},
    ),
    "shakespeare": NaturalSet(
        owners=10,
        rule=ModelMarket(2.0, 5000.0),
        network="char_lstm",
        small="token_mlp",
        test_share={"decisive": 0.05},
        options={
            "quick": {"stride": 40, "roles": 10},
            "decisive": {"stride": 10, "roles": 10},
            "paper": {"stride": 1, "roles": 10},
        },
    ),
    "sent140": NaturalSet(
        owners=10,
        rule=ModelMarket(1.0, 5.0),
        network="sentiment_lstm",
        small="token_mlp",
        steps=50,
        options={"quick": {"tokens": 2_000}, "paper": {"tokens": 400_001}},
    ),
}
