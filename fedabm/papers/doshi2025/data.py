"""The sets of Doshi et al. 2025, Section 5, beside CIFAR-10: handwriting by writer, and tweets.

Writers are owners as they are, those with most samples first.  The paper joins 1,000 accounts to one owner of Sent140,
so that owners are alike; here tweets are dealt to owners at random.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from fedabm.data.datasets import Dataset, load_dataset
from fedabm.data.partitions import Natural, Partition
from fedabm.learning.engine.optimisers import Adam
from fedabm.papers.doshi2025.settings import PRESETS, DoshiPreset
from fedabm.papers.presets import Size, Sizes, choose

__all__ = ["WRITERS", "Data", "owners_of", "setting"]

#: what the scenarios on Figures 1 and 2 can be run on
Data = Literal[
    "auto",
    "mnist",
    "digits",
    "fashion_mnist",
    "cifar10",
    "femnist",
    "femnist_digits",
    "mnist_by_writer",
    "sent140",
]
#: sets whose owners are those of the data
WRITERS = ("femnist", "femnist_digits", "mnist_by_writer")


def setting(preset: Sizes, data: Data, note: Callable[[str], None]) -> tuple[DoshiPreset, Dataset]:
    """A preset as it is for a set, and the set; "auto" is the preset's own, or says what is taken instead."""
    chosen = PRESETS[preset]
    if data in WRITERS:
        size = replace(chosen.size, network="femnist_cnn")
        chosen = chosen if preset == "quick" else replace(chosen, size=size, gamma=0.1)
        return _costly(chosen, 5) if preset == "decisive" else chosen, replace(load_dataset(data), name=data)
    if data == "sent140":
        return _tweets(chosen, preset), load_dataset(data)
    return chosen, choose(data, note, chosen.data)


def _tweets(chosen: DoshiPreset, preset: Sizes) -> DoshiPreset:
    """An LSTM; it takes so long that smaller presets have less data, rounds and seeds."""
    if preset == "paper":
        recipe = replace(chosen.recipe, optimiser=Adam(0.00001))
        return replace(chosen, size=replace(chosen.size, network="sentiment_lstm"), rounds=50, recipe=recipe)
    if preset == "decisive":  # at the paper's rate of 0.00001 a tenth of its data would teach the network nothing
        return _costly(replace(chosen, size=Size(10, 450, 150, "sentiment_lstm")), 8)
    size, recipe = Size(10, 120, 60, "sentiment_lstm"), replace(chosen.recipe, batch=20)
    return replace(chosen, size=size, rounds=10, seeds=2, recipe=recipe)


def _costly(chosen: DoshiPreset, rounds: int) -> DoshiPreset:
    """Networks of six million weights: fewer rounds and seeds, and larger steps in a first phase, whose trials cost.

    A pilot run on the digits of FEMNIST is worth 0.4 after the first round and 9.5 of at most 23 after the second.
    """
    return replace(chosen, rounds=rounds, seeds=3, gamma_first=100.0, first_phase=20)


def owners_of(data: Data, count: int) -> Partition | None:
    """This many of a set's own writers, or None: the set is dealt at random."""
    return Natural(owners=count) if data in WRITERS else None
