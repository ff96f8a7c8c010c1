"""Markets for adapters of a language model: iPFL 2025, Table 1.

Finance: two owners each of FIQA, TFNS and NWGI, 200 examples each.  Finance and code: five owners of CodeAlpaca with
500 examples, three of NWGI with 200.

quick     finance: MiniLM (22.7 million parameters), which reads a text and names its mood, adapters in the last two of
          six layers, 60 examples of each owner, five rounds of ten steps at a rate of 0.005 (at 0.001 models have only
          learned the commonest answer by then); with code: SmolLM2, adapters in the last of 30 layers, few examples
decisive  SmolLM2-135M, which has the architecture of the paper's model, with the paper's examples, K, lambda and eta;
          adapters in all linear layers of the last of 30 layers, prompts of the text alone, five rounds of 20 steps:
          with 200 examples of TFNS that is where tuning beats the commonest answer and TF-IDF on the same examples;
          with code, where a step takes three times as long: half the examples and half of K (which leaves the game as
          it is, since gains depend on K by the sample), the first 24 tokens of an answer, texts of 80 tokens at most,
          and the paper's ten steps a round: some 35 minutes of processor time
paper     Llama-2-7B from the hub, Alpaca's template, adapters of rank 32 in all layers, 50 rounds of ten steps with
          batches of eight and 512 tokens; needs a GPU with 48 GB (the authors hold the base in 8 bits, we do not)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from fedabm.common.errors import InputError
from fedabm.common.random import generator
from fedabm.data.datasets.language import MOODS
from fedabm.data.federated import FederatedData
from fedabm.data.instructions import SETS, Task, deal
from fedabm.games.costs import Linear
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import AdamW, CosineSchedule
from fedabm.learning.language.adapters import Adapted, Adapter
from fedabm.learning.language.answers import AnswerScores
from fedabm.learning.language.instructions import ALPACA, PLAIN, classified, instructed
from fedabm.learning.language.models import Base, Kind, ModelSource, load, packaged
from fedabm.learning.language.yardsticks import majority, tf_idf, zero_shot
from fedabm.learning.personal.models import Personal
from fedabm.learning.rules.recipe import Recipe
from fedabm.mechanisms import CFL, FedAMP, FedAvgExchange, FedProxExchange, LocalOnly, Mechanism, ModelMarket, PFedGraph
from fedabm.mechanisms.market import ImportGain
from fedabm.mechanisms.market.reports import PROHIBITIVE
from fedabm.papers.presets import Sizes
from fedabm.simulation.scenario import OwnerProfile, Scenario
from fedabm.strategies import Honest, Strategy

__all__ = ["LanguageSetting", "Owned", "Sets", "language_rules", "language_setting", "with_base", "with_owners"]

Sets = Literal["finance", "finance_and_code"]
#: the sets of owners, with how many examples each has, in the paper
Owned = tuple[tuple[str, int], ...]
_OWNED: dict[Sets, Owned] = {
    "finance": (("fiqa", 200),) * 2 + (("tfns", 200),) * 2 + (("nwgi", 200),) * 2,
    "finance_and_code": (("code", 500),) * 5 + (("nwgi", 200),) * 3,
}
#: K in the paper
_EAGERNESS: dict[Sets, float] = {"finance": 2e4, "finance_and_code": 5e4}
#: Llama-2-7B; its checksum is for those who have it to give, since its owner does not let everybody look
_LLAMA, _REVISION = "meta-llama/Llama-2-7b-hf", "01c7f73d771dfac7d292323805ebc428287df4f9"
#: what it costs owners to share their models, by role
_ROLES = {"trader": 1.0, "buyer": PROHIBITIVE, "seller": 0.0}
#: the paper's rate in the first round
_RATE = 5e-5
#: tokens of an answer, with the sign of its end: a mood is one
_MOOD = 2
#: all linear layers of a Llama, where few layers are adapted
_ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True)
class LanguageSetting:
    """What a study of a language market needs besides its owners' strategies.

    model     "minilm", "smollm2", or the source of any other
    owned     whose set is which, and how many examples each owner has
    tests     on how many examples the owners of a set are judged
    length    tokens of a text with prompt and answer; `answers` those of the answer
    """

    sets: Sets
    model: str | ModelSource
    adapter: Adapter
    owned: Owned
    tests: int
    length: int
    rounds: int
    recipe: Recipe
    rule: ModelMarket
    eagerness: float
    answers: int = _MOOD
    template: tuple[str, str] = ALPACA
    cached: bool = True
    measured: int = 64
    judged_every: int = 1

    def base(self) -> Base:
        """The frozen model."""
        if isinstance(self.model, ModelSource):
            return load(self.model)
        return load(packaged(self.model, "encoder" if self.model == "minilm" else "causal"))

    def tasks(self, seed: int) -> list[Task]:
        """Everybody's texts."""
        return deal(self.owned, self.tests, generator(seed, "data"))

    def federated(self, seed: int) -> FederatedData:
        """Everybody's data as tokens."""
        tasks, base = self.tasks(seed), self.base()
        if base.kind == "encoder":
            return classified(base, tasks, self.length, tuple(MOODS))
        return instructed(base, tasks, self.length, self.answers, self.template)

    def network(self) -> Adapted:
        """The model with fresh adapters."""
        base = self.base()
        what = {"classes": len(MOODS)} if base.kind == "encoder" else {"answers": self.answers}
        return Adapted(base, self.adapter, cached=self.cached, **what)

    @property
    def coders(self) -> frozenset[int]:
        """Owners whose answers are code."""
        return frozenset(owner for owner, (name, _) in enumerate(self.owned) if name == "code")

    def accuracy(self, data: FederatedData) -> Personal:
        """Everyone's own adapter, in training."""
        engine = Engine(self.network(), data)
        return Personal(engine, self.recipe, AnswerScores(self.coders), measured=self.measured, every=self.judged_every)

    def yardsticks(self, engine: Engine, seed: int) -> list[dict[str, float | str]]:
        """What owners of moods would have by the commonest answer, by TF-IDF, and from the model without tuning."""
        network, tasks = self.network(), self.tasks(seed)
        return [
            {
                "set": task.name,
                "majority": majority(task),
                "tf_idf": tf_idf(task),
                "zero_shot": zero_shot(network, engine, owner) if network.head is None else math.nan,
            }
            for owner, task in enumerate(tasks)
            if owner not in self.coders
        ]

    def owners(
        self, data: FederatedData, strategies: Mapping[int, Strategy] | None = None, roles: tuple[str, ...] = ()
    ) -> list[OwnerProfile]:
        """Everybody with the same cost and eagerness, honest unless a strategy is given for its number.

        `roles` are those of the first owners; the others are traders.  Buyers never sell, sellers never buy.
        """
        if len(roles) > data.owners or not set(roles) <= set(_ROLES):
            asked = ", ".join(roles)
            raise InputError(f"roles must be up to {data.owners} of {', '.join(_ROLES)}, got {asked}; change them")
        chosen = strategies or {}
        return [
            OwnerProfile(
                Linear(_ROLES[role]),
                float(size),
                chosen.get(owner, Honest()),
                eagerness=0.0 if role == "seller" else self.eagerness,
                role=role,
                name=data.names[owner],
            )
            for owner, (size, role) in enumerate(zip_longest(data.capacities, roles, fillvalue="trader"))
        ]

    def scenario(self, owners: list[OwnerProfile], accuracy: Personal, mechanism: Mechanism) -> Scenario:
        """One federation."""
        valuation = ImportGain(self.rule.gain)
        return Scenario(tuple(owners), accuracy, mechanism, steps=self.rounds, valuation=valuation)


def _recipe(rounds: int, steps: int, rate: float, least: float) -> Recipe:
    return Recipe(steps=steps, batch=8, optimiser=AdamW(rate, weight_decay=0.0), schedule=CosineSchedule(rounds, least))


def language_setting(preset: Sizes, sets: Sets, checksum: str | None = None) -> LanguageSetting:
    """The preset's setting; `checksum` is that of Llama-2-7B's weights, which the paper's needs."""
    if sets not in _OWNED:
        raise InputError(f"sets must be finance or finance_and_code, got {sets!r}; choose one of them")
    # In the authors' code for language models the centre holds by lambda |.|^2, not by lambda / (2 eta) |.|^2.
    market = ModelMarket(5.0, 1.0, strength=10.0)
    if preset == "paper":
        return LanguageSetting(
            sets,
            ModelSource(_LLAMA, "causal", _REVISION, checksum),
            Adapter(rank=32, alpha=64.0, dropout=0.05, last=None),
            _OWNED[sets],
            tests=500,
            length=512,
            rounds=50,
            recipe=_recipe(50, 10, _RATE, 1e-6),
            rule=market,
            eagerness=_EAGERNESS[sets],
            answers=_MOOD if sets == "finance" else 256,
        )
    decisive = LanguageSetting(
        sets,
        "smollm2",
        Adapter(rank=16, alpha=32.0, targets=_ALL, last=1),
        _OWNED[sets],
        tests=200,
        length=48,
        rounds=5,
        recipe=_recipe(5, 20, 2e-3, 2e-4),
        # Adam's steps have the length of the rate, here 40 times the paper's, and so has the way to the centre: held by
        # 2 lambda nobody would learn, by a fortieth of it the hold weighs as much beside the loss as in the paper.
        rule=replace(market, strength=10.0 * _RATE / 2e-3),
        eagerness=_EAGERNESS[sets],
        template=PLAIN,
        judged_every=5,
    )
    if sets == "finance_and_code":
        half = tuple((name, size // 2) for name, size in _OWNED[sets])
        decisive = replace(decisive, owned=half, tests=40, length=80, rounds=5, recipe=_recipe(5, 10, 2e-3, 2e-4))
        decisive = replace(decisive, eagerness=_EAGERNESS[sets] / 2, answers=24, template=_ASKED)
    if preset == "decisive":
        return decisive
    few = {"code": 40, "nwgi": 30, "fiqa": 60, "tfns": 60} if sets == "finance_and_code" else {}
    owned = tuple((name, few.get(name, 60)) for name, _ in _OWNED[sets])
    quick = replace(decisive, owned=owned, tests=200, eagerness=100.0 * owned[0][1])
    if sets == "finance_and_code":
        return replace(
            quick, adapter=Adapter(last=1), length=96, answers=32, tests=20, rounds=4, recipe=_recipe(4, 5, 2e-3, 2e-4)
        )
    # Few texts make noisy steps: owners of one set are further from each other than in the paper, so lambda is smaller.
    rule = ModelMarket(2.0, 1.0)
    recipe = _recipe(5, 10, 5e-3, 5e-4)
    return replace(quick, model="minilm", adapter=Adapter(last=2), length=32, recipe=recipe, rule=rule)


def with_base(setting: LanguageSetting, place: str, kind: Kind, checksum: str | None = None) -> LanguageSetting:
    """The same study on another pretrained model.

    Parameters
    ----------
    setting
        That of a preset.
    place
        A folder, or NAME@REVISION of the hub, whose weights must have the `checksum`.
    kind
        "causal" (writes) or "encoder" (reads a whole text and names a mood).
    checksum
        SHA-256 of the weights; None: whatever is in the folder.

    Returns
    -------
    LanguageSetting
        With adapters in the last layer of a causal model, or in the last two of an encoder.
    """
    name, _, revision = place.partition("@")
    adapter = Adapter(last=2) if kind == "encoder" else replace(setting.adapter, targets=_ALL, last=1)
    template = setting.template if kind == "encoder" or setting.coders else PLAIN
    source = ModelSource(name, kind, revision or None, checksum)
    return replace(setting, model=source, adapter=adapter, template=template)


def with_owners(setting: LanguageSetting, owners: Sequence[str]) -> LanguageSetting:
    """The same study with other owners, each given as SET:EXAMPLES, for instance "fiqa:60"."""
    return replace(setting, owned=tuple(_owned(one) for one in owners))


def _owned(text: str) -> tuple[str, int]:
    name, _, size = text.partition(":")
    if name not in SETS:
        raise InputError(f"owners have SET:EXAMPLES, got {text!r}; sets are {', '.join(SETS)}, for instance fiqa:60")
    if not size.isdecimal() or int(size) < 1:
        raise InputError(f"owners have SET:EXAMPLES, got {text!r}; give a number of examples, for instance {name}:60")
    return name, int(size)


#: the instruction and the input, without Alpaca's preamble
_ASKED = ("{instruction}\n", "\nAnswer:")


def language_rules(setting: LanguageSetting) -> dict[str, Mechanism]:
    """The market and the rivals that it has in Table 1, training alone first."""
    return {
        "Local": LocalOnly(),
        "FedAvg": FedAvgExchange(),
        "FedProx": FedProxExchange(),
        "FedAMP": FedAMP(),
        "CFL": CFL(),
        "pFedGraph": PFedGraph(),
        "iPFL": setting.rule,
    }
