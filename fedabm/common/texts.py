"""Names and texts of anybody's, shown as what they are: on pages, in figures and in spreadsheets."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "drawable",
    "markdown_cell",
    "others",
    "plain_cell",
    "readable",
    "short_decimals",
    "spreadsheet_cell",
    "visible",
]

#: how a cell begins that spreadsheets take for a formula, or that looks as if it had been marked already
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
#: numbers, also with a spread or a unit, which may begin with a sign
_NUMBER = re.compile(r"[+-]?[\d.,]+(e[+-]?\d+)?( ?(±|%|to) ?[\d.,e+-]*)*", re.IGNORECASE)
#: decimals that nobody reads to the end
_LONG = re.compile(r"(?<![\w.])\d+\.\d{5,}(?:e[+-]?\d+)?(?![\w.])")
_ARRAY = re.compile(r"FrozenArray\((\[.*?\])\)", re.DOTALL)
#: what Markdown would take for more than a sign
_MARKDOWN = str.maketrans({**{sign: f"\\{sign}" for sign in "\\`*_[]|~"}, "<": "&lt;", ">": "&gt;", "&": "&amp;"})
#: what tells a spreadsheet that a text follows
_TEXT = "'"


def readable(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """A number as it stands in a sentence or a cell; from 1,000 on without decimals.

    >>> readable(12184.3), readable(-0.12345678), readable(120000), readable(0.5, sign=True)
    ('12,184', '-0.1235', '120,000', '+0.5')
    """
    form = ",.0f" if 1e3 <= abs(value) < 1e15 else f".{digits}g"
    return format(float(value), f"{'+' if sign else ''}{form}")


def short_decimals(text: str) -> str:
    """A text whose long decimals have four digits that count, and whose arrays are lists.

    >>> short_decimals("CostSharing(rate=0.8577712)"), short_decimals("scale=118.2383603154, owners=1234567")
    ('CostSharing(rate=0.8578)', 'scale=118.2, owners=1234567')
    >>> short_decimals("LinearPayoff(weight=FrozenArray([1., 2.]))")
    'LinearPayoff(weight=[1., 2.])'
    """
    return _LONG.sub(lambda found: f"{float(found[0]):.4g}", _ARRAY.sub(r"\1", text))


def others(loss: float) -> str:
    """What somebody's deviation means for all others.

    >>> others(3.0), others(-0.04), others(0.0)
    ('the others lose 3', 'the others gain 0.04', 'the others lose nothing')
    """
    said = readable(abs(loss))
    return "the others lose nothing" if said == "0" else f"the others {'lose' if loss > 0 else 'gain'} {said}"


def visible(text: str) -> str:
    """With escapes in place of characters that have no look of their own or turn the reading direction.

    >>> visible("gnp" + chr(0x202E) + "exe")
    'gnp\\\\u202eexe'
    """
    return "".join(one if one in "\n\t" or not _hidden(one) else _escape(one) for one in text)


def _hidden(one: str) -> bool:
    joins = one in "\u200c\u200d\ufe0f"  # within words and pictures
    return unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and not joins


def _escape(one: str) -> str:
    return one.encode("ascii", "backslashreplace").decode() if ord(one) > 0x7F else f"\\x{ord(one):02x}"


def drawable(text: str) -> str:
    """For a figure, where dollars would begin a formula; in one line.

    >>> drawable("cost $5, not $6")
    'cost \\\\$5, not \\\\$6'
    """
    return visible(" ".join(text.split())).replace("$", r"\$")


def markdown_cell(text: str) -> str:
    """For a table in Markdown, where a name must neither end its cell nor become a link, a picture or HTML.

    >>> markdown_cell("a|b <i> [x](y)")
    'a\\\\|b &lt;i&gt; \\\\[x\\\\](y)'
    """
    return visible(" ".join(text.split())).translate(_MARKDOWN)


def spreadsheet_cell(text: str) -> str:
    """For a CSV file: what a spreadsheet would take for a formula begins with an apostrophe.

    >>> spreadsheet_cell("=1+1"), spreadsheet_cell("-0.5 ± 0.1"), spreadsheet_cell("-1+cmd")
    ("'=1+1", '-0.5 ± 0.1', "'-1+cmd")
    """
    formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    return _TEXT + text if formula else text


def plain_cell(text: str) -> str:
    """The text of a cell of `spreadsheet_cell`."""
    return text[1:] if text.startswith(_TEXT) and spreadsheet_cell(text[1:]) == text else text
