"""What do cached activations gain for adapters?  `python -m tests.benchmarks.adapters [--repeats N]`

Four owners with batches of eight texts of 40 tokens; adapters in the last two of six layers of a BERT as wide as MiniLM
(random numbers cost as much as learned ones).  A step of all owners by the engine with cached activations, without,
and by a loop with peft over the whole model, in turn; processor time.  Beside it the loop with BERT's own dropout,
which the engine does not have.  Exits with 1 if the engine is not at least 2.5 times as fast as the loop that computes
the same: that is not reached yet.  With the last two of six layers a loop does six passes forward and two back, the
engine two and two, so that twice is what caching alone can gain.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable

import numpy as np
import torch

from fedabm.data.federated import FederatedData
from fedabm.learning.engine.engine import Engine
from fedabm.learning.engine.optimisers import AdamW
from fedabm.learning.language.adapters import Adapted, Adapter
from fedabm.learning.language.models import Base, transformers

OWNERS, SAMPLES, LENGTH, BATCH, STEPS, TARGET = 4, 16, 40, 8, 2, 2.5


def base() -> Base:
    """Six layers of 384 numbers."""
    library = transformers()
    size = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 12}
    model = library.BertModel(library.BertConfig(vocab_size=1000, **size)).eval().requires_grad_(False)
    return Base(model, None, "encoder", "random")


def texts(tokens: int) -> FederatedData:
    """Random tokens in three classes."""
    rng = np.random.default_rng(0)
    x = rng.integers(tokens, size=(OWNERS * SAMPLES, LENGTH), dtype=np.int32)
    y, bounds = rng.integers(3, size=len(x)), np.arange(OWNERS + 1) * SAMPLES
    return FederatedData("random", x, y, bounds, x, y, bounds, 3, tokens + 1)


def loop(frozen: Base, data: FederatedData, adapter: Adapter, *, dropout: bool) -> Callable[[], None]:
    """What a user of peft would write: owner by owner, the whole model."""
    import peft

    layers = frozen.model.config.num_hidden_layers
    config = peft.LoraConfig(
        r=adapter.rank,
        lora_alpha=adapter.alpha,
        target_modules=["query", "value"],
        layers_to_transform=list(range(layers - (adapter.last or layers), layers)),
    )
    models = [peft.get_peft_model(copy.deepcopy(frozen.model), config).train(dropout) for _ in range(OWNERS)]
    heads = [torch.nn.Linear(frozen.width, 3) for _ in range(OWNERS)]

    def train() -> None:
        for owner, (model, head) in enumerate(zip(models, heads, strict=True)):
            learned = [p for p in model.parameters() if p.requires_grad]
            optimiser = torch.optim.AdamW([*learned, *head.parameters()], lr=1e-3)
            x, y = (torch.from_numpy(part).long() for part in data.train(owner))
            for step in range(STEPS):
                rows = slice(step * BATCH, (step + 1) * BATCH)
                optimiser.zero_grad()
                states = model(input_ids=x[rows], attention_mask=torch.ones_like(x[rows]))[0]
                torch.nn.functional.cross_entropy(head(states.mean(1)), y[rows]).backward()
                optimiser.step()

    return train


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> int:
    """Measure in turn, and compare medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    frozen, adapter = base(), Adapter(last=2)
    data = texts(frozen.tokens)

    def engine(*, cached: bool) -> Callable[[], object]:
        made = Engine(Adapted(frozen, adapter, classes=3, cached=cached), data)
        start = made.initial(0)
        return lambda: made.train(start, data.capacities, steps=STEPS, batch=BATCH, optimiser=AdamW(1e-3))

    ways = {
        "engine, cached": engine(cached=True),
        "engine, not cached": engine(cached=False),
        "loop with peft": loop(frozen, data, adapter, dropout=False),
        "peft, with dropout": loop(frozen, data, adapter, dropout=True),
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats + 1):
        for name, work in ways.items():
            found[name].append(seconds(work))
    times = {name: float(np.median(some[1:])) / STEPS for name, some in found.items()}
    for name, value in times.items():
        print(
            f"{name:20} {value:.3f} s per step of {OWNERS} owners, {times['loop with peft'] / value:.2f} times the loop"
        )
    return 0 if times["loop with peft"] >= TARGET * times["engine, cached"] else 1


if __name__ == "__main__":
    sys.exit(main())
