"""Notes in JSON that know their own content, so that a flipped bit in one is noticed like one in a frame.

The last entry, `seal`, is a digest of all others.  Notes of older versions have none and are taken as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedabm.common.files import read_json

__all__ = ["SEAL", "digest_of_file", "read_sealed", "sealed"]

#: the entry that holds the digest of the others
SEAL = "seal"


def sealed(note: Mapping[str, Any]) -> str:
    """The text of a note with its seal.

    >>> "seal" in json.loads(sealed({"seeds": 3}))
    True
    """
    content = {name: value for name, value in note.items() if name != SEAL}
    return json.dumps({**content, SEAL: _digest(content)}, indent=2) + "\n"


def read_sealed(path: Path) -> Any:
    """What a note says, its seal apart; one that is not what was written is a ValueError."""
    note = read_json(path)
    if not isinstance(note, dict) or not note:
        return note
    last = SEAL if SEAL in note else next(reversed(note))  # a seal is one also if its name is damaged
    content = {name: value for name, value in note.items() if name != last}
    fits = note[last] == _digest(content)
    if fits != (last == SEAL):
        raise ValueError("it is not what was written there, but damaged or changed")
    return content if fits else note


def digest_of_file(path: Path) -> str:
    """SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(note: Mapping[str, Any]) -> str:
    # As it will be read: keys as text, in order.
    text = json.dumps(json.loads(json.dumps(note)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
