"""Cards of an audit that lie in the folder of a run, and the command that makes one."""

from __future__ import annotations

import itertools
import os
import shlex
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from fedabm.common.files import read_json
from fedabm.report.folder import ResultFolder

__all__ = ["Link", "audit_command", "cards"]

#: what `fedabm audit --out` calls its page and its data
_CARD, _DATA = "card.html", "card.json"


class Link(NamedTuple):
    """Where a card is, from the page, and whose it is."""

    address: str
    words: str


def cards(folder: Path, home: Path) -> list[Link]:
    """The cards in a folder and in the folders inside it, as seen from `home`."""
    found = [path for path in (folder / _CARD, *sorted(folder.glob(f"*/{_CARD}"))) if path.is_file()]
    return [Link(quote(Path(os.path.relpath(path, home)).as_posix()), _words(path)) for path in found]


def _words(card: Path) -> str:
    """The audited mechanism, where the card's data tell."""
    try:
        rule = read_json(card.parent / _DATA).get("rule")
    except (OSError, ValueError, AttributeError):
        rule = None
    return f"The card of {rule}" if isinstance(rule, str) else f"The card in {card.parent.name}"


def audit_command(source: ResultFolder) -> str:
    """What audits the scenario of a run into its folder; nothing where only its script would know how."""
    try:
        words = shlex.split(str(source.manifest.get("repeat") or ""))
    except ValueError:  # nothing that we have written
        return ""
    if source.kind != "run" or words[:2] != ["fedabm", "run"] or len(words) < 3 or words[2].endswith(".toml"):
        return ""
    given = [word for key, value in itertools.pairwise(words) if key == "--set" for word in (key, value)]
    seed = ["--seed", str(source.manifest.get("seed", 0))]
    return shlex.join(["fedabm", "audit", words[2], *given, *seed, "--out", f"{source.folder.name}/audit"])
