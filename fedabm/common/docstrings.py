"""The parts of a docstring in NumPy style: what a thing is, what goes in, what comes out."""

from __future__ import annotations

import re

__all__ = ["head_of", "meanings_of", "sections_of"]

_TITLE = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Examples)\n-{3,}\n", re.MULTILINE)


def sections_of(text: str) -> dict[str, str]:
    """A docstring by section; what stands before the first one is that without a name.

    Parameters
    ----------
    text : str
        The docstring, without indentation, as `inspect.getdoc` gives it.

    Returns
    -------
    dict
        The text of every section by its title.

    >>> sections_of("What.\\n\\nReturns\\n-------\\nint\\n    How many.")
    {'': 'What.', 'Returns': 'int\\n    How many.'}
    """
    parts = _TITLE.split(text)
    return {"": parts[0].strip()} | {
        title: body.strip("\n") for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def head_of(text: str) -> str:
    """What a docstring says before its sections: the rule, its equation and its reference."""
    return sections_of(text)[""]


def meanings_of(text: str) -> dict[str, str]:
    """What a docstring says of each parameter or attribute, in one line each.

    >>> meanings_of("What.\\n\\nParameters\\n----------\\nrate : float\\n    How large\\n    a step is.")
    {'rate': 'How large a step is.'}
    """
    found = sections_of(text)
    body = "\n".join(found.get(title, "") for title in ("Parameters", "Attributes"))
    entries = re.findall(r"^([*\w][*\w, ]*)[^\n]*\n((?:[ ]{4}[^\n]*(?:\n|$))*)", body, re.MULTILINE)
    return {name: " ".join(words.split()) for names, words in entries for name in re.findall(r"\w+", names)}
