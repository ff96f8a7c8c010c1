"""Pictures that a script leaves open."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["closing_pictures"]


@contextmanager
def closing_pictures() -> Iterator[None]:
    """Have pyplot forget the pictures made in the body, also where that breaks off; it would keep every one."""
    before = _open()
    try:
        yield
    finally:
        for number in _open() - before:
            sys.modules["matplotlib.pyplot"].close(number)


def _open() -> set[int]:
    """Numbers of all pictures that pyplot keeps; it is slow to import, and without it there are none."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return set() if pyplot is None else set(pyplot.get_fignums())
