"""Texts as tokens, with the answer that is to be learned, for everybody's data.

A causal model is to continue a prompt with the answer and the sign of its end; only these tokens count in the loss
(Taori et al. 2023 for the template).  An encoder sees the text alone, and the answer is one of few classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedabm.common.errors import InputError, check_whole
from fedabm.data.federated import IGNORED, FederatedData
from fedabm.data.instructions import Example, Task
from fedabm.learning.language.models import Base

__all__ = ["ALPACA", "PLAIN", "classified", "instructed", "prompt"]

#: what stands before and after the input; Taori et al. 2023
ALPACA = (
    "Below is an instruction that describes a task, paired with an input that provides further context. "
    "Write a response that appropriately completes the request.\n\n"
    "### Instruction:\n{instruction}\n\n### Input:\n",
    "\n\n### Response:",
)
#: a third of its tokens, for those who wait for a processor
PLAIN = ("", "\nSentiment:")


def prompt(base: Base, instruction: str, text: str, template: tuple[str, str]) -> list[int]:
    """What a model is to continue, as tokens; the same as `instructed` makes of what is short enough."""
    before = _ids(base, template[0].format(instruction=instruction), first=True)
    return [*before, *_ids(base, text), *_ids(base, template[1])]


def instructed(
    base: Base, tasks: Sequence[Task], length: int, answers: int, template: tuple[str, str] = ALPACA
) -> FederatedData:
    """Everybody's prompts with answers as tokens (n, length), filled up on the left, and the answers (n, answers).

    An input that is too long loses its end, an answer its end, and an instruction that leaves no room loses its own.
    """
    check_whole("answers", answers)

    def encode(one: Example) -> tuple[np.ndarray, np.ndarray]:
        said = [*_ids(base, f" {one.output}")[: answers - 1], _end(base)]
        after, text = _ids(base, template[1]), _ids(base, one.input)
        least = min(len(text), 1)
        before = _instruction(base, template[0], one.instruction, length - len(after) - len(said) - least)
        x = [*before, *text[: length - len(before) - len(after) - len(said)], *after, *said]
        filled = [base.tokens] * (length - len(x)) + x
        return np.array(filled, dtype=np.int32), np.array([IGNORED] * (answers - len(said)) + said, dtype=np.int64)

    return _owned(base, tasks, encode, base.tokens)


def classified(base: Base, tasks: Sequence[Task], length: int, words: Sequence[str]) -> FederatedData:
    """Everybody's texts as tokens (n, length), filled up on the right, with the place of the answer among `words`."""
    codes = {word: code for code, word in enumerate(words)}

    def encode(one: Example) -> tuple[np.ndarray, np.ndarray]:
        if one.output not in codes:
            raise InputError(f"the answer {one.output!r} is none of {', '.join(words)}; give all answers as classes")
        ids = base.tokeniser(one.input, truncation=True, max_length=length)["input_ids"]
        filled = ids + [base.tokens] * (length - len(ids))
        return np.array(filled, dtype=np.int32), np.array(codes[one.output], dtype=np.int64)

    return _owned(base, tasks, encode, len(words))


def _owned(base: Base, tasks: Sequence[Task], encode: Any, classes: int) -> FederatedData:
    """The encoded examples of all owners, side by side."""
    parts = []
    for chosen in ([task.train for task in tasks], [task.test for task in tasks]):
        made = [encode(one) for part in chosen for one in part]
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in chosen])]).astype(np.int64)
        parts.append((np.stack([x for x, _ in made]), np.stack([y for _, y in made]), offsets))
    (x, y, offsets), (x_test, y_test, test_offsets) = parts
    sets = list(dict.fromkeys(task.name for task in tasks))
    names = tuple(f"{task.name} {1 + [t.name for t in tasks[:i]].count(task.name)}" for i, task in enumerate(tasks))
    name, tokens = " and ".join(sets), base.tokens + 1
    return FederatedData(name, x, y, offsets, x_test, y_test, test_offsets, classes, tokens, names=names)


def _instruction(base: Base, template: str, instruction: str, room: int) -> list[int]:
    """What stands before the input, in at most `room` tokens."""
    whole = _ids(base, template.format(instruction=instruction), first=True)
    words = _ids(base, instruction)
    while len(whole) > room and words:
        words = words[: max(len(words) + room - len(whole), 0)]
        whole = _ids(base, template.format(instruction=base.tokeniser.decode(words)), first=True)
    if len(whole) > room:
        raise InputError(f"a prompt has room for {room} tokens before its text but needs {len(whole)}; raise length")
    return whole


def _ids(base: Base, text: str, *, first: bool = False) -> list[int]:
    """Tokens of a part of a text; the first part begins as the tokeniser has it."""
    return list(base.tokeniser(text, add_special_tokens=first)["input_ids"]) if text or first else []


def _end(base: Base) -> int:
    end = base.tokeniser.eos_token_id
    if end is None:
        raise InputError("the tokeniser has no sign of the end; choose a model for text that is written")
    return int(end)
