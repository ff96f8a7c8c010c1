"""Text by user: Shakespeare's roles, Sent140's accounts, and sentences about finance by where they come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fedabm.common.errors import InputError, nearest
from fedabm.data.datasets.base import Dataset
from fedabm.data.datasets.files import damaged, json_lines, lookup, matches, table
from fedabm.data.datasets.leaf import is_leaf, sent140_json, shakespeare_json
from fedabm.data.datasets.text import CHARACTERS, characters, words

__all__ = ["MOODS", "financial_sentiment", "sent140", "sentences", "shakespeare"]

_WINDOW = 80


def shakespeare(folder: Path, stride: int = 10, roles: int | None = None) -> Dataset:
    """Guess the character after 80 characters, in 80 classes, by role of a play.

    From LEAF's JSON if it is there, otherwise from one speech per line ({"user", "text"}): every speech is one line
    that begins after 80 blanks, and windows move by `stride` characters.  LEAF moves by 1, which makes 4.3 million
    windows (1.4 GB) of the complete plays.  `roles` keeps only the roles that speak most.
    """
    if is_leaf(folder / "shakespeare"):
        return shakespeare_json(folder)
    path = _need(folder, "shakespeare/*.jsonl.gz", "shakespeare/*.jsonl")
    if stride < 1:
        raise InputError(f"stride must be at least 1, got {stride}; LEAF uses 1")
    speeches = pd.DataFrame(json_lines(path, "user", "text"))
    if speeches.empty:
        raise damaged(path, "speeches", "none")
    if roles is not None:
        spoken = speeches.text.str.len().groupby(speeches.user).sum()
        speeches = speeches[speeches.user.isin(spoken.sort_values(kind="stable").index[-roles:])]
    return _windows(speeches, stride)


def _windows(speeches: pd.DataFrame, stride: int) -> Dataset:
    lines = [" " * _WINDOW + " ".join(text.split()) + "\n" for text in speeches.text]
    ends = np.cumsum([len(line) for line in lines])
    starts = [np.arange(end - len(line), end - _WINDOW, stride) for line, end in zip(lines, ends, strict=True)]
    first, letters = np.concatenate(starts), characters("".join(lines))
    users = pd.factorize(speeches.user, sort=True)[0].astype(np.int64)
    return Dataset(
        "shakespeare",
        np.lib.stride_tricks.sliding_window_view(letters, _WINDOW)[first],
        letters[first + _WINDOW].astype(np.int64),
        classes=len(CHARACTERS),
        users=np.repeat(users, [len(some) for some in starts]),
        tokens=len(CHARACTERS),
    )


def sent140(folder: Path, tokens: int = 20_000, length: int = 25) -> Dataset:
    """Is a tweet's mood good (1) or bad (0)?  By account; 25 words, as in LEAF.

    From LEAF's JSON, or a CSV file with the columns user, text, label.  `tokens=400_001` is the size of the vocabulary
    in Doshi et al. 2025.
    """
    if is_leaf(folder / "sent140"):
        return sent140_json(folder, tokens, length)
    path = _need(folder, "sent140*/*.csv.gz", "sent140*/*.csv")
    frame = table(path, "user", "text", "label")
    labels = _codes(path, frame.label.astype(str), {"0": 0, "1": 1, "4": 1})
    users = pd.factorize(frame.user, sort=True)[0].astype(np.int64)
    return Dataset("sent140", words(frame.text.astype(str), tokens, length), labels, 2, users=users, tokens=tokens)


#: what a sentence can be, and its label
MOODS = {"negative": 0, "neutral": 1, "positive": 2}
_STRENGTHS = {f"{strength} {mood}": MOODS[mood] for strength in ("mildly", "moderately", "strong") for mood in MOODS}
_SOURCES = {
    "phrasebank": ("financial_phrasebank*.csv*", "text", "label", MOODS),
    "fiqa": ("fiqa_task1*.csv*", "sentence", "score", None),
    "tfns": ("tfns_*.csv*", "text", "label", {"0": 0, "1": 2, "2": 1}),
    "nwgi": ("nwgi*.csv*", "text", "label", MOODS | _STRENGTHS),
}


def financial_sentiment(
    folder: Path,
    sources: tuple[str, ...] = ("phrasebank", "fiqa", "tfns", "nwgi"),
    tokens: int = 20_000,
    length: int = 40,
) -> Dataset:
    """Is a sentence about finance negative (0), neutral (1) or positive (2)?  `users` is its place in `sources`.

    phrasebank: Malo et al. 2014; fiqa: a score in [-1, 1], neutral within 0.1 of 0; tfns: tweets (0 bearish, 1 bullish,
    2 neutral in the file); nwgi: news in seven grades, joined to three.
    """
    parts = [sentences(folder, name) for name in sources]
    if not parts:
        raise InputError(f"no sources of financial sentiment given; {nearest('', _SOURCES)}")
    texts = [text for part, _ in parts for text in part]
    users = np.repeat(np.arange(len(parts), dtype=np.int64), [len(labels) for _, labels in parts])
    labels = np.concatenate([labels for _, labels in parts])
    return Dataset("financial_sentiment", words(texts, tokens, length), labels, 3, users=users, tokens=tokens)


def sentences(folder: Path, name: str) -> tuple[list[str], np.ndarray]:
    """The sentences and labels of one source, of all its files."""
    if name not in _SOURCES:
        raise InputError(f"unknown source of financial sentiment {name!r}; {nearest(name, _SOURCES)}")
    pattern, text, label, moods = _SOURCES[name]
    texts: list[str] = []
    labels: list[np.ndarray] = []
    _need(folder, f"financial_sentiment/{pattern}")
    for path in matches(folder, (f"financial_sentiment/{pattern}",)):
        frame = table(path, text, label)
        texts += frame[text].astype(str).tolist()
        labels.append(_codes(path, frame[label].astype(str), moods) if moods else _graded(path, frame[label]))
    return texts, np.concatenate(labels)


def _graded(path: Path, scores: pd.Series) -> np.ndarray:
    numbers = pd.to_numeric(scores, errors="coerce").to_numpy(dtype=float)
    if np.isnan(numbers).any():
        raise damaged(path, "a score in every row", str(scores[np.isnan(numbers)].iloc[0]))
    return np.digitize(numbers, [-0.1, 0.1]).astype(np.int64)


def _codes(path: Path, labels: pd.Series, codes: dict[str, int]) -> np.ndarray:
    numbers = labels.map(codes)
    if numbers.isna().any():
        raise damaged(path, f"the labels {', '.join(codes)}", repr(labels[numbers.isna()].iloc[0]))
    return numbers.to_numpy(dtype=np.int64)


def _need(folder: Path, *patterns: str) -> Path:
    path = lookup(folder, *patterns)
    if path is None:
        raise InputError(f"no file like {patterns[0]} in {folder}; put it there")
    return path
