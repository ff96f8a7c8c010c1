"""Instructions with the answers that are to be learned: the mood of sentences about finance, and code.

The finance sets are those of iPFL 2025, Table 1, each text once: FIQA, TFNS and NWGI (here its test split, the only one
that is public), with the instruction of FinGPT.  Code is CodeAlpaca's.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedabm.common.errors import InputError, nearest
from fedabm.data.datasets.files import data_folder, json_lines, matches
from fedabm.data.datasets.language import MOODS, sentences

__all__ = ["SETS", "Example", "Problem", "Task", "deal", "examples", "problems"]

_MOOD = "What is the sentiment of this {}? Please choose an answer from {{negative/neutral/positive}}."
#: the sets, and what their instruction calls a text
_FINANCE = {"fiqa": "news", "tfns": "tweet", "nwgi": "news"}
SETS = (*_FINANCE, "code")


class Example(NamedTuple):
    """What is asked, about which text, and the answer."""

    instruction: str
    input: str
    output: str


class Problem(NamedTuple):
    """A piece of code that is asked for, what stands before it in a program, and the tests that stand after it."""

    prompt: str
    before: str
    test: str

    def program(self, answer: str) -> str:
        """The answer with its tests: it raises unless the answer is right."""
        return f"{self.before}{answer}\n\n{self.test}\n"


class Task(NamedTuple):
    """An owner's set, its examples for training, and those on which it is judged."""

    name: str
    train: list[Example]
    test: list[Example]


def examples(name: str, folder: str | Path | None = None) -> list[Example]:
    """All examples of a set, each text once, in the order of the files."""
    if name not in SETS:
        raise InputError(f"no set of instructions is called {name!r}; {nearest(name, SETS)}")
    place = data_folder(folder)
    found = _code(place) if name == "code" else _mood(place, name)
    return list({(one.instruction, one.input): one for one in found}.values())


def _mood(folder: Path, name: str) -> list[Example]:
    texts, labels = sentences(folder, name)
    words, asked = list(MOODS), _MOOD.format(_FINANCE[name])
    return [Example(asked, text, words[label]) for text, label in zip(texts, labels, strict=True)]


def _code(folder: Path) -> list[Example]:
    files = matches(folder, ("codealpaca/*.jsonl*",))
    if not files:
        raise InputError(f"CodeAlpaca is not there; put its files into {folder}/codealpaca/ as *.jsonl or *.jsonl.gz")
    rows = [row for path in files for row in json_lines(path, "instruction", "input", "output")]
    return [Example(row["instruction"], row["input"], row["output"]) for row in rows]


def problems(path: str | Path) -> list[Problem]:
    """Those of a file of JSON lines with `prompt` and `test`, and maybe `before`.

    Problems with an `entry_point` are as in HumanEval (Chen et al. 2021): the prompt is the beginning of the function
    with this name, and the tests a function `check` of it.

    Parameters
    ----------
    path : str | Path
        A file of JSON lines with `prompt` and `test`.

    Returns
    -------
    list[Problem]
        The problems.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise InputError(f"{file} is no file of problems; give one of JSON lines with prompt and test")
    found = []
    for row in json_lines(file, "prompt", "test"):
        name = row.get("entry_point")
        before = row["prompt"] if name else row.get("before", "")
        test = f"{row['test']}\ncheck({name})" if name else row["test"]
        found.append(Problem(row["prompt"], before, test))
    if not found:
        raise InputError(f"{file} holds no problems; give a line for each")
    return found


def deal(owners: tuple[tuple[str, int], ...], tests: int, rng: np.random.Generator) -> list[Task]:
    """Owners, each with the name of its set and how many examples it trains on; those of one set share their tests.

    Nobody trains on what anybody else trains on or is judged by.
    """
    pools: dict[str, list[Example]] = {}
    held: dict[str, list[Example]] = {}
    for name in dict.fromkeys(name for name, _ in owners):
        every = examples(name)
        wanted = tests + sum(size for one, size in owners if one == name)
        if wanted > len(every):
            raise InputError(f"{wanted} examples of {name} wanted but there are {len(every)}; take fewer")
        order = [every[i] for i in rng.permutation(len(every))]
        held[name], pools[name] = order[:tests], order[tests:]
    dealt = []
    for name, size in owners:
        mine, pools[name] = pools[name][:size], pools[name][size:]
        dealt.append(Task(name, mine, held[name]))
    return dealt
