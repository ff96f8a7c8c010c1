"""Where commands print."""

from __future__ import annotations

from rich.console import Console

__all__ = ["wide_console"]


def wide_console(width: int = 180, *, quiet: bool = False) -> Console:
    """As wide as the terminal; where output goes to a file or a pipe, as wide as said."""
    terminal = Console(quiet=quiet)
    return terminal if terminal.is_terminal else Console(width=width, quiet=quiet)
