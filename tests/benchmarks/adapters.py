"""What do cached activations gain for adapters?  `python -m tests.benchmarks.adapters [--repeats N] [--owners N]`

Owners with batches of eight texts of up to 40 tokens; adapters in the last two of six layers of a BERT as wide as
MiniLM (random numbers cost as much as learned ones).  A step of all owners by the engine with cached activations and
without, and by a loop with peft over the whole model, in turn; processor time.  Beside it the loop with BERT's own
dropout, which the engine does not have.  Texts are as long as those of the finance market (FIQA, TFNS and NWGI alike,
cut at 40), and the loop fills up every batch to its own longest text only.  Exits with 1 if the engine is not at least
2.5 times as fast as the loop that computes the same.

Then the same for texts that all have 40 tokens, which says what caching alone gains.  In products of 384 x 384 numbers
by token a loop does 6 x 12 forward, 12 back through the last layer and 9 through the one before, whose input needs no
gradient: 93.  The engine does 24 and 21: at best 93 / 45 = 2.07 times as fast.  The rest is padding left out.
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

SAMPLES, LENGTH, BATCH, STEPS, TARGET = 16, 40, 8, 2, 2.5
#: every twentieth part of the lengths of texts on finance, in MiniLM's tokens and cut at 40
LENGTHS = (6, 11, 13, 14, 16, 17, 18, 19, 20, 22, 25, 28, 30, 33, 36, 39, 40, 40, 40, 40, 40)


def base() -> Base:
    """Six layers of 384 numbers."""
    library = transformers()
    size = {"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": 12}
    model = library.BertModel(library.BertConfig(vocab_size=1000, **size)).eval().requires_grad_(False)
    return Base(model, None, "encoder", "random")


def texts(tokens: int, owners: int, lengths: tuple[int, ...]) -> FederatedData:
    """Random tokens in three classes, filled up on the right."""
    rng = np.random.default_rng(0)
    x = rng.integers(tokens, size=(owners * SAMPLES, LENGTH), dtype=np.int32)
    x[np.arange(LENGTH) >= rng.permutation(np.resize(lengths, len(x)))[:, None]] = tokens
    y, bounds = rng.integers(3, size=len(x)), np.arange(owners + 1) * SAMPLES
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
    models = [peft.get_peft_model(copy.deepcopy(frozen.model), config).train(dropout) for _ in range(data.owners)]
    heads = [torch.nn.Linear(frozen.width, 3) for _ in range(data.owners)]

    def train() -> None:
        for owner, (model, head) in enumerate(zip(models, heads, strict=True)):
            learned = [p for p in model.parameters() if p.requires_grad]
            optimiser = torch.optim.AdamW([*learned, *head.parameters()], lr=1e-3)
            x, y = (torch.from_numpy(part).long() for part in data.train(owner))
            for step in range(STEPS):
                rows = slice(step * BATCH, (step + 1) * BATCH)
                present = x[rows] < frozen.tokens
                some = slice(int(present.sum(-1).max()))
                present = present[:, some]
                optimiser.zero_grad()
                states = model(input_ids=x[rows, some].where(present, 0), attention_mask=present.long())[0]
                pooled = (states * present.unsqueeze(-1)).sum(1) / present.sum(-1, keepdim=True)
                torch.nn.functional.cross_entropy(head(pooled), y[rows]).backward()
                optimiser.step()

    return train


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measured(frozen: Base, data: FederatedData, repeats: int) -> dict[str, float]:
    """Seconds per step, in turn; medians."""
    adapter = Adapter(last=2)

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
    return {name: float(np.median(some[1:])) / STEPS for name, some in found.items()}


def main() -> int:
    """Both kinds of texts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--owners", type=int, default=8)
    given = parser.parse_args()
    torch.set_num_threads(1)
    frozen, gains = base(), []
    for what, lengths in (("up to 40 tokens, as in finance", LENGTHS), ("40 tokens each", (LENGTH,))):
        times = measured(frozen, texts(frozen.tokens, given.owners, lengths), given.repeats)
        print(f"Texts of {what}; a step of {given.owners} owners:")
        for name, value in times.items():
            print(f"{name:20} {value:.3f} s, {times['loop with peft'] / value:.2f} times the loop")
        gains.append(times["loop with peft"] / times["engine, cached"])
    return 0 if gains[0] >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
