"""What a description is made of: elements with paragraphs, lists, tables and equations, in no format yet."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fedabm.common.docstrings import head_of

__all__ = ["Block", "Element", "Equation", "Listing", "Rows", "described"]


@dataclass(frozen=True)
class Equation:
    """Lines that are shown as they are written."""

    lines: str


@dataclass(frozen=True)
class Listing:
    """Points of a list."""

    points: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """A table."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = str | Equation | Listing | Rows


@dataclass(frozen=True)
class Element:
    """A section with its blocks, and sections within it."""

    title: str
    blocks: tuple[Block, ...] = ()
    within: tuple[Element, ...] = field(default=())


def described(thing: Any) -> tuple[Block, ...]:
    """What a class or function says of itself: paragraphs and equations, without its examples and parameters."""
    return tuple(_blocks(head_of(inspect.getdoc(thing) or "")))


def _blocks(text: str) -> Iterator[Block]:
    for part in re.split(r"\n\s*\n", text.strip()):
        if not part.strip() or part.lstrip().startswith(">>>"):
            continue
        if all(line.startswith("  ") for line in part.splitlines()):
            yield Equation(inspect.cleandoc(part))
        elif re.search(r"^\S+ {2,}\S", part, re.MULTILINE):
            yield Equation(part)  # columns of names and meanings, as they are aligned
        else:
            yield " ".join(part.split())
