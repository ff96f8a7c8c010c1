"""How to call the `fedabm` command."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["command_word"]


def command_word() -> str:
    """How to call this command: by its name where the shell finds it, else by its path.

    Returns
    -------
    str
        The word.
    """
    found = Path(sys.argv[0])
    if shutil.which("fedabm") or found.name != "fedabm":
        return "fedabm"
    near = os.path.relpath(found)
    return shlex.quote(near if not near.startswith("..") else str(found))
