"""A description as Markdown or LaTeX, in which no question, name or docstring of a user's is markup but for `code`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fedabm.common.texts import markdown_cell, visible
from fedabm.report.odd.blocks import Block, Element, Equation, Listing, Rows

__all__ = ["latex", "markdown"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
_CODE = re.compile(r"(?<!`)(`[^`\n]+`)(?!`)")
#: an escaped underscore within a word, where none is markup
_WITHIN = re.compile(r"(?<=\w)\\_(?=\w)")
_LEVELS = ("section", "subsection", "subsubsection")


def markdown(title: str, elements: Sequence[Element]) -> str:
    """All elements, numbered, with their tables.

    Parameters
    ----------
    title : str
        The first heading.
    elements : sequence of Element
        What follows, in this order.

    Returns
    -------
    str
        The text, which ends with a line break.
    """
    lines = [f"# {_plain(title)}", ""]
    for place, one in enumerate(elements, 1):
        lines += _markdown(one, f"{place}", 2)
    return "\n".join(lines).rstrip() + "\n"


def _markdown(one: Element, number: str, level: int) -> Iterator[str]:
    yield from (f"{'#' * level} {number} {_plain(one.title)}", "")
    for block in one.blocks:
        yield from (*_block(block), "")
    for place, inner in enumerate(one.within, 1):
        yield from _markdown(inner, f"{number}.{place}", level + 1)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Equation(lines):
            fence = "`" * (1 + max([2, *map(len, re.findall("`+", lines))]))
            yield from (f"{fence}text", visible(lines), fence)
        case Listing(points):
            yield from (f"- {_plain(point)}" for point in points)
        case Rows(columns, rows):
            yield _row(columns)
            yield "|---" * len(columns) + "|"
            yield from map(_row, rows)
        case _:
            yield _plain(block)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """In one line, without links, pictures, HTML or signs that cannot be seen; between backticks signs stand as is."""
    return "".join(_code(one) if place % 2 else _words(one) for place, one in enumerate(_CODE.split(text))).strip()


def _code(text: str) -> str:
    return visible(text).replace("|", r"\|")


def _words(text: str) -> str:
    """Between two pieces of code blanks at the ends count."""
    first, last = ("" if text == text.strip() else " " * (text != side) for side in (text.lstrip(), text.rstrip()))
    return f"{first}{_WITHIN.sub('_', markdown_cell(text))}{last}"


def latex(title: str, elements: Sequence[Element]) -> str:
    """The same as a document that LaTeX sets with its standard packages.

    Parameters
    ----------
    title : str
        Of the document.
    elements : sequence of Element
        What follows, in this order; LaTeX numbers them.

    Returns
    -------
    str
        The source of the document.
    """
    body = [line for one in elements for line in _latex(one, 0)]
    head = [r"\documentclass{article}", r"\usepackage[T1]{fontenc}", r"\usepackage{longtable}", r"\begin{document}"]
    return "\n".join([*head, rf"\title{{{_safe(title)}}}", r"\maketitle", *body, r"\end{document}"]) + "\n"


def _latex(one: Element, level: int) -> Iterator[str]:
    yield rf"\{_LEVELS[min(level, 2)]}{{{_safe(one.title)}}}"
    for block in one.blocks:
        yield from (*_set(block), "")
    for inner in one.within:
        yield from _latex(inner, level + 1)


def _set(block: Block) -> Iterator[str]:
    match block:
        case Equation(lines):
            yield from (r"\begin{verbatim}", visible(lines).replace(r"\end{", r"\end {"), r"\end{verbatim}")
        case Listing(points):
            yield from (r"\begin{itemize}", *(rf"\item {_safe(point)}" for point in points), r"\end{itemize}")
        case Rows(columns, rows):
            width = 0.92 / len(columns)
            column = rf"p{{{width:.2f}\textwidth}}"
            yield rf"\begin{{longtable}}{{{column * len(columns)}}}"
            yield rf"{' & '.join(map(_safe, columns))} \\ \hline"
            yield from (rf"{' & '.join(map(_safe, row))} \\" for row in rows)
            yield r"\end{longtable}"
        case _:
            yield _safe(block)


def _safe(text: str) -> str:
    """Text in which no sign is a command."""
    return "".join(_SPECIAL.get(sign, sign) for sign in visible(text))
