"""How the verdict of a row was computed: by which function, from which files, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fedabm.papers.ledger.records import record_of
from fedabm.papers.ledger.rows import Play, Result, Row

__all__ = ["explained", "function_name", "statements"]


def function_name(function: Callable[..., Any]) -> str:
    """Module and name of what was written, whatever arguments are filled in already."""
    while isinstance(function, partial):
        function = function.func
    return f"{function.__module__}.{function.__qualname__}".replace(".<locals>.<lambda>", "")


def explained(one: Row, result: Result) -> Iterator[str]:
    """Lines for people: the claim, the function, the files it reads, what it found, and why the verdict follows."""
    yield f"{one.id}  {one.claim}"
    if one.published:
        yield f"  published  {one.published}"
    yield f"  computed by  {one.judged_by or function_name(one.check)}"
    for play in (*one.decisive, *one.planned):
        yield f"  reads  {_files(play)}" + ("  (planned beforehand)" if play in one.planned else "")
    yield from (f"  ours  {words}" for words in statements(result.ours))
    yield from (f"  why  {words}" for words in statements(result.reason) if not words.startswith("recorded: "))
    yield f"  verdict  {result.verdict}"


def _files(play: Play) -> str:
    """The tables of a play's record, or how to make it."""
    found = record_of(play)
    if found is None:
        return f"nothing yet: {play.recording}"
    return f"analysis/recorded/{found.name}/: {', '.join(sorted(path.name for path in found.folder.glob('*.csv')))}"


def statements(text: str) -> list[str]:
    """Statements, one each; what stands in brackets stays together.

    >>> statements("a (b; c); d")
    ['a (b; c)', 'd']
    """
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == ";" and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts if part.strip()]
