"""How objects look in a notebook: one line of text, and below it a small table."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from fedabm.common.texts import readable

__all__ = ["MOST_ROWS", "as_html", "in_notebook", "notebook_bar", "number"]

#: rows of a table that are shown
MOST_ROWS = 10
#: seconds before a bar appears, so that short work leaves nothing behind, and between its moves
PATIENCE = 1.0
PAUSE = 0.2


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def number(value: Any) -> str:
    """A value as it stands in a table.

    >>> number(12184.3), number(0.12345678), number(3), number("yes")
    ('12,184', '0.1235', '3', 'yes')
    """
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return str(value)
    return readable(value)


def as_html(line: str, rows: Sequence[Mapping[str, Any]] = (), total: int | None = None) -> str:
    """A line, and the first rows of a table with the same columns in each; `total` if more exist than are given.

    >>> as_html("a < b", [{"x": 0.5}])
    '<p>a &lt; b</p><table><thead><tr><th>x</th></tr></thead><tbody><tr><td>0.5</td></tr></tbody></table>'
    """
    said = f"<p>{escape(line)}</p>"
    if not rows:
        return said
    head = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
    cells = ["".join(f"<td>{escape(number(value))}</td>" for value in row.values()) for row in rows[:MOST_ROWS]]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    left = (len(rows) if total is None else total) - len(cells)
    rest = f"<p>and {left:,} more rows</p>" if left else ""
    return f"{said}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


@contextlib.contextmanager
def notebook_bar(label: str, total: int, done: int = 0) -> Iterator[Callable[[], None]]:
    """A bar below the cell while work of `total` pieces goes on; gives what to call after each.  Elsewhere nothing."""
    bar = _Bar(label, total, done) if in_notebook() else None
    try:
        yield (lambda: None) if bar is None else bar.advance
    finally:
        if bar is not None:
            bar.close()


class _Bar:
    """Shown after a second, moved a few times per second, and gone in the end."""

    def __init__(self, label: str, total: int, done: int) -> None:
        self._label = label
        self._total = total
        self._done = done
        self._next = time.monotonic() + PATIENCE
        self._handle: Any = None

    def advance(self) -> None:
        self._done += 1
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PAUSE
            of = f"{self._done:,} of {self._total:,}"
            self._show(f'{escape(self._label)} <progress value="{self._done}" max="{self._total}"></progress> {of}')

    def close(self) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, html: str) -> None:
        from IPython.display import DisplayHandle

        bundle = {"text/html": html, "text/plain": ""}
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(bundle, raw=True)
        else:
            self._handle.update(bundle, raw=True)
