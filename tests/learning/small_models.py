"""Transformers with a few thousand random numbers, saved as anybody's model would be, and texts for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from fedabm.data.federated import FederatedData
from fedabm.data.instructions import Example, Task
from fedabm.learning.language.instructions import classified, instructed
from fedabm.learning.language.models import Base, ModelSource, load, transformers

WORDS = ("negative", "neutral", "positive", "shares", "rise", "fall", "bank", "profit", "loss", "Sentiment:", "today")


def saved(folder: Path, kind: str) -> ModelSource:
    """A model of three layers with a tokeniser that knows these words."""
    library = transformers()
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {word: code for code, word in enumerate(("<end>", "<unknown>", *WORDS))}
    tokeniser = Tokenizer(models.WordLevel(words, unk_token="<unknown>"))
    tokeniser.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.PreTrainedTokenizerFast(
        tokenizer_object=tokeniser, eos_token="<end>", unk_token="<unknown>", pad_token="<end>"
    ).save_pretrained(folder)
    size = {"vocab_size": len(words), "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3}
    heads = {"num_attention_heads": 2, "max_position_embeddings": 64}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if kind == "causal":
            config = library.LlamaConfig(**size, **heads, num_key_value_heads=1, initializer_range=0.4, eos_token_id=0)
            model = library.LlamaForCausalLM(config)
        else:
            model = library.BertModel(library.BertConfig(**size, **heads))
    model.save_pretrained(folder)
    return ModelSource(str(folder), kind)


def texts(n: int, seed: int) -> list[Example]:
    """Sentences of two to five words."""
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(WORDS[3:9], rng.integers(2, 6)) for _ in range(n)]
    return [Example("mood?", " ".join(words), WORDS[int(rng.integers(3))]) for words in drawn]


def owned(base: Base, owners: int = 2, samples: int = 6) -> FederatedData:
    """Everybody's sentences."""
    tasks = [Task("texts", texts(samples, owner), texts(4, 100 + owner)) for owner in range(owners)]
    if base.kind == "causal":
        return instructed(base, tasks, 10, 2, ("", "Sentiment:"))
    return classified(base, tasks, 8, WORDS[:3])


def small(folder: Path, kind: str) -> Base:
    """The model, loaded."""
    return load(saved(folder, kind))
